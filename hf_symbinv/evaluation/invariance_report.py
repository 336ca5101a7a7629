"""How much of what a model says depends on names: texts are renamed, asked, and their answers compared.

Read `measure_invariance`, then `Answers`, which keeps what slow models said, and `load_text_model`.
"""

from __future__ import annotations

import json
import random
import runpy
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from transformers import AutoConfig, AutoModelForSeq2SeqLM, AutoTokenizer, pipeline

from hf_symbinv.datasets_scripts.pairs import COLUMNS, cell_of, rows_of_file
from hf_symbinv.datasets_scripts.progress import progress_of
from hf_symbinv.errors import first_line, in_short, nearest
from hf_symbinv.evaluation.invariant import InvariantModel, Renaming, RenamingError, Rule, SymbolRule, answers_of
from hf_symbinv.files import write_atomically
from hf_symbinv.metrics.renaming_invariance import compute_renaming_invariance
from hf_symbinv.remote import local_copy

# Our choice: texts that are asked together, and lost when a slow address stops.
AT_ONCE = 16
# End of the name of an architecture -> task of a pipeline; `text2text` has none in transformers 5.
TASKS = {
    "ForSequenceClassification": "text-classification", "ForTokenClassification": "token-classification",
    "ForCausalLM": "text-generation", "LMHeadModel": "text-generation", "ForConditionalGeneration": "text2text",
}  # fmt: skip
# Where the answer stands in a dictionary.
_ANSWERS = ("label", "entity_group", "entity", "generated_text", "translation_text", "summary_text", "text", "answer")


class Answers:
    """What a model said to texts, kept in a file line by line, so that nothing is asked twice.

    Args:
        model: Callable from a list of texts to a list of results.
        path: Of the file; None to keep nothing.
        name: Of the model with its settings, which the file holds.
        options: Of the model's call.

    Raises:
        RenamingError: If the file holds answers of another model, or none.
    """

    def __init__(self, model: Any, path: Path | None = None, name: str = "", **options: Any) -> None:
        self.model, self.path, self.options, self.known = model, path, options, dict[str, Any]()
        if path is None:
            return
        head = json.dumps({"model": name})
        lines = path.read_text(encoding="utf-8").split("\n") if path.exists() else []
        if lines and lines[0] != head:
            raise RenamingError(f"{path}: holds no answers of {name}; name another file, or remove it")
        whole = [line for line in lines[1:-1] if line]  # what stands behind the last line break was not finished
        self.known = {text: result for text, result in map(json.loads, whole)}
        write_atomically(path, "\n".join([head, *whole, ""]))

    def ask(self, texts: Iterable[str], progress: bool = False) -> dict[str, Any]:
        """Text → result, for each of the texts; those that are new are asked, `AT_ONCE` at a time.

        Raises:
            RenamingError: If the model fails, or returns another number of results.
        """
        new = [text for text in dict.fromkeys(texts) if text not in self.known]
        with progress_of("answers", len(new), show=progress) as bar:
            for start in range(0, len(new), AT_ONCE):
                part = new[start : start + AT_ONCE]
                try:
                    found = [_plain(result) for result in answers_of(self.model, part, **self.options)]
                except (OSError, RuntimeError) as error:  # an address that cannot be reached, a model out of memory
                    kept = f"{self.path} keeps the {len(self.known)} answers before; " if self.path else ""
                    raise RenamingError(
                        f"the model failed ({first_line(error)}); {kept}repeat the command"
                        + (" to go on" if self.path else ", and keep answers in a file to go on from there")
                    ) from error
                self.known |= zip(part, found, strict=True)
                if self.path is not None:
                    with self.path.open("a", encoding="utf-8") as file:
                        file.writelines(f"{json.dumps(pair)}\n" for pair in zip(part, found, strict=True))
                bar.update(len(part))
        return self.known


