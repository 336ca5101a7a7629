"""Peak memory of a whole training process by the number of its rows, streamed and not.

    python benchmarks/streaming.py
    python benchmarks/streaming.py --rows 20000 --times 20

A toy model is trained on so many rows of LTL, and on so many times as many; a buffer holds as many as the first number.
Each training is a process of its own, and is measured from before it reads its data. Printed are MB of resident memory.
"""

from __future__ import annotations

import argparse
import math
import tempfile
from collections.abc import Sequence
from pathlib import Path

from harness import Setting, in_own_process, peak_memory, start_memory
from inputs import TOY, ltl_pairs

# Our choice: pairs that are drawn, and then repeated, and rows of a step.
PAIRS, BATCH = 5_000, 512


def write_data(folder: Path, rows: int) -> None:
    """Splits of LTL questions and answers as Parquet, `rows` for training."""
    from hf_symbinv import LTL
    from hf_symbinv.datasets_scripts.storage import write_split

    pairs = ltl_pairs(min(PAIRS, rows), 12)
    for split, count in (("train", rows), ("validation", 2), ("test", 2)):
        write_split(LTL, folder, split, (pairs * math.ceil(count / len(pairs)))[:count], "repeated")


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
        "--rows", type=int, default=20_000, help="for training, and in a buffer (default: %(default)s)"
    )
    command.add_argument("--times", type=int, default=20, help="as many rows (default: %(default)s)")
    options = command.parse_args(arguments)
    steps = max(10 * options.rows // BATCH, 10)  # ten buffers
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
