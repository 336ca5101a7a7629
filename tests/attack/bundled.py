"""Bundled models, asked in prefix notation."""

from transformers import pipeline

import hf_symbinv
from hf_symbinv.tasks import load_task

NAMES = "abcdefgh"


def bundled(name):
    """`ask(questions, **options)`: the answers of a bundled model to each, with their scores; and its task."""
    task = load_task({"ltl-patterns": "ltl-operators"}.get(name, name.partition("-")[0]))
    kind = "prop-assignment" if task.name == "prop" else "ltl-witness"
    pipe = pipeline(kind, model=hf_symbinv.checkpoint(name), device="cpu")

    def ask(questions, **options):
        found = pipe(questions, notation="prefix", **options)
        return [[(one["answer"], one["score"]) for one in (row if isinstance(row, list) else [row])] for row in found]

    return ask, task
