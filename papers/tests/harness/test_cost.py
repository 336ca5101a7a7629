"""Time and memory are measured for each number of symbols, in a process of its own."""

import dataclasses

import pytest

from hf_symbinv import COPY
from hf_symbinv.evaluation import load_checkpoint, read_question
from papers.harness.cost import CostError, measure_cost
from tests.evaluation.conftest import make_checkpoint as make_checkpoint

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
