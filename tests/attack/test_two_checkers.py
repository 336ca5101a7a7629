"""Two checkers of each task, of which one is slow and obvious, have the same verdict on random answers."""

import itertools

from hf_symbinv import LTL
from hf_symbinv.logic import Formula, parse_assignment, parse_prefix, parse_trace, to_prefix
from hf_symbinv.solvers.ltl import judge as judge_by_spot
from hf_symbinv.solvers.prop import judge as judge_by_sat
from tests.solvers.semantics import find_violation, holds

NAMES = "abcd"
TRUTH = {
    "!": lambda a: not a,
    "&": lambda a, b: a and b,
    "|": lambda a, b: a or b,
    "^": lambda a, b: a != b,
    "->": lambda a, b: not a or b,
    "<->": lambda a, b: a == b,
}


def literal(draw):
    return draw.choice(["", "", "!"]) + draw.choice(NAMES[:3])


def temporal(draw, size):
    """A formula of LTL in prefix notation; its checker takes time exponential in X, U and names, so these are few."""
    if size <= 1:
        return draw.choice(["1", "0", *NAMES[:3], *NAMES[:3]])
    if size == 2 or draw.random() < 0.35:
        return draw.choice("!XX") + temporal(draw, size - 1)
    left = draw.randint(1, size - 2)
    return draw.choice("&|UUU") + temporal(draw, left) + temporal(draw, size - 1 - left)


def trace(draw):
    """A lasso in prefix notation, whose steps are literals, constants, conjunctions and disjunctions."""

    def step():
        kind = draw.random()
        if kind < 0.2:
            return draw.choice("1110")
        return literal(draw) if kind < 0.6 else draw.choice("&|") + literal(draw) + literal(draw)

    before = "".join(f"{step()};" for _ in range(draw.randint(0, 3)))
    return f"{before}{{{';'.join(step() for _ in range(draw.randint(1, 3)))}}}"


def test_spot_and_the_semantics_have_the_same_verdict_on_traces(attack):
    for attempt in attack.tries(200):
        draw = attempt.random
        question, answer = temporal(draw, draw.randint(1, 9)), trace(draw)
        verdict, message = judge_by_spot(question, answer)
        formula = parse_prefix(question)
        violation = find_violation(formula, parse_trace(answer))
        if verdict == "invalid":
            assert "no valuation satisfies" in message and violation is None, (question, answer, message)
        else:
            assert (verdict == "correct") == (violation is None), (question, answer, verdict, violation)
        assert violation is None or not holds(formula, violation), (question, answer)
        if verdict == "incorrect":
            assert judge_by_spot(f"!{question}", LTL.read_answer(message.rpartition(": ")[2]))[0] == "correct", message


def propositional(draw, size):
    """A propositional formula."""
    if size <= 1:
        return parse_prefix(draw.choice(["1", "0", *NAMES, *NAMES]))
    if size == 2 or draw.random() < 0.2:
        return ~propositional(draw, size - 1)
    left = draw.randint(1, size - 2)
    operator = draw.choice([name for name in TRUTH if name != "!"])
    return Formula(operator, (propositional(draw, left), propositional(draw, size - 1 - left)))


def is_true(formula, values):
    if formula.name is not None:
        return values[formula.name]
    if not formula.operands:
        return formula.operator == "1"
    return TRUTH[formula.operator](*(is_true(operand, values) for operand in formula.operands))


def test_the_sat_solver_and_all_assignments_have_the_same_verdict(attack):
    for attempt in attack.tries(400):
        draw = attempt.random
        formula = propositional(draw, draw.randint(1, 15))
        question = to_prefix(formula)
        answer = "".join(f"{name}{draw.choice('01')}" for name in draw.sample(NAMES, draw.randint(1, len(NAMES))))
        verdict, message = judge_by_sat(question, answer)
        given = dict(parse_assignment(answer).values)
        expected = all(
            is_true(formula, dict(zip(NAMES, values, strict=True)) | given)
            for values in itertools.product([False, True], repeat=len(NAMES))
        )
        assert verdict == ("correct" if expected else "incorrect"), (question, answer, verdict, message)
