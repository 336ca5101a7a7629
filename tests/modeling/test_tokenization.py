"""Texts become ids and come back with the same names; what is not a formula is refused where it stops being one."""

import copy
import math
import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoTokenizer

from hf_symbinv import (
    LTL,
    Formula,
    SymbolInvariantTokenizer,
    SymbolTable,
    TokenizationError,
    to_prefix,
    trace_to_prefix,
)
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


ids_of_symbols = st.integers(13, 60) | st.sampled_from([13 + 9999, 13 + 10_000, 13 + 123_456])
id_trees = trees(ids_of_symbols | st.sampled_from([BASE["0"], BASE["1"]])).map(
    lambda tokens: [BASE.get(token, token) for token in tokens]
)


class TestTexts:
    def test_compact_and_spaced_texts_of_letters_have_the_same_ids(self, tokenizer):
        ids = [BASE["&"], BASE["U"], 13, 14, BASE["X"], 15, EOS]
        assert tokenizer("&UabXc")["input_ids"] == ids
        assert tokenizer("& U\ta b\n X c ")["input_ids"] == ids
        assert tokenizer(["&", "U", "a", "b", "X", "c"], is_split_into_words=True)["input_ids"] == ids
        assert tokenizer('& U "a" b X c')["input_ids"] == ids

    def test_other_names_get_the_next_referents_in_the_order_they_are_met(self, tokenizer):
        assert tokenizer("& U request grant_1 X request")["input_ids"] == [5, 11, 39, 40, 12, 39, EOS]
        assert tokenizer(["& x_1 grant_1", '"x_1"'])["input_ids"] == [[5, 41, 40, EOS], [41, EOS]]

    @given(st.lists(formulas(), min_size=1, max_size=3))
    def test_decoding_gives_back_the_texts_that_logic_writes(self, batch):
        tokenizer, table = LTL.tokenizer(), SymbolTable()
        texts = [to_prefix(formula) for formula in batch]
        for options in ({}, {"symbol_table": table}):
            encoding = tokenizer(texts, padding=True, return_tensors="pt", **options)
            assert tokenizer.batch_decode(encoding["input_ids"], skip_special_tokens=True, **options) == texts

    @given(st.lists(formulas(), min_size=0, max_size=2), st.lists(formulas(), min_size=1, max_size=2))
    def test_traces_are_written_as_logic_writes_them(self, prefix, cycle):
        try:
            text = trace_to_prefix(Trace(tuple(prefix), tuple(cycle)))
        except ValueError:  # a temporal operator in a step
            return
        tokenizer = LTL.tokenizer()
        labels = tokenizer(text_target=text)["input_ids"]
        assert tokenizer.decode(labels, skip_special_tokens=True) == text

    @given(id_trees)
    def test_encoding_what_was_decoded_gives_the_ids_back(self, ids):
        tokenizer = LTL.tokenizer()
        text = tokenizer.decode([*ids, EOS], skip_special_tokens=True)
        assert tokenizer(text)["input_ids"] == [*ids, EOS]

    @given(id_trees)
    def test_decoding_shows_special_tokens_unless_they_are_skipped(self, ids):
        tokenizer = LTL.tokenizer()
        text, shown = tokenizer.decode(ids, skip_special_tokens=True), tokenizer.decode([0, *ids, EOS, 1])
        inside = shown.removeprefix("<s>").removesuffix("<pad>").strip().removesuffix("</s>").strip()
        assert inside == text or f'"{inside}"' == text

    @given(formulas())
    def test_tokens_are_words_that_encode_to_the_same_ids(self, formula):
        tokenizer = LTL.tokenizer()
        text = to_prefix(formula)
        words = tokenizer.tokenize(text)
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        assert tokenizer.convert_tokens_to_ids(words) == ids
        assert tokenizer.convert_ids_to_tokens(ids) == words
        assert tokenizer.convert_tokens_to_string(words) == text
        assert tokenizer(words, is_split_into_words=True, add_special_tokens=False)["input_ids"] == ids

    def test_several_trees_in_a_row_are_a_target_but_no_formula(self, tokenizer):
        assert tokenizer(text_target="a1b0")["input_ids"] == [13, 4, 14, 3, EOS]
        with pytest.raises(TokenizationError, match="complete before this token"):
            tokenizer("a1b0")

    def test_without_arities_any_sequence_of_tokens_is_a_text(self):
        tokenizer = SymbolInvariantTokenizer(["<s>", "<pad>", "</s>"])
        assert tokenizer("abca")["input_ids"] == [3, 4, 5, 3, 2]
        assert tokenizer.decode([3, 4, 5, 3, 2], skip_special_tokens=True) == "abca"

    def test_base_tokens_of_several_characters_make_texts_spaced(self):
        tokenizer = SymbolInvariantTokenizer(["<s>", "<pad>", "</s>", "1", "xor"], {"1": 0, "xor": 2})
        ids = tokenizer('xor "xor" xor a 1')["input_ids"]
        assert ids == [4, 31, 4, 5, 3, 2]
        assert tokenizer.decode(ids, skip_special_tokens=True) == 'xor "xor" xor a 1'


