"""The task whose answers have new names: code computes its expression exactly if its polynomial is the same."""

import re
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_symbinv.tasks import load_task

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "papers" / "shapes" / "three_address.py"
CODE = load_task(EXAMPLE)

EXPRESSIONS = st.recursive(
    st.sampled_from(["a", "b", "request", "next state"]).map(lambda name: [name]),
    lambda part: st.tuples(st.sampled_from("+-*"), part, part).map(lambda parts: [parts[0], *parts[1], *parts[2]]),
    max_leaves=6,
).filter(lambda words: len(words) > 1)


def polynomial(words, known):
    """The monomials, products of names in order, with their coefficients; `known` are those of names."""
    word = words.pop(0)
    if word not in "+-*":
        return known.get(word, Counter({(word,): 1}))
    left, right, result = polynomial(words, known), polynomial(words, known), Counter()
    if word == "*":
        for one, first in left.items():
            for other, second in right.items():
                result[tuple(sorted(one + other))] += first * second
    else:
        result.update(left)
        (result.update if word == "+" else result.subtract)(right)
    return Counter({monomial: count for monomial, count in result.items() if count})


def computed(code):
    known = {}
    for result, *operation in CODE.code(code):
        known[result] = polynomial(operation, known)
    return known[result]


@given(EXPRESSIONS)
def test_the_solver_computes_the_expression_and_each_operation_on_the_same_operands_once(words):
    question = CODE.write_words(words)
    answer = CODE.solve(question)
    assert computed(answer) == polynomial(list(words), {})
    assert CODE.judge(question, answer) == ("correct", "")
    operations = [operation for _, *operation in CODE.code(answer)]
    assert len(set(map(tuple, operations))) == len(operations) <= CODE.size(question)


@settings(max_examples=200)
@given(EXPRESSIONS, EXPRESSIONS)
def test_the_code_of_another_expression_is_correct_exactly_if_the_polynomials_are_equal(one, other):
    answer = CODE.solve(CODE.write_words(other))
    known, new = {*one} - {*"+-*"}, {name for name, *_ in CODE.code(answer)}
    unknown = {*other} - {*"+-*"} - known
    verdict, message = CODE.judge(CODE.write_words(one), answer)
    if unknown or new & known:
        assert verdict == "incorrect" and ("has no value where" in message or "has a value before" in message)
    else:
        assert verdict == ("correct" if polynomial(list(one), {}) == computed(answer) else "incorrect")


def test_large_powers_are_judged_in_a_moment():
    squares = "c=*ab" + "".join(f";{name}=*{before}{before}" for before, name in pairwise("cdefghijklmnopqr"))
    assert CODE.judge("*ab", squares)[0] == "incorrect"


def test_an_expression_of_more_operations_than_an_answer_may_have_has_none():
    chain = "+" * 16 + "abcdefghijklmnopq"
    assert CODE.judge(chain, CODE.solve(chain)) == ("correct", "")
    assert CODE.solve("*" + chain + "a") is None
    assert CODE.solve("+" * 20 + "a" * 21) is None and CODE.solve("+" + "*aa" * 2) is not None


def test_exact_is_the_solvers_code_whatever_its_names_are():
    answers = ["c=+ab;d=*cc", "y=+ab;x=*yy", "y=+ba;x=*yy"]
    with CODE.checker(workers=1) as checker:
        results = list(checker.check([("*+ab+ab", answer) for answer in answers], answers[:1] * 3))
    assert [result.verdict for result in results] == ["exact", "exact", "correct"]


def test_drawn_expressions_have_the_operations_asked_for_and_often_one_twice():
    drawn = CODE.draw(["a", "b", "request", "next state"], 2, 6, seed=0, count=500)
    assert {CODE.size(expression) for expression in drawn} == {2, 3, 4, 5, 6}
    shorter = [len(CODE.code(CODE.solve(expression))) < CODE.size(expression) for expression in drawn]
    assert 0.2 < sum(shorter) / len(shorter) < 0.8
    assert drawn == CODE.draw(["a", "b", "request", "next state"], 2, 6, seed=0, count=500)


@pytest.mark.parametrize("text", ["", "a", "+a", "+abc", "+ab;", "ab+", '"+" a b'])
def test_what_is_no_expression_is_refused(text):
    message = re.escape(f"{text!r} is no expression: write + - * before their two operands, +*aba")
    with pytest.raises(ValueError, match=message):
        CODE.read_question(text, "prefix")
    assert CODE.read_question("+ a * b c", "prefix") == "+ a * b c"
