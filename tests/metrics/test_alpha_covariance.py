"""Alpha-covariance is the papers' formula over predictions whose renamings were undone."""

import itertools
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_symbinv.logic import parse_trace, trace_to_prefix
from hf_symbinv.metrics.alpha_covariance import (
    compute_alpha_covariance,
    measure_alpha_covariance,
    once_for_all_renamings,
    rename_text,
    renamings_of,
    symbols_of,
    undo,
)

SWAPS = [{"a": "a", "b": "b"}, {"a": "b", "b": "a"}]


def follow(texts):
    """A model that follows renamings: every symbol of the input in the order of appearance, then a cycle."""
    return [trace_to_prefix(parse_trace(";".join(symbols_of(text)) + ";{1}")) for text in texts]


def by_definition(predictions, renamings):
    """1 - (|U| - 1) / (|P| - 1) with the renaming of parsed traces, for permutations."""
    undone = {
        parse_trace(prediction).rename({new: old for old, new in renaming.items()})
        for prediction, renaming in zip(predictions, renamings, strict=True)
    }
    return 1 - (len(undone) - 1) / (len(predictions) - 1)


@given(st.randoms(use_true_random=False), st.integers(2, 24))
def test_the_value_is_the_papers_formula(generator, count):
    permutations = generator.sample(list(itertools.permutations("abcd")), count)
    renamings = [dict(zip("abcd", permutation, strict=True)) for permutation in permutations]
    predictions = [generator.choice("abcd") + ";{" + generator.choice(["a", "!b", "&cd"]) + "}" for _ in renamings]
    result = compute_alpha_covariance([predictions], [renamings])
    assert result["alpha_covariance"] == by_definition(predictions, renamings)


def test_a_model_that_follows_renamings_is_asked_once_for_all_of_them():
    inputs, asked = ["&aXb", "Uba", "&cXd", "X & x1 y"], []

    def echo(texts):
        asked.extend(texts)
        return texts

    once = once_for_all_renamings(echo, inputs)
    renamed = [
        rename_text(text, renaming) for text in inputs for renaming in renamings_of(symbols_of(text), ["b", "q_7", "d"])
    ]
    assert once(renamed) == renamed
    assert asked == ["&aXb", "Uba", "X & x1 y"]


def test_the_mean_is_over_examples_and_the_number_of_predictions_is_counted():
    result = compute_alpha_covariance([["{a}", "{b}"], ["{a}", "{a}"]], [SWAPS, SWAPS])
    counts = {"examples": 2, "excluded": 0, "predictions": 4}
    assert result == {"alpha_covariance": 0.5, **counts, "per_example": [1.0, 0.0]}


def test_examples_with_no_or_one_renaming_are_left_out_and_counted():
    result = compute_alpha_covariance([["{a}", "{b}"], [], ["{1}"]], [SWAPS, [], [{}]])
    assert result["alpha_covariance"] == 1
    assert (result["examples"], result["excluded"], result["predictions"]) == (1, 2, 2)
    assert result["per_example"] == [1.0, None, None]
    assert compute_alpha_covariance([["{1}"]], [[{}]])["alpha_covariance"] is None


def test_examples_without_a_choice_of_names_are_not_asked():
    asked = []

    def predict(texts):
        asked.extend(texts)
        return follow(texts)

    result = measure_alpha_covariance(predict, ["U01", "Xa"], alphabet="ab")
    assert (result["examples"], result["excluded"]) == (1, 1)
    assert sorted(asked) == ["Xa", "Xb"]
    assert measure_alpha_covariance(predict, ["Xa"], alphabet="b")["alpha_covariance"] is None


def test_the_notation_of_a_prediction_does_not_matter():
    renamings = [{"a": "a"}, {"a": "request"}, {"a": "a b"}]
    result = compute_alpha_covariance([["a;{1}", "request ; { 1 }", '"a b" ; {  1 }']], [renamings])
    assert result["alpha_covariance"] == 1


def test_malformed_predictions_are_renamed_too():
    assert compute_alpha_covariance([["a;{&ab", "b;{&ba"]], [SWAPS])["alpha_covariance"] == 1
    assert compute_alpha_covariance([["", ""]], [SWAPS])["alpha_covariance"] == 1
    renamings = [{"a": "a"}, {"a": "request"}]
    assert compute_alpha_covariance([["$a;", "$ request ;"]], [renamings])["alpha_covariance"] == 1


def test_a_symbol_that_the_input_does_not_have_is_renamed_by_the_completed_permutation():
    assert undo({"a": "b"}) == {"b": "a", "a": "b"}
    assert undo({"a": "b", "b": "c"}) == {"b": "a", "c": "b", "a": "c"}
    assert undo({"a": "c", "b": "a"}) == {"c": "a", "a": "b", "b": "c"}
    assert undo({"a": "b", "b": "a", "c": "c"}) == {"b": "a", "a": "b", "c": "c"}
    assert undo({}) == {}


@given(st.permutations("abcdef"), st.integers(0, 6))
def test_undoing_is_a_permutation_that_inverts_the_renaming(names, count):
    renaming = dict(zip("abcdef"[:count], names[:count], strict=True))
    inverse = undo(renaming)
    assert set(inverse) == set(inverse.values()) == set(renaming) | set(renaming.values())
    assert all(inverse[new] == old for old, new in renaming.items())


