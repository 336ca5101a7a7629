"""A model that answers questions, trained by a recipe: its run, its test, its card."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import datasets
from transformers import Seq2SeqTrainingArguments, set_seed

from hf_symbinv.errors import UserError
from hf_symbinv.hub import push_folder
from hf_symbinv.hub.cards.facts import read_facts
from hf_symbinv.modeling.modeling_symbinv import SymbolInvariantForConditionalGeneration
from hf_symbinv.tasks import PAIRS, SymbolTask, load_task
from hf_symbinv.training.cards import write_card
from hf_symbinv.training.recipe import Recipe
from hf_symbinv.training.run import Run, end
from hf_symbinv.training.run_data import data_record, measure_questions
from hf_symbinv.training.start import freeze, load_start, start_folder
from hf_symbinv.training.trainer import SymbolInvariantTrainer

# SIT section 5.2: three beams. Scores are log-probability / length; the search ends when no open beam can win.
GENERATION = {"num_beams": 3, "length_penalty": 1.0, "early_stopping": False, "max_new_tokens": 100}


def train(
    recipe: Recipe,
    data: Mapping[str, datasets.Dataset],
    output_dir: str | Path,
    *,
    max_seconds: float | None = None,
) -> dict[str, Any]:
    """Trains the recipe's model on `data`, or goes on from the last checkpoint in `output_dir`.

    Leaves in `output_dir` the model with its tokenizer and its card, `checkpoint-*` folders to resume from, and
    `run.json` with the command, recipe, data, versions, machine, wall-clock time and results. A finished run whose
    recipe comes back with a larger `trainer.max_steps` goes on from its last checkpoint: from there the learning rate
    is that of the schedule over all steps, so the weights are not those of a run that was so long from the start.

    Args:
        recipe: what to do.
        data: splits `train`, `validation` and `test` with the task's columns. What `load_data` returns says where it is
            from, and `run.json` repeats that.
        output_dir: a folder of this machine, made if it does not exist.
        max_seconds: stop after the step that reaches this time, with a checkpoint to go on from; None for no limit. An
            evaluation that this step is due for is done before, the test is left to the next call.

    Returns:
        The content of `run.json`, also if the run was finished before. If time was up, only `finished: False`, `step`
        and `max_steps`, and there is neither model nor `run.json` of it: the same call goes on.

    Raises:
        UserError: for a data set without these splits or columns, a text in it that is none of the task's, a trainer
            argument that transformers refuses, a folder of another run, or a `start` that is no model or that the
            recipe's model contradicts; and, as hf_symbinv.hub.PushError, if the model is trained, but cannot be pushed:
            the same call pushes it.
        ImportError: if the task's solver is not installed.
    """
    missing = {"train", "validation", "test"} - set(data)
    if missing:
        raise UserError(f"data has splits {sorted(data)}; it needs train, validation and test")
    args, task = recipe.arguments(output_dir), getattr(data, "task", None) or load_task(recipe.task)
    used: dict[str, Any] = {
        "train": data["train"],
        "validation": _first(data["validation"], recipe.evaluation_rows),
        "test": _first(data["test"], recipe.test_rows),
    }
    source = getattr(data, "source", None)
    builder = getattr(data, "builder", None)
    names = {"train": "training data", "validation": "evaluation data", "test": "test data"}
    splits = {split: measure_questions(rows, task, names[split]) for split, rows in used.items()}
    run = Run(args, asdict(recipe), data_record(source, builder, splits), max_seconds=max_seconds)
    if (record := run.record) is not None:
        if args.push_to_hub and args.should_save:
            _push(args)  # which may be what failed when the run ended
        return record
    with run.held():
        record = _trained(run, recipe, task, used, {split: len(rows) for split, rows in data.items()})
    if record["finished"] and args.push_to_hub and args.should_save:
        _push(args)
    return record


def closing_words(record: Mapping[str, Any], folder: str | Path) -> tuple[str, str]:
    """What a program says at the end of a run: how good the model is, and how to go on with it.

    Args:
        record: What `train` returned, of a run that is finished.
        folder: Of the run, as its user named it.
    """
    recipe, results = record["recipe"], record["results"]
    low, high = results["test_accuracy_interval"]
    result = (
        f"{results['test_count']:,} test questions: {100 * results['test_accuracy']:.1f} % of the answers "
        f"{'as in the data' if recipe['task'] == PAIRS else 'verified'}, "
        f"95 % interval {100 * low:.1f} to {100 * high:.1f} %"
    )
    task = f" --task {shlex.quote(recipe['task'])}" if ".py" in recipe["task"] else ""
    length = "max_steps" if recipe["trainer"].get("max_steps", -1) > 0 else "num_train_epochs"
    name, source = shlex.quote(str(folder)), (record["data"] or {}).get("source")
    evaluate = f", `symbinv evaluate {name}{task} --data {shlex.quote(str(source))}` measures it" if source else ""
    return result, (
        f"the model is in {folder}; the same command with trainer.{length}={2 * recipe['trainer'].get(length, 3)} "
        f"trains it longer{evaluate}, and `symbinv solve{task} --model {name} QUESTION` asks it"
    )


def _trained(
    run: Run, recipe: Recipe, task: SymbolTask, used: Mapping[str, Any], rows: Mapping[str, int]
) -> dict[str, Any]:
    """Does what is missing of a run; what `train` returns."""
    args = run.args
    set_seed(args.seed)
    trained = run.trained
    if trained is None:
        model = _new_model(recipe, task)
    else:
        model = SymbolInvariantForConditionalGeneration.from_pretrained(trained)
    trainer = SymbolInvariantTrainer(
        task=task,
        model=model,
        args=args,
        train_dataset=used["train"],
        eval_dataset=used["validation"],
        processing_class=task.tokenizer(model.config),
        truth_loss=recipe.truth_loss,
        truth_start=None if recipe.start is None else start_folder(recipe.start),
        risk_candidates=recipe.risk_candidates,
    )
    metrics = run.train(trainer)
    if metrics is None:
        end(trainer)
        return {"finished": False, "step": trainer.state.global_step, "max_steps": trainer.state.max_steps}
    test = trainer.check_answers(used["test"], "test")
    trainer.save_model(_internal_call=True)  # pushed below, with the record and the card
    record = run.finish(
        trainer,
        {**metrics, **test},
        rows=dict(rows),
        verified_by=task.solver_version(),
    )
    if trainer.is_world_process_zero():
        write_card(run.folder, read_facts(run.folder, name=args.hub_model_id, task=task))
    end(trainer)
    return record


def _push(args: Seq2SeqTrainingArguments) -> None:
    push_folder(
        args.output_dir,
        str(args.hub_model_id),
        private=bool(args.hub_private_repo),
        revision=args.hub_revision or "main",
        token=args.hub_token,
    )


def _new_model(recipe: Recipe, task: SymbolTask) -> SymbolInvariantForConditionalGeneration:
    config = recipe.config(task)
    if recipe.start is None:
        model = SymbolInvariantForConditionalGeneration(config)
    else:
        model = load_start(recipe.start, config)
    freeze(model, recipe.frozen)
    model.generation_config.update(**{**GENERATION, "max_new_tokens": task.max_new_tokens})
    return model


def _first(rows: datasets.Dataset, count: int) -> datasets.Dataset:
    return rows.select(range(min(count, len(rows))))
