"""Decoding: `generate` in slot space, a cache that holds the encoder once per input, and grammars of answers.

Ids are renamed to slots before `generate` starts and back when it ends: alpha-equivalent inputs are then the same
tensors all the way, ties included, and their outputs are renamings of each other bit for bit. A logits processor or
stopping criterion that a user passes therefore sees slot ids, V_n + slot; `slot_referents` tells whose slot it is.

Letters: B batch, N beams per input, K slots, L source length, T target length, V_n base tokens.
"""

from abc import ABC, abstractmethod
from copy import copy
from typing import Any

import torch
from transformers.cache_utils import Cache, DynamicCache, DynamicLayer, EncoderDecoderCache
from transformers.generation import GenerationMixin
from transformers.generation.logits_process import (
    LogitsProcessor,
    LogitsProcessorList,
    SuppressTokensLogitsProcessor,
)
from transformers.generation.streamers import BaseStreamer

from .configuration_symbinv import check_grammar
from .embedding_symbinv import Slots, check_source, referents_of, refuse_embeddings, slots_to_ids
from .generation_arguments_symbinv import (
    REFUSED_BY_ENCODER_DECODER,
    OneBatchAtATime,
    allowed_in_slots,
    flat,
    refuse_arguments,
    refuse_cache_with_beams,
    refuse_symbols,
)


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
        super().reset()


class SymbolInvariantCache(EncoderDecoderCache):
    """Keys and values of the decoder per beam, of the encoder once per input: beams share them and never move them.

    Attributes:
        kept: the inputs `(A,)` whose keys and values are still here; None for all.
        beams: of an input; 0 as long as all inputs are kept.
    """

    def __init__(self) -> None:
        super().__init__(Cache(layer_class_to_replicate=BeamLayer), DynamicCache())
        self.kept: torch.Tensor | None = None
        self.beams = 0

    def reorder_cache(self, beam_idx: torch.LongTensor) -> None:
        """Moves the beams of each input, `beam_idx (B·N,)`; those of inputs that are not kept are passed over."""
        if self.kept is not None:
            moved = beam_idx.view(-1, self.beams)[self.kept] % self.beams  # (A, N)
            beam_idx = (moved + torch.arange(0, moved.numel(), self.beams, device=moved.device).unsqueeze(1)).flatten()
        self.self_attention_cache.reorder_cache(beam_idx)

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

    def _leave_out(self, cache: SymbolInvariantCache | None, outputs: Any, mask: torch.Tensor | None) -> None:
        """Takes finished inputs out of the cache and of the encoder's output."""
        if cache is not None:
            places = self.open if self.computed is None else torch.searchsorted(self.computed, self.open)
            cache.keep(self.open, places, self.beams)
        by_input = {name: outputs[name][self.open] for name in ("last_hidden_state", "slot_referents", "symbol_slots")}
        self.source = {
            "encoder_outputs": type(outputs)(**{**outputs, **by_input}),
            "attention_mask": None if mask is None else mask[self.open],
        }
        self.computed = self.open


