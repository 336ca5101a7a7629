"""Basic blocks of x86-64 with the cycles that llvm-mca gives them: rows of text, cycles and token ids in three splits.

From a table of labelled blocks, such as one made of BHive, as a folder with Parquet files and a card:

    python -m papers.renamer.basic_blocks --blocks blocks.tsv.xz --output data/blocks
    python -m papers.renamer.basic_blocks --blocks blocks.tsv.xz --output data/b --split disjoint

A table has a head and columns separated by tabs: `text` (AT&T syntax, instructions separated by `;`) and `cycles`, and
perhaps `split`, `source` and `implicit` (2 where instructions use other registers than they name). Other blocks get
their label where LLVM is installed (`apt install llvm`): from a file with a block a line, or drawn from templates:

    python -m papers.renamer.basic_blocks --assembly blocks.s --output data/mine
    python -m papers.renamer.basic_blocks --hex blocks.hex --output data/mine
    python -m papers.renamer.basic_blocks --draw 5000 --seed 1 --output data/drawn

What is left out, and why, is printed and stands in the card: blocks with implicit operands other than %rsp, those over
128 tokens, what is no basic block, and texts that come twice. With `--rename-rsp` %rsp is a register like others, as in
the paper; then blocks with push and pop, which use it without naming it, are left out too:

    python -m papers.renamer.basic_blocks --blocks blocks.tsv.xz --rename-rsp --output data/paper

Splits: `random` is the table's own where it has one. Of BHive, 27 % of the test blocks have a renaming of theirs in
train, which flatters models that know names; `disjoint` puts all blocks with the same canonical tokens in one split.

Source: Renamer, sections 2 and 5.1, appendix C; blocks of Chen et al. 2019, BHive.
"""

from __future__ import annotations

import argparse
import gzip
import lzma
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import datasets
import pyarrow

from hf_symbinv.datasets_scripts.errors import refuse
from hf_symbinv.datasets_scripts.folders import claimed
from hf_symbinv.datasets_scripts.storage import SPLITS, drawn_split
from hf_symbinv.errors import UserError
from hf_symbinv.files import path_here
from hf_symbinv.hub.cards.dataset import LICENSE, UNKNOWN
from papers.harness.publishing import About, publish_rows
from papers.renamer import llvm
from papers.renamer.random_blocks import draw_block
from papers.renamer.x86 import (
    AssemblyError,
    Block,
    ImplicitOperandsError,
)
from papers.renamer.x86_tokens import STANDARD, Vocabulary

LONGEST = 128  # tokens; Renamer, appendix C
SPLITTINGS = ("random", "disjoint")
COLUMNS = {
    "text": (pyarrow.string(), "the block in AT&T syntax, instructions separated by `;`"),
    "cycles": (pyarrow.float64(), "cycles per iteration of 100 iterations, as llvm-mca simulates them"),
    "source": (pyarrow.string(), "where it is from"),
    "input_ids": (pyarrow.list_(pyarrow.int32()), "token ids of `papers.renamer.x86`"),
}
_OPENERS: dict[str, Callable[..., IO[str]]] = {".gz": gzip.open, ".xz": lzma.open}
_OTHER_NAMES = {"asm": "text", "cycles_per_iter": "cycles"}
_SPLIT_NAMES = {"valid": "validation", "val": "validation", "dev": "validation"}
_HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+")
SHOWN = 10  # reasons, of texts that are no basic blocks


class BlocksError(UserError):
    """A table of basic blocks that cannot be read, or holds none that can be used."""


@dataclass(frozen=True, slots=True)
class LabelledBlock:
    """A block and its label, as a table has it.

    Attributes:
        text: The block in AT&T syntax.
        cycles: Cycles per iteration.
        source: Where it is from.
        split: Its split, "" if none is given.
        implicit: Whether the table says that it has implicit operands other than %rsp.
    """

    text: str
    cycles: float
    source: str = ""
    split: str = ""
    implicit: bool = False


@dataclass
class Selection:
    """The blocks that a model can learn from, and what became of the others.

    Attributes:
        rows: As `COLUMNS` has them, with `split`.
        left_out: Why → how many.
        refused: What was wrong with texts that are no basic blocks.
    """

    rows: list[dict[str, Any]] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    refused: list[str] = field(default_factory=list)


def sample_file() -> Path:
    """The table of a few hundred blocks that comes with this package: drawn from templates, labelled by llvm-mca."""
    return Path(__file__).with_name("basic_blocks_sample.tab")


def origin_of(source: str | Path) -> str:
    """What a card calls a source: a file or folder without its place, or its name on the Hub."""
    return Path(source).name if Path(source).exists() else str(source)


