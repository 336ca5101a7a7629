"""The tasks: one module each, holding everything that distinguishes it (base tokens, arities, notation, checker, metric)."""
