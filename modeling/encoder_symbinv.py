"""Any encoder of transformers with streams: pretrained weights in a model that no renaming of symbols changes.

    model, tokenizer = SymbolInvariantEncoder.around("bert-base-cased", r"[A-Z][a-z]+", base_words=["If", "So"])

The encoder reads a text once for each symbol in it. In the copy of a symbol one vector, at first that of "this",
stands at all its places, and another one, at first that of "other", at those of all other symbols. Names reach no copy.
Copies lie in the batch axis, as `Streams` has them, and tell each other what they found.

Letters: B batch, S streams, N copies (all streams of all texts), L length, D width, C labels, V_n base tokens.
"""

import inspect
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from .configuration_encoder_symbinv import SymbolInvariantEncoderConfig
from .embedding_symbinv import aggregate_streams
from .slots_symbinv import Streams, refuse_embeddings
from .subwords_symbinv import SymbolInvariantSubwordTokenizer
from .versions_symbinv import (
    AutoModel,
    AutoTokenizer,
    ModelOutput,
    PreTrainedModel,
    SequenceClassifierOutput,
    TokenClassifierOutput,
)


@dataclass
class SymbolInvariantEncoderOutput(ModelOutput):
    """What an encoder with streams made of a batch: vectors.

    Attributes:
        last_hidden_state: `(B, L, D)`, for tokens.
        pooler_output: `(B, D)`, for texts: the mean over tokens.
        symbol_vectors: `(B, S, D)`, for symbols as they first appear: the mean over the copy of each, else zeros.
        hidden_states, attentions: on request what the encoder gives of each copy, `(B, S, L, D)` and `(B, S, H, L, L)`.
    """

    last_hidden_state: Tensor = None
    pooler_output: Tensor = None
    symbol_vectors: Tensor = None
    hidden_states: tuple[Tensor, ...] | None = None
    attentions: tuple[Tensor, ...] | None = None


