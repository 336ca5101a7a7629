"""Verdicts on many (question, answer) pairs, from a judge in a pool of processes."""

from __future__ import annotations

import logging
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sized
from contextlib import closing
from functools import partial
from typing import Any, Literal, NamedTuple

from hf_symbinv.errors import in_short
from hf_symbinv.solvers.ltl import judge as judge_ltl
from hf_symbinv.solvers.ltl import load_spot, normalized_trace
from hf_symbinv.solvers.pool import MEMORY, Outcome, ProcessPool

Verdict = Literal["exact", "correct", "incorrect", "invalid", "timeout", "error"]
# What a judge may say; a checker knows the others.
JUDGED = ("correct", "incorrect", "invalid")
# The message of a verdict that is not the judge's.
OTHERWISE = "the judge ran out of time, and a second judge says so"

_logger = logging.getLogger(__name__)


class CheckResult(NamedTuple):
    """The verdict on one pair.

    Args:
        verdict: `exact` (correct, and the reference itself), `correct`, `incorrect`, `invalid` (no answer at all),
            `timeout` (the hard limit was reached, and no second judge could tell) or `error` (the question cannot be
            read, or the solver failed).
        seconds: Wall-clock time of the check.
        message: Why the verdict is what it is; empty for `exact` and `correct`; `OTHERWISE` if a second judge gave it.
        traceback: Of the exception that the judge raised; empty for everything else.
    """

    verdict: Verdict
    seconds: float
    message: str
    traceback: str = ""


class Checker:
    """Checks answers to questions: traces against formulas of linear temporal logic, unless it is told otherwise.

        with Checker(timeout=10.0) as checker:
            for result in checker.check([("Uab", "a;{b}"), ("Uab", "{a}")]):
                print(result.verdict)

    Worker processes are kept from one check to the next. The first is started at once, and shows that `initializer`
    keeps to the limits of time and memory. The first exception of the judge is logged with its traceback, the others
    are counted (see `failures`).

    Attributes:
        failures: Pairs for which the judge raised an exception.

    Args:
        judge: Takes question and answer and returns the verdict `correct`, `incorrect` or `invalid` and a message;
            defined at the top level of an importable module, or a method of an object that other processes can import.
        otherwise: A second judge, asked in this process where the first one ran out of time. It returns a verdict, or
            None if it cannot tell, and it always ends soon.
        normalized: Makes a text of a question and an answer that answers share if they count as the same.
        initializer: Loads what `judge` needs, once per worker process.
        workers: Number of processes, None for one per available core.
        timeout: Hard limit for one pair in seconds.
        memory, wall: Limits for one pair, as `ProcessPool` takes them.

    Raises:
        ImportError: If a solver is not installed (raised by `initializer`).
        PoolError: If `initializer` raises another exception in a process, or takes too long or too much memory there.
        ValueError: If `workers` or `timeout` is not positive, or other processes cannot import `judge`.
    """

    def __init__(
        self,
        judge: Callable[[str, str], tuple[str, str]] = judge_ltl,
        *,
        otherwise: Callable[[str, str], Verdict | None] = lambda question, answer: None,
        normalized: Callable[[str, str], str] = lambda _, trace: normalized_trace(trace),
        initializer: Callable[[], object] = load_spot,
        workers: int | None = None,
        timeout: float = 10.0,
        memory: float = MEMORY,
        wall: float | None = None,
    ) -> None:
        self.failures = 0
        self._otherwise, self._normalized = otherwise, normalized
        self._pool = ProcessPool(
            partial(_judge_pair, judge),
            workers=workers,
            timeout=timeout,
            initializer=initializer,
            memory=memory,
            wall=wall,
        )
        self._pool.warm_up()

    def __enter__(self) -> Checker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the worker processes."""
        self._pool.close()

    def complaint(self) -> str | None:
        """A sentence on the exceptions of the judge; None if there were none."""
        if not self.failures:
            return None
        pairs = "1 answer" if self.failures == 1 else f"{self.failures:,} answers"
        return (
            f"the judge raised an exception for {pairs}, with the verdict error; see the traceback of the first, and "
            "mend the task"
        )

    def check(
        self,
        pairs: Iterable[tuple[str, str]],
        references: Iterable[str | None] | None = None,
        progress: bool = False,
    ) -> Generator[CheckResult, None, None]:
        """Yield a result for every pair, in order, while later ones are being computed.

        Args:
            pairs: Question and answer, both in prefix notation. They are read as they are needed.
            references: For every pair a known answer in prefix notation, or None; ValueError if they are not as many.
            progress: Show a progress bar on stderr.
        """
        known: deque[tuple[str, str, str | None]] = deque()

        def items() -> Iterator[tuple[str, str]]:
            if references is None:
                for pair in pairs:
                    known.append((*pair, None))
                    yield pair
            else:
                for pair, reference in zip(pairs, references, strict=True):
                    known.append((*pair, reference))
                    yield pair

        from tqdm import tqdm  # here, because workers import this module too

        total = len(pairs) if isinstance(pairs, Sized) else None
        with (
            tqdm(total=total, desc="verify", unit=" pairs", file=sys.stderr, disable=not progress) as bar,
            closing(self._pool.map(items())) as outcomes,
        ):
            for outcome in outcomes:
                bar.update()
                result = self._result(outcome, *known.popleft())
                if result.traceback:
                    self.failures += 1
                    if self.failures == 1:
                        _logger.error("the judge raised an exception:\n%s", result.traceback.rstrip())
                yield result

    def _result(self, outcome: Outcome, question: str, answer: str, reference: str | None) -> CheckResult:
        """The result for an answer, given what became of `judge`."""
        if outcome.status == "timeout" and (second := self._otherwise(question, answer)) is not None:
            verdict, message = second, OTHERWISE
        elif outcome.status != "done":
            return CheckResult(outcome.status, outcome.seconds, outcome.value, outcome.traceback)
        else:
            verdict, message = outcome.value
        if (
            verdict == "correct"
            and reference is not None
            and (answer == reference or self._normalized(question, answer) == self._normalized(question, reference))
        ):
            verdict = "exact"
        return CheckResult(verdict, outcome.seconds, message)


def _judge_pair(judge: Callable[[str, str], tuple[str, str]], pair: tuple[str, str]) -> tuple[str, str]:
    """`judge` for a question and answer that travel as one item."""
    question, answer = pair
    verdict: Any = judge(question, answer)
    if not (isinstance(verdict, tuple) and len(verdict) == 2 and verdict[0] in JUDGED and isinstance(verdict[1], str)):
        raise TypeError(
            f"judge({question!r}, {answer!r}) returned {in_short(verdict)}; return a verdict, one of "
            f"{', '.join(JUDGED)}, and a message"
        )
    return verdict