class GrammarLogitsProcessor(LogitsProcessor, ABC):
    """Lets only answers of a grammar be written, and closes them before the length limit.

    Args:
        grammar: token ids, as the subclass says.
        base_vocab_size: V_n.
        eos_token_id: the id that ends an answer.
        prompt_length: tokens before the answer, the start token included.
        max_length: tokens at most, prompt and EOS included.

    Raises:
        ValueError: for another grammar, a limit that no answer can meet, or a prompt that no answer begins with.
    """

    name: str  # of the grammar
    noun: str  # what an answer is
    shortest: tuple[str, ...]  # the tokens of the shortest answer

    def __init__(
        self, grammar: dict[str, Any], base_vocab_size: int, eos_token_id: int, prompt_length: int, max_length: int
    ):
        check_grammar(grammar, base_vocab_size)
        if grammar["name"] != self.name:
            raise ValueError(f"grammar={grammar!r}: {type(self).__name__} follows the grammar {self.name!r} only")
        if prompt_length == 1 and max_length - prompt_length < len(self.shortest):
            raise ValueError(
                f"at most {max_length - prompt_length} new tokens: the shortest {self.noun} has {len(self.shortest)} "
                f"({', '.join(self.shortest)}); raise max_new_tokens or pass grammar=None"
            )
        self.grammar, self.base_vocab_size, self.eos_token_id = grammar, base_vocab_size, eos_token_id
        self.prompt_length, self.max_length = prompt_length, max_length

    def __call__(self, input_ids: torch.LongTensor, scores: torch.Tensor) -> torch.Tensor:
        """Sets `scores (B·N, columns)` of tokens that cannot follow `input_ids (B·N, length)` to -inf."""
        answer, exists = input_ids[:, 1:], scores > -torch.inf
        if 1 < input_ids.shape[1] == self.prompt_length:
            self._check_prompt(answer, scores.shape[1])
        allowed = self.allowed(answer, self.max_length - input_ids.shape[1] - 1, exists)
        scores = scores.masked_fill(~allowed, -torch.inf)
        # Where others, such as a minimal length, forbade all that the grammar allows, the grammar wins. Only base
        # tokens come back: every situation allows one, and a column of a symbol may stand for none.
        stuck = (scores == -torch.inf).all(1, keepdim=True)
        columns = torch.arange(scores.shape[1], device=scores.device)
        return scores.masked_fill(stuck & allowed & (columns < self.base_vocab_size), 0.0)

    @abstractmethod
    def allowed(self, answer: torch.Tensor, left: int, exists: torch.Tensor) -> torch.Tensor:
        """Which token may come next `(B·N, columns)`: one base token at least, if only EOS.

        Args:
            answer: what is written so far `(B·N, T)`, without the start token.
            left: tokens at most that may follow the next one.
            exists: `(B·N, columns)`, false for symbols that cannot be written whatever the grammar says.
        """

    def _check_prompt(self, answer: torch.Tensor, columns: int) -> None:
        """Refuses the beginning of an answer `(B, T)` that no answer of the grammar begins with."""
        exists = torch.ones(len(answer), columns, dtype=torch.bool, device=answer.device)
        for position in range(answer.shape[1]):
            allowed = self.allowed(answer[:, :position], self.max_length - position - 2, exists)
            bad = ~allowed.gather(1, answer[:, position : position + 1]).squeeze(1)
            if bad.any():
                row = int(bad.nonzero()[0, 0])
                token = int(answer[row, position])
                shown = token if token < self.base_vocab_size else "a symbol"
                raise ValueError(
                    f"decoder_input_ids[{row}, {position + 1}], {shown}: no {self.noun} within max_length continues "
                    "so; correct the beginning or pass grammar=None"
                )