def read_blocks(source: str | Path) -> Iterator[LabelledBlock]:
    """The blocks of a table (`.tsv`, `.tsv.gz`, `.tsv.xz`), of a folder that this module wrote, or of the Hub.

    Raises:
        BlocksError: If it is none of these, lacks text or cycles, or a line is wrong.
    """
    path = Path(source)
    if path.is_file():
        yield from _read_table(path)
        return
    if path.is_dir() and list((path / "data").glob("*.parquet")):
        found = datasets.load_dataset("parquet", data_dir=str(path))
    elif not path.exists() and _HUB_NAME.fullmatch(str(source)):
        found = _from_hub(str(source))
    else:
        raise BlocksError(
            f"{source}: no blocks there; give a table (.tsv, .tsv.xz), a folder with data/*.parquet, or OWNER/NAME on "
            "the Hub"
        )
    for split, rows in found.items():
        missing = {"text", "cycles"} - set(rows.column_names)
        if missing:
            raise BlocksError(f"{source}: has no column {' and no column '.join(sorted(missing))}")
        for row in rows:
            yield LabelledBlock(row["text"], row["cycles"], row.get("source", ""), split)


def _from_hub(name: str) -> datasets.DatasetDict:
    try:
        return datasets.load_dataset(name)
    except Exception as error:  # of many types, for no network, no such repository, no access, no data in it
        reason = next(iter(str(error).splitlines()), type(error).__name__).rstrip(".")
        raise BlocksError(
            f"{name}: no such file or folder, and from the Hub it cannot be loaded ({reason}); check the name, "
            "the network and HF_HUB_OFFLINE, or give a table"
        ) from error


def _read_table(path: Path) -> Iterator[LabelledBlock]:
    with _OPENERS.get(path.suffix, open)(path, "rt", encoding="utf-8") as file:
        try:
            head = [re.sub(r"\(.*", "", name).strip() for name in file.readline().lstrip("#").split("\t")]
            names = [_OTHER_NAMES.get(name, name) for name in head]
            if not {"text", "cycles"} <= set(names):
                raise BlocksError(f"{path}, line 1: {head} has no text and cycles; name the columns, separated by tabs")
            for number, line in enumerate(file, start=2):
                values = line.rstrip("\n").split("\t")
                if len(values) != len(names):
                    raise BlocksError(f"{path}, line {number}: {len(values)} columns; the head has {len(names)}")
                row = dict(zip(names, values, strict=True))
                split = row.get("split", "")
                try:
                    cycles = float(row["cycles"])
                except ValueError:
                    raise BlocksError(f"{path}, line {number}: cycles={row['cycles']!r} is no number") from None
                split, implicit = _SPLIT_NAMES.get(split, split), row.get("implicit") == "2"
                yield LabelledBlock(row["text"], cycles, row.get("source", ""), split, implicit)
        except (UnicodeDecodeError, EOFError, OSError, lzma.LZMAError) as error:
            raise BlocksError(f"{path}: not readable as text: {error}") from error


def label(texts: Sequence[str], source: str) -> tuple[list[LabelledBlock], list[str]]:
    """Blocks with llvm-mca's cycles, and for those that have none why.

    Raises:
        LlvmMissingError: If LLVM is not installed.
    """
    found, refused = [], []
    for text, cycles in zip(texts, llvm.throughputs(texts), strict=True):
        if isinstance(cycles, str):
            refused.append(cycles)
        else:
            found.append(LabelledBlock(text, cycles, source))
    return found, refused


def select(
    blocks: Iterator[LabelledBlock] | Sequence[LabelledBlock],
    max_tokens: int = LONGEST,
    vocabulary: Vocabulary = STANDARD,
) -> Selection:
    """The blocks that are kept, with token ids."""
    selection, texts = Selection(), set()
    for block in blocks:
        try:
            parsed = Block.parse(block.text)
        except ImplicitOperandsError:
            selection.left_out["implicit operands"] += 1
            continue
        except AssemblyError as error:
            selection.left_out["no basic block"] += 1
            selection.refused.append(str(error))
            continue
        ids = parsed.ids(vocabulary)
        if block.implicit or parsed.implicit or (vocabulary.rename_rsp and parsed.uses_rsp):
            selection.left_out["implicit operands"] += 1
        elif len(ids) > max_tokens:
            selection.left_out[f"over {max_tokens} tokens"] += 1
        elif not block.cycles > 0:
            selection.left_out["no positive cycles"] += 1
        elif str(parsed) in texts:
            selection.left_out["same text as another"] += 1
        else:
            texts.add(str(parsed))
            selection.rows.append(
                {"text": str(parsed), "cycles": block.cycles, "source": block.source, "input_ids": ids,
                 "split": block.split}
            )  # fmt: skip
    return selection


