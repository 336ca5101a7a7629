"""Peak memory of a whole training process by the number of its rows, streamed and not.

    python benchmarks/streaming.py
    python benchmarks/streaming.py --rows 20000 --times 50

A toy model is trained on so many rows of LTL, and on so many times as many; a buffer holds as many as the first number.
Each training is a process of its own, and is measured from before it reads its data. Printed are MB of resident memory.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

from harness import Setting, in_own_process, peak_memory, start_memory
from inputs import TOY

BATCH = 512  # our choice: rows of a step


def write_data(folder: Path, rows: int) -> None:
    """Splits of LTL as Parquet, `rows` for training: formulas that are all different, with one answer for all."""
    from hf_symbinv import LTL
    from hf_symbinv.datasets_scripts.storage import Pair, write_split

    def formula(number: int) -> str:
        return "".join("!X"[int(digit)] for digit in f"{number:b}") + ("a" if number % 3 else "Uab")

    for split, count in (("train", rows), ("validation", 2), ("test", 2)):
        pairs = [Pair(formula(number), "a;a;&aa;{&a!a}") for number in range(2**16, 2**16 + count)]
        write_split(LTL, folder, split, pairs, "none")


def train(setting: Setting, data: str, streamed: bool, buffer_size: int, steps: int) -> dict[str, float]:
    """Trains a toy model; its peak memory."""
    import datasets

    from hf_symbinv import Recipe, load_data
    from hf_symbinv import train as train_by

    held = start_memory(setting)
    recipe = Recipe(
        task="ltl", data={"streaming": streamed, "buffer_size": buffer_size}, model={"preset": "ltl", **TOY},
        trainer={
            "max_steps": steps, "per_device_train_batch_size": min(BATCH, buffer_size), "use_cpu": True,
            "save_strategy": "no", "eval_strategy": "no", "report_to": "none", "disable_tqdm": True,
        },
        evaluation_rows=2, test_rows=2,
    )  # fmt: skip
    datasets.disable_progress_bars()
    with tempfile.TemporaryDirectory() as folder:
        datasets.config.HF_DATASETS_CACHE = folder
        train_by(recipe, load_data("ltl", recipe.data, data), f"{folder}/run")
    return peak_memory(setting, held)


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command."""
    command = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    command.add_argument(
        "--rows", type=int, default=10_000, help="for training, and in a buffer (default: %(default)s)"
    )
    command.add_argument("--times", type=int, default=20, help="as many rows (default: %(default)s)")
    options = command.parse_args(arguments)
    steps = max(3 * options.rows // BATCH, 10)  # three buffers
    print(f"{'rows':>12} {'streamed':>10} {'not':>10}")
    for rows in (options.rows, options.times * options.rows):
        with tempfile.TemporaryDirectory() as folder:
            write_data(Path(folder), rows)
            given = {"data": folder, "buffer_size": options.rows, "steps": steps}
            peaks = [
                in_own_process("streaming", "train", Setting(), streamed=one, **given)["peak"] for one in (True, False)
            ]
        print(f"{rows:>12,} {peaks[0]:>7,.0f} MB {peaks[1]:>7,.0f} MB", flush=True)


if __name__ == "__main__":
    main()
