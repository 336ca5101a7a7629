"""How well a checkpoint answers a data set: shares of verdicts with intervals, by length and by number of symbols."""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hf_symbinv.datasets_scripts.progress import progress_of
from hf_symbinv.errors import UserError
from hf_symbinv.evaluation.answers import (
    MAX_STREAM_TOKENS,
    Answer,
    Candidate,
    Question,
    answer_questions,
    read_question,
)
from hf_symbinv.evaluation.checkpoints import HUB_NAME, Checkpoint
from hf_symbinv.evaluation.grid import Box, Grid, aligned
from hf_symbinv.evaluation.sessions import is_random, median_session, start_session
from hf_symbinv.files import read_json
from hf_symbinv.hub.cards.facts import RECORD, largest_in_training, repository_of
from hf_symbinv.metrics.alpha_covariance import DEFAULT_LIMIT, Words, measure_alpha_covariance, once_for_all_renamings
from hf_symbinv.metrics.edit_distance import edit_distance
from hf_symbinv.metrics.intervals import mean_interval, wilson_interval
from hf_symbinv.metrics.verdicts import VERDICTS
from hf_symbinv.tasks import PAIRS, PairsTask, SymbolTask
from hf_symbinv.tasks.base import OTHERWISE
from hf_symbinv.training.scoring import score_answers

_logger = logging.getLogger(__name__)

# A data set on the Hub: OWNER/NAME, or OWNER/NAME/CONFIG for one of several.
HUB_DATA = re.compile(rf"{HUB_NAME.pattern}(/[\w.-]+)?")
# Our choice: seven bins for the paper's formulas of up to 35 nodes.
BIN = 5


class DataError(UserError):
    """A data set that is not there or does not hold what an evaluation needs."""


