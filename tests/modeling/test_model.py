"""The model computes what the paper's pseudocode says, for every component set, whatever shares the batch."""

import random

import numpy as np
import pytest
import torch

from hf_symbinv import SymbolInvariantConfig, SymbolInvariantForConditionalGeneration
from hf_symbinv.modeling.layers_symbinv import tree_positions

from .reference import Reference, padded, tree_paths
from .test_configuration import TABLE_6
from .tiny import (
    ALL,
    BASE,
    EOS,
    PAD,
    START,
    examples,
    formula,
    pad,
    read_in_pieces,
    tiny_config,
    tiny_model,
)

TOLERANCE = {"rtol": 0, "atol": 1e-10}
ONE_STREAM = {"components": ["EP", "DP", "CP"], "num_symbols": 1000, "random_dim": 7, "random_method": "normal"}


def assert_agrees(model, sources, targets, *, side="right", target_side="right", filling=PAD, extra=0):
    """The batch of all examples gives each one's logits of the oracle, and -inf for symbols of other examples."""
    batch, target = pad(sources, side, filling, extra), pad(targets, target_side)
    decoder_mask = target["attention_mask"] if target_side == "left" else None
    with torch.no_grad():
        output = model(
            **batch, decoder_input_ids=target["input_ids"], decoder_attention_mask=decoder_mask, return_id_logits=False
        )
    reference = Reference(model)
    for row, (source, answer) in enumerate(zip(sources, targets, strict=True)):
        expected = reference.answer(source, answer)
        logits = output.logits[row, -len(answer) :] if target_side == "left" else output.logits[row, : len(answer)]
        width = expected.logits.shape[1]
        assert output.slot_referents[row].tolist() == expected.referents + [-1] * (
            output.slot_referents.shape[1] - len(expected.referents)
        )
        np.testing.assert_allclose(logits[:, :width].numpy(), expected.logits, **TOLERANCE)
        assert (logits[:, width:] == -torch.inf).all()


@pytest.mark.parametrize(("task", "components", "_"), TABLE_6)
def test_every_component_set_of_table_6_agrees_with_the_pseudocode(task, components, _):
    model = tiny_model(task, components=components.split())
    sources, targets = examples(model.config)
    assert_agrees(model, sources, targets)
    model.set_attn_implementation("eager")
    assert_agrees(model, sources, targets, side="left", target_side="left")


SWITCHES = [
    {"components": ["DP", "CP"]},
    {"components": ["DA", "CA"]},
    {"components": ["DP", "EA", "CA", "CP"]},  # blocks of cross-attention apply in the order listed
    *(
        {"components": ALL, "encoder_positions": encoder, "decoder_positions": decoder, "rope_theta": 500.0}
        for encoder in ("tree", "rope", "sinusoidal")
        for decoder in ("rope", "sinusoidal", "t5")
    ),
    *(
        {"components": ALL, "encoder_layers": 2, "encoder_passes": 3, "encoder_positions": positions,
         "encoder_positions_in_layers": True, "identity_qk": True, "norm_first": norm_first}
        for positions in ("tree", "sinusoidal")
        for norm_first in (False, True)
    ),
    *(
        {"components": ALL, "decoder_positions": positions, "identity_multiplier": 0.3, **identities}
        for positions in ("rope", "t5")
        for identities in ({"identity_qk": True}, {"identity_vo": True}, {"identity_qk": True, "identity_vo": True})
    ),
    *(
        {"normalize_embeddings": rows, "normalize_features": features, "loss": "cross_entropy"}
        for rows in (True, False)
        for features in (True, False)
    ),
    {"scale_embedding": False},
    {"components": ALL, "num_views": 3, "grammar": None},
]  # fmt: skip


@pytest.mark.parametrize("changes", SWITCHES, ids=str)
def test_every_switch_agrees_with_the_pseudocode(changes):
    """Symbols under the padding mask stand for nothing, and the saved scale multiplies the cosines."""
    model = tiny_model(**changes)
    if model.adacos is not None:
        model.adacos.scale.fill_(7.5)
    sources, targets = examples(model.config)
    assert_agrees(model, sources, targets, filling=BASE + 4)
    model.set_attn_implementation("eager")
    assert_agrees(model, sources, targets, side="left", target_side="left", extra=3)


def test_malformed_prefix_text_gets_no_tree_positions_and_no_exception():
    model = tiny_model()
    two_formulas, incomplete, with_separator = [BASE, BASE + 1, EOS], [5, BASE, EOS], [5, BASE, 8, BASE + 2, EOS]
    targets = [[START, 9], [START, 9, BASE], [START]]
    assert_agrees(model, [two_formulas, incomplete, with_separator], targets)


