"""Spot agrees with the slow checker, by which the package's own checker is judged too."""

from collections import Counter

from hf_symbinv.logic import Formula, Trace, parse_prefix, parse_trace
from hf_symbinv.solvers import Checker
from tests.solvers.semantics import find_violation

from .random_pairs import random_pairs


def test_spot_agrees_on_random_pairs():
    pairs, verdicts = list(random_pairs(seed=2, count=1000)), Counter()
    with Checker(workers=1, timeout=60.0) as checker:
        for (formula, trace), result in zip(pairs, checker.check(pairs), strict=True):
            verdicts[result.verdict] += 1
            parsed = parse_trace(trace)
            steps = parsed.prefix + parsed.cycle
            if any(find_violation(Formula.false(), Trace((), (step,))) is None for step in steps):
                assert result.verdict == "invalid", (formula, trace)
            else:
                satisfied = find_violation(parse_prefix(formula), parsed) is None
                assert result.verdict == ("correct" if satisfied else "incorrect"), (formula, trace)
    assert set(verdicts) == {"correct", "incorrect", "invalid"} and min(verdicts.values()) > 150
