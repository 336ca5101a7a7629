"""What all models share: outputs, weights, the layers in a row, the way in (encoding) and the way out (logits, loss).

Read `embedding_symbinv.py` (ids → slots → streams) and `layers_symbinv.py` (attention over streams) first.

Letters: B batch, N answers per example, S streams, K slots, L source length, T target length, D model width, V_n base
tokens, C columns of logits.
"""

from collections.abc import Sequence as Listed
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from .cache_symbinv import OutputWithCache, SymbolInvariantCache, own_cache
from .configuration_symbinv import SymbolInvariantConfig
from .embedding_symbinv import (
    GaussianEmbedding,
    GrowingEmbedding,
    OneStreamEmbedding,
    StreamsEmbedding,
    ViewsEmbedding,
    coreferent,
    make_embedding,
    make_head,
)
from .layers_symbinv import (
    Attention,
    Layer,
    LearnedPositions,
    RelativeBias,
    Sequence,
    position_ids,
    rotary_angles,
    sinusoidal_positions,
    tree_positions,
)
from .loss_symbinv import AdaCos, token_loss
from .slots_symbinv import Slots, check_source, inferred_mask, label_columns, reads_values, referents_of
from .versions_symbinv import ModelOutput, PreTrainedModel

# The head's parameter is the embedding's, so checkpoints hold it once, under the embedding's name.
TIED_WEIGHTS = {"lm_head.weight": "model.embedding.weight"}


@dataclass
class SymbolInvariantOutput(OutputWithCache):
    """What a model made of a batch; the names and their order are transformers' own, and each model has some of them.

    Attributes:
        last_hidden_state: `(B, S, L, D)`.
        loss: scalar, if labels were given.
        logits: in id space `(B, T, max(vocab_size, largest id + 1))`, -inf for symbols that an example cannot write; in
            slot space `(B, T, V_n + K · num_views)`, column V_n + s · num_views + v for view v of the symbol with
            referent `slot_referents[b, s]`. A new symbol, where symbols come in, stands at the smallest referent that
            has not occurred by then, or at slot 0, the anonymous stream, with canonical names at the first free slot.
        cache: on request, also as `past_key_values`: keys and values of all tokens, for the next step.
        hidden_states, decoder_hidden_states, encoder_hidden_states: on request, the embeddings and each layer's output,
            `(B, S, L, D)`.
        attentions, decoder_attentions, cross_attentions, encoder_attentions: on request, `(B, S, H, T, keys)` of each
            block, in the order of layers and their blocks.
        slot_referents: `(B, K)` int64, the referent of each slot, -1 where there is none.
        symbol_slots: of an encoder `(B, L)` int64, the slot of each symbol, -1 at base tokens and padding.
        slot_vectors: `(K, D_random)` or `(B, K, D)`, the random part of each slot's row, if the embedder draws one.
        slot_active: where symbols come in `(B, K, T)` bool, those that have occurred by a place, and an anonymous slot.
        attention_mask: of an encoder `(B, L)`, as it was given or inferred.
    """

    last_hidden_state: Tensor = None
    loss: Tensor | None = None
    logits: Tensor = None
    cache: SymbolInvariantCache | None = None
    hidden_states: tuple[Tensor, ...] | None = None
    attentions: tuple[Tensor, ...] | None = None
    decoder_hidden_states: tuple[Tensor, ...] | None = None
    decoder_attentions: tuple[Tensor, ...] | None = None
    cross_attentions: tuple[Tensor, ...] | None = None
    encoder_last_hidden_state: Tensor | None = None
    encoder_hidden_states: tuple[Tensor, ...] | None = None
    encoder_attentions: tuple[Tensor, ...] | None = None
    slot_referents: Tensor = None
    symbol_slots: Tensor = None
    slot_vectors: Tensor | None = None
    slot_active: Tensor | None = None
    attention_mask: Tensor | None = None

    @property
    def slots(self) -> Slots:
        """The slots that the model read the texts with."""
        if self.slot_active is None:
            return Slots.from_referents(self.slot_referents, self.slot_vectors)
        return Slots(self.slot_referents, self.slot_active)

    def of_questions(self, places: Listed[int]) -> "SymbolInvariantOutput":
        """What an encoder made of the examples at `places` only."""
        names = ("last_hidden_state", "slot_referents", "symbol_slots", "attention_mask")
        chosen = {name: getattr(self, name)[list(places)] for name in names if getattr(self, name) is not None}
        return SymbolInvariantOutput(**chosen, slot_vectors=self.slot_vectors)