class LassoGrammarLogitsProcessor(GrammarLogitsProcessor):
    """Lasso traces in prefix notation.

        trace → (state `;`)* `{` state (`;` state)* `}` EOS
        state → operand | unary state | binary state state

    `grammar` holds token ids: `"operand"` (constants; every symbol is one too), `"unary"`, `"binary"` lists of ids;
    `"separator"`, `"cycle_start"`, `"cycle_end"`. The rest is as for `GrammarLogitsProcessor`.
    """

    name = "lasso"
    noun = "trace"
    shortest = ("cycle start", "a state", "cycle end", "EOS")

    # Classes of tokens; the rows of `_allowed_classes`.
    _other, _operand, _unary, _binary, _separator, _open, _close, _eos = range(8)

    def __init__(
        self, grammar: dict[str, Any], base_vocab_size: int, eos_token_id: int, prompt_length: int, max_length: int
    ):
        super().__init__(grammar, base_vocab_size, eos_token_id, prompt_length, max_length)
        classes = torch.full((base_vocab_size + 1,), self._other)
        for name, value in (("operand", self._operand), ("unary", self._unary), ("binary", self._binary)):
            classes[grammar[name]] = value
        for name, value in (("separator", self._separator), ("cycle_start", self._open), ("cycle_end", self._close)):
            classes[grammar[name]] = value
        classes[eos_token_id] = self._eos
        classes[base_vocab_size] = self._operand  # every symbol
        self._classes = classes

    def allowed(self, answer: torch.Tensor, left: int, exists: torch.Tensor) -> torch.Tensor:
        """What may continue `answer (B·N, T)` to a trace, `(B·N, columns)` as `exists (B·N, columns)`."""
        self._classes = self._classes.to(answer.device)
        columns = torch.arange(exists.shape[1], device=answer.device)
        return self._allowed_classes(self._class_of(answer), left)[:, self._class_of(columns)]

    def _class_of(self, ids: torch.Tensor) -> torch.Tensor:
        return self._classes[ids.clamp(max=len(self._classes) - 1)]

    def _allowed_classes(self, classes: torch.Tensor, left: int) -> torch.Tensor:
        """Which class may come next `(B·N, 8)`, after `classes (B·N, T)`, with `left` tokens to follow it at most."""
        batch, length = classes.shape
        change = (classes == self._binary).long() - (classes == self._operand).long()
        total = torch.cat((change.new_zeros(batch, 1), change.cumsum(1)), dim=1)
        step = (classes == self._separator) | (classes == self._open) | (classes == self._close)
        index = torch.arange(1, length + 1, device=classes.device)
        last_step = torch.where(step, index, 0).amax(1, keepdim=True) if length else total.new_zeros(batch, 1)
        need = 1 + total[:, -1] - total.gather(1, last_step).squeeze(1)  # operands that the current state still awaits
        in_cycle, closed = (classes == self._open).any(1), (classes == self._close).any(1)
        at_start = last_step.squeeze(1) == length

        # Tokens at least that must follow: the rest of the state, then `} EOS`, or `; { operand } EOS`.
        to_close = torch.where(in_cycle, 2, 5)
        in_state, after_state = ~closed & (need > 0), ~closed & (need == 0)
        never = torch.zeros_like(closed)
        rows = {
            self._other: never,
            self._operand: in_state & (need - 1 + to_close <= left),
            self._unary: in_state & (need + to_close <= left),
            self._binary: in_state & (need + 1 + to_close <= left),
            self._separator: after_state & (torch.where(in_cycle, 3, 4) <= left),
            self._open: ~in_cycle & at_start & (left >= 3),
            self._close: in_cycle & after_state & (left >= 1),
            self._eos: closed,
        }
        return torch.stack([rows[name] for name in range(8)], dim=1)


class AssignmentGrammarLogitsProcessor(GrammarLogitsProcessor):
    """Partial assignments: symbol and value alternate, and no symbol comes twice.

        assignment → symbol value (symbol value)* EOS

    `grammar` holds the token ids of the `"values"`. Where there is no symbol to write, the answer is empty. The rest is
    as for `GrammarLogitsProcessor`.
    """

    name = "assignment"
    noun = "assignment"
    shortest = ("a symbol", "its value", "EOS")

    def allowed(self, answer: torch.Tensor, left: int, exists: torch.Tensor) -> torch.Tensor:
        """What may continue `answer (B·N, T)` to an assignment, `(B·N, columns)` as `exists (B·N, columns)`."""
        columns = torch.arange(exists.shape[1], device=answer.device)
        eos = columns == self.eos_token_id
        if answer.shape[1] % 2:
            values = torch.tensor(self.grammar["values"], device=answer.device)
            allowed = torch.isin(columns, values).expand_as(exists)
        else:
            used = torch.zeros_like(exists).scatter(1, answer, True)
            allowed = (columns >= self.base_vocab_size) & ~used & (left >= 2)  # value and EOS follow
            may_end = answer.shape[1] > 0 or ~(allowed & exists).any(1, keepdim=True)
            allowed = allowed | (eos & may_end)
        ended = (answer == self.eos_token_id).any(1, keepdim=True)
        return torch.where(ended, eos, allowed)


_PROCESSORS = {
    processor.name: processor for processor in (LassoGrammarLogitsProcessor, AssignmentGrammarLogitsProcessor)
}


