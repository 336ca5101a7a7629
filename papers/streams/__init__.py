"""Symbol-Invariant Transformer (SIT) and Interchangeable Token Embeddings (ITE)."""
