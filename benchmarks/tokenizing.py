"""How many texts a second the tokenizers encode, beside fast tokenizers of transformers that know no symbols."""

from __future__ import annotations

import keyword
import time
from collections.abc import Callable
from pathlib import Path

from harness import Row, Setting, in_turn
from inputs import BASE, LTL_NAMES, ltl_questions
from tokenizers import Regex, Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

import hf_symbinv
from hf_symbinv import LTL, SymbolInvariantSubwordTokenizer

NAMES = ("request", "grant_1", "grant_2", "busy", "idle_state")


def _rate(encode: Callable[[list[str]], object], texts: list[str]) -> float:
    start = time.perf_counter()
    encode(texts)
    return len(texts) / (time.perf_counter() - start)


def _library(names: tuple[str, ...], cut: pre_tokenizers.PreTokenizer) -> PreTrainedTokenizerFast:
    """The tokens of formulas with a row for each name, cut by the tokenizers library."""
    words = {word: index for index, word in enumerate([*LTL.base_tokens, *names, "<unk>"])}
    peer = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    peer.pre_tokenizer = cut
    return PreTrainedTokenizerFast(tokenizer_object=peer, pad_token="<pad>", eos_token="</s>", add_eos_token=True)


def formulas(setting: Setting) -> list[Row]:
    """Formulas with letters and with longer names; the peer has a row for each name, and checks no tree."""
    letters = ltl_questions(40 if setting.tiny else 5_000, len(NAMES), 35)
    longer = dict(zip(LTL_NAMES, NAMES, strict=False))
    named = [" ".join(longer.get(token, token) for token in text) for text in letters]
    every_character = pre_tokenizers.Split(Regex("."), "isolated")
    rows = []
    for name, texts, peer in (
        ("formulas", letters, _library(LTL_NAMES, every_character)),
        ("formulas-with-names", named, _library(NAMES, pre_tokenizers.WhitespaceSplit())),
    ):
        tokenizer = LTL.tokenizer()
        base = [[min(token, BASE) for token in row] for row in tokenizer(texts)["input_ids"]]
        if base != [[min(token, BASE) for token in row] for row in peer(texts)["input_ids"]]:
            raise RuntimeError(f"{name}: the two tokenizers cut formulas differently")
        ours, theirs = in_turn(
            setting,
            lambda tokenizer=tokenizer, texts=texts: _rate(tokenizer, texts),
            lambda peer=peer, texts=texts: _rate(peer, texts),
        )
        what = "SymbolInvariantTokenizer"
        rows.append(Row(name, what, "PreTrainedTokenizerFast, a row for each name", "/s", "at least", 1, ours, theirs))
    return rows


def code(setting: Setting) -> list[Row]:
    """Lines of Python; the peer is the same tokenizer without symbols, which cuts names into pieces."""
    files = sorted(Path(hf_symbinv.__file__).parent.glob("*/*.py"))
    lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
    lines = lines[:40] if setting.tiny else lines
    rule = {"symbol_pattern": r"[A-Za-z_]\w*", "base_words": keyword.kwlist}
    with_symbols = SymbolInvariantSubwordTokenizer.train(lines, 1000, **rule)
    peer = SymbolInvariantSubwordTokenizer.train(lines, 1000)
    peer = PreTrainedTokenizerFast(tokenizer_object=peer.backend_tokenizer, pad_token="<pad>", eos_token="</s>")
    ours, theirs = in_turn(
        setting,
        lambda: _rate(with_symbols, lines),
        lambda: _rate(peer, lines),
    )
    what = "SymbolInvariantSubwordTokenizer, names as symbols"
    return [Row("code", what, "PreTrainedTokenizerFast, names as base text", "/s", "at least", 0.5, ours, theirs)]


def tokenizing(setting: Setting) -> list[Row]:
    """Texts a second; symbols are numbered in the order of their appearance."""
    return [*formulas(setting), *code(setting)]


BENCHMARKS = {"tokenizing": tokenizing}