def test_tree_positions_agree_with_a_recursive_reader_on_random_texts():
    rng, config = random.Random(1), tiny_config()
    rows = []
    for _ in range(400):
        size = rng.randint(1, 30)
        if rng.random() < 0.7:
            row = [config.token_arity.get(token, 0) for token in formula(rng, size, [BASE], config)]
            if rng.random() < 0.3:  # a token of no formula anywhere
                row.insert(rng.randint(0, len(row)), -1)
            if rng.random() < 0.2:
                row[rng.randrange(len(row))] = rng.choice([-1, 0, 1, 2])
        else:
            row = [rng.choice([-1, 0, 1, 2]) for _ in range(size)]
        rows.append(row)
    for width in (1, 8, 24):
        batch = torch.tensor([[*row, *[-1] * (31 - len(row))] for row in rows])
        paths = tree_positions(batch, width).int().numpy()
        for row, path in zip(rows, paths, strict=True):
            expected = tree_paths([None if arity < 0 else arity for arity in row])
            for j, steps in enumerate(expected):
                assert path[j].tolist() == padded(steps, width).tolist(), row
            assert not path[len(row) :].any()


def test_attention_weights_agree_and_their_rows_sum_to_one():
    model = tiny_model(components=["EP", "EA", "DP", "DA", "CA", "CP"])
    sources, targets = examples(model.config, counts=(3,))
    with torch.no_grad():
        output = model(torch.tensor(sources), decoder_input_ids=torch.tensor(targets), output_attentions=True)
    expected = Reference(model).answer(sources[0], targets[0]).attentions
    blocks = [
        (output.encoder_attentions, [f"encoder.layers.0.self_attention.{name}" for name in ("EP", "EA")]),
        (output.decoder_attentions, [f"decoder.layers.{i}.self_attention.{n}" for i in range(2) for n in ("DP", "DA")]),
        (output.cross_attentions, [f"decoder.layers.{i}.cross_attention.{n}" for i in range(2) for n in ("CA", "CP")]),
    ]
    for given, names in blocks:
        assert len(given) == len(names)
        for weights, name in zip(given, names, strict=True):
            np.testing.assert_allclose(weights[0].numpy(), expected[name], **TOLERANCE)
            np.testing.assert_allclose(weights.sum(-1).numpy(), 1, **TOLERANCE)


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("encoder_passes", [1, 3])
def test_hidden_states_agree(encoder_passes, norm_first):
    model = tiny_model(encoder_passes=encoder_passes, norm_first=norm_first)
    sources, targets = examples(model.config, counts=(3,))
    with torch.no_grad():
        output = model(torch.tensor(sources), decoder_input_ids=torch.tensor(targets), output_hidden_states=True)
    expected = Reference(model).answer(sources[0], targets[0])
    for given, states in (
        (output.encoder_hidden_states, expected.encoder_states),
        (output.decoder_hidden_states, expected.decoder_states),
    ):
        assert len(given) == len(states)
        for state, oracle in zip(given, states, strict=True):
            np.testing.assert_allclose(state[0].numpy(), oracle, **TOLERANCE)
    np.testing.assert_array_equal(output.encoder_last_hidden_state, output.encoder_hidden_states[-1])


@pytest.mark.parametrize(
    "fields",
    [
        *(
            {"components": components.split(), "decoder_positions": positions}
            for components in ("EP DP EA CP", "EP EA DP DA CP CA", "EA DA CP")
            for positions in ("rope", "sinusoidal")
        ),
        {"components": ALL, "extra_streams": 6},
        *({"symbol_embedding": kind, **ONE_STREAM} for kind in ("learned", "renamed", "random", "canonical")),
    ],
    ids=str,
)
def test_decoding_token_by_token_with_a_cache_gives_the_same_logits(fields):
    model, rng = tiny_model(**fields), random.Random(2)
    sources, _ = examples(model.config, counts=(3, 0, 1))
    targets = torch.tensor(
        [[START, *(rng.choice([5, 8, 9, *[t for t in source if t >= BASE]]) for _ in range(6))] for source in sources]
    )
    batch = pad(sources)
    with torch.no_grad():
        whole = model(**batch, decoder_input_ids=targets).logits
        torch.testing.assert_close(read_in_pieces(model, batch, targets, (3, 4, 5)), whole, **TOLERANCE)


