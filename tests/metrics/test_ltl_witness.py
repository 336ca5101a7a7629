"""Shares of verdicts come from Spot's verdict on every pair."""

import pytest

from hf_symbinv.metrics.ltl_witness import compute_ltl_witness
from hf_symbinv.metrics.verdicts import VERDICTS


def test_every_pair_gets_spots_verdict():
    cases = {
        "exact": ("&aXb", "a;{b}", "a;{b}"),
        "correct": ("&aXb", "a;b;{1}", "a;{b}"),
        "incorrect": ("Uab", "a;{!b}", "{b}"),
        "invalid": ("a", "a;b", None),
    }
    formulas, predictions, references = zip(*cases.values(), strict=True)
    summary = compute_ltl_witness(predictions, formulas, references, timeout=60, workers=1)
    assert {verdict: summary[verdict] for verdict in VERDICTS if summary[verdict]} == dict.fromkeys(cases, 0.25)
    assert summary["accuracy"] == 0.5


def test_references_are_optional_and_names_may_be_long():
    summary = compute_ltl_witness(["request ; { grant_1 }"], ["& request X grant_1"], timeout=60, workers=1)
    assert (summary["correct"], summary["exact"]) == (1, 0)


@pytest.mark.parametrize(
    ("formulas", "references", "message"),
    [(["a"], None, "2 predictions, 1 formulas: must be equal"), (["a", "b"], [], "2 predictions, 0 references")],
)
def test_columns_of_different_lengths_are_refused(formulas, references, message):
    with pytest.raises(ValueError, match=message):
        compute_ltl_witness(["{a}", "{b}"], formulas, references)
