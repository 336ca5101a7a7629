"""Training in two processes beside one, as `accelerate launch` starts the example, on processors over gloo."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from harness import FOLDER, Row, Setting, in_turn
from inputs import TOY, ltl_pairs

from hf_symbinv import LTL
from hf_symbinv.solvers import available_cores

EXAMPLE = FOLDER.parent / "examples" / "train_ltl.py"
TWO = FOLDER.parent / "examples" / "accelerate" / "cpu-2.yaml"
LAUNCH = (sys.executable, "-m", "accelerate.commands.launch", "--main_process_port", "0", "--config_file", str(TWO))

# Our choice: rows of the run, and rows of a process in a step, half a piece of `training-step`.
ROWS, BATCH = 512, 32


def write_data(folder: Path, setting: Setting) -> int:
    """Splits of LTLRandom35 as Parquet; how many rows are for training, a whole number of steps of two processes."""
    import datasets

    count = 16 if setting.tiny else ROWS
    pairs = ltl_pairs(count, 12 if setting.tiny else 35)
    for split, some in (("train", pairs), ("validation", pairs[:2]), ("test", pairs[:2])):
        columns = zip(*((pair.question, pair.answer) for pair in some), strict=True)
        rows = dict(zip(LTL.columns, map(list, columns), strict=True))
        datasets.Dataset.from_dict(rows).to_parquet(str(folder / f"{split}.parquet"))
    return count


def rows_per_second(processes: int, data: Path, rows: int, setting: Setting) -> float:
    """Of the training loop of one epoch, in processes with one thread each, without what comes before and after it.

    Raises:
        RuntimeError: If the run fails, or had another number of processes.
    """
    batch = 4 if setting.tiny else BATCH
    trainer = {
        "use_cpu": "true", "per_device_train_batch_size": batch, "max_steps": rows // (batch * processes),
        "eval_strategy": "no", "save_strategy": "no",
    }  # fmt: skip
    changes = [f"trainer.{name}={value}" for name, value in trainer.items()]
    changes += [f"model.{name}={value}" for name, value in TOY.items()] if setting.tiny else []
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "run"
        launch = LAUNCH if processes == 2 else (sys.executable,)
        words = ["--recipe", "ltl-paper", "--data", str(data), "--output", str(output), *changes]
        threads = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        environment = {**os.environ, **threads, "HF_DATASETS_CACHE": str(Path(folder) / "cache")}
        command = [*launch, str(EXAMPLE), *words]
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        if done.returncode:
            raise RuntimeError(f"{processes} processes: the training failed:\n{done.stderr[-2000:]}")
        record = json.loads((output / "run.json").read_text(encoding="utf-8"))
    return rate(record, processes)


def rate(record: dict[str, Any], processes: int) -> float:
    """Rows per second by the record of a run.

    Raises:
        RuntimeError: If the run had another number of processes.
    """
    if record["processes"] != processes:
        raise RuntimeError(f"{processes} processes were asked for and {record['processes']} trained")
    return float(record["results"]["train_samples_per_second"])


def two_processes(setting: Setting) -> list[Row]:
    """Rows per second of two processes, beside one: each has one thread, and as many rows in a step.

    Both runs go once over the same rows in the same batches, which two processes take in turn, so the work is the same
    and each batch of a pair is about as large as the other.
    """
    if available_cores() < 2 and not setting.tiny:
        print("training-two-processes: left out, two processes need two cores", file=sys.stderr)
        return []
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder)
        rows = write_data(data, setting)
        both, one = in_turn(
            setting,
            lambda: rows_per_second(2, data, rows, setting),
            lambda: rows_per_second(1, data, rows, setting),
            warm_up=False,
        )
    what, note = "training in two processes, gloo", f"{rows} rows; one thread and the same batch in each process"
    return [Row("training-two-processes", what, "one process", "/s", "at least", 1.8, both, one, note)]


BENCHMARKS = {"training-two-processes": two_processes}
