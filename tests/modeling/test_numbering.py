"""Ids mean the same everywhere: renamed texts have equal ids, in every process, and names travel with the data."""

import json
import os
import pickle

import pytest
import torch
from datasets import Dataset
from datasets.fingerprint import Hasher
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.data import DataLoader
from transformers import AutoTokenizer, DataCollatorForSeq2Seq

from hf_symbinv import (
    LTL,
    SymbolInvariantConfig,
    SymbolInvariantSubwordTokenizer,
    SymbolInvariantTextTokenizer,
    SymbolInvariantTokenizer,
    TokenizationError,
)

from .. import forks

PLAIN = ["red", "green", "blue", "grey", "pink"]
TEXT = SymbolInvariantTextTokenizer(["+", "="], symbol_pattern=r"[a-z]\w*")
SUBWORDS = SymbolInvariantSubwordTokenizer.train(["a + b = c", "+ 1 ="], 270, symbol_pattern=r"[a-z]\w*")
# Every tokenizer with texts that it reads.
KINDS = {
    "formulas": (LTL.tokenizer(), "U & red green X red", "red ; { & green blue }"),
    "texts": (TEXT, "red + green = red", "green = blue"),
    "subwords": (SUBWORDS, "red + green = red", "green = blue"),
}


@pytest.fixture(params=KINDS)
def kind(request):
    return KINDS[request.param]


def renamed(text, new):
    return " ".join(dict(zip(PLAIN, new, strict=False)).get(word, word) for word in text.split())


class TestLaw:
    @given(new=st.permutations(PLAIN))
    def test_renamed_texts_have_the_same_ids_and_come_back_with_their_names(self, new):
        for tokenizer, question, answer in KINDS.values():
            one = tokenizer(question, text_target=answer)
            other = tokenizer(renamed(question, new), text_target=renamed(answer, new))
            assert dict(one) == dict(other) and one.symbols == PLAIN[:3] and other.symbols == list(new[:3])
            for column, text in (("input_ids", question), ("labels", answer)):
                names = {"symbols": other.symbols, "skip_special_tokens": True}
                assert tokenizer.decode(other[column], **names) == renamed(text, new)

    def test_numbers_go_on_where_the_names_of_an_example_are_given(self, kind):
        tokenizer, question, answer = kind
        both, alone = tokenizer(question, text_target=answer), tokenizer(question)
        after = tokenizer(text_target=answer, symbols=alone.symbols)
        assert after["input_ids"] == both["labels"] and after.symbols == both.symbols
        batch = tokenizer([question] * 2)
        assert tokenizer(text_target=[answer] * 2, symbols=batch.symbols)["input_ids"] == [both["labels"]] * 2
        assert tokenizer.encode(question, symbols=["blue"])[-3:-1] != tokenizer.encode(question)[-3:-1]

    def test_a_target_alone_is_refused_with_a_remedy_that_works(self, kind):
        tokenizer, question, answer = kind
        with pytest.raises(
            TokenizationError, match=r"text_target alone: .* tokenizer\(texts, text_target=answers\), or"
        ):
            tokenizer(text_target=answer)
        batch = tokenizer([question])
        assert (
            tokenizer(text_target=[answer], symbols=batch.symbols)["input_ids"]
            == (tokenizer([question], text_target=[answer])["labels"])
        )

    def test_names_of_another_number_of_examples_are_refused(self, kind):
        tokenizer, question, _ = kind
        with pytest.raises(TokenizationError, match="symbols: 2 lists of names for 3 rows; give a list for each"):
            tokenizer([question] * 3, symbols=[["a"], ["b"]])
        with pytest.raises(TokenizationError, match="symbols: 2 lists of names for 4 rows"):
            tokenizer([question] * 4, symbols=[["a"], ["b"]])
        with pytest.raises(TokenizationError, match="symbols: 'red' stands twice"):
            tokenizer(question, symbols=["red", "red"])


