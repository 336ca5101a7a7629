"""What every task has for nothing: words, symbols, renaming and size of texts in both forms."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_symbinv.logic.notation import IDENTIFIER
from hf_symbinv.tasks import TASKS, SymbolTask

LTL = TASKS["ltl"]
BASE = [token for token in LTL.base_tokens if len(token) == 1]
names = st.sampled_from(["a", "b", "request", "grant_1", "p26", "U", "next state", "&", "0"])


def text_of(words: list[str]) -> str:
    return " ".join(words) + (" 1" if len(words) == 1 else "")


def spelt(name: str) -> str:
    return name if IDENTIFIER.fullmatch(name) else f'"{name}"'


def test_symbols_come_in_the_order_of_their_first_appearance():
    assert LTL.symbols("UcXUac") == ("c", "a")
    assert LTL.symbols("& request X grant") == ("request", "grant")
    assert LTL.symbols('& "U" U "next state" a') == ("U", "next state", "a")
    assert LTL.symbols("") == LTL.symbols("1") == ()


@pytest.mark.parametrize(("text", "size"), [("UcXUac", 6), ("& request X grant", 4), ("1", 1), ('"next state"', 1)])
def test_size_counts_tokens(text, size):
    assert LTL.size(text) == size


@pytest.mark.parametrize(
    ("text", "renaming", "expected"),
    [
        ("UcXUac", {"c": "a", "a": "c"}, "UaXUca"),
        ("UcXUac", {"c": "d"}, "UdXUad"),
        ("UcXUac", {"c": "request"}, "U request X U a request"),
        ("U request X a", {"request": "b"}, "UbXa"),
        ('& "U" a', {"U": "a", "a": "U"}, '& a "U"'),
        ("a", {"a": "request"}, '"request"'),
        ("&a1", {"1": "b", "&": "c"}, "&a1"),
        ("a;&", {"a": "b"}, "b;&"),
    ],
)
def test_renaming_touches_symbols_alone_and_keeps_the_form_where_it_can(text, renaming, expected):
    assert LTL.rename(text, renaming) == expected


@given(st.lists(st.sampled_from(BASE) | names.map(spelt), min_size=1, max_size=8), st.permutations(range(9)))
def test_renaming_there_and_back_is_the_identity_up_to_white_space(words, order):
    text = LTL.rename(text_of(words), {})
    symbols = LTL.symbols(text)
    renaming = {name: f"new_{place}" for name, place in zip(symbols, order, strict=False)}
    renamed = LTL.rename(text, renaming)
    assert LTL.symbols(renamed) == tuple(renaming[name] for name in symbols)
    assert LTL.rename(renamed, {new: old for old, new in renaming.items()}) == text
    assert LTL.size(renamed) == LTL.size(text)


@given(st.lists(st.sampled_from([*LTL.base_tokens[3:], "a", "b", "request", "next state", '"', "Y", "12"]), min_size=1))
def test_words_are_read_back_as_they_were_written(words):
    assert [name or operator for _, operator, name in LTL.words(LTL.write_words(words))] == words


def test_alpha_equivalent_questions_and_no_others_share_a_class():
    assert LTL.alpha_class("UcXUac") == LTL.alpha_class("UaXUba") != LTL.alpha_class("UaXUbb")
    assert LTL.alpha_class("& request X grant") == LTL.alpha_class("& y1 X y2") == LTL.alpha_class("&aXb")
    assert LTL.alpha_class("& y1 X y2") != LTL.alpha_class("& y1 X y1")


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        (("<s>", "</s>", "R"), "Mine.base_tokens: has no '<pad>'; add it"),
        (("<s>", "<pad>", "</s>", "r"), "Mine.base_tokens: 'r' is the name of a symbol, as are a to z, p26, p27, "),
        (("<s>", "<pad>", "</s>", "p26"), "'p26' is the name of a symbol.*; write the token in another way"),
    ],
)
def test_base_tokens_that_cannot_be_are_refused(tokens, message):
    with pytest.raises(TypeError, match=message):
        type("Mine", (SymbolTask,), {"base_tokens": tokens})


@pytest.mark.parametrize("columns", [("a",), ("a", "b", "c"), ("a", "a"), ("a", "symbols"), ("length", "a"), "text"])
def test_columns_of_which_no_data_set_can_be_made_are_refused(columns):
    with pytest.raises(TypeError, match=r"Mine\.columns=.*: must be two different names, .*; choose others"):
        type("Mine", (SymbolTask,), {"columns": columns})