def measure_invariance(
    model: Any,
    texts: Sequence[str],
    symbols: Rule | SymbolRule,
    references: Sequence[str] | None = None,
    *,
    renamings: int = 16,
    names: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
    keep: Iterable[str] = (),
    seed: int = 0,
    answers: Path | None = None,
    name: str = "",
    progress: bool = False,
    **options: Any,
) -> dict[str, Any]:
    """What `compute_renaming_invariance` finds for a model: answers that change, alpha-covariance, accuracies.

    A text is asked as written, under `renamings` random renamings, whose names are those of all texts and of the pool,
    and minified, with the first names of the pool. An answer is the text or label that the model gives, the tags of
    spans, or a vector to four digits.

    Args:
        model, symbols, names, keep: As `invariant` takes them.
        texts: At least one of them with a symbol; those without are left out.
        references: The right answer to each, whose accuracy is wanted.
        renamings: Of each text, at most; all are different.
        seed: Of the renamings.
        answers: A file that keeps every result; a call that was stopped goes on from there.
        name: Of the model with its settings, which the file holds.
        progress: Whether a bar is shown.
        options: Of the model's call.

    Returns:
        As `compute_renaming_invariance`, with `without_symbols`, the number of texts that were left out.

    Raises:
        RenamingError: If no text has a symbol, and as `invariant` and `Answers` do.
    """
    rule = symbols if isinstance(symbols, SymbolRule) else SymbolRule(symbols, keep)
    named, asked = InvariantModel(model, rule, names), Answers(model, answers, name, **options)
    numbers = [len(rule.symbols_of(text)) for text in texts]
    rows = [row for row, number in enumerate(numbers) if number]
    if not rows:
        raise RenamingError(
            f"symbols={in_short(rule.symbols)}: matches nothing in {len(texts)} texts, such as "
            f"{in_short(next(iter(texts), ''), 60)}; write a rule that matches their names"
        )
    pools: dict[str, list[str]] = {kind: [] for kind in named.names}
    for kind, own in dict.fromkeys(symbol for row in rows for symbol in rule.symbols_of(texts[row])):
        pools[kind if kind in pools else next(iter(pools))].append(own)
    pools = {kind: list(dict.fromkeys([*own, *named.names[kind][:26]])) for kind, own in pools.items()}
    moved = [[*_renamed(named, texts[row], pools, renamings, seed), named.canonical(texts[row])] for row in rows]
    results = asked.ask((one.new for all_ in moved for one in all_), progress)
    found = [[answer_of(one.back(results[one.new])) for one in all_] for all_ in moved]
    known = None if references is None else [" ".join(references[row].split()) for row in rows]
    report = compute_renaming_invariance(
        [own[:-1] for own in found], known, [own[-1] for own in found], [numbers[row] for row in rows]
    )
    return {**report, "without_symbols": len(texts) - len(rows)}


def _renamed(
    named: InvariantModel, text: str, pools: Mapping[str, Sequence[str]], count: int, seed: int
) -> list[Renaming]:
    """The text as it is, and different renamings of it; fewer if there are not as many."""
    symbols = named.rule.symbols_of(text)
    found = {text: Renaming(named.rule, text, {symbol: symbol[1] for symbol in symbols})}
    generator = random.Random(f"{seed} {text}")
    available = named.available(text, pools)
    for _ in range(20 * count):
        if len(found) > count:
            break
        drawn = {kind: generator.sample(pool, len(pool)) for kind, pool in available.items()}
        one = named.renaming(text, drawn)
        found.setdefault(one.new, one)
    return list(found.values())


def answer_of(result: Any) -> str:
    """The answer in a result, as a text in which white space does not count: see `measure_invariance`."""
    if isinstance(result, list) and result and all(isinstance(item, Mapping) and "start" in item for item in result):
        return json.dumps([[answer_of(item), item["start"], item["end"]] for item in result])
    if isinstance(result, Mapping):
        return answer_of(next((result[key] for key in _ANSWERS if key in result), list(result.values())))
    if isinstance(result, list) and result and isinstance(result[0], (Mapping, str)):
        return answer_of(result[0])
    if isinstance(result, str):
        return " ".join(result.split())
    return json.dumps(_rounded(result))


