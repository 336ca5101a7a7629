"""What the demo asks: two models, Spot behind hard limits, renamings, and attention weights. No page and no Gradio.

    with Answering() as answering:
        solved = answering.solve("(request U grant) & X(grant U (done & X !request))")
        print(solved.best.text, solved.best.verdict)
        print(answering.rename(solved, read_renaming("request=grant, grant=done, done=x", solved.formula))[0].follows)

Letters: S streams, H heads, L tokens of the question, T tokens of the answer.
"""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from transformers import pipeline

import hf_symbinv
from hf_symbinv import Checker, Formula, SymbolTable, find_witness, parse, parse_trace, to_prefix
from hf_symbinv.logic import FormulaSyntaxError, trace_to_prefix
from hf_symbinv.solvers import ProcessPool

MODEL = Path(hf_symbinv.__file__).parent / "checkpoints" / "ltl-small"
BASELINE = Path(__file__).parent / "baseline"
# Our choice: a question of this size, with five beams, takes about two seconds of one core.
LARGEST = 4_000
LETTERS = "abcdefghijklmnopqrstuvwxyz"
_NAME = r'"(?:[^"\\]|\\.)*"|[^\s,="]+'
_NEW_NAME = re.compile(rf"\s*(?P<old>{_NAME})\s*=\s*(?P<new>{_NAME})\s*(?:,|$)", re.DOTALL)
READING, WRITING = "how the formula is read", "how the answer is written"


class QuestionError(ValueError):
    """A text that the demo does not answer."""


@dataclass(frozen=True)
class Candidate:
    """An answer that a model proposes, in prefix notation.

    Attributes:
        score: Log-probability divided by length; None where the model was not asked.
        verdict: Of Spot, `unchecked` where Spot was not asked.
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
        status: `done`, `timeout` or `error`.
        witness: In prefix notation; None where none exists or none was found.
    """

    status: str
    witness: str | None
    message: str
    seconds: float


