"""Verdicts on many (formula, trace) pairs, from Spot in a pool of processes."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sized
from contextlib import closing
from typing import Literal, NamedTuple

from hf_symbinv.logic import FormulaSyntaxError, parse_trace, trace_to_prefix
from hf_symbinv.solvers.ltl import judge, load_spot
from hf_symbinv.solvers.pool import Outcome, ProcessPool

Verdict = Literal["exact", "correct", "incorrect", "invalid", "timeout", "error"]


class CheckResult(NamedTuple):
    """The verdict on one pair.

    Args:
        verdict: `exact` (correct, and the reference itself), `correct` (every word of the trace satisfies the formula),
            `incorrect`, `invalid` (no trace, or one that denotes no word), `timeout` (the hard limit was reached) or
            `error` (the formula cannot be read, or Spot failed).
        seconds: Wall-clock time of the check.
        message: Why the verdict is what it is; empty for `exact` and `correct`.
    """

    verdict: Verdict
    seconds: float
    message: str


class Checker:
    """Checks traces against formulas of linear temporal logic.

        with Checker(timeout=10.0) as checker:
            for result in checker.check([("Uab", "a;{b}"), ("Uab", "{a}")]):
                print(result.verdict)

    Worker processes are started by the first check and kept for the next.

    Args:
        workers: Number of processes; None for one per available core.
        timeout: Hard limit for one pair in seconds.

    Raises:
        SpotMissingError: If Spot is not installed.
        ValueError: If `workers` or `timeout` is not positive.
    """

    def __init__(self, *, workers: int | None = None, timeout: float = 10.0) -> None:
        load_spot()
        self._pool = ProcessPool(judge_pair, workers=workers, timeout=timeout, initializer=load_spot)

    def __enter__(self) -> Checker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the worker processes."""
        self._pool.close()

    def check(
        self,
        pairs: Iterable[tuple[str, str]],
        references: Iterable[str | None] | None = None,
        progress: bool = False,
    ) -> Iterator[CheckResult]:
        """Yield a result for every pair, in order, while later ones are being computed.

        Args:
            pairs: Formula and trace, both in prefix notation. They are read as they are needed.
            references: For every pair a known witness in prefix notation, or None if there is none.
            progress: Show a progress bar on stderr.

        Raises:
            ValueError: If there are not as many references as pairs.
        """
        known: deque[tuple[str, str | None]] = deque()

        def items() -> Iterator[tuple[str, str]]:
            if references is None:
                for pair in pairs:
                    known.append((pair[1], None))
                    yield pair
            else:
                for pair, reference in zip(pairs, references, strict=True):
                    known.append((pair[1], reference))
                    yield pair

        from tqdm import tqdm  # here, because workers import this module too

        total = len(pairs) if isinstance(pairs, Sized) else None
        with (
            tqdm(total=total, desc="verify", unit=" pairs", file=sys.stderr, disable=not progress) as bar,
            closing(self._pool.map(items())) as outcomes,
        ):
            for outcome in outcomes:
                bar.update()
                yield result_of(outcome, *known.popleft())


def judge_pair(pair: tuple[str, str]) -> tuple[str, str]:
    """`judge` for a formula and trace that travel as one item."""
    formula, trace = pair
    return judge(formula, trace)


def result_of(outcome: Outcome, trace: str, reference: str | None) -> CheckResult:
    """The result for a trace, given what became of `judge`."""
    if outcome.status != "done":
        return CheckResult(outcome.status, outcome.seconds, outcome.value)
    verdict, message = outcome.value
    if verdict == "correct" and reference is not None and normalized(trace) == normalized(reference):
        verdict = "exact"
    return CheckResult(verdict, outcome.seconds, message)


def normalized(trace: str) -> str:
    """The trace as this package writes it; a text that is no trace stays as it is."""
    try:
        return trace_to_prefix(parse_trace(trace))
    except FormulaSyntaxError:
        return trace
