"""What it costs to import the package and to ask the command for help."""

from __future__ import annotations

import subprocess
import sys
import time

from harness import Row, Setting, in_turn

PEER = "from transformers import BartForConditionalGeneration"


def _seconds(*arguments: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


def starting(setting: Setting) -> list[Row]:
    """`import hf_symbinv` beside the import of a model of transformers, and `symbinv --help`."""
    ours, peer, command = in_turn(
        setting,
        lambda: _seconds("-c", "import hf_symbinv"),
        lambda: _seconds("-c", PEER),
        lambda: _seconds("-m", "symbinv", "--help"),
    )
    return [
        Row("import", "`import hf_symbinv`", f"`{PEER}`", "s", "at most", 1.25, ours, peer),
        Row("help", "`symbinv --help`", "", "s", "at most", 0.5, command),
    ]


BENCHMARKS = {"starting": starting}
