"""What the demo asks: two models, Spot behind hard limits, renamings, and attention weights. No page and no Gradio.

    with Answering() as answering:
        solved = answering.solve("(request U grant) & X(grant U (done & X !request))")
        print(solved.best.text, solved.best.verdict)
        print(answering.rename(solved, read_renaming("request=grant, grant=done, done=x", solved.formula))[0].follows)

Any number of threads may ask at once. There are three lanes, in which one question is answered after the other: one for
the models, one for what Spot does within half a second, and one for what takes it longer. So only those who ask about a
formula that keeps Spot busy wait behind one. The symbol-invariant model answers those that wait for it in one batch.

Letters: S streams, H heads, L tokens of the question, T tokens of the answer.
"""

from __future__ import annotations

import itertools
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from transformers import pipeline

import hf_symbinv
from hf_symbinv import Checker, Formula, find_witness, parse, parse_trace, to_prefix
from hf_symbinv.errors import in_short
from hf_symbinv.logic import FormulaSyntaxError, told_of_names, trace_to_prefix
from hf_symbinv.solvers import ProcessPool

MODEL = Path(hf_symbinv.__file__).parent / "checkpoints" / "ltl-base"
BASELINE = Path(__file__).parent / "baseline"
# Our choice: characters of a text, and tokens x names of a question. With five beams the largest takes four seconds on
# a core that other programs use too.
LONGEST, LARGEST = 2_000, 1_500
# Our choice: tokens x names of a batch, in which each question counts with the most tokens and names of them all. About
# thirty questions like those of training fit in.
LARGEST_BATCH = 6_000
# Our choice: so few questions that wait are one batch, if they fit.
FEW = 12
# Our choice: seconds in which others may join so few, before the model begins.
GATHER = 0.1
# Our choice: rows and columns of an attention map that can be read on a page.
LARGEST_MAP = 60
MOST_BEAMS = 10
# Seconds that a visitor may give Spot. The least of them is what it has in the quick lane.
LEAST_LIMIT, MOST_LIMIT = 0.5, 10.0
# Questions in the patient lane, the one that Spot works on among them; each takes it at most three times its limit.
MOST_PATIENT = 4
# Of each of Spot's four processes, in GB. Our choice: in ten seconds none of our busy formulas takes more than one.
MEMORY = 1.0
LETTERS = "abcdefghijklmnopqrstuvwxyz"
_NAME = r'"(?:[^"\\]|\\.)*"|[^\s,="]+'
_NEW_NAME = re.compile(rf"\s*(?P<old>{_NAME})\s*=\s*(?P<new>{_NAME})\s*(?:,|$)", re.DOTALL)
READING, WRITING = "how the formula is read", "how the answer is written"
# Verdicts on candidates and statuses of searches to which Spot has not come.
OPEN = ("unchecked", "timeout")


class QuestionError(ValueError):
    """A text that the demo does not answer."""


@dataclass(frozen=True)
class Candidate:
    """An answer that a model proposes, in prefix notation.

    Attributes:
        score: Log-probability divided by length; None where the model was not asked.
        verdict: Of Spot, `unchecked` where Spot was not asked or had no time left.
        seconds: That Spot took.
    """

    text: str
    score: float | None
    verdict: str = "unchecked"
    message: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class Search:
    """What Spot's own search for a witness came to.

    Attributes:
        status: `done`, `timeout`, `error`, `unchecked` if Spot has not come to it, or `skipped`.
        witness: In prefix notation; None where none exists or none was found.
    """

    status: str
    witness: str | None
    message: str
    seconds: float


UNSEARCHED = Search("unchecked", None, "", 0.0)
UNWANTED = Search("skipped", None, "", 0.0)


@dataclass(frozen=True)
class Solved:
    """A formula and all that was found out about it: the most likely candidate first, seconds that the batch took.

    Attributes:
        limit: Seconds that Spot had, which are those of the visitor unless it is `crowded`.
        crowded: Whether Spot needed more time and had none, because others wait for it with such formulas.
        told: Sentences about words that look like names and are read otherwise.
    """

    formula: Formula
    candidates: tuple[Candidate, ...]
    search: Search
    model_seconds: float
    beams: int
    limit: float
    crowded: bool = False
    told: tuple[str, ...] = ()

    @property
    def best(self) -> Candidate:
        """The first candidate that Spot verified; the most likely one if there is none."""
        return next((one for one in self.candidates if one.verdict == "correct"), self.candidates[0])


