"""What beam search keeps from step to step, and how it saves work: the one file that knows transformers' own loop.

Beams share what the encoder gave; that is all that answers depend on, and needs documented methods of caches only
(`SymbolInvariantCache`). Two savings need more, and are made only where transformers is as this file knows it
(`knows_beam_search`): beams move when they grow, and inputs whose answers are done are no longer computed. Elsewhere
transformers' own loop runs, to the same answers.

Letters: B batch, A inputs that are still open, N beams per input, S streams, H heads, K keys, D model width.
"""

import inspect
from collections.abc import Iterable
from copy import copy
from functools import cache
from typing import Any

import torch
import transformers
from transformers.cache_utils import Cache, DynamicCache, DynamicLayer, EncoderDecoderCache
from transformers.generation import GenerationMixin
from transformers.utils import logging

from .causal_streams_symbinv import StreamsCache

logger = logging.get_logger(__name__)


class SymbolInvariantCache(EncoderDecoderCache):
    """Keys and values of the decoder per beam, of the encoder once per input: beams share them and never move them."""

    def reorder_cache(self, beam_idx: torch.LongTensor) -> None:
        """Moves the beams: each row continues row `beam_idx (B·N,)` of those before."""
        self.self_attention_cache.reorder_cache(beam_idx)


# What the savings take for granted: methods of transformers with their arguments, and what beam search asks for.
_ARGUMENTS = {
    (GenerationMixin, "_beam_search"): (
        "self", "input_ids", "logits_processor", "stopping_criteria", "generation_config", "synced_gpus",
        "model_kwargs",
    ),
    (GenerationMixin, "_check_early_stop_heuristic"): (
        "is_early_stop_heuristic_unsatisfied", "running_beam_scores", "beam_scores", "is_sent_finished", "cur_len",
        "max_length", "decoder_prompt_len", "early_stopping", "length_penalty",
    ),
    (DynamicLayer, "update"): ("self", "key_states", "value_states", "args", "kwargs"),
    (DynamicLayer, "reorder_cache"): ("self", "beam_idx"),
}  # fmt: skip
_ASKED_FOR = {"_check_early_stop_heuristic", "prepare_inputs_for_generation", "reorder_cache"}


@cache
def knows_beam_search() -> bool:
    """Whether this version of transformers searches as this file knows it; where not, the log says so, once."""
    known = all(
        hasattr(owner, name) and tuple(inspect.signature(getattr(owner, name)).parameters) == arguments
        for (owner, name), arguments in _ARGUMENTS.items()
    )
    known = known and "layer_class_to_replicate" in inspect.signature(Cache.__init__).parameters
    known = known and set(inspect.unwrap(GenerationMixin._beam_search).__code__.co_names) >= _ASKED_FOR
    if not known:
        logger.warning(
            f"transformers {transformers.__version__} searches with beams in a way that this model's code does not "
            "know: answers are the same, but inputs whose answers are done are computed on, so batches take longer"
        )
    return known


def new_cache(answers_have_new_symbols: bool = False) -> SymbolInvariantCache:
    """An empty cache for one call of `generate`."""
    if knows_beam_search():
        return GrowingCache(answers_have_new_symbols)
    return SymbolInvariantCache(StreamsCache() if answers_have_new_symbols else DynamicCache(), DynamicCache())


