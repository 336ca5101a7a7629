"""Is g the derivative of f with respect to x? Pairs of expressions in prefix notation with the answer, made by sympy.

    python -m papers.renamer.derivatives --rows 20000 --output data/derivatives
    python -m papers.renamer.derivatives --rows 20000 --functions all --output data/all

An expression f is a random tree and g its derivative, as in the backward generation of Lample and Charton; in half of
the pairs g is replaced by the derivative of another f. The splits train, validation and test use the coefficients a0,
a1 and a2; the split extended has a3 besides, in every pair, as no model has seen it in training.

Expressions are drawn by processes that are stopped when one takes too long, since
sympy may: a data set is a function of its options but for expressions that take about as long as the limit.

Source: Renamer, appendix E.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import datasets
import pyarrow

from hf_symbinv.datasets_scripts.errors import refuse
from hf_symbinv.datasets_scripts.folders import claimed
from hf_symbinv.errors import UserError
from hf_symbinv.hub.cards.dataset import LICENSE
from hf_symbinv.solvers.pool import ProcessPool
from papers.harness.options import options_parser
from papers.harness.publishing import About, publish_rows
from papers.renamer.expressions import (
    FUNCTIONS,
    QUESTION,
    SYMBOLS,
    Derivative,
    Vocabulary,
    derive,
    load_sympy,
)

COLUMNS = {
    "text": (pyarrow.string(), f"f and g in prefix notation, with {QUESTION} between them"),
    "label": (pyarrow.int64(), "1 if g is the derivative of f with respect to x, else 0"),
    "coefficients": (pyarrow.int64(), "how many different coefficients occur"),
    "input_ids": (pyarrow.list_(pyarrow.int32()), "token ids"),
}
# Values of derivatives that differ by less, relative to their size, are taken for the same.
_AGREE = 1e-7
# Expressions that are drawn at once, and tries in a row that may give nothing before the options are at fault.
_AT_ONCE, _PATIENCE = 64, 2000


class DerivativesError(UserError):
    """Options that make no data set of derivatives."""


@dataclass(frozen=True)
class DerivativesConfig:
    """What determines a data set.

    Args:
        rows: Pairs in train.
        held_out: Pairs in each of validation, test and extended.
        max_operators: Operators of f, at most.
        max_tokens: Tokens of f and of g, each at most.
        seed: Of everything random.
        timeout: Seconds for one expression.
        functions: `basic` (exp, ln, sin, cos, tan) or `all`: also inverse and hyperbolic ones, as Lample and Charton.

    Raises:
        DerivativesError: For a value out of range.
    """

    rows: int = 300_000
    held_out: int = 9_000
    max_operators: int = 7
    max_tokens: int = 60
    seed: int = 0
    timeout: float = 5.0
    functions: str = "basic"

    def __post_init__(self) -> None:
        for name in ("rows", "held_out"):
            if getattr(self, name) < 2:
                raise DerivativesError(f"{name}={getattr(self, name)}: must be at least 2, one pair of each label")
        if not 1 <= self.max_operators <= 15:
            raise DerivativesError(f"max_operators={self.max_operators}: must be 1 to 15")
        if self.max_tokens < 4:
            raise DerivativesError(f"max_tokens={self.max_tokens}: must be at least 4")
        if not self.timeout > 0:
            raise DerivativesError(f"timeout={self.timeout}: the limit must be positive seconds")
        if self.functions not in FUNCTIONS:
            raise DerivativesError(f"functions={self.functions!r}: unknown; use {' or '.join(FUNCTIONS)}")

    def recipe(self) -> dict[str, Any]:
        """Its fields, without `functions` where they are basic, as folders that were made before there were others."""
        fields = asdict(self)
        return fields if self.functions != "basic" else {k: v for k, v in fields.items() if k != "functions"}


def _draw(config: DerivativesConfig, coefficients: int, pool: ProcessPool) -> Iterator[Derivative]:
    """Different expressions with their derivatives, without end."""
    known, fruitless, number = set[str](), 0, 0
    while True:
        items = [
            (config.seed, number + k, coefficients, config.max_operators, config.max_tokens, config.functions)
            for k in range(_AT_ONCE)
        ]
        number += len(items)
        for outcome in pool.map(items):
            pair = outcome.value if outcome.status == "done" else None
            if pair is None or pair.function in known:
                fruitless += 1
                if fruitless == _PATIENCE:
                    raise DerivativesError(
                        f"max_operators={config.max_operators}, max_tokens={config.max_tokens}: no more expressions "
                        f"than {len(known)} turn up; ask for fewer rows, more operators or more tokens"
                    )
                continue
            fruitless = 0
            known.add(pair.function)
            yield pair


def _rows(pairs: Sequence[Derivative], generator: random.Random, vocabulary: Vocabulary) -> list[dict[str, Any]]:
    """Half of the pairs as they are, half with another's derivative, as rows."""
    rows = []
    for place, pair in enumerate(pairs):
        label = place % 2
        other = pair if label else _another(pair, pairs, generator)
        rows.append(_row(pair.function, other.derivative, label, vocabulary))
    generator.shuffle(rows)
    return rows


