"""Shares of verdicts add up and carry Wilson's intervals."""

import random

import pytest

from hf_symbinv.metrics import wilson_interval
from hf_symbinv.metrics.verdicts import VERDICTS, summarize_verdicts


def test_shares_are_counts_over_the_number_of_predictions():
    generator = random.Random(1)
    verdicts = generator.choices(VERDICTS, k=70)
    summary = summarize_verdicts(iter(verdicts))
    assert summary["count"] == 70
    for verdict in VERDICTS:
        assert summary[verdict] == verdicts.count(verdict) / 70
        assert summary[f"{verdict}_interval"] == list(wilson_interval(verdicts.count(verdict), 70))
    correct = verdicts.count("exact") + verdicts.count("correct")
    assert summary["accuracy"] == correct / 70
    assert summary["accuracy_interval"] == list(wilson_interval(correct, 70))
    assert len(summary) == 1 + 2 * (len(VERDICTS) + 1)


def test_nothing_to_count_and_unknown_verdicts_are_refused():
    with pytest.raises(ValueError, match="no predictions: a share needs at least one"):
        summarize_verdicts([])
    with pytest.raises(ValueError, match="verdict 'right': unknown; use one of exact correct incorrect invalid"):
        summarize_verdicts(["right"])
