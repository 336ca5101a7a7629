"""A portfolio of solvers: the first checked answer wins, and the others are stopped.

    with Portfolio() as portfolio:
        answer = portfolio.answer(read_specification("G(request -> F grant)"))
        print(answer.result, answer.witness)

Each member works in a process of its own, with limits of time and memory from outside. Spot begins. The bounded search
begins when Spot hesitates, so that most answers need one process.
"""

from __future__ import annotations

import importlib.util
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from hf_symbinv.answers import automata, unrolling
from hf_symbinv.answers.finding import Finding, call
from hf_symbinv.answers.specification import Specification, conjunction
from hf_symbinv.errors import UserError
from hf_symbinv.logic import Formula, Trace
from hf_symbinv.solvers.lasso import truth
from hf_symbinv.solvers.ltl import load_spot, solver_version
from hf_symbinv.solvers.pool import MEMORY, Attempt, Outcome, PoolError, ProcessPool

Result = Literal["satisfiable", "unsatisfiable", "unknown"]
TIMEOUT = 10.0
# Seconds between two looks at the members.
LOOK = 0.001
# Seconds for Spot's check of a witness that the other checker has accepted. Our choice: most take a hundredth of it.
CHECK_SECONDS = 2.0


class Member(NamedTuple):
    """A solver of the portfolio, which works in another process.

    Attributes:
        find: Conjuncts → what it finds.
        load: What that process imports first; this does not count.
        delay: Seconds of work that those before it get. Our choice: Spot needs less for nearly all of our collection.
        is_unsatisfiable: Whether no trace satisfies the conjuncts.
    """

    find: Callable[[tuple[Formula, ...]], Finding]
    load: Callable[[], object]
    delay: float
    is_unsatisfiable: Callable[[tuple[Formula, ...]], bool]


MEMBERS = {
    "spot": Member(automata.find, load_spot, 0.0, automata.is_unsatisfiable),
    "bounded": Member(unrolling.find, unrolling.load_solver, 0.2, unrolling.is_unsatisfiable),
}


@dataclass(frozen=True, slots=True)
class Tried:
    """What a member did: for so many seconds from when its process was ready, with an outcome for people, such as
    `found a witness (automaton of 2 states)`, `stopped` and `not needed`.
    """

    member: str
    seconds: float
    outcome: str


