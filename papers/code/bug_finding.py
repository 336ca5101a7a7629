"""Find bugs in Python: functions of real files, half of which got one, with a tokenizer for them.

    python -m papers.code.bug_finding --bug misuse --source sources/ --output data/misuse

    config = BugFindingConfig(source="sources/", bug="misuse")
    prepare(config, Path("data/misuse"))
    rows = load_bugs(Path("data/misuse"))["train"]
    tokenizer = AutoTokenizer.from_pretrained("data/misuse", trust_remote_code=True)
    batch = tokenizer(rows[:8]["text"], spans=[spans(symbols) for symbols in rows[:8]["symbols"]])

A source is what `harness.corpora.documents` reads: a file of documents, a folder, whose files with the ending .py
are taken, a data set on the Hub, or the Python standard library. All functions of a file are in one split, and no
function is a near copy of another; `bugs.py` says what is put into them, `duplicates.py` what a near copy is.
"""

from __future__ import annotations

import random
import shlex
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import datasets
import numpy as np

from hf_symbinv.datasets_scripts.errors import refuse
from hf_symbinv.datasets_scripts.folders import claimed
from hf_symbinv.datasets_scripts.progress import progress_of
from hf_symbinv.datasets_scripts.storage import SPLITS, drawn_split
from hf_symbinv.errors import UserError
from hf_symbinv.hub.cards.dataset import UNKNOWN
from hf_symbinv.modeling.subwords_symbinv import SymbolInvariantSubwordTokenizer
from papers.code.bugs import BUGS, Row
from papers.code.duplicates import originals
from papers.code.functions import Function, Reason, read_functions
from papers.harness.corpora import STANDARD_LIBRARY, documents
from papers.harness.options import options_parser
from papers.harness.publishing import About, publish_rows

# What stands for something else in the tokenizer: symbols, and the beginning, padding and end of a text.
_RESERVED = ("\ufdd0", "\ufdd1", "<s>", "<pad>", "</s>")
# Texts that are encoded at once.
_AT_ONCE = 500


class CodeError(UserError):
    """Python code that leaves no functions for a data set, or options that make none."""


@dataclass(frozen=True)
class BugFindingConfig:
    """What determines a data set.

    Args:
        source: As `lexinvariant.characters.CorpusConfig.source`.
        bug: `misuse` or `exchange`, see `bugs.BUGS`.
        min_variables: Functions with fewer are left out.
        max_tokens: Functions with more are left out, the end of the text counted.
        vocab_size: Base tokens of the tokenizer, at most.
        share: From which share of common runs of tokens on a function is a copy of another.
        seed: Of the splits and of the bugs.
        license: The Hub's name of the source's licence.

    Raises:
        CodeError: For a value out of range.
    """

    source: str = STANDARD_LIBRARY
    bug: str = "misuse"
    min_variables: int = 2
    max_tokens: int = 512
    vocab_size: int = 4096
    share: float = 0.8
    seed: int = 0
    license: str = UNKNOWN

    def __post_init__(self) -> None:
        if self.bug not in BUGS:
            raise CodeError(f"bug={self.bug!r}: unknown; use one of {', '.join(BUGS)}")
        if self.min_variables < 2:
            raise CodeError(f"min_variables={self.min_variables}: a bug needs at least 2")
        if self.max_tokens < 2:
            raise CodeError(f"max_tokens={self.max_tokens}: must be at least 2")
        if self.vocab_size < 260:
            raise CodeError(f"vocab_size={self.vocab_size}: 256 bytes and special tokens need at least 260")
        if not 0 < self.share <= 1:
            raise CodeError(f"share={self.share}: must be above 0 and at most 1")


@dataclass
class Corpus:
    """The functions of a source.

    Attributes:
        splits: Split → functions that a bug can be put into, in the order of the source.
        tokenizer: Learnt from all functions of train, but for copies.
        counts: What there was, and what was left out why, in words.
    """

    splits: dict[str, list[Function]]
    tokenizer: SymbolInvariantSubwordTokenizer
    counts: dict[str, int]


def python_files(source: str) -> Iterator[tuple[str, str]]:
    """Name and text of each Python file of a source."""
    is_folder = Path(source).expanduser().is_dir()
    return ((name, text) for name, text in documents(source) if name.endswith(".py") or not is_folder)


def read_corpus(config: BugFindingConfig) -> Corpus:
    """Reads the functions of a source, leaves out copies, and learns a tokenizer.

    Raises:
        CodeError: If no function is left for a split.
        CorpusError: If there is no such source.
    """
    functions, found, reasons = list[Function](), Counter[str](), Counter[str]()
    with progress_of("files") as progress:
        for name, text in python_files(config.source):
            given, skipped = read_functions(text, name)
            found.update({"files": 1, "functions": len(given) + sum(bool(one.name) for one in skipped)})
            reasons.update(one.reason for one in skipped)
            functions += given
            progress.update(1)
    left_out = {f"left out, as {reason}": reasons[reason] for reason in Reason if reasons[reason]}
    several = [one for one in functions if len(one.variables) >= config.min_variables]
    left_out[f"left out, with fewer than {config.min_variables} variables"] = len(functions) - len(several)
    usable = [one for one in several if not any(text in one.text for text in _RESERVED)]
    left_out["left out, with a text that the tokenizer reserves, as '<s>'"] = len(several) - len(usable)
    distinct, copies = originals(usable, config.share)
    left_out |= {f"left out, as {what}": number for what, number in copies.items()}
    splits: dict[str, list[Function]] = {split: [] for split in SPLITS}
    for function in distinct:
        splits[drawn_split(f"{config.seed} {function.file}")].append(function)
    if not splits["train"]:
        raise CodeError(f"{config.source}: {found['files']} files leave no function for train; give more Python files")
    tokenizer = SymbolInvariantSubwordTokenizer.train(
        [one.text for one in splits["train"]], config.vocab_size, spans=[one.spans() for one in splits["train"]]
    )
    places, kept = BUGS[config.bug].places, dict[str, list[Function]]()
    for split, given in splits.items():
        short = [one for one, size in zip(given, lengths(given, tokenizer), strict=True) if size <= config.max_tokens]
        kept[split] = [one for one in short if places(one)]
        for what, number in (
            (f"left out, with more than {config.max_tokens} tokens", len(given) - len(short)),
            (f"left out, with no place for a bug of the kind {config.bug}", len(short) - len(kept[split])),
        ):
            left_out[what] = left_out.get(what, 0) + number
        if len(kept[split]) < 2:
            raise CodeError(
                f"{config.source}: {found['files']} files leave {len(kept[split])} functions for {split}, which needs "
                "2; give more Python files, or a larger max_tokens"
            )
    return Corpus(kept, tokenizer, {**found, **left_out})


