"""transformers' own tests of tokenizers, with the tokenizers of this package."""

import unittest

from adapting import ReasonsAreNeeded, leave_out
from transformers_tests.test_tokenization_common import TokenizerTesterMixin

from hf_symbinv import LTL, SymbolInvariantSubwordTokenizer, SymbolInvariantTokenizer, SymbolInvariantWordTokenizer

# A tokenizer's words are fixed when it is made: those that transformers' tests add are among them.
SPECIAL = [
    "<s>", "<pad>", "</s>", "<BOS>", "[PAD]", "[SPECIAL_TOKEN_1]", "[SPECIAL_TOKEN_2]", "new_extra_special_token",
    "bim", "bambam", "asdfasdfasdfasdf",
]  # fmt: skip
WORDS = [
    "a", "and", "are", "be", "day", "end", "for", "from", "good", "have", "he", "his", "I", "in", "is", "it", "long",
    "low", "more", "new", "not", "of", "one", "or", "see", "some", "test", "text", "that", "the", "this", "to", "we",
    "what", "with", "you",
]  # fmt: skip


class Saved(ReasonsAreNeeded):
    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.new_tokenizer().save_pretrained(cls.tmpdirname)


FIXED = "special tokens are base tokens of the model, and none can be added"
OPTIONS = "an option that the tokenizer lacks is refused, as it would do nothing"


@leave_out({"test_prepare_seq2seq_batch": OPTIONS})
class SymbolInvariantWordTokenizerTest(Saved, TokenizerTesterMixin, unittest.TestCase):
    tokenizer_class = SymbolInvariantWordTokenizer
    test_tokenizer_from_extractor = False

    @staticmethod
    def new_tokenizer() -> SymbolInvariantWordTokenizer:
        word = r"\[\w+\]|</?\w+>|\b(?:" + "|".join([*SPECIAL[-4:], *WORDS, "X", "Y"]) + r")\b"
        return SymbolInvariantWordTokenizer(
            [*SPECIAL, *WORDS, "<other>"],
            symbols={"X": [0, 0], "Y": [1, 0]},
            patterns=[[word, None], [r"\w+|\S", "<other>"]],
        )


@leave_out(
    {
        "test_prepare_seq2seq_batch": OPTIONS,
        "test_bos_token_with_add_bos_token_*": FIXED,
        "test_pad_token_initialization": FIXED,
        "test_save_and_load_tokenizer": FIXED,
        "test_tokenize_special_tokens": FIXED,
        "test_tokenizer_store_full_signature": "the tokenizer of base text is saved in a file of its own",
    }
)
class SymbolInvariantSubwordTokenizerTest(Saved, TokenizerTesterMixin, unittest.TestCase):
    tokenizer_class = rust_tokenizer_class = SymbolInvariantSubwordTokenizer
    test_tokenizer_from_extractor = False

    @staticmethod
    def new_tokenizer() -> SymbolInvariantSubwordTokenizer:
        texts = [" ".join(WORDS), "this is a text", *SPECIAL] * 3
        return SymbolInvariantSubwordTokenizer.train(texts, 400, symbol_pattern=r"\bX\w+")


ENGLISH = "a text is a formula in prefix notation, and the English of this test is none"
LONE = "a text is a whole formula, and this test encodes tokens such as U alone"
PAIRS = "a question is one formula: there are no pairs of texts"
ENGLISH_TESTS = [
    "batch_encode_plus_batch_sequence_length", "batch_encode_plus_padding", "call", "chat_template",
    "chat_template_batched", "encode_basic_padding", "encode_plus_with_padding_*", "mask_output",
    "padding_to_multiple_of", "prepare_seq2seq_batch", "right_and_left_truncation", "special_tokens_mask",
    "token_type_ids",
]  # fmt: skip


@leave_out(
    {
        **{f"test_{name}": ENGLISH for name in ENGLISH_TESTS},
        "test_bos_token_with_add_bos_token_*": FIXED,
        "test_get_vocab": FIXED,
        "test_pad_token_initialization": FIXED,
        "test_save_and_load_tokenizer": FIXED,
        "test_tokenize_special_tokens": FIXED,
        "test_internal_consistency": LONE,
        "test_maximum_encoding_length_single_input": LONE,
        "test_pretokenized_inputs": LONE,
        "test_maximum_encoding_length_pair_input": PAIRS,
        "test_number_of_added_tokens": PAIRS,
        "test_special_tokens_mask_input_pairs": PAIRS,
        "test_empty_input_string": "an empty text is no formula",
    }
)
class SymbolInvariantTokenizerTest(Saved, TokenizerTesterMixin, unittest.TestCase):
    tokenizer_class = SymbolInvariantTokenizer
    test_tokenizer_from_extractor = False

    @staticmethod
    def new_tokenizer() -> SymbolInvariantTokenizer:
        return LTL.tokenizer()
