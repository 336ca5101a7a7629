"""Few streams for many symbols: who shares the last one, how it is dealt out, and that renamings stay exact."""

import math
import random
from collections import Counter

import pytest
import torch
from huggingface_hub.errors import StrictDataclassError
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoModelForSeq2SeqLM
from transformers.cache_utils import DynamicCache, EncoderDecoderCache

from hf_symbinv import (
    SymbolInvariantConfig,
    SymbolInvariantForMaskedLM,
    SymbolInvariantForSequenceClassification,
    SymbolInvariantForTokenClassification,
)
from hf_symbinv.modeling.embedding_symbinv import Slots, assign_slots
from hf_symbinv.modeling.layers_symbinv import rotary_angles
from hf_symbinv.modeling.loss_symbinv import token_loss
from hf_symbinv.modeling.shared_stream_symbinv import choose_streams, log_shares

from .test_tokens import randomised
from .tiny import BASE, EOS, START, enable_checkpointing, pad, tiny_model

DTYPES = [torch.float32, torch.bfloat16]
ALL = ["EP", "EA", "DP", "DA", "CP", "CA"]
GENERATIONS = {
    "greedy": {},
    "beam": {"num_beams": 3, "num_return_sequences": 3},
    "sampling": {"do_sample": True, "num_return_sequences": 2},
    "beam sampling": {"do_sample": True, "num_beams": 3, "temperature": 2.0},
}


def model_with(limit, **changes):
    fields = {"encoder_positions": "rope", "token_arity": None, "grammar": None, "components": ALL, **changes}
    return tiny_model(max_streams=limit, **fields)


def text(rng, count, views=1):
    """Ids in which `count` symbols occur between one time and four, among base tokens, EOS last."""
    symbols = [BASE + referent * views for referent in rng.sample(range(100), count)]
    ids = [symbol + rng.randrange(views) for symbol in symbols for _ in range(rng.randint(1, 4))]
    ids += rng.choices([3, 5, 8, 9], k=rng.randint(1, 4))
    rng.shuffle(ids)
    return [*ids, EOS]


def batch_of(rng, counts, views=1):
    return pad([text(rng, count, views) for count in counts])


def answers_for(rng, batch, length=6):
    """Random answers of base tokens and each input's symbols, EOS last."""
    rows = [
        [*rng.choices([3, 5, 8, *[token for token in row if token >= BASE]], k=length), EOS]
        for row in batch["input_ids"].tolist()
    ]
    return torch.tensor(rows)