class TestSymbolTables:
    def test_calls_with_their_own_table_leave_the_tokenizer_and_each_other_alone(self, tokenizer):
        first, second = SymbolTable(), SymbolTable()
        assert tokenizer("& red green", symbol_table=first)["input_ids"][1:3] == [39, 40]
        assert tokenizer("& green red", symbol_table=second)["input_ids"][1:3] == [39, 40]
        assert tokenizer.encode('"green"', symbol_table=second) == [39, EOS]
        assert tokenizer.symbols == {}
        assert tokenizer.decode([5, 39, 40], symbol_table=first) == "& red green"
        assert tokenizer.batch_decode([[5, 39, 40]], symbol_table=second) == ["& green red"]

    def test_source_and_target_share_names_and_the_source_names_first(self, tokenizer):
        table = SymbolTable()
        encoding = tokenizer(["U red green"], text_target=["yellow ; { green }"], symbol_table=table)
        assert encoding["input_ids"] == [[11, 39, 40, EOS]]
        assert encoding["labels"] == [[41, 8, 9, 40, 10, EOS]]
        assert table.to_dict() == {"red": 26, "green": 27, "yellow": 28}

    @given(st.lists(names | st.integers(0, 12_000), max_size=30))
    def test_names_and_referents_correspond_one_to_one_and_never_change(self, actions):
        table, seen = SymbolTable(), {}
        for action in actions:
            name, referent = (
                (action, table.referent(action)) if isinstance(action, str) else (table.name(action), action)
            )
            assert seen.setdefault(name, referent) == referent
        assert len(set(seen.values())) == len(seen)
        assert all(table.referent(name) == referent and table.name(referent) == name for name, referent in seen.items())
        assert SymbolTable(table.to_dict()) == table
        assert pickle.loads(pickle.dumps(table)) == copy.deepcopy(table) == table

    def test_a_default_name_means_its_own_referent_unless_another_symbol_has_one_of_them(self):
        table = SymbolTable()
        assert [table.name(40), table.referent("p41"), table.referent("x1")] == ["p40", 41, 26]
        assert [table.referent("p26"), table.name(42)] == [27, "p42"]
        taken = SymbolTable({"p50": 30})
        assert [taken.name(50), taken.referent("p50_")] == ["p50_", 50]
        assert [taken.referent("p10"), taken.referent("p040"), taken.referent("p10000")] == [26, 27, 28]

    def test_a_refused_text_adds_no_names(self, tokenizer):
        for text in ("& new G", "& new newer newest", "& new", "& long text"):
            with pytest.raises(TokenizationError):
                tokenizer(text, truncation=True, max_length=3)
        assert tokenizer.symbols == {}

    def test_a_chat_template_that_writes_a_formula_is_encoded_as_the_formula(self, tokenizer):
        template = "{% for message in messages %}{{ message['content'] }}{% endfor %}"
        chat = [{"role": "user", "content": "& a U b c"}]
        assert (
            tokenizer.apply_chat_template(chat, chat_template=template)["input_ids"]
            == (tokenizer("& a U b c", add_special_tokens=False)["input_ids"])
        )

    def test_threads_that_share_a_table_agree_on_every_referent(self, tokenizer):
        texts = [" ".join(["&"] * 19 + [f"s{(i * step) % 200}_" for i in range(20)]) for step in range(1, 60)]
        switch, errors = sys.getswitchinterval(), []

        def encode(order):
            for text in order:
                if tokenizer.decode(tokenizer(text)["input_ids"], skip_special_tokens=True) != text:
                    errors.append(text)

        sys.setswitchinterval(1e-6)
        try:
            threads = [threading.Thread(target=encode, args=(texts[k:] + texts[:k],)) for k in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:
            sys.setswitchinterval(switch)
        assert not errors
        assert sorted(tokenizer.symbols.values()) == list(range(26, 26 + len(tokenizer.symbols)))

    def test_adding_symbols_or_tokens_gives_them_the_next_referents(self, tokenizer):
        assert tokenizer.add_symbols(["red", "green", "red", "a"]) == 2
        assert tokenizer.add_symbols("next state") == 1
        assert tokenizer.add_tokens(["blue", "red"]) == 1
        assert tokenizer.symbols == {"red": 26, "green": 27, "next state": 28, "blue": 29}
        assert tokenizer.get_vocab()["blue"] == 42 and len(tokenizer) == 43 and tokenizer.vocab_size == 13
        assert all(tokenizer.convert_tokens_to_ids(token) == index for token, index in tokenizer.get_vocab().items())

    @pytest.mark.parametrize("length", ["512", True, 0, -1, math.nan, [512]])
    def test_a_length_that_is_none_is_refused(self, length):
        with pytest.raises(ValueError, match=r"model_max_length=.*: must be a number above 0"):
            SymbolInvariantTokenizer(["<s>", "<pad>", "</s>"], model_max_length=length)
        assert SymbolInvariantTokenizer(["<s>", "<pad>", "</s>"], model_max_length=9).model_max_length == 9

    def test_new_special_tokens_are_refused_and_change_nothing(self, tokenizer):
        for add in (
            lambda: tokenizer.add_special_tokens({"sep_token": "<sep>"}),
            lambda: tokenizer.add_special_tokens({"extra_special_tokens": ["<x>"]}),
            lambda: tokenizer.add_tokens(["<sep>"], special_tokens=True),
        ):
            with pytest.raises(
                ValueError, match=r"special token '<(sep|x)>': must be one of the base tokens .*add_symbols"
            ):
                add()
        assert tokenizer.sep_token is None and tokenizer.symbols == {} and len(tokenizer) == 39

    @pytest.mark.parametrize(
        ("names", "message"),
        [
            ({"red": 26, "green": 26}, "symbol 'green': referent 26 contradicts another entry"),
            ({"a": 3}, "symbol 'a': referent 3 contradicts"),
            ({"red": 3}, "symbol 'red': referent 3 contradicts"),
            ({"red": -1}, "referent -1: must be an int of at least 0"),
            ({"red": "x"}, "referent 'x': must be an int"),
            ({"": 26}, "symbol name '': must be a non-empty string"),
            ({"a\x00": 26}, r"symbol name 'a\\x00': control character '\\x00'; use printable characters"),
        ],
    )
    def test_contradicting_tables_are_refused(self, names, message):
        with pytest.raises(TokenizationError, match=message):
            SymbolTable(names)

    def test_a_table_refuses_what_is_no_name_or_referent(self, tokenizer):
        with pytest.raises(TokenizationError, match="symbol name 3: must be a non-empty string"):
            SymbolTable().referent(3)
        with pytest.raises(TokenizationError, match="referent -1: must be an int of at least 0"):
            SymbolTable().name(-1)
        with pytest.raises(TokenizationError, match="symbol name ''"):
            tokenizer.add_symbols(["fine", ""])
        assert tokenizer.symbols == {}
        with pytest.raises(TypeError, match=r"symbol_table=\{'a': 1\}: must be a SymbolTable"):
            tokenizer("a", symbol_table={"a": 1})

    def test_a_table_reads_like_a_collection_of_names(self):
        table = SymbolTable({"red": 26})
        assert "red" in table and "green" not in table
        assert list(table)[-1] == "red" and len(table) == 27
        assert repr(table) == "SymbolTable({'red': 26})"


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

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            (3, "3 is a int; pass a string or a list of strings"),
            (b"a", "b'a' is a bytes"),
            ([3, 4], "3 is a int"),
            ([None], "None is a NoneType"),
            ([["a", "b"]], "is a list; pass a string"),
        ],
    )
    def test_what_is_no_text_is_refused(self, tokenizer, text, message):
        with pytest.raises(TokenizationError, match=message):
            tokenizer(text)

    def test_split_words_are_checked_one_by_one(self, tokenizer):
        with pytest.raises(TokenizationError, match=r"position 2 of \['&', 'a', 3\]: 3 is a int; tokens are strings"):
            tokenizer(["&", "a", 3], is_split_into_words=True)
        with pytest.raises(TokenizationError, match="'a' is a str; pass"):
            tokenizer([["&", "a", "b"], "a"], is_split_into_words=True)
        with pytest.raises(TokenizationError, match="the text is empty"):
            tokenizer([], is_split_into_words=True)
        with pytest.raises(TokenizationError, match="'xyz!' is neither a base token"):
            tokenizer.convert_tokens_to_ids("xyz!")

    def test_a_chat_template_of_ones_own_is_filled_in(self, tokenizer):
        chat, template = [{"role": "user", "content": "&ab"}], "{{ messages[0]['content'] }}"
        with pytest.raises(ValueError, match="chat_template is not set"):
            tokenizer.apply_chat_template(chat)
        assert tokenizer.apply_chat_template(chat, chat_template=template, tokenize=False) == "&ab"
        found = tokenizer.apply_chat_template(chat, chat_template=template, return_dict=True)
        assert found["input_ids"] == tokenizer("&ab", add_special_tokens=False)["input_ids"]

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
        with pytest.raises(TokenizationError, match="text_pair_target is not supported"):
            tokenizer("a", text_pair_target="b")
        with pytest.raises(TypeError, match="symbol_tabel"):
            tokenizer("a", symbol_tabel=SymbolTable())
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
            assert tokenizer.convert_tokens_to_ids(tokenizer.convert_ids_to_tokens(ids)) == ids
            assert is_base or {8, 9, 10} & set(ids)

    @pytest.mark.parametrize(
        "ids", [-1, [-1], [3.0], [True], ["a"], [[13], [-7]], np.array([1.5]), torch.tensor([-3]), [None]]
    )
    def test_ids_out_of_range_are_refused(self, tokenizer, ids):
        with pytest.raises(TokenizationError, match=r"token id .*: must be an integer of at least 0, or -100"):
            tokenizer.decode(ids)

    def test_single_ids_out_of_range_are_refused_by_the_conversions_too(self, tokenizer):
        with pytest.raises(TokenizationError, match="token id -1"):
            tokenizer.convert_ids_to_tokens([-1])

    @pytest.mark.parametrize(
        ("base_tokens", "token_arity", "message"),
        [
            (None, None, "base_tokens is empty"),
            (["<s>", "<pad>", "</s>", "a"], {}, "base_tokens: 'a' must be a string without white space and quotes"),
            (["<s>", "<pad>", "</s>", "a b"], {}, "base_tokens: 'a b' must be"),
            (["<s>", "<pad>", "</s>", "&", "&"], {}, "a token is listed twice"),
            (["<s>", "</s>", "&"], {}, "special token '<pad>': must be one of the base_tokens"),
            (["<s>", "<pad>", "</s>"], {"&": 2}, "token_arity: '&' is special or no base token"),
            (["<s>", "<pad>", "</s>"], {"<s>": 0}, "token_arity: '<s>' is special or no base token"),
            (
                ["<s>", "<pad>", "</s>", "&"],
                {"&": -1},
                "token_arity: '&' has -1 children; must be an int of at least 0",
            ),
            (["<s>", "<pad>", "</s>", "&"], {"&": "2"}, "token_arity: '&' has '2' children"),
        ],
    )
    def test_contradicting_tokens_are_refused(self, base_tokens, token_arity, message):
        with pytest.raises(ValueError, match=message):
            SymbolInvariantTokenizer(base_tokens, token_arity)