@dataclass(frozen=True, slots=True)
class Group:
    """Scores of the answers to questions that have something in common, which `label` says.

    Attributes:
        summary: Of the first candidates, as `score_answers` gives it.
        best_of_n: Of `n` candidates: the share of questions with a `verified` answer among them, and
            `verified_interval`, its 95 % interval. None with one candidate.
    """

    label: str
    summary: dict[str, Any]
    best_of_n: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Scores of the answers of one checkpoint to one data set.

    Attributes:
        generation: Arguments of `generate`, `num_candidates` and, for random embeddings, `embedding_seed`.
        groups: All questions; those that training has under no names, if its data are known; bins of length; numbers of
            symbols.
        decode_seconds, check_seconds: Summed over the questions.
        grid: First candidates for all questions by number of symbols and size.
        alpha_covariance: As `alpha_covariance` gives it, how it was asked for, and whether answers were `renamed`, not
            decoded; None if it was not measured.
        verified_by: What checked the answers, with its version.
        hub: Whether `data` is a name on the Hub, and no folder.
        grammar: Name of the grammar that constrained the answers while they were decoded; None if none did.
    """

    model: str
    task: str
    data: str
    split: str
    generation: dict[str, Any]
    groups: tuple[Group, ...]
    decode_seconds: float
    check_seconds: float
    grid: Grid
    alpha_covariance: dict[str, Any] | None = None
    verified_by: str = ""
    hub: bool = False
    grammar: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """As plain values that JSON can hold."""
        return {**asdict(self), "grid": self.grid.to_dict()}

    def table(self) -> str:
        """As lines of text, at most 100 columns wide."""
        total = self.groups[0].summary  # what the task's metric adds are numbers without intervals
        extra = [name for name in total if isinstance(total[name], float) and f"{name}_interval" not in total]
        share = "as in the data" if self.task == PAIRS else "verified"
        head = ["", "questions", share, "95 % interval", *_verdicts(total), *(name.replace("_", " ") for name in extra)]
        lines = [aligned([head, *(_cells(group, extra) for group in self.groups)])]
        options = ", ".join(f"{name} {value}" for name, value in self.generation.items() if name != "grammar")
        lines.insert(0, f"{self.model} on {self.data}, split {self.split}, task {self.task}; {options}")
        lines.append(f"{f'grammar {self.grammar}' if self.grammar else 'no grammar'} constrained the answers")
        if (best := self.groups[0].best_of_n) is not None:
            n = best["n"]
            right = "an answer as in the data" if self.task == PAIRS else "a verified answer"
            lines.append(f"above the first candidate counts; best of {n} counts {right} among {n} candidates")
            rows = [["", "questions", f"best of {n}", "95 % interval"]]
            for group in self.groups:
                found = group.best_of_n or {}
                cells = _share_cells(found["verified"], found["verified_interval"])
                rows.append([group.label, f"{group.summary['count']:,}", *cells])
            lines.append(aligned(rows))
        if self.alpha_covariance is not None:
            lines += _alpha_covariance_lines(self.alpha_covariance)
        return "\n".join(lines)


def _verdicts(summary: Mapping[str, Any]) -> list[str]:
    return [verdict for verdict in VERDICTS if verdict in summary]


def _cells(group: Group, extra: Sequence[str]) -> list[str]:
    summary = group.summary
    counts = [f"{round(summary[verdict] * summary['count']):,}" for verdict in _verdicts(summary)]
    more = [f"{summary[name]:.2f}" for name in extra]
    share = _share_cells(summary["accuracy"], summary["accuracy_interval"])
    return [group.label, f"{summary['count']:,}", *share, *counts, *more]


def _share_cells(share: float, interval: Sequence[float]) -> list[str]:
    low, high = interval
    return [f"{100 * share:.1f} %", f"{100 * low:.1f} - {100 * high:.1f} %"]


def _alpha_covariance_lines(measured: dict[str, Any]) -> list[str]:
    excluded = measured["excluded"]
    if measured["alpha_covariance"] is None:
        return [f"alpha-covariance: none of {excluded} questions has two renamings"]
    lines = [
        f"alpha-covariance with 95 % intervals: {_mean_text(measured)} over {measured['examples']:,} questions and "
        f"{measured['predictions']:,} answers"
    ]
    if excluded:
        lines.append(f"  without {excluded} questions that have no two renamings")
    for part in measured["by_symbols"]:
        lines.append(f"  symbols {part['symbols']}: {_mean_text(part)} over {part['examples']:,} questions")
    if measured["renamed"]:
        lines += [
            "  each question was decoded once and its answer renamed: names do not reach a model with streams;",
            "  --every-renaming decodes all renamings",
        ]
    return lines


def _mean_text(measured: dict[str, Any]) -> str:
    """A mean with its interval, which a single value does not have."""
    mean, interval = measured["alpha_covariance"], measured["interval"]
    return f"{mean:.4f}" if interval is None else f"{mean:.4f} ({interval[0]:.4f} - {interval[1]:.4f})"


def load_questions(task: SymbolTask, data: str, split: str, rows: int | None = None) -> list[Question]:
    """The first rows of a split as questions.

    Args:
        data: A folder that `symbinv data` wrote; or a data set on
            the Hub, OWNER/NAME or OWNER/NAME/CONFIG; with the columns `task.columns`. For a user's own texts also a
            file.
        split: Its name; for a user's own texts as `held_out_rows` takes it.

    Raises:
        DataError: If there is no such data set, split or column, or a row is no question of the task.
    """
    if isinstance(task, PairsTask):
        return _pairs(task, data, split, rows)
    content = _rows(data, split, rows)
    questions = []
    for index, row in enumerate(content):
        _require_columns(row, task.columns, task, data)
        text, reference = (row[column] for column in task.columns)
        try:
            questions.append(read_question(task, text, reference=reference))
        except (ValueError, TypeError) as error:
            raise DataError(f"{data}, split {split}, row {index}: {error}") from error
    if not questions:
        raise DataError(f"{data}, split {split}: has no rows")
    return questions


def _pairs(task: PairsTask, data: str, split: str, rows: int | None) -> list[Question]:
    """The questions of a user's own texts; what was left out of them is logged."""
    from hf_symbinv.datasets_scripts.pairs import held_out_rows

    found, said = held_out_rows(task, data, split)
    for line in said:
        _logger.warning(line)
    questions = []
    for row in found[:rows]:
        try:
            questions.append(read_question(task, row.question, task.notations[0], row.answer))
        except ValueError as error:
            raise DataError(f"{row.place}: {error}") from error
    return questions


