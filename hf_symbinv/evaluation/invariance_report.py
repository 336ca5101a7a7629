"""How much of what a model says depends on names: texts are renamed and asked, and the answers are compared.

Read `measure_invariance`, then `Answers`, which keeps what slow models said.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hf_symbinv.datasets_scripts.progress import progress_of
from hf_symbinv.errors import UserError, first_line, in_short
from hf_symbinv.evaluation.invariant import InvariantModel, Renaming, RenamingError, SymbolRule, Symbols, ask
from hf_symbinv.files import write_atomically
from hf_symbinv.metrics.renaming_invariance import compute_renaming_invariance

# Our choice: texts that are asked together, and asked again if a slow address stops meanwhile.
AT_ONCE = 16
# Where a dictionary has its answer.
_ANSWERS = ("label", "entity_group", "entity", "generated_text", "translation_text", "summary_text", "text", "answer")


def measure_invariance(
    model: Any,
    texts: Sequence[str],
    symbols: Symbols,
    references: Sequence[str] | None = None,
    *,
    keep: Iterable[str] = (),
    names: Any = None,
    renamings: int = 16,
    answers: Path | None = None,
    name: str = "model",
    progress: bool = False,
    **options: Any,
) -> dict[str, Any]:
    """What `compute_renaming_invariance` finds: answers that change, alpha-covariance, accuracies.

    A text is asked as it is written, under random renamings, whose names are those of all texts and of the pool, and
    minified, under the pool's first names. An answer is the text, label, tags of spans, or vector that a model gives.

    Args:
        model, symbols, keep, names: As `invariant` takes them; what it returned keeps the words that it keeps.
        texts: Those without a symbol are left out.
        references: The right answer to each, for accuracies.
        renamings: Of each text, at most; all differ.
        answers: A file that keeps each result; a call that was stopped goes on from there.
        name: Of the model and its settings, by which the file is known again.
        progress: Whether progress is shown.
        options: Of the model's call.

    Raises:
        RenamingError: If no text has a symbol, the model fails, or the file is another model's; and as `invariant`.
    """
    rule = SymbolRule(symbols, keep or (model.rule.keep if isinstance(model, InvariantModel) else ()))
    for which, given in (("texts", texts), ("references", references)):
        if isinstance(given, str):
            raise RenamingError(f"{which}={in_short(given)}: must be a list of texts; put it in brackets")
    if references is not None and len(references) != len(texts):
        raise RenamingError(f"{len(references)} references for {len(texts)} texts: give one for each")
    wrapped, asked = InvariantModel(model, rule, names), Answers(model, answers, name, options)
    own = {row: found for row, text in enumerate(texts) if (found := rule.symbols_of(text))}
    if not own:
        shown = ", ".join(in_short(text, 60) for text in texts[:2])
        raise RenamingError(f"{rule.said}: matches nothing in {len(texts)} texts, {shown}; match the names in them")
    pools = {kind: dict[str, None]() for kind in wrapped.names}
    for kind, old in (symbol for found in own.values() for symbol in found):
        pools.setdefault(kind if len(pools) > 1 else next(iter(pools)), {})[old] = None
    # Names of the data, and about as many as there are letters.
    drawn = {kind: [*(pool | dict.fromkeys(wrapped.names.get(kind, ())[:26]))] for kind, pool in pools.items()}
    moved = [[*_renamed(wrapped, texts[row], drawn, renamings), wrapped.canonical(texts[row])] for row in own]
    asked.ask((one.new for row in moved for one in row), progress)
    said = [[answer_of(one.back(asked.known[one.new])) for one in row] for row in moved]
    report = compute_renaming_invariance(
        [row[:-1] for row in said],
        None if references is None else [" ".join(references[row].split()) for row in own],
        [row[-1] for row in said],
        [len(found) for found in own.values()],
    )
    different = len({answer for row in said for answer in row[:-1]})
    return {"model": name, **report, "without_symbols": len(texts) - len(own), "different_answers": different}


def _renamed(model: InvariantModel, text: str, pools: Mapping[str, Sequence[str]], count: int) -> list[Renaming]:
    """The text as it is, and different renamings of it; fewer if there are not so many."""
    names = {symbol: symbol[1] for symbol in model.rule.symbols_of(text)}
    found = {text: Renaming(model.rule, text, names, model.spare)}
    generator, available = random.Random(text), model.available(text, pools)
    for _ in range(20 * count):
        if len(found) <= count:
            one = model.renaming(text, {kind: generator.sample(pool, len(pool)) for kind, pool in available.items()})
            found.setdefault(one.new, one)
    if len(found) < 2:
        raise RenamingError(f"{in_short(text)}: no text has other names for its symbols; give names=[...] with more")
    return list(found.values())


def answer_of(result: Any) -> str:
    """The answer in a result, as a text in which white space does not count; vectors are rounded to four digits."""
    if isinstance(result, Mapping):
        return answer_of(next((result[key] for key in _ANSWERS if key in result), [*result.values()]))
    if isinstance(result, list) and result and isinstance(result[0], (Mapping, str)):
        if isinstance(result[0], Mapping) and "start" in result[0]:
            return json.dumps([[answer_of(item), item["start"], item["end"]] for item in result])
        return answer_of(result[0])
    return " ".join(result.split()) if isinstance(result, str) else json.dumps(_rounded(result))


def _rounded(value: Any) -> Any:
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return round(value, 4) if isinstance(value, float) else value


class Answers:
    """What a model says to texts, `known`, kept in a file line by line, so that it is asked nothing twice.

    Raises:
        RenamingError: If the file holds answers of another model, or something else.
    """

    def __init__(self, model: Any, path: Path | None, name: str, options: Mapping[str, Any]) -> None:
        self.model, self.path, self.options, self.known = model, path, options, dict[str, Any]()
        if path is None:
            return
        settings = {"model": name, "task": getattr(model, "task", None), "options": _plain(options)}
        head = json.dumps(settings, default=str)
        try:
            first, *lines = (path.read_text(encoding="utf-8") if path.exists() else "").split("\n")
            lines = lines[:-1]  # what stands behind the last line break was not finished
            self.known = dict(map(json.loads, lines))
        except (ValueError, TypeError):
            first = "damaged"
        if first not in ("", head):
            raise RenamingError(f"{path}: holds no answers of {in_short(head)}; name another file, or remove it")
        write_atomically(path, "\n".join([head, *lines, ""]))

    def ask(self, texts: Iterable[str], progress: bool = False) -> None:
        """Makes the results for texts known."""
        new = [text for text in dict.fromkeys(texts) if text not in self.known]
        with progress_of("answers", len(new), show=progress) as bar:
            for start in range(0, len(new), AT_ONCE):
                part = new[start : start + AT_ONCE]
                try:
                    found = _plain(ask(self.model, part, self.options))
                except UserError:
                    raise
                except Exception as error:  # of the user's function, such as an address that cannot be reached
                    kept = f"{self.path} keeps {len(self.known)} answers" if self.path else "no file keeps answers"
                    told = f"{type(error).__name__}: {first_line(error)}"
                    raise RenamingError(
                        f"the model failed ({told}); {kept}; mend it, and repeat the command"
                    ) from error
                self.known |= zip(part, found, strict=True)
                if self.path is not None:
                    with self.path.open("a", encoding="utf-8") as file:
                        file.writelines(f"{json.dumps(pair)}\n" for pair in zip(part, found, strict=True))
                bar.update(len(part))


def _plain(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value.tolist() if hasattr(value, "tolist") else value


__all__ = ["Answers", "answer_of", "measure_invariance"]