class SymbolInvariantPreTrainedModel(PreTrainedModel):
    """Weights, names and abilities that the models share."""

    config_class = SymbolInvariantConfig
    base_model_prefix = "model"
    main_input_name = "input_ids"
    supports_gradient_checkpointing = True
    _supports_sdpa = True
    _no_split_modules = ["Layer"]
    _input_embed_layer = "embedding"
    _keys_to_ignore_on_load_unexpected = ["adacos.scale"]  # of a model with another head or loss
    kind: str  # of the configuration that the model needs

    def __init__(self, config: SymbolInvariantConfig, *args: Any, **kwargs: Any):
        # Compared as text: a checkpoint's own code and the package have two classes of configurations.
        if config.kind != self.kind:
            raise ValueError(
                f"encoder_layers={config.encoder_layers}, decoder_layers={config.decoder_layers}: the configuration is "
                f"{config.kind}, {type(self).__name__} {self.kind}; use {_AUTO_CLASSES[config.kind]}"
            )
        config.validate_components()  # `from_pretrained` sets fields of a configuration that was checked before
        super().__init__(config, *args, **kwargs)

    def save_pretrained(self, *args: Any, **kwargs: Any) -> None:
        """As `PreTrainedModel.save_pretrained`, and the copy of an encoder-decoder's code also serves `AutoModel`."""
        home = "modeling_symbinv.SymbolInvariantModel"
        self.config.auto_map = {"AutoModel": home} if self.config.is_encoder_decoder else {}
        super().save_pretrained(*args, **kwargs)

    def get_submodule(self, target: str) -> nn.Module:
        """As `torch.nn.Module.get_submodule`; where PEFT asks for embeddings to put a prompt before, a ValueError."""
        if target == "embeddings.word_embeddings":
            why = "prompt, prefix and P-tuning put vectors before the text, but each stream sees the text its own way"
            raise ValueError(f"{why}; use LoRA, DoRA or IA3")
        return super().get_submodule(target)

    def _cache(self, past_key_values: Any, cache: Any, use_cache: bool | None) -> SymbolInvariantCache | None:
        """The cache that a call was given by either name, or a new one if it wants one; by default not in training."""
        known = own_cache(past_key_values, cache)
        wanted = self.config.use_cache and not self.training if use_cache is None else use_cache
        return SymbolInvariantCache() if known is None and wanted else known

    def _as_wanted(self, output: ModelOutput, return_dict: bool | None) -> Any:
        """`output`, or a tuple of its values if the call, or else the configuration, wants one."""
        return output if (self.config.return_dict if return_dict is None else return_dict) else output.to_tuple()

    def _traces(self, output_attentions: bool | None, count: int) -> list[list | None]:
        """So many lists for the weights of attention if the call, or else the configuration, wants them; else None."""
        wanted = self.config.output_attentions if output_attentions is None else output_attentions
        return [[] if wanted else None for _ in range(count)]

    def _recorded(self, states: tuple, output_hidden_states: bool | None, *traces: list | None) -> list[tuple | None]:
        """Hidden `states` if the call, or else the configuration, wants them, and `traces`, for an output."""
        wanted = self.config.output_hidden_states if output_hidden_states is None else output_hidden_states
        return [states if wanted else None, *(None if trace is None else tuple(trace) for trace in traces)]

    def _decode(
        self,
        input_ids: Tensor,
        symbol_slots: Tensor,
        slots: Slots,
        attention_mask: Tensor | None,
        cache: SymbolInvariantCache | None,
        traces: Listed[list | None],
        encoded: Tensor | None = None,
        source: Sequence | None = None,
    ) -> tuple[Tensor, ...]:
        """The embeddings `(B·N, S, T, D)` of texts `input_ids (B·N, T)` and each decoder layer's output.

        The texts follow the tokens in the cache; `symbol_slots (B·N, T)` and `slots` are theirs, and
        `attention_mask (B·N, past + T)`, None for no padding. Attention knows `source` of `encoded (B, S, L, D)`.
        """
        past = 0 if cache is None else cache.get_seq_length()
        hidden_states = self.embedding(input_ids, symbol_slots, slots)
        config, length, device = self.config, hidden_states.shape[2], hidden_states.device
        if attention_mask is None:
            positions = torch.arange(past, past + length, device=device).unsqueeze(0)
        else:
            positions = position_ids(attention_mask)[:, -length:]
        angles, mask = None, _causal_mask(length, past, attention_mask, device)
        if config.decoder_positions == "rope":
            angles = rotary_angles(positions, config, hidden_states.dtype)
        elif config.decoder_positions == "t5":
            mask = self.decoder.relative_bias(length, past, mask)
        else:
            added = sinusoidal_positions(positions, config.d_model, hidden_states.dtype)
            hidden_states = hidden_states + added.unsqueeze(1)
        eager, joined = config._attn_implementation == "eager", None if cache is None else cache.joined
        target = Sequence(symbol_slots, self._aggregated(slots), mask, angles, eager=eager, joined=joined)
        return self.decoder(self.dropout(hidden_states), encoded, target, source, cache, traces)

    def grown(
        self, referents: Tensor, first: Tensor | None, attention_mask: Tensor | None, cache: SymbolInvariantCache | None
    ) -> Slots:
        """Where symbols come in, the slots of texts with `referents (B·N, T)` behind those that the cache knows.

        If it knows none, they are behind those of the questions, `first (B·N, S)`. Padding of `attention_mask (B·N,
        past + T)` has no stream.
        """
        if attention_mask is not None:
            referents = referents.masked_fill(attention_mask[:, -referents.shape[1] :] == 0, -1)
        before = None if cache is None else cache.referents
        slots: Slots = self.embedding.assign(referents, first if before is None else before)
        self.decoder.fork(cache, slots.referents)
        return slots

    def _aggregated(self, slots: Slots) -> Tensor:
        """The streams `(B, S)` or `(B, S, L)` that views of all streams average; no others with `extra_streams`."""
        return slots.referents >= 0 if self.config.extra_streams else slots.active

    def _init_weights(self, module: nn.Module) -> None:
        """Glorot-uniform matrices, zero biases; embedding rows of length about 1, as they are normalised anyway.

        With `initializer_range` all of these but biases are normal, as in BERT.
        """
        spread, length_one = self.config.initializer_range, self.config.d_model**-0.5
        if isinstance(module, (nn.Linear, nn.LayerNorm, GaussianEmbedding)):
            nn.init.zeros_(module.bias)
        if isinstance(module, nn.Linear):
            if spread is None:
                nn.init.xavier_uniform_(module.weight)
            else:
                nn.init.normal_(module.weight, std=spread)
        elif isinstance(module, nn.LayerNorm):
            nn.init.ones_(module.weight)
        elif isinstance(module, (StreamsEmbedding, OneStreamEmbedding)):
            nn.init.normal_(module.weight, std=spread or length_one)
            if isinstance(module, GaussianEmbedding):
                nn.init.ones_(module.scale)
        elif isinstance(module, RelativeBias):
            nn.init.normal_(module.weight, std=length_one)  # as T5
        elif isinstance(module, LearnedPositions):  # as large as the embeddings that they are added to
            nn.init.normal_(module.weight, std=spread or (length_one if self.config.embedding_norm else 1))
        elif isinstance(module, Attention):
            for scalars in (module.identity_qk, module.identity_vo):
                if scalars is not None:
                    nn.init.constant_(scalars, self.config.identity_initial / self.config.identity_multiplier)
        elif isinstance(module, AdaCos):
            nn.init.constant_(module.scale, module.initial_scale)


