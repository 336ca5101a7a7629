"""Train a model that points at misused variables of Python functions, whatever these are called.

    accelerate launch -m papers.code.train_finder
    accelerate launch -m papers.code.train_finder data.source=sources --output runs/mine

The source is the standard library of Python, or a folder with files of yours. In half of the functions a variable was
put in the place of another one. The validation functions say from which threshold on suspicions are right as often as
`finder.wanted` says. Sizes are in sizes.yaml, and SECTION.KEY=VALUE changes them. Started again with the same
folder, it goes on.
"""

import argparse
import shutil
import sys
from pathlib import Path

from accelerate import PartialState
from transformers import AutoTokenizer, TrainingArguments, set_seed

from hf_symbinv import SymbolInvariantConfig, SymbolInvariantForTokenClassification
from hf_symbinv.metrics import wilson_interval
from hf_symbinv.training import (
    data_record,
    fit,
    load_sections,
    measure_rows,
    model_errors,
    training_arguments,
    write_card,
)  # fmt: skip
from papers.code.bug_finding import BugFindingConfig, load_bugs, prepare
from papers.code.finding import Finder
from papers.code.reading import Reader
from papers.code.training import Batches, BugTrainer
from papers.harness.programs import run_program


def train(args: argparse.Namespace) -> None:
    recipe, folder = load_sections(Path(__file__).with_name("sizes.yaml"), args.override), args.output / "model"
    arguments = {**recipe["trainer"], "remove_unused_columns": False}  # rows are read when they are needed
    training_arguments(TrainingArguments, folder, arguments)  # refuses what is wrong before data are made
    data = BugFindingConfig(bug="misuse", **recipe["data"])
    with PartialState().main_process_first():
        print(prepare(data, args.output / "data"), file=sys.stderr)
    splits, tokenizer = load_bugs(args.output / "data"), AutoTokenizer.from_pretrained(args.output / "data")
    with model_errors():
        config = SymbolInvariantConfig(
            base_vocab_size=tokenizer.vocab_size, decoder_layers=0, num_labels=2, **recipe["model"]
        )
    reader, rows = Reader(tokenizer, "hidden"), splits["train"].to_list()
    counts = {row["text"]: len({one["name"] for one in row["symbols"]}) for row in rows}
    measured = measure_rows(((text, "") for text in counts), counts.__getitem__, len)
    set_seed(recipe["trainer"]["seed"])
    model = SymbolInvariantForTokenClassification(config)
    fit(model, folder, arguments, data=data_record(None, recipe["data"], {"train": measured}), trainer_class=BugTrainer,
        train_dataset=rows, data_collator=Batches([reader]))  # fmt: skip
    if not PartialState().is_main_process:
        return
    finder = Finder(model, reader).calibrated(splits["validation"].to_list(), recipe["finder"]["wanted"])
    finder = finder.measured(splits["test"].to_list())
    finder.save_pretrained(args.output / "finder")
    shutil.copy(folder / "run.json", args.output / "finder")
    write_card(args.output / "finder")
    for what, (right, count) in finder.test.items():
        low, high = wilson_interval(right, count)
        print(f"{what}: {right / count:.1%} of {count:,}, 95 % interval {low:.1%} to {high:.1%}")
    sys.stdout.flush()
    print(f"the model is in {args.output / 'finder'}, for python -m papers.code.check --model; the same command with "
          f"trainer.max_steps={2 * recipe['trainer']['max_steps']} trains it longer", file=sys.stderr)  # fmt: skip


if __name__ == "__main__":
    run_program(__doc__, train, "runs/code")
