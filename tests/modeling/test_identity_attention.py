"""Identity-reparametrised attention in every attention of an encoder-decoder, and what it leaves alone."""

import random

import pytest
import torch

from hf_symbinv import SymbolInvariantConfig, SymbolInvariantForConditionalGeneration

from .test_model import assert_agrees, examples
from .test_renaming_law import GENERATIONS, answers_for, batch_of, generate, id_logits, renamings
from .tiny import pad, rename, tiny_model

ALL = ["EP", "EA", "DP", "DA", "CP", "CA"]
IDENTITY = {"identity_qk": True, "identity_vo": True, "identity_multiplier": 0.3}


@pytest.mark.parametrize("decoder_positions", ["rope", "t5"])
@pytest.mark.parametrize("changes", [IDENTITY, {"identity_qk": True}, {"identity_vo": True}], ids=str)
def test_every_block_adds_the_identities_of_the_pseudocode_to_its_products(changes, decoder_positions):
    model = tiny_model(components=ALL, decoder_positions=decoder_positions, **changes)
    sources, targets = examples(model.config)
    assert_agrees(model, sources, targets)
    model.set_attn_implementation("eager")
    assert_agrees(model, sources, targets, side="left", target_side="left")


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_relative_positions_agree_with_the_pseudocode_also_with_streams(attention):
    model = tiny_model(components=ALL, decoder_positions="t5", attention=attention)
    sources, targets = examples(model.config)
    assert_agrees(model, sources, targets)
    assert_agrees(model, sources, targets, side="left", target_side="left", extra=3)


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_with_all_scalars_zero_the_model_is_the_plain_one(attention):
    plain, reparametrised = (tiny_model(components=ALL, attention=attention, **options) for options in ({}, IDENTITY))
    state = reparametrised.state_dict()
    zeros = {name: torch.zeros_like(tensor) for name, tensor in state.items() if "identity" in name}
    reparametrised.load_state_dict({**plain.state_dict(), **zeros})
    sources, targets = examples(plain.config)
    batch, prompt = pad(sources), pad(targets)["input_ids"]
    with torch.no_grad():
        logits = [model(**batch, decoder_input_ids=prompt).logits for model in (plain, reparametrised)]
    torch.testing.assert_close(*logits, atol=1e-12, rtol=0)


@pytest.mark.parametrize("kind", GENERATIONS)
def test_renaming_renames_what_is_generated_bit_for_bit(kind):
    rng = random.Random(3)
    model = tiny_model(dtype=torch.float32, seed=1, components=ALL, decoder_positions="t5", **IDENTITY)
    batch, symbols = batch_of(rng, model, (3, 1, 2))
    targets = answers_for(rng, batch)
    logits, written = id_logits(model, batch, targets), generate(model, batch, kind)
    for renaming in renamings(rng, symbols, 3):
        renamed = {**batch, "input_ids": rename(batch["input_ids"], renaming)}
        base = model.config.base_vocab_size
        columns = [*range(base), *(base + renaming[symbol] for symbol in symbols)]
        expected = logits[..., [*range(base), *(base + symbol for symbol in symbols)]]
        assert torch.equal(id_logits(model, renamed, rename(targets, renaming))[..., columns], expected)
        assert torch.equal(generate(model, renamed, kind), rename(written, renaming))


def test_generation_with_and_without_a_cache_agrees_also_for_beams():
    model = tiny_model(seed=1, components=ALL, decoder_positions="t5", **IDENTITY)
    batch, _ = batch_of(random.Random(3), model, (3, 1, 2))
    for options in ({}, {"num_beams": 3, "num_return_sequences": 2}):
        cached = model.generate(**batch, max_new_tokens=12, **options)
        assert torch.equal(cached, model.generate(**batch, max_new_tokens=12, use_cache=False, **options))


def test_two_scalars_per_head_and_block_are_all_that_is_added():
    def count(**changes):
        with torch.device("meta"):
            model = SymbolInvariantForConditionalGeneration(SymbolInvariantConfig(components=ALL, **changes))
        return sum(parameter.numel() for parameter in model.parameters())

    blocks = 8 * 2 + 8 * 4
    assert count(**IDENTITY) - count() == blocks * 4 * 2
    assert count(identity_vo=True) - count() == blocks * 4
    assert count(decoder_positions="t5") - count() == 32 * 4


def test_the_multiplier_changes_the_gradient_and_not_the_model():
    slow, fast = (tiny_model(identity_qk=True, identity_vo=True, identity_multiplier=m) for m in (1.0, 10.0))
    state = {name: tensor / 10 if "identity" in name else tensor for name, tensor in slow.state_dict().items()}
    fast.load_state_dict(state)
    sources, targets = examples(slow.config, counts=(3, 2))
    labels = pad([[token for token in row if token != 13 + 77] for row in targets], value=-100)["input_ids"]
    losses = [model(**pad(sources), labels=labels).loss for model in (slow, fast)]
    torch.testing.assert_close(*losses)
    for loss in losses:
        loss.backward()
    for (name, one), other in zip(slow.named_parameters(), fast.parameters(), strict=True):
        torch.testing.assert_close(other.grad, one.grad * (10 if "identity" in name else 1))