class TestBatches:
    def test_padding_on_either_side_is_masked(self, tokenizer):
        right = tokenizer(["&ab", "a"], padding=True, return_tensors="pt")
        assert right["input_ids"].tolist() == [[5, 13, 14, 2], [13, 2, 1, 1]]
        assert right["attention_mask"].tolist() == [[1, 1, 1, 1], [1, 1, 0, 0]]
        left = tokenizer(["&ab", "a"], padding=True, padding_side="left", return_tensors="np")
        assert left["input_ids"].tolist() == [[5, 13, 14, 2], [1, 1, 13, 2]]
        assert tokenizer.batch_decode(left["input_ids"], skip_special_tokens=True) == ["&ab", "a"]
        assert tokenizer(["a"], padding="max_length", max_length=4)["input_ids"] == [[13, 2, 1, 1]]

    def test_one_text_becomes_one_row_and_any_iterable_is_a_batch(self, tokenizer):
        assert tokenizer("a", return_tensors="pt")["input_ids"].shape == (1, 2)
        assert tokenizer(text for text in ("a", "b"))["input_ids"] == [[13, 2], [14, 2]]
        assert tokenizer(np.array(["a"]))["input_ids"] == [[13, 2]]
        assert tokenizer([["&", "a", "b"], ["a"]], is_split_into_words=True)["input_ids"] == [[5, 13, 14, 2], [13, 2]]
        assert dict(tokenizer([])) == {"input_ids": [], "attention_mask": []}
        assert tokenizer.encode("a") == [13, 2] and tokenizer.decode([]) == "" and tokenizer.decode(13) == "a"

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

    def test_ignored_labels_decode_as_padding(self, tokenizer):
        labels = torch.tensor([[13, 2, -100, -100]])
        assert tokenizer.batch_decode(labels, skip_special_tokens=True) == ["a"]
        assert tokenizer.batch_decode(labels) == ["a</s><pad><pad>"]

    def test_masks_of_special_tokens_and_lengths_are_given_on_request(self, tokenizer):
        encoding = tokenizer(["&ab"], return_special_tokens_mask=True, return_length=True)
        assert encoding["special_tokens_mask"] == [[0, 0, 0, 1]] and encoding["length"] == [4]

    @given(st.lists(formulas(), min_size=1, max_size=3), st.sampled_from(["left", "right"]))
    def test_offsets_say_where_each_token_stands(self, batch, side):
        tokenizer, texts = LTL.tokenizer(), [to_prefix(formula) for formula in batch]
        texts = [f"  {text}\n" if " " in text else text for text in texts]
        found = tokenizer(texts, padding=True, padding_side=side, return_offsets_mapping=True)
        for text, ids, offsets in zip(texts, found["input_ids"], found["offset_mapping"], strict=True):
            for token, (start, end) in zip(ids, offsets, strict=True):
                if token in (EOS, BASE["<pad>"]):
                    assert (start, end) == (0, 0)
                else:
                    assert tokenizer.convert_tokens_to_ids(text[start:end]) == token
            covered = {place for start, end in offsets for place in range(start, end)}
            assert all(text[place].isspace() for place in set(range(len(text))) - covered)

    def test_offsets_of_one_text_and_of_words_and_in_tensors(self, tokenizer):
        assert tokenizer("& a  red", return_offsets_mapping=True)["offset_mapping"] == [(0, 1), (2, 3), (5, 8), (0, 0)]
        words = tokenizer(["&", "a", "red"], is_split_into_words=True, return_offsets_mapping=True)
        assert words["offset_mapping"] == [(0, 1), (0, 1), (0, 3), (0, 0)]
        found = tokenizer(["&ab", "a"], padding=True, return_tensors="pt", return_offsets_mapping=True)
        assert found["offset_mapping"].tolist() == [[[0, 1], [1, 2], [2, 3], [0, 0]], [[0, 1], *[[0, 0]] * 3]]

    def test_masks_types_and_lengths_are_those_of_transformers(self, tokenizer):
        options = {"return_token_type_ids": True, "return_special_tokens_mask": True, "return_length": True}
        found = tokenizer(["&ab", "a"], **options)
        for index, text in enumerate(["&ab", "a"]):
            ids = tokenizer(text, add_special_tokens=False)["input_ids"]
            for key, value in tokenizer.prepare_for_model(ids, **options).items():
                assert found[key][index] == value, key

    def test_many_symbols_need_nothing_special(self, tokenizer):
        text = " ".join(["&"] * 199 + [f"x{i}" for i in range(200)])
        ids = tokenizer(text)["input_ids"]
        assert len(set(ids)) == 202 and tokenizer.decode(ids, skip_special_tokens=True) == text

    def test_a_text_of_200_000_tokens_comes_back(self, tokenizer):
        text = " ".join(["!"] * 200_000 + ["request"])
        assert tokenizer.decode(tokenizer(text)["input_ids"], skip_special_tokens=True) == text


