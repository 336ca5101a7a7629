"""A user's own pairs of texts: read, cut into words, split so that no renamed twin is on both sides, and counted.

    data = load_pairs({"pairs": "pairs.jsonl", "symbols": r"[a-z_]\\w*"})
    data.task, data["train"], data.said

What is left out is counted and said. What cannot be read is refused with its place.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from hf_symbinv.datasets_scripts.errors import PairsFormatError
from hf_symbinv.datasets_scripts.pair_files import SPLITS, Row, read_pairs, short
from hf_symbinv.datasets_scripts.splits import LoadedData
from hf_symbinv.errors import nearest
from hf_symbinv.files import decoded
from hf_symbinv.tasks.pairs import SPECIAL, PairsTask

# Our choice: a tenth of the questions is test, another one validation, where the data do not say.
HELD_OUT = 0.1
# The share of questions from which on a name is perhaps a word of the language; our choice.
NEARLY = 0.95
# Names that a message lists.
SHOWN = 5


@dataclass(frozen=True)
class PairsOptions:
    """What `data` of a recipe says for the task `pairs`.

    Attributes:
        pairs: A file, a folder or OWNER/NAME on the Hub.
        symbols: Regular expression of the names of symbols.
        question_column, answer_column: Names of columns; None to find them.
        base_words: Words with a fixed meaning that match `symbols`, or that shall not be cut; as a list, with commas
            between them, or the path of a text file with one on each line.
        config: Of a data set on the Hub or in a folder.
        max_tokens: Words of a question or an answer, at most; longer rows are left out.
        max_base_words: Base words, at most: the most frequent ones. Rows with others are left out.
        seed: Of the split, where the data have none.
    """

    pairs: str
    symbols: str
    question_column: str | None = None
    answer_column: str | None = None
    base_words: tuple[str, ...] | list[str] | str = ()
    config: str | None = None
    max_tokens: int = 512
    max_base_words: int = 1000
    seed: int = 0

    @classmethod
    def read(cls, options: Mapping[str, Any]) -> PairsOptions:
        """The options of a recipe.

        Raises:
            PairsFormatError: For an unknown one, one that is missing or of a wrong type.
        """
        known = list(cls.__dataclass_fields__)
        for name in options:
            if name not in known:
                near = nearest(name, known)
                hint = "" if near is None else f"did you mean data.{near}? "
                raise PairsFormatError(f"data.{name}: unknown for task pairs; {hint}use some of {', '.join(known)}")
        for name, example in (("pairs", "pairs.jsonl"), ("symbols", r"'[a-z_]\w*'")):
            if not isinstance(options.get(name), str) or not options[name]:
                raise PairsFormatError(
                    f"data.{name}={options.get(name)!r}: task pairs needs a text; give --{name} {example}, or "
                    f"data.{name} in the recipe"
                )
        for name, least in (("max_tokens", 1), ("max_base_words", 1), ("seed", 0)):
            value = options.get(name, least)
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise PairsFormatError(f"data.{name}={value!r}: must be an integer of at least {least}")
        return cls(**options)

    def words(self) -> tuple[str, ...]:
        """The base words that are listed; PairsFormatError if one is none."""
        listed = self.base_words
        if isinstance(listed, str):
            path = Path(listed)
            listed = decoded(path.read_bytes(), path, PairsFormatError).split() if path.is_file() else listed.split(",")
        words = tuple(dict.fromkeys(str(word).strip() for word in listed if str(word).strip()))
        for word in words:
            if word in SPECIAL or re.search(r"\s", word):
                raise PairsFormatError(f"base word {word!r}: is reserved or has white space; leave it out")
        return words


class Cut(NamedTuple):
    """A row, and what its words are: base words of the question are `asked`, and those of both texts `base`.

    `meaning` is the answer with the question's numbers for its symbols, the same for pairs that are renamings; `names`
    are symbols of the question, `new` those of the answer alone, and `longest` counts the words of the longer text.
    """

    row: Row
    alpha_class: str
    meaning: str
    names: tuple[str, ...]
    new: tuple[str, ...]
    base: frozenset[str]
    asked: frozenset[str]
    longest: int


def cut(row: Row, task: PairsTask) -> Cut:
    """The words of a row."""
    question, answer = (list(task.rule.words(text)) for text in (row.question, row.answer))
    for _, word, is_symbol in (*question, *answer):
        if is_symbol and re.search(r"\s", word):
            raise PairsFormatError(
                f"{row.place}: the rule {task.rule.symbol_pattern!r} takes {short(word)} as one symbol, with white "
                "space; make it narrower"
            )
    names = dict.fromkeys(word for _, word, is_symbol in question if is_symbol)
    places = {name: place for place, name in enumerate(names)}
    written = dict.fromkeys(word for _, word, is_symbol in answer if is_symbol)
    asked = frozenset(word for _, word, is_symbol in question if not is_symbol)
    return Cut(
        row,
        task.alpha_class(row.question),
        " ".join(f"\n{places[word]}" if word in places else word for _, word, _ in answer),
        tuple(names),
        tuple(word for word in written if word not in names),
        asked | {word for _, word, is_symbol in answer if not is_symbol},
        asked,
        max(len(question), len(answer)),
    )


def parts_of(alpha_classes: Iterable[str], seed: int) -> dict[str, str]:
    """The split of each question up to renaming: a function of it and the seed; none is empty if there are three."""
    digests = {one: hashlib.sha256(f"{seed}\n{one}".encode()).digest() for one in alpha_classes}
    places = {one: int.from_bytes(digest[:8], "big") / 2**64 for one, digest in digests.items()}
    found = {
        one: "test" if place < HELD_OUT else "validation" if place < 2 * HELD_OUT else "train"
        for one, place in places.items()
    }
    for split in SPLITS.values():
        if split not in found.values():
            counts = Counter(found.values())
            others = [one for one, part in found.items() if counts[part] > 1]
            if others:
                found[min(others, key=places.__getitem__)] = split
    return found


def split_pairs(splits: Mapping[str, Sequence[Cut]], seed: int) -> tuple[dict[str, list[Cut]], int]:
    """The rows of train, validation and test, and how many renamed twins were left out.

    What the data have as a split stays as it is. What they lack is held out from their training rows by `parts_of`:
    then all renamings of a question are in one split, and of those outside training the first one alone is kept.
    """
    missing = [split for split in ("validation", "test") if split not in splits]
    parts = {"train": [], **{split: list(splits.get(split, ())) for split in ("validation", "test")}}
    twins, seen = 0, set()
    drawn = parts_of(dict.fromkeys(item.alpha_class for item in splits.get("train", ())), seed)
    for item in splits.get("train", ()):
        part = drawn[item.alpha_class]
        if part not in missing:
            parts["train"].append(item)
        elif item.alpha_class in seen:
            twins += 1
        else:
            seen.add(item.alpha_class)
            parts[part].append(item)
    return parts, twins


def held_out_rows(task: PairsTask, source: str, split: str) -> tuple[list[Row], list[str]]:
    """The rows of one split, to measure a model on, and lines that say what was left out."""
    splits, _ = read_pairs(source, *(task.columns if "columns" in task.data else (None, None)))
    cuts = {name: [cut(row, task) for row in rows] for name, rows in splits.items()}
    if split not in ("train", "validation", "test", "all"):
        raise PairsFormatError(f"split {split!r}: unknown; use train, validation or test, or all for every row")
    parts = cuts if split == "all" else {split: split_pairs(cuts, int(task.data.get("seed", 0)))[0][split]}
    found = [item for part in parts.values() for item in part]
    known = frozenset(task.base_tokens)
    kept = [item.row for item in found if item.asked <= known]
    said = []
    if split != "all" and split not in splits:
        every = "`symbinv evaluate --split all` takes every row"
        said.append(f"{source}: {len(found):,} questions are in split {split}; {every}")
    words = Counter(word for item in found for word in item.asked - known)
    if not found:
        raise PairsFormatError(f"{source}, split {split}: has no question; try --split all")
    if not kept:
        raise PairsFormatError(
            f"{source}, split {split}: the model can read no question, because training had no base word "
            f"{_list(words)}; train with texts that have them, or name other data"
        )
    if words:
        said.append(
            f"{source}: {len(found) - len(kept):,} of {len(found):,} questions are left out, because training had no "
            f"base word {_list(words)}"
        )
    return kept, said


def load_pairs(options: Mapping[str, Any], source: str | None = None) -> LoadedData:
    """Reads pairs, splits them, and learns the base words from the training rows."""
    asked = PairsOptions.read({**options, **({} if source is None else {"pairs": source})})
    splits, columns = read_pairs(asked.pairs, asked.question_column, asked.answer_column, asked.config)
    known = {"columns": list(columns), "seed": asked.seed}
    draft = _draft(asked, asked.words(), known)
    cuts = {split: [cut(row, draft) for row in rows] for split, rows in splits.items()}
    _check_words(asked, draft, cuts)
    parts, twins = split_pairs(cuts, asked.seed)
    counts = Counter(rows_read=sum(map(len, cuts.values())), renamed_twins=twins)
    train = _training_rows(asked, parts["train"], counts)
    task = _learned(asked, draft, train, known)
    base = frozenset(task.base_tokens)
    final = {"train": [item for item in train if item.base <= base]}
    counts["rare_base_words"] += len(train) - len(final["train"])
    for split in ("validation", "test"):
        readable = [item for item in parts[split] if item.asked <= base]
        counts["unknown_base_words"] += len(parts[split]) - len(readable)
        final[split] = [item for item in readable if item.longest <= asked.max_tokens]
        counts["too_long"] += len(readable) - len(final[split])
    # The loss of validation needs answers that the model can write. In the test all others count as wrong.
    writable = [item for item in final["validation"] if not item.new]
    counts["new_symbols"] += len(final["validation"]) - len(writable)
    final["validation"] = [item for item in writable if item.base <= base]
    counts["unknown_base_words"] += len(writable) - len(final["validation"])
    told = _left_out(asked, counts)
    classes = {item.alpha_class for items in cuts.values() for item in items}
    for split, items in final.items():
        if not items:
            raise PairsFormatError(
                f"{asked.pairs}: {counts['rows_read']:,} rows with {len(classes):,} questions that are no renamings of "
                f"each other leave none for split {split}{told and f'; left out: {told}'}; give more such questions, "
                "or a folder with files train, validation and test"
            )
    answers = {(item.alpha_class, item.meaning) for items in cuts.values() for item in items}
    several = Counter(alpha_class for alpha_class, _ in answers)
    counts["questions_with_several_answers"] = sum(count > 1 for count in several.values())
    trained_on = {item.alpha_class for item in final["train"]}
    counts["test_questions_with_a_twin_in_train"] = sum(item.alpha_class in trained_on for item in final["test"])
    new = Counter(name for items in cuts.values() for item in items for name in item.new)
    seen = Counter(name for items in cuts.values() for item in items for name in item.names)
    everywhere = [name for name in _ranked(seen) if seen[name] >= NEARLY * counts["rows_read"]]
    builder = {name: value for name, value in asdict(asked).items() if value not in (None, (), [])}
    return LoadedData(
        _texts(final, columns),
        asked.pairs,
        {**builder, "base_words": list(draft.rule.base_words), **counts},
        task,
        _said(asked, task, final, counts, new, everywhere),
    )


def _draft(asked: PairsOptions, base_words: Sequence[str], known: Mapping[str, Any]) -> PairsTask:
    """The task before its base words are learned, which can cut texts."""
    try:
        return PairsTask(SPECIAL, asked.symbols, base_words, data=known)
    except ValueError as error:
        raise PairsFormatError(f"symbols={asked.symbols!r}: {error}") from None


def _check_words(asked: PairsOptions, task: PairsTask, cuts: Mapping[str, Sequence[Cut]]) -> None:
    """Refuses a rule that finds no symbol, or whose words depend on what stands around them."""
    first = next(item for items in cuts.values() for item in items)
    names = {name: item.row.place for items in cuts.values() for item in items for name in (*item.names, *item.new)}
    if not names:
        raise PairsFormatError(
            f"symbols={asked.symbols!r}: matches nothing in {asked.pairs}, whose first question is "
            f"{short(first.row.question)}; change the rule"
        )
    base = {word: item.row.place for items in cuts.values() for item in items for word in item.base}
    for words, is_symbol in ((names, True), (base, False)):
        for word, place in words.items():
            if [found[1:] for found in task.rule.words(word)] != [(word, is_symbol)]:
                raise PairsFormatError(
                    f"{place}: {word!r} is {'a symbol' if is_symbol else 'no symbol'} there, and read differently "
                    f"where it stands alone; let the rule {asked.symbols!r} ignore the text around a name"
                )


def _training_rows(asked: PairsOptions, rows: Sequence[Cut], counts: Counter[str]) -> list[Cut]:
    """The rows to train on; `counts` gets the others."""
    different = list({(item.row.question, item.row.answer): item for item in reversed(rows)}.values())[::-1]
    short = [item for item in different if item.longest <= asked.max_tokens]
    kept = [item for item in short if not item.new]
    counts["duplicates"] += len(rows) - len(different)
    counts["too_long"] += len(different) - len(short)
    counts["new_symbols"] += len(short) - len(kept)
    if counts["new_symbols"] > len(kept):
        new = Counter(name for item in rows for name in item.new)
        raise PairsFormatError(
            f"{asked.pairs}: {counts['new_symbols']:,} of {len(short):,} training rows have answers with symbols that "
            f"the question lacks, such as {_list(new)}. A model writes symbols of the question only; list words with a "
            "fixed meaning in --base-words"
        )
    return kept


def _learned(asked: PairsOptions, draft: PairsTask, train: Sequence[Cut], known: Mapping[str, Any]) -> PairsTask:
    """The task with the most frequent base words of the training rows."""
    words = Counter(word for item in train for word in item.base)
    names = Counter(name for item in train for name in item.names)
    return PairsTask(
        (*SPECIAL, *_ranked(words)[: asked.max_base_words]),
        draft.rule.symbol_pattern,
        draft.rule.base_words,
        spaced=any(re.search(r"\s", item.row.answer.strip()) for item in train),
        data={**known, "example": train[0].row.question if train else ""},
        names=_ranked(names),
        max_symbols=max((len(item.names) for item in train), default=0),
        # Twice the longest: questions of a later day may be larger than those of training.
        max_new_tokens=max([PairsTask.max_new_tokens, *(2 * item.longest for item in train)]),
    )


def _texts(final: Mapping[str, Sequence[Cut]], columns: tuple[str, str]) -> dict[str, Any]:
    import datasets

    return {
        split: datasets.Dataset.from_dict(
            {columns[0]: [item.row.question for item in items], columns[1]: [item.row.answer for item in items]}
        )
        for split, items in final.items()
    }


# What became of rows, in words.
_REASONS = {
    "duplicates": "the same pair again",
    "renamed_twins": "renamed twins of others in validation or test",
    "too_long": "of more than {max_tokens} words, max_tokens",
    "new_symbols": "with symbols in the answer that the question lacks",
    "rare_base_words": "with base words beyond the {max_base_words} most frequent, max_base_words",
    "unknown_base_words": "outside training with base words that training lacks",
}


def _left_out(asked: PairsOptions, counts: Mapping[str, int]) -> str:
    """How many rows were left out, and why; empty if there are none."""
    told = {name: why.format(**asdict(asked)) for name, why in _REASONS.items() if counts[name]}
    return ", ".join(f"{counts[name]:,} ({why})" for name, why in told.items())


def _said(
    asked: PairsOptions,
    task: PairsTask,
    final: Mapping[str, Sequence[Cut]],
    counts: Mapping[str, int],
    new: Counter[str],
    everywhere: Sequence[str],
) -> list[str]:
    """What to tell a user of the data."""
    question, answer = task.columns
    words = task.base_tokens[len(SPECIAL) :]
    said = [
        f"{asked.pairs}: {counts['rows_read']:,} rows, columns {question} and {answer}",
        ", ".join(f"{len(items):,} {split}" for split, items in final.items()),
        f"at most {task.max_symbols} symbols in a question, {len(task.names):,} names in all: {_list(task.names)}",
        f"{len(words):,} base words: {_list(words, 20)}",
    ]
    if everywhere:
        remedy = f"if they have a fixed meaning, give --base-words {','.join(everywhere)}"
        said.append(f"names that nearly every question has: {_list(everywhere)}; {remedy}")
    if told := _left_out(asked, counts):
        said.append(f"left out: {told}")
    if counts["new_symbols"]:
        said.append(f"symbols that the question lacks: {_list(new)}; --base-words takes those with a fixed meaning")
    if counts["questions_with_several_answers"]:
        said.append(
            f"{counts['questions_with_several_answers']:,} questions have several answers, under any names; a model "
            "gives one of them, and only that of the row counts"
        )
    if counts["test_questions_with_a_twin_in_train"]:
        said.append(
            f"{counts['test_questions_with_a_twin_in_train']:,} test questions are renamings of training questions; "
            "`symbinv evaluate --novel` counts the others apart"
        )
    if not words:
        said.append(f"warning: every word is a symbol by the rule {asked.symbols!r}, so nothing has a fixed meaning")
    return said


def _ranked(counter: Counter[str]) -> list[str]:
    """The most frequent first, and equally frequent ones in the order of the alphabet."""
    return [word for word, _ in sorted(counter.items(), key=lambda item: (-item[1], item[0]))]


def _list(words: Iterable[str], most: int = SHOWN) -> str:
    """The first words; of a counter, the most frequent."""
    ranked = _ranked(words) if isinstance(words, Counter) else list(words)
    return " ".join(ranked[:most]) + (" ..." if len(ranked) > most else "")
