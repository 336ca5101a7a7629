"""Encoders that classify each token, or fill masks: what they compute, what renaming does to it, and how they learn."""

import math
from functools import cache, partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import pipeline

from hf_symbinv import (
    SymbolInvariantConfig,
    SymbolInvariantForMaskedLM,
    SymbolInvariantForSequenceClassification,
    SymbolInvariantForTokenClassification,
    SymbolInvariantWordTokenizer,
)

from .reference import EncoderReference, cross_entropy
from .test_classification import BASE, STREAMS, SYMBOLS, VIEWS, config, encoder, made, symbol, texts
from .tiny import pad, rename

MASK = 2
LAWFUL = {
    "streams": STREAMS,
    "streams, one view": {**STREAMS, "num_views": 1},
    "streams without aggregation": {"symbol_embedding": "streams", "components": ["EP"]},
    "canonical": {"symbol_embedding": "canonical"},
    "canonical, one view": {"symbol_embedding": "canonical", "num_views": 1},
}
OTHERS = {"learned": {"symbol_embedding": "learned"}, "renamed": {"symbol_embedding": "renamed"}}
VARIANTS = [
    {},
    {"encoder_positions": "sinusoidal", "normalize_embeddings": True, "normalize_features": True},
    {"encoder_positions": "rope", "normalize_embeddings": True, "normalize_features": True, "loss": "adacos"},
    {"identity_qk": True, "identity_vo": True, "norm_first": True},
    {"identity_qk": True, "identity_vo": True},
]


labeller = partial(made, SymbolInvariantForTokenClassification, num_labels=4)
filler = partial(made, SymbolInvariantForMaskedLM, num_labels=4, symbol_embedding="streams")