@dataclass(frozen=True)
class Comparison:
    """What a model answered to a formula and to the same formula renamed.

    Attributes:
        formula: Before it was renamed.
        renaming: Old name → new name; other names than the formula's may be in it.
        before, after: The model's candidates, the most likely first; empty if it could not be asked.
        refusal: Why it could not be asked; empty if it could.
        shown: The place of the candidate that is shown, which is the one that Spot checks.
    """

    formula: Formula
    renaming: Mapping[str, str]
    before: tuple[Candidate, ...]
    after: tuple[Candidate, ...]
    refusal: str = ""
    shown: int = 0

    @property
    def renamed(self) -> Formula:
        return self.formula.rename(self.renaming)

    @property
    def expected(self) -> tuple[str, ...]:
        """The texts of `before`, renamed."""
        return tuple(_renamed(one.text, self.renaming) for one in self.before)

    @property
    def same_texts(self) -> bool:
        """Whether every candidate is the renamed one."""
        return bool(self.after) and self.expected == tuple(one.text for one in self.after)

    @property
    def follows(self) -> bool:
        """Whether every candidate is the renamed one and has the same score, bit for bit."""
        return self.same_texts and [one.score for one in self.before] == [one.score for one in self.after]


@dataclass(frozen=True)
class Attention:
    """Where one head of one stream looks: `weights[i][j]` is how much row i looks at column j; rows sum to 1."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    weights: tuple[tuple[float, ...], ...]
    stream: str


class Spot:
    """Spot behind a hard limit, in a process that checks and one that searches, for one question after the other."""

    def __init__(self) -> None:
        self._lane = ThreadPoolExecutor(max_workers=1)
        self._solvers: tuple[Checker, ProcessPool] | None = None
        self._limit = 0.0

    def close(self) -> None:
        """End the processes after the question that is being answered; those that wait are not."""
        self._lane.shutdown(cancel_futures=True)
        self._end()

    def ask(
        self, formula: Formula, candidates: Sequence[Candidate], search: Search, limit: float
    ) -> tuple[tuple[Candidate, ...], Search]:
        """What is open of the candidates and of the search, when it is this question's turn.

        Args:
            limit: Seconds for each candidate, for all of them but the last, and for the search.
        """
        return self._lane.submit(self._ask, formula, candidates, search, limit).result()

    def _ask(
        self, formula: Formula, candidates: Sequence[Candidate], search: Search, limit: float
    ) -> tuple[tuple[Candidate, ...], Search]:
        checker, pool = self._solvers_for(limit)
        question, checked, spent = to_prefix(formula), [], 0.0
        for one in candidates:
            if one.verdict in OPEN and spent < limit:
                (result,) = checker.check([(question, one.text)])
                one = replace(one, verdict=result.verdict, message=result.message, seconds=result.seconds)
                spent = limit if result.verdict == "timeout" else spent + result.seconds
            checked.append(one)
        if search.status in OPEN:
            (outcome,) = pool.map([question])
            done = outcome.status == "done"
            value = (outcome.value, "") if done else (None, outcome.value)
            search = Search(outcome.status, *value, outcome.seconds)
        return tuple(checked), search

    def _solvers_for(self, limit: float) -> tuple[Checker, ProcessPool]:
        """The processes with this limit, kept for the next question."""
        if self._solvers is None or self._limit != limit:
            self._end()
            # What the first formula costs a process is not counted as time of the next visitor's.
            shared: dict[str, Any] = {
                "workers": 1, "timeout": limit, "memory": MEMORY, "initializer": partial(find_witness, "a")
            }  # fmt: skip
            self._solvers = Checker(**shared), ProcessPool(find_witness, **shared)
            self._limit = limit
        return self._solvers

    def _end(self) -> None:
        for solver in self._solvers or ():
            solver.close()
        self._solvers = None


@dataclass(frozen=True)
class Waiting:
    """A question that waits for the model.

    Attributes:
        formula, size: The question, its tokens and its names in the operators that the model knows.
        beams: Of the search.
        answer: The candidates, and the seconds that their batch took.
    """

    formula: Formula
    size: tuple[int, int]
    beams: int
    answer: Future[tuple[tuple[Candidate, ...], float]]


class Batches:
    """A model that answers the questions of several threads in one batch, if they come while it is busy.

    Args:
        pipe: The model.
        lane: The one thread that calls it.
    """

    def __init__(self, pipe: Any, lane: ThreadPoolExecutor) -> None:
        self._pipe, self._lane = pipe, lane
        self._lock = threading.Lock()
        self._waiting: list[Waiting] = []

    def close(self) -> None:
        """Give up those that wait."""
        for one in self._take_all():
            one.answer.cancel()

    def ask(self, formula: Formula, beams: int) -> tuple[tuple[Candidate, ...], float]:
        """The candidates, the most likely first, and the seconds that their batch took."""
        one = Waiting(formula, _size(formula), beams, Future())
        with self._lock:
            self._waiting.append(one)
        self._lane.submit(self._answer_next)  # does nothing if a batch before has answered it
        return one.answer.result()

    def _take_all(self) -> list[Waiting]:
        with self._lock:
            taken, self._waiting = self._waiting, []
        return taken

    def _take(self) -> list[Waiting]:
        """The question that came first, and the shorter ones of those after it that fit into a batch with it.

        Of more than `FEW` that wait, half are taken, so that most visitors have their answers after the first batch.
        """
        with self._lock:
            taken, waiting = self._waiting[:1], sorted(self._waiting[1:], key=lambda one: one.size)
            most = max(FEW, (len(self._waiting) + 2) // 2)
            for one in waiting:
                sizes = [other.size for other in (*taken, one)]
                tokens, names = (max(side) for side in zip(*sizes, strict=True))
                fits = len(sizes) * tokens * names <= LARGEST_BATCH and one.beams == taken[0].beams
                if fits and len(sizes) <= most:
                    taken.append(one)
            self._waiting = [one for one in self._waiting if one not in taken]
        return taken

    def _answer_next(self) -> None:
        if 0 < len(self._waiting) < FEW:
            time.sleep(GATHER)
        taken = self._take()
        if not taken:
            return
        try:
            answers, seconds = _timed(_ask, self._pipe, [one.formula for one in taken], taken[0].beams)
        except Exception as error:
            for one in taken:
                one.answer.set_exception(error)
            return
        for one, candidates in zip(taken, answers, strict=True):
            one.answer.set_result((candidates, seconds))


class Answering:
    """Both models, and Spot in processes that are ended when they run out of time."""

    def __init__(self, model: Path = MODEL, baseline: Path = BASELINE) -> None:
        self.pipe = pipeline("ltl-witness", model=str(model), device="cpu")
        self.baseline = pipeline("ltl-witness", model=str(baseline), device="cpu")
        # Few threads, also because each that calls torch gets threads and memory of its own.
        self._models = ThreadPoolExecutor(max_workers=1)
        # Of its own, because a map takes hundredths of a second and a batch some seconds.
        self._maps = ThreadPoolExecutor(max_workers=1)
        self._batches = Batches(self.pipe, self._models)
        self._quick, self._patient = Spot(), Spot()
        self._places = threading.Semaphore(MOST_PATIENT)

    def __enter__(self) -> Answering:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End Spot's processes, and what waits."""
        for lane in (self._models, self._maps):
            lane.shutdown(cancel_futures=True)
        self._batches.close()
        for spot in (self._quick, self._patient):
            spot.close()

    def read(self, text: str) -> Formula:
        """The formula that a text in infix notation is.

        Raises:
            FormulaSyntaxError: If it is none, with the position and the reason.
            QuestionError: If there is nothing to read, or too much to be answered here.
        """
        require_text("formula", text)
        if not text.strip():
            raise QuestionError("The box is empty: write a formula, such as G(request -> F grant).")
        formula = parse(text)
        size, symbols = _size(formula)
        if size * symbols > LARGEST:
            raise QuestionError(
                f"In the operators that the model knows this formula has {size:,} tokens and {symbols:,} names: this "
                f"demo takes at most tokens x names = {LARGEST:,}. Make it shorter, or give it to "
                "`symbinv solve`, which takes more."
            )
        return formula

    def solve(self, text: str, beams: int = 5, limit: float = 5.0) -> Solved:
        """Has the model propose witnesses, and Spot check them and search for one itself.

        Args:
            text: A formula in infix notation.
            beams: Of the search, and candidates at most; from 1 to `MOST_BEAMS`.
            limit: Seconds after which Spot is stopped, from `LEAST_LIMIT` to `MOST_LIMIT`. If it is, it is not asked
                about further candidates.

        Raises:
            FormulaSyntaxError, FormulaSizeError, QuestionError: As `read`.
            QuestionError: For a number that is out of range or none.
        """
        beams = whole("Beams", beams, MOST_BEAMS)
        require_number("Seconds for Spot", limit, LEAST_LIMIT, MOST_LIMIT)
        formula = self.read(text)
        proposed, seconds = self._batches.ask(formula, beams)
        candidates, search, given = self._have_checked(formula, proposed, UNSEARCHED, limit)
        return Solved(
            formula, candidates, search, seconds, beams, given, crowded=given < limit, told=tuple(told_of_names(text))
        )

    def rename(self, solved: Solved, renaming: Mapping[str, str]) -> tuple[Comparison, Comparison]:
        """Both models on the formula under other names: the symbol-invariant one and the baseline.

        Args:
            renaming: A permutation of names, as `renamings` and `read_renaming` give.
        """
        renamed = solved.formula.rename(renaming)
        # Both alone: in a batch the last bits of a score are those of its shape.
        known = {one.text: one for one in solved.candidates}
        before = [
            replace(known[one.text], score=one.score) if one.text in known else one
            for one in self._propose(self.pipe, solved.formula, solved.beams)
        ]
        texts = [one.text for one in before]
        shown = texts.index(solved.best.text) if solved.best.text in texts else 0  # the answer that the visitor sees
        after = self._check_one(solved, renamed, self._propose(self.pipe, renamed, solved.beams), shown)
        own = Comparison(solved.formula, renaming, tuple(before), after, shown=shown)
        return own, self._rename_baseline(solved, renaming)

    def _rename_baseline(self, solved: Solved, renaming: Mapping[str, str]) -> Comparison:
        """The baseline asked in the names that it has rows for; its answers in the user's names again."""
        known = LETTERS[: self.baseline.model.config.num_symbols]
        if len(renaming) > len(known):
            refusal = f"It has learned a row for each of {len(known)} names and cannot be asked about {len(renaming)}."
            return Comparison(solved.formula, renaming, (), (), refusal)
        rows = _rows(tuple(renaming), known)
        back = {row: name for name, row in rows.items()}
        sides = []
        for formula in (solved.formula, solved.formula.rename(renaming)):
            answers = self._propose(self.baseline, formula.rename(rows), solved.beams)
            named = [replace(one, text=_renamed(one.text, back)) for one in answers]
            sides.append(self._check_one(solved, formula, named))
        return Comparison(solved.formula, renaming, *sides)

    def attention(self, solved: Solved, view: str, stream: str, layer: int, head: int) -> Attention:
        """Where one head of one stream looks.

        Args:
            view: `READING` for the encoder's per-stream attention, `WRITING` for the per-stream cross-attention while
                the best answer is written.
            stream: The name whose stream it is, or any text for a formula without names.
            layer, head: Counted from 0.

        Raises:
            QuestionError: If the best answer is no trace, which the model cannot read again, if the map would be too
                large, or if there is no such view.
        """
        if view not in (READING, WRITING):
            raise QuestionError(f"{in_short(view, 60)} is no view: choose {WRITING!r} or {READING!r}.")
        return self._maps.submit(self._attention, solved, view, stream, layer, head).result()

    @torch.no_grad()
    def _attention(self, solved: Solved, view: str, stream: str, layer: int, head: int) -> Attention:
        model, tokenizer = self.pipe.model, self.pipe.tokenizer
        batch: Any = tokenizer(to_prefix(solved.formula.to_base()), return_tensors="pt")
        names = batch.symbols[0]
        source = batch["input_ids"]
        if view == READING:
            _require_readable(source, source)
            output = model.model.encode(**batch, output_attentions=True)
            shown, blocks, kind = source, output.attentions, "EP"
        else:
            if not _is_trace(solved.best.text):
                raise QuestionError("The answer is not complete, so there is nothing to look at while it is written.")
            answer: Any = tokenizer(text_target=solved.best.text, symbols=names, return_tensors="pt")
            target, names = answer["input_ids"], answer.symbols[0]
            _require_readable(target, source)
            start = torch.full((1, 1), model.config.decoder_start_token_id)
            output = model(**batch, decoder_input_ids=torch.cat((start, target[:, :-1]), 1), output_attentions=True)
            shown, blocks, kind = target, output.cross_attentions, "CP"
        order = [one for one in model.config.components if one[0] == kind[0]]
        if kind == "EP":
            order.sort(reverse=True)  # the encoder's blocks come EP before EA, however they are listed
        weights = blocks[layer * len(order) + order.index(kind)][0]  # (S, H, T or L, L)
        seen = [names[referent] if referent >= 0 else "" for referent in output.slot_referents[0].tolist()]
        slot = seen.index(stream) if stream in seen else 0
        columns, rows = _tokens(tokenizer, source, names), _tokens(tokenizer, shown, names)
        return Attention(rows, columns, tuple(map(tuple, weights[slot, head].tolist())), seen[slot])

    def _propose(self, pipe: Any, formula: Formula, beams: int) -> tuple[Candidate, ...]:
        (candidates,) = self._models.submit(_ask, pipe, [formula], beams).result()
        return candidates

    def _have_checked(
        self, formula: Formula, candidates: Sequence[Candidate], search: Search, limit: float
    ) -> tuple[tuple[Candidate, ...], Search, float]:
        """The candidates with Spot's verdicts, the outcome of its search, and the seconds that it had.

        What Spot does not do in the quick lane it begins again in the patient one, if there is a place.
        """
        checked, search = self._quick.ask(formula, candidates, search, LEAST_LIMIT)
        late = search.status in OPEN or any(one.verdict in OPEN for one in checked)
        if not late or limit == LEAST_LIMIT:
            return checked, search, limit
        if not self._places.acquire(blocking=False):
            return checked, search, LEAST_LIMIT
        try:
            return *self._patient.ask(formula, checked, search, limit), limit
        finally:
            self._places.release()

    def _check_one(
        self, solved: Solved, formula: Formula, candidates: Sequence[Candidate], place: int = 0
    ) -> tuple[Candidate, ...]:
        """Only the candidate in this place with Spot's verdict, not even that if Spot ran out of time on `solved`."""
        if any(one.verdict in OPEN for one in solved.candidates):
            return tuple(candidates)
        checked, _, _ = self._have_checked(formula, candidates[place : place + 1], UNWANTED, solved.limit)
        return (*candidates[:place], *checked, *candidates[place + 1 :])