def _another(pair: Derivative, pairs: Sequence[Derivative], generator: random.Random) -> Derivative:
    """One of the pairs whose derivative has another value."""
    for _ in range(_PATIENCE):
        other = generator.choice(pairs)
        if not _same(other.value, pair.value):
            return other
    raise DerivativesError(f"held_out={len(pairs)}: all derivatives are the same; ask for more pairs")


def _same(one: complex, other: complex) -> bool:
    return math.isclose(abs(one - other), 0.0, abs_tol=_AGREE * (abs(one) + abs(other)))


def _row(function: str, derivative: str, label: int, vocabulary: Vocabulary) -> dict[str, Any]:
    text = f"{function} {QUESTION} {derivative}"
    coefficients = len(set(text.split()) & set(SYMBOLS[2:]))
    return {"text": text, "label": label, "coefficients": coefficients, "input_ids": vocabulary.ids_of(text)}


def generate(config: DerivativesConfig, workers: int | None = None) -> dict[str, list[dict[str, Any]]]:
    """The rows of each split.

    Args:
        config: What determines them.
        workers: Processes; None for one per available core.

    Raises:
        DerivativesError: If not enough different expressions turn up, or sympy is not installed.
    """
    if find_spec("sympy") is None:
        raise DerivativesError(
            "derivatives need sympy, which is not installed; in a checkout, run pip install '.[algebra]'"
        )
    generator = random.Random(config.seed)
    source: Iterator[Derivative]
    with ProcessPool(derive, workers=workers, timeout=config.timeout, initializer=load_sympy) as pool:
        source = _draw(config, 3, pool)
        pairs = [next(source) for _ in range(config.rows + 2 * config.held_out)]
        source = (pair for pair in _draw(config, 4, pool) if "a3" in pair.function.split())
        extended = [next(source) for _ in range(config.held_out)]
    held = config.held_out
    parts = {"train": pairs[2 * held :], "validation": pairs[:held], "test": pairs[held : 2 * held],
             "extended": extended}  # fmt: skip
    return {split: _rows(part, generator, Vocabulary(config.functions)) for split, part in parts.items()}


def prepare(config: DerivativesConfig, folder: Path, workers: int | None = None) -> None:
    """Leaves the data set in a folder, or leaves the folder as it is if it is there.

    Raises:
        DerivativesError: If not enough different expressions turn up.
        WorkFolderError: If the folder holds another data set.
    """
    with claimed(folder, {"builder": "derivatives 1.0.0", **config.recipe()}) as work:
        if work is None:
            return
        splits = generate(config, workers)
        options = " ".join(f"--{name.replace('_', '-')} {value}" for name, value in config.recipe().items())
        four = sum(row["coefficients"] == 4 for row in splits["extended"])
        about = About(
            "Derivatives of random expressions",
            "Pairs of expressions f and g with the answer whether g is the derivative of f with respect to x; half are "
            "true. Train, validation and test have the coefficients a0, a1 and a2; all pairs of extended have a3, and "
            f"{four:,} of {len(splits['extended']):,} all four. No f occurs twice in the first three.",
            f"python -m papers.renamer.derivatives {options} --output FOLDER",
            "text-classification", ("mathematics", "derivatives"), LICENSE,
            "Ankner, Renda, Carbin. Renamer: A Transformer Architecture Invariant to Variable Renaming. Generation "
            "after Lample, Charton. Deep Learning for Symbolic Mathematics. International Conference on Learning "
            "Representations, 2020.",
        )  # fmt: skip
        publish_rows(folder, COLUMNS, splits, about)


def load_derivatives(folder: Path) -> datasets.DatasetDict:
    """The splits of a folder that `prepare` wrote."""
    return datasets.load_dataset("parquet", data_dir=str(folder))


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; its exit code."""
    parser = options_parser("papers.renamer.derivatives", __doc__, DerivativesConfig(), "Parquet files and card")
    parser.add_argument("--workers", type=int, help="processes (default: one per available core)")
    options = vars(parser.parse_args(arguments))
    folder, workers = options.pop("output"), options.pop("workers")
    try:
        prepare(DerivativesConfig(**options), folder, workers)
    except Exception as error:
        return refuse(error)
    print(f"{folder}: {', '.join(f'{len(rows):,} {split}' for split, rows in load_derivatives(folder).items())}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
