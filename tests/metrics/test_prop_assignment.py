"""Shares of verdicts come from py-aiger's verdict on every pair; the order of an assignment does not count."""

import pytest

from hf_symbinv.metrics.prop_assignment import compute_prop_assignment
from hf_symbinv.metrics.verdicts import VERDICTS


def test_every_pair_gets_py_aigers_verdict():
    cases = {
        "exact": ("<-> a ! b", "b0a1", "a1b0"),
        "correct": ("^ab", "a0b1", "a1b0"),
        "incorrect": ("&ab", "a1", "a1b1"),
        "invalid": ("a", "a1a1", None),
        "error": ("Ga", "a1", None),
    }
    formulas, predictions, references = zip(*cases.values(), strict=True)
    summary = compute_prop_assignment(predictions, formulas, references, timeout=60, workers=1)
    assert {verdict: summary[verdict] for verdict in VERDICTS if summary[verdict]} == dict.fromkeys(cases, 0.2)
    assert summary["accuracy"] == 0.4


def test_references_are_optional_and_names_may_be_long():
    summary = compute_prop_assignment(["request 1 grant 1"], ["<-> request grant"], timeout=60, workers=1)
    assert (summary["correct"], summary["exact"]) == (1, 0)


@pytest.mark.parametrize(
    ("formulas", "references", "message"),
    [(["a"], None, "2 predictions, 1 formulas: must be equal"), (["a", "b"], [], "2 predictions, 0 references")],
)
def test_columns_of_different_lengths_are_refused(formulas, references, message):
    with pytest.raises(ValueError, match=message):
        compute_prop_assignment(["a1", "b1"], formulas, references)