@pytest.mark.parametrize("views", [1, 3])
def test_id_logits_are_the_slot_logits_at_every_view_of_the_symbols(views):
    model = tiny_model(num_symbols=5, num_views=views, grammar=None)
    sources, targets = examples(model.config, counts=(3, 0, 1))
    batch, target = pad(sources), pad(targets)["input_ids"]
    with torch.no_grad():
        slots = model(**batch, decoder_input_ids=target, return_id_logits=False)
        ids = model(**batch, decoder_input_ids=target, return_id_logits=True).logits
    largest = int(slots.slot_referents.max())
    assert ids.shape[-1] == BASE + max(5, largest + 1) * views
    expected = torch.full_like(ids, -torch.inf)
    expected[..., :BASE] = slots.logits[..., :BASE]
    for row, referents in enumerate(slots.slot_referents.tolist()):
        for slot, referent in enumerate(referents):
            for view in range(views) if referent >= 0 else ():
                expected[row, :, BASE + referent * views + view] = slots.logits[row, :, BASE + slot * views + view]
    assert torch.equal(ids, expected)
    few = model(torch.tensor([[BASE + 1, EOS]]), return_id_logits=True).logits
    assert few.shape[-1] == model.config.vocab_size == BASE + 5 * views


def test_a_formula_of_5000_tokens_is_encoded():
    model = tiny_model(components=["EA", "DA", "CA"], dtype=torch.float32, encoder_layers=1, decoder_layers=1)
    for source in ([12] * 4998 + [BASE, EOS], [5] * 2500 + [BASE, BASE + 1] * 1250 + [BASE, EOS]):
        with torch.no_grad():
            assert model(torch.tensor([source])).logits[..., : BASE + 1].isfinite().all()


def test_huge_referents_cost_nothing_in_slot_space():
    model = tiny_model()
    small, huge = [5, BASE, BASE + 1, EOS], [5, BASE + 2**60, BASE + 2**61, EOS]
    targets = torch.tensor([[START, BASE]]), torch.tensor([[START, BASE + 2**60]])
    with torch.no_grad():
        first = model(torch.tensor([small]), decoder_input_ids=targets[0], return_id_logits=False)
        second = model(torch.tensor([huge]), decoder_input_ids=targets[1], return_id_logits=False)
    assert torch.equal(first.logits, second.logits)
    assert second.slot_referents.tolist() == [[2**60, 2**61]]


ONE, TWO = torch.tensor([[13, 2]]), torch.tensor([[13, 2], [13, 2]])
BAD = [
    ({}, "input_ids and encoder_outputs are both None; pass one of them"),
    ({"input_ids": torch.zeros(2, 0, dtype=torch.long)}, r"shape \(2, 0\); it must be \(batch, length\), neither of"),
    ({"input_ids": ONE[0]}, r"shape \(2,\); it must be \(batch, length\)"),
    ({"input_ids": -ONE}, "input id -13: ids must not be negative; pad with pad_token_id"),
    ({"input_ids": ONE, "decoder_input_ids": torch.tensor([[0, -100]])}, "input id -100: ids must not be negative"),
    ({"input_ids": TWO, "decoder_input_ids": torch.zeros(3, 1).long()}, "decoder_input_ids has batch 3, the encoder"),
    (
        {"input_ids": ONE, "labels": torch.tensor([[9, 14, 10]])},
        r"labels\[0, 1\]=14: this symbol does not occur in the",
    ),
    ({"input_ids": TWO, "attention_mask": torch.tensor([[1, 1], [0, 0]])}, "attention_mask row 1 has no token; every"),
    ({"input_ids": ONE, "attention_mask": torch.ones(1, 3)}, r"attention_mask has shape \(1, 3\), input_ids \(1, 2\)"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD)
def test_bad_input_is_refused_with_a_reason(arguments, message):
    model = tiny_model()
    for call in (model, model.generate) if arguments.keys() <= {"input_ids", "attention_mask"} else (model,):
        with pytest.raises(ValueError, match=message):
            call(**arguments)


@pytest.mark.parametrize("kind", ["streams", "learned", "random"])
def test_bfloat16_is_close_to_double_precision(kind):
    model = tiny_model(symbol_embedding=kind, **({} if kind == "streams" else ONE_STREAM))
    sources, targets = examples(model.config)
    batch, target = pad(sources), pad(targets)["input_ids"]
    with torch.no_grad():
        exact = model(**batch, decoder_input_ids=target).logits
        rough = model.bfloat16()(**batch, decoder_input_ids=target).logits
    assert rough.dtype == torch.bfloat16
    difference = (exact.nan_to_num(neginf=0) - rough.double().nan_to_num(neginf=0)).abs()
    # Cosines times a scale, which is 4 with streams: three significant bits are lost on the way.
    assert difference.max() < 0.0625 * float(model.adacos.scale)


def test_two_scalars_per_head_and_block_are_all_that_identities_add():
    def count(**changes):
        with torch.device("meta"):
            model = SymbolInvariantForConditionalGeneration(SymbolInvariantConfig(components=ALL, **changes))
        return sum(parameter.numel() for parameter in model.parameters())

    blocks = 8 * 2 + 8 * 4
    assert count(identity_qk=True, identity_vo=True) - count() == blocks * 4 * 2
    assert count(identity_vo=True) - count() == blocks * 4
    assert count(decoder_positions="t5") - count() == 32 * 4