@dataclass(frozen=True)
class Solved:
    """A formula and all that was found out about it: the most likely candidate first, seconds that the model took."""

    formula: Formula
    candidates: tuple[Candidate, ...]
    search: Search
    model_seconds: float
    beams: int
    limit: float

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
    """

    formula: Formula
    renaming: Mapping[str, str]
    before: tuple[Candidate, ...]
    after: tuple[Candidate, ...]
    refusal: str = ""

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


class Answering:
    """Both models, and Spot in a process of its own that is ended when it runs out of time."""

    def __init__(self, model: Path = MODEL, baseline: Path = BASELINE) -> None:
        self.pipe = pipeline("ltl-witness", model=str(model), device="cpu")
        self.baseline = pipeline("ltl-witness", model=str(baseline), device="cpu")
        self._solvers: tuple[Checker, ProcessPool] | None = None
        self._limit = 0.0

    def __enter__(self) -> Answering:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End Spot's processes."""
        if self._solvers is not None:
            for solver in self._solvers:
                solver.close()
            self._solvers = None

    def read(self, text: str) -> Formula:
        """The formula that a text in infix notation is.

        Raises:
            FormulaSyntaxError: If it is none, with the position and the reason.
            QuestionError: If there is nothing to read, or too much to be answered here.
        """
        if not text.strip():
            raise QuestionError("The box is empty: write a formula, such as G(request -> F grant).")
        formula = parse(text)
        size, symbols = formula.to_base().size, max(1, len(formula.symbols()))
        if size * symbols > LARGEST:
            raise QuestionError(
                f"In the operators that the model knows this formula has {size:,} tokens and {symbols:,} names: this "
                f"demo takes at most tokens x names = {LARGEST:,}; the package itself takes more."
            )
        return formula

    def solve(self, text: str, beams: int = 5, limit: float = 5.0) -> Solved:
        """Has the model propose witnesses, and Spot check them and search for one itself.

        Args:
            text: A formula in infix notation.
            beams: Of the search, and candidates at most.
            limit: Seconds after which Spot is stopped. If it is, it is not asked about further candidates.

        Raises:
            FormulaSyntaxError, QuestionError: As `read`.
        """
        formula = self.read(text)
        start = time.perf_counter()
        proposed = _ask(self.pipe, formula, beams)
        seconds = time.perf_counter() - start
        candidates = self._check(formula, proposed, limit)
        return Solved(formula, candidates, self._search(formula, limit), seconds, beams, limit)

    def rename(self, solved: Solved, renaming: Mapping[str, str]) -> tuple[Comparison, Comparison]:
        """Both models on the formula under other names: the symbol-invariant one and the baseline.

        Args:
            renaming: A permutation of names, as `renamings` and `read_renaming` give.
        """
        renamed = solved.formula.rename(renaming)
        after = self._check_first(solved, renamed, _ask(self.pipe, renamed, solved.beams))
        own = Comparison(solved.formula, renaming, solved.candidates, after)
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
            answers = _ask(self.baseline, formula.rename(rows), solved.beams)
            named = [replace(one, text=_renamed(one.text, back)) for one in answers]
            sides.append(self._check_first(solved, formula, named))
        return Comparison(solved.formula, renaming, *sides)

    @torch.no_grad()
    def attention(self, solved: Solved, view: str, stream: str, layer: int, head: int) -> Attention:
        """Where one head of one stream looks.

        Args:
            view: `READING` for the encoder's per-stream attention, `WRITING` for the per-stream cross-attention while
                the best answer is written.
            stream: The name whose stream it is, or any text for a formula without names.
            layer, head: Counted from 0.

        Raises:
            QuestionError: If the best answer is no trace, which the model cannot read again.
        """
        model, tokenizer, table = self.pipe.model, self.pipe.tokenizer, SymbolTable()
        batch = tokenizer(to_prefix(solved.formula.to_base()), symbol_table=table, return_tensors="pt")
        source = batch["input_ids"]
        if view == READING:
            output = model.model.encode(**batch, output_attentions=True)
            shown, blocks, kind = source, output.attentions, "EP"
        else:
            if not _is_trace(solved.best.text):
                raise QuestionError("The answer is not complete, so there is nothing to look at while it is written.")
            target = tokenizer(text_target=solved.best.text, symbol_table=table, return_tensors="pt")["input_ids"]
            start = torch.full((1, 1), model.config.decoder_start_token_id)
            output = model(**batch, decoder_input_ids=torch.cat((start, target[:, :-1]), 1), output_attentions=True)
            shown, blocks, kind = target, output.cross_attentions, "CP"
        order = [one for one in model.config.components if one[0] == kind[0]]
        if kind == "EP":
            order.sort(reverse=True)  # the encoder's blocks come EP before EA, however they are listed
        weights = blocks[layer * len(order) + order.index(kind)][0]  # (S, H, T or L, L)
        names = [table.name(referent) if referent >= 0 else "" for referent in output.slot_referents[0].tolist()]
        slot = names.index(stream) if stream in names else 0
        columns, rows = _tokens(tokenizer, source, table), _tokens(tokenizer, shown, table)
        return Attention(rows, columns, tuple(map(tuple, weights[slot, head].tolist())), names[slot])

    def _check(self, formula: Formula, candidates: Sequence[Candidate], limit: float) -> tuple[Candidate, ...]:
        """The candidates with Spot's verdicts, none after one that ran out of time."""
        checker, _ = self._solvers_for(limit)
        question, checked = to_prefix(formula), []
        for one in candidates:
            (result,) = checker.check([(question, one.text)])
            checked.append(replace(one, verdict=result.verdict, message=result.message, seconds=result.seconds))
            if result.verdict == "timeout":
                break
        return (*checked, *candidates[len(checked) :])

    def _check_first(self, solved: Solved, formula: Formula, candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
        """Only the first candidate with Spot's verdict, not even that if Spot ran out of time on `solved`."""
        if any(one.verdict == "timeout" for one in solved.candidates):
            return tuple(candidates)
        return (*self._check(formula, candidates[:1], solved.limit), *candidates[1:])

    def _search(self, formula: Formula, limit: float) -> Search:
        _, pool = self._solvers_for(limit)
        (outcome,) = pool.map([to_prefix(formula)])
        done = outcome.status == "done"
        return Search(outcome.status, outcome.value if done else None, "" if done else outcome.value, outcome.seconds)

    def _solvers_for(self, limit: float) -> tuple[Checker, ProcessPool]:
        """Spot with this limit, warmed up, and kept for the next question."""
        if self._solvers is None or self._limit != limit:
            self.close()
            checker = Checker(workers=1, timeout=limit)
            pool = ProcessPool(find_witness, workers=1, timeout=limit)
            self._solvers, self._limit = (checker, pool), limit
            list(checker.check([("a", "a;{1}")]))
            list(pool.map(["a"]))
        return self._solvers


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


def _ask(pipe: Any, formula: Formula, beams: int) -> tuple[Candidate, ...]:
    """A model's candidates, the most likely first."""
    results = pipe(to_prefix(formula), notation="prefix", num_beams=beams, num_return_sequences=beams)
    results = results if isinstance(results, list) else [results]
    return tuple(Candidate(one["answer"], one["score"]) for one in results)


def _is_trace(text: str) -> bool:
    try:
        return bool(parse_trace(text))
    except FormulaSyntaxError:
        return False


def _renamed(trace: str, renaming: Mapping[str, str]) -> str:
    """A trace in prefix notation renamed; a text that is no trace stays as it is."""
    return trace_to_prefix(parse_trace(trace).rename(renaming)) if _is_trace(trace) else trace


def _tokens(tokenizer: Any, ids: torch.Tensor, table: SymbolTable) -> tuple[str, ...]:
    """Each of the ids `(1, L)` as a reader knows it."""
    base = tokenizer.vocab_size
    special = {tokenizer.eos_token: "(end)"}
    words = (table.name(one - base) if one >= base else tokenizer.base_tokens[one] for one in ids[0].tolist())
    return tuple(special.get(word, word) for word in words)
