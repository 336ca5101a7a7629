"""The renaming law for any model: counterexamples in ordinary models, none in those that obey it, canonical names."""

import random

import pytest
import torch
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    BertConfig,
    BertForSequenceClassification,
    GPT2Config,
    GPT2LMHeadModel,
    T5Config,
    T5ForConditionalGeneration,
    Trainer,
    TrainingArguments,
)

import hf_symbinv
from hf_symbinv import RenamingLawError, SymbolIds, SymbolInvariantConfig, assert_invariant, canonical

SYMBOLS = list(range(20, 26))


def bart():
    config = BartConfig(
        vocab_size=30, d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32, max_position_embeddings=64,
        forced_eos_token_id=None,
    )  # fmt: skip
    return BartForConditionalGeneration(config)


def t5():
    sizes = {"d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 1, "num_heads": 2}
    return T5ForConditionalGeneration(T5Config(vocab_size=30, decoder_start_token_id=0, **sizes))


def gpt2():
    ends = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
    return GPT2LMHeadModel(GPT2Config(vocab_size=30, n_embd=16, n_layer=1, n_head=2, n_positions=64, **ends))


def bert():
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    return BertForSequenceClassification(BertConfig(vocab_size=30, num_labels=3, **sizes))


FOREIGN = {"bart": bart, "t5": t5, "gpt2": gpt2, "bert": bert}


def foreign(name):
    torch.manual_seed(1)
    model = FOREIGN[name]().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter))
    return model


def batch(seed=0, rows=3, length=8, labelled=True, model=None):
    rng = random.Random(seed)
    ids = torch.tensor([[rng.choice([*range(5, 12), *SYMBOLS * 2]) for _ in range(length)] for _ in range(rows)])
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    if labelled and model != "bert":
        answers = torch.tensor([[*rng.sample(row.tolist(), 4), -100] for row in ids])
        inputs["labels"] = ids if model == "gpt2" else answers
    return inputs


@pytest.mark.parametrize("labelled", [True, False])
@pytest.mark.parametrize("name", FOREIGN)
def test_a_counterexample_is_found_in_every_ordinary_model(name, labelled):
    with pytest.raises(RenamingLawError) as caught:
        assert_invariant(foreign(name), SYMBOLS, batch(labelled=labelled, model=name), max_new_tokens=6)
    error = caught.value
    assert 1 <= len(error.renaming) <= 2  # an exchange of two
    assert set(error.renaming) <= set(SYMBOLS) and f"row {error.row}" in str(error)
    assert set(error.input_ids.tolist()) & set(error.renaming)


@pytest.mark.parametrize("labelled", [True, False])
@pytest.mark.parametrize("name", FOREIGN)
def test_with_canonical_names_every_model_obeys_the_law_bit_for_bit(name, labelled):
    wrapped = canonical(foreign(name), SYMBOLS)
    tried = assert_invariant(wrapped, SYMBOLS, batch(labelled=labelled, model=name), trials=3, max_new_tokens=4)
    assert tried == 6 * 5 // 2 + 3


def test_canonical_names_are_those_of_a_loop_over_tokens():
    """The oracle renames one example at a time, by a dictionary, and asks the model as it is."""
    model = foreign("bart")
    inputs = batch()
    wrapped = canonical(model, SYMBOLS)
    got = wrapped(**inputs)
    written = wrapped.generate(input_ids=inputs["input_ids"], num_beams=2, num_return_sequences=2, max_new_tokens=5)
    for row, (ids, labels) in enumerate(zip(inputs["input_ids"].tolist(), inputs["labels"].tolist(), strict=True)):
        order = list(dict.fromkeys(token for token in ids + labels if token in SYMBOLS))
        names = dict(zip([*order, *(s for s in SYMBOLS if s not in order)], SYMBOLS, strict=True))
        back = {new: old for old, new in names.items()}
        new = torch.tensor([[names.get(token, token) for token in ids]])
        answer = torch.tensor([[names.get(token, token) for token in labels]])
        with torch.no_grad():
            logits = model(input_ids=new, labels=answer).logits[0]
        for column in range(30):
            torch.testing.assert_close(got.logits[row, :, column], logits[:, names.get(column, column)])
        alone = list(dict.fromkeys(token for token in ids if token in SYMBOLS))
        names = dict(zip([*alone, *(s for s in SYMBOLS if s not in alone)], SYMBOLS, strict=True))
        back = {new: old for old, new in names.items()}
        new = torch.tensor([[names.get(token, token) for token in ids]])
        expected = model.generate(input_ids=new, num_beams=2, num_return_sequences=2, max_new_tokens=5)
        for one, two in zip(written[2 * row : 2 * row + 2].tolist(), expected.tolist(), strict=True):
            assert one == [back.get(token, token) for token in two]