@dataclass(frozen=True, slots=True)
class Check:
    """What a checker says: `correct`, `incorrect`, `open`, `timeout` or `error` of a witness, or of properties
    `unsatisfiable`."""

    checker: str
    verdict: str
    seconds: float
    message: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the portfolio says of a specification.

    Attributes:
        specification: The question.
        result: `satisfiable` with a witness that was checked, `unsatisfiable` with a proof, or `unknown`.
        witness: A trace of which every word satisfies all properties; None if there is none.
        found_by: The member that found the witness or the proof; None if none did.
        checks: Of the witness.
        subset: Names of properties that no trace satisfies together; empty for other results.
        minimal: Without any one of them a trace does.
        tried: Who tried what, in the portfolio's order.
        seconds: From the question to the answer.
    """

    specification: Specification
    result: Result
    witness: Trace | None
    found_by: str | None
    checks: tuple[Check, ...]
    subset: tuple[str, ...]
    minimal: bool
    tried: tuple[Tried, ...]
    seconds: float

    @property
    def certain(self) -> bool:
        """There is an answer, and no checker is missing or against it."""
        return self.result != "unknown" and all(check.verdict in ("correct", "unsatisfiable") for check in self.checks)


class Portfolio:
    """Answers questions, one after the other; its processes are started when they are needed, and kept.

    Args:
        members: Names of those that may try; UserError if there is none of the name.
        timeout: Limit in seconds for each member and question, and for each check.
        memory: Limit in GB, as `ProcessPool` takes it.

    Raises:
        SpotMissingError: If Spot is not installed: it checks every witness.
    """

    def __init__(self, members: Sequence[str] = tuple(MEMBERS), *, timeout: float = TIMEOUT, memory: float = MEMORY):
        for name in members:
            if name not in MEMBERS:
                raise UserError(f"member {name!r}: not in the portfolio; use some of {', '.join(MEMBERS)}")
        if not members:
            raise UserError("no member of the portfolio is left; leave one of them in")
        if importlib.util.find_spec("spot") is None:
            load_spot()
        self._members = [name for name in MEMBERS if name in members]
        self.timeout, self.memory = timeout, memory
        self._pools: dict[str, ProcessPool] = {}
        self._spot_version: str | None = None
        self._look: Callable[[], None] = _nothing

    def __enter__(self) -> Portfolio:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the processes."""
        for pool in self._pools.values():
            pool.close()

    @contextmanager
    def watched(self, look: Callable[[], None]) -> Iterator[None]:
        """Inside, `look` is called every few milliseconds of work; what it raises ends the work and comes out."""
        self._look = look
        try:
            yield
        finally:
            self._look = _nothing

    def answer(self, specification: Specification) -> Answer:
        """The first answer that was checked or proved.

        Raises:
            PoolError: If Spot's process cannot run at all, which checks witnesses.
        """
        return _Race(self, specification).run()

    def check(self, conjuncts: tuple[Formula, ...], trace: Trace, limit: float = math.inf) -> tuple[Check, ...]:
        """The verdicts of both checkers, Spot and the package's own, on a trace whose steps are conjunctions of
        literals.

        Spot has `limit` seconds, and no more than the portfolio has.
        """
        start = time.monotonic()
        try:
            found = truth(conjunction(conjuncts), trace)
            verdict, message = {"true": "correct", "false": "incorrect", "open": "open"}[found], ""
            if found == "open":
                message = "as far as it can tell, what is left open decides"
        except ValueError as error:
            verdict, message = "error", str(error)
        own = Check("hf_symbinv", verdict, time.monotonic() - start, message)
        return own, self.judge(conjuncts, trace, limit)

    def judge(self, conjuncts: tuple[Formula, ...], trace: Trace, limit: float = math.inf) -> Check:
        """Spot's verdict on a trace; arguments are those of `check`."""
        outcome = self.run("spot", automata.judge_each, conjuncts, trace, limit=limit)
        if outcome.status == "done":
            return Check("spot", outcome.value[0], outcome.seconds, outcome.value[1])
        return Check("spot", outcome.status, outcome.seconds, outcome.value)

    def prove(self, conjuncts: tuple[Formula, ...], member: str, limit: float = math.inf) -> Outcome:
        """Have a member look whether no trace satisfies the conjuncts; the value is true or false."""
        return self.run(member, MEMBERS[member].is_unsatisfiable, conjuncts, limit=limit)

    def spot_version(self) -> str:
        """Spot's version, such as `2.13`."""
        if self._spot_version is None:
            self._spot_version = str(self.run("spot", solver_version).value).removeprefix("spot ")
        return self._spot_version

    def minimal_subset(
        self, specification: Specification, places: Sequence[int], member: str
    ) -> tuple[tuple[str, ...], bool]:
        """Names of properties that no trace satisfies together, and whether each of them is needed.

        Of the unsatisfiable conjuncts at these places, one property after the other is left out, and stays out if the
        member proves that the others are still unsatisfiable.
        """
        conjuncts = specification.conjuncts()
        rules = tuple(range(len(specification.properties), len(conjuncts)))
        kept = [place for place in places if place < len(specification.properties)]
        deadline, minimal = time.monotonic() + self.timeout, True
        for place in list(kept) if len(kept) > 1 else []:
            others = [other for other in kept if other != place]
            if time.monotonic() > deadline:
                minimal = False
                break
            outcome = self.prove(tuple(conjuncts[at] for at in (*others, *rules)), member)
            minimal &= outcome.status == "done"
            if outcome.status == "done" and outcome.value:
                kept = others
        return tuple(specification.names[place] for place in kept), minimal

    def run(self, name: str, *call: Any, limit: float = math.inf) -> Outcome:
        """The outcome of a function and its arguments in a member's process, or in one like it if that is busy."""
        pool = self.pool(name)
        if pool.busy:
            pool = self.pool(name, "beside")
        attempt = pool.start(call)
        try:
            while (outcome := attempt.poll()) is None:
                if attempt.seconds() > limit:
                    return Outcome("timeout", f"stopped at the limit of {limit:g} s", limit)
                self._look()
                time.sleep(LOOK)
            return outcome
        finally:
            attempt.cancel()

    def pool(self, name: str, use: str = "") -> ProcessPool:
        """The process of a member."""
        key = f"{name} {use}"
        if key not in self._pools:
            self._pools[key] = ProcessPool(
                call, workers=1, initializer=MEMBERS[name].load, timeout=self.timeout, memory=self.memory
            )
        return self._pools[key]