class TestDecoding:
    def test_rows_of_one_example_have_its_names(self, kind):
        tokenizer, question, _ = kind
        batch = tokenizer([question, renamed(question, ["grey", "pink"])])
        rows = [row for row in batch["input_ids"] for _ in range(3)]
        texts = tokenizer.batch_decode(torch.tensor(rows), symbols=batch.symbols, skip_special_tokens=True)
        assert texts == [question] * 3 + [renamed(question, ["grey", "pink"])] * 3
        with pytest.raises(TokenizationError, match="symbols: 2 lists of names for 3 rows"):
            tokenizer.batch_decode(rows[:3], symbols=batch.symbols)

    def test_without_names_symbols_are_numbers_that_no_text_can_have(self, kind):
        tokenizer, question, _ = kind
        ids = tokenizer(question)["input_ids"]
        text = tokenizer.decode(ids, skip_special_tokens=True)
        assert text.replace("⟨symbol0⟩", "red").replace("⟨symbol1⟩", "green") == question
        assert "⟨symbol1⟩" in tokenizer.decode(ids, symbols=["red"])
        with pytest.raises(TokenizationError, match=r"⟨symbol0⟩'?: stands for a missing name"):
            tokenizer(question, symbols=["⟨symbol0⟩"])

    def test_new_symbols_have_fresh_names_on_request(self, kind):
        tokenizer, question, answer = kind
        found = tokenizer(question, text_target=answer)
        names = {"symbols": tokenizer(question).symbols, "skip_special_tokens": True}
        assert tokenizer.decode(found["labels"], **names) == answer.replace("blue", "⟨symbol2⟩")
        fresh = tokenizer.decode(found["labels"], **names, new_names=["red", "pink"])
        assert fresh == answer.replace("blue", "pink")

    def test_a_placeholder_is_refused_where_it_comes_back(self):
        for tokenizer, text in ((LTL.tokenizer(), "X ⟨symbol0⟩"), (TEXT, "a = ⟨symbol0⟩")):
            with pytest.raises(TokenizationError, match="⟨"):
                tokenizer(text)


class TestElsewhere:
    def test_a_call_changes_nothing_that_a_cache_of_datasets_sees(self, kind):
        tokenizer, question, answer = kind
        before = Hasher.hash(tokenizer)
        tokenizer([question, question], text_target=[answer, answer], padding=True, return_tensors="pt")
        tokenizer.decode([tokenizer.vocab_size + 7])
        assert Hasher.hash(tokenizer) == before
        assert Hasher.hash(pickle.loads(pickle.dumps(tokenizer))) == before

    def test_names_are_a_column_on_request_and_survive_map_in_two_processes(self, kind):
        tokenizer, question, answer = kind
        questions = [renamed(question, PLAIN[shift:] + PLAIN[:shift]) for shift in range(4)]
        answers = [renamed(answer, PLAIN[shift:] + PLAIN[:shift]) for shift in range(4)]
        rows = Dataset.from_dict({"question": questions, "answer": answers})
        mapped = rows.map(
            lambda batch: tokenizer(batch["question"], text_target=batch["answer"], return_symbols=True),
            batched=True, batch_size=1, num_proc=2,
        )  # fmt: skip
        assert mapped["input_ids"][:] == [tokenizer(question)["input_ids"]] * 4
        for column, texts in (("input_ids", questions), ("labels", answers)):
            names = {"symbols": mapped["symbols"][:], "skip_special_tokens": True}
            assert tokenizer.batch_decode(mapped[column][:], **names) == texts

    def test_workers_of_a_loader_agree_and_hand_the_names_on(self, kind):
        tokenizer, question, answer = kind
        pairs = [(renamed(question, names), renamed(answer, names)) for names in (PLAIN, PLAIN[::-1]) for _ in range(2)]
        rows = [dict(tokenizer(one, text_target=two, return_symbols=True)) for one, two in pairs]
        batches = list(DataLoader(rows, 2, collate_fn=DataCollatorForSeq2Seq(tokenizer), num_workers=2))
        assert all("symbols" not in batch for batch in batches)
        for batch, names in zip(batches, (PLAIN, PLAIN[::-1]), strict=True):
            assert batch.symbols == [names[:3]] * 2 and torch.equal(batch["labels"], batches[0]["labels"])
            texts = tokenizer.batch_decode(batch["labels"], symbols=batch.symbols, skip_special_tokens=True)
            assert texts == [renamed(answer, names)] * 2
        alone = tokenizer.pad({"input_ids": [rows[0]["input_ids"]], "symbols": [rows[0]["symbols"]]})
        assert alone.symbols == [PLAIN[:3]]

    def test_names_are_an_attribute_of_batches_that_are_copied_and_moved(self, kind):
        tokenizer, question, _ = kind
        batch = tokenizer([question], return_tensors="pt")
        assert "symbols" not in batch and batch.to("cpu").symbols == [PLAIN[:2]]
        assert pickle.loads(pickle.dumps(batch)).symbols == [PLAIN[:2]]
        assert tokenizer(question).symbols == PLAIN[:2] and tokenizer([]).symbols == []
        assert tokenizer(question, return_tensors="pt", return_symbols=True)["symbols"] == [PLAIN[:2]]


