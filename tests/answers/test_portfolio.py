"""The first checked answer wins; a member can be left out; what nobody proves is unknown."""

import subprocess
import sys

import pytest

from hf_symbinv.answers import Portfolio, read_specification
from hf_symbinv.errors import UserError
from hf_symbinv.logic import parse_infix

pytest.importorskip("spot")

# Spot works on its automaton for minutes.
HARD_FOR_SPOT = " & ".join(f"(G F a{i} -> G F b{i})" for i in range(12)) + " & F(a0 & X(a1 & X !a2))"


@pytest.fixture(scope="module")
def exact():
    with Portfolio(["spot", "bounded"], timeout=10) as portfolio:
        yield portfolio


def test_a_witness_is_checked_by_both_checkers(exact):
    answer = exact.answer(read_specification("G(request -> F grant) & F request"))
    assert answer.result == "satisfiable" and answer.found_by in ("spot", "bounded")
    assert [(check.checker, check.verdict) for check in answer.checks] == [
        ("hf_symbinv", "correct"),
        ("spot", "correct"),
    ]
    assert [tried.member for tried in answer.tried] == ["spot", "bounded"]
    assert answer.tried[1].outcome in ("not needed", "stopped") or answer.found_by == "bounded"
    assert answer.certain


def test_contradictory_properties_are_named_and_each_is_needed(exact):
    text = "a: G(r -> F g)\nb: F r\nc: G !g\nd: G F x\ne: G(x -> X y)"
    answer = exact.answer(read_specification(text))
    assert (answer.result, answer.subset, answer.minimal) == ("unsatisfiable", ("a", "b", "c"), True)
    for name in answer.subset:
        others = tuple(other for other in answer.subset if other != name)
        assert exact.answer(read_specification(text).only(others)).result == "satisfiable"


def test_the_rule_of_finite_traces_is_no_property_of_a_subset(exact):
    answer = exact.answer(read_specification("traces finite\na: G X[!] 1\nb: F c"))
    assert (answer.result, answer.subset) == ("unsatisfiable", ("a",))


def test_the_search_of_lassos_answers_where_automata_are_too_large():
    with Portfolio(["spot", "bounded"], timeout=60) as portfolio:
        answer = portfolio.answer(read_specification(HARD_FOR_SPOT))
    assert (answer.result, answer.found_by) == ("satisfiable", "bounded")
    assert answer.tried[0].outcome == "stopped"


def test_what_no_member_answers_is_unknown():
    with Portfolio(["bounded"], timeout=0.5) as portfolio:
        answer = portfolio.answer(read_specification("F a & G !a"))
    assert (answer.result, answer.witness, answer.subset) == ("unknown", None, ())
    assert answer.tried[0].outcome == "stopped at the limit of 0.5 s" and not answer.certain


def test_a_witness_that_a_checker_refutes_is_no_answer(exact, monkeypatch):
    """Members may be wrong; here all are, because the checkers are asked another question."""
    check = exact.check
    monkeypatch.setattr(exact, "check", lambda _, trace, limit: check((parse_infix("G !a"),), trace, limit))
    answer = exact.answer(read_specification("F a"))
    assert answer.result == "unknown"
    assert "does not confirm" in answer.tried[0].outcome


def test_members_are_named():
    with pytest.raises(UserError, match=r"member 'magic': not in the portfolio; use some of spot, bounded"):
        Portfolio(["magic"])
    with pytest.raises(UserError, match="no member of the portfolio is left"):
        Portfolio([])


def test_nothing_imports_torch():
    program = (
        "import sys\n"
        "import hf_symbinv.answers as answers\n"
        "with answers.Portfolio() as portfolio:\n"
        "    portfolio.answer(answers.read_specification('F a'))\n"
        "print({'torch', 'transformers'} & set(sys.modules))"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], env={**__import__("os").environ, "HF_SYMBINV_LIGHT": "1"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert result.stdout == "set()\n"


def test_what_watches_the_work_can_end_it():
    class Enough(Exception):
        pass

    def look():
        if portfolio.pool("spot").busy:
            raise Enough

    with Portfolio(["spot"], timeout=60) as portfolio:
        with pytest.raises(Enough), portfolio.watched(look):
            portfolio.answer(read_specification(HARD_FOR_SPOT))
        assert portfolio.answer(read_specification("F a")).result == "satisfiable"


@pytest.mark.parametrize(
    ("text", "result"),
    [("a & (b | !c)", "satisfiable"), ("x: a -> b; y: a; z: !b; u: c", "unsatisfiable"), ("a | !a", "satisfiable")],
)
def test_propositional_formulas_are_answered_by_one_step(text, result, exact):
    answer = exact.answer(read_specification(text, propositional=True))
    assert (answer.result, answer.found_by) == (result, "bounded")
    if result == "satisfiable":
        assert (answer.witness.prefix, len(answer.witness.cycle)) == ((), 1) and answer.certain
    else:
        assert (answer.subset, answer.minimal) == (("x", "y", "z"), True)
