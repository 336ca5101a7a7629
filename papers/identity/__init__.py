"""When can transformers reason with abstract symbols? Attention with identities."""
