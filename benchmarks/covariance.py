"""Alpha-covariance over 120 renamings: each question answered once, and all its renamings answered."""

from __future__ import annotations

import time
from typing import Any

from harness import Row, Setting, in_turn
from inputs import ltl_questions

from hf_symbinv import LTL, generate_answers
from hf_symbinv.evaluation import Question, alpha_covariance, load_checkpoint, read_question

# Our choice: questions answered once, and how many of them are answered under all names. The papers take 1,000.
ONCE, EVERY, SYMBOLS = 240, 8, 5


def covariance(setting: Setting) -> list[Row]:
    """The bundled checkpoint on questions with five symbols, which have 120 renamings each; as questions per second.

    Those answered under all names are spread evenly over the lengths of the answers, which decide how long one takes.

    Raises:
        RuntimeError: If the two ways give different results for the same questions.
    """
    once, every, symbols = (4, 2, 2) if setting.tiny else (ONCE, EVERY, SYMBOLS)
    checkpoint = load_checkpoint("ltl-small", setting.device)
    options = {"num_beams": 3, "max_new_tokens": 20 if setting.tiny else 100}
    texts = ltl_questions(once, symbols, 20)
    answers = dict(zip(texts, generate_answers(checkpoint.model, checkpoint.tokenizer, texts, **options), strict=True))
    questions = [read_question(LTL, text) for text in sorted(texts, key=lambda text: len(answers[text][0]))]
    some = questions[once // every // 2 :: once // every]
    found: dict[bool, dict[str, Any]] = {}

    def measure(asked: list[Question], every_renaming: bool) -> float:
        start = time.perf_counter()
        found[every_renaming] = alpha_covariance(
            checkpoint, asked, alphabet="abcde"[:symbols], every_renaming=every_renaming, **options
        )
        return len(asked) / (time.perf_counter() - start)

    mine, theirs = in_turn(setting, lambda: measure(questions, False), lambda: measure(some, True))
    measure(some, False)
    if found[False] != found[True]:
        raise RuntimeError(f"answering once and answering all differ: {found[False]}, {found[True]}")
    what = f"alpha-covariance over {found[True]['predictions'] // every} renamings, questions"
    note = f"{once} questions, of which {every} in all renamings with the same result"
    return [Row("alpha-covariance", what, "answering all renamings", "/s", "at least", 50, mine, theirs, note)]


BENCHMARKS = {"alpha-covariance": covariance}
