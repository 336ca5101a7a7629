"""`symbinv verify`: any pair gets a verdict, and a wrong one a reason."""

import json

import pytest

PAIRS = b"a U b\ta; cycle{b}\n\nG a\ncycle{a; !a}\nF(a\tcycle{1}\nX a\ta;{a}\nG a\tcycle{a; b\n"


def objects(result):
    return [json.loads(line) for line in result.out.splitlines()]


@pytest.mark.parametrize(
    ("witness", "verdict", "reason"),
    [
        ("cycle{!a}", "incorrect", "violate the formula: cycle{!a}"),
        ("a; a", "invalid", "position 4 of 'a; a': expected a cycle"),
    ],
)
def test_a_witness_that_is_not_correct_gets_its_verdict_and_the_reason(witness, verdict, reason, symbinv):
    result = symbinv("verify", "G a", witness, "--json")
    (content,) = objects(result)
    assert result.code == 1 and content["verdict"] == verdict and reason in content["message"]


@pytest.mark.parametrize(
    ("notation", "formula"), [("prefix", "G request"), ("lbt", 'G "request"'), ("infix", "[] request")]
)
def test_formulas_come_in_every_notation(notation, formula, symbinv):
    assert symbinv("verify", "--notation", notation, formula, "{ request }").code == 0


def test_a_file_holds_pairs_on_one_line_or_two_and_one_bad_pair_does_not_stop_the_others(symbinv):
    result = symbinv("verify", "--json", stdin=PAIRS)
    found = objects(result)
    assert result.code == 2 and result.err == ""
    assert [pair.get("verdict") for pair in found] == ["correct", "incorrect", None, "correct", "invalid"]
    assert found[2] == {
        "formula": "F(a",
        "witness": "cycle{1}",
        "error": "position 3 of 'F(a': expected ')' for the '(' at position 1",
    }
    assert set(found[0]) == {"formula", "witness", "verdict", "seconds", "message"}


def test_without_json_an_unreadable_formula_is_a_line_on_stderr(symbinv):
    result = symbinv("verify", stdin=PAIRS)
    assert result.err.startswith("symbinv verify: line 5 of standard input: position 3 of 'F(a': expected ')'")
    assert result.out.count("  verdict  ") == 4


def test_a_formula_without_a_witness_is_an_error_of_its_own(symbinv):
    result = symbinv("verify", stdin=b"a\tcycle{a}\nb\n")
    assert result.code == 2 and "  verdict  correct" in result.out
    assert result.err == (
        "symbinv verify: line 2 of standard input: this formula has no witness; "
        "write it after a tab or on the next line\n"
    )


def test_spot_s_work_has_a_limit(symbinv, hanging_formula):
    result = symbinv("verify", "--timeout", "0.3", hanging_formula, "cycle{1}")
    assert result.code == 1 and "  verdict  timeout" in result.out


def test_names_that_the_terminal_cannot_show_are_escaped(symbinv):
    assert '"\\udcff"' in symbinv("verify", '"\udcff"', "cycle{1}").err
