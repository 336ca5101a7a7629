"""A training run from a recipe: train or resume, stop in time, test, and write down how it was made."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import datasets
import torch
from accelerate.utils import broadcast_object_list
from transformers import Seq2SeqTrainingArguments, TrainerCallback, TrainerState, set_seed

from hf_symbinv.hub import push_folder
from hf_symbinv.hub.cards.facts import read_facts
from hf_symbinv.modeling.modeling_symbinv import SymbolInvariantForConditionalGeneration
from hf_symbinv.tasks import load_task
from hf_symbinv.training.cards import ModelCardCallback, command, environment, hyperparameters, write_card
from hf_symbinv.training.failures import OtherRunError
from hf_symbinv.training.recipe import Recipe
from hf_symbinv.training.start import load_start
from hf_symbinv.training.trainer import SymbolInvariantTrainer

# SIT section 5.2: three beams. Scores are log-probability / length; the search ends when no open beam can win.
GENERATION = {"num_beams": 3, "length_penalty": 1.0, "early_stopping": "never", "max_new_tokens": 100}

RECORD = "run.json"
# In each checkpoint: what the trainer writes last, and the wall-clock seconds of the run up to it.
STATE, SECONDS = "trainer_state.json", "seconds.json"


def train(
    recipe: Recipe, data: datasets.DatasetDict, output_dir: str | Path, *, max_seconds: float | None = None
) -> dict[str, Any]:
    """Trains the recipe's model on `data`, or goes on from the last checkpoint in `output_dir`.

    Leaves in `output_dir` the model with its tokenizer and its card, `checkpoint-*` folders to resume from, and
    `run.json` with the command, recipe, versions, machine, wall-clock time and results.

    Args:
        recipe: what to do.
        data: splits `train`, `validation` and `test` with the task's columns.
        output_dir: a folder, made if it does not exist.
        max_seconds: stop after the step that reaches this time, with a checkpoint to go on from; None for no limit. An
            evaluation that this step is due for is done before, the test is left to the next call.

    Returns:
        The content of `run.json`, also if the run was finished before. If time was up, only `finished: False`, `step`
        and `max_steps`, and there is neither model nor `run.json`: the same call goes on.

    Raises:
        ValueError: for a data set without these splits or columns, a text in it that is none of the task's, a trainer
            argument that transformers refuses, a folder of another recipe, or a `start` that is no model or that the
            recipe's model contradicts; and, as hf_symbinv.hub.PushError, if the model is trained, but cannot be pushed:
            the same call pushes it.
        ImportError: if the task's solver is not installed.
    """
    started = time.monotonic()
    missing = {"train", "validation", "test"} - set(data)
    if missing:
        raise ValueError(f"data has splits {sorted(data)}; it needs train, validation and test")
    output, task = Path(output_dir), load_task(recipe.task)
    _refuse_other_recipe(output, recipe)
    args = _arguments(recipe, output)
    if (output / RECORD).is_file():
        if args.push_to_hub and args.should_save:
            _push(args)  # which may be what failed when the run ended
        return dict(json.loads((output / RECORD).read_text()))
    set_seed(args.seed)
    last = last_checkpoint(output)
    state = None if last is None else TrainerState.load_from_json(str(last / STATE))
    trained = state is not None and state.global_step >= state.max_steps
    model = SymbolInvariantForConditionalGeneration.from_pretrained(last) if trained else _new_model(recipe)
    clock = Clock(started, seconds_of(last), max_seconds)
    trainer = SymbolInvariantTrainer(
        task=task,
        model=model,
        args=args,
        train_dataset=data["train"],
        eval_dataset=_first(data["validation"], recipe.evaluation_rows),
        processing_class=task.tokenizer(),
        callbacks=[clock, ModelCardCallback(task, recipe=_public(recipe))],
    )
    if trainer.is_world_process_zero():
        output.mkdir(parents=True, exist_ok=True)
        (output / "recipe.json").write_text(json.dumps(_public(recipe), indent=2) + "\n")
    metrics: dict[str, float] = {}
    if trained:  # only the test is missing; `Trainer.train` would take one more step
        trainer.state = state
    else:
        metrics = trainer.train(resume_from_checkpoint=None if last is None else str(last)).metrics
    if clock.stopped:
        trainer.end()
        return {"finished": False, "step": trainer.state.global_step, "max_steps": trainer.state.max_steps}
    test = trainer.check_answers(_first(data["test"], recipe.test_rows), "test")
    trainer.save_model(_internal_call=True)  # pushed below, with the record and the card
    record = {
        "finished": True,
        "command": command(),
        "recipe": _public(recipe),
        "hyperparameters": hyperparameters(args),
        "rows": {split: len(rows) for split, rows in data.items()},
        "results": {**metrics, **test},
        "verified_by": task.solver_version(),
        "log": trainer.state.log_history,
        "seconds": round(clock.seconds(), 1),
        "processes": args.world_size,
        "environment": environment(args.device),
    }
    if trainer.is_world_process_zero():
        (output / RECORD).write_text(json.dumps(record, indent=2) + "\n")
        write_card(output, read_facts(output, name=args.hub_model_id, task=task))
    trainer.end()
    if args.push_to_hub and args.should_save:
        _push(args)
    return record


def _arguments(recipe: Recipe, output: Path) -> Seq2SeqTrainingArguments:
    on_gpu = torch.cuda.is_available()
    # Reading and padding 768 rows takes a core 10 ms, a GPU's step no longer: docs/gpu.md.
    loading = {"dataloader_num_workers": 4 if on_gpu else 0, "dataloader_pin_memory": on_gpu}
    # Every parameter takes part in every step: several processes need not walk the graph for those that do not.
    options = {**loading, "ddp_find_unused_parameters": False, "hub_strategy": "end", **recipe.trainer}
    if options["hub_strategy"] != "end":
        raise ValueError(
            f"trainer.hub_strategy={options['hub_strategy']}: would push pickles along with checkpoints; use end"
        )
    if options.get("push_to_hub") and "/" not in str(options.get("hub_model_id")):
        raise ValueError("trainer.push_to_hub: needs to know where to; set trainer.hub_model_id=OWNER/NAME too")
    for name in ("eval_strategy", "save_strategy", "logging_strategy"):
        if options.get(name) is False:  # what YAML makes of `no` without quotes
            options[name] = "no"
    try:
        return Seq2SeqTrainingArguments(output_dir=str(output), **options)
    except (TypeError, ValueError) as error:
        raise ValueError(f"trainer: {error}; see transformers.Seq2SeqTrainingArguments for the arguments") from error


def _push(args: Seq2SeqTrainingArguments) -> None:
    push_folder(
        args.output_dir,
        str(args.hub_model_id),
        private=bool(args.hub_private_repo),
        revision=args.hub_revision or "main",
        token=args.hub_token,
    )


def _new_model(recipe: Recipe) -> SymbolInvariantForConditionalGeneration:
    if recipe.start is None:
        model = SymbolInvariantForConditionalGeneration(recipe.config())
    else:
        model = load_start(recipe.start, recipe.config())
    model.generation_config.update(**GENERATION)
    return model


class Clock(TrainerCallback):
    """Counts the seconds of a run over all its calls, and stops training when those of this call are used up.

    Args:
        started: `time.monotonic()` when this call began.
        before: seconds of earlier calls, as far as their checkpoints reach.
        limit: seconds of this call; None for no limit.
    """

    def __init__(self, started: float, before: float, limit: float | None):
        self.started, self.before, self.limit = started, before, limit
        self.stopped = False

    def seconds(self) -> float:
        """Of the whole run, up to now."""
        return self.before + time.monotonic() - self.started

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self.limit is None:
            return
        over = [time.monotonic() - self.started >= self.limit]
        broadcast_object_list(over)  # or one process would wait for the others' next step
        if over[0]:
            self.stopped = control.should_save = control.should_training_stop = True

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.is_world_process_zero:
            folder = Path(args.output_dir) / f"checkpoint-{state.global_step}"
            unfinished = folder / f"{SECONDS}.unfinished"
            unfinished.write_text(json.dumps(self.seconds()) + "\n")
            unfinished.replace(folder / SECONDS)


def last_checkpoint(output: Path) -> Path | None:
    """The last checkpoint in a run's folder that is complete; None if there is none."""
    complete = [path.parent for path in output.glob(f"checkpoint-*/{STATE}") if _is_json(path)]
    return max(complete, key=lambda path: int(path.name.rpartition("-")[2]), default=None)


def _is_json(path: Path) -> bool:
    """Whether a file that is written last, and not at once, was written to its end."""
    try:
        json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return False
    return True


def seconds_of(checkpoint: Path | None) -> float:
    """The seconds that a run took up to a checkpoint; 0 if there is none, or the run ended before it was said."""
    if checkpoint is None or not (checkpoint / SECONDS).is_file():
        return 0.0
    return float(json.loads((checkpoint / SECONDS).read_text()))


def _public(recipe: Recipe) -> dict[str, Any]:
    """The recipe without access tokens, as JSON has it."""
    content: dict[str, Any] = json.loads(json.dumps(asdict(recipe)))
    content["trainer"] = {name: value for name, value in content["trainer"].items() if not name.endswith("token")}
    return content


def _first(rows: datasets.Dataset, count: int) -> datasets.Dataset:
    return rows.select(range(min(count, len(rows))))


def _refuse_other_recipe(output: Path, recipe: Recipe) -> None:
    path = output / "recipe.json"
    if path.is_file() and json.loads(path.read_text()) != _public(recipe):
        raise OtherRunError(
            f"{output} holds a run of another recipe (see {path.name}); choose another folder or remove it"
        )