def own(embedding, causal=False):
    torch.manual_seed(0)
    sizes = {"d_model": 16, "encoder_layers": 1 - causal, "decoder_layers": 1, "num_attention_heads": 2, "d_ff": 16}
    kind = hf_symbinv.SymbolInvariantForCausalLM if causal else hf_symbinv.SymbolInvariantForConditionalGeneration
    model = kind(SymbolInvariantConfig(symbol_embedding=embedding, num_symbols=6, random_dim=6, **sizes)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return model


@pytest.mark.parametrize("kind", ["streams", "canonical", "learned", "random", "causal streams", "causal learned"])
def test_of_this_packages_models_those_obey_that_must(kind):
    causal, kind = kind.startswith("causal"), kind.split()[-1]
    ids = torch.tensor([[3, 13, 14, 5, 15, 13], [13, 16, 4, 17, 18, 6]])
    answers = {"labels": ids} if causal else {"decoder_input_ids": torch.tensor([[0, 14, 3], [0, 16, 13]])}
    inputs, model = {"input_ids": ids, **answers}, own(kind, causal)
    symbols = SymbolIds.of_model(model)
    if kind in ("learned", "random"):
        with pytest.raises(RenamingLawError):
            assert_invariant(model, symbols, inputs, max_new_tokens=5)
        model = canonical(model)
    assert assert_invariant(model, symbols, inputs, trials=5, max_new_tokens=5) == 20


def test_trainer_trains_a_model_through_the_wrapper(tmp_path):
    wrapped = canonical(foreign("gpt2"), SYMBOLS)
    before = wrapped.get_input_embeddings().weight.clone()
    rows = [{"input_ids": ids, "labels": ids} for ids in batch()["input_ids"].tolist()]
    options = {"remove_unused_columns": False, "save_strategy": "no", "dataloader_pin_memory": False}
    Trainer(wrapped, TrainingArguments(tmp_path, max_steps=1, **options), train_dataset=rows).train()
    assert not torch.equal(wrapped.get_input_embeddings().weight, before)


def test_the_bundled_checkpoint_obeys_and_texts_are_taken_with_a_tokenizer():
    loaded = hf_symbinv.checkpoint("ltl-small")
    model = hf_symbinv.SymbolInvariantForConditionalGeneration.from_pretrained(loaded)
    tokenizer = hf_symbinv.SymbolInvariantTokenizer.from_pretrained(loaded)
    assert assert_invariant(model, tokenizer, ["&aXb", "U&ab!c"], trials=5) == 11  # 6 exchanges, of a, b, c and d


def test_a_model_with_dropout_breaks_the_law_and_a_tolerance_is_kept():
    ids = torch.tensor([[3, 13, 14, 5, 15, 13]])
    inputs = {"input_ids": ids, "decoder_input_ids": torch.tensor([[0, 14, 3]])}
    model = own("streams").train()
    symbols = SymbolIds.of_model(model)
    with pytest.raises(RenamingLawError, match="logits that should be equal differ by up to") as caught:
        assert_invariant(model, symbols, inputs)
    assert caught.value.difference > 0
    torch.manual_seed(0)
    exact = own("streams").train(False)
    assert assert_invariant(exact, symbols, inputs, trials=1, tolerance=0.0) == 7


def test_views_stay_and_referents_move():
    symbols = SymbolIds(torch.tensor([[10, 11], [12, 13], [14, 15]]))
    images = torch.tensor([[1, 2, 0]])
    ids = torch.tensor([[3, 10, 13, 14, 11]])
    assert symbols.renamed(ids, images).tolist() == [[3, 12, 15, 10, 13]]
    logits = torch.arange(16.0).view(1, 1, 16)
    moved = symbols.columns_renamed(logits, images)
    for old in range(16):
        new = int(symbols.renamed(torch.tensor([[old]]), images))
        assert moved[0, 0, new] == logits[0, 0, old]


class Words:
    """As much of a tokenizer as `of_words` asks for: a word is a token, and one with a hyphen is two."""

    unk_token, unk_token_id = "<unk>", 4

    def __call__(self, word, add_special_tokens):
        return {"input_ids": [len(part) for part in word.split("-")]}

    def convert_ids_to_tokens(self, ids):
        return [f"<{number}>" for number in ids]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: SymbolIds.of_words(Words(), ["a", "b-cc"]), "'b-cc' is 2 tokens, ['<1>', '<2>']; a symbol must be"),
        (lambda: SymbolIds.of_words(Words(), ["a", "lion"]), "'lion' is 1 tokens, ['<4>']; a symbol must be one of"),
        (lambda: canonical(foreign("gpt2"), ["a"])(**batch()), "symbols=['a']: symbols are token ids; give a list of"),
        (lambda: SymbolIds.of_words(Words(), ["a", "b"]), "every id must be at least 0 and stand in it once"),
        (lambda: SymbolIds(torch.zeros(0, 1, dtype=torch.long)), "it must be (referents, views), neither 0"),
        (lambda: SymbolIds.of_model(foreign("gpt2")), "GPT2LMHeadModel does not say which ids are symbols"),
        (lambda: assert_invariant(foreign("gpt2"), [20], batch()), "fewer than two symbols"),
        (lambda: assert_invariant(foreign("gpt2"), [28, 29], batch()), "no symbol occurs in the inputs"),
        (lambda: assert_invariant(foreign("gpt2"), SYMBOLS, {}), "inputs have no input_ids"),
        (lambda: assert_invariant(foreign("gpt2"), SYMBOLS, "a b"), "inputs='a b': token ids do not say how texts are"),
    ],
)
def test_what_cannot_be_tried_is_refused(call, message):
    with pytest.raises(ValueError) as caught:
        call()
    assert message in str(caught.value)
