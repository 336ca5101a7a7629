"""`python -m hf_symbinv.cli` is `symbinv`."""

import sys

from hf_symbinv.cli import main

if __name__ == "__main__":
    sys.exit(main())
