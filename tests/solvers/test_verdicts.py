"""Answers of every kind get their verdict, in a process of their own, and what is wrong with them is said."""

from pathlib import Path

import pytest
import yaml

from hf_symbinv.tasks import load_task

ROOT = Path(__file__).resolve().parents[2]
CASES = yaml.safe_load(Path(__file__).with_name("verdicts.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", CASES)
def test_each_pair_gets_its_verdict_and_the_reason(name):
    task = load_task(ROOT / name if name.endswith(".py") else name)
    with task.checker(workers=1, timeout=20.0) as checker:
        results = list(checker.check([(question, answer) for question, answer, *_ in CASES[name]]))
    for (question, answer, verdict, *reason), result in zip(CASES[name], results, strict=True):
        assert result.verdict == verdict and result.message.startswith(*reason or [""]), (question, answer, result)
        assert bool(result.message) == (verdict != "correct"), (question, answer, result)
