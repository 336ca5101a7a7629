"""One search: greedy search, sampling, beam search and beam sampling are one search with N beams.

`search` is a textbook beam search over candidates on the host; `Reader` feeds the model. Each step waits for the device
once, when the best candidates come over. Ids are slot ids from the start to the end.

Letters: B questions, U searches (B, or B times the samples of a question), N beams of a search, R = U·N rows, A
questions that are still computed, T tokens so far, C columns of logits.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from .cache_symbinv import SymbolInvariantCache
from .grammar_symbinv import GrammarProcessor

# Searches that are done are no longer computed once at most this share of those computed last is still open: our
# choice, because leaving some out copies the cache of the others.
SHARE = 7 / 8


@dataclass
class Told:
    """What a search goes by."""

    max_length: int  # tokens at most, the prompt included
    eos: Sequence[int]  # ids that end an answer
    pad: int  # id that fills rows up
    beams: int = 1  # N
    sample: bool = False  # draw candidates instead of taking the best
    length_penalty: float = 1.0  # a score is log-probability / tokens ** length_penalty
    # True ends a search with its N-th answer; False, when the best open beam is no better than the worst answer;
    # "never", when it could not be better even if all its tokens to come were free.
    early_stopping: bool | str = False
    max_time: float | None = None  # seconds; None for no limit
    stops: Callable[..., Tensor] | None = None  # of texts (rows, T + 1) and scores, which rows end, (rows,) bool
    limits: Tensor | None = None  # (R, 1), the columns of symbols that each row may write; None for all
    record: Sequence[str] = ()  # what to keep of each step: names of the model's outputs, "scores", "logits"


class Answer(NamedTuple):
    """An answer that is done: its score, the step that ended it, and there the beam it came from and its last token."""

    score: float
    step: int
    parent: int
    token: int


# Of each search N answers or fewer, the best first: score, tokens behind the prompt, and the row of each of these.
Found = list[list[tuple[float, list[int], list[int]]]]


def search(
    read: "Reader", told: Told, processors: Sequence[Callable[[Tensor, Tensor], Tensor]], show: Any = None
) -> tuple[Found, dict[str, list[Any]]]:
    """Continues prompts until nothing better can come; gives what was found, and what was to be recorded step by step.

    Each step scores `N · C` candidates of every search. The best `(1 + ends) · N` of them, or as many draws, are
    looked at, so that N remain though each beam may end in every way. A candidate that ends among the first N is an
    answer, and the N best others go on. With one beam there is one candidate, and its end is the end of the search. No
    candidate of probability zero becomes a beam. Where fewer than N have one, the best stands for the others with
    probability zero.

    `processors (R, C)` change the scores of texts `(R, T)`, in order. `show` gets the prompts `(R, T)` and then each
    step's tokens `(R,)`, for one beam only.

    Raises:
        ValueError: if nothing may follow a text that has no answer yet.

    Source: as `transformers` (5.24) searches with beams and samples, with the same draws from the same seed.
    """
    beams, text = told.beams, read.prompts
    searches, prompt = len(text) // beams, text.shape[1]
    looked_at = 1 if beams == 1 else beams * (1 + max(1, len(told.eos)))
    grammars = [processor for processor in processors if isinstance(processor, GrammarProcessor)]
    scores = [[0.0] + [-math.inf] * (beams - 1) for _ in range(searches)]
    answers: list[list[Answer]] = [[] for _ in range(searches)]
    history: list[tuple[list[int], list[int]]] = []  # of each step: every row's parent and token
    steps: dict[str, list[Any]] = {name: [] for name in told.record}
    still = list(range(searches))
    parents = list(range(len(text)))
    deadline = math.inf if told.max_time is None else time.monotonic() + told.max_time
    if show is not None:
        show(text.cpu())

    while still:
        # 1. The model reads the last tokens; processors change what it says of the next ones.
        output = read(text, parents, still)
        logits = read.all_rows(output["logits"])  # (R, C)
        if told.limits is not None:  # before probabilities are made, which would count more columns in wider batches
            ids = torch.arange(logits.shape[1], device=logits.device)
            logits = logits.masked_fill(ids >= told.limits.to(logits.device), -math.inf)
        values = logits if beams == 1 else logits.log_softmax(-1)
        for processor in processors:
            values = processor(text, values)
        columns, own = values.shape[1], {"logits": logits, "scores": values}
        for name in told.record:
            steps[name].append(own[name] if name in own else tuple(output[name]))

        # 2. The candidates of each search, for which the device is waited for.
        if beams > 1:
            values = values + torch.tensor(scores, dtype=values.dtype, device=values.device).view(-1, 1)
        values = values.view(searches, beams * columns)
        found = draw(values, looked_at) if told.sample else best(values, looked_at)  # (U, candidates) each
        length, step = text.shape[1] + 1 - prompt, len(history)
        is_last = text.shape[1] + 1 >= told.max_length or time.monotonic() > deadline
        points, places = torch.stack((found[0].double(), found[1].double())).tolist()
        stops = told.stops and told.stops(_continued(text, found[1], columns), steps.get("scores")).tolist()

        # 3. Some candidates end, the best others go on.
        parents, tokens = list(range(len(text))), [told.pad] * len(text)
        for one in list(still):
            going, rows = [], range(one * beams, (one + 1) * beams)
            for rank, (point, place) in enumerate(zip(points[one], places[one], strict=True)):
                parent, token = divmod(int(place), columns)
                if point == -math.inf:
                    continue
                if not (is_last or token in told.eos or (stops is not None and stops[one * len(points[one]) + rank])):
                    going.append((point, rows[parent], token))
                elif rank < beams:
                    answers[one].append(Answer(point / length**told.length_penalty, step, rows[parent], token))
                    tokens[rows[0]] = token  # to be shown, and as the last token of a text
            if not going and not answers[one]:
                said = f"no token may follow answer {one} after {length - 1} tokens: processors forbid all"
                raise ValueError(f"{said} that are possible; allow one, such as the token that ends an answer")
            going = sorted(going, key=lambda candidate: -candidate[0])[:beams]
            answers[one] = sorted(answers[one], key=lambda answer: -answer.score)[:beams]
            if not going or not _may_improve(going[0][0], answers[one], told, length, prompt):
                still.remove(one)
                continue
            scores[one] = [point for point, _, _ in going] + [-math.inf] * (beams - len(going))
            going += going[:1] * (beams - len(going))
            parents[rows.start : rows.stop] = [parent for _, parent, _ in going]
            tokens[rows.start : rows.stop] = [token for _, _, token in going]

        # 4. Texts grow.
        history.append((parents, tokens))
        for grammar in grammars:
            grammar.follow(parents, tokens)
        written = torch.tensor(tokens, device=text.device)
        if parents != list(range(len(text))):
            text = text[torch.tensor(parents, device=text.device)]
        text = torch.cat((text, written.unsqueeze(1)), dim=1)
        if show is not None:
            show(written.cpu())
    return [[(answer.score, *_traced(answer, history)) for answer in one] for one in answers], steps


def best(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The largest of `values (U, N · C)` and their places, `(U, count)` or as many as there are."""
    return values.max(1, keepdim=True) if count == 1 else values.topk(min(count, values.shape[1]))


