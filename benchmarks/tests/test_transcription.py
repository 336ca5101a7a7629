"""The transcription of the paper's algorithms is the model, where every symbol of the vocabulary occurs."""

import random

import pytest
import torch

from hf_symbinv import SymbolInvariantConfig, SymbolInvariantForConditionalGeneration

SIZES = {"d_model": 12, "encoder_layers": 2, "decoder_layers": 2, "num_attention_heads": 3, "d_ff": 10, "dropout": 0.0}
BASE, SYMBOLS, START = 13, 4, 0


def both(**fields):
    """Our model with every parameter random, and the transcription with its weights."""
    from transcription import Transcription

    config = SymbolInvariantConfig.from_preset("ltl", num_symbols=SYMBOLS, **{**SIZES, **fields})
    ours = SymbolInvariantForConditionalGeneration(config).double().eval()
    generator = torch.Generator().manual_seed(0)
    for parameter in ours.parameters():
        parameter.data = 0.5 * torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
    peer = Transcription(config).double().eval()
    peer.take_weights(ours)
    return ours, peer


def batch(seed=0):
    """Questions that have all symbols, of different lengths, and answers with their symbols."""
    rng = random.Random(seed)
    rows, answers = [], []
    for extra in (0, 3, 1):
        leaves = [*range(BASE, BASE + SYMBOLS), *(rng.randrange(BASE, BASE + SYMBOLS) for _ in range(extra))]
        rng.shuffle(leaves)
        rows.append([*[5] * (len(leaves) - 1), *leaves, 2])
        answers.append([9, *(rng.choice([3, 8, *leaves]) for _ in range(4)), 10, 2])
    width = max(map(len, rows))
    ids = torch.tensor([[*row, *[1] * (width - len(row))] for row in rows])
    return {"input_ids": ids, "attention_mask": (ids != 1).long(), "labels": torch.tensor(answers)}


@pytest.mark.parametrize("loss", ["adacos", "cross_entropy"])
def test_loss_and_gradients_are_those_of_the_model(loss):
    plain = {"normalize_features": False, "normalize_embeddings": False} if loss == "cross_entropy" else {}
    ours, peer = both(loss=loss, **plain)
    inputs = batch(1)
    inputs["labels"][0, -1] = -100
    labels = int((inputs["labels"] != -100).sum())
    found = peer.loss(**inputs) / labels
    expected = ours(**inputs).loss
    torch.testing.assert_close(found, expected)
    found.backward()
    expected.backward()
    gradients = dict(peer.named_parameters())
    for name, parameter in ours.named_parameters():
        torch.testing.assert_close(gradients[name].grad, parameter.grad)


def test_a_symbol_that_does_not_occur_has_a_stream_too_and_takes_part_in_means():
    ours, peer = both()
    ids = torch.tensor([[5, BASE, BASE + 1, 2]])
    targets = torch.tensor([[START, BASE]])
    with torch.no_grad():
        assert peer.embed(ids)[0].shape[1] == SYMBOLS
        known = ours(ids, decoder_input_ids=targets, return_id_logits=True).logits
        assert not torch.allclose(peer(ids, torch.ones_like(ids), targets)[..., :BASE], known[..., :BASE])


def test_models_that_are_not_transcribed_are_refused():
    from transcription import Transcription

    with pytest.raises(ValueError, match=r"symbol_embedding='learned', positions=\('tree', 'rope'\), num_symbols=5"):
        Transcription(SymbolInvariantConfig.from_preset("ltl", symbol_embedding="learned", components=None))
