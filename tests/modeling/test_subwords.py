"""Base text is cut by the tokenizers library as if it stood alone, and each symbol is one token, cut or padded."""

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models

from hf_symbinv import SymbolInvariantSubwordTokenizer, TokenizationError

CODE = ["def double(x):\n    return x + x", "total = double(total) # twice é", "if a:\n    b = 'text' + a"]
RULE = {"symbol_pattern": r"[A-Za-z_]\w*", "base_words": ["def", "return", "if"]}


@pytest.fixture(scope="module")
def trained():
    return SymbolInvariantSubwordTokenizer.train(CODE, 290, **RULE)


@pytest.fixture
def tokenizer(trained):
    return copy.deepcopy(trained)


base_texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\ufdd0\ufdd1"), max_size=6)


@st.composite
def marked_texts(draw):
    """Pieces of base text with named symbols between them: the text, its spans, and the base texts in a row."""
    text, spans, bases = "", [], []
    for _ in range(draw(st.integers(0, 4))):
        bases.append(draw(base_texts))
        text += bases[-1]
        name = draw(st.sampled_from(["x", "y", "speed", "größe", "x y", "def", "</s>"]))
        spans.append((len(text), len(text) + len(name), name))
        text += name
    bases.append(draw(base_texts))
    return text + bases[-1], spans, bases


def by_hand(tokenizer, spans, bases):
    """Ids of each piece on its own, by the library's tokenizer without symbols."""
    ids, names = [], list(dict.fromkeys(name for _, _, name in spans))
    for index, base in enumerate(bases):
        ids += tokenizer.backend_tokenizer.encode(base, add_special_tokens=False).ids
        if index < len(spans):
            ids.append(tokenizer.vocab_size + names.index(spans[index][2]))
    return ids


class TestTexts:
    @given(st.lists(marked_texts(), min_size=1, max_size=3))
    @settings(max_examples=100, deadline=None)
    def test_ids_are_those_of_the_pieces_and_decoding_gives_the_text_back(self, trained, batch):
        texts, spans = [text for text, _, _ in batch], [given for _, given, _ in batch]
        found = trained(texts, spans=spans, add_special_tokens=False)
        expected = [by_hand(trained, given, bases) for _, given, bases in batch]
        assert found["input_ids"] == expected
        assert trained.batch_decode(expected, symbols=found.symbols) == texts

    @given(marked_texts())
    @settings(max_examples=60, deadline=None)
    def test_offsets_of_symbols_are_their_spans_and_those_of_base_tokens_their_characters(self, trained, marked):
        text, spans, _ = marked
        found = trained(text, spans=spans, return_offsets_mapping=True)
        offsets = found["offset_mapping"]
        at = [index for index, token in enumerate(found["input_ids"]) if token >= trained.vocab_size]
        assert [offsets[index] for index in at] == [(start, end) for start, end, _ in spans]
        assert [found.tokens()[index] for index in at] == [name for _, _, name in spans]
        for index, (start, end, _) in zip(at, spans, strict=True):
            assert all(found.char_to_token(place) == index for place in range(start, end))
            assert tuple(found.token_to_chars(index)) == (start, end)
            assert found.word_ids().count(found.word_ids()[index]) == 1
        assert found.encodings[0].ids == found["input_ids"] and found.encodings[0].offsets == offsets
        covered = {place for start, end in offsets for place in range(start, end)}
        assert covered == set(range(len(text)))

    def test_a_pattern_finds_symbols_and_keywords_are_base_text(self, tokenizer):
        found = tokenizer("return double(x)")
        assert [t for t in found.tokens() if t.isalpha() and t.isascii()][-2:] == ["double", "x"]
        assert [found["input_ids"].count(tokenizer.vocab_size + number) for number in range(3)] == [1, 1, 0]
        names = {"symbols": found.symbols, "skip_special_tokens": True}
        assert tokenizer.decode(found["input_ids"], **names) == "return double(x)"

    def test_tokens_become_text_also_where_names_are_missing(self, tokenizer):
        found = tokenizer("if size + x")
        for symbols, text in ((found.symbols, "if size + x</s>"), ([], "if ⟨symbol0⟩ + ⟨symbol1⟩</s>")):
            tokens = tokenizer.convert_ids_to_tokens(found["input_ids"], symbols=symbols)
            assert tokenizer.convert_tokens_to_string(tokens) == text

    def test_two_variables_of_one_name_are_two_symbols_where_spans_say_so(self, tokenizer):
        found = tokenizer("x(x)", spans=[(0, 1, "outer x"), (2, 3, "inner x")])
        assert found["input_ids"][0] != found["input_ids"][2] and found.symbols == ["outer x", "inner x"]

    def test_source_pair_and_target_share_names(self, tokenizer):
        found = tokenizer(["one = two"], ["two + six"], text_target=["six"])
        assert found.symbols == [["one", "two", "six"]]
        assert found["labels"] == [[tokenizer.vocab_size + 2, tokenizer.eos_token_id]]
        assert found.sequence_ids(0)[-2] == 1 and found.tokens(0).count("two") == 2
        spans = tokenizer("a", "b", spans=[], pair_spans=[(0, 1, "b")], text_target="c", target_spans=[])
        assert [token >= tokenizer.vocab_size for token in spans["input_ids"]] == [False, False, True, False]
        assert spans["labels"][0] < tokenizer.vocab_size

    def test_combining_marks_belong_to_names_and_both_forms_of_a_name_are_one_symbol(self, tokenizer):
        marked = SymbolInvariantSubwordTokenizer.train(["="], 270, symbol_pattern=r"[^\W\d]\w*", base_words=["यदि"])
        text = "e\u0301 = é + यदि हिन्दी"
        found = marked(text, return_offsets_mapping=True)
        assert found.symbols == ["e\u0301", "हिन्दी"]
        at = [place for place, index in enumerate(found["input_ids"]) if index >= marked.vocab_size]
        assert [text[slice(*found["offset_mapping"][place])] for place in at] == ["e\u0301", "é", "हिन्दी"]

    def test_a_truncated_text_has_the_first_ids_of_the_whole_and_its_rest_on_request(self, tokenizer):
        text, options = "aa+bb+cc+dd", {"add_special_tokens": False}
        whole = tokenizer(text, **options)
        cut = tokenizer(text, truncation=True, max_length=3, return_overflowing_tokens=True, **options)
        assert [token for row in cut["input_ids"] for token in row] == whole["input_ids"]
        assert [encoding.tokens for encoding in cut.encodings] == [["aa", "+", "bb"], ["+", "cc", "+"], ["dd"]]
        assert cut.encodings[0].overflowing[0].tokens == ["+", "cc", "+"]


