"""Texts become ids and come back with the same names; what is not a formula is refused where it stops being one."""

import pickle

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_symbinv import LTL, Formula, SymbolInvariantTokenizer, TokenizationError, to_prefix, trace_to_prefix
from hf_symbinv.logic import FormulaSyntaxError, Trace, parse_prefix

BASE = {token: index for index, token in enumerate(LTL.base_tokens)}
EOS = BASE["</s>"]
names = st.one_of(
    st.sampled_from(
        [*"abz", "request", "grant_1", "p26", "p40", "p040", "U", "next state", 'say "a"', "\\", "é", "p40_", "{"]
    ),
    st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=4),
)


@pytest.fixture
def tokenizer():
    return LTL.tokenizer()


@st.composite
def trees(draw, leaves, operators=("&", "|", "U", "!", "X")):
    """Prefix tokens of a random tree; `leaves` draws its symbols and constants."""
    tokens, missing = [], 1
    while missing:
        grow = len(tokens) < draw(st.integers(1, 12))
        token = draw(st.sampled_from(operators) if grow else leaves)
        tokens.append(token)
        missing += (2 if token in ("&", "|", "U") else 1 if token in ("!", "X") else 0) - 1 if grow else -1
    return tokens


def formulas(names=names):
    def build(tokens):
        stack = []
        for token in reversed(tokens):
            arity = 0 if isinstance(token, tuple) else LTL.token_arity[token]
            operands = tuple(stack.pop() for _ in range(arity))
            stack.append(Formula.ap(token[0]) if isinstance(token, tuple) else Formula(token, operands))
        return stack[0]

    return trees(st.one_of(st.tuples(names), st.sampled_from("01"))).map(build)


class TestTexts:
    def test_compact_and_spaced_texts_of_letters_have_the_same_ids(self, tokenizer):
        ids = [BASE["&"], BASE["U"], 13, 14, BASE["X"], 15, EOS]
        assert tokenizer("&UabXc")["input_ids"] == ids
        assert tokenizer("& U\ta b\n X c ")["input_ids"] == ids
        assert tokenizer(["&", "U", "a", "b", "X", "c"], is_split_into_words=True)["input_ids"] == ids
        assert tokenizer('& U "a" b X c')["input_ids"] == ids

    def test_any_names_are_numbered_in_the_order_of_each_text(self, tokenizer):
        assert tokenizer("& U request grant_1 X request")["input_ids"] == [5, 11, 13, 14, 12, 13, EOS]
        assert tokenizer(["& x_1 grant_1", '"x_1"', "&ba"])["input_ids"] == [
            [5, 13, 14, EOS],
            [13, EOS],
            [5, 13, 14, EOS],
        ]

    @given(st.lists(formulas(), min_size=1, max_size=3))
    def test_decoding_gives_back_the_texts_that_logic_writes(self, batch):
        tokenizer, texts = LTL.tokenizer(), [to_prefix(formula) for formula in batch]
        found = tokenizer(texts, padding=True, return_tensors="pt")
        assert tokenizer.batch_decode(found["input_ids"], symbols=found.symbols, skip_special_tokens=True) == texts

    @given(st.lists(formulas(), min_size=0, max_size=2), st.lists(formulas(), min_size=1, max_size=2))
    def test_traces_are_written_as_logic_writes_them(self, prefix, cycle):
        try:
            text = trace_to_prefix(Trace(tuple(prefix), tuple(cycle)))
        except ValueError:  # a temporal operator in a step
            return
        tokenizer = LTL.tokenizer()
        found = tokenizer(text_target=text, symbols=[])
        assert tokenizer.decode(found["input_ids"], symbols=found.symbols, skip_special_tokens=True) == text

    @given(formulas())
    def test_tokens_are_words_that_encode_to_the_same_ids(self, formula):
        tokenizer = LTL.tokenizer()
        text = to_prefix(formula)
        words = tokenizer.tokenize(text)
        found = tokenizer(text, add_special_tokens=False)
        ids = found["input_ids"]
        assert tokenizer.convert_tokens_to_ids(words) == ids
        assert tokenizer.convert_ids_to_tokens(ids, symbols=found.symbols) == words
        assert tokenizer.convert_tokens_to_string(words) == text
        assert tokenizer(words, is_split_into_words=True, add_special_tokens=False)["input_ids"] == ids

    def test_several_trees_in_a_row_are_a_target_but_no_formula(self, tokenizer):
        assert tokenizer(text_target="a1b0", symbols=[])["input_ids"] == [13, 4, 14, 3, EOS]
        with pytest.raises(TokenizationError, match="complete before this token"):
            tokenizer("a1b0")

    def test_without_arities_any_sequence_of_tokens_is_a_text(self):
        tokenizer = SymbolInvariantTokenizer([])
        assert tokenizer("abca")["input_ids"] == [3, 4, 5, 3, 2]
        assert tokenizer.decode([3, 4, 5, 3, 2], symbols=list("abc"), skip_special_tokens=True) == "abca"

    def test_base_tokens_of_several_characters_make_texts_spaced(self):
        tokenizer = SymbolInvariantTokenizer(["1", "xor"], {"1": 0, "xor": 2})
        found = tokenizer('xor "xor" xor a 1')
        assert found["input_ids"] == [4, 5, 4, 6, 3, 2]
        assert (
            tokenizer.decode(found["input_ids"], symbols=found.symbols, skip_special_tokens=True) == 'xor "xor" xor a 1'
        )

    @given(st.lists(st.integers(3, 9), min_size=1, max_size=3))
    def test_base_tokens_come_back_also_alone_and_where_others_spell_them(self, ids):
        tokenizer = SymbolInvariantTokenizer(["true", "X", "XX", "->", "-", ">", "T"])
        text = tokenizer.decode(ids)
        found = tokenizer(text, return_offsets_mapping=True)
        assert found["input_ids"] == [*ids, EOS]
        assert [text[start:end] for start, end in found["offset_mapping"][:-1]] == tokenizer.tokenize(text)


