"""`generate`: arguments of transformers in, ids out, and in between one search in slot space.

Ids are renamed to slots before the search and back behind it, so alpha-equivalent inputs are the same tensors all the
way, ties included, and their outputs are renamings of each other bit for bit. A user's logits processors and stopping
criteria see slot ids, V_n + slot · num_views + view, and scores with V_n + K · num_views columns; `slot_referents`
tells whose slot it is. Streamers, outputs and `prefix_allowed_tokens_fn` get ids.

Every view of a symbol of the input may be written. With `num_fresh_symbols` the slots behind those of question and
prompt are for new symbols, in the order of writing; outside, they are called by the smallest referents left.

Letters: B questions, R rows (beams of questions), K slots, L source length, T target length, V_n base tokens, C columns
"""

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

import torch
from torch import Tensor

from .arguments_symbinv import Settings, allowed_in_slots, flat, usual_processors, warpers
from .cache_symbinv import OutputWithCache, SymbolInvariantCache, outside_inference, own_cache
from .configuration_symbinv import check_grammar
from .grammar_symbinv import GRAMMARS, GrammarProcessor
from .search_symbinv import Found, Reader, Told, search
from .slots_symbinv import Names, Slots, inferred_mask, referents_of, refuse_counts, refuse_embeddings, refuse_lost
from .versions_symbinv import GenerationMixin, SuppressTokensLogitsProcessor


@dataclass
class SymbolInvariantGenerateOutput(OutputWithCache):
    """What `generate` returns with `return_dict_in_generate`; the fields are transformers' own, and ids are ids.

    `sequences (B·num_return_sequences, T)` begin with the prompts. Beams have `sequences_scores`, -inf for an answer
    that is there twice because there are fewer, and `beam_indices (…, steps)`, the row of each token, -1 behind. On
    request there are `scores` and `logits` of each step `(R, ids)`, -inf for ids that a row cannot write.
    `slot_referents (B, K)` tells the referent of each slot, -1 where there is none.
    """

    sequences: Tensor | None = None
    sequences_scores: Tensor | None = None
    scores: tuple[Tensor, ...] | None = None
    logits: tuple[Tensor, ...] | None = None
    beam_indices: Tensor | None = None
    encoder_attentions: tuple[Tensor, ...] | None = None
    encoder_hidden_states: tuple[Tensor, ...] | None = None
    decoder_attentions: tuple[tuple[Tensor, ...], ...] | None = None
    cross_attentions: tuple[tuple[Tensor, ...], ...] | None = None
    decoder_hidden_states: tuple[tuple[Tensor, ...], ...] | None = None
    attentions: tuple[tuple[Tensor, ...], ...] | None = None
    hidden_states: tuple[tuple[Tensor, ...], ...] | None = None
    cache: SymbolInvariantCache | None = None
    slot_referents: Tensor | None = None


