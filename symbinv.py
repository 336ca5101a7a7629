"""The command `symbinv`, and `python -m symbinv`, which load torch only where a command needs it.

Python runs `hf_symbinv/__init__.py` before any module of that package, so this one stands beside it.
"""

import os
import sys


def main() -> int:
    """Run `symbinv` with the arguments of the process; the exit code."""
    os.environ["HF_SYMBINV_LIGHT"] = "1"
    from hf_symbinv.cli import main as run

    del os.environ["HF_SYMBINV_LIGHT"]
    return run()


if __name__ == "__main__":
    sys.exit(main())