class TestOfTransformers:
    """What every tokenizer of transformers does, or is refused with a sentence."""

    def test_new_tokens_ids_below_0_and_unknown_options_are_refused_and_change_nothing(self, kind):
        tokenizer, question, _ = kind
        before = Hasher.hash(tokenizer)
        for add in (
            lambda: tokenizer.add_special_tokens({"sep_token": "<sep>"}),
            lambda: tokenizer.add_special_tokens({"extra_special_tokens": ["<sep>"]}),
            lambda: tokenizer.add_tokens(["<sep>"], special_tokens=True),
            lambda: tokenizer.add_tokens(["<sep>"]),
        ):
            with pytest.raises(ValueError, match="'<sep>': a model's base tokens are fixed, and symbols need no"):
                add()
        for convert in (tokenizer.decode, tokenizer.convert_ids_to_tokens):
            with pytest.raises(TokenizationError, match="token id -3: must be an integer of at least 0, or -100"):
                convert([-3])
        with pytest.raises(TypeError, match=r"symbol_tabel=\{\}: the tokenizer has no such option"):
            tokenizer(question, symbol_tabel={})
        assert (
            Hasher.hash(tokenizer) == before and tokenizer.sep_token is None and len(tokenizer) == tokenizer.vocab_size
        )

    @pytest.mark.parametrize("with_model", [False, True])
    def test_a_saved_tokenizer_comes_back_by_the_auto_class(self, kind, with_model, tmp_path):
        tokenizer, question, answer = kind
        if with_model:
            SymbolInvariantConfig(base_vocab_size=tokenizer.vocab_size).save_pretrained(tmp_path)
        saved = tokenizer
        for _ in range(2):
            saved.save_pretrained(tmp_path)
            saved = AutoTokenizer.from_pretrained(tmp_path)
            assert type(saved) is type(tokenizer) and saved.get_vocab() == tokenizer.get_vocab()
            assert saved.all_special_ids == tokenizer.all_special_ids
            one, other = (made(question, text_target=answer) for made in (tokenizer, saved))
            assert dict(one) == dict(other) and one.symbols == other.symbols

    @pytest.mark.slow
    def test_saved_tokenizers_load_without_the_package(self, tmp_path):
        expected = {}
        for name, (tokenizer, question, _) in KINDS.items():
            tokenizer.save_pretrained(tmp_path / name)
            expected[name] = [question, tokenizer(question)["input_ids"], question]
        program = f"""if True:
            import json, sys
            sys.modules["hf_symbinv"] = None  # importing it fails
            from transformers import AutoTokenizer
            for name, (text, *_) in {expected!r}.items():
                tokenizer = AutoTokenizer.from_pretrained({str(tmp_path)!r} + "/" + name, trust_remote_code=True)
                found = tokenizer(text)
                again = tokenizer.decode(found["input_ids"], symbols=found.symbols, skip_special_tokens=True)
                print(json.dumps([name, [text, found["input_ids"], again]]))
        """
        cache = {**os.environ, "HF_MODULES_CACHE": str(tmp_path / "modules")}
        result = forks.run(["-c", program], imported=forks.TORCH, folder=tmp_path, environment=cache)
        assert result.returncode == 0, result.stderr
        assert dict(map(json.loads, result.stdout.splitlines())) == expected


class TestFixedNames:
    @pytest.mark.parametrize("name", KINDS)
    def test_a_fixed_list_of_names_gives_the_same_ids_in_every_example(self, name, tmp_path):
        tokenizer, question, answer = KINDS[name]
        tokenizer.save_pretrained(tmp_path)
        fixed = AutoTokenizer.from_pretrained(tmp_path, fixed_names=PLAIN[::-1])
        fixed.save_pretrained(tmp_path)
        for made in (fixed, AutoTokenizer.from_pretrained(tmp_path)):
            first = made.vocab_size
            found = made(question, text_target=answer)
            assert {first + 4, first + 3} == {index for index in found["input_ids"] if index >= first}
            assert made.convert_tokens_to_ids("red") == first + 4 == made.get_vocab()["red"] and len(made) == first + 5
            assert made.decode(found["labels"], skip_special_tokens=True) == answer
            assert found.symbols == PLAIN[::-1]
            assert made(text_target=answer)["input_ids"] == found["labels"]  # its numbers need no question
            with pytest.raises(TokenizationError, match=r"symbol 'zebra': .* fixed list of names \(pink grey blue"):
                made(renamed(question, ["zebra"]))

    def test_a_list_with_a_name_twice_is_refused(self):
        with pytest.raises(TokenizationError, match="symbols: 'é' stands twice"):
            SymbolInvariantTokenizer([], fixed_names=["é", "é"])


def test_a_tokenizer_of_an_earlier_version_is_refused_as_its_ids_mean_something_else():
    for made in (SymbolInvariantTokenizer, SymbolInvariantTextTokenizer):
        with pytest.raises(ValueError, match=r"saved by an earlier version.* make it anew"):
            made(["let"], symbols={"zebra": 26})
