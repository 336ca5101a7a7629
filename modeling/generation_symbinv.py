"""Decoding: `generate` in slot space, and grammars of answers.

Ids are renamed to slots before `generate` starts and back when it ends: alpha-equivalent inputs are then the same
tensors all the way, ties included, and their outputs are renamings of each other bit for bit. Between the two all is
transformers' own `generate`, which gets the encoder's output, a cache and the grammar as documented arguments. Whatever
it calls therefore sees slot ids, V_n + slot · num_views + view, and scores with V_n + K · num_views columns: a user's
logits processor or stopping criterion. `slot_referents` tells whose slot it is. Streamers, outputs and
`prefix_allowed_tokens_fn` get ids.

Every view of each symbol of the input may be written, also one that the input does not have: which view belongs where
is for the model to learn. `prefix_allowed_tokens_fn` or a logits processor allows less.

With `num_fresh_symbols`, slots are numbered without the anonymous stream, and the slots behind those of question and
prompt are for new symbols, in the order in which they are written. Outside, these are called by the smallest referents
that neither question nor prompt has.

Letters: B batch, N beams per input, K slots, L source length, T target length, V_n base tokens.
"""

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any

import torch
from transformers.cache_utils import Cache, DynamicCache, EncoderDecoderCache
from transformers.generation import GenerationMixin
from transformers.generation.logits_process import (
    LogitsProcessor,
    LogitsProcessorList,
    SuppressTokensLogitsProcessor,
)
from transformers.generation.streamers import BaseStreamer

from .beams_symbinv import (
    BeamSearchMixin,
    GrowingCache,
    OncePerInput,
    SymbolInvariantCache,
    new_cache,
    with_vocabulary,
)
from .causal_streams_symbinv import (
    FreshSymbolsLogitsProcessor,
    Names,
    WideLogitsProcessor,
    slots_of_answers,
    streams_cache,
)
from .configuration_symbinv import check_grammar, check_grammar_alone
from .embedding_symbinv import Slots, check_source, referents_of, refuse_embeddings, slots_to_ids
from .generation_arguments_symbinv import (
    REFUSED_BY_ENCODER_DECODER,
    REFUSED_BY_NEW_SYMBOLS,
    OneBatchAtATime,
    Settings,
    allowed_in_slots,
    flat,
    refuse_arguments,
    refuse_symbols,
)
from .shared_stream_symbinv import choose_streams


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


class IdStreamer(BaseStreamer):
    """Hands slot ids on to a user's streamer as ids."""

    def __init__(self, streamer: BaseStreamer, to_ids: Any):
        self.streamer, self.to_ids = streamer, to_ids

    def put(self, value: torch.Tensor) -> None:
        """Hands on `value (B, T)`, the prompts, or `(B,)`, the next token of each text."""
        rows = value if value.dim() == 2 else value.unsqueeze(1)  # the prompts (B, T), then one token of each (B,)
        self.streamer.put(self.to_ids(rows).reshape(value.shape))

    def end(self) -> None:
        """Says that nothing follows."""
        self.streamer.end()


class _NeverWritten(SuppressTokensLogitsProcessor):
    """Identical to SuppressTokensLogitsProcessor except: transformers keeps that of `suppress_tokens` beside it."""


class _Settings(Settings):
    """Identical to Settings except: it knows where answers begin."""

    def prompt_length(self, prompt: torch.Tensor | None) -> int:
        """Tokens before the answer: those of `prompt (B, T)`, and a start token if transformers puts one before."""
        if prompt is None:
            return 1
        start = self.get("decoder_start_token_id")
        start = torch.as_tensor(self.get("bos_token_id") if start is None else start, device=prompt.device)
        return prompt.shape[1] + int((prompt[:, 0] != start).all())