class TestVocabulary:
    def test_special_tokens_come_first_unless_they_are_listed(self):
        assert SymbolInvariantTokenizer(["&"]).base_tokens == ["<s>", "<pad>", "</s>", "&"]
        assert SymbolInvariantTokenizer(["&", "</s>", "<pad>", "<s>"]).pad_token_id == 2
        assert SymbolInvariantTokenizer(["&"], eos_token="<s>").base_tokens == ["<s>", "<pad>", "&"]


class TestBadInput:
    @pytest.mark.parametrize(
        ("text", "position", "message"),
        [
            ("", 0, "the text is empty; write at least one token"),
            ("  ", 0, "the text is empty"),
            ("&a", 2, "the formula ends too early; expected 1 more operand"),
            ("&", 1, "expected 2 more operands"),
            ("& a ", 4, "expected 1 more operand"),
            ("&abc", 3, "the formula is complete before this token; expected its end"),
            ("request", 1, "every character is a token, so write the lone symbol request in quotes"),
            ("&ab&a;b", 3, "complete before this token"),
            ("&a;b", 2, "expected 1 more operand"),
            ("aG", 1, r"'G' is neither a base token \(0 1 & .*\) nor a symbol .*to_prefix\(formula.to_base\(\)\)"),
            ("-> a b", 0, "'->' is neither a base token .*rewrite other operators with hf_symbinv.logic"),
            ("&aB", 2, "'B' is neither a base token"),
            ("& a é", 4, "'é' is neither a base token"),
            ("& a 2x", 4, "'2x' is neither a base token"),
            ('& a "b', 4, "a quoted name must end in a double quote and a blank"),
            ('& a "b"c', 4, "a quoted name must end in a double quote and a blank"),
            ('""', 0, "symbol name '': must be a non-empty string"),
            ('& a "\x01"', 4, "control character"),
            ("&a<pad>", 2, "the tokenizer adds special tokens itself; decode with skip_special_tokens=True"),
            ("! </s>", 2, "the tokenizer adds special tokens itself"),
            ("&" * 5000, 5000, "expected 5001 more operands"),
        ],
    )
    def test_malformed_texts_are_refused_with_the_position(self, tokenizer, text, position, message):
        with pytest.raises(TokenizationError, match=message) as caught:
            tokenizer(["a", text])
        assert caught.value.position == position and caught.value.text == text
        assert str(caught.value).startswith(f"position {position} of ") and len(str(caught.value)) < 400
        again = pickle.loads(pickle.dumps(caught.value))
        assert (str(again), again.position) == (str(caught.value), position)

    @pytest.mark.parametrize("text", [3, b"a", [3, 4], [None], [["a", "b"]]])
    def test_what_is_no_text_is_refused(self, tokenizer, text):
        with pytest.raises(TokenizationError, match=r"is a (int|bytes|NoneType|list); pass a string"):
            tokenizer(text)

    def test_split_words_are_checked_one_by_one(self, tokenizer):
        with pytest.raises(TokenizationError, match=r"position 2 of \['&', 'a', 3\]: 3 is a int; tokens are strings"):
            tokenizer(["&", "a", 3], is_split_into_words=True)
        with pytest.raises(TokenizationError, match=r"position 2 of \['&', 'a', '<-'\]: '<-' is neither"):
            tokenizer(["&", "a", "<-"], is_split_into_words=True)
        with pytest.raises(TokenizationError, match="'a' is a str; pass"):
            tokenizer([["&", "a", "b"], "a"], is_split_into_words=True)
        with pytest.raises(TokenizationError, match="the text is empty"):
            tokenizer([], is_split_into_words=True)
        with pytest.raises(TokenizationError, match="'xyz!' is neither a base token"):
            tokenizer.convert_tokens_to_ids("xyz!")

    def test_pairs_overflow_and_unknown_options_are_refused(self, tokenizer):
        with pytest.raises(
            TokenizationError, match="text_pair is not supported, as a text is one formula; encode each"
        ):
            tokenizer("a", "b")
        with pytest.raises(
            TokenizationError, match="return_overflowing_tokens is not supported, as texts are never cut"
        ):
            tokenizer("a", return_overflowing_tokens=True)
        with pytest.raises(TokenizationError, match="stride is not supported, as texts are never cut"):
            tokenizer("a", stride=2)
        with pytest.raises(TokenizationError, match="text_pair_target and target_spans are of a text_target"):
            tokenizer("a", text_pair_target="b")
        with pytest.raises(ValueError, match="either `text` or `text_target`"):
            tokenizer()

    @given(
        st.text(max_size=12)
        | st.lists(st.sampled_from([*"&|!UXab01;{}G<", " ", "req", '"', "é"]), max_size=12).map("".join)
    )
    @settings(max_examples=500)
    def test_any_string_is_encoded_or_refused_and_formulas_are_accepted_as_logic_accepts_them(self, text):
        tokenizer = LTL.tokenizer()
        try:
            is_base = parse_prefix(text).to_base() == parse_prefix(text)
        except FormulaSyntaxError:
            is_base = False
        try:
            ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        except TokenizationError:
            assert not is_base
        else:
            assert tokenizer.convert_tokens_to_ids(tokenizer.tokenize(text)) == ids
            assert is_base or {8, 9, 10} & set(ids)

    @pytest.mark.parametrize(
        "ids", [-1, [-1], [3.0], [True], ["a"], [[13], [-7]], np.array([1.5]), torch.tensor([-3]), [None]]
    )
    def test_ids_out_of_range_are_refused(self, tokenizer, ids):
        with pytest.raises(TokenizationError, match=r"token id .*: must be an integer of at least 0, or -100"):
            tokenizer.decode(ids)

    @pytest.mark.parametrize(
        ("base_tokens", "token_arity", "message"),
        [
            (None, None, "base_tokens are missing"),
            (["<s>", "<pad>", "</s>", "a"], {}, "base_tokens: 'a' must be a string without white space and quotes"),
            (["<s>", "<pad>", "</s>", "a b"], {}, "base_tokens: 'a b' must be"),
            (["<s>", "<pad>", "</s>", "&", "&"], {}, "a token is listed twice"),
            (["<s>", "</s>", "&"], {}, "special token '<pad>': must be one of the base_tokens"),
            *((["&"], {token: children}, f"token_arity: '{token}' has {children!r} children; keys are base tokens that")
              for token, children in (("|", 2), ("<s>", 0), ("&", -1), ("&", "2"))),
        ],
    )  # fmt: skip
    def test_contradicting_tokens_are_refused(self, base_tokens, token_arity, message):
        with pytest.raises(ValueError, match=message):
            SymbolInvariantTokenizer(base_tokens, token_arity)


