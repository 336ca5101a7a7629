"""The papers' tables, made again from a checkout: `python -m papers --list` names them."""