def _rounded(value: Any) -> Any:
    return [_rounded(item) for item in value] if isinstance(value, list) else round(value, 4) if value else value


def _plain(result: Any) -> Any:
    """A result as JSON has it."""
    if isinstance(result, Mapping):
        return {str(key): _plain(value) for key, value in result.items()}
    if isinstance(result, (list, tuple)):
        return [_plain(item) for item in result]
    return result.tolist() if hasattr(result, "tolist") else result


def read_texts(data: str, column: str | None = None, reference: str | None = None) -> tuple[list[str], list[str]]:
    """The texts in a column of a file, and those in the column of references; none without one.

    Args:
        data: A file of JSON lines, JSON, CSV, TSV or Parquet, here or at an address.
        column: Its name; None for `text` or the first of a pair such as `question` and `answer`.
        reference: Name of the other one.

    Raises:
        UserError: If there is no such column, or a cell holds no text.
    """
    rows = list(rows_of_file(local_copy(data)))
    names = list(rows[0][1]) if rows else []
    column = column or next((one for one in ("text", *(pair[0] for pair in COLUMNS)) if one in names), None)
    for option, name in (("column", column), ("reference", reference)):
        if name not in names and (name is not None or option == "column"):
            near = "" if name is None or nearest(name, names) is None else f"; did you mean {nearest(name, names)!r}?"
            raise RenamingError(
                f"{data}: has the columns {', '.join(names) or 'of no row'}; say with --{option} which one to take{near}"
            )
    texts = [[cell_of(place, row, name) for place, row in rows] for name in (column, reference) if name is not None]
    return texts[0], texts[1] if len(texts) > 1 else []


def load_text_model(name: str, task: str | None = None) -> Callable[..., list[Any]]:
    """A callable from texts to results: a pipeline, or for encoder-decoders and files of Python what stands in for one.

    Args:
        name: A folder or OWNER/NAME on the Hub; or `FILE.py:NAME`, a function in a file.
        task: Of `transformers.pipeline`, or `text2text`; None for what the model's architecture says.

    Raises:
        RenamingError: If the function cannot be loaded, or nothing says the task.
    """
    path, _, function = name.rpartition(":")
    if path.endswith(".py"):
        try:
            return runpy.run_path(path)[function]  # type: ignore[no-any-return]
        except (Exception, SystemExit) as error:  # whatever a user's file raises
            told = f"{type(error).__name__}: {first_line(error)}"
            raise RenamingError(f"{name}: cannot be loaded ({told}); name a function of it, FILE.py:NAME") from error
    if task is None:
        architectures = AutoConfig.from_pretrained(name).architectures or [""]
        task = next((task for end, task in TASKS.items() if architectures[0].endswith(end)), None)
        if task is None:
            raise RenamingError(
                f"{name}: its architecture {architectures[0]!r} does not say its task; give --task feature-extraction, "
                f"or one of {', '.join(dict.fromkeys(TASKS.values()))}"
            )
    if task != "text2text":
        return pipeline(task, model=name)  # type: ignore[no-any-return, call-overload]
    tokenizer, model = AutoTokenizer.from_pretrained(name), AutoModelForSeq2SeqLM.from_pretrained(name).eval()

    def answer(texts: list[str], **options: Any) -> list[str]:
        batches = (tokenizer(text, return_tensors="pt") for text in texts)  # one by one: padding changes last bits
        ids = [model.generate(**batch, **options)[0] for batch in batches]
        return [tokenizer.decode(row, skip_special_tokens=True) for row in ids]

    answer.tokenizer = tokenizer  # type: ignore[attr-defined]
    return answer
