"""The decoder-only model with streams: what it computes, that it never sees the future, and how symbols come in."""

import math
import random

import numpy as np
import pytest
import torch

from hf_symbinv import SymbolInvariantConfig, SymbolInvariantForCausalLM
from hf_symbinv.modeling.cache_symbinv import SymbolInvariantCache

from .reference import Reference, cross_entropy, sinusoid
from .tiny import enable_checkpointing

BASE, PAD, SYMBOLS = 4, 1, 5
SIZES = {
    "base_vocab_size": BASE, "num_symbols": SYMBOLS, "d_model": 18, "encoder_layers": 0, "decoder_layers": 2,
    "num_attention_heads": 3, "d_ff": 11, "dropout": 0.0,
}  # fmt: skip
IDENTITY = {"identity_qk": True, "identity_vo": True, "identity_multiplier": 1.7}
VARIANTS = [
    {},
    {"components": ["DP"]},
    {"components": ["DA"]},
    {"decoder_positions": "sinusoidal"},
    {"decoder_positions": "t5", "loss": "cross_entropy", "normalize_embeddings": False, "normalize_features": False},
    IDENTITY,
    {**IDENTITY, "norm_first": True},
]
DTYPES = [torch.float32, torch.bfloat16]


def language_model(*, seed=0, dtype=torch.float64, attention="sdpa", **changes) -> SymbolInvariantForCausalLM:
    """In evaluation mode, with random parameters, so that each one matters."""
    config = SymbolInvariantConfig(**{**SIZES, **changes})
    config._attn_implementation = attention
    model = SymbolInvariantForCausalLM(config)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            parameter.copy_((0.05 if "identity" in name else 0.4) * noise + (1.0 if "norm.weight" in name else 0.0))
    return model.to(dtype).eval()


class StreamsReference(Reference):
    """The model by its definition: a stream is the anonymous one up to its symbol's first occurrence, then its own."""

    def read(self, tokens: list[int]) -> list[dict[int | str, float]]:
        """After every token the logit of each base token, of each symbol that has occurred, and of `"new"`."""
        config, base = self.config, self.config.base_vocab_size
        symbols = [base + referent for referent in self.number(tokens)]
        first = [0, *(tokens.index(symbol) for symbol in symbols)]
        streams: list[int | None] = [None, *symbols]
        hidden = np.stack([[self.row(token, own) for token in tokens] for own in streams])
        if config.decoder_positions == "sinusoidal":
            hidden = hidden + np.stack([sinusoid(position, config.d_model) for position in range(len(tokens))])
        look_ahead = np.array([[key <= query for key in range(len(tokens))] for query in range(len(tokens))])
        rotary = config.decoder_positions == "rope"
        for layer in range(config.decoder_layers):
            name = f"model.decoder.layers.{layer}"
            for component in ("DP", "DA"):
                if component in config.components:
                    block = f"{name}.self_attention.{component}"
                    read = self.before(block, hidden)
                    seen = [self.aggregated(read, tokens, streams, first)] * len(streams)
                    keys = seen if component == "DA" else list(read)
                    hidden = self.after(block, hidden + self.attention(block, read, keys, look_ahead, rotary))
            hidden = self.feed_forward(f"{name}.feed_forward", hidden)
            for stream, start in enumerate(first):
                hidden[stream, :start] = hidden[0, :start]
        hidden = self.after("model.decoder", hidden)
        if config.normalize_features:
            hidden = hidden / np.sqrt((hidden**2).sum(-1, keepdims=True))
        scale, table = (self.weights["adacos.scale"] if config.loss == "adacos" else 1.0), self.table()
        answer: list[dict[int | str, float]] = []
        for t in range(len(tokens)):
            here = [stream for stream in range(len(streams)) if first[stream] <= t]
            logits: dict[int | str, float] = {"new": scale * (hidden[0, t] @ table[base])}
            for token in range(base):
                logits[token] = scale * sum(hidden[stream, t] @ table[token] for stream in here) / len(here)
            for stream in here[1:]:
                logits[symbols[stream - 1]] = scale * (hidden[stream, t] @ table[base])
            answer.append(logits)
        return answer

    def row(self, token: int, own: int | None) -> np.ndarray:
        """What the stream of the symbol `own` sees of a token."""
        base = self.config.base_vocab_size
        seen = token if token < base else base if token == own else base + 1
        return self.table()[seen] * math.sqrt(self.config.d_model)

    def aggregated(self, hidden, tokens, streams, first) -> np.ndarray:
        """At a symbol the state of its own stream, elsewhere the mean of the streams that there are by then."""
        views = []
        for t, token in enumerate(tokens):
            here = [hidden[stream, t] for stream in range(len(streams)) if first[stream] <= t]
            views.append(hidden[streams.index(token), t] if token in streams else sum(here) / len(here))
        return np.stack(views)