class _EncoderWithStreams(PreTrainedModel):
    """What a model is made of, with a head or without."""

    config_class = SymbolInvariantEncoderConfig
    base_model_prefix = "model"
    _supports_sdpa = _supports_flash_attn = _supports_flex_attn = _supports_attention_backend = True

    @classmethod
    def around(
        cls,
        encoder: str,
        symbol_pattern: str | None = None,
        base_words: Sequence[str] = (),
        words: tuple[str, str] = ("this", "other"),
        config: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> tuple[Any, SymbolInvariantSubwordTokenizer]:
        """A model with an encoder's weights, and a tokenizer that gives each symbol of a text one id.

        Args:
            encoder: a folder, or OWNER/NAME on the Hub, with a model of `AutoModel` and a fast tokenizer.
            symbol_pattern, base_words: which words are symbols, as `SymbolInvariantSubwordTokenizer` takes them.
            words: whose vectors the symbol of a copy and the other symbols start from.
            config: fields of the configuration, such as `num_labels`; by default it has the encoder's labels. A head
                is new, and must be trained.
            kwargs: options of `from_pretrained`.

        Raises:
            ValueError: if the tokenizer is not a fast one or has not these words, or the encoder does not fit.
        """
        if hasattr(encoder, "save_pretrained"):
            kind = type(encoder).__name__
            raise ValueError(f"encoder: is a {kind}; give a folder or a name on the Hub; save_pretrained first")
        fast = AutoTokenizer.from_pretrained(encoder, **kwargs)
        tokenizer = SymbolInvariantSubwordTokenizer.around(fast, symbol_pattern, base_words)

        def ids_of(word: str) -> list[int]:
            ids = fast(f" {word}", add_special_tokens=False)["input_ids"]
            return ids if len(ids) == 1 and ids[0] != fast.unk_token_id else []

        starts = [ids_of(word) for word in words]
        if len(words) != 2 or not all(starts):
            raise ValueError(f"words={words!r}: must be two, each one token of {encoder}; give two of its words")
        given = AutoModel.from_pretrained(encoder, **kwargs)
        if (folder := Path(encoder)).is_dir():
            given.config.name_or_path = folder.resolve().name  # the rest of a path tells about somebody's machine
        fields = {"base_vocab_size": tokenizer.vocab_size, "pad_token_id": tokenizer.pad_token_id}
        if not {"num_labels", "id2label"} & {*(config or {})}:
            fields |= {name: getattr(given.config, name) for name in ("id2label", "label2id", "problem_type")}
        model = cls(cls.config_class(encoder=given.config, **{**fields, **(config or {})})).to(given.dtype).eval()
        body = getattr(model, cls.base_model_prefix, model)
        body.encoder.load_state_dict(given.state_dict(), strict=False)  # without a pooler
        body.this.data, body.other.data = (body.get_input_embeddings().weight.data[ids[0]].clone() for ids in starts)
        return model, tokenizer

    def resize_token_embeddings(self, new_num_tokens: int | None = None, *args: Any, **kwargs: Any) -> nn.Module:
        """Refused unless it is None: ids from `base_vocab_size` on are symbols, which need no rows."""
        if new_num_tokens is not None:
            raise ValueError(
                f"resize_token_embeddings({new_num_tokens}): ids from {self.config.base_vocab_size} on are symbols; "
                "add tokens to the encoder and to its tokenizer, save both, and give them streams by `around`"
            )
        return self.get_input_embeddings()

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        super()._init_weights(module)
        if isinstance(module, SymbolInvariantEncoder):
            nn.init.constant_(module.gates, 0.5)
            nn.init.zeros_(module.rest.weight)
            nn.init.normal_(module.this, std=0.02)  # as BERT's embeddings
            nn.init.normal_(module.other, std=0.02)

    def _as_wanted(self, output: ModelOutput, return_dict: bool | None) -> Any:
        return output if (self.config.return_dict if return_dict is None else return_dict) else output.to_tuple()


class SymbolInvariantEncoder(_EncoderWithStreams):
    """An encoder whose vectors of texts, tokens and symbols no renaming changes, bit for bit.

        h ← h + g (o - h)   at symbols, before each of the last layers, o the state that the symbol's own copy has there
        y = mean of h,      at symbols o + W r, r the mean of the other copies

    At first all g = 1/2 and W = 0, our choice, so that the weights of the encoder still fit.

    Source: streams SIT section 3. In its Algorithm 2, g = 1, and keys and values alone are taken from the other copies.
    """

    def __init__(self, config: SymbolInvariantEncoderConfig):
        super().__init__(config)
        self.encoder = AutoModel.from_config(config.encoder)
        if hasattr(self.encoder, "pooler"):
            self.encoder.pooler = None  # nothing comes of it, and weights without gradients stop distributed training
        if "inputs_embeds" not in inspect.signature(self.encoder.forward).parameters:
            name = type(self.encoder).__name__
            raise ValueError(f"encoder: {name} takes no inputs_embeds, as copies need them; use one that does, as BERT")
        vector, width = self.get_input_embeddings().weight[0], config.encoder.hidden_size
        self.this, self.other = nn.Parameter(torch.empty_like(vector)), nn.Parameter(torch.empty_like(vector))
        self.gates = nn.Parameter(torch.empty(len(self._last_layers())))
        self.rest = nn.Linear(width, width, bias=False)
        self.post_init()

    def get_input_embeddings(self) -> nn.Module:
        """The encoder's, which base tokens have."""
        return self.encoder.get_input_embeddings()

    def set_input_embeddings(self, value: nn.Module) -> None:
        """Puts others in their place."""
        self.encoder.set_input_embeddings(value)

    def _last_layers(self) -> list[nn.Module]:
        """The layers before which copies are mixed."""
        count, wanted = self.config.encoder.num_hidden_layers, self.config.mixing_layers
        lists = (one for one in self.encoder.modules() if isinstance(one, nn.ModuleList) and len(one) == count)
        layers, name = list(next(lists, ())), type(self.encoder).__name__
        if wanted > len(layers):
            raise ValueError(f"mixing_layers={wanted}: {name} has a list of {len(layers)} layers; use so many at most")
        return layers[len(layers) - wanted :]

    def _read(self, input_ids: Tensor, mask: Tensor, streams: Streams, **wanted: bool) -> Any:
        """What the encoder says of all copies of `input_ids (B, L)` with `mask (B, L)`, and what else is wanted."""
        words = self.get_input_embeddings()(input_ids.masked_fill(input_ids >= self.config.base_vocab_size, 0))
        slots = streams.slots[streams.example].unsqueeze(2)  # (N, L, 1)
        vectors = torch.where(slots < 0, words[streams.example], self.other)
        vectors = torch.where(slots == streams.stream[:, None, None], self.this, vectors)

        def mix(gate: Tensor, layer: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
            own = streams.own_and_rest(streams.spread(inputs[0]))[0][streams.example]
            return (inputs[0] + gate * (own - inputs[0]).masked_fill(slots < 0, 0), *inputs[1:])

        with ExitStack() as hooks:
            for layer, gate in zip(self._last_layers(), self.gates, strict=True):
                hooks.callback(layer.register_forward_pre_hook(partial(mix, gate)).remove)
            return self.encoder(inputs_embeds=vectors, attention_mask=mask[streams.example], **wanted)

    def forward(
        self, input_ids: Tensor | None = None, attention_mask: Tensor | None = None, return_dict: bool | None = None,
        inputs_embeds: None = None, output_hidden_states: Any = None, output_attentions: bool | None = None,
    ) -> SymbolInvariantEncoderOutput | tuple:  # fmt: skip
        """Vectors of texts, tokens and symbols of `input_ids (B, L)` under `attention_mask (B, L)`."""
        refuse_embeddings(inputs_embeds=inputs_embeds)
        streams = Streams.of(input_ids, attention_mask, self.config.base_vocab_size)
        mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        asked = {"output_hidden_states": output_hidden_states, "output_attentions": output_attentions}
        asked = {name: getattr(self.config, name) if value is None else value for name, value in asked.items()}
        seen = self._read(input_ids, mask, streams, **{name: value for name, value in asked.items() if value})
        copies, count = streams.spread(seen[0]), mask.sum(1, keepdim=True)
        view = aggregate_streams(copies, streams.slots, streams.active) + self.rest(streams.own_and_rest(copies)[1])
        output = SymbolInvariantEncoderOutput(
            last_hidden_state=view,
            pooler_output=view.masked_fill(mask.unsqueeze(2) == 0, 0).sum(1) / count,
            symbol_vectors=copies.masked_fill(mask[:, None, :, None] == 0, 0).sum(2) / count.unsqueeze(2),
            hidden_states=streams.spread_all(getattr(seen, "hidden_states", None)),
            attentions=streams.spread_all(getattr(seen, "attentions", None)),
        )
        return self._as_wanted(output, return_dict)


class _WithHead(_EncoderWithStreams):
    """Gives each of some vectors v a class, or with `num_labels=1` a number: y = W tanh(W' v + b') + b."""

    def __init__(self, config: SymbolInvariantEncoderConfig):
        super().__init__(config)
        self.model = SymbolInvariantEncoder(config)
        self.dense = nn.Linear(config.encoder.hidden_size, config.encoder.hidden_size)
        self.classifier = nn.Linear(config.encoder.hidden_size, config.num_labels)
        self.post_init()

    def forward(
        self, input_ids: Tensor | None = None, attention_mask: Tensor | None = None, labels: Tensor | None = None,
        return_dict: bool | None = None, inputs_embeds: None = None, output_hidden_states: Any = None,
        output_attentions: bool | None = None, **kwargs: Any,
    ) -> Any:  # fmt: skip
        """`logits (…, C)` of `input_ids (B, L)` under `attention_mask (B, L)`, and of `labels (…)` the mean loss."""
        output = self.model(input_ids, attention_mask, True, inputs_embeds, output_hidden_states, output_attentions)
        logits = self.classifier(self.dense(getattr(output, self.vectors)).tanh())
        given = {"logits": logits, "pooled_logits": logits, "labels": labels, "config": self.config, **kwargs}
        loss = None if labels is None else self.loss_function(**given)
        states = {"hidden_states": output.hidden_states, "attentions": output.attentions}
        return self._as_wanted(self.output_class(loss=loss, logits=logits, **states), return_dict)


class SymbolInvariantEncoderForSequenceClassification(_WithHead):
    """An encoder with streams that gives each text a class or a number; source: Devlin et al. 2019, section 3.2."""

    vectors, output_class = "pooler_output", SequenceClassifierOutput


class SymbolInvariantEncoderForTokenClassification(_WithHead):
    """An encoder with streams that gives each token a class; source: Devlin et al. 2019, section 5.3."""

    vectors, output_class = "last_hidden_state", TokenClassifierOutput


SymbolInvariantEncoder.register_for_auto_class("AutoModel")  # saved checkpoints bring the code along
SymbolInvariantEncoderForSequenceClassification.register_for_auto_class("AutoModelForSequenceClassification")
SymbolInvariantEncoderForTokenClassification.register_for_auto_class("AutoModelForTokenClassification")