def canonical_text(text: str, vocabulary: Vocabulary = STANDARD) -> str:
    """The text that a block and all its renamings share; constants stay."""
    block = Block.parse(text)
    return str(block.renamed(vocabulary.canonical_renaming(block.ids(vocabulary)), vocabulary))


def assign(
    rows: Sequence[Mapping[str, Any]], splitting: str, seed: int, vocabulary: Vocabulary = STANDARD
) -> dict[str, list[dict[str, Any]]]:
    """Puts rows into splits, 80/10/10 where they have none.

    Args:
        rows: With `text`, `input_ids` and `split`.
        splitting: `random`, which takes a row's own split if it has one, or `disjoint` up to renaming and constants.
        seed: Which blocks go where; a block's place depends on nothing else.
        vocabulary: Of the `input_ids`.

    Raises:
        BlocksError: If a split is empty, or has an unknown name.
    """
    splits: dict[str, list[dict[str, Any]]] = {split: [] for split in SPLITS}
    for row in rows:
        key = row["text"] if splitting == "random" else str(vocabulary.canonical_ids(row["input_ids"]))
        own = row["split"] if splitting == "random" else ""
        split = own or drawn_split(f"{seed} {key}")
        if split not in splits:
            raise BlocksError(f"split={split!r}: unknown; use train, validation and test")
        splits[split].append({name: value for name, value in row.items() if name != "split"})
    empty = [split for split, found in splits.items() if not found]
    if empty:
        raise BlocksError(f"{len(rows)} usable blocks leave {' and '.join(empty)} empty; give more blocks")
    return splits


def twins(splits: Mapping[str, Sequence[Mapping[str, Any]]], vocabulary: Vocabulary = STANDARD) -> dict[str, float]:
    """The share of test blocks that have a renaming of theirs in train, and one up to the values of constants."""
    shares = {}
    for name, form in (
        ("renaming", lambda row: canonical_text(row["text"], vocabulary)),
        ("renaming and constants", lambda row: tuple(vocabulary.canonical_ids(row["input_ids"]))),
    ):
        known = {form(row) for row in splits["train"]}
        shares[name] = sum(form(row) in known for row in splits["test"]) / len(splits["test"])
    return shares


def prepare(
    blocks: Iterator[LabelledBlock] | Sequence[LabelledBlock],
    folder: Path,
    *,
    origin: str,
    splitting: str = "random",
    max_tokens: int = LONGEST,
    seed: int = 0,
    rename_rsp: bool = False,
    license: str = UNKNOWN,
    refused: int = 0,
) -> str:
    """Leaves blocks as a data set in a folder, or leaves the folder as it is if they are there.

    What is wrong with the first texts that are no basic blocks is printed on stderr.

    Args:
        blocks: With their labels.
        folder: Made if it does not exist.
        origin: Where they are from, for the card.
        splitting: `random` or `disjoint`; see `assign`.
        max_tokens: Longer blocks are left out.
        seed: Of the splits.
        rename_rsp: `%rsp` is a symbol, and blocks that use it without naming it are left out; see `Vocabulary`.
        license: The Hub's name of the blocks' licence.
        refused: How many more there were that llvm-mca had no label for.

    Returns:
        What is in it and what was left out.

    Raises:
        BlocksError: If nothing usable is left for a split, or an argument is impossible.
        WorkFolderError: If the folder holds another data set.
    """
    if splitting not in SPLITTINGS:
        raise BlocksError(f"split={splitting!r}: unknown; use one of {', '.join(SPLITTINGS)}")
    if max_tokens < 1:
        raise BlocksError(f"max_tokens={max_tokens}: must be at least 1")
    recipe = {"builder": "basic blocks 1.0.0", "origin": origin, "split": splitting, "max_tokens": max_tokens,
              "seed": seed, **({"rename_rsp": True} if rename_rsp else {})}  # fmt: skip
    vocabulary = Vocabulary(rename_rsp)
    with claimed(folder, recipe) as work:
        if work is None:
            return f"{folder}: is there already"
        selection = select(blocks, max_tokens, vocabulary)
        if refused:
            selection.left_out["no label by llvm-mca"] = refused
        for reason in selection.refused[:SHOWN]:
            print(f"left out: {reason}", file=sys.stderr)
        counts = ", ".join(f"{number:,} {why}" for why, number in selection.left_out.most_common()) or "none"
        try:
            splits = assign(selection.rows, splitting, seed, vocabulary)
        except BlocksError as error:
            raise BlocksError(f"{error} (left out: {counts})") from error
        shares = twins(splits, vocabulary)
        command = f"python -m papers.renamer.basic_blocks {origin} --split {splitting} --seed {seed}"
        command += f" --max-tokens {max_tokens}{' --rename-rsp' if rename_rsp else ''} --output FOLDER"
        about = _about(command, splitting, counts, shares, license)
        publish_rows(folder, COLUMNS, splits, about)
    rows = ", ".join(f"{len(found):,} {split}" for split, found in splits.items())
    return (
        f"{folder}: {rows}; left out: {counts}; test blocks with a renaming in train: {shares['renaming']:.1%}, up to "
        f"constants: {shares['renaming and constants']:.1%}"
    )


