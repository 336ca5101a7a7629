"""A user's own pairs: the data of docs/own-data.md, and models that `hf_symbinv.train` makes of them."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence

from hf_symbinv.evaluation.report import load_questions
from hf_symbinv.files import write_atomically
from papers.harness.experiments import Job, Result
from papers.harness.measures import Measure
from papers.shapes.columns import BY_SYMBOLS, MORE, NEW, USUAL, by_symbols
from papers.shapes.recipes import recipe_of, rights, trained

NAMES = [
    "apple", "bread", "cream", "dates", "eggs", "flour", "grapes", "honey", "ice", "juice", "kale", "lemon", "mango",
    "nuts", "oil",
]  # fmt: skip


def expression(generator: random.Random, names: Sequence[str], leaves: int) -> tuple[str, str, str]:
    """Infix and prefix text of a random expression, and its outermost operator; again what the page's program does."""
    if leaves == 1:
        name = generator.choice(names) if generator.random() < 0.8 else str(generator.randint(2, 9))
        return name, name, ""
    cut = generator.randint(1, leaves - 1)
    operator = generator.choice("+-*")
    left, first, inner = expression(generator, names, cut)
    right, second, last = expression(generator, names, leaves - cut)
    if operator == "*" and inner in ("+", "-"):
        left = f"({left})"
    if last and (operator == "*" or last != "*"):
        right = f"({right})"
    return f"{left} {operator} {right}", f"{operator} {first} {second}", operator


def pairs(rows: int, fewest: int, most: int, seed: int, prefix: str = "") -> Iterator[dict[str, str]]:
    """Expressions of up to 9 leaves with `fewest` to `most` names, and the same in prefix notation.

    Args:
        rows: How many.
        fewest, most: Names of an expression.
        seed: Of what is drawn; rows with another `prefix` are the same under other names.
        prefix: What all names begin with.
    """
    generator = random.Random(seed)
    for _ in range(rows):
        count, drawn, answer = generator.randint(fewest, most), [""], ""
        while not {*drawn} <= {*answer.split()}:
            drawn = [prefix + name for name in generator.sample(NAMES, count)]
            question, answer, _ = expression(generator, drawn, generator.randint(max(count, 2), 9))
        yield {"question": question, "answer": answer}


def files(job: Job) -> dict[Measure, tuple[str, str]]:
    """The file of each part of the test, and the split of it; those of one seed are written once."""
    folder, sizes = job.shared / f"pairs-seed{job.seed}", job.sizes["data"]
    parts = {
        USUAL: ("pairs.jsonl", "test", (sizes["rows"], *sizes["usual"], 2 * job.seed)),
        MORE: ("more.jsonl", "all", (sizes["test_rows"], *sizes["more"], 2 * job.seed + 1)),
        NEW: ("new.jsonl", "test", (sizes["rows"], *sizes["usual"], 2 * job.seed, "my")),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, _, options in parts.values():
        if not (folder / name).exists():
            write_atomically(folder / name, "".join(json.dumps(pair) + "\n" for pair in pairs(*options)))
    return {part: (str(folder / name), split) for part, (name, split, _) in parts.items()}


def measure(job: Job) -> dict[Measure, Result]:
    """Trains a kind of model by the recipe `pairs-small` and counts the exact answers to each part of the test.

    Raises:
        OutOfTimeError: If there was no time to finish; the next call goes on.
    """
    sizes, parts = job.sizes, files(job)
    data = {"pairs": parts[USUAL][0], "symbols": "[a-z]+"}
    checkpoint = trained(job, recipe_of(job, "pairs-small", sizes, data))
    found: dict[Measure, Result] = {}
    solved, asked = Counter[int](), Counter[int]()
    for part, (file, split) in parts.items():
        questions = load_questions(checkpoint.task, file, split, sizes["data"]["test_rows"])
        right = rights(checkpoint, questions)
        found[part] = {"correct": sum(right), "count": len(right)}
        if part != NEW:
            asked.update(question.symbols for question in questions)
            solved.update(question.symbols for question, is_right in zip(questions, right, strict=True) if is_right)
    return {**found, BY_SYMBOLS: by_symbols(solved, asked)}
