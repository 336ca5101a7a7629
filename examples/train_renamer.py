"""Train a Renamer to predict the cycles of basic blocks, and print its error with registers as they are and renamed.

    accelerate launch examples/train_renamer.py --output runs/renamer
    accelerate launch examples/train_renamer.py --output runs/vanilla --kind vanilla
    accelerate launch examples/train_renamer.py --output runs/mine --blocks blocks.tsv.xz trainer.max_steps=4000

Blocks are a table with text and cycles, a folder that hf_symbinv.datasets_scripts.blocks.basic_blocks wrote, or a data
set on the Hub; without one, the sample of 400 that comes with the package. Sizes are in train_renamer.yaml, and
SECTION.KEY=VALUE changes them. Started again with the same output folder, it goes on from the last checkpoint.
"""

import argparse
import random
from pathlib import Path

import torch
from accelerate import PartialState
from transformers import set_seed

from hf_symbinv import ModelCardCallback, SymbolInvariantForSequenceClassification
from hf_symbinv.datasets_scripts.blocks.basic_blocks import load_blocks, origin_of, prepare, read_blocks, sample_file
from hf_symbinv.errors import refusals
from hf_symbinv.training.fitting import fit
from hf_symbinv.training.recipe import load_sections
from hf_symbinv.training.sequences import SequenceCollator
from papers.renamer.models import ASSEMBLY, KINDS, mape, outputs_of, regression_rows


def train(args: argparse.Namespace) -> None:
    recipe = load_sections(Path(__file__).with_suffix(".yaml"), args.override)
    with PartialState().main_process_first():
        blocks = read_blocks(args.blocks)
        print(prepare(blocks, args.output / "data", origin=f"--blocks {origin_of(args.blocks)}", **recipe["data"]))
    data = regression_rows(load_blocks(args.output / "data"))
    set_seed(recipe["trainer"]["seed"])
    model = SymbolInvariantForSequenceClassification(ASSEMBLY.config(args.kind, recipe["model"]))
    fit(
        model,
        args.output / "model",
        {"remove_unused_columns": False, **recipe["trainer"]},  # Trainer sees no column that the model takes
        train_dataset=ASSEMBLY.rows_for(args.kind, data["train"], training=True),
        eval_dataset=ASSEMBLY.rows_for(args.kind, data["validation"]),
        data_collator=SequenceCollator(ASSEMBLY.pad),
        words=ASSEMBLY.words,
        callbacks=[ModelCardCallback()],
    )
    if not PartialState().is_main_process:
        return
    true, ids = torch.tensor(data["test"]["labels"]), data["test"]["input_ids"]
    renamed = [ASSEMBLY.renamed(block, random.Random(place)) for place, block in enumerate(ids)]
    for name, sequences in (("as they are", ids), ("renamed", renamed)):
        predicted = outputs_of(model.eval(), ASSEMBLY, args.kind, sequences, 64)[:, 0]
        print(f"{len(true)} test blocks, registers {name}: MAPE {mape(predicted, true):.2f} %")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, required=True, help="folder for the blocks, the model and checkpoints")
    parser.add_argument("--blocks", default=str(sample_file()), help="table, folder or OWNER/NAME (default: a sample)")
    parser.add_argument("--kind", choices=KINDS, default="renamer", help="which model (default: %(default)s)")
    parser.add_argument("override", nargs="*", help="SECTION.KEY=VALUE, such as trainer.max_steps=100")
    args = parser.parse_args()
    with refusals(parser):
        train(args)


if __name__ == "__main__":
    main()