class TestBadInput:
    @pytest.mark.parametrize(
        ("spans", "message"),
        [
            ([(0, 2, "x"), (1, 3, "y")], r"symbol 'y' at \(1, 3\): a span must have a character"),
            ([(2, 2, "x")], r"symbol 'x' at \(2, 2\)"),
            ([(0, 99, "x")], r"symbol 'x' at \(0, 99\): .* lie in the text of 3 characters"),
            ([(0, 1, "")], "symbol name '': must be a non-empty string"),
        ],
    )
    def test_spans_that_no_text_can_have_are_refused(self, tokenizer, spans, message):
        with pytest.raises(TokenizationError, match=message):
            tokenizer("x+y", spans=spans)

    def test_what_the_tokenizer_cannot_do_is_refused(self, tokenizer):
        with pytest.raises(TokenizationError, match=r"position 1 .* noncharacter of Unicode, and marks symbols"):
            tokenizer("a\ufdd1")
        with pytest.raises(TokenizationError, match="2 texts and 1 lists of spans; give a list for each"):
            tokenizer(["a", "b"], spans=[[]])
        with pytest.raises(TokenizationError, match="3 is a int; pass a string"):
            tokenizer([3])
        with pytest.raises(TokenizationError, match="is_split_into_words is not supported"):
            tokenizer(["a"], is_split_into_words=True)
        with pytest.raises(TokenizationError, match="target_spans are of a text_target"):
            tokenizer("a", target_spans=[(0, 1, "b")])
        assert tokenizer.convert_tokens_to_ids(["a name"]) == [tokenizer.vocab_size]

    def test_tables_that_contradict_each_other_are_refused(self):
        make = SymbolInvariantSubwordTokenizer
        words = {"<s>": 0, "<pad>": 1, "</s>": 2}
        with pytest.raises(ValueError, match="there is no tokenizer_object"):
            make()
        with pytest.raises(ValueError, match="special token '</s>': must be a token"):
            make(Tokenizer(models.WordLevel({"<s>": 0, "<pad>": 1}, unk_token="<s>")))
        with pytest.raises(ValueError, match="4 tokens, ids up to 8; base ids must be 0, 1"):
            make(Tokenizer(models.WordLevel({**words, "x": 8}, unk_token="<s>")))
        with pytest.raises(ValueError, match=r"symbol_pattern '\(' is no regular expression"):
            make(Tokenizer(models.WordLevel(words, unk_token="<s>")), symbol_pattern="(")
        with pytest.raises(ValueError, match="takes no spans of symbols"):
            make.train(CODE, 270).train_new_from_iterator([CODE], 270)


class TestTraining:
    def test_names_leave_no_trace_in_base_tokens(self):
        names = SymbolInvariantSubwordTokenizer.train(["speedspeed = speed"] * 9, 300, symbol_pattern="[a-z]+")
        spans = [[(0, 5, "v"), (8, 13, "v")]] * 9
        given = SymbolInvariantSubwordTokenizer.train(["speed = speed"] * 9, 300, spans=spans)
        for tokenizer in (names, given):
            assert tokenizer.vocab_size == 260 and "Ġ=" in tokenizer.get_vocab()  # 3 special tokens, 256 bytes
        again = names.train_new_from_iterator([["speed -= speed"] * 3], 300)
        found = again("ab -= c", add_special_tokens=False)
        assert "Ġ-=" in again.get_vocab() and again.decode(found["input_ids"], symbols=found.symbols) == "ab -= c"
