"""The symbol-invariant models: backbone, embedder and loss put together as `transformers` models.

Read `embedding_symbinv.py` (ids → slots → streams → logits) and `layers_symbinv.py` (attention over streams) first.

Letters: B batch, N beams per example, S streams, L source length, T target length, D model width, V_n base tokens.
"""

from .versions_symbinv import check_transformers as check_transformers  # isort: split

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn
from transformers import PreTrainedModel
from transformers.cache_utils import Cache, DynamicCache, EncoderDecoderCache
from transformers.utils import ModelOutput

from .causal_streams_symbinv import (
    GrowingEmbedding,
    StreamsCache,
    make_growing_embedding,
    refuse_many,
    slots_to_ids,
    streams_cache,
)
from .causal_streams_symbinv import label_columns as growing_label_columns
from .configuration_symbinv import SymbolInvariantConfig
from .embedding_symbinv import (
    Embedding,
    GaussianEmbedding,
    OneStreamEmbedding,
    Slots,
    StreamsEmbedding,
    ViewsEmbedding,
    check_source,
    coreferent,
    make_embedding,
    make_head,
    referents_of,
    refuse_embeddings,
)
from .generation_symbinv import SymbolInvariantGenerationMixin
from .kernels_symbinv import Dropout, reads_values
from .layers_symbinv import (
    Attention,
    DecoderLayer,
    EncoderLayer,
    LearnedPositions,
    RelativeBias,
    Sequence,
    position_ids,
    rotary_angles,
    sinusoidal_positions,
    tree_positions,
)
from .loss_symbinv import AdaCos, token_loss
from .shared_stream_symbinv import choose_streams, deal_out, log_shares, streams_of

# The head's parameter is the embedding's, so checkpoints hold it once, under the embedding's name.
TIED_WEIGHTS = {"lm_head.weight": "model.embedding.weight"}


@dataclass
class SymbolInvariantEncoderOutput(ModelOutput):
    """What the encoder made of a batch.

    Attributes:
        last_hidden_state: `(B, S, L, D)`.
        slot_referents: `(B, K)` int64, the referent of each slot, -1 where there is none.
        symbol_slots: `(B, L)` int64, the slot of each symbol, -1 at base tokens and padding.
        slot_vectors: `(K, D_random)`, the random part of each slot's row, if the embedder draws one.
        hidden_states: on request, the embeddings and the output of each layer.
        attentions: on request, `(B, S, H, L, L)` per attention block, layer by layer, EP before EA.
    """

    last_hidden_state: torch.Tensor = None
    hidden_states: tuple[torch.Tensor, ...] | None = None
    attentions: tuple[torch.Tensor, ...] | None = None
    slot_referents: torch.Tensor = None
    symbol_slots: torch.Tensor = None
    slot_vectors: torch.Tensor | None = None


def as_encoder_output(given: Any) -> Any:
    """What a caller passed as `encoder_outputs`, with the fields of a `SymbolInvariantEncoderOutput`.

    Args:
        given: what `get_encoder()` returned, also as a tuple; None for none.

    Raises:
        ValueError: if it does not tell whose streams it holds.
    """
    if isinstance(given, (list, tuple)):
        tensors = [value for value in given if isinstance(value, torch.Tensor)]
        fields: dict[str, Any] = dict(
            zip(("last_hidden_state", "slot_referents", "symbol_slots", "slot_vectors"), tensors, strict=False)
        )
        for layers in (value for value in given if isinstance(value, tuple)):
            fields["hidden_states" if layers[0].dim() == 4 else "attentions"] = layers
        named: Any = SymbolInvariantEncoderOutput(**fields)
    else:
        named = given
    if given is not None and getattr(named, "symbol_slots", None) is None:
        raise ValueError(
            f"encoder_outputs is a {type(given).__name__} without slot_referents and symbol_slots, which tell whose "
            "streams it holds; pass what get_encoder() returned"
        )
    return named


@dataclass
class SymbolInvariantModelOutput(ModelOutput):
    """What the encoder-decoder made of a batch; `decoder_attentions` and `cross_attentions` hold one tensor
    `(B·N, S, H, T, K)` per block, layer by layer.

    Attributes:
        last_hidden_state: `(B·N, S, T, D)`, of the decoder.
        slot_referents: `(B, K)` int64, the referent of each slot, -1 where there is none; with `num_fresh_symbols`
            `(B·N, K)`, and -1 also for the anonymous stream, slot 0.
        slot_vectors: `(K, D_random)`, the random part of each slot's row, if the embedder draws one.
        slot_active: with `num_fresh_symbols` `(B·N, K, T)` bool, the symbols of the question and those that have
            occurred in the answer by each place, and an anonymous stream.
        symbol_shares: `(B·N, T, R)`, where symbols share the last stream, the logarithm of each one's share of it.
    """

    last_hidden_state: torch.Tensor | None = None
    past_key_values: EncoderDecoderCache | None = None
    decoder_hidden_states: tuple[torch.Tensor, ...] | None = None
    decoder_attentions: tuple[torch.Tensor, ...] | None = None
    cross_attentions: tuple[torch.Tensor, ...] | None = None
    encoder_last_hidden_state: torch.Tensor | None = None
    encoder_hidden_states: tuple[torch.Tensor, ...] | None = None
    encoder_attentions: tuple[torch.Tensor, ...] | None = None
    slot_referents: torch.Tensor | None = None
    slot_vectors: torch.Tensor | None = None
    slot_active: torch.Tensor | None = None
    symbol_shares: torch.Tensor | None = None