def _rows(data: str, split: str, rows: int | None) -> list[dict[str, Any]]:
    from datasets import load_dataset

    from hf_symbinv.datasets_scripts.loading import refuse_folders_of_data_sets, several_data_sets
    from hf_symbinv.datasets_scripts.splits import quiet
    from hf_symbinv.datasets_scripts.storage import require_whole

    folder = Path(data)
    if folder.is_dir():
        refuse_folders_of_data_sets(folder)
        require_whole(folder)
    if not folder.is_dir() and (folder.exists() or not HUB_DATA.fullmatch(data)):
        raise DataError(
            f"{data}: no such folder; make a data set with `symbinv data`, or name one on the Hub as OWNER/NAME"
        )
    try:
        # Streamed, because the cache of `datasets` knows folders with a card by their last name only.
        with quiet():
            name, config = (str(folder), None) if folder.is_dir() else repository_of(data)
            found = load_dataset(name, config, split=split, streaming=True)
            return list(found if rows is None else found.take(rows))
    except Exception as error:  # of many types, for folders without data, unknown splits, damaged files, no network
        if several := several_data_sets(error, data):
            raise DataError(several) from error
        reason = next(iter(str(error).splitlines()), type(error).__name__).rstrip(".")
        raise DataError(
            f"{data}, split {split}: cannot be loaded ({reason}); make a data set with `symbinv data`"
        ) from error


def training_classes(task: SymbolTask, data: str) -> set[str]:
    """The questions of split `train` up to a renaming of symbols, as `task.alpha_class` writes them.

    Raises:
        DataError: If there is no such split or column.
    """
    if isinstance(task, PairsTask):
        return {task.alpha_class(question.text) for question in _pairs(task, data, "train", None)}
    column = task.columns[0]
    content = _rows(data, "train", None)
    for row in content[:1]:
        _require_columns(row, (column,), task, data)
    return {task.alpha_class(row[column]) for row in content}


def _require_columns(row: Mapping[str, Any], columns: Sequence[str], task: SymbolTask, data: str) -> None:
    """Refuses rows of another task."""
    if missing := [column for column in columns if column not in row]:
        raise DataError(
            f"{data}: has columns {', '.join(row)}; task {task.name} needs {' and '.join(missing)} too: name data of "
            "this task, or the task of these data"
        )


def evaluate_checkpoint(
    checkpoint: Checkpoint,
    questions: Sequence[Question],
    checker: Any,
    *,
    data: str,
    split: str,
    trained_on: Set[str] = frozenset(),
    embedding_seed: int | None = None,
    alpha_covariance_questions: int = 0,
    renamings: int | None = DEFAULT_LIMIT,
    alphabet: Sequence[str] | None = None,
    every_renaming: bool = False,
    num_candidates: int = 1,
    batch_size: int = 100,
    progress: bool = False,
    **generation: Any,
) -> Evaluation:
    """Answer all questions, check the answers, and count the verdicts.

    Args:
        checker: As `task.checker()` makes it.
        data, split: Names for the report.
        trained_on: As `training_classes` gives them; if any, the questions outside get a group of their own.
        embedding_seed: Of a model's random embeddings; None for the median of ten sessions.
        alpha_covariance_questions: Measure alpha-covariance on the first so many questions with each number of
            symbols; 0 to leave it out.
        renamings, every_renaming: As `alpha_covariance` takes them.
        alphabet: As well; None for the names in `questions`.
        num_candidates, batch_size, progress, generation: As `answer_questions` takes them.
    """
    session = choose_session(checkpoint, questions, embedding_seed)
    answers = answer_questions(
        checkpoint, questions, checker,
        num_candidates=num_candidates, batch_size=batch_size, progress=progress, **generation,
    )  # fmt: skip
    measured = None
    if alpha_covariance_questions:
        measured = alpha_covariance(
            checkpoint, first_of_each(questions, alpha_covariance_questions),
            alphabet=all_symbols(checkpoint.task, questions) if alphabet is None else alphabet,
            renamings=renamings, every_renaming=every_renaming, progress=progress, **generation,
        )  # fmt: skip
        measured |= {
            "per_symbols": alpha_covariance_questions,
            "renamings": renamings,
            "alphabet": None if alphabet is None else len(alphabet),
            "every_renaming": every_renaming,
            "renamed": _answers_once(checkpoint, every_renaming),
        }
    second = sum(candidate.message == OTHERWISE for answer in answers for candidate in answer.candidates)
    others = f", and of a second judge for the {second:,} answers for which it ran out of time" if second else ""
    return Evaluation(
        model=checkpoint.name,
        task=checkpoint.task.name,
        data=data,
        split=split,
        generation={**generation, "num_candidates": num_candidates, **session},
        groups=tuple(groups(checkpoint.task, questions, answers, num_candidates, trained_on)),
        decode_seconds=sum(answer.decode_seconds for answer in answers),
        check_seconds=sum(answer.check_seconds for answer in answers),
        grid=grid_of(checkpoint, data, [(q, a.candidates[0]) for q, a in zip(questions, answers, strict=True)]),
        alpha_covariance=measured,
        verified_by=checkpoint.task.solver_version() + others,
        hub=bool(HUB_DATA.fullmatch(data)) and not Path(data).is_dir(),
        grammar=grammar_of(checkpoint, generation),
    )


