"""Training of the models that answer no questions, by transformers' own Trainer: train, stop in time, go on."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transformers import PreTrainedModel, Trainer, TrainerState, TrainingArguments, set_seed

from hf_symbinv.modeling.words_symbinv import SymbolInvariantWordTokenizer
from hf_symbinv.training.failures import OtherRunError
from hf_symbinv.training.run import STATE, Clock, last_checkpoint, seconds_of

# What a run was asked for, to tell it from another.
ASKED = "fit.json"


def fit(
    model: PreTrainedModel,
    output: Path,
    arguments: Mapping[str, Any],
    *,
    max_seconds: float | None = None,
    trainer_class: type[Trainer] = Trainer,
    words: Mapping[str, Any] | None = None,
    **options: Any,
) -> bool:
    """Trains `model`, or goes on from the last checkpoint in `output`; what is finished is only loaded.

    Args:
        model: With fresh weights; it has the trained ones afterwards.
        output: Folder for the model, its checkpoints and `trainer_state.json`.
        arguments: Of `transformers.TrainingArguments`, without `output_dir`.
        max_seconds: Stop after the step that reaches this time, with a checkpoint to go on from; None for no limit.
        trainer_class: A Trainer with another loss or optimizer.
        words: What makes the `SymbolInvariantWordTokenizer` that is saved with the model; None for a model without one.
        options: Of the Trainer: `train_dataset`, `eval_dataset`, `data_collator`, `compute_metrics`, `callbacks`, ...

    Returns:
        Whether training is finished.

    Raises:
        ValueError: For an argument that transformers refuses, or a folder that holds a run of another model or of other
            arguments.
    """
    started = time.monotonic()
    try:
        args = TrainingArguments(output_dir=str(output), **{"dataloader_pin_memory": False, **arguments})
    except (TypeError, ValueError) as error:
        raise ValueError(f"trainer: {error}; see transformers.TrainingArguments for the arguments") from error
    _refuse_other_run(output, {"model": model.config.to_diff_dict(), "trainer": dict(arguments)}, args.should_save)
    last = last_checkpoint(output)
    for folder in (output, last):
        state = None if folder is None else _final_state(folder)
        if state is not None:
            if folder == last and args.load_best_model_at_end and state.best_model_checkpoint:
                folder = output / Path(state.best_model_checkpoint).name
            model.load_state_dict(type(model).from_pretrained(folder).state_dict())
            model.save_pretrained(output)
            if words is not None:
                SymbolInvariantWordTokenizer(**words).save_pretrained(output)
            return True
    set_seed(args.seed)
    clock = Clock(started, seconds_of(last), max_seconds)
    options["callbacks"] = [*options.get("callbacks", ()), clock]
    if words is not None:
        options["processing_class"] = SymbolInvariantWordTokenizer(**words)
    trainer = trainer_class(model=model, args=args, **options)
    trainer.train(resume_from_checkpoint=None if last is None else str(last))
    if trainer.state.global_step >= trainer.state.max_steps:
        trainer.save_model()
        trainer.save_state()  # last: it says that training is finished
    trainer.end()
    return _final_state(output) is not None


def _refuse_other_run(output: Path, asked: dict[str, Any], write: bool) -> None:
    """One process writes down what is asked for, where every later call finds it."""
    path, text = output / ASKED, json.dumps(asked, indent=2, default=str) + "\n"
    if path.is_file() and path.read_text(encoding="utf-8") != text:
        raise OtherRunError(
            f"{output} holds a run of another model or other arguments (see {ASKED}); choose another folder or remove "
            "it"
        )
    if write:
        output.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".unfinished")
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(path)


def _final_state(folder: Path) -> TrainerState | None:
    """The state of the last step, if the folder holds that."""
    if not (folder / STATE).is_file():
        return None
    state = TrainerState.load_from_json(str(folder / STATE))
    return state if state.global_step >= state.max_steps else None