@dataclass
class Beginning:
    """Where a search starts."""

    prompts: Tensor  # (B, T) slot ids, the beginnings of what is written
    step: Callable[..., dict[str, Any]]  # the model, of tokens (rows, T), mask, cache, kinds to record and others
    inputs: Callable[[Sequence[int], int], dict[str, Any]]  # these others, of questions and the rows that each has
    names: Names | None  # what ids are called inside; None if they stay as they are
    mask: Tensor | None = None  # (B, T) of the prompts; None for no padding
    source: Tensor | None = None  # (B, L) slot ids of the questions; None if there are none beside the prompts
    symbols: list[int] = field(default_factory=list)  # of each question, how many its prompt may be continued with
    limit: Tensor | None = None  # (B,), the columns of symbols that may be written; None for all
    encoder: Any = None  # what the encoder gave; None without
    columns: int | None = None  # of scores at every step; None for those that the model gives, which are as many then
    shown: Tensor | None = None  # (B, T), how the prompts are returned; None for as they are
    grammar: dict[str, Any] | None = None  # of the answers, where settings know none
    never_written: Sequence[int] = ()  # ids that are for the beginning of answers, or for behind their ends

    @property
    def slot_referents(self) -> Tensor | None:
        """The referents `(B, K)` of the slots that may be written, -1 where there is none; None without names."""
        if self.names is None or self.limit is None:
            return None if self.names is None else self.names.known
        counts = ((self.limit - self.names.base_vocab_size) // self.names.num_views).unsqueeze(1)  # (B, 1)
        width = max(int(counts.max()), 1)
        return self.names.referents(width).masked_fill(torch.arange(width, device=counts.device) >= counts, -1)


class WithoutPages:
    """Refuses continuous batching."""

    def generate_batch(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused: continuous batching keeps keys in pages, which this attention cannot read."""
        raise ValueError(
            f"continuous batching (generate_batch, init_continuous_batching, cache_implementation='paged'): the "
            f"attention of {type(self).__name__} reads no paged cache; use generate, with inputs of similar length"
        )

    init_continuous_batching = generate_batch


class SlotGenerationMixin(WithoutPages, GenerationMixin):
    """What models share that write: settings, processors, the search, and what comes out of it."""

    config: Any
    # Where the search of a call starts, of input ids, settings and the call, which loses what is used.
    _begin: Callable[[Tensor | None, Settings, dict[str, Any]], Beginning]

    @torch.no_grad()
    def generate(self, inputs: Tensor | None = None, generation_config: Any = None, **kwargs: Any) -> Any:
        """Ids `(B·num_return_sequences, T)`, prompts first, or with `return_dict_in_generate` an output.

        As `transformers.GenerationMixin.generate`, with these differences.

        Args:
            inputs: `(B, L)` int64 ids, also as `input_ids`; may be left out with `encoder_outputs`.
            generation_config: decides where no argument does; default that of the model.
            grammar: a grammar for the answers; default that of the generation config, None for free answers.
            encoder_outputs: of `get_encoder()`, batch B, to decode without encoding again; `attention_mask` as it was.
            past_key_values: of a model's output for the same inputs, a row per beam or per input, to go on with
                `decoder_input_ids`, or `input_ids` of a decoder alone, that begin with the tokens read; it is changed
                in place. Also as `cache`.
            logits_processor, stopping_criteria: see slot ids, V_n + slot · num_views + view, and scores with a column
                per base token and per view of each slot `(R, V_n + K · num_views)`; `slot_referents` gives the map.
            prefix_allowed_tokens_fn: sees and returns ids; of symbols not in the input, only the next new one counts.
            num_fresh_symbols: how many symbols that its question or text does not have each row may write, those of
                `decoder_input_ids` included; default that of the configuration. Only for models that have the field.
            slot_vectors: `(B, K, D)`, of a model that draws them; default a new draw, the same for all of a sequence.

        Raises:
            ValueError: without input, for an argument other than these that names the id of a symbol or that the model
                cannot follow, and for a cache or an encoder's output that does not fit.
        """
        settings = Settings(kwargs, generation_config, self.generation_config)
        call = {name: value for name, value in kwargs.items() if name not in settings.names}
        settings.refuse_arguments(call)
        refuse_embeddings(**{name: call.pop(name, None) for name in ("inputs_embeds", "decoder_inputs_embeds")})
        input_ids = call.pop("input_ids", None) if inputs is None else inputs
        cache = own_cache(call.pop("past_key_values", None), call.pop("cache", None))
        if cache is None and settings.get("use_cache") is not False:
            cache = SymbolInvariantCache()
        for name in ("labels", "logits_to_keep", "synced_gpus"):  # which others pass along, and change nothing
            call.pop(name, None)
        tools = {name: call.pop(name, None) for name in _TOOLS}
        start = self._begin(input_ids, settings, call)
        if call:
            name = next(iter(call))
            near = difflib.get_close_matches(name, settings.names, n=1)
            remedy = f"did you mean {near[0]}?" if near else "leave it out"
            raise ValueError(f"{name}={call[name]!r}: neither the model nor generate has such an argument; {remedy}")
        return self._searched(start, settings, cache, tools)

    @torch.no_grad()
    def slot_referents(self, input_ids: Tensor, attention_mask: Any = None, decoder_input_ids: Any = None) -> Any:
        """The referent `(B, K)` of each slot in a call of `generate` with these arguments, -1 where a slot has none.

        Those of `input_ids (B, L)` come first, by `attention_mask (B, L)` or padding tokens, then those of an answer's
        beginning, `decoder_input_ids (B, T)`. Where new symbols may be written up to a limit, the smallest referents
        left follow, in ascending order. None for a decoder without streams, where ids stay as they are.
        """
        call = {"attention_mask": attention_mask, "decoder_input_ids": decoder_input_ids}
        return self._begin(input_ids, Settings({}, None, self.generation_config), call).slot_referents

    def _searched(
        self, start: Beginning, settings: Settings, cache: SymbolInvariantCache | None, tools: dict[str, Any]
    ) -> Any:
        """What `generate` returns, of a search from `start`."""
        get, prompts = settings.get, start.prompts
        (batch, prompt), beams, wanted = prompts.shape, get("num_beams") or 1, get("num_return_sequences") or 1
        sample, returns_dict = bool(get("do_sample")), bool(get("return_dict_in_generate"))
        if wanted > 1 and wanted > beams and not (sample and beams == 1):
            said = f"num_return_sequences={wanted}, num_beams={beams}: a search gives one answer per beam"
            raise ValueError(f"{said}; raise num_beams, or for samples set do_sample=True and num_beams=1")
        if beams > 1 and tools["streamer"] is not None:
            raise ValueError(f"streamer with num_beams={beams}: beams change what was written; use num_beams=1")
        shared = beams if beams > 1 else wanted  # rows of a question
        if cache is not None and cache.joined is not None:  # a search that failed has left it as it was inside
            cache.reset()
        if cache is not None and cache.rows not in (0, batch, batch * shared):
            said = f"past_key_values has {cache.rows} rows, but {batch} inputs with their beams have"
            raise ValueError(f"{said} {batch * shared}; give a cache of so many rows, or leave it out")
        if cache is not None and (past := cache.get_seq_length()) >= prompt:
            raise ValueError(f"past_key_values has {past} tokens, the prompt {prompt}; give a longer prompt")
        length = settings.max_length(prompt)
        if length <= prompt:
            raise ValueError(f"max_length={length}: the prompt has {prompt} tokens already; raise it or max_new_tokens")
        eos = flat(get("eos_token_id"))
        record = [name for name in ("scores", "logits") if returns_dict and get(f"output_{name}")]
        kinds = [kind for kind in ("attentions", "hidden_states") if returns_dict and get(f"output_{kind}")]
        own = "" if start.encoder is None else "decoder_"
        record += [f"{own}{kind}" for kind in kinds] + ["cross_attentions"] * ("attentions" in kinds and own != "")
        pad = next(token for token in (get("pad_token_id"), *eos, 0) if token is not None)
        told = Told(length, eos, pad, beams, sample, stops=_stops(settings, tools, start), record=record)
        told.length_penalty = 1.0 if get("length_penalty") is None else get("length_penalty")
        told.limits = None if start.limit is None else start.limit.repeat_interleave(shared).unsqueeze(1)
        told.early_stopping, told.max_time = get("early_stopping") or False, get("max_time")

        def others(rows: Sequence[int]) -> dict[str, Any]:
            questions = [row // shared for row in rows]
            questions = list(dict.fromkeys(questions)) if own else questions  # each is encoded once
            return {"kinds": kinds, **start.inputs(questions, len(rows) // len(questions))}

        mask = None if start.mask is None else start.mask.repeat_interleave(shared, 0)
        together, streamer = shared if own else beams, tools["streamer"]
        rows = prompts.repeat_interleave(shared, 0)
        read = Reader(start.step, rows, others, mask, cache, beams, shared, together, bool(record), start.columns)

        def show(ids: Tensor) -> None:
            streamer.put(ids if start.names is None else start.names.outside(ids.reshape(batch, -1)).reshape(ids.shape))

        processors = self._processors(start, settings, told, tools, shared)
        if cache is not None and start.names is not None:  # inside, it knows symbols by number
            cache.rename(start.names.numbers)
        # Cheaper than no_grad; but weights that come from other processes would stay in inference mode.
        is_alone = not (torch.distributed.is_available() and torch.distributed.is_initialized())
        if cache is not None and is_alone:
            cache.joined = {}
        with (torch.inference_mode if is_alone else torch.no_grad)():
            found, steps = search(read, told, processors, None if streamer is None else show)
        recorded: dict[str, Any] = {name: tuple(map(outside_inference, values)) for name, values in steps.items()}
        if streamer is not None:
            streamer.end()
        fields = self._fields(found, recorded, start, told, wanted if beams > 1 else 1)
        if cache is not None and not read.is_plain:
            cache.reset()  # it holds some rows only, or in another order
        elif cache is not None:
            cache.leave_inference()
            if start.names is not None:
                cache.rename(start.names.renamed)
        if not returns_dict:
            return fields["sequences"]
        if start.encoder is not None:
            fields |= {f"encoder_{kind}": start.encoder[kind] for kind in kinds}
        return SymbolInvariantGenerateOutput(**fields, cache=cache, slot_referents=start.slot_referents)

    def _processors(
        self, start: Beginning, settings: Settings, told: Told, tools: dict[str, Any], shared: int
    ) -> list[Callable[[Tensor, Tensor], Tensor]]:
        """What changes the scores, in order: transformers' own, the model's, the grammar, the call's, and warpers."""
        function = tools["prefix_allowed_tokens_fn"]
        if function is not None and start.names is not None:
            function = allowed_in_slots(function, start.names, start.limit is not None)
        source = None if start.source is None else start.source.repeat_interleave(shared, 0)
        found = usual_processors(settings, told, start.prompts, source, function and (function, shared))
        grammar = settings.get("grammar", start.grammar)
        if start.never_written and grammar is None:  # no grammar has these
            found.append(SuppressTokensLogitsProcessor(start.never_written, start.prompts.device))
        if grammar is not None:
            check_grammar(grammar, self.config)
            rules = GRAMMARS[grammar["name"]](grammar, self.config.base_vocab_size, self.config.eos_token_id)
            symbols = [number for number in start.symbols for _ in range(shared)]
            follower = GrammarProcessor(rules, symbols, told.max_length, not found and start.limit is None)
            follower.read(start.prompts.repeat_interleave(shared, 0).tolist())
            bos = settings.get("forced_bos_token_id")
            may = rules.allowed(rules.start(1), told.max_length, rules.base_vocab_size)
            if bos is not None and follower.length == 1 and not may[bos]:
                raise ValueError(f"forced_bos_token_id={bos}: no {rules.noun} begins so; leave it out, or grammar=None")
            found.append(follower)
        return [*found, *(tools["logits_processor"] or []), *warpers(settings, told)]

    def _fields(self, found: Found, steps: dict[str, Any], start: Beginning, told: Told, wanted: int) -> dict[str, Any]:
        """The best answers of each search as tensors, and what was recorded of the steps: fields of an output."""
        prompts, rows, points, origins = start.prompts.tolist(), [], [], []
        each = len(found) // len(prompts)  # searches of a question
        for number, answers in enumerate(found):
            answers = [*answers, *[(float("-inf"), *answers[0][1:])] * (wanted - len(answers))][:wanted]
            for point, tokens, chosen in answers:
                rows.append([*prompts[number // each], *tokens])
                points.append(point)
                origins.append(chosen)
        width, device = max(map(len, rows)), start.prompts.device
        sequences = torch.tensor([row + [told.pad] * (width - len(row)) for row in rows], device=device)
        if start.names is not None:
            sequences = start.names.outside(sequences)
            for name in steps.keys() & {"scores", "logits"}:
                steps[name] = start.names.scores_outside(steps[name], self.config.vocab_size)
        if start.shown is not None:
            sequences[:, : start.shown.shape[1]] = start.shown.repeat_interleave(len(rows) // len(prompts), 0)
        if told.beams > 1:
            indices = torch.tensor([row + [-1] * (width - len(prompts[0] + row)) for row in origins], device=device)
            steps |= {"sequences_scores": torch.tensor(points, device=device), "beam_indices": indices}
        return {"sequences": sequences, **steps}

    def compute_transition_scores(
        self,
        sequences: Tensor,
        scores: tuple[Tensor, ...],
        beam_indices: Tensor | None = None,
        normalize_logits: bool = False,
    ) -> Tensor:
        """The score `(rows, steps)` of each token written, as transformers' method; 0 behind the end of a sequence.

        `sequences (rows, T)`, `scores (R, ids)` or logits of each step, and with beams `beam_indices (rows, steps)` are
        those of one output; `normalize_logits` takes the logarithms of the probabilities.
        """
        steps = torch.stack(scores)  # (steps, R, ids)
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


class SymbolInvariantGenerationMixin(SlotGenerationMixin):
    """`generate` for encoder-decoders: greedy, beam search, sampling and n-best, as in `transformers`."""

    model: Any

    def _begin(self, input_ids: Tensor | None, settings: Settings, call: dict[str, Any]) -> Beginning:
        """Encodes, with slots also for symbols that occur in the decoder's prompt only."""
        config, outputs = self.config, call.pop("encoder_outputs", None)
        base, views = config.base_vocab_size, config.num_views
        settings.refuse_symbols(base)
        mask, prompt = call.pop("attention_mask", None), call.pop("decoder_input_ids", None)
        prompt_mask = call.pop("decoder_attention_mask", None)
        if input_ids is not None and mask is None:
            mask = inferred_mask(input_ids, config)
        asked = (bool(settings.get(name)) for name in ("output_attentions", "output_hidden_states"))
        outputs = self.model.encoded(outputs, prompt, input_ids, mask, *asked)
        for name, given in {"input_ids": input_ids, "attention_mask": mask}.items():
            if given is not None and given.shape != outputs.symbol_slots.shape:
                sizes = tuple(given.shape), tuple(outputs.symbol_slots.shape)
                said = f"{name} has shape {sizes[0]}, but encoder_outputs is of inputs of shape {sizes[1]}"
                raise ValueError(f"{said}; pass those that were encoded, or leave one of the two out")
        grows, known = config.answers_have_new_symbols, outputs.slot_referents
        if prompt is not None and len(prompt) != len(known):
            raise ValueError(f"decoder_input_ids has batch {len(prompt)}, the inputs {len(known)}; give one per input")
        numbers = torch.arange(known.shape[1], device=known.device).expand_as(known)
        limit = columns = None
        if grows:  # an anonymous stream has no number, and symbols of the prompt follow those of the question
            numbers = (known >= 0).long().cumsum(1) - 1
            limit = new_symbols(config, settings, "that of the configuration")
            own = (known >= 0).sum(1)
            more = [] if prompt is None else [referents_of(prompt, base, views)]
            known = Slots.in_order(torch.cat((known, *more), dim=1)).referents  # without the anonymous stream
            refuse_counts("decoder_input_ids", (known >= 0).sum(1) - own, limit)
            columns, limit = base + (int(own.max()) + limit) * views, base + (own + limit) * views
        names = Names(known, base, views)
        mask = outputs.attention_mask if mask is None else mask
        numbers = numbers.where(outputs.slot_referents >= 0, -1)
        encoder = replace(outputs, slot_referents=numbers, attention_mask=mask)
        start = settings.get("decoder_start_token_id")
        start_ids = torch.as_tensor(settings.get("bos_token_id") if start is None else start, device=known.device)
        given, batch = start_ids.numel(), len(known)
        if start_ids.dim() and given != batch:
            raise ValueError(f"decoder_start_token_id has {given} tokens for {batch} inputs; give one per input")
        start_ids = start_ids.view(-1, 1).expand(batch, 1)
        if prompt is None:
            prompt = start_ids
        else:
            lost = (prompt >= base) & (names.numbers(referents_of(prompt, base, views)) < 0)
            remedy = "encode with prompt_ids=decoder_input_ids, or leave encoder_outputs out"
            refuse_lost("decoder_input_ids", prompt, lost, f"has no stream in encoder_outputs; {remedy}")
            prompt = names.inside(prompt)
            if (prompt[:, :1] != start_ids).all():
                prompt = torch.cat((start_ids, prompt), dim=1)
                if prompt_mask is not None:
                    prompt_mask = torch.cat((torch.ones_like(prompt_mask[:, :1]), prompt_mask), dim=1)
        special = {config.pad_token_id, config.bos_token_id, config.decoder_start_token_id}
        return Beginning(
            prompts=prompt,
            step=self._step,
            inputs=lambda questions, each: self._steps(encoder, questions, each),
            names=names,
            mask=prompt_mask,
            source=None if input_ids is None else names.inside(input_ids, mask),
            symbols=(known >= 0).sum(1).tolist(),
            limit=limit,
            encoder=outputs,
            columns=columns,
            grammar=config.grammar,
            never_written=sorted(special - {None, *flat(settings.get("eos_token_id"))}),
        )


# What a call brings along for the search: no setting, and no input of the model.
_TOOLS = ("logits_processor", "stopping_criteria", "prefix_allowed_tokens_fn", "streamer", "tokenizer")


def _stops(settings: Settings, tools: dict[str, Any], start: Beginning) -> Callable[[Tensor, Any], Tensor] | None:
    """Which texts end for another reason than their last token: a user's criteria, and strings."""
    criteria, strings = list(tools["stopping_criteria"] or []), settings.get("stop_strings")
    if strings is not None:
        if (tokenizer := tools["tokenizer"]) is None:
            raise ValueError(f"stop_strings={strings!r}: which tokens spell them the tokenizer knows; pass tokenizer=")
        wanted = [strings] if isinstance(strings, str) else list(strings)

        def spells(text: Tensor, scores: Any) -> Tensor:
            ids = text if start.names is None else start.names.outside(text)
            answers = ids[:, start.prompts.shape[1] :].tolist()
            texts = (tokenizer.decode(row, skip_special_tokens=True) for row in answers)
            return torch.tensor([any(one in answer for one in wanted) for answer in texts])

        criteria.append(spells)

    def stops(text: Tensor, scores: Any) -> Tensor:
        found = [torch.as_tensor(criterion(text, scores), device=text.device) for criterion in criteria]
        return torch.stack([one.expand(len(text)) for one in found]).any(0)

    return stops if criteria else None


def new_symbols(config: Any, settings: Settings, none: str) -> Any:
    """How many new symbols an answer may have, by the settings or else the configuration; what `none` says for None."""
    given = settings.get("num_fresh_symbols")
    limit = config.num_fresh_symbols if given is None else given
    if limit is not None and limit < 0:
        raise ValueError(f"num_fresh_symbols={limit}: must be at least 0, or None for {none}")
    return limit
