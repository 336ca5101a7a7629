"""The exact lexinvariant predictor: it is what enumerating keys gives, knows no key, and learns the language."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from papers.lexinvariant.characters import MarkovLanguage
from papers.lexinvariant.oracle import Oracle, counting_losses, true_losses

LANGUAGE = MarkovLanguage.random(6, seed=4)
SMALL = MarkovLanguage.random(3, seed=1)
ORACLE = Oracle(LANGUAGE)


def probability(language, text):
    """p(text) of the language, symbol by symbol."""
    found = language.initial[text[0]] if text else 1.0
    for last, following in itertools.pairwise(text):
        found *= language.transitions[last][following]
    return found


def enciphered_probability(language, text):
    """p'(text): the mean over all keys, as the paper defines it."""
    size = language.num_symbols
    return sum(
        probability(language, [key[symbol] for symbol in text]) for key in itertools.permutations(range(size))
    ) / math.factorial(size)


texts = st.lists(st.integers(0, 2), min_size=1, max_size=7)


@given(texts)
@settings(max_examples=40)
def test_predictions_are_quotients_of_means_over_all_keys(text):
    found = Oracle(SMALL).predictions(np.array([text]))[0]
    for place in range(len(text)):
        before = enciphered_probability(SMALL, text[:place])
        expected = [enciphered_probability(SMALL, [*text[:place], symbol]) / before for symbol in range(3)]
        assert found[place] == pytest.approx(expected, rel=1e-9)


@given(texts)
@settings(max_examples=40)
def test_what_a_symbol_stands_for_is_judged_by_all_keys(text):
    found = Oracle(SMALL).deciphered(np.array([text]))[0]
    for place, symbol in enumerate(text):
        weights = np.zeros(3)
        for key in itertools.permutations(range(3)):
            weights[key[symbol]] += probability(SMALL, [key[seen] for seen in text[: place + 1]])
        assert found[place] == pytest.approx(weights / weights.sum(), rel=1e-9)


def test_texts_that_are_renamed_get_renamed_predictions():
    text, key = LANGUAGE.sample(70, 20, seed=0), np.random.default_rng(0).permutation(6)
    plain, enciphered = ORACLE.predictions(text), ORACLE.predictions(key[text])
    np.testing.assert_allclose(enciphered[..., key], plain, rtol=1e-9)
    np.testing.assert_allclose(ORACLE.losses(key[text]), ORACLE.losses(text), rtol=1e-9)


def test_with_enough_context_it_predicts_as_well_as_the_language_itself():
    text = LANGUAGE.sample(100, 100, seed=1)
    gap = (ORACLE.losses(text) - true_losses(LANGUAGE, text)).mean(0)
    assert gap[:4].mean() > 0.4 and abs(gap[80:].mean()) < 0.01
    assert np.exp(true_losses(LANGUAGE, text)[:, 1:].mean()) == pytest.approx(LANGUAGE.perplexity, rel=0.02)
    right = ORACLE.deciphered(text).argmax(-1) == text
    assert right[:, 80:].mean() > 0.97 > 0.5 > right[:, :4].mean()


def test_a_text_that_the_language_cannot_say_under_some_keys_leaves_these_out():
    alternating = MarkovLanguage(np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]), np.array([0.5, 0.5, 0]))
    assert Oracle(alternating).predictions(np.array([[2, 1, 2]]))[0, 2] == pytest.approx([0, 0, 1])


@given(texts)
@settings(max_examples=40)
def test_counting_predicts_from_how_often_each_symbol_was_there(text):
    found = counting_losses(np.array([text]), 3, 0.5)[0]
    for place, symbol in enumerate(text):
        expected = (text[:place].count(symbol) + 0.5) / (place + 1.5)
        assert found[place] == pytest.approx(-math.log(expected))