@dataclass
class SymbolInvariantLMOutput(ModelOutput):
    """Like `SymbolInvariantModelOutput`, with

    Attributes:
        loss: scalar, if labels were given.
        logits: `(B·N, T, max(vocab_size, largest id + 1))` in id space, -inf for symbols that an example cannot write;
            in slot space `(B·N, T, V_n + K · num_views)`, column V_n + s · num_views + v for view v of the symbol with
            referent `slot_referents[b, s]`. With `num_fresh_symbols` ids have columns for one referent more: a new
            symbol stands at the smallest one that has not occurred in question or answer by then. In slot space it
            stands at slot 0, the anonymous stream, and with canonical names at the first slot that is free.
    """

    loss: torch.Tensor | None = None
    logits: torch.Tensor | None = None
    past_key_values: EncoderDecoderCache | None = None
    decoder_hidden_states: tuple[torch.Tensor, ...] | None = None
    decoder_attentions: tuple[torch.Tensor, ...] | None = None
    cross_attentions: tuple[torch.Tensor, ...] | None = None
    encoder_last_hidden_state: torch.Tensor | None = None
    encoder_hidden_states: tuple[torch.Tensor, ...] | None = None
    encoder_attentions: tuple[torch.Tensor, ...] | None = None
    slot_referents: torch.Tensor | None = None
    slot_vectors: torch.Tensor | None = None


class SymbolInvariantPreTrainedModel(PreTrainedModel):
    """Weights, names and abilities that the models share."""

    config_class = SymbolInvariantConfig
    base_model_prefix = "model"
    main_input_name = "input_ids"
    supports_gradient_checkpointing = True
    _supports_sdpa = True
    _no_split_modules = ["EncoderLayer", "DecoderLayer"]
    _input_embed_layer = "embedding"

    def __init__(self, config: SymbolInvariantConfig, *args: Any, **kwargs: Any):
        # `from_pretrained(name, max_streams=8)` sets fields of a configuration that was checked without them.
        config.validate_components()
        super().__init__(config, *args, **kwargs)

    def save_pretrained(self, *args: Any, **kwargs: Any) -> None:
        """As `PreTrainedModel.save_pretrained`, and the copy of an encoder-decoder's code also serves `AutoModel`."""
        home = SymbolInvariantModel.__module__.split(".")[-1]
        self.config.auto_map = {"AutoModel": f"{home}.SymbolInvariantModel"} if self.config.is_encoder_decoder else {}
        super().save_pretrained(*args, **kwargs)

    def resize_token_embeddings(self, new_num_tokens: int | None = None, *args: Any, **kwargs: Any) -> Any:
        """Refused: a model's rows are fixed when it is made, and symbols need none unless they are `learned`.

        Raises:
            ValueError: always, unless there is nothing to do (`new_num_tokens` is None).
        """
        if new_num_tokens is not None:
            raise ValueError(
                f"resize_token_embeddings({new_num_tokens}): rows are fixed when a model is made (base_vocab_size, and "
                'num_symbols for "learned", "canonical" and "renamed"); other models can use new symbols at once, '
                "without rows"
            )
        return self.get_input_embeddings()

    def get_submodule(self, target: str) -> nn.Module:
        """As `torch.nn.Module.get_submodule`; where PEFT asks for embeddings to put a prompt before, a sentence.

        Raises:
            ValueError: for `"embeddings.word_embeddings"`, which PEFT asks for in prompt, prefix and P-tuning.
        """
        if target == "embeddings.word_embeddings":
            raise ValueError(
                "prompt, prefix and P-tuning put vectors before the text, but each stream sees the text its own way; "
                "use LoRA, DoRA or IA3"
            )
        return super().get_submodule(target)

    def _keeps_cache(self, use_cache: bool | None) -> bool:
        """Whether to return a cache: as the call says, else as the configuration does, but not in training."""
        return self.config.use_cache and not self.training if use_cache is None else use_cache

    def _as_wanted(self, output: ModelOutput, return_dict: bool | None) -> Any:
        """`output`, or a tuple of its values if the call, or else the configuration, wants one."""
        return output if (self.config.return_dict if return_dict is None else return_dict) else output.to_tuple()

    def _output_flags(self, output_attentions: bool | None, output_hidden_states: bool | None) -> tuple[bool, bool]:
        """Whether to return attentions and hidden states: as the call says, else as the configuration does."""
        if output_attentions is None:
            output_attentions = self.config.output_attentions
        if output_hidden_states is None:
            output_hidden_states = self.config.output_hidden_states
        return bool(output_attentions), bool(output_hidden_states)

    def _place(
        self,
        hidden_states: torch.Tensor,
        symbol_slots: torch.Tensor,
        active: torch.Tensor,
        past: int,
        attention_mask: torch.Tensor | None,
    ) -> tuple[torch.Tensor, Sequence]:
        """Gives embeddings `(B·N, S, T, D)`, which follow `past` cached tokens, to a decoder as it wants them."""
        config, length, device = self.config, hidden_states.shape[2], hidden_states.device
        if attention_mask is None:
            positions = torch.arange(past, past + length, device=device).unsqueeze(0)
        else:
            positions = position_ids(attention_mask)[:, -length:]
        angles, mask = None, _causal_mask(length, past, attention_mask, device)
        if config.decoder_positions == "rope":
            angles = rotary_angles(positions, config, self.dtype)
        elif config.decoder_positions == "t5":
            mask = self.decoder.relative_bias(length, past, mask)
        else:
            added = sinusoidal_positions(positions, config.d_model, hidden_states.dtype)
            hidden_states = hidden_states + added.unsqueeze(1)
        return self.dropout(hidden_states), Sequence(symbol_slots, active, mask, angles)

    def _init_weights(self, module: nn.Module) -> None:
        """Glorot-uniform matrices, zero biases; embedding rows of length about 1, as they are normalised anyway.

        With `initializer_range` all of these but biases are normal, as in BERT.
        """
        spread = self.config.initializer_range
        if isinstance(module, nn.Linear):
            if spread is None:
                nn.init.xavier_uniform_(module.weight)
            else:
                nn.init.normal_(module.weight, std=spread)
            nn.init.zeros_(module.bias)
        elif isinstance(module, nn.LayerNorm):
            nn.init.ones_(module.weight)
            nn.init.zeros_(module.bias)
        elif isinstance(module, (StreamsEmbedding, OneStreamEmbedding)):
            nn.init.normal_(module.weight, std=spread or self.config.d_model**-0.5)
            if isinstance(module, GaussianEmbedding):
                nn.init.ones_(module.scale)
                nn.init.zeros_(module.bias)
        elif isinstance(module, RelativeBias):
            nn.init.normal_(module.weight, std=self.config.d_model**-0.5)  # as T5
        elif isinstance(module, LearnedPositions):
            # As large as the embeddings that they are added to.
            nn.init.normal_(
                module.weight, std=spread or (self.config.d_model**-0.5 if self.config.embedding_norm else 1)
            )
        elif isinstance(module, Attention):
            for scalars in (module.identity_qk, module.identity_vo):
                if scalars is not None:
                    nn.init.constant_(scalars, self.config.identity_initial / self.config.identity_multiplier)
        elif isinstance(module, AdaCos):
            nn.init.constant_(module.scale, module.initial_scale)


