"""What a model answers to many questions, and how likely it finds known answers, in batches of alike ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from tqdm.auto import tqdm

from hf_symbinv.tasks.base import symbol_names

if TYPE_CHECKING:
    from hf_symbinv.modeling.listed_tokens_symbinv import ListedTokens
    from hf_symbinv.modeling.modeling_symbinv import SymbolInvariantForConditionalGeneration

# Names of new symbols in answers, those of the question left out; our choice: more than an answer has tokens.
NEW_NAMES = symbol_names(100)


class ScoredAnswer(NamedTuple):
    """An answer in prefix notation, and how likely the model finds it.

    Attributes:
        text: the answer.
        score: its log-probability / number of tokens ** `length_penalty` where beams were searched; its mean
            log-probability per token where they were not; None for a question that was not asked.
    """

    text: str
    score: float | None


@contextmanager
def without_dropout(model: torch.nn.Module) -> Iterator[None]:
    """Evaluates a model, and leaves it as it was; one that is not in training is not walked through."""
    was_training = model.training
    if was_training:
        model.eval()
    try:
        yield
    finally:
        if was_training:
            model.train()


def generate_answers(
    model: SymbolInvariantForConditionalGeneration,
    tokenizer: ListedTokens,
    questions: Sequence[str],
    batch_size: int = 100,
    progress: bool = False,
    **generation: Any,
) -> list[list[str]]:
    """Decodes an answer, or several, for each question.

    Args:
        model: in any mode; it is evaluated without dropout and left as it was.
        questions: in prefix notation.
        progress: show a bar on stderr.
        generation: arguments of `generate`, such as `num_beams`, `max_new_tokens`, `num_return_sequences`.

    Returns:
        For each question, in order, `num_return_sequences` answers, the best first, with repeats where there are fewer
        answers than beams. They are empty where a model with a fixed vocabulary has no row for a symbol of the question
        (ITE, Appendix E.3).
    """
    scored = generate_scored_answers(model, tokenizer, questions, batch_size, progress, **generation)
    return [[answer.text for answer in answers] for answers in scored]


@torch.no_grad()
def generate_scored_answers(
    model: SymbolInvariantForConditionalGeneration,
    tokenizer: ListedTokens,
    questions: Sequence[str],
    batch_size: int = 100,
    progress: bool = False,
    **generation: Any,
) -> list[list[ScoredAnswer]]:
    """`generate_answers`, with the score of each answer."""
    each = generation.get("num_return_sequences") or 1
    answers = [[ScoredAnswer("", None)] * each for _ in questions]
    known = [i for i, names in enumerate(unknown_symbols(model, tokenizer, questions)) if not names]
    lengths = dict(zip(known, _lengths(tokenizer, [questions[i] for i in known]), strict=True))
    order = sorted(known, key=lengths.__getitem__)
    beams = generation.get("num_beams") or model.generation_config.num_beams or 1
    told = {**generation, "return_dict_in_generate": True, "output_logits": beams == 1}
    with without_dropout(model):
        for start in tqdm(range(0, len(order), batch_size), desc="decoding", disable=not progress):
            rows = order[start : start + batch_size]
            batch = tokenizer([questions[i] for i in rows], padding=True, return_tensors="pt")
            output = model.generate(**batch.to(model.device), **told)
            names = {"symbols": batch.symbols, "new_names": NEW_NAMES}
            texts = tokenizer.batch_decode(output.sequences, skip_special_tokens=True, **names)
            found = list(map(ScoredAnswer, texts, _scores(output, model.config).tolist()))
            for k, i in enumerate(rows):
                answers[i] = found[k * each : (k + 1) * each]
    return answers


def _lengths(tokenizer: ListedTokens, questions: Sequence[str]) -> list[int]:
    """The tokens of each question. Counted in letters, one with long names would get another place in its batch."""
    return [len(tokenizer(question)["input_ids"]) for question in questions]


def _scores(output: Any, config: Any) -> torch.Tensor:
    """The score `(B·num_return_sequences,)` of each sequence in what `generate` returned."""
    beams = getattr(output, "sequences_scores", None)
    if beams is not None:
        return beams
    ids = output.sequences[:, 1:]  # (B', T), without the start token
    logits = torch.stack(output.logits, dim=1).float()  # (B', T, ids)
    chosen = logits.log_softmax(2).gather(2, ids.unsqueeze(2)).squeeze(2)
    ended = (ids == config.eos_token_id).cumsum(1)
    written = (ended == 0) | ((ended == 1) & (ids == config.eos_token_id))
    return chosen.masked_fill(~written, 0.0).sum(1) / written.sum(1)


def unknown_symbols(
    model: SymbolInvariantForConditionalGeneration, tokenizer: ListedTokens, questions: Sequence[str]
) -> list[tuple[str, ...]]:
    """For each question the symbols that the model has no row for; none if it needs none."""
    config, fixed = model.config, tokenizer.fixed_names
    rows = config.num_symbols if config.symbol_embedding in ("learned", "renamed", "canonical") else None
    if rows is None and fixed is None:
        return [()] * len(questions)
    asked = map(tokenizer.symbols_of, questions)
    if fixed is None:
        return [tuple(names[rows:]) for names in asked]
    return [tuple(name for name in names if name not in fixed[:rows]) for names in asked]


@torch.no_grad()
def cross_entropy(
    model: SymbolInvariantForConditionalGeneration,
    tokenizer: ListedTokens,
    pairs: Sequence[tuple[str, str]],
    batch_size: int = 100,
) -> float:
    """The mean cross-entropy, in nats, of the tokens of known answers, without dropout.

    Args:
        model: in any mode; it is left as it was.
        pairs: at least one question and answer, in prefix notation.
    """
    total, count = 0.0, 0
    lengths = _lengths(tokenizer, [question for question, _ in pairs])
    ordered = [pairs[i] for i in sorted(range(len(pairs)), key=lengths.__getitem__)]
    with without_dropout(model):
        for start in range(0, len(ordered), batch_size):
            questions, answers = map(list, zip(*ordered[start : start + batch_size], strict=True))
            batch = tokenizer(questions, text_target=answers, padding=True, return_tensors="pt")
            batch["labels"] = batch["labels"].masked_fill(batch["labels"] == tokenizer.pad_token_id, -100)
            tokens = int((batch["labels"] != -100).sum())
            total += float(model(**batch.to(model.device), return_id_logits=False).loss) * tokens
            count += tokens
    return total / count
