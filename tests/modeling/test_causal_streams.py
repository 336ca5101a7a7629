"""The decoder-only model with streams: what it computes, that it never sees the future, and how symbols come in."""

import math
import random

import numpy as np
import pytest
import torch
from transformers import StaticCache

from hf_symbinv import SymbolInvariantConfig, SymbolInvariantForCausalLM
from hf_symbinv.modeling.causal_streams_symbinv import StreamsCache

from .reference import Reference, cross_entropy, sinusoid

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
                    seen = [self.aggregated(hidden, tokens, streams, first)] * len(streams)
                    keys = seen if component == "DA" else list(hidden)
                    hidden = self.norm(block, hidden + self.attention(block, hidden, keys, look_ahead, rotary))
            hidden = self.feed_forward(f"{name}.feed_forward", hidden)
            for stream, start in enumerate(first):
                hidden[stream, :start] = hidden[0, :start]
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
    cache, steps = StreamsCache(), []
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