def final_norm(config: SymbolInvariantConfig) -> nn.Module:
    """What normalises the last layer's output, unless that comes out of a LayerNorm anyway."""
    return nn.LayerNorm(config.d_model, eps=config.layer_norm_eps) if config.norm_first else nn.Identity()


class Encoder(nn.Module):
    """The encoder's layers over streams."""

    def __init__(self, config: SymbolInvariantConfig):
        super().__init__()
        self.layers = nn.ModuleList(EncoderLayer(config) for _ in range(config.encoder_layers))
        self.passes = config.encoder_passes
        self.positions = LearnedPositions(config) if config.encoder_positions == "learned" else None
        self.norm = final_norm(config)

    def forward(
        self, hidden_states: torch.Tensor, source: Sequence, output_attentions: bool, first: Sequence | None = None
    ) -> tuple[tuple, tuple]:
        """The embeddings `(B, S, L, D)` and each layer's output, pass by pass; the attention weights of every block.

        With `norm_first` the last layer's output is normalised.

        Args:
            hidden_states: `(B, S, L, D)`, the embeddings.
            source: what the layers know of the sequence.
            output_attentions: return the weights too.
            first: what the first layer knows of the sequence, if not the same.
        """
        states: tuple[torch.Tensor, ...] = (hidden_states,)
        attentions: tuple[torch.Tensor | None, ...] = ()
        for index, layer in enumerate([*self.layers] * self.passes):
            known = first if index == 0 and first is not None else source
            hidden_states, weights = layer(hidden_states, known, output_attentions=output_attentions)
            states, attentions = (*states, hidden_states), attentions + weights
        return (*states[:-1], self.norm(hidden_states)), attentions


class Decoder(nn.Module):
    """The decoder's layers over streams."""

    def __init__(self, config: SymbolInvariantConfig):
        super().__init__()
        self.layers = nn.ModuleList(DecoderLayer(config, index) for index in range(config.decoder_layers))
        self.relative_bias = RelativeBias(config) if config.decoder_positions == "t5" else None
        self.norm = final_norm(config)

    @property
    def per_stream(self) -> list[int]:
        """The layers of a cache that hold keys and values of each stream."""
        blocks = [block for layer in self.layers for block in layer.self_attention.values()]
        return [block.cache_index for block in blocks if not block.aggregated]

    def forward(
        self,
        hidden_states: torch.Tensor,
        encoder_hidden_states: torch.Tensor | None,
        target: Sequence,
        source: Sequence | None,
        past_key_values: Cache | None,
        output_attentions: bool,
    ) -> tuple[tuple, tuple, tuple]:
        """The embeddings `(B·N, S, T, D)` and each layer's output; self- and cross-attention weights of every block.

        With `norm_first` the last layer's output is normalised.

        Args:
            hidden_states: `(B·N, S, T, D)`, the embeddings.
            encoder_hidden_states: `(B, S, L, D)`; None if there is no encoder.
            target, source: what the layers know of the decoder's and the encoder's sequence.
            past_key_values: cache of the tokens before; None for none.
            output_attentions: return the weights too.
        """
        states: tuple[torch.Tensor, ...] = (hidden_states,)
        own: tuple[torch.Tensor | None, ...] = ()
        cross: tuple[torch.Tensor | None, ...] = ()
        for layer in self.layers:
            hidden_states, self_weights, cross_weights = layer(
                hidden_states,
                encoder_hidden_states,
                target,
                source,
                past_key_values=past_key_values,
                output_attentions=output_attentions,
            )
            states, own, cross = (*states, hidden_states), own + self_weights, cross + cross_weights
        return (*states[:-1], self.norm(hidden_states)), own, cross


