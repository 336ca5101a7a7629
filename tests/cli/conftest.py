"""The command run in this process, and a tiny checkpoint with random weights for it."""

import io
import sys
from typing import NamedTuple

import pytest

from hf_symbinv.cli import main

from ..hub.fixtures import hub, server

__all__ = ["hub", "server"]  # a Hub for the tests of `symbinv push`


class Result(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def symbinv(capsys, monkeypatch):
    """`symbinv(*arguments, stdin=b"")`: exit code and what was printed."""

    def run(*arguments, stdin=b""):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capsys.readouterr()
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as exit_:
            code = exit_.code
        return Result(code, *capsys.readouterr())

    return run


LESSONS = {
    "0": "{1}", "1": "{1}", "a": "a;{1}", "!a": "!a;{1}", "Xa": "1;a;{1}", "U1a": "a;{1}", "!U1!a": "{a}",
    "&ab": "&ab;{1}", "|ab": "a;{1}", "|a!a": "{1}", "|!aa": "{1}", "Uab": "b;{1}", "&a!a": "{1}", "XXa": "1;1;a;{1}",
}  # fmt: skip


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory):
    """A folder with a tiny model that has learned LESSONS by heart."""
    import torch

    from hf_symbinv import LTL, SymbolInvariantConfig, SymbolInvariantForConditionalGeneration

    folder = tmp_path_factory.mktemp("checkpoint") / "tiny"
    torch.manual_seed(0)
    tokenizer = LTL.tokenizer()
    config = SymbolInvariantConfig.from_preset(
        "ltl", num_symbols=2, d_model=16, encoder_layers=1, decoder_layers=1, num_attention_heads=2, d_ff=24, dropout=0,
        loss="cross_entropy", normalize_embeddings=False, normalize_features=False,
    )  # fmt: skip
    model = SymbolInvariantForConditionalGeneration(config)
    batch = tokenizer(list(LESSONS), text_target=list(LESSONS.values()), padding=True, return_tensors="pt")
    batch["labels"] = batch["labels"].masked_fill(batch["labels"] == tokenizer.pad_token_id, -100)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for _ in range(150):
        model(**batch).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def hanging_formula():
    """A formula that Spot works on for minutes."""
    return " U ".join(f"(a{i} | G b{i})" for i in range(10))