def groups(
    task: SymbolTask,
    questions: Sequence[Question],
    answers: Sequence[Answer],
    num_candidates: int,
    trained_on: Set[str],
) -> list[Group]:
    """The scores of the answers to all questions, and to those of like lengths and like numbers of symbols."""
    pairs = list(zip(questions, answers, strict=True))

    parts = {"all": pairs}
    if trained_on:
        novel = [pair for pair in pairs if task.alpha_class(pair[0].text) not in trained_on]
        if novel:
            parts["no renamed twin in train"] = novel
    for pair in sorted(pairs, key=lambda pair: pair[0].size):
        start = (pair[0].size - 1) // BIN * BIN
        parts.setdefault(f"length {start + 1}-{start + BIN}", []).append(pair)
    for pair in sorted(pairs, key=lambda pair: pair[0].symbols):
        parts.setdefault(f"symbols {pair[0].symbols}", []).append(pair)
    found = []
    for label, members in parts.items():
        first = [answer.candidates[0] for _, answer in members]
        verdicts, texts = [one.verdict for one in first], [one.text for one in first]
        summary = score_answers(task, verdicts, texts, [question.reference for question, _ in members])
        best = None
        if num_candidates > 1:
            verified = sum(answer.best.verified for _, answer in members)
            interval = wilson_interval(verified, len(members))
            best = {"n": num_candidates, "verified": verified / len(members), "verified_interval": interval}
        found.append(Group(label, summary, best))
    return found


def grammar_of(checkpoint: Checkpoint, generation: Mapping[str, Any]) -> str | None:
    """The name of the grammar that `generate` follows with these arguments; None if it writes freely."""
    own = getattr(checkpoint.model.generation_config, "grammar", checkpoint.model.config.grammar)
    grammar = generation.get("grammar", own)
    return None if grammar is None else str(grammar["name"])


def grid_of(checkpoint: Checkpoint, data: str, pairs: Sequence[tuple[Question, Candidate]]) -> Grid:
    """Answers by number of symbols and size, as `symbinv plot heatmap` shows them.

    Where the task's metric is the edit distance and every reference is known, cells hold edit distances.
    """
    task = checkpoint.task
    in_tokens = "formula" if max(task.token_arity.values(), default=0) == 2 else "string"
    distances = task.metric == "edit_distance" and all(question.reference is not None for question, _ in pairs)

    def value(question: Question, candidate: Candidate) -> float:
        return edit_distance(candidate.text, str(question.reference)) if distances else int(candidate.verified)

    return Grid.count(
        [(question.symbols, question.size, value(question, candidate)) for question, candidate in pairs],
        model=checkpoint.name,
        data=data,
        metric="edit_distance" if distances else "accuracy",
        questions=in_tokens if type(task).size is SymbolTask.size else "question",
        training_box=training_box(checkpoint),
    )


def training_box(checkpoint: Checkpoint) -> Box | None:
    """The largest number of symbols and the largest size in training; None if the checkpoint's run does not say."""
    if checkpoint.folder is None:
        return None
    with suppress(OSError, ValueError):  # there may be no run.json, or another program's
        record = read_json(checkpoint.folder / RECORD, "")
        largest = largest_in_training(record) if isinstance(record, dict) else None
        return None if largest is None else Box(*largest)
    return None


def choose_session(checkpoint: Checkpoint, questions: Sequence[Question], embedding_seed: int | None) -> dict[str, int]:
    """Start a session of random embeddings, `embedding_seed`'s or the median one of ten; nothing for other models."""
    if not is_random(checkpoint):
        return {}
    if embedding_seed is None:
        embedding_seed = median_session(checkpoint, questions)
    else:
        start_session(checkpoint, embedding_seed)
    return {"embedding_seed": embedding_seed}