def lengths(functions: Sequence[Function], tokenizer: SymbolInvariantSubwordTokenizer) -> Iterator[int]:
    """Tokens of each function."""
    for start in range(0, len(functions), _AT_ONCE):
        part = functions[start : start + _AT_ONCE]
        batch = tokenizer([one.text for one in part], spans=[one.spans() for one in part])
        yield from map(len, batch["input_ids"])


def with_bugs(functions: Sequence[Function], config: BugFindingConfig) -> list[Row]:
    """Functions as rows: half of them, drawn at random, with a bug."""
    bug, indices = BUGS[config.bug], range(len(functions))
    buggy = set(random.Random(f"{config.seed} {config.bug}").sample(indices, len(functions) // 2))
    rows = []
    for index, one in enumerate(functions):
        draw = random.Random(f"{config.seed} {one.file} {one.name} {one.position(0)}") if index in buggy else None
        rows.append(bug.row(one, draw))
    return rows


def spans(symbols: Sequence[Mapping[str, Any]]) -> list[tuple[int, int, str]]:
    """The column `symbols` of a row as the tokenizer takes it."""
    return [(one["start"], one["end"], one["name"]) for one in symbols]


def prepare(config: BugFindingConfig, folder: Path) -> str:
    """Leaves tokenizer, rows and, last, a card in a folder, or leaves the folder as it is if they are there.

    Returns:
        What is in it and what was left out.

    Raises:
        CodeError: If too few functions are left.
        CorpusError: If there is no such source.
        WorkFolderError: If the folder holds something else, or is being written.
    """
    with claimed(folder, {"builder": "bug finding 1.0.0", **asdict(config)}) as work:
        if work is None:
            return f"{folder}: is there already"
        corpus = read_corpus(config)
        splits = {split: with_bugs(functions, config) for split, functions in corpus.splits.items()}
        summary = _summary(corpus)
        corpus.tokenizer.save_pretrained(folder)
        publish_rows(folder, BUGS[config.bug].columns, splits, _about(config, summary))
    rows = "\n".join(f"{folder}: {len(rows):,} {split}" for split, rows in splits.items())
    return "\n".join([*summary, rows])


def _summary(corpus: Corpus) -> list[str]:
    """Lines of counts, and of how large the functions are."""
    functions = [one for found in corpus.splits.values() for one in found]
    sizes = {
        "tokens": list(lengths(functions, corpus.tokenizer)),
        "variables": [len(one.variables) for one in functions],
        "occurrences of variables": [len(one.symbols) for one in functions],
    }
    return [
        *(f"{number:,} {what}" for what, number in corpus.counts.items()),
        *(
            f"{np.median(found):.0f} {what} in a function (median), {np.percentile(found, 95):.0f} (95 %)"
            for what, found in sizes.items()
        ),
    ]


def _about(config: BugFindingConfig, summary: Sequence[str]) -> About:
    bug = BUGS[config.bug]
    options = " ".join(
        f"--{name.replace('_', '-')} {shlex.quote(str(value))}" for name, value in asdict(config).items()
    )
    counts = "\n".join(f"- {line}" for line in summary)
    story = (
        f"Functions of Python files. {bug.story}\n\nVariables of a function are symbols: two that are written alike in "
        "different scopes have different names here. All functions of a file are in one split. A copy is a function "
        f"that has {config.share:.0%} of all runs of five tokens in common with one before it, all variables taken for "
        f"the same.\n\n{counts}\n\nThe tokenizer beside the rows was learnt from train."
    )
    return About(
        bug.title, story, f"python -m papers.code.bug_finding {options} --output FOLDER",
        bug.category, ("code", "python", "bug-detection"), config.license,
        bug.source,
        "Strings of the code may name people.",
    )  # fmt: skip


def load_bugs(folder: Path) -> datasets.DatasetDict:
    """The splits of a folder that `prepare` wrote."""
    return datasets.load_dataset("parquet", data_dir=str(folder / "data"))


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; its exit code."""
    parser = options_parser("papers.code.bug_finding", __doc__, BugFindingConfig(), "tokenizer, Parquet and card")
    options = vars(parser.parse_args(arguments))
    folder = options.pop("output")
    try:
        print(prepare(BugFindingConfig(**options), folder))
    except Exception as error:
        return refuse(error)
    return 0


if __name__ == "__main__":
    sys.exit(main())