_AUTO_CLASSES = {
    "encoder-decoder": "AutoModelForSeq2SeqLM (SymbolInvariantForConditionalGeneration)",
    "decoder-only": "AutoModelForCausalLM (SymbolInvariantForCausalLM)",
    "encoder-only": "AutoModelForSequenceClassification (SymbolInvariantForSequenceClassification), "
    "AutoModelForTokenClassification or AutoModelForMaskedLM",
}


def _causal_mask(length: int, past: int, attention_mask: Tensor | None, device: torch.device) -> Tensor | None:
    """True where each of `length` tokens after `past` ones may look, `(B or 1, 1, T, past + T)`; None if everywhere."""
    if attention_mask is None and length == 1:
        return None
    steps = torch.arange(past + length, device=device)
    mask = (steps <= steps[past:, None])[None, None]
    if attention_mask is None:
        return mask
    # A padded query looks at itself, so that no row of the softmax is empty.
    return (mask & attention_mask.bool()[:, None, None, :]) | (steps == steps[past:, None])[None, None]


def final_norm(config: SymbolInvariantConfig) -> nn.Module:
    """What normalises the last layer's output, unless that comes out of a LayerNorm anyway."""
    return nn.LayerNorm(config.d_model, eps=config.layer_norm_eps) if config.norm_first else nn.Identity()


