"""Functions of Python files, whose variables are symbols."""

from hf_symbinv.code.functions import Call, Function, Piece, Reason, Skipped, Symbol, read_functions
from hf_symbinv.code.renaming import RenamingError, rename

__all__ = ["Call", "Function", "Piece", "Reason", "RenamingError", "Skipped", "Symbol", "read_functions", "rename"]