def one_view(rows, views=VIEWS):
    """The same rows for a model with so many views; with one view a symbol is its referent."""
    return rows if views == VIEWS else [[BASE + (t - BASE) // VIEWS if t >= BASE else t for t in row] for row in rows]


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("changes", VARIANTS, ids=str)
@pytest.mark.parametrize("embedding", [{}, *LAWFUL.values(), *OTHERS.values()], ids=["views", *LAWFUL, *OTHERS])
def test_classes_are_those_of_the_pseudocode_however_padded(embedding, changes, attention):
    model = labeller(**{**changes, **embedding}, attention=attention)
    rows = one_view(texts(), model.config.num_views)
    expected = [EncoderReference(model).classify(row) for row in rows]
    with torch.no_grad():
        for side in ("right", "left"):
            batch = pad(rows, side, value=BASE + 2)
            logits = model(**batch).logits
            for row, mask, own in zip(logits, batch["attention_mask"].bool(), expected, strict=True):
                np.testing.assert_allclose(row[mask], own, rtol=0, atol=1e-10)
        alone = model(torch.tensor(rows[1:2])).logits
    np.testing.assert_allclose(alone[0], expected[1], rtol=0, atol=1e-10)


@pytest.mark.parametrize("changes", VARIANTS, ids=str)
@pytest.mark.parametrize("embedding", [*LAWFUL.values(), *OTHERS.values()], ids=[*LAWFUL, *OTHERS])
def test_filled_masks_are_those_of_the_pseudocode_however_padded(embedding, changes):
    model = filler(**{**changes, **embedding})
    if model.adacos is not None:
        model.adacos.scale.fill_(3.25)
    rows = one_view(texts(), model.config.num_views)
    expected = [EncoderReference(model).fill(row) for row in rows]
    with torch.no_grad():
        for batch in (pad(rows, "right", value=BASE + 2), pad(rows, "left"), pad(rows[1:2])):
            logits = model(**batch).logits
            known = expected if len(logits) > 1 else expected[1:2]
            for row, mask, own in zip(logits, batch["attention_mask"].bool(), known, strict=True):
                for given, wanted in zip(row[mask], own, strict=True):
                    assert given[given > -math.inf].numel() == len(wanted)
                    np.testing.assert_allclose(given[list(wanted)], list(wanted.values()), rtol=0, atol=1e-10)


@cache
def lawful(make, name, dtype, *fields):
    return make(**LAWFUL.get(name, {}), **dict(fields), dtype=dtype)


# What a classifier has besides: nothing, identities, and a pooler as BERT.
CLASSIFIERS = [(), (("identity_qk", True),), (("embedding_norm", True), ("pooling", "pooler"))]


@settings(deadline=None, max_examples=15)
@given(data=st.data())
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", ["views", *LAWFUL])
def test_renaming_referents_keeps_each_class_and_renames_each_filled_mask_bit_for_bit(name, dtype, data):
    counts = data.draw(st.lists(st.integers(0, SYMBOLS), min_size=1, max_size=4))
    images = data.draw(st.lists(st.integers(0, 400), min_size=SYMBOLS, max_size=SYMBOLS, unique=True))
    seed, renaming = data.draw(st.integers(0, 99)), dict(enumerate(images))
    views = LAWFUL.get(name, {}).get("num_views", VIEWS)
    batch = pad(one_view(texts(counts, seed=seed), views))
    renamed = {**batch, "input_ids": rename(batch["input_ids"], renaming, BASE, views)}
    with torch.no_grad():
        for make, fields in ((labeller, ()), *((encoder, fields) for fields in CLASSIFIERS)):
            model = lawful(make, name, dtype, *fields)
            assert torch.equal(model(**batch).logits, model(**renamed).logits)
        if name == "views":
            return
        model = lawful(filler, name, dtype)
        before, after = model(**batch).logits, model(**renamed).logits
        expected = torch.full_like(after, -math.inf)
        expected[..., :BASE] = before[..., :BASE]
        for old, new in renaming.items():
            for view in range(views):
                if BASE + new * views + view < expected.shape[-1]:
                    expected[..., BASE + new * views + view] = before[..., BASE + old * views + view]
        assert torch.equal(after, expected)
        in_slots = [model(**inputs, return_id_logits=False).logits for inputs in (batch, renamed)]
        assert torch.equal(*in_slots)


class TestLoss:
    LABELS = ([0, 3, -100], [1, 2, 2])

    def test_of_classes_is_the_mean_cross_entropy_of_the_labels_that_are_there(self):
        model, batch = labeller(**STREAMS), pad([[3, symbol(0, 0)], [symbol(1, 1), 4, symbol(0, 2)]])
        labels = torch.tensor(self.LABELS)
        output = model(**batch, labels=labels)
        kept = labels != -100
        assert output.loss.item() == pytest.approx(cross_entropy(output.logits[kept].tolist(), labels[kept].tolist()))
        assert model(**batch, labels=torch.full_like(labels, -100)).loss == 0

    @pytest.mark.parametrize("smoothing", [0.0, 0.2])
    @pytest.mark.parametrize("changes", [STREAMS, *OTHERS.values(), {"symbol_embedding": "canonical"}], ids=str)
    def test_of_filled_masks_takes_ids_and_spreads_smoothing_over_what_can_stand_there(self, changes, smoothing):
        model = filler(**changes, label_smoothing=smoothing)
        rows = [[MASK, symbol(3, 1), 4, symbol(0, 2)], [symbol(1, 0), MASK, MASK, 5]]
        labels = torch.tensor([[symbol(3, 2), -100, -100, -100], [-100, symbol(1, 0), 4, -100]])
        output, total = model(torch.tensor(rows), labels=labels), 0.0
        filled = [EncoderReference(model).fill(row) for row in rows]
        for row, place in ((0, 0), (1, 1), (1, 2)):
            logits = filled[row][place]
            logs = {token: x - math.log(sum(map(math.exp, logits.values()))) for token, x in logits.items()}
            smooth = sum(logs.values()) / len(logs)
            total -= (1 - smoothing) * logs[int(labels[row, place])] + smoothing * smooth
        assert output.loss.item() == pytest.approx(total / 3)
        assert output.logits.shape[-1] == model.config.vocab_size  # as a trainer joins them

    def test_renamed_rows_are_permuted_with_the_labels_in_training(self):
        model = filler(symbol_embedding="renamed").train()
        ids = torch.tensor([[MASK, symbol(3, 1), 4]])
        for seed in range(4):
            torch.manual_seed(seed)
            output = model(ids, labels=torch.tensor([[symbol(3, 1), -100, -100]]), return_id_logits=True)
            expected = -output.logits[0, 0].log_softmax(-1)[symbol(3, 1)]
            torch.testing.assert_close(output.loss, expected)


@pytest.mark.parametrize(
    ("make", "labels", "message"),
    [
        (labeller, [[1, 2]], r"labels has shape \(1, 2\), input_ids \(1, 3\); give one class per token"),
        (filler, [[1, 2]], r"labels has shape \(1, 2\), input_ids \(1, 3\); give one id per token"),
        (
            filler, [[symbol(4, 1), -100, -100]],
            r"labels\[0, 0\]=20: this symbol does not occur in the input, so no stream can predict it; leave such",
        ),
    ],
)  # fmt: skip
def test_labels_that_cannot_be_learned_are_refused(make, labels, message):
    with pytest.raises(ValueError, match=message):
        make(**STREAMS)(torch.tensor([[MASK, symbol(3, 1), 4]]), labels=torch.tensor(labels))


def test_what_cannot_be_is_refused_in_a_sentence():
    with pytest.raises(ValueError, match=r'symbol_embedding="views": all symbols have one row .* use "streams"'):
        SymbolInvariantForMaskedLM(config())
    for kind in (SymbolInvariantForMaskedLM, SymbolInvariantForTokenClassification):
        with pytest.raises(ValueError, match=rf"is encoder-decoder, {kind.__name__} encoder-only; use AutoModelForSeq"):
            kind(SymbolInvariantConfig())
    with pytest.raises(ValueError, match="num_items_in_batch without labels: a trainer took them away"):
        filler()(torch.tensor([[MASK, symbol(3, 1), 4]]), num_items_in_batch=torch.tensor(1))
    with pytest.raises(ValueError, match=r"inputs_embeds of shape .*; pass input_ids"):
        labeller()(inputs_embeds=torch.zeros(1, 3, 18))


@pytest.mark.parametrize("make", [labeller, filler])
def test_a_saved_model_lends_its_encoder_to_another(tmp_path, make):
    model, batch = make(**STREAMS, dtype=torch.float32), pad(texts())
    model.save_pretrained(tmp_path)
    new = set() if make is labeller else {"classifier.weight", "classifier.bias"}
    for other in (SymbolInvariantForSequenceClassification, SymbolInvariantForTokenClassification):
        started, info = other.from_pretrained(tmp_path, output_loading_info=True)
        assert info["missing_keys"] == new and not info["unexpected_keys"]
        assert torch.equal(started.model(**batch).last_hidden_state, model.model(**batch).last_hidden_state)


TABLE = {
    "base_tokens": ["<s>", "<pad>", "</s>", "<mask>", "=", "+", ";"],
    "symbols": {name: [index, 0] for index, name in enumerate("abcdef")},
    "add_bos_token": True,
    "mask_token": "<mask>",
}


def test_the_pipelines_of_transformers_take_both_models():
    tokenizer = SymbolInvariantWordTokenizer(**TABLE)
    options = {**STREAMS, "base_vocab_size": 7, "num_views": 1, "num_symbols": 6, "dtype": torch.float32}
    names = {"id2label": {0: "O", 1: "FIRST"}, "label2id": {"O": 0, "FIRST": 1}}
    classes = pipeline("token-classification", model=labeller(**options, **names, num_labels=2), tokenizer=tokenizer)
    for one, other in zip(*(classes(text, ignore_labels=[]) for text in ("a = b + a", "e = c + e")), strict=True):
        assert (one["entity"], one["score"], one["index"]) == (other["entity"], other["score"], other["index"])
        assert one["word"].translate(str.maketrans("ab", "ec")) == other["word"]
    assert [entity["word"] for entity in classes("a = b + a", ignore_labels=[])] == ["a", "=", "b", "+", "a"]
    fill = pipeline("fill-mask", model=filler(**options), tokenizer=tokenizer)
    first, second = fill("a = b + <mask>", top_k=9), fill("e = c + <mask>", top_k=9)
    assert [found["score"] for found in first] == [found["score"] for found in second]
    told = [{"a": "e", "b": "c"}.get(found["token_str"], found["token_str"]) for found in first]
    assert told == [found["token_str"] for found in second] and {"e", "c"} <= set(told)
    targets = fill("a = b + <mask>", targets=["a", "b"])
    assert {found["token_str"] for found in targets} == {"a", "b"}
    assert {found["sequence"] for found in targets} == {"a = b + a", "a = b + b"}