class _IdStreamer(BaseStreamer):
    """Hands slot ids on to a user's streamer as ids."""

    def __init__(self, streamer: BaseStreamer, to_ids: Any):
        self.streamer, self.to_ids = streamer, to_ids

    def put(self, value: torch.Tensor) -> None:
        rows = value if value.dim() == 2 else value.unsqueeze(1)  # the prompts (B, T), then one token of each (B,)
        self.streamer.put(self.to_ids(rows).reshape(value.shape))

    def end(self) -> None:
        self.streamer.end()


class _NeverWritten(SuppressTokensLogitsProcessor):
    """Identical to SuppressTokensLogitsProcessor except: transformers keeps that of `suppress_tokens` beside it."""


class SymbolInvariantGenerationMixin(OneBatchAtATime, GenerationMixin):
    """`generate` for symbol-invariant models: greedy, beam search, sampling and n-best, as in `transformers`."""

    def generate(self, inputs: torch.Tensor | None = None, **kwargs: Any) -> Any:
        """Answers a batch, as `transformers.GenerationMixin.generate`, with these differences.

        Args:
            inputs: `(B, L)` int64 ids, also as `input_ids`.
            grammar: a grammar for the answers; default that of the generation config, None for free answers.
            logits_processor, stopping_criteria: see slot ids (V_n + slot); `slot_referents` gives the map.
            prefix_allowed_tokens_fn: sees and returns ids; symbols that do not occur in the input are left out.
            kwargs: every other argument of `generate`.

        Returns:
            Ids `(B·num_return_sequences, T)`, start token first; or with `return_dict_in_generate` an output whose
            `sequences` are ids, whose scores and logits have a column per id, and with `slot_referents (B, K)`.

        Raises:
            ValueError: if there is no input, an argument other than these names the id of a symbol, for an argument of
                `REFUSED_BY_ENCODER_DECODER`, or the cache implementation is not the default, dynamic one.
        """
        refuse_embeddings(
            inputs_embeds=kwargs.pop("inputs_embeds", None),
            decoder_inputs_embeds=kwargs.pop("decoder_inputs_embeds", None),
        )
        base = self.config.base_vocab_size
        refuse_arguments(self, kwargs, REFUSED_BY_ENCODER_DECODER)
        refuse_symbols(self, kwargs, base)
        input_ids = kwargs.pop("input_ids", None) if inputs is None else inputs
        if input_ids is None:
            raise ValueError(
                "generate() got no input_ids; pass the tokenizer's output: generate(**tokenizer(question, …))"
            )
        attention_mask, prompt = kwargs.get("attention_mask"), kwargs.get("decoder_input_ids")
        slots = self._slots(input_ids, attention_mask, prompt)

        def to_slots(ids: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
            slot = slots.of(referents_of(ids, base, mask))
            return torch.where(slot >= 0, base + slot, ids.clamp(max=base - 1))  # masked symbols stand for nothing

        def to_ids(ids: torch.Tensor) -> torch.Tensor:
            referents = slots.referents.repeat_interleave(len(ids) // len(slots.referents), 0).to(ids.device)
            referents = referents.gather(1, (ids - base).clamp(min=0, max=referents.shape[1] - 1))
            return torch.where(ids >= base, base + referents, ids)

        if prompt is not None:
            kwargs["decoder_input_ids"] = to_slots(prompt, None)
        if kwargs.get("prefix_allowed_tokens_fn") is not None:
            allowed = allowed_in_slots(kwargs["prefix_allowed_tokens_fn"], slots.referents, base)
            kwargs["prefix_allowed_tokens_fn"] = allowed
        refuse_cache_with_beams(self, kwargs, (type(None), SymbolInvariantCache))
        if kwargs.get("prompt_lookup_num_tokens") is not None and kwargs.get("past_key_values") is None:
            kwargs["past_key_values"] = EncoderDecoderCache(DynamicCache(), DynamicCache())  # one that can be cropped
        if kwargs.get("streamer") is not None:
            kwargs["streamer"] = _IdStreamer(kwargs["streamer"], to_ids)
        output = super().generate(to_slots(input_ids, attention_mask), **kwargs)
        if isinstance(output, torch.Tensor):
            return to_ids(output)
        output.sequences = to_ids(output.sequences)
        for name in ("scores", "logits"):
            steps = getattr(output, name, None)
            if steps is not None:
                output[name] = tuple(self._in_id_space(step, slots) for step in steps)
        output["slot_referents"] = slots.referents
        return output

    def _in_id_space(self, scores: torch.Tensor, slots: Slots) -> torch.Tensor:
        """`scores (B·N, V_n + K or more)` of slots as scores of ids, `(B·N, max(vocab_size, largest id + 1))`."""
        base, rows = self.config.base_vocab_size, len(scores) // len(slots.referents)
        scores = scores[:, : base + slots.referents.shape[1]].unsqueeze(1)
        return slots_to_ids(scores, slots.repeat_interleave(rows), base, self.config.vocab_size).squeeze(1)

    def compute_transition_scores(
        self,
        sequences: torch.Tensor,
        scores: tuple[torch.Tensor, ...],
        beam_indices: torch.Tensor | None = None,
        normalize_logits: bool = False,
    ) -> torch.Tensor:
        """The score of each token written, as `transformers.GenerationMixin.compute_transition_scores`.

        Args:
            sequences: `(R, T)` ids, as `generate` returned them.
            scores: of each step `(B·N, ids)`, `scores` or `logits` of the same output.
            beam_indices: `(R, steps)`, those of the same output, the row of each token, -1 behind the end; or None.
            normalize_logits: take the logarithms of the probabilities.

        Returns:
            `(R, steps)`; 0 behind the end of a sequence.
        """
        steps = torch.stack(scores)  # (steps, B·N, ids)
        if normalize_logits:
            steps = steps.log_softmax(-1)
        if beam_indices is None:
            beam_indices = torch.arange(len(sequences), device=sequences.device).unsqueeze(1).expand(-1, len(steps))
        length = int((beam_indices >= 0).sum(1).max())
        beam_indices, tokens = beam_indices[:, :length], sequences[:, sequences.shape[1] - length :]
        ends = torch.isin(tokens, tokens.new_tensor(flat(self.generation_config.eos_token_id)))
        behind = (beam_indices < 0) | (ends.cumsum(1) - ends.long() > 0)
        step = torch.arange(length, device=sequences.device)
        return steps[step, beam_indices.clamp(min=0), tokens].masked_fill(behind, 0.0)

    def slot_referents(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor | None = None,
        decoder_input_ids: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """The referent of each slot in a call of `generate` with these arguments.

        Args:
            input_ids: `(B, L)` int64.
            attention_mask: `(B, L)`, 1 at tokens, 0 at padding; None for no padding.
            decoder_input_ids: `(B, T)` int64, the beginning of each answer; None for none.

        Returns:
            `(B, K)` int64, -1 where a slot has none.
        """
        return self._slots(input_ids, attention_mask, decoder_input_ids).referents

    def _slots(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor | None, prompt: torch.Tensor | None
    ) -> Slots:
        check_source(input_ids, attention_mask)
        base = self.config.base_vocab_size
        referents = [referents_of(input_ids, base, attention_mask)]
        if prompt is not None:
            if len(prompt) != len(input_ids):
                raise ValueError(
                    f"decoder_input_ids has batch {len(prompt)}, input_ids {len(input_ids)}; give one prompt per input"
                )
            referents.append(referents_of(prompt, base, None))
        return self.model.embedding.assign(torch.cat(referents, dim=1))

    def prepare_inputs_for_generation(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Adds that shuffled slots come back as ids, which are slots here."""
        inputs = super().prepare_inputs_for_generation(*args, **kwargs)
        return {**inputs, "return_id_logits": self.model.embedding.shuffles}

    def _prepare_text_encoder_decoder_kwargs_for_generation(
        self,
        inputs_tensor: torch.Tensor,
        model_kwargs: dict[str, Any],
        model_input_name: str | None,
        generation_config: Any,
    ) -> dict[str, Any]:
        """Encodes, with streams also for symbols that occur in the decoder's prompt only."""
        model_kwargs["encoder_outputs"] = self.model.encode(
            inputs_tensor,
            model_kwargs.get("attention_mask"),
            model_kwargs.get("decoder_input_ids"),
            generation_config.output_attentions,
            generation_config.output_hidden_states,
        )
        return model_kwargs

    def _expand_inputs_for_generation(
        self,
        expand_size: int = 1,
        is_encoder_decoder: bool = False,
        input_ids: Any = None,
        **model_kwargs: Any,
    ) -> tuple[torch.Tensor, dict[str, Any]]:
        """Repeats the answers per beam, but nothing of the encoder."""
        mask = model_kwargs.get("decoder_attention_mask")
        if mask is not None:
            model_kwargs["decoder_attention_mask"] = mask.repeat_interleave(expand_size, 0)
        return input_ids.repeat_interleave(expand_size, 0), model_kwargs

    def _prepare_cache_for_generation(
        self,
        generation_config: Any,
        model_kwargs: dict[str, Any],
        generation_mode: Any,
        batch_size: int,
        max_cache_length: int,
    ) -> None:
        if generation_config.cache_implementation not in (None, "dynamic"):
            raise ValueError(
                f"cache_implementation={generation_config.cache_implementation!r}: only the dynamic cache keeps the "
                "encoder once per input; leave it out"
            )
        if generation_config.use_cache is not False and model_kwargs.get("past_key_values") is None:
            model_kwargs["past_key_values"] = SymbolInvariantCache()

    def _beam_search(
        self,
        input_ids: torch.Tensor,
        logits_processor: LogitsProcessorList,
        stopping_criteria: Any,
        generation_config: Any,
        **kwargs: Any,
    ) -> Any:
        """Beam search that leaves finished inputs out, unless the call asks for what was computed at every step.

        An output with `return_dict_in_generate` then has `sequences_scores`, for which `transformers` asks every step.
        """
        asked = ("output_scores", "output_logits", "output_attentions", "output_hidden_states")
        known = isinstance(kwargs.get("past_key_values"), (SymbolInvariantCache, type(None)))
        drops = known and not any(getattr(generation_config, name) for name in asked)
        search = _OpenInputs(self, generation_config.num_beams) if drops else self
        config = copy(generation_config)
        config.output_scores = config.output_scores or drops
        output = GenerationMixin._beam_search(search, input_ids, logits_processor, stopping_criteria, config, **kwargs)
        if config.return_dict_in_generate and isinstance(output.past_key_values, SymbolInvariantCache):
            output.past_key_values.settle()
        if drops and config.return_dict_in_generate:
            output.scores = None  # those of inputs that were left out are none
        return output

    def _get_logits_processor(
        self, generation_config: Any, input_ids_seq_length: int, logits_processor: LogitsProcessorList, **kwargs: Any
    ) -> LogitsProcessorList:
        """Never writes padding or the start token, and follows the grammar."""
        config = self.config
        special = {config.pad_token_id, config.bos_token_id, config.decoder_start_token_id} - {
            None,
            config.eos_token_id,
        }
        own = LogitsProcessorList([_NeverWritten(sorted(special), device=self.device)])
        grammar = getattr(generation_config, "grammar", config.grammar)
        if grammar is not None:
            limits = (input_ids_seq_length, generation_config.max_length)
            check_grammar(grammar, config.base_vocab_size)
            processor = _PROCESSORS[grammar["name"]]
            own.append(processor(grammar, config.base_vocab_size, config.eos_token_id, *limits))
        return super()._get_logits_processor(
            generation_config,
            input_ids_seq_length,
            logits_processor=LogitsProcessorList([*own, *logits_processor]),
            **kwargs,
        )


__all__ = [
    "AssignmentGrammarLogitsProcessor",
    "GrammarLogitsProcessor",
    "LassoGrammarLogitsProcessor",
    "SymbolInvariantGenerationMixin",
]
