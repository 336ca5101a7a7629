"""Answers and verdicts on propositional formulas agree with truth tables and with py-aiger's own circuits."""

import itertools
import random
import subprocess
import sys
from operator import and_, eq, invert, not_, or_, xor

import aiger
import aiger_sat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_symbinv.logic import Formula, parse_assignment, to_prefix
from hf_symbinv.logic.formula import PROPOSITIONAL_OPERATORS
from hf_symbinv.solvers import AigerMissingError, Checker
from hf_symbinv.solvers.prop import (
    _simulate,
    aiger_expression,
    find_assignment,
    judge,
    load_aiger,
    normalized_assignment,
)

from ..logic.strategies import formulas

# Of truth values, and of circuits.
TRUTH = {"!": not_, "&": and_, "|": or_, "^": xor, "->": lambda a, b: not a or b, "<->": eq}
CIRCUITS = {**TRUTH, "!": invert, "->": lambda a, b: a.implies(b)}

propositional = formulas(PROPOSITIONAL_OPERATORS, st.sampled_from("abcde"), max_leaves=8)
awkward = st.sampled_from(["a", "b", "U", "0", "1", "a b", 'say "a"', "xor", "True", "p0", "<->"])


def holds(formula, valuation):
    if formula.name is not None:
        return valuation[formula.name]
    if not formula.operands:
        return formula.operator == "1"
    return TRUTH[formula.operator](*(holds(operand, valuation) for operand in formula.operands))


def completions(formula, values):
    free = [name for name in formula.symbols() if name not in values]
    for bits in itertools.product((False, True), repeat=len(free)):
        yield {**values, **dict(zip(free, bits, strict=True))}


def always_true(formula, values):
    return all(holds(formula, valuation) for valuation in completions(formula, values))


def circuit(formula):
    """The formula as py-aiger's own operators build it."""
    if formula.name is not None:
        return aiger.atom(formula.name)
    if not formula.operands:
        return aiger.atom(formula.operator == "1")
    return CIRCUITS[formula.operator](*map(circuit, formula.operands))


@settings(max_examples=400)
@given(formulas(PROPOSITIONAL_OPERATORS, awkward, max_leaves=8))
def test_the_answer_makes_the_formula_true_in_every_row_of_the_truth_table(formula):
    answer = find_assignment(to_prefix(formula))
    if answer is None:
        assert not any(holds(formula, valuation) for valuation in completions(formula, {}))
        return
    assignment = parse_assignment(answer)
    assert always_true(formula, dict(assignment.values))
    assert list(assignment.symbols()) == sorted(assignment.symbols())
    assert set(assignment.symbols()) <= set(formula.symbols()) or (answer == "a1" and not formula.symbols())
    assert judge(to_prefix(formula), answer) == ("correct", "")


@settings(max_examples=400)
@given(propositional, st.dictionaries(st.sampled_from("abcdex"), st.booleans(), min_size=1))
def test_the_verdict_is_that_of_the_truth_table_and_of_py_aigers_circuit(formula, values):
    text = "".join(f"{name}{int(value)}" for name, value in values.items())
    verdict, message = judge(to_prefix(formula), text)
    assert verdict == ("correct" if always_true(formula, values) else "incorrect")
    solver = aiger_sat.SolverWrapper()
    solver.add_expr(~circuit(formula))
    inputs = {name: value for name, value in values.items() if name in formula.symbols()}
    assert solver.is_sat(inputs) == (verdict == "incorrect")
    assert (message == "") == (verdict == "correct")


@settings(deadline=None)
@given(propositional)
def test_the_circuit_is_the_one_that_py_aigers_operators_build(formula):
    ours, theirs = aiger_expression(formula), circuit(formula)
    assert ours.inputs == set(formula.symbols()) >= theirs.inputs
    for values in completions(formula, {}):
        known = {name: values[name] for name in theirs.inputs}
        assert ours(values) == theirs(known) == holds(formula, values)


def test_checkers_that_contradict_each_other_give_no_verdict(monkeypatch):
    monkeypatch.setattr("hf_symbinv.solvers.prop.aiger_expression", lambda _: lambda values, lift: values["a"])
    _simulate.cache_clear()
    try:
        assert judge("a", "a1") == ("correct", "")
        for formula, answer, verdict in (("!a", "a0", "incorrect"), ("!a", "a1", "correct")):
            with pytest.raises(
                RuntimeError, match=f"'{formula}': py-aiger's circuit calls '{answer}' {verdict} and pyth"
            ):
                judge(formula, answer)
    finally:
        _simulate.cache_clear()


@given(propositional, st.dictionaries(st.sampled_from("abcde"), st.booleans(), min_size=1))
def test_the_message_shows_a_completion_that_makes_the_formula_false(formula, values):
    text = "".join(f"{name}{int(value)}" for name, value in values.items())
    verdict, message = judge(to_prefix(formula), text)
    if verdict == "incorrect" and formula.symbols():
        shown = dict(pair.split("=") for pair in message.removeprefix("the formula is false with ").split(", "))
        valuation = {name: value == "1" for name, value in shown.items()}
        assert set(valuation) == set(formula.symbols())
        assert not holds(formula, valuation)
        assert all(values.get(name, value) == value for name, value in valuation.items())