def _causal_mask(
    length: int, past: int, attention_mask: torch.Tensor | None, device: torch.device
) -> torch.Tensor | None:
    """True where each of `length` tokens after `past` ones may look, `(B or 1, 1, T, past + T)`; None if everywhere."""
    if attention_mask is None and length == 1:
        return None
    steps = torch.arange(past + length, device=device)
    mask = (steps <= steps[past:, None])[None, None]
    if attention_mask is None:
        return mask
    # A padded query looks at itself, so that no row of the softmax is empty.
    return (mask & attention_mask.bool()[:, None, None, :]) | (steps == steps[past:, None])[None, None]


def _answers_per_input(name: str, answers: int, inputs: int) -> int:
    beams, rest = answers // inputs, answers % inputs
    if rest or not beams:
        raise ValueError(
            f"{name} has batch {answers}, the encoder's output {inputs}; the first must be a multiple of the second"
        )
    return beams


def _refuse_lost(name: str, ids: torch.Tensor, lost: torch.Tensor, why: str) -> None:
    """Raises if any of `lost (B, T)` is True: a ValueError that shows the first of these `ids`."""
    if not torch.compiler.is_compiling() and lost.any():
        row, position = lost.nonzero()[0].tolist()
        raise ValueError(f"{name}[{row}, {position}]={int(ids[row, position])}: this symbol {why}")


def refuse_taken_labels(
    labels: torch.Tensor | None, num_items_in_batch: torch.Tensor | int | None, return_id_logits: bool | None
) -> None:
    """Refuses a call from which a trainer took the labels, to smooth them itself.

    Args:
        labels: `(B, T)` int64; None if there are none.
        num_items_in_batch: scalar, the labels that the loss is averaged over; None for those of the batch.
        return_id_logits: whether logits in id space are wanted; None if the call does not say.

    Raises:
        ValueError: if there are items to average over but no `labels`, and nobody asked for logits in id space.
    """
    if labels is None and num_items_in_batch is not None and return_id_logits is None:
        raise ValueError(
            "num_items_in_batch without labels: a trainer took them away. label_smoothing_factor would count "
            "symbols that an example cannot write: leave it out, and set label_smoothing in the model's "
            "configuration. For a compute_loss_func, which gets logits in id space, put return_id_logits=True into "
            "the batches"
        )


def require_one_per_token(labels: torch.Tensor, logits: torch.Tensor, noun: str) -> None:
    """Refuses `labels (B, L)` that are not one for each token of `logits (B, L, C)`.

    Args:
        labels: of any shape.
        logits: of the tokens read.
        noun: what a label is.

    Raises:
        ValueError: with both shapes.
    """
    if labels.shape != logits.shape[:2]:
        raise ValueError(
            f"labels has shape {tuple(labels.shape)}, input_ids {tuple(logits.shape[:2])}; give one {noun} per "
            "token, and -100 where there is none"
        )


@reads_values
def label_columns(labels: torch.Tensor, slots: Slots, embedding: Embedding) -> torch.Tensor:
    """Labels as columns `(B, T)` of the logits in slot space.

    Args:
        labels: `(B, T)` int64 ids, -100 where there is none, which is kept.
        slots: of the same B.
        embedding: that gave the slots.

    Raises:
        ValueError: for a symbol that has no slot.
    """
    base, views = embedding.config.base_vocab_size, embedding.config.num_views
    is_symbol = labels >= base
    referents, view = (labels - base) // views, (labels - base) % views
    label_slots = slots.of(torch.where(is_symbol, referents, -1))
    lost = is_symbol & (label_slots < 0)
    _refuse_lost("labels", labels, lost, f"{embedding.unknown}; leave such examples out")
    return torch.where(is_symbol, base + label_slots * views + view, labels)


def accept_missing_head(model: nn.Module, keys: Any) -> None:
    """Lets `load_state_dict` take what a checkpoint holds, where the head's weight stands under the embedding's name.

    Args:
        model: that loaded.
        keys: torch's `missing_keys` and `unexpected_keys`, changed in place.
    """
    present = [head for head, embedding in TIED_WEIGHTS.items() if embedding not in keys.missing_keys]
    keys.missing_keys[:] = [name for name in keys.missing_keys if name not in present]


def require_kind(config: SymbolInvariantConfig, model: str, kind: str) -> None:
    """Refuses a configuration of another kind than `model` is.

    Raises:
        ValueError: naming the Auto class that takes the configuration.
    """
    # Compared as text: a checkpoint's own code and the package have two classes of configurations.
    if config.kind != kind:
        raise ValueError(
            f"encoder_layers={config.encoder_layers}, decoder_layers={config.decoder_layers}: the configuration is "
            f"{config.kind}, {model} {kind}; use {_AUTO_CLASSES[config.kind]}"
        )


_AUTO_CLASSES = {
    "encoder-decoder": "AutoModelForSeq2SeqLM (SymbolInvariantForConditionalGeneration)",
    "decoder-only": "AutoModelForCausalLM (SymbolInvariantForCausalLM)",
    "encoder-only": "AutoModelForSequenceClassification (SymbolInvariantForSequenceClassification), "
    "AutoModelForTokenClassification or AutoModelForMaskedLM",
}


