"""With a LayerNorm of embeddings and a pooler the encoder is BERT: Hugging Face's own, weight by weight."""

import pytest
import torch
from transformers import BertConfig, BertForSequenceClassification

from hf_symbinv import SymbolInvariantConfig, SymbolInvariantForSequenceClassification

from .tiny import pad

BASE, VIEWS, SYMBOLS = 7, 3, 4
VOCABULARY = BASE + VIEWS * SYMBOLS
BERT = {"embedding_norm": True, "pooling": "pooler", "initializer_range": 0.02}
# Ours → Hugging Face's.
LAYER = {
    "self_attention.EP.q_proj": "attention.self.query", "self_attention.EP.k_proj": "attention.self.key",
    "self_attention.EP.v_proj": "attention.self.value", "self_attention.EP.out_proj": "attention.output.dense",
    "self_attention.EP.norm": "attention.output.LayerNorm", "feed_forward.fc1": "intermediate.dense",
    "feed_forward.fc2": "output.dense", "feed_forward.norm": "output.LayerNorm",
}  # fmt: skip
OUTSIDE = {
    "model.embedding_norm": "bert.embeddings.LayerNorm", "pooler": "bert.pooler.dense", "classifier": "classifier"
}  # fmt: skip


def config(**changes) -> SymbolInvariantConfig:
    fields = {"base_vocab_size": BASE, "num_symbols": SYMBOLS, "num_views": VIEWS, "symbol_embedding": "learned",
              "d_model": 18, "num_attention_heads": 3, "d_ff": 11, "max_positions": 13, "num_labels": 5}  # fmt: skip
    return SymbolInvariantConfig.from_preset("renamer-tiny", **{**fields, **BERT, **changes})


def bert() -> BertForSequenceClassification:
    """In evaluation mode, with random parameters, so that each one matters."""
    torch.manual_seed(0)
    model = BertForSequenceClassification(
        BertConfig(
            vocab_size=VOCABULARY, hidden_size=18, num_hidden_layers=2, num_attention_heads=3, intermediate_size=11,
            max_position_embeddings=13, num_labels=5, pad_token_id=1,
        )
    )  # fmt: skip
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.4)
    return model.double().eval()


def with_weights_of(theirs: BertForSequenceClassification, **changes) -> SymbolInvariantForSequenceClassification:
    model = SymbolInvariantForSequenceClassification(config(**changes)).double().eval()
    given = theirs.state_dict()
    # We have no types of segments: BERT's first one is part of all positions.
    positions = (
        given["bert.embeddings.position_embeddings.weight"] + given["bert.embeddings.token_type_embeddings.weight"][0]
    )
    weights = {
        "model.embedding.weight": given["bert.embeddings.word_embeddings.weight"],
        "model.encoder.positions.weight": positions,
    }
    names = dict(OUTSIDE)
    for layer in range(2):
        names |= {
            f"model.encoder.layers.{layer}.{own}": f"bert.encoder.layer.{layer}.{name}" for own, name in LAYER.items()
        }
    for own, name in names.items():
        weights |= {f"{own}.{part}": given[f"{name}.{part}"] for part in ("weight", "bias")}
    model.load_state_dict(weights)  # strict: none is left over, and none is missing
    return model


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_outputs_and_gradients_are_those_of_hugging_faces_bert(attention):
    theirs = bert()
    ours = with_weights_of(theirs)
    ours.config._attn_implementation = attention
    batch = pad([[0, 7, 4, 9, 18, 2], [0, 3, 8], [0, 5, 5, 16, 12, 11, 6, 10, 2, 4, 13]])
    labels = torch.tensor([3, 0, 4])
    expected, found = (model(**batch, labels=labels, output_hidden_states=True) for model in (theirs, ours))
    torch.testing.assert_close(found.logits, expected.logits, rtol=0, atol=1e-10)
    mask = batch["attention_mask"].bool()
    for own, other in zip(found.hidden_states, expected.hidden_states, strict=True):
        torch.testing.assert_close(own.squeeze(1)[mask], other[mask], rtol=0, atol=1e-10)
    for output in (expected, found):
        output.loss.backward()
    for own, other in (
        (ours.model.embedding.weight, theirs.bert.embeddings.word_embeddings.weight),
        (ours.model.embedding_norm.bias, theirs.bert.embeddings.LayerNorm.bias),
        (ours.pooler.weight, theirs.bert.pooler.dense.weight),
    ):
        torch.testing.assert_close(own.grad, other.grad, rtol=0, atol=1e-10)


def test_a_new_model_has_weights_as_large_as_those_of_a_new_bert():
    torch.manual_seed(0)
    sizes = {"d_model": 96, "num_attention_heads": 3, "d_ff": 200, "max_positions": 60, "base_vocab_size": 400}
    ours = SymbolInvariantForSequenceClassification(config(**sizes))
    theirs = BertForSequenceClassification(
        BertConfig(vocab_size=412, hidden_size=96, num_hidden_layers=2, num_attention_heads=3, intermediate_size=200,
                   max_position_embeddings=60, num_labels=5)
    )  # fmt: skip
    for own, other in (
        (ours.model.embedding.weight, theirs.bert.embeddings.word_embeddings.weight),
        (ours.model.encoder.positions.weight, theirs.bert.embeddings.position_embeddings.weight),
        (ours.pooler.weight, theirs.bert.pooler.dense.weight),
        (ours.model.encoder.layers[1].feed_forward.fc1.weight, theirs.bert.encoder.layer[1].intermediate.dense.weight),
    ):
        assert own.std().item() == pytest.approx(other.std().item(), rel=0.05) == pytest.approx(0.02, rel=0.05)


def test_without_a_range_positions_of_a_new_model_are_as_large_as_rows():
    torch.manual_seed(0)
    model = SymbolInvariantForSequenceClassification(config(initializer_range=None, d_model=96, max_positions=60))
    assert model.model.encoder.positions.weight.std().item() == pytest.approx(96**-0.5, rel=0.05)
