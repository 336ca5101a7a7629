"""Models of the shapes: what each reads, how it is trained, and which of its rows are right.

A **shape** is a kind of model with data on which its answer depends on symbols. Test data come in three parts: as in
training; with more symbols; and as in training again, with all names replaced by names that training never had. A
**kind** is what symbols are to the model.

Letters: B rows, L tokens of the input, T labels, V vocabulary.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from string import ascii_lowercase
from typing import Any

import torch
from transformers import (
    CONFIG_MAPPING,
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
    AutoModelForTokenClassification,
    PreTrainedModel,
    set_seed,
)

from hf_symbinv.logic.referents import SymbolIds
from hf_symbinv.training.sequences import SequenceCollator
from papers.harness.experiments import Job, Result
from papers.harness.measures import Measure
from papers.shapes import named_functions, programs
from papers.shapes.columns import BY_SYMBOLS, MORE, NEW, USUAL, by_symbols

# Names of training, and as many that it never has.
NAMES, OTHERS = ascii_lowercase[:13], ascii_lowercase[13:]
PAD = 1
Row = dict[str, list[int]]


@dataclass(frozen=True)
class Words:
    """The ids of words.

    Attributes:
        base_tokens: In the order of their ids; padding is the second.
        views: Endings of names.
    """

    base_tokens: Sequence[str]
    views: Sequence[str] = ("",)

    @property
    def ids(self) -> SymbolIds:
        return SymbolIds(len(self.base_tokens), len(self.views))

    def arguments(self) -> dict[str, Any]:
        """What makes the tokenizer that is saved with models."""
        places = product(enumerate(ascii_lowercase), enumerate(self.views))
        symbols = {name + ending: [referent, view] for (referent, name), (view, ending) in places}
        return {"base_tokens": list(self.base_tokens), "symbols": symbols, "num_views": len(self.views)}

    def __call__(self, text: str) -> list[int]:
        """The ids of words with blanks between them."""
        return [self._id(word) for word in text.split()]

    def _id(self, word: str) -> int:
        if word in self.base_tokens:
            return self.base_tokens.index(word)
        return self.ids.symbol(ascii_lowercase.index(word[0]), self.views.index(word[1:]))

    def symbols(self, ids: Sequence[int]) -> int:
        """The number of different symbols, whatever their views."""
        return len({self.ids.parts(token)[0] for token in ids} - {-1})


def derivative_row(words: Words, generator: random.Random, names: str, **options: Any) -> Row:
    """A term with unknown functions, and its derivative; `options` as `named_functions.question` takes them."""
    asked, answer = named_functions.question(generator, names, **options)
    return {"input_ids": words(f"{asked} </s>"), "labels": words(f"{answer} </s>")}


def pointing_row(words: Words, generator: random.Random, names: str, **options: Any) -> Row:
    """A program with a gap, whose label is a variable; `options` as `programs.forgotten` takes them."""
    program, variable = programs.forgotten(generator, names, **options)
    ids, mask = words(program), programs.BASE_TOKENS.index("<mask>")
    return {"input_ids": ids, "labels": [words(variable)[0] if token == mask else -100 for token in ids]}


def tokens_row(words: Words, generator: random.Random, names: str, **options: Any) -> Row:
    """A program, and the class of each of its variables; `options` as `programs.assignments` takes them."""
    program, classes = programs.assignments(generator, names, **options)
    return {"input_ids": words(program), "labels": classes}


@dataclass(frozen=True)
class Shape:
    """A kind of model, and what it is asked.

    Attributes:
        head: The Auto class.
        words: Of its texts.
        draw: Makes a row of the words, a generator, names and options; labels are -100 where nothing is asked.
        fields: Of the configuration.
    """

    head: Any
    words: Words
    draw: Callable[..., Row]
    fields: Mapping[str, Any] = field(default_factory=dict)

    def rows(self, sizes: Mapping[str, Any], part: str, seed: int) -> list[Row]:
        """Rows of `train`, or of a part of the test, which is named as its column.

        Args:
            sizes: `rows` and `test_rows`, and the options of `usual` and `more` data.
            part: Rows of `new names` are those of `as in training` under other names.
            seed: Of the data.
        """
        drawn = {NEW.heading: USUAL.heading}.get(part, part)
        generator, names = random.Random(f"{drawn} {seed}"), OTHERS if part == NEW.heading else NAMES
        options = sizes["more" if part == MORE.heading else "usual"]
        count = sizes["rows" if part == "train" else "test_rows"]
        return [self.draw(self.words, generator, names, **options) for _ in range(count)]

    def model(self, kind: str, sizes: Mapping[str, Any]) -> PreTrainedModel:
        """A fresh model of a kind; `sizes` are fields of all kinds, and under `kinds` those of some."""
        fields = {**sizes, **self.fields}
        fields |= fields.pop("kinds", {}).get(kind, {})
        config = CONFIG_MAPPING["symbol_invariant"](
            base_vocab_size=self.words.ids.base, num_symbols=len(ascii_lowercase), num_views=self.words.ids.views,
            symbol_embedding=kind, **fields,
        )  # fmt: skip
        return self.head.from_config(config)


SHAPES = {
    "views": Shape(
        AutoModelForSeq2SeqLM, Words(named_functions.BASE_TOKENS, named_functions.VIEWS), derivative_row
    ),
    "pointing": Shape(AutoModelForMaskedLM, Words(programs.BASE_TOKENS), pointing_row, {"decoder_layers": 0}),
    "tokens": Shape(
        AutoModelForTokenClassification, Words(programs.BASE_TOKENS), tokens_row,
        {"decoder_layers": 0, "num_labels": len(programs.CLASSES)},
    ),
}  # fmt: skip


def measure(job: Job, shape: Shape) -> dict[Measure, Result]:
    """Trains a kind of model and counts the rows of each part of the test that it has right."""
    kind, sizes = job.values["model"], job.sizes["data"]
    set_seed(job.seed)
    model = shape.model(kind, job.sizes["model"])
    collate = SequenceCollator(PAD)
    arguments = {**job.sizes["trainer"], "seed": job.seed}
    job.say(f"  {arguments['max_steps']} steps, {model.num_parameters():,} parameters")
    rows = shape.rows(sizes, "train", job.seed)
    job.train(
        model, job.folder / "model", arguments, train_dataset=rows, data_collator=collate, words=shape.words.arguments()
    )
    found: dict[Measure, Result] = {}
    asked, solved = Counter[int](), Counter[int]()
    for part in (USUAL, MORE, NEW):
        rows = shape.rows(sizes, part.heading, job.seed)
        right = rights(model.eval(), rows, collate)
        found[part] = {"correct": sum(right), "count": len(right)}
        if part != NEW:
            for row, is_right in zip(rows, right, strict=True):
                symbols = shape.words.symbols(row["input_ids"])
                asked[symbols] += 1
                solved[symbols] += is_right
    return {**found, BY_SYMBOLS: by_symbols(solved, asked)}


@torch.inference_mode()
def rights(model: PreTrainedModel, rows: Sequence[Row], collate: Callable[..., Any], batch: int = 100) -> list[bool]:
    """Whether each row has all its labels as the most probable tokens or classes, behind the right ones before.

    That is so if and only if greedy decoding writes the row's answer.

    Args:
        model: In evaluation mode.
        rows: With `input_ids` and `labels`.
        collate: Makes a batch of rows.
        batch: Rows at a time.
    """
    found: list[bool] = []
    for start in range(0, len(rows), batch):
        inputs = {name: tensor.to(model.device) for name, tensor in collate(rows[start : start + batch]).items()}
        logits, labels = model(**inputs).logits, inputs["labels"]  # (B, T, V) and (B, T)
        found += (~((logits.argmax(-1) != labels) & (labels >= 0)).any(1)).tolist()
    return found