def _nothing() -> None:
    """What is done between two looks at the members, if nothing is."""


class _Race:
    """One question: the members that have begun, and what they said."""

    def __init__(self, portfolio: Portfolio, specification: Specification) -> None:
        self.portfolio, self.specification = portfolio, specification
        self.conjuncts = specification.conjuncts()
        self.start = time.monotonic()
        self.members = {name: MEMBERS[name].find for name in portfolio._members}
        if specification.propositional and "bounded" in self.members:  # one step is all that there is to search
            self.members = {"bounded": unrolling.find}
        self.running: dict[str, Attempt] = {}
        self.tried: dict[str, Tried] = {}

    def run(self) -> Answer:
        waiting = list(self.members)
        try:
            while waiting or self.running:
                worked = max((attempt.seconds() for attempt in self.running.values()), default=math.inf)
                if waiting and worked >= MEMBERS[waiting[0]].delay:
                    name = waiting.pop(0)
                    self.running[name] = self.portfolio.pool(name).start((self.members[name], self.conjuncts))
                for name, attempt in list(self.running.items()):
                    try:
                        outcome = attempt.poll()
                    except PoolError as error:  # it cannot start
                        reason = str(error).strip().splitlines()[-1]
                        outcome = Outcome("error", f"could not start: {reason}", attempt.seconds())
                        attempt.cancel()
                    answer = None if outcome is None else self.heard(name, outcome)
                    if answer is not None:
                        return answer
                self.portfolio._look()
                time.sleep(LOOK)
            return self.answer("unknown")
        finally:
            self.stop()

    def seconds(self) -> float:
        return time.monotonic() - self.start

    def stop(self) -> None:
        for name, attempt in self.running.items():
            self.tried[name] = Tried(name, attempt.seconds(), "stopped")
            attempt.cancel()
        self.running.clear()

    def heard(self, name: str, outcome: Outcome) -> Answer | None:
        """The answer, if what a member said is one."""
        del self.running[name]
        if outcome.status != "done":
            self.tried[name] = Tried(name, outcome.seconds, str(outcome.value))
            return None
        finding: Finding = outcome.value
        found = "proved that there is none" if finding.unsatisfiable else "found none"
        if finding.witness is not None:
            found = "found a witness"
        self.tried[name] = Tried(name, outcome.seconds, f"{found} ({finding.how})")
        if finding.witness is not None:
            checks = self.portfolio.check(self.conjuncts, finding.witness, CHECK_SECONDS)
            verdicts = {check.verdict for check in checks}
            if "correct" in verdicts and not verdicts & {"incorrect", "invalid"}:
                return self.answer("satisfiable", name, finding.witness, checks)
            self.tried[name] = Tried(name, outcome.seconds, f"{found} that {_against(checks)} does not confirm")
        elif finding.unsatisfiable:
            self.stop()
            places = range(len(self.specification.properties)) if finding.core is None else finding.core
            subset, minimal = self.portfolio.minimal_subset(self.specification, places, name)
            return self.answer("unsatisfiable", name, subset=subset, minimal=minimal)
        return None

    def answer(
        self,
        result: Result,
        found_by: str | None = None,
        witness: Trace | None = None,
        checks: tuple[Check, ...] = (),
        subset: tuple[str, ...] = (),
        minimal: bool = False,
    ) -> Answer:
        self.stop()
        tried = tuple(self.tried.get(name, Tried(name, 0.0, "not needed")) for name in self.portfolio._members)
        seconds = self.seconds()
        return Answer(self.specification, result, witness, found_by, checks, subset, minimal, tried, seconds)


def _against(checks: tuple[Check, ...]) -> str:
    return " and ".join(check.checker for check in checks if check.verdict != "correct")
