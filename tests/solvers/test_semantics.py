"""Spot agrees with the definition of LTL, by which the package's own checker is judged too."""

from collections import Counter

from hf_symbinv.logic import parse_prefix, parse_trace, read_trace
from hf_symbinv.solvers import Checker

from .random_pairs import random_pairs
from .semantics import holds, is_word_of, letters_of, words_of

SYMBOLS = ("a", "b")


def test_the_definition_agrees_on_random_pairs():
    pairs, verdicts = list(random_pairs(seed=2, count=1000)), Counter()
    with Checker(workers=1, timeout=60.0) as checker:
        for (text, witness), result in zip(pairs, checker.check(pairs), strict=True):
            verdicts[result.verdict] += 1
            formula, trace = parse_prefix(text), parse_trace(witness)
            if not all(letters_of(step, SYMBOLS) for step in (*trace.prefix, *trace.cycle)):
                assert result.verdict == "invalid", (text, witness)
            elif result.verdict == "correct":
                assert all(holds(formula, word) for word in words_of(trace, SYMBOLS, 30)), (text, witness)
            else:
                assert result.verdict == "incorrect", (text, witness)
                shown = read_trace(result.message.removeprefix("these words of the trace violate the formula: "))
                for word in words_of(shown, SYMBOLS, 10):
                    assert is_word_of(word, trace) and not holds(formula, word), (text, witness, word)
    assert set(verdicts) == {"correct", "incorrect", "invalid"} and min(verdicts.values()) > 150
