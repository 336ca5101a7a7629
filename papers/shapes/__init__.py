"""Every shape of model with streams beside canonical names, alpha-renaming and learned rows; no paper has these."""