class Encoder(nn.Module):
    """The encoder's layers over streams."""

    def __init__(self, config: SymbolInvariantConfig):
        super().__init__()
        self.layers = nn.ModuleList(Layer(config, is_decoder=False) for _ in range(config.encoder_layers))
        self.passes = config.encoder_passes
        self.positions = LearnedPositions(config) if config.encoder_positions == "learned" else None
        self.norm = final_norm(config)

    def forward(
        self, hidden_states: Tensor, source: Sequence, trace: list | None, first: Sequence
    ) -> tuple[Tensor, ...]:
        """The embeddings `hidden_states (B, S, L, D)` and each layer's output, pass by pass, the last one normalised.

        The first layer knows `first` of the sequence, the others `source`. `trace` gets the weights of every block.
        """
        states = [hidden_states]
        for layer in [*self.layers] * self.passes:
            states.append(layer(states[-1], first if len(states) == 1 else source, traces=(trace, None)))
        return (*states[:-1], self.norm(states[-1]))


class Decoder(nn.Module):
    """The decoder's layers over streams."""

    def __init__(self, config: SymbolInvariantConfig):
        super().__init__()
        self.config = config
        self.layers = nn.ModuleList(Layer(config, True, index) for index in range(config.decoder_layers))
        self.relative_bias = RelativeBias(config) if config.decoder_positions == "t5" else None
        self.norm = final_norm(config)

    def fork(self, cache: SymbolInvariantCache | None, referents: Tensor) -> None:
        """Has a stream in the cache for each of `referents (B, S)`, which begin with those known."""
        if cache is not None:
            blocks = [block for layer in self.layers for block in layer.self_attention.values()]
            per_stream = [block.cache_index for block in blocks if not block.aggregated]
            cache.fork(referents, per_stream if self.config.symbol_embedding == "streams" else (), blocks[0].heads)

    def forward(
        self,
        hidden_states: Tensor,
        encoded: Tensor | None,
        target: Sequence,
        source: Sequence | None,
        cache: SymbolInvariantCache | None,
        traces: Listed[list | None],
    ) -> tuple[Tensor, ...]:
        """The embeddings `hidden_states (B·N, S, T, D)` and each layer's output, the last one normalised.

        The layers know `target` of their own sequence and `source` of `encoded (B, S, L, D)`, both None without an
        encoder. `traces` get the weights of every self-attention and of every cross-attention block.
        """
        states = [hidden_states]
        for layer in self.layers:
            # What is computed again in the backward pass would be added to a cache again.
            kept = None if layer.gradient_checkpointing and self.training else cache
            states.append(layer(states[-1], target, encoded, source, cache=kept, traces=traces))
        return (*states[:-1], self.norm(states[-1]))


class TextEncoder(nn.Module):
    """An encoder from ids to hidden states, as `get_encoder` hands it out: a view of the model that it belongs to."""

    def __init__(self, model: "EncodingModel"):
        super().__init__()
        self.embedding, self.encoder = model.embedding, model.encoder
        self.training = model.training
        self._model = (model,)  # in a tuple, or it would be a module of this one

    def forward(
        self, input_ids: Tensor | None = None, attention_mask: Tensor | None = None, *args: Any, **options: Any
    ) -> SymbolInvariantOutput:
        """As `encode`, of `input_ids (B, L)` and `attention_mask (B, L)`, never as a tuple."""
        options.pop("return_dict", None)
        return self._model[0].encode(input_ids, attention_mask, *args, **options)