class TestSaving:
    def test_a_saved_tokenizer_keeps_its_symbols(self, tokenizer, tmp_path):
        tokenizer('& request "next state"')
        tokenizer.decode([13 + 40])
        tokenizer.save_pretrained(tmp_path)
        for loaded in (SymbolInvariantTokenizer.from_pretrained(tmp_path), AutoTokenizer.from_pretrained(tmp_path)):
            assert type(loaded) is SymbolInvariantTokenizer
            assert loaded.symbols == tokenizer.symbols == {"request": 26, "next state": 27, "p40": 40}
            assert loaded("& new request")["input_ids"] == [5, 41, 39, 2]
            assert (loaded.bos_token_id, loaded.pad_token_id, loaded.eos_token_id) == (0, 1, 2)
            assert loaded.get_vocab() != tokenizer.get_vocab() and loaded.base_tokens == tokenizer.base_tokens
        loaded.save_pretrained(tmp_path)
        assert AutoTokenizer.from_pretrained(tmp_path).symbols == loaded.symbols

    def test_copies_do_not_share_their_symbols(self, tokenizer):
        for other in (copy.deepcopy(tokenizer), pickle.loads(pickle.dumps(tokenizer))):
            other("& red green")
            assert tokenizer.symbols == {} and other.symbols == {"red": 26, "green": 27}

    @pytest.mark.slow
    def test_a_saved_tokenizer_loads_without_the_package(self, tokenizer, tmp_path):
        tokenizer.add_symbols(["request"])
        tokenizer.save_pretrained(tmp_path / "checkpoint")
        program = f"""if True:
            import sys
            sys.modules["hf_symbinv"] = None  # importing it fails
            from transformers import AutoTokenizer
            tokenizer = AutoTokenizer.from_pretrained({str(tmp_path / "checkpoint")!r}, trust_remote_code=True)
            ids = tokenizer(["& request a", "b"], padding=True)["input_ids"]
            print(ids, tokenizer.batch_decode(ids, skip_special_tokens=True))
        """
        result = subprocess.run(
            [sys.executable, "-c", program],
            cwd=tmp_path,
            env={**os.environ, "HF_MODULES_CACHE": str(tmp_path / "modules")},
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.stdout.strip() == "[[5, 39, 13, 2], [14, 2, 1, 1]] ['& request a', 'b']", result.stderr