def require_text(what: str, text: object) -> None:
    """Makes sure that something is a text that is not too long.

    Raises:
        QuestionError: If it is not.
    """
    if not isinstance(text, str):
        raise QuestionError(f"{in_short(text, 60)} is no {what}: send text.")
    if len(text) > LONGEST:
        raise QuestionError(f"This {what} has {len(text):,} characters: this demo takes at most {LONGEST:,}.")


def require_number(what: str, value: object, least: float, most: float, kind: str = "number") -> None:
    """Makes sure that something is a number, or as `kind` says a whole one, in a range.

    Raises:
        QuestionError: If it is not.
    """
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not least <= value <= most or (kind != "number" and value != int(value)):
        raise QuestionError(f"{what}: {in_short(value, 60)} must be a {kind} from {least:g} to {most:g}.")


def whole(what: str, value: float, most: int) -> int:
    """A whole number from 1, which browsers may send as 5.0.

    Raises:
        QuestionError: If it is none, or out of range.
    """
    require_number(what, value, 1, most, "whole number")
    return int(value)


def renamings(names: Sequence[str]) -> list[dict[str, str]]:
    """Ways to permute names, those that move every name first; none for no names.

    Up to four names there are all permutations but the one that changes nothing; of more names the rotations. Fewer
    than three names are permuted together with letters that are not among them.
    """
    if not names:
        return []
    pool = (*names, *_spare(names))
    if len(pool) <= 4:
        shuffled = list(itertools.permutations(pool))[1:]
    else:
        shuffled = [(*pool[shift:], *pool[:shift]) for shift in range(1, len(pool))]
    found = [dict(zip(pool, row, strict=True)) for row in shuffled]
    found = [mapping for mapping in found if any(mapping[name] != name for name in names)]
    return sorted(found, key=lambda mapping: sum(mapping[name] == name for name in names))


