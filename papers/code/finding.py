"""Suspicions: which variable of a function looks misused, and which one belongs there.

    finder = Finder.from_pretrained("runs/finder")
    functions, skipped = read_functions(source, "cart.py")
    for function, found in zip(functions, finder.suspicions(functions), strict=True):
        if found is not None and found.probability >= finder.threshold:
            print(function.file, function.position(function.symbols[found.symbol].start), found)

The probability of a suspicion is that of the place times that of the variable, P(place) P(variable). Only places where
a variable is read are asked about, and only variables that can be named there and may have a value.

A finder's folder holds a token classifier with two labels, its tokenizer, and `finder.json`: what the model sees of
names, the threshold, and how right suspicions were above it, on functions of validation and of the test.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
from transformers import PreTrainedModel
from transformers.utils import cached_file
from typing_extensions import TypedDict

from hf_symbinv.errors import UserError, first_line
from hf_symbinv.files import folder_atomically, read_object, require_sums, write_atomically
from hf_symbinv.metrics.intervals import wilson_interval
from hf_symbinv.modeling.classification_symbinv import SymbolInvariantForTokenClassification
from hf_symbinv.modeling.subwords_symbinv import SymbolInvariantSubwordTokenizer
from hf_symbinv.values import require_kinds
from papers.code.functions import Function, read_functions
from papers.code.reading import PLACE, REMEDY, Encoded, Reader

FILE = "finder.json"
REMEDY_OF_FOLDER = "give a folder that papers.code.train_finder wrote, or a name on the Hub"
# The finder that comes with the package.
BUNDLED = Path(__file__).resolve().parent / "finder"
Row = Mapping[str, Any]
# Our choice: some hundred megabytes for a model of a few million parameters.
TOKENS_AT_ONCE = 16_384  # of all streams


class Suspicion(NamedTuple):
    """What a model holds against a function.

    Attributes:
        symbol: Which of `Function.symbols` looks wrong.
        variable: Which of `Function.variables` belongs there.
        probability: Of both together.
    """

    symbol: int
    variable: int
    probability: float


@dataclass(frozen=True)
class Calibration:
    """How right suspicions are from a threshold on, measured on functions half of which have a bug.

    Attributes:
        threshold: From 0 to 1.
        right: How many suspicions at or above it name the bug's place and the right variable.
        shown: How many there are.
        bugs: Functions with a bug.
        functions: All functions.
    """

    threshold: float
    right: int
    shown: int
    bugs: int
    functions: int

    def precision(self) -> str:
        """The share of right suspicions with Wilson's 95 % interval, in words."""
        low, high = wilson_interval(self.right, self.shown)
        return f"{self.right / self.shown:.1%} ({low:.1%} to {high:.1%}) of {self.shown:,}"


