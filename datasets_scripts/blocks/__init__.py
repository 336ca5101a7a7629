"""Basic blocks of x86-64 with the cycles that LLVM gives them."""