class TextEncoder(nn.Module):
    """An encoder from ids to hidden states, as `get_encoder` hands it out: a view of the model that it belongs to."""

    def __init__(self, model: "EncodingModel"):
        super().__init__()
        self.embedding, self.encoder = model.embedding, model.encoder
        self.training = model.training
        self._model = (model,)  # in a tuple, or it would be a module of this one

    def forward(
        self,
        input_ids: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
        prompt_ids: torch.Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        return_dict: bool | None = None,
    ) -> Any:
        """What `EncodingModel.encode` gives, or a tuple of its values.

        Args:
            input_ids: `(B, L)` int64.
            attention_mask: `(B, L)`, 1 at tokens, 0 at padding; None for no padding.
            prompt_ids: `(B, T)` int64, further tokens whose symbols get streams too.
            output_attentions, output_hidden_states: return them.
            return_dict: False for the tuple; default as the configuration says.
        """
        model = self._model[0]
        output = model.encode(input_ids, attention_mask, prompt_ids, output_attentions, output_hidden_states)
        return model._as_wanted(output, return_dict)


class EncodingModel(SymbolInvariantPreTrainedModel):
    """An embedder and an encoder: what `SymbolInvariantModel` and `SymbolInvariantEncoder` share."""

    def __init__(self, config: SymbolInvariantConfig):
        super().__init__(config)
        grows = config.answers_have_new_symbols
        self.embedding: Embedding = make_growing_embedding(config) if grows else make_embedding(config)
        self.embedding_norm = nn.LayerNorm(config.d_model, config.layer_norm_eps) if config.embedding_norm else None
        self.dropout = Dropout(config.dropout)
        self.encoder = Encoder(config)

    def get_encoder(self, modality: str | None = None) -> nn.Module:
        """The encoder with its embedding, to be called as `encode` is."""
        return super().get_encoder(modality) if modality else TextEncoder(self)

    def encode(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor | None = None,
        prompt_ids: torch.Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
    ) -> SymbolInvariantEncoderOutput:
        """Gives slots to the symbols of a batch and encodes it.

        Args:
            input_ids: `(B, L)` int64.
            attention_mask: `(B, L)`, 1 at tokens, 0 at padding; None for no padding.
            prompt_ids: `(B, T)` int64, further tokens whose symbols get streams too: the decoder's prompt. With
                `num_fresh_symbols` the encoder has streams of the question only.
            output_attentions, output_hidden_states: return them.

        Raises:
            ValueError: for an empty input, a mask of another shape or a negative id.
        """
        slots, referents = self._read(input_ids, attention_mask, prompt_ids)
        output_attentions, output_hidden_states = self._output_flags(output_attentions, output_hidden_states)
        config = self.config
        attention_mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        symbol_slots = self._symbol_slots(referents, slots)
        source = self._source(slots, symbol_slots, attention_mask, config.encoder_positions == "rope")
        hidden_states = self.embedding(input_ids, source.symbol_slots, slots)
        positions = self._encoder_positions(input_ids, attention_mask, hidden_states.dtype)
        if positions is not None:
            hidden_states = hidden_states + positions
            source = replace(source, positions=positions if config.encoder_positions_in_layers else None)
        if self.embedding_norm is not None:
            hidden_states = self.embedding_norm(hidden_states)
        first = None
        if isinstance(self.embedding, ViewsEmbedding):
            first = replace(source, mask=coreferent(input_ids, attention_mask, config).unsqueeze(1))
        states, attentions = self.encoder(self.dropout(hidden_states), source, output_attentions, first)
        return SymbolInvariantEncoderOutput(
            last_hidden_state=states[-1],
            slot_referents=slots.referents,
            symbol_slots=symbol_slots,
            slot_vectors=slots.vectors,
            hidden_states=states if output_hidden_states else None,
            attentions=attentions if output_attentions else None,
        )

    @reads_values
    def _read(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor | None, prompt_ids: torch.Tensor | None
    ) -> tuple[Slots, torch.Tensor]:
        """Checks what `encode` was given; the slots, and the referents of `input_ids (B, L)`."""
        check_source(input_ids, attention_mask)
        base, views = self.config.base_vocab_size, self.config.num_views
        referents = referents_of(input_ids, base, attention_mask, views)
        if self.config.answers_have_new_symbols:  # nothing of an answer may reach the encoder
            return Slots.from_referents(self.embedding.assign(referents).referents), referents
        prompt = [] if prompt_ids is None else [referents_of(prompt_ids, base, None, views)]
        slots = self.embedding.assign(torch.cat((referents, *prompt), dim=1))
        return choose_streams(slots, referents, self.config.max_streams), referents

    def _symbol_slots(self, referents: torch.Tensor, slots: Slots) -> torch.Tensor:
        """The slot `(B, L)` of each of `referents (B, L)`, -1 for -1.

        A graph refuses no symbol. One without a row gets a place beyond the last row there, where reading is an error.
        """
        symbol_slots = slots.of(referents)
        if not torch.compiler.is_compiling() or isinstance(self.embedding, (StreamsEmbedding, ViewsEmbedding)):
            return symbol_slots
        return torch.where((referents >= 0) & (symbol_slots < 0), slots.referents.shape[1], symbol_slots)

    def _source(self, slots: Slots, symbol_slots: torch.Tensor, attention_mask: torch.Tensor, rotary: bool) -> Sequence:
        """The source as attention sees it: padding masked, with rotary angles for its keys if `rotary`."""
        angles = rotary_angles(position_ids(attention_mask), self.config, self.dtype) if rotary else None
        streams = streams_of(symbol_slots, self.config.max_streams)
        return Sequence(streams, slots.active, attention_mask.bool()[:, None, None, :], angles)

    def _encoder_positions(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor, dtype: torch.dtype
    ) -> torch.Tensor | None:
        """What is added to the embeddings, `(B, 1, L, D)`; None where positions are rotary."""
        kind = self.config.encoder_positions
        if kind == "tree":
            return self._tree_positions(input_ids, attention_mask, dtype)
        if kind == "sinusoidal":
            return sinusoidal_positions(position_ids(attention_mask), self.config.d_model, dtype).unsqueeze(1)
        if self.encoder.positions is not None:
            return self.encoder.positions(position_ids(attention_mask)).unsqueeze(1)
        return None

    def _tree_positions(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor, dtype: torch.dtype
    ) -> torch.Tensor:
        """Paths in the syntax tree, `(B, 1, L, D)`: base tokens by `token_arity`, symbols are leaves."""
        base = self.config.base_vocab_size
        table = [self.config.token_arity.get(token, -1) for token in range(base)] + [0]
        arity = torch.tensor(table, device=input_ids.device)[input_ids.clamp(max=base)]
        return tree_positions(arity.masked_fill(attention_mask == 0, -1), self.config.d_model).to(dtype).unsqueeze(1)


