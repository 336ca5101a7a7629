"""Time and memory are measured for each number of symbols, in a process of its own."""

import dataclasses

import pytest

from hf_symbinv import COPY
from hf_symbinv.evaluation import load_checkpoint, read_question
from hf_symbinv.evaluation.cost import Cost, CostError, cost_table, measure_cost

QUESTIONS = [read_question(COPY, text) for text in ("abc" * 20, "aaa" * 20, "bca" * 20)]


@pytest.fixture(scope="module")
def checkpoint(make_checkpoint):
    return load_checkpoint(str(make_checkpoint(COPY, d_model=32)), "cpu")


@pytest.mark.slow
def test_every_number_of_symbols_has_its_cost(checkpoint):
    one, three = measure_cost(checkpoint, QUESTIONS, num_beams=1, max_new_tokens=8)
    assert (one.symbols, one.count, three.symbols, three.count) == (1, 1, 3, 2)
    for cost in (one, three):
        shortest, longest = cost.seconds_range
        assert 0 < shortest <= cost.seconds_per_sample <= longest
    assert 0 <= one.peak_bytes < 2**30 and 0 <= three.peak_bytes < 2**30


@pytest.mark.slow
def test_a_process_that_fails_is_an_error_with_its_reason(checkpoint, tmp_path):
    gone = dataclasses.replace(checkpoint, folder=tmp_path)
    with pytest.raises(
        CostError, match=r"cost with 1 symbols: the measuring process failed \(.*config.json.*\); try a"
    ):
        measure_cost(gone, QUESTIONS[1:2], num_beams=1, max_new_tokens=8)


def test_the_table_says_what_memory_means():
    lines = cost_table([Cost(3, 1000, 0.00338, (0.003, 0.01234), 2**21)], "cuda:0").splitlines()
    assert lines[0] == "cost on cuda:0; memory: allocated by torch at the most"
    assert lines[-1].split() == ["3", "1,000", "3.38", "3.00", "-", "12.34", "2.0"]
    assert cost_table([], "cpu").splitlines()[0].endswith("resident above what the loaded model holds")
