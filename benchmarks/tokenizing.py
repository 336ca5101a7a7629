"""How many texts a second the tokenizers encode, beside fast tokenizers of transformers that know no symbols."""

from __future__ import annotations

import io
import keyword
import time
import tokenize
from collections.abc import Callable, Sequence
from pathlib import Path

from harness import Row, Setting, in_turn
from tokenizers import Regex, Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

import hf_symbinv
from hf_symbinv import LTL, LtlRandom, SymbolInvariantSubwordTokenizer, SymbolTable

NAMES = ("request", "grant_1", "grant_2", "busy", "idle_state")
UNKNOWN = "<unk>"


def _rate(encode: Callable[[Sequence[str]], object], texts: Sequence[str]) -> float:
    start = time.perf_counter()
    encode(texts)
    return len(texts) / (time.perf_counter() - start)


def _library(names: Sequence[str], cut: pre_tokenizers.PreTokenizer) -> PreTrainedTokenizerFast:
    """The same tokens with a row for each name, cut by the tokenizers library."""
    words = {word: index for index, word in enumerate([*LTL.base_tokens, *names, UNKNOWN])}
    peer = Tokenizer(models.WordLevel(words, unk_token=UNKNOWN))
    peer.pre_tokenizer = cut
    return PreTrainedTokenizerFast(tokenizer_object=peer, pad_token="<pad>", eos_token="</s>", add_eos_token=True)


def _lines() -> list[str]:
    """The lines of this package that are code."""
    files = sorted(Path(hf_symbinv.__file__).parent.glob("**/*.py"))
    return [line for file in files for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
