"""What an answer costs: seconds and peak memory for each number of symbols.

Every number of symbols is measured in a fresh process, so that no measurement holds memory of another one. It decodes
all questions once without counting, because the first batch of a shape is slower, and then several times. It reports
the median of the wall-clock times with the shortest and the longest, and on a GPU the peak of what torch allocated;
on the CPU, where torch does not count, the peak of the process's resident memory above what it held after one question
(on Linux, where a process can reset the kernel's high-water mark; elsewhere above the mark until then).
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from hf_symbinv.errors import UserError
from hf_symbinv.evaluation.answers import Question
from hf_symbinv.evaluation.checkpoints import Checkpoint

# Our choice: the fewest of which one that was disturbed is not the median.
REPEATS = 3


class CostError(UserError):
    """The process that measures a model's cost failed; the message holds its last words."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What answering questions with one number of symbols takes.

    Attributes:
        symbols: Distinct symbols of each question.
        count: Questions decoded.
        seconds_per_sample: Wall-clock time of decoding, divided by `count`: the median of the repeats.
        seconds_range: The shortest and the longest.
        peak_bytes: Memory, as the module describes it; on a GPU with the weights, on the CPU without.
    """

    symbols: int
    count: int
    seconds_per_sample: float
    seconds_range: tuple[float, float]
    peak_bytes: int


def measure_cost(
    checkpoint: Checkpoint,
    questions: Sequence[Question],
    *,
    batch_size: int = 64,
    repeats: int = REPEATS,
    **generation: Any,
) -> list[Cost]:
    """Decode the questions of each number of symbols in a process of its own.

    Args:
        checkpoint: Where the model comes from and on which device it is; it is loaded again.
        questions: Of any numbers of symbols. Times are comparable if each number has about equal sizes.
        batch_size: Questions decoded together, the shortest first; SIT measures memory with 64.
        repeats: How often all questions are decoded and timed, at least once.
        generation: Arguments of `generate`.

    Returns:
        From the smallest number of symbols.

    Raises:
        CostError: If a process fails, for instance for want of memory.

    Source: SIT section 5 measures both for 3 to 10 symbols.
    """
    prompts: dict[int, list[str]] = {}
    for question in sorted(questions, key=lambda question: question.size):
        prompts.setdefault(question.symbols, []).append(question.prompt)
    job = {
        "source": str(checkpoint.folder or checkpoint.name),
        "device": str(checkpoint.model.device),
        "batch_size": batch_size,
        "repeats": repeats,
        "generation": generation,
    }
    return [
        Cost(symbols, len(texts), **_run({**job, "prompts": texts}, symbols))
        for symbols, texts in sorted(prompts.items())
    ]


def _run(job: dict[str, Any], symbols: int) -> dict[str, Any]:
    command, checkout = [sys.executable, "-m", "papers.harness.cost"], str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join(filter(None, [checkout, os.environ.get("PYTHONPATH")]))
    result = subprocess.run(
        command, input=json.dumps(job), capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    if result.returncode:
        reason = next(reversed(result.stderr.strip().splitlines()), f"exit code {result.returncode}")
        raise CostError(f"cost with {symbols} symbols: the measuring process failed ({reason}); try a smaller batch")
    found = json.loads(result.stdout)
    return {**found, "seconds_range": tuple(found["seconds_range"])}


def _measure(job: dict[str, Any]) -> dict[str, Any]:
    """Load the model, decode one question and then all for warming up, then decode all several times and measure."""
    import torch
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    from hf_symbinv.auto_classes import register_auto_classes
    from hf_symbinv.training.decoding import generate_answers

    register_auto_classes()
    model = AutoModelForSeq2SeqLM.from_pretrained(job["source"], trust_remote_code=False).to(job["device"]).eval()
    tokenizer = AutoTokenizer.from_pretrained(job["source"], trust_remote_code=False)
    on_gpu = model.device.type == "cuda"

    def decode(prompts: list[str]) -> None:
        generate_answers(model, tokenizer, prompts, job["batch_size"], **job["generation"])
        if on_gpu:
            torch.cuda.synchronize()

    decode(job["prompts"][:1])
    if on_gpu:
        torch.cuda.reset_peak_memory_stats()
    held = reset_peak()
    seconds = []
    for _ in range(1 + job["repeats"]):
        start = time.perf_counter()
        decode(job["prompts"])
        seconds.append((time.perf_counter() - start) / len(job["prompts"]))
    counted = seconds[1:]
    most = torch.cuda.max_memory_allocated() if on_gpu else peak() - held
    return {
        "seconds_per_sample": median(counted),
        "seconds_range": [min(counted), max(counted)],
        "peak_bytes": most,
    }


def reset_peak() -> int:
    """Bytes that are resident now, where the kernel's high-water mark starts again; the mark itself elsewhere."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return peak()


def peak() -> int:
    """The high-water mark of resident memory, in bytes."""
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


if __name__ == "__main__":
    print(json.dumps(_measure(json.load(sys.stdin))))