def read_renaming(text: str, formula: Formula) -> dict[str, str]:
    """The renaming that a user wrote as `old=new, old=new`; a name that is not mentioned stays.

    Returns:
        A permutation: a new name that the formula does not use takes the place of an old one that becomes free.

    Raises:
        QuestionError: In one sentence, if this gives no formula with the same number of names.
    """
    require_text("renaming", text)
    names = formula.symbols()
    if not names:
        raise QuestionError("This formula has no names: there is nothing to rename.")
    chosen: dict[str, str] = {}
    position = 0
    while position < len(text.rstrip()):
        pair = _NEW_NAME.match(text, position)
        if pair is None:
            raise QuestionError(f"{text[position:].strip()!r} cannot be read: write old=new pairs, joined by commas.")
        old, new = (_name(pair[side]) for side in ("old", "new"))
        if old not in names:
            raise QuestionError(f"The formula has no name {old!r}: its names are {', '.join(names)}.")
        if old in chosen:
            raise QuestionError(f"{old!r} is given two new names: give it one.")
        chosen[old] = new
        position = pair.end()
    renaming = {name: chosen.get(name, name) for name in names}
    holders: dict[str, str] = {}
    for old, new in renaming.items():
        if (other := holders.setdefault(new, old)) != old:
            raise QuestionError(f"{other!r} and {old!r} would both be called {new!r}: give each a name of its own.")
    if all(old == new for old, new in renaming.items()):
        raise QuestionError("These are the names that the formula has: change at least one of them.")
    added = [new for new in renaming.values() if new not in renaming]
    freed = [old for old in names if old not in holders]
    return renaming | dict(zip(added, freed, strict=True)) | {name: name for name in _spare((*names, *added))}


