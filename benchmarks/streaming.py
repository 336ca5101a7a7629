"""Peak memory of a whole training process by the number of its rows, streamed and not."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

from harness import Row, Setting, in_own_process, in_turn, peak_memory, start_memory
from inputs import TOY, ltl_pairs

# Our choice: rows of one buffer, and how many times as many there are besides; the pairs that are drawn and repeated;
# and steps, in which ten buffers are read.
ROWS, TIMES, PAIRS, BATCH, STEPS = 20_000, 20, 5_000, 512, 400


def write_data(folder: Path, rows: int, setting: Setting) -> None:
    """Splits of LTL questions and answers as Parquet, `rows` for training."""
    from hf_symbinv import LTL
    from hf_symbinv.datasets_scripts.storage import Pair, write_split

    pairs = ltl_pairs(16 if setting.tiny else PAIRS, 12)
    for split, count in (("train", rows), ("validation", 2), ("test", 2)):
        repeated = (pairs * math.ceil(count / len(pairs)))[:count]
        write_split(LTL, folder, split, [Pair(*pair) for pair in repeated], "repeated")


def train(setting: Setting, data: str, streamed: bool, rows: int) -> dict[str, float]:
    """Trains a toy model with so many rows in a buffer, and measures from before the data are read."""
    import datasets

    from hf_symbinv import Recipe, load_data
    from hf_symbinv import train as train_by

    held = start_memory(setting)
    steps, batch = (8, 4) if setting.tiny else (STEPS, BATCH)
    recipe = Recipe(
        task="ltl", data={"streaming": streamed, "buffer_size": rows}, model={"preset": "ltl", **TOY},
        trainer={
            "max_steps": steps, "per_device_train_batch_size": batch, "use_cpu": True, "save_strategy": "no",
            "eval_strategy": "no", "report_to": "none", "disable_tqdm": True,
        },
        evaluation_rows=2, test_rows=2,
    )  # fmt: skip
    datasets.disable_progress_bars()
    with tempfile.TemporaryDirectory() as folder:
        datasets.config.HF_DATASETS_CACHE = folder
        train_by(recipe, load_data("ltl", recipe.data, data), f"{folder}/run")
    return peak_memory(setting, held)


def memory_by_rows(setting: Setting) -> list[Row]:
    """Twenty times as many rows beside one buffer of them, streamed; and beside the same rows that are not streamed."""
    few = 64 if setting.tiny else ROWS
    with tempfile.TemporaryDirectory() as folder:
        places = {times: Path(folder) / str(times) for times in (1, TIMES)}
        for times, place in places.items():
            write_data(place, times * few, setting)

        def peak(times: int, streamed: bool) -> float:
            options = {"data": str(places[times]), "streamed": streamed, "rows": few}
            return float(in_own_process("streaming", "train", setting, **options)["peak"])

        jobs = [(TIMES, True), (1, True), (TIMES, False), (1, False)]
        many, one, many_held, one_held = in_turn(
            setting, *(lambda job=job: peak(*job) for job in jobs), warm_up=False
        )  # fmt: skip
    what, note = f"peak memory of a streamed training, {TIMES * few:,} rows", "of the whole process"
    return [
        Row("streaming-rows", what, f"{few:,} rows", "MB", "at most", 1.1, many, one, note),
        Row(
            "streaming-held", what, f"not streamed (with {few:,} rows: {one_held[0]:,.0f} MB)", "MB", "at most", 1.0,
            many, many_held, note, {"not_streamed_few_MB": one_held},
        ),
    ]  # fmt: skip


BENCHMARKS = {"streaming": memory_by_rows}