def renaming_of(rng, views=1):
    """A function that renames the referents of ids; views stay."""
    image = rng.sample(range(100), 100)
    return lambda ids: ids.clone().apply_(
        lambda token: BASE + image[(token - BASE) // views] * views + (token - BASE) % views if token >= BASE else token
    )


def renamed(batch, rename):
    return {**batch, "input_ids": rename(batch["input_ids"])}


def moved(logits, rename, views=1):
    """The columns of ids, moved as the ids are renamed; as wide as 100 referents need."""
    wide = torch.full((*logits.shape[:-1], BASE + 100 * views), -math.inf, dtype=logits.dtype)
    wide[..., : logits.shape[-1]] = logits
    result = torch.empty_like(wide)
    result[..., rename(torch.arange(wide.shape[-1]))] = wide
    return result


class TestWhoShares:
    @given(st.integers(0, 2**30), st.integers(1, 6), st.lists(st.integers(0, 9), min_size=1, max_size=3))
    @settings(max_examples=60, deadline=None)
    def test_the_most_frequent_have_their_own_stream_and_slots_follow_the_first_appearance(self, seed, limit, counts):
        batch = batch_of(random.Random(seed), counts)
        referents = batch["input_ids"] - BASE
        slots = choose_streams(assign_slots(referents.clamp(min=-1)), referents.clamp(min=-1), limit)
        for row, found in zip(referents.tolist(), slots.referents.tolist(), strict=True):
            symbols = list(dict.fromkeys(referent for referent in row if referent >= 0))
            counted = Counter(referent for referent in row if referent >= 0)
            own = symbols
            if len(symbols) > limit:
                own = [referent for referent, _ in counted.most_common()][: limit - 1]  # ties: the first that was met
            expected = sorted(own, key=symbols.index) + [symbol for symbol in symbols if symbol not in own]
            assert found == expected + [-1] * (len(found) - len(symbols))
        assert slots.active.shape[1] == min(limit, slots.referents.shape[1])

    def test_numbering_slots_again_changes_nothing(self):
        batch = batch_of(random.Random(0), (9, 3, 6))
        referents = (batch["input_ids"] - BASE).clamp(min=-1)
        slots = choose_streams(assign_slots(referents), referents, 4)
        again = slots.of(referents)
        after = choose_streams(assign_slots(again), again, 4)
        assert torch.equal(after.of(again), again)

    def test_the_shared_stream_sees_the_actual_row_at_each_of_its_symbols(self):
        model = model_with(3, encoder_positions="sinusoidal")
        model.model.encoder.layers = torch.nn.ModuleList()  # the embeddings are the states
        a, b, c, d, f = range(BASE, BASE + 5)
        ids = torch.tensor([[a, b, b, c, a, d, f]])
        states = model.model.encode(ids).last_hidden_state[0]
        assert len(states) == 3
        own, other = states[0, 0], states[1, 0]  # a, as its stream sees it and as b's does
        at_zero = [stream for stream in range(3) if torch.equal(states[stream, 0], own)]
        assert at_zero == [0] and torch.equal(states[2, 0], other)
        for place, streams in ((1, [1]), (3, [2]), (5, [2]), (6, [2])):
            actual = [stream for stream in range(3) if not torch.equal(states[stream, place], states[0, place])]
            assert actual == streams

    @pytest.mark.parametrize("side", ["labels", "decoder_input_ids"])
    def test_answers_choose_no_streams_and_change_no_state_of_the_source(self, side):
        rng, model = random.Random(1), model_with(3)
        batch = batch_of(rng, (7, 2))
        outputs = [model(**batch, **{side: answers_for(rng, batch)}) for _ in range(5)]
        for output in outputs:
            assert torch.equal(output.slot_referents, outputs[0].slot_referents)
            assert torch.equal(output.encoder_last_hidden_state, outputs[0].encoder_last_hidden_state)

    def test_a_symbol_of_the_prompt_alone_takes_no_stream_from_the_source_and_can_be_written(self):
        rng, model = random.Random(2), model_with(4)
        batch = batch_of(rng, (4,))
        alone = model.model.encode(**batch)
        prompt = torch.tensor([[START, BASE + 300, 5, BASE + 301]])
        labels = torch.tensor([[5, BASE + 301, BASE + 300, EOS]])
        output = model(**batch, decoder_input_ids=prompt, labels=labels)
        assert torch.equal(output.encoder_last_hidden_state, alone.last_hidden_state)
        assert output.slot_referents[0].tolist() == [*alone.slot_referents[0].tolist(), 300, 301]
        assert output.loss.isfinite()
        assert torch.equal(output.logits[..., BASE + 300], output.logits[..., BASE + 301])


class TestLaw:
    @pytest.mark.parametrize("dtype", DTYPES)
    @given(
        st.integers(0, 2**30), st.sampled_from([1, 2, 4]), st.lists(st.integers(0, 9), min_size=1, max_size=3),
        st.sampled_from([{}, {"num_views": 2}, {"decoder_positions": "sinusoidal", "loss": "cross_entropy"}]),
    )  # fmt: skip
    @settings(max_examples=15, deadline=None)
    def test_renaming_the_input_renames_logits_and_keeps_the_loss_bit_for_bit(self, dtype, seed, limit, counts, fields):
        views, rng = fields.get("num_views", 1), random.Random(seed)
        model, rename = model_with(limit, dtype=dtype, **fields), renaming_of(rng, views)
        batch = batch_of(rng, counts, views)
        labels = answers_for(rng, batch)
        with torch.no_grad():
            before, after = model(**batch, labels=labels), model(**renamed(batch, rename), labels=rename(labels))
        assert torch.equal(before.loss, after.loss) and before.loss.isfinite()
        for one, other in zip(before.encoder_last_hidden_state, after.encoder_last_hidden_state, strict=True):
            assert torch.equal(one, other)
        assert torch.equal(moved(before.logits, rename, views), moved(after.logits, lambda ids: ids, views))

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("kind", GENERATIONS)
    def test_renaming_the_input_renames_generated_answers_bit_for_bit(self, kind, dtype):
        named = set()
        for seed in range(4):
            rng = random.Random(seed)
            model, rename = model_with(3, dtype=dtype, seed=seed), renaming_of(rng)
            batch = batch_of(rng, (8, 2, 5))
            answers = []
            for given_batch in (batch, renamed(batch, rename)):
                torch.manual_seed(0)
                answers.append(model.generate(**given_batch, max_new_tokens=8, **GENERATIONS[kind]))
            assert torch.equal(rename(answers[0]), answers[1])
            named |= set(answers[0][answers[0] >= BASE].tolist())
        assert len(named) >= 2

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize(
        "make",
        [SymbolInvariantForSequenceClassification, SymbolInvariantForTokenClassification, SymbolInvariantForMaskedLM],
    )
    @pytest.mark.parametrize("positions", ["rope", "learned"])
    def test_renaming_the_input_of_an_encoder_keeps_its_predictions_bit_for_bit(self, make, dtype, positions):
        fields = {"symbol_embedding": "streams", "components": ["EP", "EA"], "base_vocab_size": BASE, "num_views": 1}
        model = randomised(make, dtype=dtype, max_streams=3, encoder_positions=positions, max_positions=64, **fields)
        rng = random.Random(3)
        for _ in range(3):
            batch, rename = batch_of(rng, (8, 0, 2, 5)), renaming_of(rng)
            with torch.no_grad():
                before, after = (model(**given_batch).logits for given_batch in (batch, renamed(batch, rename)))
            assert before[batch["attention_mask"].bool()].isfinite().any() if before.dim() == 3 else True
            if make is SymbolInvariantForMaskedLM:
                before, after = moved(before, rename), moved(after, lambda ids: ids)
            assert torch.equal(before, after)


@pytest.mark.parametrize("limit", [8, 9, 100])
def test_a_limit_that_no_example_exceeds_changes_no_bit(limit):
    rng = random.Random(4)
    batch = batch_of(rng, (8, 3, 0))
    labels = answers_for(rng, batch)
    limited, free = (model_with(value, dtype=torch.float32) for value in (limit, None))
    assert torch.equal(limited(**batch, labels=labels).logits, free(**batch, labels=labels).logits)
    assert torch.equal(limited(**batch, labels=labels).loss, free(**batch, labels=labels).loss)
    for kind in ("greedy", "beam"):
        answers = [model.generate(**batch, max_new_tokens=8, **GENERATIONS[kind]) for model in (limited, free)]
        assert torch.equal(*answers)


class TestDealing:
    @pytest.mark.parametrize("turned", [True, False])
    def test_shares_are_those_of_the_formula(self, turned):
        """Loops over symbols, places and pairs of dimensions."""
        rng, heads, width, limit = random.Random(5), 2, 8, 3
        config = SymbolInvariantConfig(d_model=width, num_attention_heads=heads)
        referents = (batch_of(rng, (6, 1))["input_ids"] - BASE).clamp(min=-1)
        slots = choose_streams(assign_slots(referents), referents, limit)
        length, answers = referents.shape[1], 4
        torch.manual_seed(0)
        queries = torch.randn(2, limit, answers, width, dtype=torch.float64)
        keys = torch.randn(2, limit, length, width, dtype=torch.float64)
        angles = (None, None)
        if turned:
            angles = tuple(rotary_angles(torch.arange(size)[None], config, torch.float64) for size in (answers, length))
        found = log_shares(queries, keys, angles, slots.of(referents), slots)

        def score(example, t, place):
            half, total = width // heads // 2, 0.0
            for head in range(heads):
                for pair in range(half):
                    index = head * width // heads + pair
                    one, other = (
                        complex(float(state[index]), float(state[index + half]))
                        for state in (queries[example, -1, t], keys[example, -1, place])
                    )
                    angle = (t - place) * config.rope_theta ** (-2 * pair / (width // heads)) if turned else 0.0
                    total += (one * complex(math.cos(angle), math.sin(angle)) * other.conjugate()).real
            return total / math.sqrt(width)

        sharing = slots.referents[0, limit - 1 :].tolist()
        assert len(sharing) == 4 and (slots.referents[1, 1:] == -1).all()
        for t in range(answers):
            weights = [
                sum(math.exp(score(0, t, place)) for place in range(length) if referents[0, place] == referent)
                for referent in sharing
            ]
            expected = [math.log(weight / sum(weights)) for weight in weights]
            torch.testing.assert_close(found[0, t], torch.tensor(expected, dtype=torch.float64))

    @pytest.mark.parametrize("fields", [{}, {"loss": "cross_entropy"}, {"num_views": 2}])
    def test_those_who_share_a_stream_have_its_probability_together(self, fields):
        views, rng, model = fields.get("num_views", 1), random.Random(6), model_with(3, **fields)
        batch = batch_of(rng, (8, 2, 5), views)
        prompts = answers_for(rng, batch)
        with torch.no_grad():
            output = model(**batch, decoder_input_ids=prompts, return_id_logits=False)
            inner = model.model(**batch, decoder_input_ids=prompts)
            slots = Slots.from_referents(inner.slot_referents, max_streams=3)
            logits = model.lm_head(inner.last_hidden_state, slots)
            logits = logits if model.adacos is None else model.adacos(logits)
        dealt, whole = output.logits.softmax(-1), logits.softmax(-1)
        first = BASE + 2 * views
        torch.testing.assert_close(dealt[..., :first], whole[..., :first])
        for view in range(views):
            torch.testing.assert_close(dealt[..., first + view :: views].sum(-1), whole[..., first + view])
        assert (dealt[0, :, first:] > 0).all()

    def test_labels_are_learned_by_the_columns_of_the_logits(self):
        """Also with smoothing, which takes in every symbol that the example can write."""
        rng = random.Random(7)
        model = model_with(3, label_smoothing=0.2)
        batch = batch_of(rng, (8, 2, 5))
        labels = answers_for(rng, batch)
        output = model(**batch, labels=labels, return_id_logits=True)
        expected = token_loss(output.logits, output.logits, labels, None, None, model.config)
        torch.testing.assert_close(output.loss, expected)

    @pytest.mark.parametrize("loss", ["adacos", "cross_entropy"])
    def test_gradients_are_finite_and_point_at_the_right_symbol(self, loss):
        rng = random.Random(8)
        model = model_with(2, loss=loss, label_smoothing=0.1).train()
        batch = batch_of(rng, (8, 0, 1, 2))
        labels = answers_for(rng, batch)
        before = model(**batch, labels=labels).loss
        before.backward()
        assert all(parameter.grad.isfinite().all() for parameter in model.parameters() if parameter.grad is not None)
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.grad is not None:
                    parameter -= 1e-3 * parameter.grad
        assert model(**batch, labels=labels).loss < before or loss == "adacos"  # whose scale moves
        if model.adacos is not None:
            assert model.adacos.scale.isfinite() and model.adacos.scale != model.adacos.initial_scale

    def test_autocast_gives_the_loss_to_rounding(self):
        rng, model = random.Random(15), model_with(3, dtype=torch.float32)
        batch = batch_of(rng, (8, 2, 5))
        labels = answers_for(rng, batch)
        expected = model(**batch, labels=labels).loss
        with torch.autocast("cpu", torch.bfloat16):
            torch.testing.assert_close(model(**batch, labels=labels).loss.float(), expected, rtol=0.05, atol=0)


class TestDecoding:
    @pytest.mark.parametrize("positions", ["rope", "sinusoidal"])
    def test_step_by_step_gives_the_logits_of_the_whole(self, positions):
        rng, model = random.Random(9), model_with(3, decoder_positions=positions)
        batch = batch_of(rng, (8, 2, 5))
        prompts = answers_for(rng, batch)
        with torch.no_grad():
            whole = model(**batch, decoder_input_ids=prompts).logits
            source = model.model.encode_for(prompts, **batch)
            cache = EncoderDecoderCache(DynamicCache(), DynamicCache())
            for t in range(prompts.shape[1]):
                step = model(
                    encoder_outputs=source,
                    attention_mask=batch["attention_mask"],
                    decoder_input_ids=prompts[:, t : t + 1],
                    past_key_values=cache,
                ).logits
                torch.testing.assert_close(step[:, 0], whole[:, t], rtol=0, atol=1e-10)

    def test_several_answers_of_one_input_are_read_as_each_alone(self):
        rng, model = random.Random(10), model_with(3)
        batch = batch_of(rng, (8, 2))
        answers = torch.cat([answers_for(rng, batch) for _ in range(3)]).view(3, 2, -1).transpose(0, 1)  # (B, N, T)
        with torch.no_grad():
            source = model.model.encode(**batch)
            mask = batch["attention_mask"]
            together = model(encoder_outputs=source, attention_mask=mask, decoder_input_ids=answers.flatten(0, 1))
            for beam in range(3):
                alone = model(encoder_outputs=source, attention_mask=mask, decoder_input_ids=answers[:, beam])
                torch.testing.assert_close(together.logits.unflatten(0, (2, 3))[:, beam], alone.logits)

    def test_an_answer_does_not_depend_on_what_shares_the_batch(self):
        rng, model = random.Random(11), model_with(3)
        batch = batch_of(rng, (8, 2, 0, 5))
        together = model.generate(**batch, max_new_tokens=8, num_beams=2)
        for row, answer in enumerate(together.tolist()):
            keep = batch["attention_mask"][row].bool()
            alone = model.generate(batch["input_ids"][row : row + 1, keep], max_new_tokens=8, num_beams=2)[0].tolist()
            assert answer[: len(alone)] == alone and set(answer[len(alone) :]) <= {EOS, 1}

    def test_outputs_of_generate_have_streams_and_ids(self):
        rng, model = random.Random(12), model_with(3, seed=1)
        batch = batch_of(rng, (8, 2))
        asked = {"return_dict_in_generate": True, "output_scores": True, "output_attentions": True}
        output = model.generate(**batch, max_new_tokens=6, num_beams=2, **asked)
        assert torch.equal(output.slot_referents, model.slot_referents(**batch))
        assert output.slot_referents.shape == (2, 8)
        assert all(weights.shape[1] == 3 for step in output.cross_attentions for weights in step)
        scores = model.compute_transition_scores(output.sequences, output.scores, output.beam_indices)
        torch.testing.assert_close(scores.sum(1) / (scores != 0).sum(1), output.sequences_scores)
        encoded = model.get_encoder()(**batch)
        again = model.generate(
            encoder_outputs=encoded, attention_mask=batch["attention_mask"], max_new_tokens=6, num_beams=2
        )
        assert torch.equal(again, output.sequences)

    def test_gradient_checkpointing_gives_the_same_gradients(self):
        rng = random.Random(13)
        batch = batch_of(rng, (8, 2))
        labels, gradients = answers_for(rng, batch), []
        for checkpointed in (False, True):
            model = model_with(3, loss="cross_entropy").train()
            if checkpointed:
                enable_checkpointing(model)
            model(**batch, labels=labels).loss.backward()
            gradients.append([p.grad for p in model.parameters() if p.grad is not None])
        for one, other in zip(*gradients, strict=True):
            assert torch.equal(one, other)


def test_a_checkpoint_is_loaded_with_any_limit(tmp_path):
    rng = random.Random(14)
    batch = batch_of(rng, (8, 2))
    model_with(None, dtype=torch.float32).save_pretrained(tmp_path)
    for limit in (3, None):
        expected = model_with(limit, dtype=torch.float32)(**batch).logits
        loaded = AutoModelForSeq2SeqLM.from_pretrained(tmp_path, max_streams=limit)
        assert torch.equal(loaded(**batch).logits, expected)
        loaded.save_pretrained(tmp_path / "again")
        assert (tmp_path / "again" / "shared_stream_symbinv.py").is_file()
        assert AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "again").config.max_streams == limit


def test_a_limit_that_a_checkpoint_cannot_have_is_refused_when_it_is_loaded(tmp_path):
    model_with(None).save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="max_streams=-2: must be at least 1"):
        AutoModelForSeq2SeqLM.from_pretrained(tmp_path, max_streams=-2)
    tiny_model(symbol_embedding="learned", components=["EP", "DP", "CP"]).save_pretrained(tmp_path / "learned")
    with pytest.raises(ValueError, match='max_streams=8: symbol_embedding="learned" has one stream'):
        AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "learned", max_streams=8)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"max_streams": 0}, "max_streams=0: must be at least 1, or None for a stream per symbol"),
        (
            {"symbol_embedding": "learned"},
            'max_streams=4: symbol_embedding="learned" has one stream; use "streams", or remove',
        ),
        ({"encoder_layers": 0}, r"max_streams=4: a decoder without encoder \(encoder_layers=0\) does not know which"),
        ({"num_fresh_symbols": 2}, "max_streams=4, num_fresh_symbols=2: a symbol that has not occurred has no share"),
        ({"canonical_slots": False}, "max_streams=4: ties go to the symbol that appears first, which shuffled slots"),
    ],
)
def test_what_cannot_have_a_limit_is_refused_in_a_sentence(fields, message):
    with pytest.raises(StrictDataclassError, match=message):
        SymbolInvariantConfig(**{"max_streams": 4, **fields})