class SymbolInvariantModel(EncodingModel):
    """Encoder and decoder with one shared embedding, without projection."""

    _keys_to_ignore_on_load_unexpected = ["adacos.scale"]

    def __init__(self, config: SymbolInvariantConfig):
        require_kind(config, type(self).__name__, "encoder-decoder")
        super().__init__(config)
        self.decoder = Decoder(config)
        self.post_init()

    def forward(
        self,
        input_ids: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
        decoder_input_ids: torch.Tensor | None = None,
        decoder_attention_mask: torch.Tensor | None = None,
        encoder_outputs: SymbolInvariantEncoderOutput | None = None,
        past_key_values: EncoderDecoderCache | None = None,
        use_cache: bool | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        return_dict: bool | None = None,
        inputs_embeds: None = None,
        decoder_inputs_embeds: None = None,
    ) -> SymbolInvariantModelOutput | tuple:
        """Encodes and decodes a batch.

        Args:
            input_ids: `(B, L)` int64, base ids below V_n, symbols from V_n on; may be left out with `encoder_outputs`.
            attention_mask: `(B, L)`, 1 at tokens, 0 at padding; None for no padding.
            decoder_input_ids: `(B·N, T)` int64, N answers per input; default the start token. Symbols that occur only
                here get streams too if N = 1, unless `encoder_outputs` is given, and with `num_fresh_symbols` always.
            decoder_attention_mask: `(B·N, past + T)`; None for no padding.
            encoder_outputs: of `encode` or `get_encoder()`, to decode without encoding again.
            past_key_values: cache of earlier steps, not a static one; keys and values of the encoder are in it once per
                input. With `num_fresh_symbols` its decoder's is a `StreamsCache`.
            use_cache: return the cache; default `config.use_cache`, and in training not.
            inputs_embeds, decoder_inputs_embeds: None; ids are needed.

        Raises:
            ValueError: if there is nothing to encode, for embeddings, for `encoder_outputs` of another model, for a
                cache that is static or that the model has not filled, if the
                batch of answers is no multiple of that of inputs, or a model with one stream meets a symbol without a
                row.
        """
        refuse_embeddings(inputs_embeds=inputs_embeds, decoder_inputs_embeds=decoder_inputs_embeds)
        output_attentions, output_hidden_states = self._output_flags(output_attentions, output_hidden_states)
        encoder_outputs = as_encoder_output(encoder_outputs)
        if encoder_outputs is None:
            encoder_outputs = self.encode_for(
                decoder_input_ids, input_ids, attention_mask, output_attentions, output_hidden_states
            )
        states = encoder_outputs.last_hidden_state
        limit = self.config.max_streams
        slots = Slots.from_referents(encoder_outputs.slot_referents, encoder_outputs.slot_vectors, limit)
        if decoder_input_ids is None:
            decoder_input_ids = torch.full(
                (states.shape[0], 1), self.config.decoder_start_token_id, device=states.device
            )
        beams = _answers_per_input("decoder_input_ids", decoder_input_ids.shape[0], states.shape[0])
        grows = self.config.answers_have_new_symbols
        if past_key_values is None and self._keeps_cache(use_cache):
            past_key_values = EncoderDecoderCache(StreamsCache() if grows else DynamicCache(), DynamicCache())
        elif past_key_values is not None and not isinstance(past_key_values, EncoderDecoderCache):
            past_key_values = EncoderDecoderCache(past_key_values, DynamicCache())
        if past_key_values is not None and past_key_values.is_compileable:
            raise ValueError(
                f"past_key_values holds a {type(past_key_values.self_attention_cache).__name__}: streams have no keys "
                "for tokens to come; pass a DynamicCache, or leave it out"
            )
        if attention_mask is None:
            attention_mask = torch.ones_like(encoder_outputs.symbol_slots)
        has_keys = past_key_values is not None and any(past_key_values.is_updated.values())
        rotary = self.config.decoder_positions == "rope" and (not has_keys or limit is not None)
        source = self._source(slots, encoder_outputs.symbol_slots, attention_mask, rotary)
        past = 0 if past_key_values is None else past_key_values.get_seq_length()
        if past and not has_keys:
            raise ValueError(
                f"past_key_values holds {past} tokens that this model has not read, but its keys belong to the streams "
                "of one input; leave it out"
            )
        own_cache = None if past_key_values is None else past_key_values.self_attention_cache
        hidden_states, target, slots = self._embed_target(
            decoder_input_ids, slots, beams, past, decoder_attention_mask, own_cache
        )
        every_state, own, cross = self.decoder(
            hidden_states, states, target, source, past_key_values, output_attentions
        )
        shares = None
        if limit is not None:
            angles = target.angles, source.angles
            shares = log_shares(every_state[-1], states, angles, encoder_outputs.symbol_slots, slots)
        output = SymbolInvariantModelOutput(
            last_hidden_state=every_state[-1],
            past_key_values=past_key_values,
            slot_referents=slots.referents,
            slot_vectors=slots.vectors,
            slot_active=slots.active if slots.by_place else None,
            symbol_shares=shares,
            decoder_hidden_states=every_state if output_hidden_states else None,
            decoder_attentions=own if output_attentions else None,
            cross_attentions=cross if output_attentions else None,
            encoder_last_hidden_state=states,
            encoder_hidden_states=encoder_outputs.hidden_states,
            encoder_attentions=encoder_outputs.attentions,
        )
        return self._as_wanted(output, return_dict)

    def encode_for(
        self,
        decoder_input_ids: torch.Tensor | None,
        input_ids: torch.Tensor | None,
        attention_mask: torch.Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
    ) -> SymbolInvariantEncoderOutput:
        """`encode`, with streams for the symbols of the answers too if there is one answer per input.

        Args:
            decoder_input_ids: `(B·N, T)` int64, N answers per input; None for none.
            input_ids: `(B, L)` int64.
            attention_mask: `(B, L)`, 1 at tokens, 0 at padding; None for no padding.
            output_attentions, output_hidden_states: as `encode` takes them.

        Raises:
            ValueError: without `input_ids`, and as `encode`.
        """
        if input_ids is None:
            raise ValueError("input_ids and encoder_outputs are both None; pass one of them")
        one_each = decoder_input_ids is not None and decoder_input_ids.shape[0] == input_ids.shape[0]
        prompt = decoder_input_ids if one_each else None
        return self.encode(input_ids, attention_mask, prompt, output_attentions, output_hidden_states)

    def _embed_target(
        self,
        input_ids: torch.Tensor,
        slots: Slots,
        beams: int,
        past: int,
        attention_mask: torch.Tensor | None,
        cache: Cache | None,
    ) -> tuple[torch.Tensor, Sequence, Slots]:
        """Embeds `input_ids (B·N, T)`, which follow `past` cached tokens, as `(B·N, S, T, D)`.

        Also returns the slots: those of the questions `(B, K)` that were given, or where symbols come in those of the
        answers `(B·N, K)`.
        """
        referents = referents_of(input_ids, self.config.base_vocab_size, None, self.config.num_views)
        of_answers = slots.repeat_interleave(beams)
        if isinstance(self.embedding, GrowingEmbedding):
            if attention_mask is not None:
                referents = referents.masked_fill(attention_mask[:, past:] == 0, -1)
            known = streams_cache(cache)
            before = of_answers if known is None or known.referents is None else known
            slots = of_answers = self.embedding.assign(referents, before.referents)
            if known is not None:
                known.fork(slots.referents, self.decoder.per_stream)
        symbol_slots = self._symbol_slots(referents, of_answers)
        if isinstance(self.embedding, OneStreamEmbedding):  # to streams, a symbol without one is a placeholder
            lost = (referents >= 0) & (symbol_slots < 0)
            _refuse_lost("decoder_input_ids", input_ids, lost, f"{self.embedding.unknown}; it cannot be read")
        symbol_slots = streams_of(symbol_slots, self.config.max_streams)
        hidden_states = self.embedding(input_ids, symbol_slots, of_answers)
        placed = self._place(hidden_states, symbol_slots, of_answers.active, past, attention_mask)
        return *placed, slots


