"""A training run from a recipe: train or resume, test, and write down how it was made."""

from __future__ import annotations

import json
import os
import platform
import shlex
import sys
import time
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import Any

import datasets
from transformers import Seq2SeqTrainingArguments, set_seed
from transformers.trainer_utils import get_last_checkpoint

from hf_symbinv.modeling.modeling_symbinv import SymbolInvariantForConditionalGeneration
from hf_symbinv.tasks import LTL
from hf_symbinv.training.recipe import Recipe
from hf_symbinv.training.trainer import SymbolInvariantTrainer

PACKAGES = ("hf_symbinv", "torch", "transformers", "datasets", "accelerate", "tokenizers", "safetensors", "spottl")

# SIT section 5.2: three beams. Scores are log-probability / length; the search ends when no open beam can win.
GENERATION = {"num_beams": 3, "length_penalty": 1.0, "early_stopping": "never", "max_new_tokens": 100}


def train(recipe: Recipe, data: datasets.DatasetDict, output_dir: str | Path) -> dict[str, Any]:
    """Trains the recipe's model on `data`, or goes on from the last checkpoint in `output_dir`.

    Leaves in `output_dir` the model with its tokenizer, `checkpoint-*` folders to resume from, and `run.json` with the
    command, recipe, versions, machine, wall-clock time and results.

    Args:
        recipe: what to do.
        data: splits `train`, `validation` and `test` with columns `formula` and `witness`.
        output_dir: a folder, made if it does not exist.

    Returns:
        The content of `run.json`.

    Raises:
        ValueError: for a data set without these splits, an unknown trainer argument, or a folder of another recipe.
    """
    missing = {"train", "validation", "test"} - set(data)
    if missing:
        raise ValueError(f"data has splits {sorted(data)}; it needs train, validation and test")
    output = Path(output_dir)
    _refuse_other_recipe(output, recipe)
    try:
        args = Seq2SeqTrainingArguments(output_dir=str(output), **recipe.trainer)
    except TypeError as error:
        raise ValueError(f"trainer: {error}; see transformers.Seq2SeqTrainingArguments for the arguments") from error
    set_seed(args.seed)
    model = SymbolInvariantForConditionalGeneration(recipe.config())
    model.generation_config.update(**GENERATION)
    trainer = SymbolInvariantTrainer(
        model=model,
        args=args,
        train_dataset=data["train"],
        eval_dataset=_first(data["validation"], recipe.evaluation_rows),
        processing_class=LTL.tokenizer(),
    )
    started = time.time()
    if trainer.is_world_process_zero():
        output.mkdir(parents=True, exist_ok=True)
        (output / "recipe.json").write_text(json.dumps(asdict(recipe), indent=2) + "\n")
    result = trainer.train(resume_from_checkpoint=get_last_checkpoint(str(output)) if output.is_dir() else None)
    test = trainer.check_answers(_first(data["test"], recipe.test_rows), "test")
    trainer.save_model()
    record = {
        "command": shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]),
        "recipe": asdict(recipe),
        "results": {**result.metrics, **test},
        "log": trainer.state.log_history,
        "seconds": round(time.time() - started, 1),
        "processes": args.world_size,
        "environment": environment(),
    }
    if trainer.is_world_process_zero():
        (output / "run.json").write_text(json.dumps(record, indent=2) + "\n")
    trainer.end()
    return record


def environment() -> dict[str, Any]:
    """Versions and machine, as far as they bear on results."""
    import torch

    versions: dict[str, str | None] = {}
    for package in PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = None
    return {
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "cpu_count": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "accelerator": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "packages": versions,
    }


def _first(rows: datasets.Dataset, count: int) -> datasets.Dataset:
    return rows.select(range(min(count, len(rows))))


def _refuse_other_recipe(output: Path, recipe: Recipe) -> None:
    path = output / "recipe.json"
    if path.is_file() and json.loads(path.read_text()) != json.loads(json.dumps(asdict(recipe))):
        raise ValueError(
            f"{output} holds a run of another recipe (see {path.name}); choose another folder or remove it"
        )