def _name(text: str) -> str:
    """The name that a text, bare or in double quotes, is in a formula."""
    try:
        name = parse(text).name
    except FormulaSyntaxError:
        name = None
    if name is None:
        raise QuestionError(
            f"{text!r} cannot be a name: use letters, digits and _, no operator, or put it in double quotes."
        )
    return name


def _spare(names: Sequence[str]) -> tuple[str, ...]:
    """Letters that are not among the names: as many as three names lack, which is what the baseline has rows for."""
    spare = (letter for letter in LETTERS if letter not in names)
    return tuple(itertools.islice(spare, max(0, 3 - len(names))))


def _rows(names: Sequence[str], known: str) -> dict[str, str]:
    """Name → the name of the baseline's row for it: its own if there is one, else the next that is free."""
    free = (row for row in known if row not in names)
    return {name: name if name in known else next(free) for name in names}


def _timed(function: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    """What a function returns, and the seconds that it took."""
    start = time.perf_counter()
    return function(*arguments), time.perf_counter() - start


def _require_readable(rows: torch.Tensor, columns: torch.Tensor) -> None:
    """Makes sure that a map of these ids `(1, T)` and `(1, L)` can be read, before it is computed."""
    if max(rows.shape[1], columns.shape[1]) > LARGEST_MAP:
        raise QuestionError(
            f"A map of {rows.shape[1]} by {columns.shape[1]} tokens is too large to be read: this demo draws those "
            f"of at most {LARGEST_MAP} by {LARGEST_MAP}."
        )


def _size(formula: Formula) -> tuple[int, int]:
    """Tokens and names of a formula in the operators that the model knows."""
    return formula.to_base().size, max(1, len(formula.symbols()))


def _ask(pipe: Any, formulas: Sequence[Formula], beams: int) -> list[tuple[Candidate, ...]]:
    """A model's candidates for each formula of a batch, the most likely first."""
    questions = [to_prefix(one) for one in formulas]
    results = pipe(questions, batch_size=len(questions), notation="prefix", num_beams=beams, num_return_sequences=beams)
    rows = [one if isinstance(one, list) else [one] for one in results]
    return [tuple(Candidate(one["answer"], one["score"]) for one in row) for row in rows]


def _is_trace(text: str) -> bool:
    try:
        return bool(parse_trace(text))
    except FormulaSyntaxError:
        return False


def _renamed(trace: str, renaming: Mapping[str, str]) -> str:
    """A trace in prefix notation renamed; a text that is no trace stays as it is."""
    return trace_to_prefix(parse_trace(trace).rename(renaming)) if _is_trace(trace) else trace


def _tokens(tokenizer: Any, ids: torch.Tensor, names: Sequence[str]) -> tuple[str, ...]:
    """Each of the ids `(1, L)` as a reader knows it."""
    base = tokenizer.vocab_size
    special = {tokenizer.eos_token: "(end)"}
    words = (names[one - base] if one >= base else tokenizer.base_tokens[one] for one in ids[0].tolist())
    return tuple(special.get(word, word) for word in words)
