"""Random embeddings are drawn once per evaluation, and the median draw of several stands for the average."""

import pytest

from hf_symbinv import COPY
from hf_symbinv.evaluation import evaluate_checkpoint, load_checkpoint, median_session, read_question, start_session
from hf_symbinv.training.decoding import cross_entropy

TEXTS = ["abca", "ba", "cab", "dd", "eabd"]
QUESTIONS = [read_question(COPY, text, reference=text) for text in TEXTS]


@pytest.fixture(scope="module")
def checkpoint(make_checkpoint):
    fields = {"symbol_embedding": "random", "random_dim": 4, "num_symbols": 3}
    return load_checkpoint(str(make_checkpoint(COPY, **fields)), "cpu")


def loss(checkpoint, batch_size=100):
    return cross_entropy(checkpoint.model, checkpoint.tokenizer, [(text, text) for text in TEXTS], batch_size)


def losses(checkpoint, seeds):
    found = {}
    for seed in seeds:
        start_session(checkpoint, seed)
        found[seed] = loss(checkpoint)
    return found


def test_the_session_with_the_median_cross_entropy_is_chosen_and_started(checkpoint):
    ranked = losses(checkpoint, range(5))
    chosen = median_session(checkpoint, QUESTIONS, seeds=range(5))
    assert sorted(ranked.values()).index(ranked[chosen]) == 2 and len(set(ranked.values())) == 5
    assert loss(checkpoint) == ranked[chosen]


def test_without_references_sessions_cannot_be_compared(checkpoint):
    with pytest.raises(ValueError, match="no question has a reference, so sessions cannot be compared; choose one by"):
        median_session(checkpoint, [read_question(COPY, "ab")])


def test_an_evaluation_takes_the_median_of_ten_or_the_seed_that_it_is_given(checkpoint):
    options = {"data": "five", "split": "test", "num_beams": 1, "max_new_tokens": 6}
    with COPY.checker(timeout=10.0, workers=1) as checker:
        chosen = evaluate_checkpoint(checkpoint, QUESTIONS, checker, **options)
        fixed = evaluate_checkpoint(checkpoint, QUESTIONS, checker, embedding_seed=77, **options)
    ranked = losses(checkpoint, range(10))
    assert sorted(ranked.values()).index(ranked[chosen.generation["embedding_seed"]]) == 5
    assert fixed.generation["embedding_seed"] == 77