@given(propositional, st.permutations(list("abcde")))
def test_renaming_the_formula_renames_its_answer(formula, order):
    renaming = dict(zip("abcde", order, strict=True))
    if not formula.symbols():
        return
    answer, renamed = (find_assignment(to_prefix(each)) for each in (formula, formula.rename(renaming)))
    if answer is None:
        assert renamed is None
    else:
        assert set(parse_assignment(answer).rename(renaming).values) == set(parse_assignment(renamed).values)


@pytest.mark.parametrize(
    ("formula", "answer"),
    [
        ("a", "a1"),
        ("!a", "a0"),
        ("&b!a", "a0b1"),
        ("& request ! grant", "grant 0 request 1"),
        ("|a&b!b", "a1"),
        ('"a b"', '"a b" 1'),
        ("0", None),
        ("&a!a", None),
        ("<-> a ! a", None),
    ],
)
def test_answers_that_have_no_choice(formula, answer):
    assert find_assignment(formula) == answer


def test_answers_are_the_same_in_every_process():
    rng = random.Random(5)
    texts = []
    for _ in range(60):
        formula = Formula.ap("a")
        for name in rng.choices("abcdefgh", k=9):
            symbol = Formula.ap(name) if rng.random() < 0.5 else ~Formula.ap(name)
            formula = Formula(rng.choice(["&", "|", "^", "->", "<->"]), (formula, symbol))
        texts.append(to_prefix(formula))
    program = f"from hf_symbinv.solvers.prop import find_assignment; print([find_assignment(t) for t in {texts!r}])"
    here = str([find_assignment(text) for text in texts])
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", program], env={"PYTHONHASHSEED": seed, "HF_SYMBINV_LIGHT": "1"},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert done.stdout.strip() == here


def test_formulas_of_temporal_logic_are_refused():
    message = "operator 'U': belongs to linear temporal logic, which is the task ltl; propositional formulas have 0 1 !"
    for call in (lambda: find_assignment("&cUab"), lambda: judge("&cUab", "a1"), lambda: judge("&cUab", "")):
        with pytest.raises(ValueError, match=message):
            call()


def test_the_same_pairs_in_another_order_and_form_are_the_same_assignment():
    assert normalized_assignment("b0a1") == normalized_assignment(" a 1 b 0") == "a1b0"
    assert normalized_assignment("b0a0") != "a1b0"
    assert normalized_assignment("b0b1") == "b0b1"
    same = {"normalized": lambda _, assignment: normalized_assignment(assignment)}
    with Checker(judge, **same, initializer=load_aiger, workers=1, timeout=60) as checker:
        pairs = [("&a!b", "b0a1"), ("&a!b", "a1b0c1"), ("&a!b", "a1"), ("&a!b", "a1b"), ("&a", "a1"), ("Ga", "a1")]
        results = list(checker.check(pairs, ["a1b0"] * 6))
    assert [result.verdict for result in results] == ["exact", "correct", "incorrect", "invalid", "error", "error"]


def test_depth_and_number_of_symbols_are_not_limited():
    names = [f"p{place}" for place in range(3000)]
    formula = Formula.ap("p0")
    for name in names[1:]:
        formula = formula & ~Formula.ap(name)
    answer = find_assignment(to_prefix(formula))
    assert dict(parse_assignment(answer).values) == {name: name == "p0" for name in names}
    assert judge(to_prefix(formula), answer) == ("correct", "")
    assert judge("!" * 5000 + "a", "a1") == ("correct", "")
    deep = "&a" * 5000 + "b"
    for operator in "&|^":
        assert judge(operator + deep + deep, "a1b1")[0] == ("incorrect" if operator == "^" else "correct")


@pytest.mark.parametrize("count", [16, 17])
def test_the_most_symbols_of_a_table_and_one_more_have_the_same_verdicts(count):
    names = "abcdefghijklmnopq"[:count]
    formula = "&" * (count - 1) + names
    assert (_simulate(formula).false is None) == (count == 17)
    assert judge(formula, "".join(f"{name}1" for name in names)) == ("correct", "")
    shown = ", ".join(f"{name}={int(name != names[0])}" for name in names)
    others = "".join(f"{name}1" for name in names[1:])
    assert judge(formula, others) == ("incorrect", f"the formula is false with {shown}")


def test_a_missing_solver_is_named_with_its_remedy(monkeypatch):
    load_aiger.cache_clear()
    monkeypatch.setitem(sys.modules, "aiger_sat", None)
    try:
        with pytest.raises(AigerMissingError, match=r"needs py-aiger-sat, .*; install it with `pip install '\.\[logic"):
            load_aiger()
    finally:
        load_aiger.cache_clear()
