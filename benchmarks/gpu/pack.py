"""Packs what a GPU's machine needs and cannot make: data, and a small model with its answers on this CPU.

    python benchmarks/gpu/pack.py                       # a million questions of each task; an hour on two cores
    python benchmarks/gpu/pack.py --ltl data/ltl --prop data/prop     # of folders that `symbinv data` wrote

Writes `ltl.npz`, `prop.npz` and `law.npz`, at most 60 MB together. A file that is there is not made again, and the
builders go on where they were stopped.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from law import BEAMS, answered
from packed import Pack, flat, save_pack
from setting import PAPER, REHEARSED, ROOT, TOY, Sizes, commit

import hf_symbinv
from hf_symbinv import LTL, PROP, QuestionGrid, SymbolInvariantForConditionalGeneration, load_data

LARGEST = 60_000_000
TASKS = {"ltl": LTL, "prop": PROP}
# Held-out questions of the training's kind, and of each cell of the grid; those that the law is tested on.
VALID, PER_CELL, ASKED = 1000, 10, 512
# Rows that are tokenized together; tokens of a training answer, at most: the papers' decoding writes no more, and the
# six longer ones in 733,612 would double the memory of the largest step.
TOGETHER, LONGEST = 10_000, 100
# What a rehearsal asks of the builders, in seconds.
TOY_DATA = {"num_symbols": 2, "max_size": 8, "rows": 80, "seed": 0}


def encoded(task: str, name: str, rows: Any, count: int | None = None) -> dict[str, np.ndarray]:
    """The arrays of a split: token ids of questions and answers in the order of the rows, of so many at most.

    Training rows with an answer of more than `LONGEST` tokens and EOS are left out.
    """
    tokenizer, questions, answers = TASKS[task].tokenizer(), [], []
    question, answer = TASKS[task].columns
    for start in range(0, len(rows) if count is None else min(count, len(rows)), TOGETHER):
        part = rows[start : start + TOGETHER]
        found = tokenizer(part[question], text_target=part[answer], return_attention_mask=False)
        for asked, told in zip(found["input_ids"], found["labels"], strict=True):
            if name != "train" or len(told) <= LONGEST + 1:
                questions.append(asked)
                answers.append(told)
    arrays = {"question": flat(questions[:count]), "answer": flat(answers[:count])}
    return {f"{name}_{part}_{what}": array for part, both in arrays.items() for what, array in both.items()}


def pack_task(task: str, path: Path, source: str | None, rows: int, rehearsed: bool) -> None:
    """Writes a task's training rows, held-out rows and grid."""
    options = TOY_DATA if rehearsed else {"num_symbols": 5, "max_size": 35, "rows": rows, "seed": 0}
    data = load_data(task, options, source)
    largest = {"num_symbols": 2, "max_size": 5, "per_cell": 1} if rehearsed else {"per_cell": PER_CELL}
    grid = QuestionGrid(task=task, **largest)
    grid.download_and_prepare()
    test = grid.as_dataset(split="test")
    arrays = encoded(task, "train", data["train"]) | encoded(task, "valid", data["validation"], VALID)
    arrays |= encoded(task, "grid", test)
    config = TASKS[task].config()
    facts = {"task": task, "base_vocab_size": config.base_vocab_size, "pad_token_id": config.pad_token_id}
    save_pack(path, arrays, {**facts, "made_with": data.builder})


def pack_law(path: Path, ltl: Pack, sizes: Sizes, rehearsed: bool) -> None:
    """Writes a small model, questions, and its answers on this CPU."""
    if rehearsed:
        torch.manual_seed(0)
        model = SymbolInvariantForConditionalGeneration(LTL.config(**TOY)).eval()
    else:
        name = hf_symbinv.checkpoint("ltl-small")
        model = SymbolInvariantForConditionalGeneration.from_pretrained(name).float().eval()
    ids = ltl.rows("valid").questions[: 6 if rehearsed else ASKED]
    arrays = {f"weights.{name}": value.numpy() for name, value in model.state_dict().items()}
    arrays |= {"input_ids": ids.numpy()}
    for search, beams in BEAMS.items():
        arrays[search] = answered(model, ids.long(), beams, sizes.tokens["valid"]).numpy()
    fields = {name: value for name, value in model.config.to_diff_dict().items() if name not in NOT_FIELDS}
    save_pack(path, arrays, {"config": fields, "tokens": sizes.tokens["valid"]})


# What a configuration writes and does not take.
NOT_FIELDS = ("architectures", "auto_map", "dtype", "model_type", "transformers_version")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; its exit code."""
    command = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    command.add_argument(
        "--out", type=Path, default=ROOT / "build/gpu/packs", help="folder of the files (default: %(default)s)"
    )
    command.add_argument("--rows", type=int, default=1_000_000, help="of data that are drawn (default: %(default)s)")
    for task in TASKS:
        command.add_argument(
            f"--{task}", metavar="DATA", help=f"data of {task}: a folder or repository (default: drawn)"
        )
    command.add_argument("--rehearse", action="store_true", help="toy data and a toy model")
    options = command.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "commit.txt").write_text(f"{commit(options.out)}\n", encoding="utf-8")
    paths = {name: options.out / f"{name}.npz" for name in (*TASKS, "law")}
    for task in TASKS:
        if not paths[task].is_file():
            pack_task(task, paths[task], getattr(options, task), options.rows, options.rehearse)
    if not paths["law"].is_file():
        pack_law(paths["law"], Pack(paths["ltl"]), REHEARSED if options.rehearse else PAPER, options.rehearse)
    size = sum(path.stat().st_size for path in paths.values())
    print(f"{options.out}: {size / 1e6:.1f} MB")
    if size > LARGEST:
        print(f"more than {LARGEST / 1e6:.0f} MB; pack fewer --rows", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
