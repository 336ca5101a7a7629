"""The encoder alone, with views: what it computes, what renaming does to it, its losses, and how it is kept."""

import math
import random
from functools import partial

import numpy as np
import pytest
import torch

from hf_symbinv import SymbolInvariantConfig, SymbolInvariantForSequenceClassification

from .reference import EncoderReference, cross_entropy
from .tiny import pad, randomised

BASE, VIEWS, SYMBOLS = 7, 3, 5
SIZES = {
    "base_vocab_size": BASE, "num_symbols": SYMBOLS, "num_views": VIEWS, "d_model": 18, "encoder_layers": 2,
    "decoder_layers": 0, "num_attention_heads": 3, "d_ff": 11, "dropout": 0.0, "symbol_embedding": "views",
    "encoder_positions": "learned", "max_positions": 12, "normalize_embeddings": False, "loss": "cross_entropy",
    "normalize_features": False, "num_labels": 1,
}  # fmt: skip
STREAMS = {"symbol_embedding": "streams", "components": ["EP", "EA"]}


def config(**changes) -> SymbolInvariantConfig:
    return SymbolInvariantConfig(**{**SIZES, **changes})


def made(kind, *, seed=0, dtype=torch.float64, attention="sdpa", **changes):
    fields = config(**changes)
    fields._attn_implementation = attention
    return randomised(kind(fields), seed=seed, dtype=dtype, identity=0.05)


encoder = partial(made, SymbolInvariantForSequenceClassification)


def symbol(referent: int, view: int) -> int:
    return BASE + referent * VIEWS + view


def texts(counts=(0, 3, 1, 4, 2), seed=0, referents=range(SYMBOLS)) -> list[list[int]]:
    """Rows of different lengths and numbers of referents, each with base tokens and several views that repeat."""
    rng, rows = random.Random(seed), []
    for index, count in enumerate(counts):
        own = rng.sample(list(referents), count)
        symbols = [symbol(rng.choice(own), rng.randrange(VIEWS)) for _ in range(5)] if own else []
        row = [rng.choice([2, 3, 4, 5, 6]) for _ in range(3 + index)] + symbols
        rng.shuffle(row)
        rows.append(row)
    return rows


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"pooling": "mean", "encoder_positions": "sinusoidal", "normalize_embeddings": True},
        {"pooling": "first", "encoder_positions": "rope"},
        {"symbol_embedding": "learned", "num_labels": 4},
        {"symbol_embedding": "renamed"},
        STREAMS,
        {"symbol_embedding": "streams", "components": ["EA"], "num_views": 1, "base_vocab_size": BASE + 8},
        {"identity_qk": True, "identity_vo": True},
        {"embedding_norm": True, "pooling": "pooler"},
        {"encoder_passes": 2, "encoder_positions_in_layers": True},
        {"encoder_passes": 2, "norm_first": True},
        {"embedding_norm": True, "normalize_embeddings": True, "pooling": "mean", "encoder_positions": "rope"},
        {**STREAMS, "embedding_norm": True, "pooling": "pooler", "num_labels": 4},
    ],
    ids=str,
)
def test_predictions_are_those_of_the_pseudocode_however_padded(changes, attention):
    model, rows = encoder(**changes, attention=attention), texts()
    expected = np.stack([EncoderReference(model).predict(row) for row in rows])
    with torch.no_grad():
        for side in ("right", "left"):
            batch = pad(rows, side, value=symbol(2, 1))
            np.testing.assert_allclose(model(**batch).logits, expected, rtol=0, atol=1e-10)
        alone = model(torch.tensor(rows[1:2])).logits
    np.testing.assert_allclose(alone, expected[1:2], rtol=0, atol=1e-10)


def test_in_the_first_layer_only_coreferent_tokens_see_each_other():
    model = encoder()
    ids = torch.tensor([[3, symbol(0, 0), 4, symbol(0, 2), symbol(1, 0), 3]])
    first, second = model(ids, output_attentions=True).attentions
    sees = torch.eye(6, dtype=torch.bool)
    for one, other in ((0, 5), (1, 3)):  # equal base tokens, and two views of a referent
        sees[one, other] = sees[other, one] = True
    assert torch.equal(first[0, 0] > 0, sees.expand(3, -1, -1))
    assert (second > 0).all()


