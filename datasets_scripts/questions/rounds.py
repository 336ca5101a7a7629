"""Drawing and solving, round by round, until every size has its rows; `builder.py` says why it is done so."""

from __future__ import annotations

import json
import math
import sys
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, islice
from pathlib import Path
from typing import Any

from hf_symbinv.datasets_scripts.errors import OptionsError, TaskFailedError, WorkFolderError
from hf_symbinv.datasets_scripts.progress import Watch
from hf_symbinv.datasets_scripts.questions.sampling import SHORT, Gate
from hf_symbinv.datasets_scripts.storage import Pair
from hf_symbinv.files import read_json, write_atomically
from hf_symbinv.solvers import Checker
from hf_symbinv.solvers.pool import Outcome, ProcessPool
from hf_symbinv.tasks import SymbolTask
from hf_symbinv.values import is_text

# Rounds in a row in which no question of a size gets an answer, after which that size counts as exhausted.
FRUITLESS_ROUNDS = 50
# So many times the limit of CPU time may pass by the clock. Our choice: both cores busy with several other programs.
WALL = 10
# Part of a size's rows that are drawn at a time once more are needed than there are rows. Our choice.
PORTION = 8
# Answers to so few of the questions make slow progress. Our choice: of propositional logic, half have one.
FEW = 0.1
NO_ANSWER = "no answer"
UNJUDGED = "answer not judged"
AGAIN = "delete the folder and start again"


@dataclass
class Harvest:
    """What became of questions that were drawn: pairs, and how many ended otherwise (no answer, timeout, error, answer
    not judged)."""

    pairs: list[Pair] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)

    def add(self, other: Harvest) -> None:
        self.pairs += other.pairs
        self.left_out += other.left_out


def quotas(task: SymbolTask, min_size: int, max_size: int, rows: int) -> dict[int, int]:
    """Rows of each size, and of all small sizes together under the key `SHORT`."""
    sizes = list(range(max(min_size, task.uniform_from), max_size + 1))
    if not sizes:
        return {SHORT: rows}
    short = int(task.short_share * rows) if min_size < task.uniform_from else 0
    each, rest = divmod(rows - short, len(sizes))
    small = {SHORT: short} if min_size < task.uniform_from else {}
    return small | {size: each + (place < rest) for place, size in enumerate(sizes)}


def most_rows(task: SymbolTask, min_size: int, max_size: int, rows: int) -> dict[int, int]:
    """Rows of each size, at most, as DeepLTL's release has them: of a short size as many as of each longer one."""
    sizes = max_size + 1 - max(min_size, task.uniform_from)
    if sizes < 1:
        raise OptionsError(
            f"max_size={max_size}: DeepLTL counts sizes from {task.uniform_from} up; ask for at least "
            f"{task.uniform_from}, or leave out like"
        )
    each = math.ceil(rows * (1 - task.short_share) / sizes)
    return dict.fromkeys(range(min_size, max_size + 1), each)


def missing_rows(quota: dict[int, int], have: Counter[int], exhausted: set[int]) -> dict[int, int]:
    """Rows to draw next; the sizes that are not exhausted stand in for those that are, large ones first."""
    surplus = sum(max(have[size] - rows, 0) for size, rows in quota.items())
    missing = {size: max(quota[size] - have[size], 0) for size in quota if size not in exhausted}
    lost = max(sum(max(quota[size] - have[size], 0) for size in exhausted) - surplus, 0)
    heirs = [size for size in missing if size != SHORT] or list(missing)
    if heirs:
        each, rest = divmod(lost, len(heirs))
        for place, size in enumerate(heirs):
            missing[size] += each + (place < rest)
    return {size: rows for size, rows in missing.items() if rows}


def missing_samples(quota: dict[int, int], have: Counter[int], exhausted: set[int]) -> dict[int, int]:
    """Rows to draw next, where no size stands in for another."""
    return {size: rows - have[size] for size, rows in quota.items() if size not in exhausted and have[size] < rows}


