"""Runs the first program of the README, and compares what it prints: `python tests/first_lines.py`, with any Python.

It needs nothing but what the README's first command installs.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def main() -> int:
    """Says whether the program prints what the README shows; the exit code is 0 then."""
    program, shown = re.findall(r"```python\n(.*?)```\s*```\n(.*?)```", README.read_text(encoding="utf-8"), re.S)[0]
    with tempfile.TemporaryDirectory() as folder:  # not in the checkout, whose own files would be taken
        ran = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=False)
    same = ran.returncode == 0 and ran.stdout == shown
    print(ran.stdout if same else f"{ran.stdout}\nThe README shows\n{shown}\n{ran.stderr}", end="")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
