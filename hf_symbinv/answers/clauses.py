"""Clauses as SAT solvers read them, in DIMACS files: read, solved in another process, checked, and certified.

    with Portfolio() as portfolio:
        answer = answer_clauses(read_dimacs("p cnf 2 2\\n1 -2 0\\n2 0\\n"), portfolio)
        print(answer.result, answer.model)

A formula with names is a specification without temporal operators instead, see `specification.py`.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from typing_extensions import TypedDict

from hf_symbinv import __version__
from hf_symbinv.answers.certificates import AGAIN, FORMAT, CertificateError, in_json, read_claim, require_evidence
from hf_symbinv.answers.portfolio import Check, Portfolio, Result, Tried
from hf_symbinv.answers.specification import SpecificationError, read_text
from hf_symbinv.answers.unrolling import SOLVER, load_solver
from hf_symbinv.errors import cut

Clause = tuple[int, ...]
# Our choice: some million clauses; Python's integers take twenty times as much memory.
LONGEST = 1 << 25
MOST_VARIABLES = 10_000_000
# The second solver, which looks at proofs again; another one of python-sat that shares little with the first.
SECOND_SOLVER = "glucose4"
# Part of the limit that the search of a minimal subset may take. Our choice: its process is not stopped then.
SHARE_OF_SUBSET = 0.8

_HEADER = re.compile(r"\s*p\s+cnf\s+0*([0-9]+)\s+0*([0-9]+)\s*")
_LITERAL = re.compile(r"-?[0-9]{1,20}")


@dataclass(frozen=True, slots=True)
class Clauses:
    """A conjunction of clauses.

    Attributes:
        text: As it was given.
        variables: They are numbers from 1 to this one.
        clauses: Each is a disjunction of variables, which are negative where they are negated.
    """

    text: str
    variables: int
    clauses: tuple[Clause, ...]


@dataclass(frozen=True, slots=True)
class ClausesAnswer:
    """What a SAT solver says of clauses; what `Answer` has, too, means the same here.

    Attributes:
        model: Of satisfiable clauses: for each variable in turn its number, which is negative where it is false.
        subset: Of unsatisfiable ones: numbers, from 1, of clauses that contradict each other.
    """

    question: Clauses
    result: Result
    model: tuple[int, ...] | None
    found_by: str | None
    checks: tuple[Check, ...]
    subset: tuple[int, ...]
    minimal: bool
    tried: tuple[Tried, ...]
    seconds: float


def read_dimacs(text: str, source: str = "") -> Clauses:
    """The clauses of a text in DIMACS format, `p cnf VARIABLES CLAUSES` and then numbers, with 0 after each clause.

    Lines that begin with `c` are comments, and a line `%` ends the text, as in files of SATLIB. Lines may be indented.

    Raises:
        SpecificationError: If it is none; with source and line of what is wrong.
    """

    def wrong(line: int, reason: str) -> SpecificationError:
        return SpecificationError(cut(f"{source}{':' * bool(source)}{line}: {reason}"))

    variables = count = -1
    clauses: list[Clause] = []
    clause: list[int] = []
    number = 0
    for number, line in enumerate(text.split("\n"), start=1):
        words = line.split()
        if not words or words[0].startswith("c"):
            continue
        if words[0].startswith("%"):
            break
        if words[0] == "p" or variables < 0:
            header = _HEADER.fullmatch(line)
            if header is None or variables >= 0:
                raise wrong(number, "expected one line `p cnf VARIABLES CLAUSES` before the clauses")
            variables, count = (int(digits[:20]) for digits in header.groups())
            if variables > MOST_VARIABLES:
                raise wrong(number, f"over {MOST_VARIABLES:,} variables; split it")
            continue
        for word in words:
            if not _LITERAL.fullmatch(word):
                raise wrong(number, f"{word!r}: no literal; write numbers of variables, and 0 after a clause")
            literal = int(word)
            if abs(literal) > variables:
                raise wrong(number, f"{literal}: there are {variables} variables; correct it, or the line with p")
            if literal:
                clause.append(literal)
            else:
                clauses.append(tuple(clause))
                clause = []
    if variables < 0:
        raise wrong(number, "expected one line `p cnf VARIABLES CLAUSES` before the clauses")
    if clause:
        raise wrong(number, "the last clause does not end; write 0 after it")
    if len(clauses) != count:
        raise wrong(number, f"{len(clauses)} clauses, where the line with p has {count}; correct one of them")
    return Clauses(text, variables, tuple(clauses))


def read_dimacs_file(path: Path) -> Clauses:
    """The clauses in a file.

    Raises:
        SpecificationError: As `read_dimacs`, with the file's name, or if it is no text in UTF-8 or too long.
        OSError: If it cannot be read.
    """
    return read_dimacs(read_text(path, LONGEST), str(path))


def answer_clauses(question: Clauses, portfolio: Portfolio) -> ClausesAnswer:
    """A model that was checked, a proof that there is none, or `unknown`, within the limits of a portfolio."""
    start = time.monotonic()
    outcome = portfolio.run("bounded", find_model, question.clauses, question.variables, SOLVER)
    found: Model = outcome.value if outcome.status == "done" else Model(None, False, str(outcome.value))
    result: Result = "unknown"
    checks: tuple[Check, ...] = ()
    subset: tuple[int, ...] = ()
    minimal = False
    if found.values is not None:
        checks = (check_model(question, found.values),)
        result = "satisfiable" if checks[0].verdict == "correct" else "unknown"
    elif found.unsatisfiable:
        result = "unsatisfiable"
        subset, minimal = _subset(question, portfolio)
    told = {"satisfiable": "found a model", "unsatisfiable": "proved that there is none", "unknown": found.how}
    return ClausesAnswer(
        question, result, found.values if result == "satisfiable" else None, SOLVER if result != "unknown" else None,
        checks, subset, minimal, (Tried(SOLVER, outcome.seconds, told[result]),), time.monotonic() - start,
    )  # fmt: skip


def _subset(question: Clauses, portfolio: Portfolio) -> tuple[tuple[int, ...], bool]:
    """Numbers of clauses that contradict each other, all of them where the limit does not let a proof name some."""
    seconds = SHARE_OF_SUBSET * portfolio.timeout
    outcome = portfolio.run("bounded", minimal_subset, question.clauses, question.variables, seconds)
    if outcome.status != "done":
        return tuple(range(1, len(question.clauses) + 1)), False
    places, minimal = outcome.value
    return tuple(place + 1 for place in places), minimal


class Model(NamedTuple):
    """What a SAT solver found: values of the variables, or that there are none; `how` says why it found neither."""

    values: tuple[int, ...] | None
    unsatisfiable: bool
    how: str


def find_model(clauses: Sequence[Clause], variables: int, solver: str) -> Model:
    """A model of clauses, or that there is none; called in another process."""
    if not all(clauses):
        return Model(None, True, "an empty clause")
    with load_solver()(name=solver, bootstrap_with=clauses) as made:
        if not made.solve():
            return Model(None, True, "a proof")
        known = {abs(literal): literal for literal in made.get_model()}
    return Model(tuple(known.get(variable, -variable) for variable in range(1, variables + 1)), False, "a model")


def minimal_subset(clauses: Sequence[Clause], variables: int, seconds: float) -> tuple[tuple[int, ...], bool]:
    """Places of clauses that contradict each other, and whether each of them is needed; called in another process.

    One clause after the other is left out, and stays out if the others still contradict each other; then only those of
    the new proof are kept. After so many seconds the rest is kept untried.

    Source: Belov, Lynce, Marques-Silva 2012, "Towards Efficient MUS Extraction", section 3.1, without model rotation.
    """
    deadline = time.monotonic() + seconds
    with load_solver()(name=SOLVER) as solver:
        chosen = [variables + 1 + place for place in range(len(clauses))]
        for clause, literal in zip(clauses, chosen, strict=True):
            solver.add_clause([*clause, -literal])
        solver.solve(assumptions=chosen)
        kept = sorted(solver.get_core())
        needed = 0  # so many at the front of `kept` are known to be needed
        while needed < len(kept) and time.monotonic() < deadline:
            others = kept[:needed] + kept[needed + 1 :]
            if solver.solve(assumptions=others):
                needed += 1
            else:
                core = set(solver.get_core() or ())
                kept = [literal for literal in others if literal in core]
    return tuple(literal - variables - 1 for literal in kept), needed == len(kept)


def check_model(question: Clauses, model: Sequence[int]) -> Check:
    """The verdict on a model, without any solver: each clause has a literal that is true."""
    start = time.monotonic()
    true = set(model)
    wrong = next((number for number, clause in enumerate(question.clauses, 1) if true.isdisjoint(clause)), None)
    message = "" if wrong is None else f"no literal of clause {wrong} is true"
    if any(-literal in true for literal in true):
        message = "a variable is true and false"
    return Check("hf_symbinv", "incorrect" if message else "correct", time.monotonic() - start, message)


def check_subset(question: Clauses, subset: Sequence[int], minimal: bool, portfolio: Portfolio) -> tuple[Check, ...]:
    """What both SAT solvers say of clauses that are said to contradict each other."""
    clauses = tuple(question.clauses[number - 1] for number in subset)
    checks = []
    for solver in (SOLVER, SECOND_SOLVER):
        outcome = portfolio.run("bounded", find_model, clauses, question.variables, solver)
        verdict: str = outcome.status
        message = outcome.value
        if outcome.status == "done":
            verdict, message = "unsatisfiable" if outcome.value.unsatisfiable else "satisfiable", ""
        checks.append(Check(solver, verdict, outcome.seconds, message))
    if minimal and checks[0].verdict == "unsatisfiable":
        seconds = SHARE_OF_SUBSET * portfolio.timeout
        outcome = portfolio.run("bounded", minimal_subset, clauses, question.variables, seconds)
        if outcome.status == "done" and len(outcome.value[0]) < len(clauses):
            fewer = ranges(sorted(subset[place] for place in outcome.value[0]))
            checks.append(Check(SOLVER, "not minimal", outcome.seconds, f"{fewer} contradict each other already"))
    return tuple(checks)


def ranges(numbers: Sequence[int]) -> str:
    """Numbers of clauses for people: `clauses 1, 4 to 7`."""
    parts: list[str] = []
    for _, run in groupby(enumerate(numbers), key=lambda item: item[1] - item[0]):
        items = [number for _, number in run]
        parts += [f"{items[0]} to {items[-1]}"] if len(items) > 2 else map(str, items)
    return f"clause{'s' * (len(numbers) > 1)} {', '.join(parts)}"


def certify_clauses(answer: ClausesAnswer) -> dict[str, Any]:
    """The certificate of an answer, as JSON has it."""
    from importlib.metadata import version  # here, because few answers need it

    return {
        "certificate": FORMAT,
        "clauses": answer.question.text,
        "result": answer.result,
        "model": None if answer.model is None else list(answer.model),
        **in_json(answer),
        "versions": {"hf_symbinv": __version__, "python-sat": version("python-sat")},
    }


class ClausesCertificate(TypedDict):
    """What a certificate of clauses claims, as JSON has it; the rest of it is for people."""

    certificate: int
    clauses: str
    result: Result
    model: list[int] | None
    subset: list[int]
    minimal: bool


def read_clauses_certificate(path: Path) -> tuple[Clauses, ClausesCertificate]:
    """The clauses of the certificate in a file, and what it claims of them."""
    from hf_symbinv.values import require_kinds  # here, because few commands need it

    content: Any = read_claim(path)
    require_kinds(content, ClausesCertificate, str(path), AGAIN, CertificateError)
    claim: ClausesCertificate = content
    try:
        question = read_dimacs(claim["clauses"], f"{path}, clauses")
    except SpecificationError as error:
        raise CertificateError(str(error)) from None
    for number in claim["subset"]:
        if not 1 <= number <= len(question.clauses):
            raise CertificateError(f"{path}: subset: there is no clause {number}; {AGAIN}")
    require_evidence(path, claim["result"], claim["model"] is not None, bool(claim["subset"]))
    return question, claim


def verify_clauses(question: Clauses, claim: ClausesCertificate, portfolio: Portfolio) -> tuple[Check, ...]:
    """What checkers say of a certificate's claim now; arguments are those of `check_subset`."""
    if claim["model"] is not None:
        return (check_model(question, claim["model"]),)
    return check_subset(question, claim["subset"], claim["minimal"], portfolio) if claim["subset"] else ()


def solution_lines(answer: ClausesAnswer) -> list[str]:
    """The answer as SAT solvers print it: comments, `s SATISFIABLE` and its like, and the model in lines with `v`."""
    told = {"satisfiable": "SATISFIABLE", "unsatisfiable": "UNSATISFIABLE", "unknown": "UNKNOWN"}
    lines = [f"s {told[answer.result]}"]
    if answer.subset:
        every = " of which each is needed" if answer.minimal else ""
        lines.insert(0, f"c these contradict each other{every}: {ranges(answer.subset)}")
    if answer.model is not None:
        words, line = [*map(str, answer.model), "0"], "v"
        for word in words:
            if len(line) + 1 + len(word) > 78:  # as long as those of competitions at most
                lines.append(line)
                line = "v"
            line += f" {word}"
        lines.append(line)
    return lines