class Candidates:
    """The streams of candidates that a gate draws by a seed, one for each quota."""

    def __init__(self, gate: Gate, quota: dict[int, int], *seed: object) -> None:
        self.gate, self.quota, self.seed = gate, quota, seed
        self.portions = 0
        self.waiting: dict[int, deque[str]] = {key: deque() for key in quota}

    def take(self, missing: dict[int, int], most: int | None = None) -> Iterator[str]:
        """The next candidates, as many of each quota as `missing` says, or as there are; with `most` the first ones."""
        if not self.portions or most is not None:
            self.portions += 1  # all of them are wanted, so they are solved at once
            yield from self.gate.draw(
                missing, *self.seed, self.portions - 1, most=sys.maxsize if most is None else most
            )
            return
        while any(len(self.waiting[key]) < rows for key, rows in missing.items() if key not in self.gate.exhausted):
            # One at least: a size with no rows of its own may stand in for others.
            more = {
                key: max(-(-rows // PORTION), 1) for key, rows in self.quota.items() if key not in self.gate.exhausted
            }
            for question in self.gate.draw(more, *self.seed, self.portions):
                self.waiting[self.gate.quota_of(self.gate.task.size(question))].append(question)
            self.portions += 1
        for key, rows in missing.items():
            for _ in range(min(rows, len(self.waiting[key]))):
                yield self.waiting[key].popleft()


class Rounds:
    """Draws and solves until the quotas are full, round by round; finished shards stay in the folder `work`."""

    def __init__(self, gate: Gate, pool: ProcessPool, checker: Checker, work: Path, bar: Any) -> None:
        self.gate, self.pool, self.checker, self.work, self.bar = gate, pool, checker, work, bar

    def run(
        self,
        quota: dict[int, int],
        missing_after: Callable[[Counter[int], set[int]], dict[int, int]],
        name: str,
        *seed: object,
        most: int | None = None,
    ) -> Harvest:
        """Everything that was found, or the `most` pairs that were drawn first.

        `missing_after` says from the pairs that there are by quota, and the quotas that are exhausted, how many of each
        to solve next.
        """
        have, harvest, fruitless, rounds = Counter[int](), Harvest(), Counter[int](), count()
        candidates = Candidates(self.gate, quota, *seed)
        watch = Watch(FEW, "had an answer", "let draw make more that have one, or ask for fewer rows")
        while most != len(harvest.pairs) and (missing := missing_after(have, self.gate.exhausted)):
            found, number, left = Counter[int](), next(rounds), most and most - len(harvest.pairs)
            for shard in self.solve(candidates.take(missing, left), f"{name}{number:02d}"):
                harvest.add(shard)
                found.update(self.gate.quota_of(self.gate.task.size(pair.question)) for pair in shard.pairs)
            have += found
            watch.look(sum(missing.values()), found.total(), missing, self.gate.uniform_from)
            for key in missing:
                fruitless[key] = 0 if found[key] else fruitless[key] + 1
                if fruitless[key] == FRUITLESS_ROUNDS:
                    self.gate.exhausted.add(key)
        return harvest

    def solve(self, questions: Iterator[str], name: str) -> list[Harvest]:
        """Solve the questions shard by shard, and leave a file for each shard."""
        harvests: dict[int, Harvest] = {}
        waiting: deque[tuple[int, Path, list[str]]] = deque()

        def finish(index: int, harvest: Harvest) -> None:
            harvests[index] = harvest
            self.bar.update(len(harvest.pairs))

        def unsolved() -> Iterator[str]:
            for index in count():
                shard = list(islice(questions, self.gate.task.shard))
                if not shard:
                    return
                path = self.work / f"{name}-{index:06d}.json"
                if path.exists():
                    finish(index, read_shard(path, shard))
                else:
                    waiting.append((index, path, shard))
                    yield from shard

        outcomes: list[Outcome] = []
        for outcome in self.pool.map(unsolved()):
            outcomes.append(outcome)
            index, path, shard = waiting[0]
            if len(outcomes) == len(shard):
                waiting.popleft()
                entries = self.judged(shard, outcomes)
                write_atomically(path, json.dumps(entries, ensure_ascii=False))
                finish(index, harvest_of(entries))
                outcomes = []
        return [harvests[index] for index in sorted(harvests)]

    def judged(self, questions: Sequence[str], outcomes: Sequence[Outcome]) -> list[list[str]]:
        """What a shard says about each of its questions, now that all of them are solved and the answers are judged."""
        name = self.gate.task.name
        raised = [place for place, outcome in enumerate(outcomes) if outcome.traceback]
        if raised:
            first = raised[0]
            self.bar.write(outcomes[first].traceback.rstrip(), file=sys.stderr)
            raise TaskFailedError(
                f"task {name}: solve raised an exception for {len(raised):,} of {len(questions):,} questions, first "
                f"for {questions[first]!r} ({outcomes[first].value}); mend the task and repeat the command"
            )
        entries = [[question, *entry_of(outcome)] for question, outcome in zip(questions, outcomes, strict=True)]
        done = [entry for entry in entries if entry[1] == "done"]
        results = list(self.checker.check([(question, answer) for question, _, answer in done]))
        judged = list(zip(done, results, strict=True))
        failed = [one for one in judged if one[1].traceback]
        if failed:
            (question, _, answer), result = failed[0]
            raise TaskFailedError(
                f"task {name}: judge raised an exception for {len(failed):,} of {len(done):,} answers of solve, first "
                f"for {answer!r} to {question!r} ({result.message}); mend the task and repeat the command"
            )
        wrong = [one for one in judged if one[1].verdict in ("incorrect", "invalid")]
        if wrong:
            (question, _, answer), result = wrong[0]
            raise TaskFailedError(
                f"task {name}: judge calls {len(wrong):,} of {len(done):,} answers of solve wrong, first {answer!r} to "
                f"{question!r}: {result.verdict}, {result.message or 'no reason given'}; mend solve or judge and "
                "repeat the command"
            )
        for entry, result in judged:
            if result.verdict != "correct":
                entry[1:] = [UNJUDGED, ""]
        return entries


def entry_of(outcome: Outcome) -> tuple[str, str]:
    """What a shard says about a question: `done` and the answer, or why there is none."""
    if outcome.status != "done":
        return outcome.status, ""
    if outcome.value is not None and not is_text(outcome.value):
        raise TaskFailedError(f"solve returned {outcome.value!r:.200}; return a text, or None if there is no answer")
    return (NO_ANSWER, "") if outcome.value is None else ("done", outcome.value)


def harvest_of(entries: Sequence[Sequence[str]]) -> Harvest:
    pairs = [Pair(question, answer) for question, status, answer in entries if status == "done"]
    return Harvest(pairs, Counter(status for _, status, _ in entries if status != "done"))


def read_shard(path: Path, questions: Sequence[str]) -> Harvest:
    """What became of the questions of a finished shard."""
    entries = read_json(path, AGAIN, WorkFolderError)
    whole = isinstance(entries, list) and all(
        isinstance(entry, list) and len(entry) == 3 and all(isinstance(part, str) for part in entry)
        for entry in entries
    )
    if not whole or [question for question, _, _ in entries] != list(questions):
        raise WorkFolderError(f"{path}: not the questions of this data set; {AGAIN}")
    return harvest_of(entries)
