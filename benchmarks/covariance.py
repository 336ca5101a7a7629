"""Alpha-covariance over 120 renamings: each question decoded once, and all its renamings."""

from __future__ import annotations

from typing import Any

from harness import Row, Setting, in_turn
from inputs import ltl_questions

from hf_symbinv import LTL
from hf_symbinv.evaluation import alpha_covariance, load_checkpoint, read_question

# The paper takes 1,000 questions; both sides are proportional to their number.
QUESTIONS, SYMBOLS = 20, 5


def covariance(setting: Setting) -> list[Row]:
    """The bundled checkpoint on questions with five symbols, which have 120 renamings; both results must be equal."""
    count, symbols = (2, 2) if setting.tiny else (QUESTIONS, SYMBOLS)
    checkpoint = load_checkpoint("ltl-small", setting.device)
    questions = [read_question(LTL, text) for text in ltl_questions(count, symbols, 20)]
    found: dict[bool, dict[str, Any]] = {}

    def measure(every_renaming: bool) -> None:
        found[every_renaming] = alpha_covariance(
            checkpoint, questions, alphabet="abcde"[:symbols], every_renaming=every_renaming, num_beams=3,
            max_new_tokens=20 if setting.tiny else 100,
        )  # fmt: skip

    mine, theirs = in_turn(setting, lambda: measure(False), lambda: measure(True))
    if found[False] != found[True]:
        raise RuntimeError(f"decoding once and decoding all differ: {found[False]}, {found[True]}")
    what, peer = f"alpha-covariance over {found[True]['predictions']:,} renamings", "decoding all of them"
    note = f"{count} questions; the same result {found[True]['alpha_covariance']}"
    return [Row("alpha-covariance", what, peer, "s", "at least", 50, mine, theirs, note)]


BENCHMARKS = {"alpha-covariance": covariance}