class BeamLayer(DynamicLayer):
    """Identical to DynamicLayer except: beams move when they grow, both in one copy.

    Attributes:
        keys, values: `(B·N, S·H, K, D / H)`; until they grow, of the beams before they moved.
        moved: for each row the one `(B·N,)` that it continues; None where rows lie where they belong.
    """

    keys: torch.Tensor
    values: torch.Tensor
    moved: torch.Tensor | None = None

    def reorder_cache(self, beam_idx: torch.LongTensor) -> None:
        """Notes that each row continues row `beam_idx (B·N,)` of those before."""
        if self.get_seq_length() > 0:
            beam_idx = beam_idx.to(self.device)
            self.moved = beam_idx if self.moved is None else self.moved[beam_idx]

    def settle(self) -> None:
        """Moves rows now, for whoever reads keys and values before they grow."""
        if self.moved is not None:
            super().reorder_cache(self.moved)
            self.moved = None

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Appends `key_states (B·N, S·H, T, D / H)` and `value_states (B·N, S·H, T, D / H)`; all keys and values."""
        if torch.is_grad_enabled():  # no gradient passes through a copy into place
            self.settle()
        if self.moved is None:
            return super().update(key_states, value_states, *args, **kwargs)
        self.keys, self.values = self._grown(self.keys, key_states), self._grown(self.values, value_states)
        self.moved = None
        return self.keys, self.values

    def _grown(self, states: torch.Tensor, new: torch.Tensor) -> torch.Tensor:
        length = states.shape[-2]
        dtype = torch.promote_types(states.dtype, new.dtype)  # under autocast one step may be of another than the next
        grown = new.new_empty(*new.shape[:-2], length + new.shape[-2], new.shape[-1], dtype=dtype)
        torch.index_select(states.to(dtype), 0, self.moved, out=grown[..., :length, :])
        grown[..., length:, :] = new
        return grown

    def reset(self) -> None:
        """Forgets how beams were to move, and empties keys and values."""
        self.moved = None
        self.keys = self.values = None
        self.is_initialized = False


class GrowingStreamsCache(StreamsCache):
    """Identical to StreamsCache except: beams move when they grow, or when streams fork."""

    def __init__(self) -> None:
        super().__init__()
        self.layer_class_to_replicate = BeamLayer

    def fork(self, referents: torch.Tensor, per_stream: Iterable[int]) -> None:
        """Has a stream for each of `referents (B·N, S)`, as `StreamsCache.fork`, in the layers `per_stream`."""
        if self.referents is not None and self.referents.shape[1] < referents.shape[1]:
            for layer in self.layers:
                layer.settle()
        super().fork(referents, per_stream)


class GrowingCache(SymbolInvariantCache):
    """Identical to SymbolInvariantCache except: beams move when they grow, and finished inputs can be left out.

    Args:
        answers_have_new_symbols: symbols come in while answers grow.

    Attributes:
        kept: the inputs `(A,)` whose keys and values are still here; None for all.
        beams: of an input; 0 as long as all inputs are kept.
    """

    def __init__(self, answers_have_new_symbols: bool = False) -> None:
        own = GrowingStreamsCache() if answers_have_new_symbols else Cache(layer_class_to_replicate=BeamLayer)
        super().__init__(own, DynamicCache())
        self.kept: torch.Tensor | None = None
        self.beams = 0

    def reorder_cache(self, beam_idx: torch.LongTensor) -> None:
        """Moves the beams of each input, `beam_idx (B·N,)`; those of inputs that are not kept are passed over."""
        if self.kept is not None:
            moved = beam_idx.view(-1, self.beams)[self.kept] % self.beams  # (A, N)
            beam_idx = (moved + torch.arange(0, moved.numel(), self.beams, device=moved.device).unsqueeze(1)).flatten()
        super().reorder_cache(beam_idx)

    def keep(self, inputs: torch.Tensor, places: torch.Tensor, beams: int) -> None:
        """Keeps only `inputs (A,)`, which now lie at `places (A,)`, with so many beams each."""
        self.kept, self.beams = inputs, beams
        self.self_attention_cache.reorder_cache(_beams_of(places, beams))
        self.cross_attention_cache.reorder_cache(places)

    def settle(self) -> None:
        """Moves beams that were to move when they grow."""
        for layer in self.self_attention_cache.layers:
            layer.settle()


def _beams_of(inputs: torch.Tensor, beams: int) -> torch.Tensor:
    """The rows `(A·N,)` of the beams of `inputs (A,)`."""
    return (inputs.unsqueeze(1) * beams + torch.arange(beams, device=inputs.device)).flatten()


class _OpenInputs:
    """What beam search sees of the model: the model, which computes only inputs whose answers may still change.

    `transformers` goes on with all inputs until the last one is done. Once no open beam of an input can win, nothing is
    added to its answers any more, so its logits, zeros here, do not matter.
    """

    # Rows are copied when at most this share of the inputs computed last is still open: our choice.
    share = 7 / 8

    def __init__(self, model: Any, beams: int):
        self.model, self.beams = model, beams
        self.open: torch.Tensor | None = None  # None for all
        self.computed: torch.Tensor | None = None  # those that cache and `source` hold
        self.source: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)

    def _check_early_stop_heuristic(self, *args: Any, **kwargs: Any) -> torch.Tensor:
        can_improve = self.model._check_early_stop_heuristic(*args, **kwargs)
        found = can_improve.flatten().nonzero().flatten()
        computed = len(can_improve) if self.open is None else len(self.open)
        if 0 < len(found) <= self.share * computed:
            self.open = found
        return can_improve

    def __call__(self, **inputs: Any) -> Any:
        if self.open is None:
            return self.model(**inputs)
        rows, total = _beams_of(self.open, self.beams), len(inputs["decoder_input_ids"])
        if self.computed is not self.open:
            self._leave_out(inputs.get("past_key_values"), inputs["encoder_outputs"], inputs.get("attention_mask"))
        for name in ("decoder_input_ids", "decoder_attention_mask"):
            if inputs.get(name) is not None:
                inputs[name] = inputs[name][rows]
        output = self.model(**{**inputs, **self.source})
        output.logits = output.logits.new_zeros(total, *output.logits.shape[1:]).index_copy_(0, rows, output.logits)
        return output

    def _leave_out(self, past_key_values: GrowingCache | None, outputs: Any, mask: torch.Tensor | None) -> None:
        """Takes finished inputs out of the cache and of the encoder's output."""
        if past_key_values is not None:
            places = self.open if self.computed is None else torch.searchsorted(self.computed, self.open)
            past_key_values.keep(self.open, places, self.beams)
        by_input = {name: outputs[name][self.open] for name in ("last_hidden_state", "slot_referents", "symbol_slots")}
        self.source = {
            "encoder_outputs": type(outputs)(**{**outputs, **by_input}),
            "attention_mask": None if mask is None else mask[self.open],
        }
        self.computed = self.open


