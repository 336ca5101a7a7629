"""Every shape of model with streams beside its alternatives: views, pointing, classes of tokens, own pairs, a decoder."""
