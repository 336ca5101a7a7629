"""Functions of Python's own library under other names: a model points at the same places, bit for bit.

Each try draws a function and twenty renamings of its variables. Names are drawn from a few hundred words, and the ids
that stand for them from ten thousand.
"""

import keyword
import sysconfig
from functools import cache
from pathlib import Path

import pytest
import torch

from hf_symbinv import SymbolInvariantSubwordTokenizer
from papers.code.finding import BUNDLED, Finder
from papers.code.functions import read_functions
from papers.code.renaming import RenamingError, rename

from .conftest import small_model

RENAMINGS = 20
FILES = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))


@pytest.fixture(scope="module")
def words():
    """Names that functions have."""
    functions, _ = read_functions((FILES[0].parent / "argparse.py").read_text(encoding="utf-8"))
    return sorted({name for one in functions for name in one.variables})


@pytest.fixture(scope="module")
def tokenizer():
    functions, _ = read_functions((FILES[0].parent / "argparse.py").read_text(encoding="utf-8"))
    return SymbolInvariantSubwordTokenizer.train(
        [one.text for one in functions], 600, spans=[one.spans() for one in functions]
    )


@pytest.fixture(scope="module")
def models(tokenizer):
    """Models with fresh weights."""
    return [small_model(tokenizer), small_model(tokenizer).to(torch.bfloat16)]


@cache
def fitting(file):
    """The functions of a file with two to twelve variables and at most a thousand characters."""
    functions, _ = read_functions(file.read_text(encoding="utf-8", errors="replace"))
    return [one for one in functions if 2 <= len(one.variables) <= 12 and len(one.text) <= 1000]


def drawn(random):
    """One of these functions, of any file."""
    while True:
        found = fitting(random.choice(FILES))
        if found:
            return random.choice(found)


def other_names(function, words, random):
    """A renaming that captures nothing, as text and spans."""
    while True:
        names = random.sample(words, len(function.variables))
        try:
            text = rename(function, dict(zip(function.variables, names, strict=True)))
        except RenamingError:
            continue
        [renamed] = read_functions(text)[0]
        return renamed


def test_renaming_changes_no_bit(attack, words, tokenizer, models):
    assert not any(map(keyword.iskeyword, words))
    for attempt in attack.tries(4):
        function = drawn(attempt.random)
        versions = [function] + [other_names(function, words, attempt.random) for _ in range(RENAMINGS)]
        rows = []
        for one in versions:
            row = tokenizer(one.text, spans=one.spans())["input_ids"]
            assert row == tokenizer(function.text, spans=function.spans())["input_ids"]
            base = tokenizer.vocab_size  # a model takes any ids
            others = attempt.random.sample(range(base, base + 10_000), len(one.variables))
            rows.append([index if index < base else others[index - base] for index in row])
        assert len(set(map(tuple, rows))) > 1
        model = attempt.random.choice(models)
        with torch.inference_mode():
            # Each alone: in a batch, some processors round a row by its place.
            logits = torch.cat([model(torch.tensor([row])).logits for row in rows])
        assert logits.isfinite().all()
        assert (logits == logits[:1]).all(), function.text


def test_the_bundled_finder_suspects_the_same(attack, words):
    finder = Finder.from_pretrained(BUNDLED)
    for attempt in attack.tries(4):
        function = drawn(attempt.random)
        [expected] = finder.suspicions([function])
        for _ in range(RENAMINGS):
            [found] = finder.suspicions([other_names(function, words, attempt.random)])
            assert found == expected, function.text
