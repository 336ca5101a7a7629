"""What a model reads of a function, and the two places at which it points.

    reader = Reader(tokenizer, "hidden")
    rows = reader.rows(load_bugs(folder)["train"])
    rows[0]["input_ids"], rows[0]["labels"]

A model has two pointers. One points at what is wrong, or at the end of the text if nothing is; the other at what
belongs there. Of a misused variable these are one of its uses, and any occurrence of the right variable. Of two
arguments that were exchanged the first pointer has the first token of either, and the second is not asked.

Source: the two pointers are those of Vasic, Kanade, Maniatis, Bieber, Singh. Neural Program Repair by Jointly Learning
to Localize and Repair. ICLR, 2019. The legend is our choice.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch

from hf_symbinv.errors import UserError
from hf_symbinv.modeling.subwords_symbinv import SymbolInvariantSubwordTokenizer

# What a model sees of the names of variables: nothing; a legend before the function, which gives each symbol's name; or
# the names themselves as base text, as ordinary models of code do.
NAMES = ("hidden", "legend", "text")
# What may be said of a token: no pointer goes there; one may; it is right.
IMPOSSIBLE, POSSIBLE, RIGHT = 0, 1, 2
# The pointers.
PLACE, REMEDY = 0, 1
# Texts that are encoded at once.
_AT_ONCE = 500
Mark = tuple[int, int, str]


class Encoded(NamedTuple):
    """A text as a model sees it.

    Attributes:
        ids: Of tokens; the last is the end of the text.
        starts: Where each token but the last begins in the text; below 0 in a legend.
        symbols: How many different symbols there are.
    """

    ids: list[int]
    starts: list[int]
    symbols: int

    def token(self, offset: int) -> int:
        """The token that holds a character of the text."""
        return bisect_right(self.starts, offset) - 1


@dataclass(frozen=True)
class Reader:
    """Turns functions into tokens.

    Args:
        tokenizer: For `text` one that knows no symbols.
        names: What is seen of names, one of `NAMES`.

    Raises:
        UserError: If `names` is none of them.
    """

    tokenizer: SymbolInvariantSubwordTokenizer
    names: str

    def __post_init__(self) -> None:
        if self.names not in NAMES:
            raise UserError(f"names={self.names!r}: must be one of {', '.join(NAMES)}")

    @classmethod
    def of_text(cls, texts: Iterable[str], vocab_size: int) -> Reader:
        """A reader that sees names as text, with a tokenizer that learns byte pairs from texts."""
        return cls(SymbolInvariantSubwordTokenizer.train(texts, vocab_size), "text")

    def encode(self, texts: Sequence[str], marks: Sequence[Sequence[Mark]]) -> list[Encoded]:
        """Functions as tokens.

        Args:
            texts: Their sources.
            marks: (start, end, name) of the occurrences of variables, in the order of each text.
        """
        found: list[Encoded] = []
        for first in range(0, len(texts), _AT_ONCE):
            part = list(zip(texts[first : first + _AT_ONCE], marks[first : first + _AT_ONCE], strict=True))
            given = [_with_legend(*one) if self.names == "legend" else one for one in part]
            batch = self.tokenizer(
                [text for text, _ in given],
                spans=[() if self.names == "text" else all_marks for _, all_marks in given],
                return_offsets_mapping=True,
                return_attention_mask=False,
            )
            for ids, offsets, (text, own), (whole, _) in zip(*batch.values(), part, given, strict=True):
                legend = len(whole) - len(text)
                symbols = 0 if self.names == "text" else len({name for _, _, name in own})
                found.append(Encoded(ids, [start - legend for start, _ in offsets[:-1]], symbols))
        return found

    def rows(self, rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Rows of `papers.code.bug_finding` as a model learns from them.

        Returns:
            `input_ids` (L), `labels` (L, 2), for each pointer one of `IMPOSSIBLE`, `POSSIBLE` and `RIGHT`, and
            `symbols`, how many different ones there are.
        """
        rows = list(rows)
        encoded = self.encode([row["text"] for row in rows], [marks_of(row) for row in rows])
        return [
            {"input_ids": one.ids, "labels": pointers(row, one), "symbols": one.symbols}
            for row, one in zip(rows, encoded, strict=True)
        ]


def marks_of(row: Mapping[str, Any]) -> list[Mark]:
    """The column `symbols` of a row as a reader takes it."""
    return [(one["start"], one["end"], one["name"]) for one in row["symbols"]]


def pointers(row: Mapping[str, Any], encoded: Encoded) -> list[list[int]]:
    """What each token of a row is to the two pointers, (L, 2)."""
    if "arguments" in row:
        found = [[POSSIBLE, IMPOSSIBLE] for _ in encoded.ids]
        wrong = [encoded.token(one["start"]) for one in row["arguments"]]
    else:
        found = [[IMPOSSIBLE, IMPOSSIBLE] for _ in encoded.ids]
        found[-1][PLACE] = POSSIBLE
        places = [encoded.token(symbol["start"]) for symbol in row["symbols"]]
        for place, symbol in zip(places, row["symbols"], strict=True):
            found[place] = [POSSIBLE if symbol["is_use"] else IMPOSSIBLE, POSSIBLE]
        for index in row["right"]:
            found[places[index]][REMEDY] = RIGHT
        wrong = [places[row["wrong"]]] if row["wrong"] >= 0 else []
    for place in wrong or [-1]:
        found[place][PLACE] = RIGHT
    return found


def _with_legend(text: str, marks: Sequence[Mark]) -> tuple[str, list[Mark]]:
    """A text behind lines that give each symbol's name, `items: items`, and the marks of both."""
    lines, found, length = list[str](), list[Mark](), 0
    for name in dict.fromkeys(name for _, _, name in marks):
        found.append((length, length + len(name), name))
        lines.append(f"{name}: {name}\n")
        length += len(lines[-1])
    found += [(start + length, end + length, name) for start, end, name in marks]
    return "".join([*lines, text]), found


def collate(rows: Sequence[Mapping[str, Any]], pad: int) -> dict[str, torch.Tensor]:
    """Rows as a batch: `input_ids` and `attention_mask` (B, L), and `labels` (B, L, 2)."""
    longest = max(len(row["input_ids"]) for row in rows)
    batch = {
        "input_ids": torch.full((len(rows), longest), pad),
        "attention_mask": torch.zeros(len(rows), longest, dtype=torch.int64),
        "labels": torch.full((len(rows), longest, 2), IMPOSSIBLE),
    }
    for index, row in enumerate(rows):
        length = len(row["input_ids"])
        for name, values in (("input_ids", row["input_ids"]), ("attention_mask", 1), ("labels", row["labels"])):
            batch[name][index, :length] = torch.as_tensor(values)
    return batch


def pointing_loss(outputs: Any, labels: torch.Tensor, num_items_in_batch: Any = None) -> torch.Tensor:
    """The mean over rows of - log P(place) - log P(remedy), the second only of rows with a bug.

    Args:
        outputs: With `logits` (B, L, 2).
        labels: (B, L, 2), as `pointers` gives them.
        num_items_in_batch: Not used: Trainer counts tokens, and this is a mean over rows.
    """
    logits = outputs.logits.float()
    asked = (labels == RIGHT).any(1)  # (B, 2)
    chosen = logits.masked_fill(labels != RIGHT, -torch.inf).masked_fill(~asked.unsqueeze(1), 0).logsumexp(1)
    possible = logits.masked_fill(labels == IMPOSSIBLE, -torch.inf).masked_fill(~asked.unsqueeze(1), 0).logsumexp(1)
    return (possible - chosen)[asked].sum() / len(labels)
