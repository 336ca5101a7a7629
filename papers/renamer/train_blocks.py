"""Train a Renamer to predict the cycles of basic blocks, and print its error with registers as they are and renamed.

    accelerate launch -m papers.renamer.train_blocks
    accelerate launch -m papers.renamer.train_blocks --output runs/vanilla --kind vanilla
    accelerate launch -m papers.renamer.train_blocks --output runs/mine --blocks blocks.tsv.xz trainer.max_steps=4000

Blocks are a table with text and cycles, a folder that papers.renamer.basic_blocks wrote, or a data
set on the Hub; without one, the sample of 400 that comes with the package, with which the first takes some minutes on
one CPU core. Kinds are `vanilla`, `augmented` (vanilla, trained on one renamed copy of the blocks), `canonicalised`
(vanilla, with the canonical names), `renamer`, and `streams`. Sizes are in sizes.yaml, and SECTION.KEY=VALUE
changes them. Started again with the same output folder, it goes on from the last checkpoint. With `accelerate launch
--quiet`, a program that cannot use what it was given ends with its own sentence, and without a traceback of
accelerate's.
"""

import argparse
import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import datasets
import torch
from accelerate import PartialState
from transformers import TrainingArguments, set_seed

from hf_symbinv import SymbolInvariantConfig, SymbolInvariantForSequenceClassification
from hf_symbinv.logic import random_renaming
from hf_symbinv.metrics import normal_interval
from hf_symbinv.training import (
    SequenceCollator,
    data_record,
    fit,
    load_sections,
    measure_rows,
    model_errors,
    training_arguments,
)
from papers.harness.programs import run_program, say_how_to_go_on
from papers.renamer import x86
from papers.renamer.basic_blocks import load_blocks, origin_of, prepare, read_blocks, sample_file

# The experiments of papers/renamer have the same kinds, and derivatives too.
KINDS: dict[str, dict[str, Any]] = {
    "vanilla": {"symbol_embedding": "learned", "components": ["EP"]},
    "augmented": {"symbol_embedding": "learned", "components": ["EP"]},
    "canonicalised": {"symbol_embedding": "learned", "components": ["EP"]},
    "renamer": {"symbol_embedding": "views", "components": ["EP"]},
    "streams": {"symbol_embedding": "streams", "components": ["EP", "EA"]},
}


def renamed(ids: Sequence[int], generator: random.Random) -> list[int]:
    """A block with other registers, of those that may trade names in it."""
    return x86.IDS.rename(ids, random_renaming(x86.interchangeable(ids), generator))


def renamed_copies(blocks: Iterable[Sequence[int]]) -> list[list[int]]:
    """Each block with other registers, always the same ones."""
    return [renamed(ids, random.Random(place)) for place, ids in enumerate(blocks)]


def seen_by(kind: str, ids: Sequence[int]) -> Sequence[int]:
    """What a kind of model sees of a block."""
    if kind == "canonicalised":
        return x86.IDS.rename(ids, x86.IDS.canonical_renaming(ids, x86.interchangeable(ids)))
    return ids


def rows_for(kind: str, blocks: datasets.Dataset, *, training: bool = False) -> datasets.Dataset:
    """Rows with `input_ids` as a kind of model sees them, and the cycles as `labels`."""
    own = renamed_copies(blocks["input_ids"]) if kind == "augmented" and training else blocks["input_ids"]
    seen = [seen_by(kind, ids) for ids in own]
    return datasets.Dataset.from_dict({"input_ids": seen, "labels": list(map(float, blocks["cycles"]))})


def measured(blocks: datasets.Dataset) -> dict[str, Any]:
    """What `run.json` says of blocks: registers are their symbols, and tokens their size."""
    texts = ((" ".join(map(str, block["input_ids"])), str(block["cycles"])) for block in blocks)
    return measure_rows(
        texts,
        lambda text: len({x86.IDS.parts(int(token))[0] for token in text.split()} - {-1}),
        lambda text: len(text.split()),
    )


@torch.inference_mode()
def errors_of(model: SymbolInvariantForSequenceClassification, kind: str, blocks: Sequence[Sequence[int]],
              cycles: Sequence[float]) -> list[float]:  # fmt: skip
    """The absolute error of each block in percent. Source: Renamer, appendix C."""
    collate, found = SequenceCollator(x86.PAD), []
    for start in range(0, len(blocks), 64):
        batch = collate([{"input_ids": seen_by(kind, ids)} for ids in blocks[start : start + 64]])
        logits = model(**{name: tensor.to(model.device) for name, tensor in batch.items()}).logits
        found += logits[:, 0].float().tolist()
    return [100 * abs(guess - true) / abs(true) for guess, true in zip(found, cycles, strict=True)]


def train(args: argparse.Namespace) -> None:
    recipe, folder = load_sections(Path(__file__).with_name("sizes.yaml"), args.override), args.output / "model"
    fields = {"preset": "renamer-tiny", **recipe["model"], **KINDS[args.kind]}
    with model_errors():
        config = SymbolInvariantConfig.from_preset(
            fields.pop("preset"), base_vocab_size=x86.IDS.base, num_symbols=len(x86.REFERENTS),
            num_views=x86.IDS.views, num_labels=1, problem_type="regression", regression_loss="mape",
            **fields,
        )  # fmt: skip
    arguments = {"remove_unused_columns": False, **recipe["trainer"]}  # Trainer sees no column that the model takes
    training_arguments(TrainingArguments, folder, arguments)  # refuses what is wrong before data are made
    with PartialState().main_process_first():
        blocks = read_blocks(args.blocks)
        kept = prepare(blocks, args.output / "data", origin=f"--blocks {origin_of(args.blocks)}", **recipe["data"])
    data = load_blocks(args.output / "data")
    set_seed(recipe["trainer"]["seed"])
    model = SymbolInvariantForSequenceClassification(config)

    fit(
        model,
        folder,
        arguments,
        data=data_record(
            origin_of(args.blocks), recipe["data"], {split: measured(blocks) for split, blocks in data.items()}
        ),
        train_dataset=rows_for(args.kind, data["train"], training=True),
        eval_dataset=rows_for(args.kind, data["validation"]),
        data_collator=SequenceCollator(x86.PAD),
        words=x86.words(),
        card=True,
    )
    if not PartialState().is_main_process:
        return
    print(kept)
    ids, cycles = data["test"]["input_ids"], data["test"]["cycles"]
    for name, given in (("as they are", ids), ("renamed", renamed_copies(ids))):
        errors = errors_of(model.eval(), args.kind, given, cycles)
        low, high = normal_interval(errors) or (errors[0], errors[0])
        print(f"{len(ids)} test blocks, registers {name}: MAPE {fmean(errors):.2f} %, 95 % interval {low:.2f} to "
              f"{high:.2f} %")  # fmt: skip
    known = data["train"]["cycles"]
    guess = min(set(known), key=lambda cycles: fmean(abs(cycles - true) / true for true in known))
    constant = fmean(100 * abs(guess - true) / true for true in cycles)
    print(f"the best guess that is the same for all: MAPE {constant:.2f} %")
    say_how_to_go_on(folder, recipe["trainer"]["max_steps"])


if __name__ == "__main__":
    run_program(
        __doc__,
        train,
        "runs/renamer",
        {
            "--blocks": {
                "default": str(sample_file()),
                "help": "table, folder or OWNER/NAME (default: a sample)",
            },
            "--kind": {"choices": KINDS, "default": "renamer", "help": "which model (default: %(default)s)"},
        },
    )
