"""The end of a name tells the view of a symbol: x, x() and x' are one referent."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_symbinv import SymbolInvariantTextTokenizer, SymbolInvariantTokenizer, TokenizationError

TOKENS = ["<s>", "<pad>", "</s>", "+", "@", "0"]
BASE, EOS, VIEWS = len(TOKENS), 2, ["", "()", "'"]


def make(**fields):
    return SymbolInvariantTokenizer(TOKENS, **{"token_arity": {"+": 2, "@": 2, "0": 0}, "views": VIEWS, **fields})


def test_views_of_one_name_are_neighbouring_ids_of_one_symbol():
    tokenizer = make()
    assert tokenizer("@ b() + b b'")["input_ids"] == [4, BASE + 1, 3, BASE, BASE + 2, EOS]
    assert tokenizer("@ sine' sine")["input_ids"] == [4, BASE + 2, BASE, EOS]
    assert tokenizer("@ sine' sine").symbols == ["sine"]
    assert tokenizer("+ab")["input_ids"] == tokenizer("+ a b")["input_ids"] == [3, BASE, BASE + 3, EOS]
    fixed = make(fixed_names=["cosine", "sine"])
    assert fixed.get_vocab()["sine()"] == BASE + 4 and len(fixed) == BASE + 6


@settings(max_examples=30)
@given(st.lists(st.integers(0, 40), min_size=1, max_size=6), st.data())
def test_ids_are_read_back_from_the_text_that_they_decode_to(numbers, data):
    tokenizer, names = make(token_arity={}), [f"name_{number}" for number in range(41)]
    ids = [BASE + number * 3 + data.draw(st.integers(0, 2)) for number in numbers] + [EOS]
    text = tokenizer.decode(ids, symbols=names, skip_special_tokens=True)
    assert tokenizer(text, symbols=names)["input_ids"] == ids
    without_names = tokenizer.convert_ids_to_tokens(ids[:-1])
    assert [word.strip("⟨⟩") for word in without_names] == [
        f"symbol{number}.{view}" if view else f"symbol{number}"
        for number, view in (divmod(i - BASE, 3) for i in ids[:-1])
    ]


@pytest.mark.parametrize("text", ["x'", "@ f() x", "next state'", 'say "x"()', "é'", "'", "x.y()", "()'"])
def test_a_text_is_decoded_as_it_was(text):
    tokenizer = make(token_arity={})
    quoted = text if text == "@ f() x" else '"' + text.replace('"', '\\"') + '"'
    found = tokenizer(quoted)
    ids = found["input_ids"]
    written = tokenizer.decode(ids, symbols=found.symbols, skip_special_tokens=True)
    assert (tokenizer(written)["input_ids"], tokenizer(written).symbols) == (ids, found.symbols)
    assert len(ids) == (4 if text == "@ f() x" else 2)


@pytest.mark.parametrize(
    ("views", "message"),
    [
        ([], r"views=\[\]: the first must be ''"),
        (["()"], r"views=\['\(\)'\]: the first must be ''"),
        (["", ""], "'' ends two of the views"),
        (["", "'", "''"], '"\'" ends two of the views'),
        (["", "a b"], "'a b' must be printable, without white space and quotes"),
    ],
)
def test_ends_that_do_not_tell_views_apart_are_refused(views, message):
    with pytest.raises(ValueError, match=message):
        make(views=views)


def test_a_name_that_could_be_read_in_two_ways_is_refused():
    with pytest.raises(TokenizationError, match=r"ends twice as a view does; views=.* end it once"):
        make()('+ "x\'()" y')
    with pytest.raises(TokenizationError, match=r"ends as a view does, .* give the name of the first view"):
        make().decode([BASE], symbols=["x'"])


def test_a_rule_of_texts_may_match_the_ends_too():
    tokenizer = SymbolInvariantTextTokenizer([*TOKENS, "="], symbol_pattern=r"[a-z]\w*(?:\(\)|')?", views=VIEWS)
    found = tokenizer("rate = rate' + b()")
    base = BASE + 1
    assert found["input_ids"] == [base, BASE, base + 2, 3, base + 4, EOS]
    text = tokenizer.decode(found["input_ids"], symbols=found.symbols, skip_special_tokens=True)
    assert text == "rate = rate' + b()"


def test_with_one_view_an_end_means_nothing():
    tokenizer = make(views=[""])
    assert tokenizer('+ "x\'" "x()"')["input_ids"] == [3, BASE, BASE + 1, EOS]
