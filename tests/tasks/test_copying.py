"""The copy task: random strings of few and many symbols, judged symbol by symbol, and read back by its tokenizer."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_symbinv.logic.notation import SYMBOL, Token, write_prefix
from hf_symbinv.tasks.copying import COPY

LETTERS = [chr(ord("a") + i) for i in range(26)]
MANY = [*LETTERS, *(f"p{i}" for i in range(26, 60))]
NAMES = st.one_of(
    st.sampled_from(MANY), st.text(st.characters(exclude_categories=("Cc", "Cs")), min_size=1, max_size=6)
)


def written(names):
    return write_prefix([Token(-1, SYMBOL, name) for name in names])


def test_lengths_and_numbers_of_distinct_symbols_are_uniform():
    strings = COPY.draw(LETTERS[:4], 5, 9, seed=3, count=4000)
    lengths = Counter(COPY.size(string) for string in strings)
    distinct = Counter(len(COPY.symbols(string)) for string in strings)
    assert set(lengths) == {5, 6, 7, 8, 9} and set(distinct) == {1, 2, 3, 4}
    # Four standard deviations of a binomial count.
    assert all(abs(count - 800) < 4 * (4000 * 0.2 * 0.8) ** 0.5 for count in lengths.values())
    assert all(abs(count - 1000) < 4 * (4000 * 0.25 * 0.75) ** 0.5 for count in distinct.values())
    assert set("".join(strings)) == set("abcd")


def test_a_string_never_has_more_distinct_symbols_than_places():
    strings = COPY.draw(MANY, 1, 3, seed=0, count=300)
    assert {COPY.size(string) for string in strings} == {1, 2, 3}
    assert {symbol for string in strings for symbol in COPY.symbols(string)} == set(MANY)


@pytest.mark.parametrize(("symbols", "smallest", "largest"), [([], 1, 2), (["a"], 0, 2), (["a"], 3, 2)])
def test_impossible_strings_are_refused(symbols, smallest, largest):
    message = f"{len(symbols)} symbols, lengths {smallest} to {largest}: a string needs at least one symbol"
    with pytest.raises(ValueError, match=message):
        COPY.draw(symbols, smallest, largest, 0, 1)


@given(st.lists(NAMES, min_size=1, max_size=12))
def test_the_tokenizer_reads_and_writes_every_string(names):
    string = written(names)
    found = COPY.tokenizer()(string)
    ids = found["input_ids"]
    assert [found.symbols[i - 3] for i in ids[:-1]] == names and ids[-1] == 2
    assert COPY.tokenizer().decode(ids, symbols=found.symbols, skip_special_tokens=True) == string
    assert COPY.judge(string, COPY.solve(string)) == ("correct", "")


def test_strings_of_letters_are_compact_and_longer_names_are_spaced():
    assert COPY.draw(["a"], 4, 4, 0, 1) == ["aaaa"]
    assert COPY.draw(["p26"], 3, 3, 0, 1) == ["p26 p26 p26"]
    assert COPY.read_question("a b  a", "prefix") == COPY.read_answer("a b a") == "aba"


@pytest.mark.parametrize(
    ("copied", "verdict"),
    [
        ("abca", ("correct", "")),
        ("a b c a", ("correct", "")),
        ("abc", ("incorrect", "the copy ends after 3 of 4 symbols")),
        ("abcab", ("incorrect", "the copy goes on after the string's 4 symbols, with b")),
        ("abba", ("incorrect", "symbol 3 is b and should be c")),
        ("p26 b c a", ("incorrect", "symbol 1 is p26 and should be a")),
        ("", ("invalid", "no symbols: a string has at least one")),
        ("ab?a", ("invalid", "position 2: '?' is no symbol; write lower-case letters, or names with blanks")),
        ("a b <pad>", ("invalid", "position 4: '<pad>' is no symbol")),
    ],
)
def test_a_copy_has_the_same_symbols_in_the_same_places(copied, verdict):
    got, message = COPY.judge("abca", copied)
    assert got == verdict[0]
    assert message.startswith(verdict[1]) if got == "invalid" else message == verdict[1]


def test_the_model_counts_positions_along_the_string():
    config = COPY.config(num_symbols=20, d_model=8, num_attention_heads=2)
    assert (config.base_vocab_size, config.token_arity, config.encoder_positions) == (3, None, "rope")
    assert (config.bos_token_id, config.pad_token_id, config.eos_token_id) == (0, 1, 2)
