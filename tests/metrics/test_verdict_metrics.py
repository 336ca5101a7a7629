"""Shares of verdicts come from the solver's verdict on every pair; the order of an assignment does not count."""

import pytest

from hf_symbinv.metrics.ltl_witness import compute_ltl_witness
from hf_symbinv.metrics.prop_assignment import compute_prop_assignment
from hf_symbinv.metrics.verdicts import VERDICTS

# Metric, and by verdict a formula, an answer and a reference.
METRICS = [
    (compute_ltl_witness, {
        "exact": ("&aXb", "a;{b}", "a;{b}"),
        "correct": ("&aXb", "a;b;{1}", "a;{b}"),
        "incorrect": ("Uab", "a;{!b}", "{b}"),
        "invalid": ("a", "a;b", None),
    }),
    (compute_prop_assignment, {
        "exact": ("<-> a ! b", "b0a1", "a1b0"),
        "correct": ("^ab", "a0b1", "a1b0"),
        "incorrect": ("&ab", "a1", "a1b1"),
        "invalid": ("a", "a1a1", None),
        "error": ("Ga", "a1", None),
    }),
]  # fmt: skip


@pytest.mark.parametrize(("metric", "cases"), METRICS)
def test_every_pair_gets_the_solvers_verdict(metric, cases):
    formulas, predictions, references = zip(*cases.values(), strict=True)
    summary = metric(predictions, formulas, references, timeout=60, workers=1)
    assert {name: summary[name] for name in VERDICTS if summary[name]} == dict.fromkeys(cases, 1 / len(cases))
    assert summary["accuracy"] == 2 / len(cases)


@pytest.mark.parametrize(("metric", "formula", "answer"), [
    (compute_ltl_witness, "& request X grant_1", "request ; { grant_1 }"),
    (compute_prop_assignment, "<-> request grant", "request 1 grant 1"),
])  # fmt: skip
def test_references_are_optional_and_names_may_be_long(metric, formula, answer):
    summary = metric([answer], [formula], timeout=60, workers=1)
    assert (summary["correct"], summary["exact"]) == (1, 0)


@pytest.mark.parametrize(
    ("formulas", "references", "message"),
    [(["a"], None, "2 predictions, 1 formulas: must be equal"), (["a", "b"], [], "2 predictions, 0 references")],
)
def test_columns_of_different_lengths_are_refused(formulas, references, message):
    with pytest.raises(ValueError, match=message):
        compute_ltl_witness(["{a}", "{b}"], formulas, references)