@pytest.mark.parametrize(
    ("text", "renaming", "renamed"),
    [
        ("&UabXc", {"a": "b", "b": "a"}, "&UbaXc"),
        ("&UabXc", {"a": "request"}, "& U request b X c"),
        ("& U request b X c", {"request": "a"}, "&UabXc"),
        ("a;{&ab}", {"a": "X"}, '"X" ; { & "X" b }'),
        ('& "X" a', {"X": "b"}, "&ba"),
        ("X", {"X": "b"}, "X"),
        ("a1b0", {"a": "b", "b": "a"}, "b1a0"),
        ("}}$a", {"a": "b"}, "}}$b"),
    ],
)
def test_a_text_is_renamed_token_by_token(text, renaming, renamed):
    assert rename_text(text, renaming) == renamed


def test_base_tokens_that_look_like_symbols_are_never_renamed():
    base = {"then", "x"}
    assert symbols_of("then request x a", base) == ("request", "a")
    assert rename_text("then request x", {"request": "b", "then": "c", "x": "d"}, base) == "then b x"
    assert rename_text("xa", {"x": "b", "a": "c"}, {"x"}) == "xc"
    assert symbols_of('then "then"', base) == ("then",)  # in quotes it is a symbol
    predictions, renamings = ["x a", "x b"], [{"a": "a"}, {"a": "b", "x": "x"}]
    assert compute_alpha_covariance([predictions], [renamings], base_tokens=base)["alpha_covariance"] == 1
    asked = []
    measure_alpha_covariance(lambda t: asked.extend(t) or t, ["then a"], alphabet="bc", base_tokens=base)
    assert asked == ["then b", "then c"]


@pytest.mark.parametrize("count", range(5))
def test_all_renamings_are_listed_when_there_are_few(count):
    renamings = renamings_of("abcd"[:count], "vwxyz")
    assert len(renamings) == math.perm(5, count)
    assert len({tuple(renaming.values()) for renaming in renamings}) == len(renamings)
    assert all(tuple(renaming) == tuple("abcd"[:count]) for renaming in renamings)


def test_a_sample_is_distinct_seeded_and_spread():
    symbols = [f"p{index}" for index in range(10)]
    sample = renamings_of(symbols, symbols, limit=500, seed=3)
    assert len({tuple(renaming.values()) for renaming in sample}) == 500
    assert sample == renamings_of(symbols, symbols, limit=500, seed=3)
    assert sample != renamings_of(symbols, symbols, limit=500, seed=4)
    images = [renaming["p0"] for renaming in sample]
    assert all(25 <= images.count(name) <= 80 for name in symbols)  # 50 expected, standard deviation 6.7
    assert len(renamings_of(symbols[:3], symbols, limit=None)) == 720
    assert len(renamings_of("abc", "abc", limit=5)) == 5


@pytest.mark.parametrize(
    ("arguments", "limit", "message"),
    [
        (("abc", "ab"), 9, "3 symbols cannot be renamed into an alphabet of 2; enlarge it"),
        (("aa", "abc"), 9, "symbols \\['a', 'a'\\]: a name occurs twice; names must be distinct"),
        (("a", "bb"), 9, "alphabet \\['b', 'b'\\]: a name occurs twice"),
        (("a", "ab"), 0, "limit=0: must be at least 1, or None for all renamings"),
    ],
)
def test_impossible_renamings_are_refused(arguments, limit, message):
    with pytest.raises(ValueError, match=message):
        renamings_of(*arguments, limit=limit)


@pytest.mark.parametrize(
    ("predictions", "renamings", "message"),
    [
        ([], [], "no examples: alpha-covariance is a mean over at least one"),
        ([["a"]], [], "1 examples of predictions, 0 of renamings: must be equal"),
        ([["{a}"]], [SWAPS], "example 0: 1 predictions for 2 renamings: must be equal"),
        ([["a", "a"]], [[{"a": "b"}, {"a": "b"}]], "example 0: a renaming occurs twice"),
        ([["a", "a"]], [[{}, {"a": "c", "b": "c"}]], "example 0: renaming .*: two symbols get the same name"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(predictions, renamings, message):
    with pytest.raises(ValueError, match=message):
        compute_alpha_covariance(predictions, renamings)


def test_base_tokens_in_one_text_are_refused():
    with pytest.raises(ValueError, match=r"base_tokens='then': must be a list of words, such as \['then'\]"):
        compute_alpha_covariance([["a", "b"]], [[{"a": "a"}, {"a": "b"}]], base_tokens="then")


def test_a_model_that_loses_an_input_is_refused():
    with pytest.raises(ValueError, match="example 0: predict returned 1 answers for 2 inputs"):
        measure_alpha_covariance(lambda texts: texts[1:], ["Xa"], alphabet="ab")


def test_every_input_is_renamed_and_the_draw_depends_on_the_seed():
    def asked(seed):
        texts = []
        measure_alpha_covariance(lambda t: texts.extend(t) or t, ["&ab", "&cb"], alphabet="abcdef", limit=4, seed=seed)
        return texts

    assert asked(1) == asked(1) != asked(2)
    assert len(asked(1)) == 8
    assert all(len(symbols_of(text)) == 2 for text in asked(random.randrange(9)))
