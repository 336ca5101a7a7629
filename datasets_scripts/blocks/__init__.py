"""Basic blocks of x86-64 with the cycles that LLVM gives them."""

__all__ = ["basic_blocks", "llvm", "random_blocks", "x86"]
