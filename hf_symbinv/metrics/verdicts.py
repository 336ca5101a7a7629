"""Counting verdicts: the share of each, with Wilson's 95 % intervals.

Verdicts exclude each other: `exact` (the reference itself), `correct` (another right answer), `incorrect`, `invalid`
(no answer at all), `timeout` and `error` (not decided). Papers count `exact` as correct too: that is `accuracy`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, get_args

from hf_symbinv.logic import FormulaSyntaxError
from hf_symbinv.metrics.intervals import wilson_interval
from hf_symbinv.metrics.notations import AnswerKind, NotationError, answer_in_prefix, formulas_in_prefix
from hf_symbinv.solvers import Checker, Verdict

VERDICTS: tuple[str, ...] = get_args(Verdict)


def summarize_verdicts(verdicts: Iterable[str]) -> dict[str, Any]:
    """Share of each verdict with its 95 % interval.

    Returns:
        `count`; `accuracy`, the share of `exact` and `correct` together; each verdict's share under its name; and for
        each of these shares its interval `[low, high]` under the name with `_interval` appended.

    Raises:
        ValueError: If there are no verdicts, or one is unknown.
    """
    counts = dict.fromkeys(VERDICTS, 0)
    for verdict in verdicts:
        if verdict not in counts:
            raise ValueError(f"verdict {verdict!r}: unknown; use one of {' '.join(VERDICTS)}")
        counts[verdict] += 1
    count = sum(counts.values())
    if not count:
        raise ValueError("no predictions: a share needs at least one")
    summary: dict[str, Any] = {"count": count}
    for name, number in {"accuracy": counts["exact"] + counts["correct"], **counts}.items():
        summary[name] = number / count
        summary[f"{name}_interval"] = list(wilson_interval(number, count))
    return summary


def compute_verdicts(
    judge: Callable[..., Checker],
    kind: AnswerKind,
    predictions: Sequence[str],
    formulas: Sequence[str],
    references: Sequence[str | None] | None = None,
    *,
    timeout: float = 10.0,
    workers: int | None = None,
    progress: bool = False,
    notation: str = "auto",
    details: bool = False,
) -> dict[str, Any]:
    """Have every predicted answer judged, and count the verdicts.

    Args:
        judge: Makes a checker of pairs in prefix notation, with `workers` and `timeout`.
        predictions, formulas: Answers and as many formulas in prefix or infix notation, each in its own.
        references: As many known answers, or None where there is none; without them no verdict is `exact`.
        timeout: Hard limit for one check in seconds.
        workers: Number of processes; None takes one for each core.
        notation: `prefix`, `infix` or `lbt` (formulas only) if all texts are in it; `auto` for the rule of
            `hf_symbinv.metrics.notations`.
        details: Add the lists `verdicts` and `messages`, which say why a prediction is not correct.

    Raises:
        NotationError: If a formula or a reference cannot be read, or nothing says in which notation it is.
        ValueError: If the numbers of predictions, formulas and references differ or are 0.
        ImportError: If the solver is not installed.
    """
    for name, column in (("formulas", formulas), ("references", references)):
        if column is not None and len(column) != len(predictions):
            raise ValueError(f"{len(predictions)} predictions, {len(column)} {name}: must be equal")
    asked = formulas_in_prefix(formulas, predictions, kind, notation)
    known = [_reference(row, text, kind) for row, text in enumerate(references or [None] * len(predictions))]
    verdicts, messages = ["invalid"] * len(predictions), [""] * len(predictions)
    pairs: dict[int, tuple[str, str]] = {}
    for row, prediction in enumerate(predictions):
        try:
            pairs[row] = asked[row], answer_in_prefix(prediction, kind, notation)
        except NotationError as error:
            raise NotationError(f"predictions[{row}]={error}") from None
        except FormulaSyntaxError as error:
            messages[row] = str(error)
    with judge(workers=workers, timeout=timeout) as checker:
        results = checker.check(list(pairs.values()), [known[row] for row in pairs], progress=progress)
        for row, result in zip(pairs, results, strict=True):
            verdicts[row], messages[row] = result.verdict, result.message
    summary = summarize_verdicts(verdicts)
    return {**summary, "verdicts": verdicts, "messages": messages} if details else summary


def _reference(row: int, text: str | None, kind: AnswerKind) -> str | None:
    """A known answer in prefix notation."""
    if text is None:
        return None
    try:
        return kind.to_prefix(text)
    except FormulaSyntaxError as error:
        raise NotationError(
            f"references[{row}]={text!r}: is no {kind.name} ({error}); give None where none is known"
        ) from None