class TestBatches:
    def test_nothing_is_truncated(self, tokenizer):
        assert tokenizer("&ab", truncation=True)["input_ids"] == [5, 13, 14, 2]
        assert tokenizer("&ab", truncation=True, max_length=4)["input_ids"] == [5, 13, 14, 2]
        assert tokenizer("&ab", max_length=3, truncation=True, add_special_tokens=False)["input_ids"] == [5, 13, 14]
        with pytest.raises(
            TokenizationError, match=r"4 tokens are more than max_length=3, .*raise max_length or leave"
        ):
            tokenizer(["a", "&ab"], truncation=True, max_length=3)
        with pytest.raises(TokenizationError, match="4 tokens are more than max_length=3"):
            tokenizer("a", text_target="{a}", truncation=True, max_length=9, max_target_length=3)

    @given(st.lists(formulas(), min_size=1, max_size=3), st.sampled_from(["left", "right"]))
    def test_offsets_say_where_each_token_stands(self, batch, side):
        tokenizer, texts = LTL.tokenizer(), [to_prefix(formula) for formula in batch]
        texts = [f"  {text}\n" if " " in text else text for text in texts]
        found = tokenizer(texts, padding=True, padding_side=side, return_offsets_mapping=True)
        rows = zip(texts, found["input_ids"], found["offset_mapping"], found.symbols, strict=True)
        for text, ids, offsets, names in rows:
            for token, (start, end) in zip(ids, offsets, strict=True):
                if token in (EOS, BASE["<pad>"]):
                    assert (start, end) == (0, 0)
                else:
                    word = tokenizer.convert_ids_to_tokens(token, symbols=names)
                    assert tokenizer.tokenize(f"{text[start:end]} ") == [word]
            covered = {place for start, end in offsets for place in range(start, end)}
            assert all(text[place].isspace() for place in set(range(len(text))) - covered)

    def test_offsets_of_one_text_and_of_words_and_in_tensors(self, tokenizer):
        assert tokenizer("& a  red", return_offsets_mapping=True)["offset_mapping"] == [(0, 1), (2, 3), (5, 8), (0, 0)]
        words = tokenizer(["&", "a", "red"], is_split_into_words=True, return_offsets_mapping=True)
        assert words["offset_mapping"] == [(0, 1), (0, 1), (0, 3), (0, 0)]
        found = tokenizer(["&ab", "a"], padding=True, return_tensors="pt", return_offsets_mapping=True)
        assert found["offset_mapping"].tolist() == [[[0, 1], [1, 2], [2, 3], [0, 0]], [[0, 1], *[[0, 0]] * 3]]

    def test_a_text_of_200_000_tokens_comes_back(self, tokenizer):
        text = " ".join(["!"] * 200_000 + ["request"])
        assert tokenizer.decode(tokenizer(text)["input_ids"], symbols=["request"], skip_special_tokens=True) == text
