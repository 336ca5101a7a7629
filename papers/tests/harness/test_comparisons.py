"""What tables say of rows over several seeds."""

from papers.harness.comparisons import comparisons
from papers.harness.measures import Named
from papers.harness.reproduction import single_numbers

MAPE, ERROR = Named("MAPE"), Named("error")
RESULTS = {
    ("random", "A"): [{"MAPE": {"values": [1.0, 3.0]}}, {"MAPE": {"values": [2.2]}}, {"MAPE": {"values": [2.4]}}],
    ("random", "B"): [{"MAPE": {"values": [9.0]}}, {"MAPE": {"values": [9.3]}}, {"MAPE": {"values": [9.6]}}],
    ("random", "C"): [{"MAPE": {"values": [2.3]}}],
    ("disjoint", "A"): [{"MAPE": {"values": [1.0]}}] * 3,
}


def test_rows_of_a_group_are_compared_by_their_means_of_each_seed():
    """A has the means 2, 2.2 and 2.4; six values without overlap have H = 27/7."""
    [sentence] = comparisons(single_numbers(RESULTS, [MAPE]), 3)
    assert sentence == (
        "Over 3 seeds, random, MAPE, means and standard errors: A 2.2 ± 0.12; B 9.3 ± 0.17; "
        "Kruskal-Wallis p = 0.0495; lowest: A, alone (Conover, 0.05)."
    )


def test_rows_that_mix_are_not_told_apart():
    mixed = {
        ("A",): [{"error": {"correct": n, "count": 10}} for n in (1, 3, 5)],
        ("B",): [{"error": {"correct": n, "count": 10}} for n in (2, 4, 6)],
    }
    [sentence] = comparisons(single_numbers(mixed, [ERROR]), 3)
    assert "A 30 ± 12; B 40 ± 12;" in sentence and sentence.endswith(
        "lowest: A; no significant difference to B (Conover, 0.05)."
    )


def test_one_seed_compares_nothing():
    assert list(comparisons(single_numbers(RESULTS, [MAPE]), 1)) == []


def test_of_shares_of_right_answers_the_highest_is_the_best():
    [sentence] = comparisons(single_numbers(RESULTS, [MAPE]), 3, "highest")
    assert sentence.endswith("highest: B, alone (Conover, 0.05).")
