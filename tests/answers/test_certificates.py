"""Certificates say what was asked, found and checked; checking them again believes nothing of that."""

import json

import pytest

from hf_symbinv.answers import (
    CertificateError,
    Portfolio,
    certify,
    read_certificate,
    read_specification,
    verify_certificate,
)
from hf_symbinv.answers.certificates import confirmed

pytest.importorskip("spot")


@pytest.fixture(scope="module")
def portfolio():
    with Portfolio(["spot", "bounded"]) as portfolio:
        yield portfolio


@pytest.fixture
def written(tmp_path, portfolio):
    """`written(text, **changes)`: the file of an answer's certificate, changed, and its content."""

    def write(text, **changes):
        content = certify(portfolio.answer(read_specification(text)), portfolio) | changes
        path = tmp_path / "answer.json"
        path.write_text(json.dumps(content))
        return path, content

    return write


def verdicts(path, portfolio):
    certificate = read_certificate(path)
    checks = verify_certificate(certificate, portfolio)
    return confirmed(certificate.witness is not None, checks), [check.verdict for check in checks]


@pytest.mark.parametrize("text", ["G(a -> F b)", "traces finite; F a & X[!] b", 'x: G F "req[3]"; y: F !cpu.irq'])
def test_a_witness_is_confirmed_by_both_checkers(text, written, portfolio):
    path, content = written(text)
    assert verdicts(path, portfolio) == (True, ["correct", "correct"])
    assert content["specification"] == text and content["versions"].keys() == {"hf_symbinv", "spot"}
    assert list(content)[:9] == [
        "certificate", "specification", "finite", "propositional", "normal_form", "result", "witness", "found_by",
        "checks",
    ]  # fmt: skip


@pytest.mark.parametrize(("text", "witness"), [("a & !b & (c | d)", "a=1, b=0, d=1"), ("1", ""), ('"1" | x', "x=1")])
def test_an_assignment_is_confirmed_by_both_checkers(text, witness, tmp_path, portfolio):
    answer = portfolio.answer(read_specification(text, propositional=True))
    content = certify(answer, portfolio) | {"witness": witness}
    path = tmp_path / "answer.json"
    path.write_text(json.dumps(content))
    assert verdicts(path, portfolio) == (True, ["correct", "correct"])


def test_a_wrong_witness_is_not_confirmed_whatever_its_checks_say(written, portfolio):
    path, _ = written("G(a -> F b)", witness="cycle{a & !b}")
    assert verdicts(path, portfolio) == (False, ["incorrect", "incorrect"])


@pytest.mark.parametrize(
    ("changes", "holds", "found"),
    [
        ({}, True, ["unsatisfiable", "unsatisfiable"]),
        ({"subset": ["x", "z"], "minimal": False}, False, ["satisfiable", "satisfiable"]),
        ({"subset": ["x", "y", "z"]}, False, ["unsatisfiable", "unsatisfiable", "not minimal"]),
    ],
)
def test_a_proof_is_made_again(changes, holds, found, written, portfolio):
    path, content = written("x: X a; y: X !a; z: b", **changes)
    assert changes or (content["subset"] == ["x", "y"] and content["minimal"])
    assert verdicts(path, portfolio) == (holds, found)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"certificate": 2}, "a certificate of format 2, and this version reads 1"),
        ({"certificate": True}, "no certificate, certificate is missing or of another kind"),
        ({"witness": 3}, "no certificate, witness is missing or of another kind"),
        ({"witness": "a; b"}, "witness: position 4 of 'a; b': expected a cycle"),
        ({"witness": "cycle{a & !a}"}, "witness: no valuation satisfies a step"),
        ({"witness": None}, "a result 'satisfiable' with another's evidence"),
        ({"result": "unknown"}, "a result 'unknown' with another's evidence"),
        ({"result": "maybe"}, "no result is called 'maybe'"),
        ({"subset": ["q"]}, "subset: no property is called 'q'"),
        ({"normal_form": "G b"}, "the normal form is not that of the specification"),
        ({"specification": "G a &"}, "specification:1:6: expected a formula, the text ends here"),
    ],
)
def test_a_file_that_contradicts_itself_is_no_certificate(changes, message, written):
    path, _ = written("G a", **changes)
    with pytest.raises(CertificateError) as caught:
        read_certificate(path)
    assert message in str(caught.value) and str(caught.value).startswith(str(path))
