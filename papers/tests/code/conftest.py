"""Rows with bugs of a few functions, and small models for them."""

import random

import pytest
import torch

from hf_symbinv import SymbolInvariantConfig, SymbolInvariantForTokenClassification, SymbolInvariantSubwordTokenizer
from papers.code.bugs import BUGS
from papers.code.functions import read_functions
from papers.code.reading import Reader
from tests.attack.conftest import attack as attack  # also tried by `make attack`

SOURCE = """
def total(items, rate):
    result = 0
    for item in items:
        result += item.price * rate
    return round(result, 2)


def pairs(left, right):
    found = []
    for one in left:
        for other in right:
            if one < other:
                found.append(make(one, other))
    return found


class Stack:
    def push(self, value, limit=LIMIT):
        if len(self.values) >= limit:
            raise ValueError(f"{value} is one more than {limit}")
        self.values.append(value)
        return self
"""


@pytest.fixture(scope="session")
def functions():
    found, skipped = read_functions(SOURCE, "shop.py")
    assert not skipped
    return found


@pytest.fixture(scope="session")
def rows(functions):
    """Each function as it is, and with a misused variable."""
    bug = BUGS["misuse"]
    return [bug.row(one, draw) for one in functions for draw in (None, random.Random(0))]


@pytest.fixture(scope="session")
def exchanged(functions):
    bug = BUGS["exchange"]
    return [bug.row(one, draw) for one in functions if bug.places(one) for draw in (None, random.Random(0))]


@pytest.fixture(scope="session")
def readers(functions):
    """For each kind of names the reader."""
    texts, spans = [one.text for one in functions], [one.spans() for one in functions]
    symbols = SymbolInvariantSubwordTokenizer.train(texts, 300, spans=spans)
    return {
        "hidden": Reader(symbols, "hidden"),
        "legend": Reader(symbols, "legend"),
        "text": Reader.of_text(texts, 300),
    }


def small_model(tokenizer, embedding="streams", **fields):
    """With fresh weights."""
    torch.manual_seed(0)
    sizes = {
        "num_symbols": 64, "d_model": 16, "encoder_layers": 2, "num_attention_heads": 2, "d_ff": 32, "dropout": 0.0,
    } | fields  # fmt: skip
    config = SymbolInvariantConfig(
        base_vocab_size=tokenizer.vocab_size, symbol_embedding=embedding, decoder_layers=0, num_labels=2,
        loss="cross_entropy", normalize_embeddings=False, normalize_features=False, **sizes,
    )  # fmt: skip
    return SymbolInvariantForTokenClassification(config).eval()


@pytest.fixture
def model():
    """Makes a small model for a reader."""
    return lambda reader, *embedding, **fields: small_model(reader.tokenizer, *embedding, **fields)