class Finder:
    """A model that points at misused variables.

    Args:
        model: A token classifier with two labels.
        reader: Of what it was trained on.
        calibration: None before it was measured.
        test: What `measure` gave; empty before.
    """

    def __init__(
        self, model: PreTrainedModel, reader: Reader, calibration: Calibration | None = None,
        test: Mapping[str, tuple[int, int]] | None = None,
    ) -> None:  # fmt: skip
        self.model, self.reader, self.calibration, self.test = model.eval(), reader, calibration, dict(test or {})

    @classmethod
    def from_pretrained(cls, name: str | Path) -> Finder:
        """A finder of a folder, or of a repository of the Hub.

        Raises:
            UserError: If it is no finder.
        """
        said = _read_json(name)
        require_sums(Path(name))
        measured, names = said["calibration"], _Calibration.__annotations__
        calibration = None if measured is None else Calibration(**{name: measured[name] for name in names})
        test = {what: (share["right"], share["count"]) for what, share in said["test"].items()}
        try:  # By class, so that no code of the folder is run.
            tokenizer = SymbolInvariantSubwordTokenizer.from_pretrained(name)
            model = SymbolInvariantForTokenClassification.from_pretrained(name)
        except Exception as error:  # of many types, for files that are missing or damaged
            if isinstance(error, ImportError):
                raise
            raise UserError(f"{name}: its model cannot be read ({first_line(error)}); {REMEDY_OF_FOLDER}") from error
        return cls(model, Reader(tokenizer, said["names"]), calibration, test)

    def save_pretrained(self, folder: Path) -> None:
        """Leaves model, tokenizer and `finder.json` in a folder: all, or nothing."""
        calibration = None
        if (one := self.calibration) is not None:
            calibration = {**asdict(one), "interval": wilson_interval(one.right, one.shown)}
        test = {
            what: {"right": right, "count": count, "interval": wilson_interval(right, count)}
            for what, (right, count) in self.test.items()
        }
        said = {"names": self.reader.names, "calibration": calibration, "test": test}
        with folder_atomically(folder) as partial:
            self.model.save_pretrained(partial)
            self.reader.tokenizer.save_pretrained(partial)
            write_atomically(partial / FILE, json.dumps(said, indent=2) + "\n")

    @property
    def most_variables(self) -> float:
        """Of a function that the model reads: it may have a row for the first, the second, ... variable, or none."""
        config = self.model.config
        return math.inf if config.symbol_embedding == "streams" else float(config.num_symbols)

    def suspicions(self, functions: Sequence[Function]) -> list[Suspicion | None]:
        """The most probable bug of each function; None where no variable can be misused, or there are too many."""
        found: list[Suspicion | None] = [None] * len(functions)
        encoded = self.reader.encode([one.text for one in functions], [one.spans() for one in functions])
        able = [
            at
            for at, one in enumerate(functions)
            if encoded[at].symbols <= self.most_variables and any(symbol.others for symbol in one.symbols)
        ]
        able.sort(key=lambda at: (encoded[at].symbols, len(encoded[at].ids)))
        for batch in _batches(able, encoded):
            logits = self._logits([encoded[at].ids for at in batch])
            for at, row in zip(batch, logits, strict=True):
                found[at] = _suspicion(functions[at], encoded[at], row)
        return found

    @torch.inference_mode()
    def _logits(self, ids: Sequence[Sequence[int]]) -> torch.Tensor:
        """Scores of the pointers, (B, L, 2)."""
        longest, pad = max(map(len, ids)), self.reader.tokenizer.pad_token_id
        padded = torch.tensor([[*own, *[pad] * (longest - len(own))] for own in ids])
        mask = torch.tensor([[1] * len(own) + [0] * (longest - len(own)) for own in ids])
        device = self.model.device
        scores: torch.Tensor = self.model(input_ids=padded.to(device), attention_mask=mask.to(device)).logits
        return scores.float().cpu()

    def calibrated(self, rows: Iterable[Row], wanted: float) -> Finder:
        """The finder with the lowest threshold from which on at least the wanted share of suspicions is right.

        Args:
            rows: Of `papers.code.bug_finding`, with misused variables; half of them have a bug.
            wanted: Share of suspicions.

        Raises:
            UserError: If there is no such threshold.
        """
        judged = self._judged(rows)
        ranked = sorted(judged, reverse=True)
        best, right = None, 0
        for shown, one in enumerate(ranked, 1):
            right += one.is_right
            is_last = shown == len(ranked) or ranked[shown].probability < one.probability
            if is_last and one.probability > 0 and right >= wanted * shown:
                bugs = sum(other.has_bug for other in judged)
                best = Calibration(one.probability, right, shown, bugs, len(judged))
        if best is None:
            raise UserError(f"wanted={wanted}: no threshold makes so many suspicions right; want less, or train longer")
        return Finder(self.model, self.reader, best)

    def measured(self, rows: Iterable[Row]) -> Finder:
        """The finder with `test`: in words → (right, of how many) at its threshold, without what there is none of."""
        judged = self._judged(rows)
        shown = [one for one in judged if one.probability >= self.threshold]
        bugs, clean = [one for one in judged if one.has_bug], [one for one in judged if not one.has_bug]
        right = sum(one.is_right for one in shown)
        found = {
            "suspicions that are right": (right, len(shown)),
            "bugs that are found": (right, len(bugs)),
            "functions without a bug that are suspected": (sum(not one.has_bug for one in shown), len(clean)),
        }
        test = {what: counts for what, counts in found.items() if counts[1]}
        return Finder(self.model, self.reader, self.calibration, test)

    @property
    def threshold(self) -> float:
        """The least probability of a suspicion that is shown; a half before it was measured."""
        return 0.5 if self.calibration is None else self.calibration.threshold

    def _judged(self, rows: Iterable[Row]) -> list[_Judged]:
        known = [one for one in map(_labelled, rows) if one is not None]
        found = self.suspicions([function for function, _ in known])
        return [
            _Judged(0.0 if one is None else one.probability, one is not None and one[:2] == bug, bug is not None)
            for one, (_, bug) in zip(found, known, strict=True)
        ]