def oracle(model, tokens: list[int]) -> np.ndarray:
    """The reference's logits in id space: a new symbol at the smallest id that has not occurred yet."""
    width = max(BASE + SYMBOLS, max(tokens) + 1) + 1
    out = np.full((len(tokens), width), -np.inf)
    for t, logits in enumerate(StreamsReference(model).read(tokens)):
        new = next(token for token in range(BASE, width) if token not in tokens[: t + 1])
        for token, logit in logits.items():
            out[t, new if token == "new" else token] = logit
    return out


# Few random models write new symbols; this one does, if it does not write padding for ever.
TALKATIVE = {"seed": 1, "eos_token_id": None}
NO_PADDING = {"suppress_tokens": [0, PAD], "pad_token_id": PAD}


def text(batch=2, length=9, seed=1, symbols=SYMBOLS) -> torch.Tensor:
    """Ids without padding; symbols are twice as frequent as base tokens."""
    rng = random.Random(seed)
    base = [token for token in range(BASE) if token != PAD]
    pool = [*base, *[BASE + symbol for symbol in range(symbols)] * 2]
    return torch.tensor([[rng.choice(pool) for _ in range(length)] for _ in range(batch)])


def renamed(ids: torch.Tensor, renaming: dict[int, int]) -> torch.Tensor:
    return ids.clone().apply_(lambda token: BASE + renaming[token - BASE] if token >= BASE else token)


def close(one, other, atol=1e-10):
    """Equal to rounding, with -inf at the same places."""
    torch.testing.assert_close(torch.as_tensor(one), torch.as_tensor(other), atol=atol, rtol=0)


def one_by_one(model, ids, pieces=1) -> torch.Tensor:
    """Logits of as many tokens at a time, from the cache, in slot space; narrower ones filled up with -inf."""
    cache, steps = SymbolInvariantCache(), []
    for piece in ids.split(pieces, dim=1):
        steps.append(model(piece, past_key_values=cache, return_id_logits=False).logits)
    width = max(step.shape[-1] for step in steps)
    return torch.cat([torch.nn.functional.pad(s, (0, width - s.shape[-1]), value=-math.inf) for s in steps], 1)


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("changes", VARIANTS, ids=str)
def test_logits_are_those_of_the_definition(changes, attention):
    model, ids = language_model(**changes, attention=attention), text()
    with torch.no_grad():
        logits = model(ids).logits
    for row, tokens in enumerate(ids.tolist()):
        expected = oracle(model, tokens)
        close(logits[row, :, : expected.shape[1]], expected)


@pytest.mark.parametrize("pieces", [1, 2, 4])
@pytest.mark.parametrize("changes", VARIANTS, ids=str)
def test_reading_piece_by_piece_from_a_cache_is_reading_at_once(changes, pieces):
    model, ids = language_model(**changes), text(3)
    with torch.no_grad():
        close(one_by_one(model, ids, pieces), model(ids, return_id_logits=False).logits)