def _about(command: str, splitting: str, counts: str, shares: Mapping[str, float], license: str) -> About:
    story = (
        f"Basic blocks of x86-64 with the throughput that llvm-mca simulates for {llvm.PROCESSOR}. Registers are "
        "symbols: a referent is a base register, a view its width and class.\n\n"
        f"Left out: {counts}.\n\n"
        f"Split {splitting}: {shares['renaming']:.1%} of the test blocks are renamings of a block in train, "
        f"{shares['renaming and constants']:.1%} are so up to the values of constants."
    )
    return About(
        "Basic blocks of x86-64 with llvm-mca's cycles", story, command,
        "tabular-regression", ("x86", "assembly", "llvm-mca"), license,
        "Ankner, Renda, Carbin. Renamer: A Transformer Architecture Invariant to Variable Renaming. Blocks of BHive, "
        "if that is where they are from: Chen et al. BHive: A Benchmark Suite and Measurement Framework for Validating "
        "x86-64 Basic Block Performance Models. IEEE International Symposium on Workload Characterization, 2019.",
    )  # fmt: skip


def load_blocks(folder: Path) -> datasets.DatasetDict:
    """The splits of a folder that `prepare` wrote."""
    return datasets.load_dataset("parquet", data_dir=str(folder))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m papers.renamer.basic_blocks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    given = parser.add_mutually_exclusive_group(required=True)
    given.add_argument("--blocks", metavar="TABLE", help="table with labels, folder, or OWNER/NAME on the Hub")
    given.add_argument("--assembly", type=path_here, metavar="FILE", help="a block a line, instructions separated by ;")
    given.add_argument("--hex", type=path_here, metavar="FILE", help="a block a line, as bytes in hexadecimal")
    given.add_argument("--draw", type=int, metavar="N", help="draw so many blocks from templates")
    parser.add_argument("--output", type=path_here, required=True, metavar="FOLDER", help="for Parquet files and card")
    parser.add_argument("--split", choices=SPLITTINGS, default="random", help="(default: %(default)s)")
    parser.add_argument("--max-tokens", type=int, default=LONGEST, help="longest block (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of splits and drawing (default: %(default)s)")
    parser.add_argument("--rename-rsp", action="store_true", help="%%rsp is a register like others, as in the paper")
    parser.add_argument("--license", default=UNKNOWN, help="of the blocks, by the Hub's name, such as mit")
    return parser


def drawn(count: int, seed: int) -> list[str]:
    """Texts of blocks drawn from templates.

    Raises:
        BlocksError: If none are asked for.
    """
    if count < 1:
        raise BlocksError(f"--draw {count}: ask for at least 1 block")
    generator = random.Random(seed)
    return [draw_block(generator) for _ in range(count)]


def _lines(file: Path, option: str) -> list[str]:
    try:
        return file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "no text in UTF-8"
        raise BlocksError(f"{option} {file}: not readable ({reason}); give a text file with a block a line") from error


def make(options: argparse.Namespace) -> str:
    """Makes what the command line asks for; what is in it and what was left out."""
    license, refused = options.license, list[str]()
    if options.blocks is not None:
        origin, blocks = f"--blocks {origin_of(options.blocks)}", list(read_blocks(options.blocks))
    elif options.draw is not None:
        origin, license = f"--draw {options.draw}", LICENSE
        blocks, refused = label(drawn(options.draw, options.seed), "templates")
    else:
        file, read = (options.hex, llvm.disassemble) if options.hex else (options.assembly, llvm.normalise)
        option, texts = f"--{'hex' if options.hex else 'assembly'}", []
        origin = f"{option} {file.name}"
        for number, line in enumerate(_lines(file, option), start=1):
            try:
                if line.strip():
                    texts.append(read(line.strip()))
            except llvm.LlvmError as error:
                refused.append(f"{file}, line {number}: {error}")
        blocks, unlabelled = label(texts, file.name)
        refused += unlabelled
    for reason in refused:
        print(f"left out: {reason}", file=sys.stderr)
    return prepare(
        blocks, options.output, origin=origin, splitting=options.split, max_tokens=options.max_tokens,
        seed=options.seed, rename_rsp=options.rename_rsp, license=license, refused=len(refused),
    )  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; its exit code."""
    try:
        print(make(_parser().parse_args(arguments)))
    except Exception as error:
        return refuse(error)
    return 0


if __name__ == "__main__":
    sys.exit(main())
