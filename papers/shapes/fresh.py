"""Answers with new names: Tseitin's clauses of formulas, and three-address code of expressions.

A model writes symbols that its question does not have. Answers are judged by what they mean, whatever new symbols are
called. Models are trained by the recipe of each task, with other sizes.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from papers.harness.experiments import Experiment, Family, Job, Result, Setting
from papers.harness.measures import Measure
from papers.shapes.columns import MODELS, MORE, NEW, USUAL

if TYPE_CHECKING:
    from hf_symbinv.evaluation.answers import Question
    from hf_symbinv.tasks import SymbolTask
    from hf_symbinv.training import Recipe

FAMILY = Family("shapes-fresh", Path(__file__).parent / "fresh.yaml")
# Task → its recipe, the file of the task if it is one, and what tables call it.
TASKS = {
    "tseitin": ("tseitin-small", None, "clauses"),
    "three_address": (
        str(Path(__file__).with_name("three_address.yaml")),
        "papers/shapes/three_address.py",
        "three-address code",
    ),
}
# In the place of a, b, c, …; training has none of them, in questions or answers.
OTHERS = "zyxwvuts"


def measure_fresh(job: Job) -> dict[Measure, Result]:
    """Answers that are right, whatever their new symbols are called, in each part of the test.

    Raises:
        OutOfTimeError: If there was no time to finish; the next call goes on.
    """
    from papers.shapes.recipes import rights, trained

    recipe = fresh_recipe(job)
    checkpoint = trained(job, recipe)
    found: dict[Measure, Result] = {}
    for part, questions in parts(job, recipe, checkpoint.task).items():
        right = rights(checkpoint, questions)
        found[part] = {"correct": sum(right), "count": len(right)}
    return found


def fresh_recipe(job: Job) -> Recipe:
    """The recipe of a task, with the sizes of the scale, for a kind of model."""
    from papers.shapes.recipes import recipe_of

    task = job.values["task"]
    sizes = job.sizes["tasks"][task]
    name, file, _ = TASKS[task]
    recipe = recipe_of(job, name, sizes, {**sizes["usual"], "seed": job.seed}, file)
    return replace(recipe, evaluation_rows=1)


def parts(job: Job, recipe: Recipe, task: SymbolTask) -> dict[Measure, list[Question]]:
    """The questions of each part of the test."""
    from hf_symbinv.datasets_scripts.loading import load_data
    from hf_symbinv.evaluation.answers import read_question
    from hf_symbinv.tasks import symbol_names

    sizes, column = job.sizes["tasks"][job.values["task"]], task.columns[0]
    names, count = symbol_names(sizes["usual"]["num_symbols"]), sizes["test_rows"]
    usual = list(load_data(recipe.task, recipe.data)["test"][column])[:count]
    wider = load_data(recipe.task, {**recipe.data, **sizes["more"]})["train"][column]
    more = [text for text in wider if len(task.symbols(text)) > len(names)][:count]
    new = [task.rename(text, dict(zip(names, OTHERS, strict=False))) for text in usual]
    texts = {USUAL: usual, MORE: more, NEW: new}
    return {part: [read_question(task, text, "prefix") for text in own] for part, own in texts.items()}


EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        name="shape-fresh",
        family=FAMILY,
        measures=(USUAL, MORE, NEW),
        rows=tuple(
            Setting((label, name), {"task": task, "model": kind})
            for task, (_, _, label) in TASKS.items()
            for kind, name in MODELS.items()
        ),
        measure=measure_fresh,
    ),
)