class EncodingModel(SymbolInvariantPreTrainedModel):
    """An embedder and an encoder: what `SymbolInvariantModel` and `EncoderOnlyModel` share."""

    def __init__(self, config: SymbolInvariantConfig):
        super().__init__(config)
        self.embedding = make_embedding(config)
        self.embedding_norm = nn.LayerNorm(config.d_model, config.layer_norm_eps) if config.embedding_norm else None
        self.dropout = nn.Dropout(config.dropout)
        self.encoder = Encoder(config)

    def get_encoder(self, modality: str | None = None) -> nn.Module:
        """The encoder with its embedding, to be called as `encode` is."""
        return super().get_encoder(modality) if modality else TextEncoder(self)

    def encode(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        prompt_ids: Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        num_streams: int | None = None,
    ) -> SymbolInvariantOutput:
        """Gives slots to the symbols of `input_ids (B, L)` and encodes them.

        `attention_mask (B, L)` is 1 at tokens, 0 at padding; None if padding tokens tell. The symbols of the decoder's
        `prompt_ids (B, T)` get streams too, but with `num_fresh_symbols` the encoder has those of the question only.
        Refuses an empty input, a mask of another shape and a negative id. With `num_streams` there are so many streams,
        and no value is read, so none is refused.
        """
        if attention_mask is None and input_ids is not None:
            attention_mask = inferred_mask(input_ids, self.config)
        slots, referents = self._read(input_ids, attention_mask, prompt_ids, num_streams)
        config, (trace,) = self.config, self._traces(output_attentions, 1)
        if attention_mask is None:
            attention_mask = torch.ones_like(input_ids)
        symbol_slots = self._symbol_slots(referents, slots)
        source = self._source(slots, symbol_slots, attention_mask, config.encoder_positions == "rope")
        hidden_states = self.embedding(input_ids, symbol_slots, slots)
        positions = self._encoder_positions(input_ids, attention_mask, hidden_states.dtype)
        if positions is not None:
            hidden_states = hidden_states + positions
            source = replace(source, positions=positions if config.encoder_positions_in_layers else None)
        if self.embedding_norm is not None:
            hidden_states = self.embedding_norm(hidden_states)
        first = source
        if isinstance(self.embedding, ViewsEmbedding):
            first = replace(source, mask=coreferent(input_ids, attention_mask, config).unsqueeze(1))
        states = self.encoder(self.dropout(hidden_states), source, trace, first)
        hidden, attentions = self._recorded(states, output_hidden_states, trace)
        return SymbolInvariantOutput(
            last_hidden_state=states[-1],
            hidden_states=hidden,
            attentions=attentions,
            slot_referents=slots.referents,
            symbol_slots=symbol_slots,
            slot_vectors=slots.vectors,
            attention_mask=attention_mask,
        )

    @reads_values
    def _read(
        self, input_ids: Tensor, attention_mask: Tensor | None, prompt: Tensor | None, num_streams: int | None
    ) -> tuple[Slots, Tensor]:
        """Checks what `encode` was given; the slots, and the referents of `input_ids (B, L)`."""
        base, views = self.config.base_vocab_size, self.config.num_views
        grows = isinstance(self.embedding, GrowingEmbedding)
        if num_streams is not None:
            if grows or not isinstance(self.embedding, StreamsEmbedding) or num_streams < 1 or prompt is not None:
                raise ValueError(
                    f"num_streams={num_streams}: must be at least 1, and needs a model with "
                    'symbol_embedding="streams" whose answers have no new symbols, and a call without '
                    "decoder_input_ids; leave it out"
                )
            referents = referents_of(input_ids, base, views, attention_mask, check=False)
            return self.embedding.assign(referents, num_streams), referents
        check_source(input_ids, attention_mask)
        referents = referents_of(input_ids, base, views, attention_mask)
        if grows:  # nothing of an answer may reach the encoder
            return Slots.from_referents(self.embedding.assign(referents).referents), referents
        more = [] if prompt is None else [referents_of(prompt, base, views)]
        return self.embedding.assign(torch.cat((referents, *more), dim=1)), referents

    def _symbol_slots(self, referents: Tensor, slots: Slots) -> Tensor:
        """The slot `(B, L)` of each of `referents (B, L)`, -1 for -1.

        A graph refuses no symbol. One without a row gets a place beyond the last row there, where reading is an error.
        """
        symbol_slots = slots.of(referents)
        if not torch.compiler.is_compiling() or isinstance(self.embedding, (StreamsEmbedding, ViewsEmbedding)):
            return symbol_slots
        return torch.where((referents >= 0) & (symbol_slots < 0), slots.referents.shape[1], symbol_slots)

    def _source(self, slots: Slots, symbol_slots: Tensor, attention_mask: Tensor, rotary: bool) -> Sequence:
        """The source as attention sees it: padding masked, with rotary angles for its keys if `rotary`."""
        angles = rotary_angles(position_ids(attention_mask), self.config, self.dtype) if rotary else None
        mask = attention_mask.bool()[:, None, None, :]
        is_eager = self.config._attn_implementation == "eager"
        return Sequence(symbol_slots, self._aggregated(slots), mask, angles, eager=is_eager)

    def _encoder_positions(self, input_ids: Tensor, attention_mask: Tensor, dtype: torch.dtype) -> Tensor | None:
        """What is added to the embeddings, `(B, 1, L, D)`; None where positions are rotary."""
        config, kind = self.config, self.config.encoder_positions
        if kind == "tree":  # paths in the syntax tree: base tokens by `token_arity`, symbols are leaves
            arity = torch.where(input_ids < config.base_vocab_size, -1, 0)
            for token, children in config.token_arity.items():  # a table would have to be sent to the device
                arity = arity.masked_fill(input_ids == token, children)
            return tree_positions(arity.masked_fill(attention_mask == 0, -1), config.d_model).to(dtype).unsqueeze(1)
        if kind == "sinusoidal":
            return sinusoidal_positions(position_ids(attention_mask), config.d_model, dtype).unsqueeze(1)
        learned = self.encoder.positions
        return None if learned is None else learned(position_ids(attention_mask)).unsqueeze(1)


