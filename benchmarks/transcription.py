"""The peer of training and memory: Algorithms 1-5 of the Symbol-Invariant Transformer paper, as they are printed.

One stream per symbol of the vocabulary, whether it occurs or not; all streams of a block have keys and values of their
own, the aggregated view's too; loops over the streams where the paper has them; float32, eager attention, no cache.
Batches are the only addition. Names of weights are those of `SymbolInvariantForConditionalGeneration`, so its state
dict loads, and the same configuration serves both: rotary positions in the decoder, paths in the syntax tree in the
encoder, AdaCos with a fixed scale. A configuration with `extra_streams` is read as the paper's authors read it in their
release: there are so many streams, aggregation counts those of the question's symbols, and no other symbol is written.

Letters: B batch, k streams, L source length, T target length, K keys, H heads, d width, V_n base tokens.
"""

from __future__ import annotations

import math

import torch
from torch import nn

from hf_symbinv import SymbolInvariantConfig
from hf_symbinv.modeling.layers_symbinv import tree_positions


class Block(nn.Module):
    """Norm(H + Dropout(MHA(H, K, K, m))) with H `(B, k, T, d)` and K `(B, k, K, d)`."""

    def __init__(self, config: SymbolInvariantConfig):
        super().__init__()
        self.heads = config.num_attention_heads
        self.q_proj = nn.Linear(config.d_model, config.d_model)
        self.k_proj = nn.Linear(config.d_model, config.d_model)
        self.v_proj = nn.Linear(config.d_model, config.d_model)
        self.out_proj = nn.Linear(config.d_model, config.d_model)
        self.norm = nn.LayerNorm(config.d_model, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self,
        hidden: torch.Tensor,
        source: torch.Tensor,
        mask: torch.Tensor,
        query_angles: torch.Tensor | None = None,
        key_angles: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """The new H; `mask` `(…, T or 1, K)` is True where a query may look; angles are `(2, L, d / H)`."""
        query, key, value = (
            projection(states).unflatten(-1, (self.heads, -1)).transpose(2, 3)  # (B, k, H, L, d / H)
            for projection, states in ((self.q_proj, hidden), (self.k_proj, source), (self.v_proj, source))
        )
        if query_angles is not None and key_angles is not None:
            query, key = rotated(query, query_angles), rotated(key, key_angles)
        scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
        attended = scores.masked_fill(~mask, -math.inf).softmax(-1) @ value
        attended = self.out_proj(attended.transpose(2, 3).flatten(-2))
        return self.norm(hidden + self.dropout(attended))


class FeedForward(nn.Module):
    """Norm(H + Dropout(FFN(H)))."""

    def __init__(self, config: SymbolInvariantConfig):
        super().__init__()
        self.fc1 = nn.Linear(config.d_model, config.d_ff)
        self.fc2 = nn.Linear(config.d_ff, config.d_model)
        self.norm = nn.LayerNorm(config.d_model, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        return self.norm(hidden + self.dropout(self.fc2(torch.relu(self.fc1(hidden)))))


class EncoderLayer(nn.Module):
    """Algorithm 3."""

    def __init__(self, config: SymbolInvariantConfig):
        super().__init__()
        self.self_attention = nn.ModuleDict({name: Block(config) for name in ("EP", "EA") if name in config.components})
        self.feed_forward = FeedForward(config)

    def forward(
        self, hidden: torch.Tensor, mask: torch.Tensor, token_masks: torch.Tensor, counted: torch.Tensor
    ) -> torch.Tensor:
        for name, block in self.self_attention.items():
            hidden = block(hidden, hidden if name == "EP" else aggregate(hidden, token_masks, counted), mask)
        return self.feed_forward(hidden)


class DecoderLayer(nn.Module):
    """Algorithm 4."""

    def __init__(self, config: SymbolInvariantConfig):
        super().__init__()
        own = [name for name in ("DP", "DA") if name in config.components]
        modes = [name for name in config.components if name in ("CP", "CA")]
        self.self_attention = nn.ModuleDict({name: Block(config) for name in own})
        self.cross_attention = nn.ModuleDict({name: Block(config) for name in modes})
        self.feed_forward = FeedForward(config)

    def forward(
        self,
        hidden: torch.Tensor,
        look_ahead: torch.Tensor,
        token_masks: torch.Tensor,
        encoded: torch.Tensor,
        padding: torch.Tensor,
        encoder_masks: torch.Tensor,
        counted: torch.Tensor,
        angles: tuple[torch.Tensor, torch.Tensor],
    ) -> torch.Tensor:
        for name, block in self.self_attention.items():
            states = hidden if name == "DP" else aggregate(hidden, token_masks, counted)
            hidden = block(hidden, states, look_ahead, angles[0], angles[0])
        for name, block in self.cross_attention.items():
            states = encoded if name == "CP" else aggregate(encoded, encoder_masks, counted)
            hidden = block(hidden, states, padding, *angles)
        return self.feed_forward(hidden)


class Transcription(nn.Module):
    """The whole model, with as many streams as the vocabulary has symbols.

    Args:
        config: a model with streams, tree positions in the encoder and rotary ones in the decoder.

    Raises:
        ValueError: for another configuration.
    """

    def __init__(self, config: SymbolInvariantConfig):
        super().__init__()
        positions = (config.encoder_positions, config.decoder_positions)
        if config.symbol_embedding != "streams" or positions != ("tree", "rope") or config.num_symbols < 1:
            raise ValueError(
                f"symbol_embedding={config.symbol_embedding!r}, positions={positions}, num_symbols="
                f"{config.num_symbols}: transcribed are streams with tree and rope positions and at least one symbol"
            )
        self.config, self.streams = config, config.extra_streams or config.num_symbols
        encoder, decoder = nn.Module(), nn.Module()
        encoder.layers = nn.ModuleList(EncoderLayer(config) for _ in range(config.encoder_layers))
        decoder.layers = nn.ModuleList(DecoderLayer(config) for _ in range(config.decoder_layers))
        self.model = nn.Module()
        self.model.embedding = nn.Embedding(config.base_vocab_size + 2, config.d_model)
        self.model.dropout = nn.Dropout(config.dropout)
        self.model.encoder, self.model.decoder = encoder, decoder
        if config.loss == "adacos":
            self.adacos = nn.Module()
            self.adacos.register_buffer("scale", torch.ones(()))

    def take_weights(self, model: nn.Module) -> None:
        """Copies the weights of `model`, whose head shares its embedding's: here one table stands for both."""
        state = model.state_dict()
        del state["lm_head.weight"]
        self.load_state_dict(state)

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Logits `(B, T, V_n + k)` in id space of `targets (B, T)`, start token first, for `input_ids (B, L)`."""
        encoded, encoder_masks = self.encode(input_ids, attention_mask)
        return self.decode(targets, encoded, encoder_masks, attention_mask)

    def encode(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The encoder's states `(B, k, L, d)` and the token masks `(B, k, L)`."""
        encoded, masks = self.embed(input_ids)
        arity = [self.config.token_arity.get(token, -1) for token in range(self.config.base_vocab_size)] + [0]
        arities = torch.tensor(arity, device=input_ids.device)[input_ids.clamp(max=self.config.base_vocab_size)]
        paths = tree_positions(arities.masked_fill(attention_mask == 0, -1), self.config.d_model)
        encoded = self.model.dropout(encoded + paths.to(encoded.dtype).unsqueeze(1))
        padding = attention_mask.bool()[:, None, None, None, :]
        for layer in self.model.encoder.layers:
            encoded = layer(encoded, padding, masks, self.counted(masks))
        return encoded, masks

    def decode(
        self, targets: torch.Tensor, encoded: torch.Tensor, encoder_masks: torch.Tensor, attention_mask: torch.Tensor
    ) -> torch.Tensor:
        """Logits `(B, T, V_n + k)` for `targets (B, T)`."""
        hidden, masks = self.embed(targets)
        hidden = self.model.dropout(hidden)
        length, device = targets.shape[1], targets.device
        look_ahead = torch.ones(length, length, dtype=torch.bool, device=device).tril()
        padding = attention_mask.bool()[:, None, None, None, :]
        counted = self.counted(encoder_masks)
        angles = self.angles(length, device), self.angles(encoded.shape[2], device)
        for layer in self.model.decoder.layers:
            hidden = layer(hidden, look_ahead, masks, encoded, padding, encoder_masks, counted, angles)
        return self.project(hidden, counted)

    def counted(self, encoder_masks: torch.Tensor) -> torch.Tensor:
        """The streams `(B, k)` that aggregation averages: all, and in the release those of the question's symbols."""
        occurs = encoder_masks.any(2)
        return occurs if self.config.extra_streams else torch.ones_like(occurs)

    def table(self) -> torch.Tensor:
        """W, its rows L2-normalised if the configuration says so."""
        weight = self.model.embedding.weight
        return nn.functional.normalize(weight, dim=1) if self.config.normalize_embeddings else weight

    def embed(self, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Algorithm 1, times sqrt(d) if it is to be: `(B, k, L, d)` and the token masks `(B, k, L)`."""
        base, table = self.config.base_vocab_size, self.table()
        factor = math.sqrt(self.config.d_model) if self.config.scale_embedding else 1.0
        embeddings, masks = [], []
        for i in range(self.streams):
            modified = torch.where(tokens >= base, torch.where(tokens == base + i, base, base + 1), tokens)
            embeddings.append(nn.functional.embedding(modified, table) * factor)
            masks.append(tokens == base + i)
        return torch.stack(embeddings, dim=1), torch.stack(masks, dim=1)

    def project(self, hidden: torch.Tensor, counted: torch.Tensor) -> torch.Tensor:
        """Algorithm 5: base tokens from the mean over the streams, each symbol from its own if that is `counted`."""
        base = self.config.base_vocab_size
        if self.config.normalize_features:
            hidden = nn.functional.normalize(hidden, dim=-1)
        projected = hidden @ self.table().T  # (B, k, T, V_n + 2)
        logits = [projected[..., :base].mean(1)]
        for i in range(self.streams):
            logits.append(projected[:, i, :, base : base + 1].masked_fill(~counted[:, i, None, None], -math.inf))
        logits = torch.cat(logits, dim=-1)
        return logits * self.adacos.scale if self.config.loss == "adacos" else logits

    def angles(self, length: int, device: torch.device) -> torch.Tensor:
        """Cosines and sines `(2, length, d / H)` of the rotary positions 0, 1, …"""
        width = self.config.d_model // self.config.num_attention_heads
        like = {"device": device, "dtype": self.model.embedding.weight.dtype}
        frequencies = self.config.rope_theta ** -(torch.arange(0, width, 2, **like) / width)
        angles = torch.arange(length, **like).unsqueeze(1) * torch.cat((frequencies, frequencies))
        return torch.stack((angles.cos(), angles.sin()))

    def loss(self, input_ids: torch.Tensor, attention_mask: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Cross-entropy of `labels (B, T)`, summed; -100 is padding."""
        targets = labels.roll(1, dims=1)
        targets[:, 0] = self.config.decoder_start_token_id
        logits = self(input_ids, attention_mask, targets.masked_fill(targets == -100, self.config.pad_token_id))
        return nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="sum")


def aggregate(hidden: torch.Tensor, token_masks: torch.Tensor, counted: torch.Tensor) -> torch.Tensor:
    """Algorithm 2: the aggregated stream, for each of k, `(B, k, L, d)`, of `hidden (B, k, L, d)`.

    `token_masks (B, k, L)` tell where a stream's own symbol stands, `counted (B, k)` which streams are averaged.
    """
    weights = counted.to(hidden.dtype) / counted.sum(1, keepdim=True).clamp(min=1)
    aggregated = torch.einsum("bkld,bk->bld", hidden, weights)
    for i in range(hidden.shape[1]):
        own = token_masks[:, i, :, None].to(hidden.dtype)
        aggregated = aggregated * (1 - own) + hidden[:, i] * own
    return aggregated.unsqueeze(1).expand_as(hidden)


def rotated(states: torch.Tensor, angles: torch.Tensor) -> torch.Tensor:
    """`states (B, k, H, L, d / H)` rotated by `angles (2, L, d / H)`; Su et al. 2024, with halves for neighbours."""
    first, second = states.chunk(2, dim=-1)
    return states * angles[0] + torch.cat((-second, first), dim=-1) * angles[1]