class SymbolInvariantGenerationMixin(OneBatchAtATime, BeamSearchMixin):
    """`generate` for symbol-invariant models: greedy, beam search, sampling and n-best, as in `transformers`."""

    @torch.no_grad()
    def generate(self, inputs: torch.Tensor | None = None, generation_config: Any = None, **kwargs: Any) -> Any:
        """Answers a batch, as `transformers.GenerationMixin.generate`, with these differences.

        Args:
            inputs: `(B, L)` int64 ids, also as `input_ids`; may be left out with `encoder_outputs`.
            generation_config: decides where no argument does; default that of the model.
            grammar: a grammar for the answers; default that of the generation config, None for free answers.
            encoder_outputs: of `get_encoder()`, batch B, to decode without encoding again; `attention_mask` as it was.
            past_key_values: an `EncoderDecoderCache` that this model filled for the same inputs, a row per beam, to go
                on with answers given as `decoder_input_ids` and a `decoder_attention_mask` of their shape; it is
                changed in place.
            logits_processor, stopping_criteria: see slot ids, V_n + slot · num_views + view, and scores with a column
                per base token and per view of each slot `(B·N, V_n + K · num_views)`; `slot_referents` gives the map.
            prefix_allowed_tokens_fn: sees and returns ids; symbols that do not occur in the input are left out, but for
                the next new one.
            num_fresh_symbols: how many symbols that its question does not have each answer may have, those of
                `decoder_input_ids` included; default that of the configuration. Only for models that have the field.
            kwargs: every other argument of `generate`.

        Returns:
            Ids `(B·num_return_sequences, T)`, start token first; or with `return_dict_in_generate` an output whose
            `sequences` are ids, whose scores and logits have a column per id, and with `slot_referents (B, K)`.

        Raises:
            ValueError: if there is no input, an argument other than these names the id of a symbol, for an argument of
                `REFUSED_BY_ENCODER_DECODER`, if the cache implementation is not the default, dynamic one, or a cache or
                encoder's output does not fit; with `num_fresh_symbols` also for an argument of
                `REFUSED_BY_NEW_SYMBOLS`, a grammar, and a prompt with more new symbols.
        """
        if generation_config is not None:
            kwargs["generation_config"] = generation_config
        refuse_embeddings(
            inputs_embeds=kwargs.pop("inputs_embeds", None),
            decoder_inputs_embeds=kwargs.pop("decoder_inputs_embeds", None),
        )
        input_ids = kwargs.pop("input_ids", None) if inputs is None else inputs
        settings = _Settings(dict(kwargs), self.generation_config)
        self._check_settings(settings)
        slots = self._slots_of_call(input_ids, settings, kwargs)
        self._rename_inputs(input_ids, slots, settings, kwargs)
        self._encode_inputs(settings, kwargs)
        self._give_cache(slots, settings, kwargs)
        kwargs["logits_processor"] = self._own_processors(slots, settings, kwargs)
        kwargs.pop("grammar", None)
        search: Any = self
        if self.config.answers_have_new_symbols:
            kwargs.pop("num_fresh_symbols", None)
            search = with_vocabulary(self, self._columns(slots))
        output = GenerationMixin.generate(search, **kwargs)
        cache = kwargs.get("past_key_values")
        if self.config.answers_have_new_symbols and cache is not None and getattr(cache, "kept", None) is None:
            cache.self_attention_cache.rename(Names(slots, self.config.base_vocab_size).renamed)
        if isinstance(output, torch.Tensor):
            return self._to_ids(output, slots)
        output.sequences = self._to_ids(output.sequences, slots)
        for name in ("scores", "logits"):
            steps = getattr(output, name, None)
            if steps is not None:
                output[name] = tuple(self._in_id_space(step, slots) for step in steps)
        output["slot_referents"] = slots.referents
        return output

    def _check_settings(self, settings: _Settings) -> None:
        """Refuses what slots, or a cache that holds the encoder once per input, cannot do."""
        grows = self.config.answers_have_new_symbols
        refuse_arguments(settings, REFUSED_BY_NEW_SYMBOLS if grows else REFUSED_BY_ENCODER_DECODER)
        refuse_symbols(settings, self.config.base_vocab_size)
        implementation = settings.get("cache_implementation")
        if implementation not in (None, "dynamic"):
            raise ValueError(
                f"cache_implementation={implementation!r}: only the dynamic cache keeps the "
                "encoder once per input; leave it out"
            )

    def _limit(self, settings: Settings) -> int:
        """How many new symbols an answer may have."""
        given = settings.get("num_fresh_symbols")
        return self.config.num_fresh_symbols if given is None else given

    def _own_symbols(self, slots: Slots, settings: Settings) -> torch.Tensor:
        """How many of the slots are of symbols of each question, `(B,)`; new ones follow."""
        return (slots.referents >= 0).sum(1) - self._limit(settings)

    def _columns(self, slots: Slots) -> int:
        """The base tokens, and every view of each slot."""
        return self.config.base_vocab_size + slots.referents.shape[1] * self.config.num_views

    def _slots_of_call(self, input_ids: torch.Tensor | None, settings: Settings, kwargs: dict[str, Any]) -> Slots:
        """The slots of inputs and prompts, or those that encoded inputs have."""
        outputs, mask = kwargs.get("encoder_outputs"), kwargs.get("attention_mask")
        if outputs is None:
            if input_ids is None:
                raise ValueError(
                    "generate() got no input_ids; pass the tokenizer's output: generate(**tokenizer(question, …))"
                )
            return self._slots(input_ids, mask, kwargs.get("decoder_input_ids"), self._limit(settings))
        if getattr(outputs, "slot_referents", None) is None:
            raise ValueError(
                f"encoder_outputs is a {type(outputs).__name__}; it must be what get_encoder() returns with "
                "return_dict=True, which knows the symbols"
            )
        shapes = {"input_ids": input_ids, "attention_mask": mask}
        for name, given in shapes.items():
            if given is not None and given.shape != outputs.symbol_slots.shape:
                raise ValueError(
                    f"{name} has shape {tuple(given.shape)}, but encoder_outputs is of inputs of shape "
                    f"{tuple(outputs.symbol_slots.shape)}; pass those that were encoded, or leave one of the two out"
                )
        prompt, config = kwargs.get("decoder_input_ids"), self.config
        if prompt is not None and len(prompt) != len(outputs.slot_referents):
            raise ValueError(
                f"decoder_input_ids has batch {len(prompt)}, encoder_outputs {len(outputs.slot_referents)}; give one "
                "prompt per input"
            )
        if config.answers_have_new_symbols:
            own = None if prompt is None else referents_of(prompt, config.base_vocab_size, None, config.num_views)
            return slots_of_answers(outputs.slot_referents, own, self._limit(settings))
        return Slots.from_referents(outputs.slot_referents, outputs.slot_vectors)

    def _rename_inputs(
        self, input_ids: torch.Tensor | None, slots: Slots, settings: Settings, kwargs: dict[str, Any]
    ) -> None:
        """Puts slot ids in the place of ids, also for what comes out later."""
        outputs: Any = kwargs.get("encoder_outputs")
        prompt, streamer = kwargs.get("decoder_input_ids"), kwargs.get("streamer")
        if input_ids is None:
            kwargs["inputs"] = torch.full_like(outputs.symbol_slots, -100)  # as transformers says that there are none
        else:
            kwargs["inputs"] = self._to_slots(input_ids, slots, kwargs.get("attention_mask"))
        if outputs is not None:
            has_referent = outputs.slot_referents >= 0
            numbers = torch.arange(has_referent.shape[1], device=has_referent.device)
            if self.config.answers_have_new_symbols:  # an anonymous stream has no number
                numbers = has_referent.long().cumsum(1) - 1
            kwargs["encoder_outputs"] = replace(outputs, slot_referents=torch.where(has_referent, numbers, -1))
        if prompt is not None:
            kwargs["decoder_input_ids"] = self._prompt_to_slots(prompt, slots)
        if kwargs.get("prefix_allowed_tokens_fn") is not None:
            function, config = kwargs["prefix_allowed_tokens_fn"], self.config
            own = self._own_symbols(slots, settings) if config.answers_have_new_symbols else None
            allowed = allowed_in_slots(function, slots.referents, config.base_vocab_size, config.num_views, own)
            # Samples of an input are rows of their own to transformers.
            copies = 1 if (settings.get("num_beams") or 1) > 1 else settings.get("num_return_sequences") or 1
            kwargs["prefix_allowed_tokens_fn"] = lambda row, written: allowed(row // copies, written)
        if streamer is not None:
            kwargs["streamer"] = IdStreamer(streamer, lambda ids: self._to_ids(ids, slots))

    def _to_slots(self, ids: torch.Tensor, slots: Slots, mask: torch.Tensor | None) -> torch.Tensor:
        """`ids (B, L)` with the slot of each symbol for its referent; those under the mask stand for nothing."""
        base, views = self.config.base_vocab_size, self.config.num_views
        slot = slots.of(referents_of(ids, base, mask, views))
        return torch.where(slot >= 0, base + slot * views + (ids - base) % views, ids.clamp(max=base - 1))

    def _prompt_to_slots(self, prompt: torch.Tensor, slots: Slots) -> torch.Tensor:
        """`prompt (B, T)` with the slot of each symbol for its referent."""
        base, views = self.config.base_vocab_size, self.config.num_views
        lost = (prompt >= base) & (slots.of(referents_of(prompt, base, None, views)) < 0)
        if lost.any():
            row, position = lost.nonzero()[0].tolist()
            raise ValueError(
                f"decoder_input_ids[{row}, {position}]={int(prompt[row, position])}: this symbol has no stream in "
                "encoder_outputs; encode with prompt_ids=decoder_input_ids, or leave encoder_outputs out"
            )
        return self._to_slots(prompt, slots, None)

    def _to_ids(self, ids: torch.Tensor, slots: Slots) -> torch.Tensor:
        """Slot ids `(B·N, T)` as ids."""
        base, views = self.config.base_vocab_size, self.config.num_views
        referents = slots.referents.repeat_interleave(len(ids) // len(slots.referents), 0).to(ids.device)
        referents = referents.gather(1, ((ids - base) // views).clamp(min=0, max=referents.shape[1] - 1))
        return torch.where(ids >= base, base + referents * views + (ids - base) % views, ids)

    def _encode_inputs(self, settings: _Settings, kwargs: dict[str, Any]) -> None:
        """Encodes, with streams also for symbols that occur in the decoder's prompt only."""
        outputs, mask = kwargs.get("encoder_outputs"), kwargs.get("attention_mask")
        if outputs is None:
            outputs = self.model.encode(
                kwargs["inputs"],
                mask,
                kwargs.get("decoder_input_ids"),
                bool(settings.get("output_attentions")),
                bool(settings.get("output_hidden_states")),
            )
        kwargs["encoder_outputs"] = OncePerInput(outputs, mask)

    def _give_cache(self, slots: Slots, settings: _Settings, kwargs: dict[str, Any]) -> None:
        """A cache that holds the encoder once per input: a new one, or around the caches that were given."""
        grows = self.config.answers_have_new_symbols
        given = kwargs.get("past_key_values")
        looks_up = settings.get("prompt_lookup_num_tokens") is not None and (settings.get("num_beams") or 1) == 1
        if given is None and looks_up:
            kwargs["past_key_values"] = EncoderDecoderCache(DynamicCache(), DynamicCache())  # one that can be cropped
        elif given is not None:
            cache = kwargs["past_key_values"] = _shared(given, len(kwargs["inputs"]), settings)
            if grows:
                self._rename_cache(streams_cache(cache.self_attention_cache), slots, settings, kwargs)
        elif settings.get("use_cache") is not False:
            kwargs["past_key_values"] = new_cache(grows)
            if settings.get("cache_implementation") is not None:
                kwargs["cache_implementation"] = None  # the default; transformers takes no cache beside its name

    def _rename_cache(self, cache: Any, slots: Slots, settings: _Settings, kwargs: dict[str, Any]) -> None:
        """Numbers the symbols that a `StreamsCache` knows; all must be of question and prompt."""
        known, prompt = self._own_symbols(slots, settings), kwargs.get("decoder_input_ids")
        if prompt is not None:
            known = known.maximum(1 + (prompt.amax(1) - self.config.base_vocab_size) // self.config.num_views)

        def numbers(referents: torch.Tensor) -> torch.Tensor:
            rows = len(referents) // len(slots.referents)
            found = slots.repeat_interleave(rows).of(referents)
            return torch.where(found < known.repeat_interleave(rows).unsqueeze(1), found, -1)

        cache.rename(numbers)

    def _own_processors(self, slots: Slots, settings: _Settings, kwargs: dict[str, Any]) -> LogitsProcessorList:
        """Never writes padding or the start token, and follows limit and grammar; then come those of the call."""
        config = self.config
        special = {config.pad_token_id, config.bos_token_id, config.decoder_start_token_id}
        special -= {None, config.eos_token_id}
        own: list[LogitsProcessor] = [_NeverWritten(sorted(special), device=kwargs["inputs"].device)]
        if config.answers_have_new_symbols:
            limits = self._limit(settings), self._own_symbols(slots, settings)
            own.append(WideLogitsProcessor(self._columns(slots)))
            own.append(FreshSymbolsLogitsProcessor(*limits, config.base_vocab_size, config.num_views))
        grammar = settings.get("grammar", config.grammar)
        if grammar is not None:
            check_grammar_alone(config)
            check_grammar(grammar, config.base_vocab_size, config.num_views)
            length = settings.prompt_length(kwargs.get("decoder_input_ids"))
            processor = _PROCESSORS[grammar["name"]]
            lengths = (length, settings.max_length(length))
            own.append(processor(grammar, config.base_vocab_size, config.eos_token_id, *lengths))
        return LogitsProcessorList([*own, *(kwargs.get("logits_processor") or [])])

    def _in_id_space(self, scores: torch.Tensor, slots: Slots) -> torch.Tensor:
        """Scores of slots as scores of ids, `(B·N, max(vocab_size, largest id + 1))`.

        Args:
            scores: `(B·N, V_n + K · num_views or more)`.
            slots: of the inputs.
        """
        base, views, rows = self.config.base_vocab_size, self.config.num_views, len(scores) // len(slots.referents)
        scores = scores[:, : self._columns(slots)].unsqueeze(1)
        return slots_to_ids(scores, slots.repeat_interleave(rows), base, self.config.vocab_size, views).squeeze(1)

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
            `(B, K)` int64, -1 where a slot has none. With `num_fresh_symbols` the symbols of question and prompt, and
            behind them the names of new ones.
        """
        limit = self.config.num_fresh_symbols
        return self._slots(input_ids, attention_mask, decoder_input_ids, limit).referents

    def _slots(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor | None,
        prompt: torch.Tensor | None,
        limit: int,
    ) -> Slots:
        check_source(input_ids, attention_mask)
        base, views = self.config.base_vocab_size, self.config.num_views
        questions, own = referents_of(input_ids, base, attention_mask, views), None
        if prompt is not None:
            if len(prompt) != len(input_ids):
                raise ValueError(
                    f"decoder_input_ids has batch {len(prompt)}, input_ids {len(input_ids)}; give one prompt per input"
                )
            own = referents_of(prompt, base, None, views)
        if self.config.answers_have_new_symbols:
            return slots_of_answers(questions, own, limit)
        slots = self.model.embedding.assign(questions if own is None else torch.cat((questions, own), dim=1))
        return choose_streams(slots, questions, self.config.max_streams)

    def prepare_inputs_for_generation(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Adds that slots which are shuffled or come in return as ids, slots here, and the encoder once per input."""
        inputs = super().prepare_inputs_for_generation(*args, **kwargs)
        inputs["return_id_logits"] = self.model.embedding.shuffles or self.config.answers_have_new_symbols
        source = kwargs.get("encoder_outputs")
        if isinstance(source, OncePerInput):
            inputs |= {"encoder_outputs": source.outputs, "attention_mask": source.attention_mask}
        return inputs


def _shared(given: Any, batch: int, settings: _Settings) -> SymbolInvariantCache:
    """A cache around those that were `given`, whose encoder's keys and values beams share.

    Raises:
        ValueError: if it is no such cache, or has other rows than the beams of a batch of so many inputs.
    """
    if not isinstance(given, Cache):
        raise ValueError(
            f"past_key_values is a {type(given).__name__}; it must be a cache of transformers, or left out"
        )
    if isinstance(given, GrowingCache) and given.kept is not None:
        raise ValueError(
            "past_key_values is of a beam search that left out inputs whose answers were done; it cannot go on. Leave "
            "it out"
        )
    if isinstance(given, SymbolInvariantCache):
        cache = given
    elif isinstance(given, EncoderDecoderCache):
        cache = SymbolInvariantCache(given.self_attention_cache, given.cross_attention_cache)
    else:
        cache = SymbolInvariantCache(given, DynamicCache())
    rows = batch * max(settings.get("num_beams") or 1, settings.get("num_return_sequences") or 1)
    if cache.get_seq_length() and len(cache.self_attention_cache.layers[0].keys) != rows:
        raise ValueError(
            f"past_key_values has {len(cache.self_attention_cache.layers[0].keys)} rows, but {batch} inputs with their "
            f"beams have {rows}; give a cache of so many rows, or leave it out"
        )
    return cache


__all__ = [
    "AssignmentGrammarLogitsProcessor",
    "GrammarLogitsProcessor",
    "LassoGrammarLogitsProcessor",
    "SymbolInvariantGenerationMixin",
]
