"""Clauses get models that are checked, and proofs with the clauses that make them."""

import itertools
import json
import random

import pytest

from hf_symbinv.answers import CertificateError, Portfolio, answer_clauses, read_dimacs
from hf_symbinv.answers.certificates import confirmed
from hf_symbinv.answers.clauses import (
    certify_clauses,
    check_model,
    check_subset,
    minimal_subset,
    read_clauses_certificate,
    verify_clauses,
)

pytest.importorskip("spot")
pytest.importorskip("pysat")


@pytest.fixture(scope="module")
def portfolio():
    with Portfolio(["bounded"], timeout=10) as portfolio:
        yield portfolio


def dimacs(clauses, variables):
    lines = [" ".join(map(str, [*clause, 0])) for clause in clauses]
    return "\n".join([f"p cnf {variables} {len(clauses)}", *lines, ""])


def models(clauses, variables):
    """All of them, by trying every assignment."""
    for signs in itertools.product((-1, 1), repeat=variables):
        values = {sign * variable for variable, sign in enumerate(signs, start=1)}
        if all(values & set(clause) for clause in clauses):
            yield values


def pigeons(count):
    """So many pigeons in one hole fewer: as hard for resolution as clauses are."""
    holes = count - 1
    name = {(pigeon, hole): pigeon * holes + hole + 1 for pigeon in range(count) for hole in range(holes)}
    clauses = [tuple(name[pigeon, hole] for hole in range(holes)) for pigeon in range(count)]
    for hole in range(holes):
        clauses += [(-name[a, hole], -name[b, hole]) for a, b in itertools.combinations(range(count), 2)]
    return clauses, count * holes


@pytest.mark.parametrize("seed", range(30))
def test_answers_are_those_of_trying_every_assignment(seed, portfolio):
    rng = random.Random(seed)
    variables = rng.randint(1, 6)
    clauses = [
        tuple(rng.choice((-1, 1)) * rng.randint(1, variables) for _ in range(rng.randint(1, 3)))
        for _ in range(rng.randint(1, 5 * variables))
    ]
    question = read_dimacs(dimacs(clauses, variables))
    answer = answer_clauses(question, portfolio)
    if next(models(clauses, variables), None) is not None:
        assert answer.result == "satisfiable" and [check.verdict for check in answer.checks] == ["correct"]
        assert set(answer.model) in list(models(clauses, variables))
    else:
        chosen = [clauses[number - 1] for number in answer.subset]
        assert answer.result == "unsatisfiable" and answer.minimal and not list(models(chosen, variables))
        for place in range(len(chosen)):
            assert list(models(chosen[:place] + chosen[place + 1 :], variables))


def test_dimacs_has_comments_clauses_over_lines_and_an_end_as_in_satlib():
    question = read_dimacs("c a file\np cnf  3 2 \n1 -3\n 2 0\nc\n-2 0\n%\n0\n")
    assert (question.variables, question.clauses) == (3, ((1, -3, 2), (-2,)))


def test_an_empty_clause_contradicts_itself_and_no_clauses_contradict_nothing(portfolio):
    assert answer_clauses(read_dimacs("p cnf 2 3\n1 0\n0\n2 0\n"), portfolio).subset == (2,)
    assert answer_clauses(read_dimacs("p cnf 2 0\n"), portfolio).model == (-1, -2)


def test_hard_clauses_are_stopped_at_the_limit():
    clauses, variables = pigeons(12)
    with Portfolio(["bounded"], timeout=0.5) as portfolio:
        answer = answer_clauses(read_dimacs(dimacs(clauses, variables)), portfolio)
    assert (answer.result, answer.found_by, answer.subset) == ("unknown", None, ())
    assert answer.tried[0].outcome == "stopped at the limit of 0.5 s"


def test_a_subset_whose_search_has_no_time_is_not_called_minimal():
    clauses, variables = pigeons(4)
    kept, minimal = minimal_subset([*clauses, (1, 2)], variables, seconds=0.0)
    assert not minimal and set(kept) <= set(range(len(clauses) + 1))


def test_the_checker_needs_no_solver_and_names_the_clause():
    question = read_dimacs("p cnf 2 2\n1 0\n-1 2 0\n")
    assert check_model(question, (1, 2)).verdict == "correct"
    assert check_model(question, (1, -2)).message == "no literal of clause 2 is true"
    assert check_model(question, (1, -1, 2)).message == "a variable is true and false"


def test_a_subset_is_proved_by_two_solvers(portfolio):
    question = read_dimacs("p cnf 2 4\n1 0\n-1 0\n2 0\n-2 0\n")
    assert [check.verdict for check in check_subset(question, (1, 2), True, portfolio)] == ["unsatisfiable"] * 2
    wrong = check_subset(question, (1, 2, 3), True, portfolio)
    assert (wrong[-1].verdict, wrong[-1].message) == ("not minimal", "clauses 1, 2 contradict each other already")
    assert [check.verdict for check in check_subset(question, (1, 3), True, portfolio)] == ["satisfiable"] * 2


@pytest.fixture
def written(tmp_path, portfolio):
    def write(text, **changes):
        path = tmp_path / "answer.json"
        path.write_text(json.dumps(certify_clauses(answer_clauses(read_dimacs(text), portfolio)) | changes))
        return path

    return write


SATISFIABLE, UNSATISFIABLE = "p cnf 2 2\n1 0\n-1 2 0\n", "p cnf 2 3\n1 0\n2 0\n-1 0\n"


@pytest.mark.parametrize(
    ("text", "changes", "verdicts", "holds"),
    [
        (SATISFIABLE, {}, ["correct"], True),
        (SATISFIABLE, {"model": [1, -2]}, ["incorrect"], False),
        (UNSATISFIABLE, {}, ["unsatisfiable", "unsatisfiable"], True),
        (UNSATISFIABLE, {"subset": [1, 2]}, ["satisfiable", "satisfiable"], False),
        (UNSATISFIABLE, {"subset": [1, 2, 3]}, ["unsatisfiable", "unsatisfiable", "not minimal"], False),
    ],
)
def test_certificates_are_checked_again(text, changes, verdicts, holds, written, portfolio):
    question, claim = read_clauses_certificate(written(text, **changes))
    checks = verify_clauses(question, claim, portfolio)
    assert ([check.verdict for check in checks], confirmed(claim["model"] is not None, checks)) == (verdicts, holds)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"certificate": 2}, "a certificate of format 2, and this version reads 1"),
        ({"clauses": "p"}, "clauses:1: expected one line"),
        ({"subset": [4]}, "subset: there is no clause 4"),
        ({"subset": [True]}, "must be a whole number"),
        ({"model": [1, 2]}, "a result 'unsatisfiable' with another's evidence"),
        ({"result": "maybe"}, "must be 'satisfiable', 'unsatisfiable' or 'unknown'"),
    ],
)
def test_a_file_that_contradicts_itself_is_no_certificate(changes, message, written):
    path = written(UNSATISFIABLE, **changes)
    with pytest.raises(CertificateError) as caught:
        read_clauses_certificate(path)
    assert message in str(caught.value) and str(caught.value).startswith(str(path))
