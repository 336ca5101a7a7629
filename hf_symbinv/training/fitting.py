"""Training of the models that answer no questions, by transformers' own Trainer: train, stop in time, go on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transformers import PreTrainedModel, Trainer, TrainingArguments, set_seed

from hf_symbinv.hub.cards.facts import read_facts
from hf_symbinv.modeling.text_symbinv import SymbolInvariantWordTokenizer
from hf_symbinv.training.cards import write_card
from hf_symbinv.training.recipe import training_arguments
from hf_symbinv.training.run import Run, end


def fit(
    model: PreTrainedModel,
    output: Path,
    arguments: Mapping[str, Any],
    *,
    data: Mapping[str, Any] | None = None,
    max_seconds: float | None = None,
    trainer_class: type[Trainer] = Trainer,
    words: Mapping[str, Any] | None = None,
    card: bool = False,
    **options: Any,
) -> bool:
    """Trains `model`, or goes on from the last checkpoint in `output`; what is finished is only loaded.

    A finished run whose `max_steps` comes back larger goes on, as `hf_symbinv.train` does.

    Args:
        model: With fresh weights; it has the trained ones afterwards.
        output: Folder for the model, its checkpoints, `trainer_state.json` and `run.json`.
        arguments: Of `transformers.TrainingArguments`, without `output_dir`.
        data: What `run.json` says of the data, as `data_record` makes it; None if it says nothing.
        max_seconds: Stop after the step that reaches this time, with a checkpoint to go on from; None for no limit.
        trainer_class: A Trainer with another loss or optimizer.
        words: What makes the `SymbolInvariantWordTokenizer` that is saved with the model; None for a model without one.
        card: Whether a finished model gets its card.
        options: Of the Trainer: `train_dataset`, `eval_dataset`, `data_collator`, `compute_metrics`, `callbacks`, ...

    Returns:
        Whether training is finished.

    Raises:
        UserError: For an argument that transformers refuses, or a folder that holds a run of another model, of other
            arguments or on other data.
    """
    args = training_arguments(TrainingArguments, output, {"dataloader_pin_memory": False, **arguments})
    config = {name: value for name, value in model.config.to_diff_dict().items() if name != "transformers_version"}
    run = Run(args, {"model": config, "trainer": arguments}, data, max_seconds=max_seconds)
    if run.trained is not None:
        model.load_state_dict(type(model).from_pretrained(run.trained).state_dict())
    if run.record is not None:
        return True
    set_seed(args.seed)
    if words is not None:
        options["processing_class"] = SymbolInvariantWordTokenizer(**words)
    with run.held():
        trainer = trainer_class(model=model, args=args, **options)
        metrics = run.train(trainer)
        if metrics is not None:
            trainer.save_model()
            trainer.save_state()
            run.finish(trainer, metrics)
            if card and trainer.is_world_process_zero():
                write_card(output, read_facts(output, name=args.hub_model_id))
        end(trainer)
    return metrics is not None