class TokenHeadModel(SymbolInvariantPreTrainedModel):
    """A model with a projection on tokens that shares the embedding's weight, and a loss."""

    _tied_weights_keys = TIED_WEIGHTS
    # The loss divides by `num_items_in_batch`, so micro-batches of one optimizer step add up to its mean.
    accepts_loss_kwargs = True

    def _add_head(self) -> None:
        """Makes the head, behind the model."""
        self.lm_head = make_head(self.config, self.model.embedding.weight)
        self.adacos = AdaCos(self.config.vocab_size) if self.config.loss == "adacos" else None
        self.register_load_state_dict_post_hook(accept_missing_head)

    def _scores(self, hidden_states: Tensor, slots: Slots) -> tuple[Tensor, Tensor]:
        """Logits in slot space `(B, T, C)` of `hidden_states (B, S, T, D)`, and what they were before scaling."""
        cosines = self.lm_head(hidden_states, slots)
        return cosines if self.adacos is None else self.adacos(cosines), cosines

    def _loss(self, scores: tuple[Tensor, Tensor], columns: Tensor, num_items: Tensor | int | None) -> Tensor:
        """The loss of labels in the `columns (B, T)` of `scores`."""
        return token_loss(*scores, columns, num_items, self.adacos, self.config)

    def _columns(self, labels: Tensor, slots: Slots, check: bool = True) -> Tensor:
        """The column `(B, T)` of each of `labels (B, T)` in slot space; refuses unknown ones if to `check`."""
        unknown = f"{self.model.embedding.unknown}; leave such examples out" if check else None
        return label_columns(labels, slots, self.config.base_vocab_size, self.config.num_views, unknown)


def accept_missing_head(model: nn.Module, keys: Any) -> None:
    """Takes the head's weight, which a checkpoint has under the embedding's name, out of torch's missing `keys`."""
    keys.missing_keys[:] = [key for key in keys.missing_keys if TIED_WEIGHTS.get(key, key) in keys.missing_keys]


def require_one_per_token(labels: Tensor, logits: Tensor, noun: str) -> None:
    """Refuses `labels (B, L)` that are not one for each token of `logits (B, L, C)`, each a `noun`."""
    if labels.shape != logits.shape[:2]:
        shapes = f"labels has shape {tuple(labels.shape)}, input_ids {tuple(logits.shape[:2])}"
        raise ValueError(f"{shapes}; give one {noun} per token, and -100 where there is none")