class _Calibration(TypedDict):
    threshold: float
    right: int
    shown: int
    bugs: int
    functions: int


class _Share(TypedDict):
    right: int
    count: int


class _Said(TypedDict):
    names: str
    calibration: _Calibration | None
    test: dict[str, _Share]


class _Judged(NamedTuple):
    probability: float
    is_right: bool
    has_bug: bool


def _labelled(row: Row) -> tuple[Function, tuple[int, int] | None] | None:
    """A row read as a file is, and (symbol, right variable) of its bug; None if it reads otherwise with the bug."""
    functions, _ = read_functions(row["text"])
    spans = [(one["start"], one["end"], one["name"]) for one in row["symbols"]]
    if len(functions) != 1 or functions[0].text != row["text"] or functions[0].spans() != spans:
        return None
    bug = None if row["wrong"] < 0 else (row["wrong"], functions[0].symbols[row["right"][0]].variable)
    return functions[0], bug


def _read_json(name: str | Path) -> dict[str, Any]:
    try:
        path = cached_file(str(name), FILE)
    except OSError as error:
        raise UserError(f"{name}: has no {FILE}; {REMEDY_OF_FOLDER}") from error
    said = read_object(Path(str(path)), REMEDY_OF_FOLDER)
    require_kinds(said, _Said, f"{name}: {FILE}", REMEDY_OF_FOLDER)
    found = said["calibration"]
    shares = [("calibration", found["right"], found["shown"])] if found is not None else []
    shares += [(f"test.{what}", share["right"], share["count"]) for what, share in said["test"].items()]
    for key, right, count in shares:
        if not 0 <= right <= count > 0:
            raise UserError(
                f"{name}: {FILE}: {key}: {right} of {count} are right; must be at most all of at least 1; "
                f"{REMEDY_OF_FOLDER}"
            )
    return said


def _batches(order: Sequence[int], encoded: Sequence[Encoded]) -> list[list[int]]:
    """Indices in batches of about equal work, each at most so many tokens of all streams."""
    found, work = list[list[int]](), 0
    for at in order:
        one = max(encoded[at].symbols, 1) * len(encoded[at].ids)
        if not found or (len(found[-1]) + 1) * max(work, one) > TOKENS_AT_ONCE:
            found.append([])
            work = 0
        found[-1].append(at)
        work = max(work, one)
    return found


def _suspicion(function: Function, encoded: Encoded, logits: torch.Tensor) -> Suspicion:
    """The most probable bug, of scores (L, 2) of which the first are the function's."""
    tokens = [encoded.token(symbol.start) for symbol in function.symbols]
    uses = [at for at, symbol in enumerate(function.symbols) if symbol.is_use]
    places = torch.tensor([tokens[at] for at in uses])
    # The end of the text, which says that nothing is wrong, is the last.
    scores = torch.cat([logits[places, PLACE], logits[len(encoded.ids) - 1, PLACE].reshape(1)])
    of_places = scores.softmax(0).tolist()
    remedies = logits[torch.tensor(tokens), REMEDY].softmax(0).tolist()
    weights = [0.0] * len(function.variables)
    for symbol, weight in zip(function.symbols, remedies, strict=True):
        weights[symbol.variable] += weight

    def candidates() -> Iterator[Suspicion]:
        for at, chance in zip(uses, of_places[:-1], strict=True):
            others = function.symbols[at].others
            total = sum(weights[other] for other in others) or 1.0  # of weights too small for a float
            for other in others:
                yield Suspicion(at, other, chance * weights[other] / total)

    return max(candidates(), key=lambda one: one.probability)