class SymbolInvariantForConditionalGeneration(SymbolInvariantPreTrainedModel, SymbolInvariantGenerationMixin):
    """The encoder-decoder with tied projection, loss and `generate`: question in, answer out."""

    _tied_weights_keys = TIED_WEIGHTS
    # The loss divides by `num_items_in_batch`, so micro-batches of one optimizer step add up to its mean.
    accepts_loss_kwargs = True

    def __init__(self, config: SymbolInvariantConfig):
        require_kind(config, type(self).__name__, "encoder-decoder")
        super().__init__(config)
        # By the class's name, some versions of Trainer take the loss for a decoder's and do not count the first labels.
        self.loss_type = None
        self.model = SymbolInvariantModel(config)
        self.lm_head = make_head(config, self.model.embedding.weight)
        self.adacos = AdaCos(config.vocab_size) if config.loss == "adacos" else None
        self.generation_config.grammar = config.grammar
        self.generation_config._from_model_config = False  # or the grammar would be dropped on loading
        self.register_load_state_dict_post_hook(accept_missing_head)
        self.post_init()

    def forward(
        self,
        input_ids: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
        decoder_input_ids: torch.Tensor | None = None,
        decoder_attention_mask: torch.Tensor | None = None,
        encoder_outputs: SymbolInvariantEncoderOutput | None = None,
        past_key_values: EncoderDecoderCache | None = None,
        labels: torch.Tensor | None = None,
        use_cache: bool | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        return_dict: bool | None = None,
        return_id_logits: bool | None = None,
        num_items_in_batch: torch.Tensor | int | None = None,
        inputs_embeds: None = None,
        decoder_inputs_embeds: None = None,
    ) -> SymbolInvariantLMOutput | tuple:
        """Logits, and with `labels` the loss.

        Args:
            input_ids: `(B, L)` int64, base ids below V_n, symbols from V_n on; may be left out with `encoder_outputs`.
            attention_mask: `(B, L)`, 1 at tokens, 0 at padding; None for no padding.
            decoder_input_ids: `(B·N, T)` int64, N answers per input, as `SymbolInvariantModel.forward` takes them.
            decoder_attention_mask: `(B·N, past + T)`; None for no padding.
            encoder_outputs, past_key_values, use_cache: as `SymbolInvariantModel.forward` takes them.
            labels: `(B·N, T)` int64 ids, -100 where nothing is to be predicted. Their symbols must occur in the input,
                or for a model with one stream have a row; in which view they occur there does not matter. With
                `num_fresh_symbols` each answer may have so many others, and one that has occurred neither in the input
                nor in the decoder's is a new one, whatever it is called.
                Without `decoder_input_ids` they are shifted right behind the start token.
            return_id_logits: logits in id space, else in slot space. Default: in id space, except for a loss in
                training, where nobody reads them. Batches of a Trainer's evaluation need one width; where ids go
                beyond `vocab_size`, load the model with a larger `num_symbols`.
            num_items_in_batch: scalar, the labels that the loss is averaged over; default those of this batch.
            inputs_embeds, decoder_inputs_embeds: None; ids are needed.

        Raises:
            ValueError: if a label has no stream or row, or an answer too many new symbols, if a trainer took the labels
                away to smooth them, if the logits would be too wide in id space, and as `SymbolInvariantModel.forward`.
        """
        refuse_embeddings(inputs_embeds=inputs_embeds, decoder_inputs_embeds=decoder_inputs_embeds)
        refuse_taken_labels(labels, num_items_in_batch, return_id_logits)
        if return_id_logits is None:
            return_id_logits = labels is None or not self.training
        encoder_outputs = as_encoder_output(encoder_outputs)
        if encoder_outputs is None:
            encoder_outputs = self.model.encode_for(
                decoder_input_ids, input_ids, attention_mask, output_attentions, output_hidden_states
            )
        config, embedding = self.config, self.model.embedding
        if labels is not None:
            slots = Slots.from_referents(encoder_outputs.slot_referents)
            slots = slots.repeat_interleave(_answers_per_input("labels", len(labels), len(slots.referents)))
            if isinstance(embedding, GrowingEmbedding):
                refuse_many(labels, slots.referents, embedding, config.num_fresh_symbols)
            else:
                columns = label_columns(labels, slots, embedding)
            if decoder_input_ids is None:
                decoder_input_ids = self.prepare_decoder_input_ids_from_labels(labels)
        outputs = self.model(
            input_ids,
            attention_mask,
            decoder_input_ids=decoder_input_ids,
            decoder_attention_mask=decoder_attention_mask,
            encoder_outputs=encoder_outputs,
            past_key_values=past_key_values,
            use_cache=use_cache if labels is None else False,
            output_attentions=output_attentions,
            output_hidden_states=output_hidden_states,
            return_dict=True,
        )
        if isinstance(embedding, GrowingEmbedding):
            slots = Slots(outputs.slot_referents, outputs.slot_active)
            if labels is not None:
                columns = growing_label_columns(labels, slots, config.base_vocab_size, config.num_views)
        else:
            slots = Slots.from_referents(outputs.slot_referents, outputs.slot_vectors, config.max_streams)
            slots = slots.repeat_interleave(outputs.last_hidden_state.shape[0] // slots.referents.shape[0])
        cosines = self.lm_head(outputs.last_hidden_state, slots)
        if outputs.symbol_shares is not None:
            scale = 1.0 if self.adacos is None else self.adacos.scale.clone()
            cosines = deal_out(cosines, outputs.symbol_shares, slots, config.num_views, scale)
        logits = cosines if self.adacos is None else self.adacos(cosines)
        loss = (
            None
            if labels is None
            else token_loss(logits, cosines, columns, num_items_in_batch, self.adacos, self.config)
        )
        if return_id_logits:
            logits = slots_to_ids(logits, slots, config)
        inner = ("last_hidden_state", "slot_active", "symbol_shares")
        shared = {key: outputs.get(key) for key in outputs if key not in inner}
        output = SymbolInvariantLMOutput(loss=loss, logits=logits, **shared)
        return self._as_wanted(output, return_dict)

    def prepare_decoder_input_ids_from_labels(self, labels: torch.Tensor) -> torch.Tensor:
        """`labels (B, T)` shifted right behind the start token, with padding for -100."""
        shifted = labels.roll(1, dims=1)
        shifted[:, 0] = self.config.decoder_start_token_id
        return shifted.masked_fill(shifted == -100, self.config.pad_token_id)


SymbolInvariantModel.register_for_auto_class("AutoModel")
SymbolInvariantForConditionalGeneration.register_for_auto_class("AutoModelForSeq2SeqLM")

__all__ = [
    "SymbolInvariantForConditionalGeneration",
    "SymbolInvariantModel",
    "SymbolInvariantPreTrainedModel",
]