def test_renamed_rows_are_permuted_by_referent_in_training_and_views_stay():
    model = encoder(symbol_embedding="renamed").train()
    ids = torch.tensor([[symbol(0, 0), symbol(0, 2), symbol(3, 0), 4]])
    torch.manual_seed(0)
    embedding = model.model.embedding
    referents = torch.tensor([[0, 0, 3, -1]])
    slots = embedding.assign(referents)
    rows = embedding(ids, slots.of(referents), slots)[0, 0] / math.sqrt(18)
    place = slots.referents[0].argsort()
    expected = [BASE + place[0] * VIEWS, BASE + place[0] * VIEWS + 2, BASE + place[3] * VIEWS, 4]
    torch.testing.assert_close(rows, embedding.weight[torch.tensor(expected)])


class TestLoss:
    @pytest.mark.parametrize(
        ("name", "error"), [("mse", lambda y, p: (y - p) ** 2), ("mape", lambda y, p: abs(1 - p / y))]
    )
    def test_one_label_means_the_mean_of_the_squared_error_or_of_the_one_that_is_chosen_by_name(self, name, error):
        model, batch = encoder(**({} if name == "mse" else {"regression_loss": name})), pad(texts())
        labels = torch.tensor([1.5, -2.0, 100.0, 0.25, 3.0])
        output = model(**batch, labels=labels)
        errors = map(error, labels.tolist(), output.logits.flatten().tolist())
        assert model.config.problem_type == "regression" and output.loss.item() == pytest.approx(sum(errors) / 5)
        assert torch.equal(model(**batch, labels=labels.unsqueeze(1)).loss, output.loss)

    def test_classification_has_the_cross_entropy(self):
        model, batch = encoder(num_labels=4), pad(texts())
        labels = torch.tensor([0, 3, 2, 1, 0])
        output = model(**batch, labels=labels)
        assert output.loss.item() == pytest.approx(cross_entropy(output.logits.tolist(), labels.tolist()))

    @pytest.mark.parametrize(
        ("labels", "message"),
        [
            ([1.0, 0.0, 2.0, 3.0, 4.0], 'labels: 0 has no percentage error; .* or use regression_loss="mse"'),
            ([1.0, 2.0], r"labels has shape \(2,\), the predictions \(5, 1\); give one number per sequence and label"),
        ],
    )
    def test_labels_without_an_error_are_refused(self, labels, message):
        with pytest.raises(ValueError, match=message):
            encoder(regression_loss="mape")(**pad(texts()), labels=torch.tensor(labels))


def test_an_input_longer_than_the_learned_positions_is_refused_unless_it_is_padding():
    model = encoder()
    with pytest.raises(
        ValueError, match=r"an input of 13 tokens: this model has learned 12 positions \(max_positions\)"
    ):
        model(torch.full((1, 13), 3))
    mask = (torch.arange(13) > 0).long().unsqueeze(0)
    torch.testing.assert_close(model(torch.full((1, 13), 3), mask).logits, model(torch.full((1, 12), 3)).logits)


@pytest.mark.parametrize(
    ("symbol_embedding", "rows"),
    [("views", BASE + VIEWS), ("streams", BASE + 2 * VIEWS), ("learned", BASE + SYMBOLS * VIEWS)],
)
def test_the_parameters_are_those_of_the_blocks_and_a_row_per_view(symbol_embedding, rows):
    model = SymbolInvariantForSequenceClassification(
        config(symbol_embedding=symbol_embedding, components=["EP"], num_labels=2)
    )
    d, f = 18, 11
    block = 4 * (d * d + d) + 2 * d + 2 * d * f + f + d + 2 * d
    assert sum(parameter.numel() for parameter in model.parameters()) == 2 * block + (rows + 12) * d + 2 * (d + 1)


def test_presets_have_the_sizes_of_bert():
    for name, layers, width, heads in (("tiny", 2, 128, 2), ("mini", 4, 256, 4), ("small", 4, 512, 8)):
        preset = SymbolInvariantConfig.from_preset(f"renamer-{name}", num_views=9)
        assert (preset.num_hidden_layers, preset.hidden_size, preset.num_attention_heads) == (layers, width, heads)
        assert preset.d_ff == 4 * width and preset.components == ["EP"] and preset.kind == "encoder-only"