class OncePerInput(dict):
    """What the encoder gave, as `generate` carries it along: transformers repeats all tensors that it finds per beam.

    Attributes:
        outputs: of the encoder, batch B.
        attention_mask: `(B, L)` of the source; None for no padding.
    """

    def __init__(self, outputs: Any, attention_mask: torch.Tensor | None):
        super().__init__(attentions=outputs.attentions, hidden_states=outputs.hidden_states)
        self.outputs, self.attention_mask = outputs, attention_mask


class BeamSearchMixin(GenerationMixin):
    """Beam search that leaves finished inputs out, unless the call asks for what was computed at every step."""

    def _beam_search(self, input_ids: torch.Tensor, **kwargs: Any) -> Any:
        """As transformers searches, with the savings where they are known to work.

        An output with `return_dict_in_generate` always has `sequences_scores`; `transformers` has them only beside the
        scores of every step.
        """
        slots = kwargs["encoder_outputs"].outputs.slot_referents.shape[1]
        columns = self.config.base_vocab_size + slots * self.config.num_views
        # With new symbols, `generate` has already seen to the number of columns.
        search: Any = self if self.config.answers_have_new_symbols else searched_over(self, columns)
        config = copy(kwargs.pop("generation_config"))
        steps = ("output_scores", "output_logits", "output_attentions", "output_hidden_states")
        asked = [name for name in steps if getattr(config, name)]
        known = knows_beam_search() and isinstance(kwargs.get("past_key_values"), (GrowingCache, type(None)))
        if known and not asked:
            search = _OpenInputs(search, config.num_beams)
        config.output_scores = True
        output = GenerationMixin._beam_search(search, input_ids, generation_config=config, **kwargs)
        if config.return_dict_in_generate:
            if isinstance(output.past_key_values, GrowingCache):
                output.past_key_values.settle()
            if "output_scores" not in asked:
                output.scores = None  # of inputs that were left out there are none
        return output


def searched_over(model: Any, columns: int) -> Any:
    """`model`; for versions of transformers that cut scores up by `config.vocab_size`, one where it is `columns`."""
    top_k = getattr(GenerationMixin, "_get_top_k_continuations", None)
    if top_k is None or "vocab_size" not in inspect.signature(top_k).parameters:
        return model
    return with_vocabulary(model, columns)


def with_vocabulary(model: Any, columns: int) -> Any:
    """`model`, where `config.vocab_size` is `columns`: V_n and all views of some symbols."""
    model = copy(model)
    model.config = copy(model.config)
    model.config.num_symbols = (columns - model.config.base_vocab_size) // model.config.num_views
    return model
