"""Questions about theories in English, for a pretrained encoder as it is, wrapped, and with streams; in no paper."""
