"""The tokenizer of texts: what a rule takes as a symbol, texts that come back, and renamings of names alone."""

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from transformers import AutoTokenizer

from hf_symbinv import SymbolInvariantTextTokenizer, TokenizationError
from hf_symbinv.modeling.text_symbinv import TextRule

BASE = ["<s>", "<pad>", "</s>", "+", "-", "(", ")", "let", "=", "1", "2", "a", '"']
RULE = r"[a-z_]\w*"
RULES = [RULE, "[a-z]", r"\$[a-z]+|[A-Z]\d?", r"\w+", r"[^\W\d_]+"]


@pytest.fixture
def tokenizer():
    return SymbolInvariantTextTokenizer(BASE, symbol_pattern=RULE, base_words=["let", "a"])


def words_of(rule, text):
    return [(word, is_symbol) for _, word, is_symbol in rule.words(text)]


def test_listed_words_go_before_symbols_and_letters_before_characters():
    rule = TextRule(RULE, ["let", "->"])
    assert words_of(rule, "let lets=x1->Été 12") == [
        ("let", False), ("lets", True), ("=", False), ("x1", True), ("->", False), ("Été", False), ("1", False),
        ("2", False),
    ]  # fmt: skip


@given(st.sampled_from(RULES), st.lists(st.sampled_from(["let", *"abletAÉ1_$+-> \n\t("]), max_size=20).map("".join))
@example(r"[^\W\d_]+", "let1 let")
def test_every_text_is_its_words_and_white_space_and_reads_the_same_when_they_are_joined(pattern, text):
    rule = TextRule(pattern, ["let", "->"])
    found = words_of(rule, text)
    assert "".join(word for word, _ in found) == "".join(text.split())
    for spaced in (True, False):
        assert words_of(rule, rule.join([word for word, _ in found], spaced)) == found


def test_combining_marks_belong_to_their_word_and_both_forms_of_a_letter_are_one():
    tokenizer = SymbolInvariantTextTokenizer(["यदि", "é", "="], symbol_pattern=r"[^\W\d]\w*", base_words=["यदि", "é"])
    texts = ["यदि हिन्दी = नाम", "e\u0301=caf\u00e9", "\u00e9 = cafe\u0301", "ह = e\u0301"]
    found = tokenizer(texts, return_offsets_mapping=True)
    assert found["input_ids"] == [[3, 6, 5, 7, 2], [4, 5, 6, 2], [4, 5, 6, 2], [6, 5, 4, 2]]
    assert found.symbols == [["हिन्दी", "नाम"], ["caf\u00e9"], ["caf\u00e9"], ["ह"]]
    words = [[text[a:b] for a, b in row[:-1]] for text, row in zip(texts, found["offset_mapping"], strict=True)]
    assert words == [
        ["यदि", "हिन्दी", "=", "नाम"],
        ["e\u0301", "=", "caf\u00e9"],
        ["\u00e9", "=", "cafe\u0301"],
        ["ह", "=", "e\u0301"],
    ]


def test_a_mark_that_composes_with_no_letter_makes_another_word_of_it():
    rule = TextRule("[a-z]", ["q\u0303"])
    assert words_of(rule, "q q\u0303") == [("q", True), ("q\u0303", False)]


@given(st.text(max_size=12))
def test_a_composed_and_a_decomposed_text_have_the_same_ids(text):
    tokenizer = SymbolInvariantTextTokenizer([], symbol_pattern=r"\S")
    forms = [unicodedata.normalize(form, text) for form in ("NFC", "NFD")]
    try:
        one, other = tokenizer(forms)["input_ids"]
    except TokenizationError:  # an empty text, or a control character
        return
    assert one == other


@pytest.mark.parametrize(
    ("pattern", "listed", "message"),
    [
        ("[a-z", [], r"'\[a-z' is no regular expression: unterminated character set"),
        ("[a-z]*", [], r"'\[a-z\]\*' matches the empty text; ask for a character"),
        (None, [], "None is no regular expression"),
        ("[a-z]", ["a b"], "base word 'a b': must be a text without white space"),
        ("[a-z]", [""], "base word '': must be a text"),
    ],
)
def test_an_impossible_rule_is_refused(pattern, listed, message):
    with pytest.raises(ValueError, match=message):
        SymbolInvariantTextTokenizer(BASE, symbol_pattern=pattern, base_words=listed)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x @ 1", r"position 2 of 'x @ 1': '@' is no symbol by the rule \[a-z_\]\\w\*, and none of the 10 base"),
        ("Let x", "'Let' is no symbol .* did you mean 'let'"),
        ("<s>", "position 0 of '<s>': '<' is no symbol"),
        (" ", "the text is empty"),
        (3, "3 is a int; pass a string"),
    ],
)
def test_a_word_that_training_did_not_have_is_refused_by_name_and_place(tokenizer, text, message):
    with pytest.raises(TokenizationError, match=message):
        tokenizer(text)


def test_a_letter_and_a_quote_can_be_base_words(tokenizer):
    ids = tokenizer('a "x" + let')["input_ids"]
    assert [index < len(BASE) for index in ids] == [True, True, False, True, True, True, True]
    assert tokenizer.decode(ids, symbols=["x"], skip_special_tokens=True) == 'a " x " + let'
    assert tokenizer.get_vocab()["a"] == BASE.index("a")
    assert tokenizer(["let", "x"], is_split_into_words=True)["input_ids"] == tokenizer("let x")["input_ids"]
    assert tokenizer(["let", "x x"], is_split_into_words=True)["input_ids"] == tokenizer("let x x")["input_ids"]
    with pytest.raises(TokenizationError, match=r"position 1 of \['let', '@'\]: '@' is no symbol"):
        tokenizer(["let", "@"], is_split_into_words=True)


def test_a_saved_tokenizer_comes_back_with_its_rule(tokenizer, tmp_path):
    closed = SymbolInvariantTextTokenizer(BASE, symbol_pattern="[a-z]", spaced=False, data={"columns": ["q", "a"]})
    for number, made in enumerate((tokenizer, closed)):
        made.save_pretrained(tmp_path / str(number))
        again = AutoTokenizer.from_pretrained(tmp_path / str(number))
        assert type(again) is SymbolInvariantTextTokenizer and again.data == made.data
        found = made("x+(b-2)")
        assert again("x+(b-2)")["input_ids"] == found["input_ids"]
        names = {"symbols": found.symbols, "skip_special_tokens": True}
        assert again.decode(found["input_ids"], **names) == ("x + ( b - 2 )" if made is tokenizer else "x+(b-2)")