def draw(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Some of `values (U, N · C)` and their places, `(U, count)`, drawn by the probabilities that they are logits of.

    They are drawn without replacement, as `torch.multinomial` draws them, which would wait for the device. The
    likeliest come first. Where fewer have a probability, the last ones have none.
    """
    probabilities = values.softmax(1)
    places = best(probabilities / torch.empty_like(probabilities).exponential_(), count)[1]
    drawn, order = values.gather(1, places).sort(1, descending=True)
    return drawn, places.gather(1, order)


def _continued(text: Tensor, chosen: Tensor, columns: int) -> Tensor:
    """The texts `(U · candidates, T + 1)` of the candidates at the places `chosen (U, candidates)`."""
    beams = len(text) // len(chosen)
    rows = torch.arange(0, len(text), beams, device=text.device).unsqueeze(1) + chosen // columns
    return torch.cat((text[rows.flatten()], (chosen % columns).view(-1, 1)), dim=1)


def _may_improve(score: float, answers: Sequence[Answer], told: Told, length: int, prompt: int) -> bool:
    """Whether a beam of this score and length may still give a better answer than a search has."""
    if len(answers) < told.beams:
        return True
    if told.beams == 1 or told.early_stopping is True:
        return False
    if told.early_stopping == "never" and told.length_penalty > 0:
        length = told.max_length - prompt
    return score / length**told.length_penalty > answers[-1].score


def _traced(answer: Answer, history: Sequence[tuple[list[int], list[int]]]) -> tuple[list[int], list[int]]:
    """The tokens of an answer, and the row that each was chosen from."""
    tokens, rows = [answer.token], [answer.parent]
    for parents, written in reversed(history[: answer.step]):
        tokens.append(written[rows[-1]])
        rows.append(parents[rows[-1]])
    return tokens[::-1], rows[::-1]


@dataclass
class Reader:
    """Feeds a model step by step: from a cache only what is new of each row.

    The first step reads each prompt once, whatever its samples and beams.
    """

    step: Callable[..., dict[str, Any]]  # tokens (rows, T), mask, cache and other inputs → logits (rows, T, C), …
    prompts: Tensor  # (R, T) slot ids, the rows of a prompt one behind the other
    others: Callable[[Sequence[int]], dict[str, Any]]  # from rows, the other inputs that the model needs for them
    mask: Tensor | None  # (R, T), 1 at tokens, 0 at padding; None for no padding
    cache: SymbolInvariantCache | None  # of the tokens before; None to read all of them at every step
    beams: int  # N
    shared: int  # rows of a prompt
    together: int  # rows that stay or leave together: those that share an encoder's output, or beams of a search
    all_steps: bool  # compute all rows at every step
    columns: int | None = None  # of logits at every step; None for those that the model gives

    def __post_init__(self) -> None:
        count = len(self.prompts)
        own = self.all_steps or (self.cache is not None and self.cache.rows == count)
        self.rows: Sequence[int] = range(0, count, 1 if own else self.shared)  # that are computed, as they lie
        self.place = {row: row if own else row // self.shared for row in range(count)}  # where each of them lies
        self.given = self.others(self.rows)
        self.has_begun, self.is_plain = False, len(self.rows) == count

    def __call__(self, text: Tensor, parents: Sequence[int], still: Sequence[int]) -> dict[str, Any]:
        """The model's output for the last tokens of `text (R, T)`, whose rows continue `parents`; `still` are open."""
        if self.has_begun:
            self._go_on(self._open(len(text), still), parents)
        self.has_begun = True
        past = 0 if self.cache is None else self.cache.get_seq_length()
        tokens, mask = text[:, past:], self.mask
        if mask is not None:
            self.mask = mask = torch.cat((mask, mask.new_ones(len(text), text.shape[1] - mask.shape[1])), dim=1)
        if not self.is_plain:
            rows = torch.tensor(self.rows, device=text.device)
            tokens, mask = tokens[rows], None if mask is None else mask[rows]
        return self.step(tokens, mask, self.cache, **self.given)

    def _go_on(self, rows: Sequence[int], parents: Sequence[int]) -> None:
        """Computes `rows` from now on, each of which continues what its parent has read.

        The rows of a search may lie in any order: the first to continue a parent stays where that lies, so that only
        what the parent's other rows need is copied.
        """
        sources = [self.place[parents[row]] for row in rows]
        before, now = (list(dict.fromkeys(row // self.shared for row in some)) for some in (self.rows, rows))
        if len(rows) == len(self.rows) == len(self.place) and not self.all_steps:
            lies: dict[int, int] = {}
            late = [row for row, source in zip(rows, sources, strict=True) if lies.setdefault(source, row) != row]
            free = (place for place in range(len(rows)) if place not in lies)
            lies |= dict(zip(free, late, strict=True))
            rows = [lies[place] for place in range(len(rows))]
            sources = [self.place[parents[row]] for row in rows]
        if self.cache is not None:
            self.cache.move(sources)
            if now != before:
                self.cache.keep_questions([before.index(question) for question in now])
        if now != before or len(rows) != len(self.rows):
            self.given = self.others(rows)
        self.rows, self.place = rows, {row: place for place, row in enumerate(rows)}
        self.is_plain = list(rows) == list(range(len(parents)))  # all rows are computed, and lie in their order

    def _open(self, count: int, still: Sequence[int]) -> Sequence[int]:
        """The rows to compute next, of `count`."""
        if self.all_steps:
            return range(count)
        groups = sorted({one * self.beams // self.together for one in still})
        is_whole = len(self.place) == len(self.rows)  # else each row computed stands for all of its prompt
        if is_whole and len(groups) * self.together > len(self.rows) * SHARE:
            return sorted(self.rows)
        return [row for group in groups for row in range(group * self.together, (group + 1) * self.together)]

    def all_rows(self, logits: Tensor) -> Tensor:
        """The last of `logits (rows, T, C)`, float32 and of all rows `(R, C)`; zeros where none were computed."""
        last, count = logits[:, -1].float(), len(self.prompts)
        if self.columns is not None:  # those that are cut off are of no symbol
            last = torch.nn.functional.pad(last, (0, self.columns - last.shape[1]), value=-math.inf)
        if self.is_plain:
            return last
        if len(self.place) > len(self.rows):  # the first step: one row stands for all of its prompt
            return last.repeat_interleave(count // len(self.rows), 0)
        if len(self.rows) == count:
            return last[torch.tensor([self.place[row] for row in range(count)], device=last.device)]
        return last.new_zeros(count, last.shape[1]).index_copy_(0, torch.tensor(self.rows, device=last.device), last)