def all_symbols(task: SymbolTask, questions: Sequence[Question]) -> list[str]:
    """The names that occur in questions, sorted."""
    return sorted({name for question in questions for name in task.symbols(question.prompt)})


def first_of_each(questions: Sequence[Question], count: int) -> list[Question]:
    """The first `count` questions with each number of symbols, or as many as there are."""
    found: dict[int, list[Question]] = {}
    for question in questions:
        found.setdefault(question.symbols, []).append(question)
    return [question for symbols in sorted(found) for question in found[symbols][:count]]


def _answers_once(checkpoint: Checkpoint, every_renaming: bool) -> bool:
    """Whether renamings of a question are the same tensors to the model, and one of them may stand for all."""
    config = checkpoint.model.config
    return config.symbol_embedding == "streams" and config.canonical_slots and not every_renaming


def alpha_covariance(
    checkpoint: Checkpoint,
    questions: Sequence[Question],
    *,
    alphabet: Sequence[str],
    renamings: int | None = DEFAULT_LIMIT,
    seed: int = 0,
    every_renaming: bool = False,
    progress: bool = False,
    **generation: Any,
) -> dict[str, Any]:
    """Alpha-covariance of a checkpoint's answers, over all questions and for each number of symbols.

    All renamings of a question are decoded in one batch where memory allows, so that they have the same shape. To a
    model with streams they are the same tensors, so it answers each question once, and its answer is renamed: the value
    is that of the theorem, which `every_renaming` puts to the test. A model with random embeddings keeps those of its
    session.

    Args:
        alphabet: Names that symbols may get, at least as many as a question has symbols.
        renamings: All renamings of a question if there are at most so many, else so many drawn by `seed`; None for all.
        every_renaming: Decode all renamings, also where the model cannot tell them apart.
        progress: Show a bar on stderr where renamings are decoded.
        generation: Arguments of `generate`.

    Returns:
        As `measure_alpha_covariance`, with the `interval` of the mean as `mean_interval` gives it, and with
        `by_symbols` for the single examples: for each number of symbols, from the smallest, `symbols`,
        `alpha_covariance`, `interval`, `examples` and the `values` of the single ones.

    Raises:
        ValueError: As `measure_alpha_covariance`.

    Source: SIT section 5.1.1; ITE Table 3 (120 renamings into 10 names).
    """
    from hf_symbinv.training.decoding import generate_answers  # torch only where it is needed

    batch_size = max(MAX_STREAM_TOKENS // max(question.size * max(question.symbols, 1) for question in questions), 1)

    task, prompts = checkpoint.task, [question.prompt for question in questions]
    taken = {*alphabet, *all_symbols(task, questions)}
    once = _answers_once(checkpoint, every_renaming)
    bar = progress_of("renamed questions", sum(q.symbols > 0 for q in questions), show=progress and not once)

    def decode(inputs: list[str]) -> list[str]:
        answers = generate_answers(checkpoint.model, checkpoint.tokenizer, inputs, batch_size=batch_size, **generation)
        bar.update()
        # New symbols get names that no renaming has: those that a model chose depend on the names of the others.
        return [task.with_new_names(text, answer[0], taken) for text, answer in zip(inputs, answers, strict=True)]

    own = None if "prefix" in task.notations else Words(task.words, task.write)
    with bar:
        measured = measure_alpha_covariance(
            once_for_all_renamings(decode, prompts, task.base_tokens, own) if once else decode,
            prompts,
            alphabet=alphabet, limit=renamings, seed=seed, base_tokens=task.base_tokens, notation=own or "prefix",
        )  # fmt: skip
    values: dict[int, list[float]] = {}
    for question, value in zip(questions, measured["per_example"], strict=True):
        if value is not None:
            values.setdefault(question.symbols, []).append(value)
    by_symbols = [
        {
            "symbols": count, "alpha_covariance": math.fsum(found) / len(found), "interval": mean_interval(found),
            "examples": len(found), "values": found,
        }
        for count, found in sorted(values.items())
    ]  # fmt: skip
    whole = {name: measured[name] for name in ("alpha_covariance", "examples", "excluded", "predictions")}
    interval = mean_interval([value for value in measured["per_example"] if value is not None])
    return {**whole, "interval": interval, "by_symbols": by_symbols}
