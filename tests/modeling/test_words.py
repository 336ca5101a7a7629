"""The tokenizer of words: ids by referent and view, and a saved folder from which it comes back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_symbinv import SymbolInvariantWordTokenizer, TokenizationError
from papers.lexinvariant import characters as language
from papers.renamer import expressions, x86
from papers.renamer.basic_blocks import read_blocks, sample_file

LETTERS = {"A": [0, 0], "a": [0, 1], "B": [1, 0], "b": [1, 1]}
TABLE = {
    "base_tokens": ["<s>", "<pad>", "</s>", "<number>", "+", "="],
    "symbols": LETTERS,
    "num_views": 2,
    "patterns": [[r"\d+", "<number>"], [r"[a-zA-Z+=]|\S", None]],
}


@pytest.fixture
def tokenizer():
    return SymbolInvariantWordTokenizer(**TABLE)


def test_names_of_one_referent_have_neighbouring_ids_and_constants_their_kinds(tokenizer):
    assert tokenizer("A = b + 17")["input_ids"] == [6, 5, 9, 4, 3]
    assert tokenizer.tokenize("a+a") == ["a", "+", "a"]
    assert tokenizer.decode([6, 5, 9, 4, 3]) == "A = b + <number>"
    assert tokenizer.decode([6, 1, 2], skip_special_tokens=True) == "A"
    assert len(tokenizer) == 10 and tokenizer.vocab_size == 6 and tokenizer.get_vocab()["b"] == 9


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A = c", "position 4 of 'A = c': 'c' is none of the 10 words; get_vocab"),
        ("<s>", "position 0 of '<s>': '<' is none of the 10 words; get_vocab"),
        ("\x00", "'\\\\x00' is none of the 10 words"),
    ],
)
def test_what_is_no_word_is_refused_with_its_place(tokenizer, text, message):
    with pytest.raises(TokenizationError, match=message):
        tokenizer(text)


@pytest.mark.parametrize("form", ["é", "e\u0301"])
@pytest.mark.parametrize("listed", ["é", "e\u0301"])
def test_both_forms_of_a_letter_are_one_in_the_table_and_in_texts(listed, form):
    tokenizer = SymbolInvariantWordTokenizer(["+"], symbols={listed: [0, 0]}, patterns=[[r"\w|\+", None]])
    assert tokenizer(f"{form}+")["input_ids"] == tokenizer.convert_tokens_to_ids([form, "+"]) == [4, 3]


def test_a_text_that_no_pattern_fits_is_refused():
    with pytest.raises(TokenizationError, match="position 1 of 'a!': no word begins with '!'"):
        SymbolInvariantWordTokenizer(symbols=LETTERS, num_views=2, patterns=[["[a-z]", None]])("a!")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"base_tokens": ["<s>", "<pad>", "</s>", "<s>"]}, "a token is listed twice"),
        ({"base_tokens": ["<s>", "<pad>", "<number>"]}, "special token '</s>': must be one of the base_tokens"),
        ({"symbols": {"+": [0, 0]}}, "symbol '\\+': is a base token too"),
        *(({"symbols": table}, r"symbols \[.*\]: numbers 0, 1, ... without a gap, views below num_views=2, and no two")
          for table in ({"a": [0, 2]}, {"a": [0, 0], "b": [0, 0]}, {"a": [0, 0], "b": [2, 0]}, {"a": [-1, 0]})),
        ({"patterns": [["(", None]]}, "patterns: '\\(' is no regular expression"),
        ({"patterns": [[r"\d", "<digit>"]]}, "'<digit>': stands for a pattern"),
    ],
)  # fmt: skip
def test_tables_that_contradict_each_other_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        SymbolInvariantWordTokenizer(**{**TABLE, **change})


def test_ids_and_words_that_are_unknown_are_refused(tokenizer):
    assert tokenizer.decode([99]) == "⟨symbol46.1⟩"
    with pytest.raises(TokenizationError, match="symbol 'A': has no name in view 1"):
        SymbolInvariantWordTokenizer(symbols={"A": [0, 0]}, num_views=2).decode([4])
    with pytest.raises(TokenizationError, match="'x' is none of the 10 words"):
        tokenizer.convert_tokens_to_ids(["x"])


def test_options_that_it_does_not_have_are_refused(tokenizer):
    with pytest.raises(TokenizationError, match="return_offsets_mapping is not supported for pairs"):
        tokenizer("A", "b", return_offsets_mapping=True)
    assert tokenizer("A = 17", return_offsets_mapping=True)["offset_mapping"] == [(0, 1), (2, 3), (4, 6)]


def test_blocks_of_assembly_have_the_ids_of_the_data():
    assembly = SymbolInvariantWordTokenizer(**x86.words())
    for block in read_blocks(sample_file()):
        assert assembly(block.text)["input_ids"] == x86.Block.parse(block.text).ids(), block.text
    assert assembly.decode(assembly("movl %eax, 4(%rsi,%r8,8)\naddq $-0x1f, %rax")["input_ids"]) == (
        "movl %eax , <displacement> ( %rsi , %r8 , <scale> ) addq <immediate> , %rax"
    )
    with pytest.raises(TokenizationError, match=r"position 5 .*'%rxx' is none of the 687 words; did you mean '%r"):
        assembly("movq %rxx, %rax")


def test_expressions_have_the_ids_of_the_data():
    text = "mul INT- 1 pow x a3 =d/dx? add y z"
    assert SymbolInvariantWordTokenizer(**expressions.words())(text)["input_ids"] == expressions.ids_of(text)


@given(st.text(language.ALPHABETS["printable"], min_size=1))
def test_characters_have_the_ids_of_the_data_whatever_they_spell(text):
    characters = language.ALPHABETS["printable"]
    tokenizer = SymbolInvariantWordTokenizer(**language.words(characters))
    ids = tokenizer(text)["input_ids"]
    assert ids == language.encode([text], characters)[0].tolist()
    assert tokenizer.decode(ids, skip_special_tokens=True) == text
    assert tokenizer(text + "</s>")["input_ids"][-4:] == language.encode(["</s>"], characters)[0, 1:].tolist()
