"""Models that the package trains by a recipe, and their answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hf_symbinv.datasets_scripts.loading import load_data
from hf_symbinv.evaluation.answers import Question, answer_questions
from hf_symbinv.evaluation.checkpoints import Checkpoint, load_checkpoint
from hf_symbinv.training import Recipe, train
from papers.harness.experiments import Job, OutOfTimeError


def recipe_of(
    job: Job, name: str, sizes: Mapping[str, Any], data: Mapping[str, Any], task: str | None = None
) -> Recipe:
    """A recipe for the kind of model and the seed of a job, which need no test of its own.

    Args:
        job: Of an experiment.
        name: Of the recipe, or its file.
        sizes: `model`, with the fields of some kinds alone under `kinds`, and `trainer`, in the place of the recipe's.
        data: Options in the place of the recipe's.
        task: The file of the recipe's task, if it is one; None for a task by name.
    """
    kind, fields = job.values["model"], dict(sizes["model"])
    own = fields.pop("kinds", {}).get(kind, {})
    sections = {"data": data, "model": {**fields, **own}, "trainer": sizes["trainer"]}
    changes = {f"{section}.{key}": value for section, keys in sections.items() for key, value in keys.items()}
    changes |= {} if task is None else {"task": task}
    return Recipe.load(name, {**changes, "model.symbol_embedding": kind, "trainer.seed": job.seed, "test_rows": 1})


def trained(job: Job, recipe: Recipe) -> Checkpoint:
    """The model of a job.

    Raises:
        OutOfTimeError: If there was no time to finish; the next call goes on.
    """
    folder = job.folder / "model"
    job.say(f"  {recipe.trainer['max_steps']} steps")
    record = train(recipe, load_data(recipe.task, recipe.data), folder, max_seconds=job.time_left())
    if not record["finished"]:
        raise OutOfTimeError
    return load_checkpoint(str(folder))


def rights(checkpoint: Checkpoint, questions: Sequence[Question]) -> list[bool]:
    """Whether the answer to each question, by greedy decoding, is right."""
    task = checkpoint.task
    with task.checker() as checker:
        answers = answer_questions(checkpoint, questions, checker, num_beams=1, max_new_tokens=task.max_new_tokens)
    return [answer.best.verified for answer in answers]