class TestRenaming:
    """Renaming the symbols of a text renames logits and continuations bit for bit, and changes nothing else."""

    RENAMINGS = ({0: 3, 1: 0, 2: 4, 3: 1, 4: 2}, {0: 17, 1: 0, 2: 400, 3: 3, 4: 2})

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("renaming", RENAMINGS, ids=str)
    def test_of_a_forward_pass(self, renaming, dtype):
        model, ids = language_model(dtype=dtype), text(3)
        other = renamed(ids, renaming)
        with torch.no_grad():
            for in_ids in (False, True):
                one, two = (model(x, labels=x, return_id_logits=in_ids) for x in (ids, other))
                assert torch.equal(one.loss, two.loss)
                if not in_ids:
                    assert torch.equal(one.logits, two.logits)
                    continue
                # Symbols that have occurred have the renamed ids; the logit of a new one has moved to another id.
                for row, place in np.ndindex(*ids.shape):
                    seen = sorted({token for token in ids[row, : place + 1].tolist() if token >= BASE})
                    image = [BASE + renaming[token - BASE] for token in seen]
                    before, after = one.logits[row, place], two.logits[row, place]
                    assert torch.equal(before[:BASE], after[:BASE])
                    assert torch.equal(before[seen], after[image])
                    finite = [logits[logits > -math.inf].sort().values for logits in (before, after)]
                    assert torch.equal(*finite) and len(finite[0]) == BASE + len(seen) + 1

    KINDS = {
        "greedy": {},
        "beams": {"num_beams": 3, "num_return_sequences": 2},
        "sampling": {"do_sample": True, "num_return_sequences": 2},
        "beam sampling": {"do_sample": True, "num_beams": 3, "temperature": 2.0},
    }

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("renaming", RENAMINGS, ids=str)
    def test_of_a_continuation_up_to_the_names_of_new_symbols(self, kind, renaming, dtype):
        model, ids = language_model(dtype=dtype, **TALKATIVE), text(8, 5, symbols=3)
        written = []
        for prompts in (ids, renamed(ids, renaming)):
            torch.manual_seed(0)
            written.append(model.generate(prompts, max_new_tokens=9, **NO_PADDING, **self.KINDS[kind]))
        copies, new = len(written[0]) // len(ids), set()
        for row, (one, two) in enumerate(zip(*(rows.tolist() for rows in written), strict=True)):
            known = {BASE + old: BASE + name for old, name in renaming.items() if BASE + old in ids[row // copies]}
            names = dict(known)
            for a, b in zip(one, two, strict=True):
                assert names.setdefault(a, b) == b if a >= BASE else a == b
            assert len(set(names.values())) == len(names)
            new |= names.keys() - known.keys()
        assert new, "a new symbol should be written for the test to say anything of them"

    def test_new_symbols_are_called_by_the_smallest_ids_that_a_text_has_not(self):
        model, ids = language_model(**TALKATIVE), torch.tensor([[0, BASE + 1, BASE + 3, BASE + 1]])
        written = model.generate(ids, max_new_tokens=30, do_sample=True, temperature=3.0, **NO_PADDING)[0, 4:].tolist()
        fresh = [token for token in dict.fromkeys(written) if token >= BASE and token not in ids]
        assert fresh[:4] == [BASE, BASE + 2, BASE + 4, BASE + 5]

    def test_shuffled_slots_change_nothing_but_rounding(self):
        canonical, shuffled, ids = language_model(), language_model(canonical_slots=False), text(3)
        orders = set()
        with torch.no_grad():
            expected = canonical(ids, labels=ids)
            for seed in range(6):
                torch.manual_seed(seed)
                output = shuffled(ids, labels=ids)
                orders.add(tuple(output.slot_referents[0].tolist()))
                close(output.logits, expected.logits)
                close(output.loss, expected.loss)
                cache, steps = SymbolInvariantCache(), []
                for piece in ids.split(4, dim=1):
                    steps.append(shuffled(piece, past_key_values=cache).logits)
                close(torch.cat(steps, 1), expected.logits)
        assert len(orders) > 1
        for options in ({}, {"num_beams": 3}):
            one, two = (model.generate(ids, max_new_tokens=6, **options) for model in (canonical, shuffled))
            assert torch.equal(one, two)


class TestFuture:
    @pytest.mark.parametrize("dtype", [torch.float64, *DTYPES])
    @pytest.mark.parametrize("changes", VARIANTS, ids=str)
    def test_another_future_moves_no_logit_of_the_past_by_a_bit(self, changes, dtype):
        """Its symbols are others, known ones, new ones or none; a second row keeps the number of streams."""
        model = language_model(**changes, dtype=dtype)
        past, many = [0, BASE + 2, 3, BASE, BASE + 2], [BASE + 7, BASE, BASE + 1, 3, BASE + 4, BASE + 5, BASE + 6, 0, 2]
        futures = (
            [BASE, 3, BASE + 2, 0],
            [3, 3, 0, 2],
            [BASE + 1, BASE + 9, BASE + 4, BASE + 3],
            [BASE + 9, 0, 0, BASE],
        )
        with torch.no_grad():
            logits = []
            for future in futures:
                output = model(torch.tensor([[*past, *future], many]), return_id_logits=False)
                logits.append(output.logits[0, : len(past)])
        for other in logits[1:]:
            assert torch.equal(other, logits[0])

    def test_more_symbols_or_more_tokens_later_move_it_by_rounding_only(self):
        model, past = language_model(), [0, BASE + 2, 3, BASE, BASE + 2]
        with torch.no_grad():
            expected = model(torch.tensor([past])).logits
            for future in ([3], [BASE + 1], [BASE + 1, BASE + 9, BASE + 4, BASE + 3, 2, 2]):
                logits = model(torch.tensor([past + future])).logits[:, : len(past)]
                close(logits[..., : expected.shape[-1]], expected)

    def test_the_gradient_of_the_past_reaches_no_later_embedding(self):
        model, ids = language_model(), text(1)
        states = []
        model.model.embedding.register_forward_hook(lambda module, args, output: states.append(output) or output)
        logits = model(ids, return_id_logits=False).logits[0, 4]
        (gradient,) = torch.autograd.grad(logits[logits > -math.inf].sum(), states[0])
        assert gradient[:, :, 5:].abs().max() == 0 and (gradient[:, :, :5] != 0).any()

    def test_a_stream_is_the_anonymous_one_until_its_symbol_occurs(self):
        model, ids = language_model(), text(1)
        output = model(ids, output_hidden_states=True)
        referents = output.slot_referents[0].tolist()
        for states in output.hidden_states:
            for slot, referent in enumerate(referents[1:], 1):
                first = ids[0].tolist().index(BASE + referent)
                close(states[0, slot, :first].detach(), states[0, 0, :first].detach())
                assert not torch.allclose(states[0, slot, first], states[0, 0, first])


class TestPadding:
    @pytest.mark.parametrize("side", ["left", "right"])
    @pytest.mark.parametrize("filling", [PAD, BASE + 4])
    def test_changes_no_logit_of_a_token_even_if_it_looks_like_a_symbol(self, side, filling):
        model, ids = language_model(), text(2, symbols=3)
        padded, mask = self.padded(ids, side, filling)
        with torch.no_grad():
            labels = padded.masked_fill(mask == 0, -100)
            labels[:, 3] = labels[:, 3] if side == "right" else -100  # the first token has nothing before it
            expected, output = model(ids), model(padded, mask, labels=labels)
            close(output.logits[mask.bool()], expected.logits.flatten(0, 1))
            close(output.loss, model(ids, labels=ids).loss)

    @pytest.mark.parametrize("options", [{}, {"num_beams": 3}], ids=str)
    def test_on_either_side_gives_the_continuation_of_the_text_alone(self, options):
        model = language_model(**TALKATIVE)
        long, short = text(1, 7, seed=4)[0], text(1, 4, seed=5)[0]
        settings = {"max_new_tokens": 8, **NO_PADDING, **options}
        expected = torch.cat([model.generate(row[None], **settings)[:, len(row) :] for row in (long, short)])
        for side in ("left", "right"):
            padded, mask = self.padded(short[None], side, BASE + 40)
            batch = torch.stack((long, padded[0]))
            written = model.generate(batch, attention_mask=torch.cat((torch.ones_like(mask), mask)), **settings)
            assert torch.equal(written[:, :7], batch) and torch.equal(written[:, 7:], expected)

    @staticmethod
    def padded(ids, side, filling):
        sides = (3, 0) if side == "left" else (0, 3)
        return tuple(torch.nn.functional.pad(x, sides, value=v) for x, v in ((ids, filling), (torch.ones_like(ids), 0)))


class TestGeneration:
    @pytest.mark.parametrize("options", [{}, {"num_beams": 3}, {"num_beams": 4, "num_return_sequences": 2}], ids=str)
    @pytest.mark.parametrize("changes", VARIANTS, ids=str)
    def test_with_and_without_a_cache_the_same_is_written(self, changes, options):
        model, ids = language_model(**changes, **TALKATIVE), text(2, 4, symbols=2)
        settings = {"max_new_tokens": 8, **NO_PADDING, **options}
        written = model.generate(ids, **settings)
        assert torch.equal(written, model.generate(ids, use_cache=False, **settings))

    def test_greedy_writes_the_largest_logit_of_the_model(self):
        model, ids = language_model(**TALKATIVE), text(8, 4, symbols=2)
        written = model.generate(ids, max_new_tokens=8, **NO_PADDING)
        for length in range(4, 12):
            logits = model(written[:, :length]).logits[:, -1]
            logits[:, NO_PADDING["suppress_tokens"]] = -math.inf
            assert torch.equal(logits.argmax(1), written[:, length])
        assert written.max() > ids.max()

    @pytest.mark.parametrize("limit", [0, 1, 2])
    def test_no_more_new_symbols_are_written_than_the_limit_allows(self, limit):
        model, ids = language_model(eos_token_id=None, num_fresh_symbols=limit), text(4, 5, symbols=3)
        torch.manual_seed(0)
        counts = set()
        for options in ({"do_sample": True, "temperature": 5.0, "num_return_sequences": 3}, {"num_beams": 3}):
            written = model.generate(ids, max_new_tokens=20, pad_token_id=PAD, **options)
            for row, tokens in enumerate(written.tolist()):
                prompt = ids[row * len(ids) // len(written)].tolist()
                counts.add(len({token for token in tokens if token >= BASE and token not in prompt}))
        assert max(counts) == limit
        draws = {"do_sample": True, "temperature": 5.0, "num_return_sequences": 10}
        more = model.generate(ids, max_new_tokens=20, num_fresh_symbols=7, **draws)
        assert max(len({token for token in row if token >= BASE}) for row in more.tolist()) > 3 + limit

    def test_scores_are_of_ids_and_those_of_the_tokens_written_can_be_read_off(self):
        model, ids = language_model(**TALKATIVE), renamed(text(2, 5, symbols=3), {0: 8, 1: 0, 2: 5})
        for options in ({}, {"num_beams": 3}):
            output = model.generate(
                ids, max_new_tokens=6, return_dict_in_generate=True, output_scores=True, output_logits=True, **options
            )
            found = model.compute_transition_scores(
                output.sequences, output.logits, output.get("beam_indices"), normalize_logits=True
            )
            logits = model(output.sequences).logits[:, 4:-1].log_softmax(-1)
            close(found.double(), logits.gather(2, output.sequences[:, 5:, None]).squeeze(2), atol=1e-6)

    def test_a_cache_that_a_call_returns_continues_the_text_in_the_next(self):
        model, ids = language_model(**TALKATIVE), renamed(text(2, 5, symbols=3), {0: 8, 1: 0, 2: 5})
        whole = model.generate(ids, max_new_tokens=8)
        start = model.generate(ids, max_new_tokens=4, return_dict_in_generate=True)
        again = model.generate(start.sequences, max_new_tokens=4, past_key_values=start.past_key_values)
        assert torch.equal(again, whole)
        cache = model(ids[:, :-1], use_cache=True).past_key_values
        assert torch.equal(model.generate(ids, max_new_tokens=8, past_key_values=cache), whole)

    def test_a_streamer_and_a_processor_get_what_the_documentation_says(self):
        model, ids = language_model(**TALKATIVE), renamed(text(1, 5, symbols=3), {0: 8, 1: 0, 2: 5})
        streamed, seen = [], []

        class Streamer:
            def put(self, value):
                streamed.extend(value.flatten().tolist())

            def end(self):
                streamed.append("end")

        def processor(input_ids, scores):
            seen.append(input_ids)
            return scores

        written = model.generate(ids, max_new_tokens=6, streamer=Streamer(), logits_processor=[processor])
        assert streamed == [*written[0].tolist(), "end"]
        referents = model.slot_referents(ids)[0]
        inside = seen[0][0]
        outside = torch.where(inside >= BASE, BASE + referents[(inside - BASE).clamp(min=0)], inside)
        assert torch.equal(outside, ids[0]) and inside.max() < BASE + 3


class TestTraining:
    def test_the_loss_takes_the_first_occurrence_of_a_symbol_as_a_new_symbol(self):
        model, ids = language_model(), text(3)
        labels = ids.clone()
        labels[0, :4] = -100
        rows, targets = [], []
        for row, tokens in enumerate(ids.tolist()):
            for t, logits in enumerate(StreamsReference(model).read(tokens)[:-1]):
                if labels[row, t + 1] != -100:
                    rows.append(list(logits.values()))
                    seen = tokens[t + 1] < BASE or tokens[t + 1] in tokens[: t + 1]
                    targets.append(list(logits).index(tokens[t + 1] if seen else "new"))
        assert model(ids, labels=labels).loss.item() == pytest.approx(cross_entropy(rows, targets))
        shifted = torch.nn.functional.pad(labels[:, 1:], (0, 1), value=-100)
        assert model(ids, shift_labels=shifted).loss.item() == pytest.approx(cross_entropy(rows, targets))

    def test_it_learns_to_copy_symbols_that_it_has_never_seen(self):
        torch.manual_seed(0)
        config = SymbolInvariantConfig(**{**SIZES, "d_model": 24, "d_ff": 32, "loss": "cross_entropy",
            "normalize_embeddings": False, "normalize_features": False})  # fmt: skip
        model = SymbolInvariantForCausalLM(config).train()
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)

        def pairs(count, referents):
            """x y x y x y, of two different symbols."""
            rows = [random.sample(referents, 2) * 3 for _ in range(count)]
            return BASE + torch.tensor(rows)

        random.seed(0)
        for _ in range(60):
            ids = pairs(16, range(5))
            optimizer.zero_grad()
            model(ids, labels=ids).loss.backward()
            optimizer.step()
        model.eval()
        ids = pairs(20, range(100, 200))
        with torch.no_grad():
            assert model(ids, labels=ids).loss < 0.1
        written = model.generate(ids[:, :3], max_new_tokens=3, eos_token_id=None)
        assert torch.equal(written, ids)

    def test_gradient_checkpointing_gives_the_same_gradients(self):
        ids, gradients = text(), []
        for checkpointing in (False, True):
            model = language_model(**IDENTITY).train()
            if checkpointing:
                enable_checkpointing(model)
            model(ids, labels=ids).loss.backward()
            gradients.append({name: parameter.grad for name, parameter in model.named_parameters()})
        for name, gradient in gradients[0].items():
            assert gradient.abs().max() > 0 or name.endswith("k_proj.bias"), name
            torch.testing.assert_close(gradients[1][name], gradient)

    def test_a_text_without_symbols_has_the_anonymous_stream_alone(self):
        model = language_model()
        output = model(torch.tensor([[0, 3, 2]]))
        assert output.slot_referents.tolist() == [[-1]] and output.logits.shape == (1, 3, BASE + SYMBOLS + 1)
        assert (output.logits > -math.inf).sum() == 3 * (BASE + 1)


class TestErrors:
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"slot_vectors": torch.zeros(1)}, 'slot_vectors: symbol_embedding="streams" draws no rows'),
            ({"slot_referents": torch.zeros(1)}, 'slot_referents: symbol_embedding="streams" draws no rows'),
            ({"num_draws": 2}, 'num_draws: symbol_embedding="streams" draws no rows'),
            (
                {"input_ids": torch.tensor([[2**20]])},
                f"symbol id {2**20}: logits in id space .* return_id_logits=False",
            ),
        ],
    )
    def test_an_impossible_call_is_refused(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            language_model()(**{"input_ids": text(), **arguments})

    def test_a_cache_of_another_text_is_refused(self):
        model, ids = language_model(), text(1)
        cache = model(ids, use_cache=True).past_key_values
        with pytest.raises(ValueError, match="past_key_values knows symbols that do not occur in input_ids"):
            model.generate(torch.full((1, 12), 3), past_key_values=cache)

    @pytest.mark.parametrize("arguments", [{"prompt_lookup_num_tokens": 2}, {"guidance_scale": 2.0}], ids=str)
    def test_arguments_of_generate_that_streams_cannot_follow_are_refused(self, arguments):
        (name,) = arguments
        with pytest.raises(ValueError, match=f"{name}={arguments[name]}: "):
            language_model().generate(text(), **arguments)

    def test_a_negative_limit_is_refused(self):
        with pytest.raises(ValueError, match="num_fresh_symbols=-1: must be at least 0, or None for no limit"):
            language_model().generate(text(), num_fresh_symbols=-1)

    def test_ids_of_symbols_in_arguments_of_generate_are_refused(self):
        with pytest.raises(ValueError, match=f"suppress_tokens: {BASE + 1} is a symbol"):
            language_model().generate(text(), suppress_tokens=[BASE + 1])


def test_a_cache_keeps_whose_stream_is_whose_when_its_rows_move():
    model, ids = language_model(), text(3)
    with torch.no_grad():
        expected = model(ids).logits
        for order in ([2, 0, 0], [0, 0, 1, 1, 2, 2], [1]):
            cache = model(ids[:, :5], use_cache=True).past_key_values
            cache.move(order)
            close(model(ids[order, 5:], past_key_values=cache).logits, expected[order, 5:])


def test_a_saved_model_comes_back(tmp_path):
    model, ids = language_model(dtype=torch.float32, num_fresh_symbols=3), text()
    model.save_pretrained(tmp_path)
    loaded = SymbolInvariantForCausalLM.from_pretrained(tmp_path)
    assert loaded.config.num_fresh_symbols == 3 and torch.equal(loaded(ids).logits, model(ids).logits)
    assert {"causal_symbinv.py", "slots_symbinv.py"} <= {path.name for path in tmp_path.iterdir()}
