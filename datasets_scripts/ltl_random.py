"""LTLRandom: random LTL formulas with witnesses, by DeepLTL's recipe.

As a `datasets` builder:

    from hf_symbinv.datasets_scripts.ltl_random import LtlRandom
    builder = LtlRandom(num_aps=5, max_size=35, rows=1000)
    builder.download_and_prepare(num_proc=4)
    train = builder.as_dataset(split="train")

and as a command that leaves a folder which `datasets.load_dataset(folder)` reads:

    python -m hf_symbinv.datasets_scripts.ltl_random --output data/ltl --num-aps 5 --max-size 35 --rows 1000

The work is done in rounds. A round draws the formulas that are missing in every length, cuts them into shards and
solves these in parallel; unsatisfiable formulas and those that reach the time limit are missing again in the next
round. Drawing is cheap and done by one process, so no formula comes twice anywhere; a shard is solved by a fresh
fork, so its witnesses are a function of its formulas. Hence the data set is a function of (config, seed), whatever
the number of processes, but for formulas that take about as long as the limit. A finished shard is a file that
appears in one piece, and a run that was killed takes up where it was: it draws again, which costs little, and solves
what has no file yet.
"""

from __future__ import annotations

import argparse
import dataclasses
import fcntl
import hashlib
import json
import random
import shlex
import shutil
import sys
import warnings
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count, islice
from pathlib import Path
from typing import Any

import datasets
import pyarrow.parquet
from tqdm.auto import tqdm

from hf_symbinv.datasets_scripts import ltl_drawing
from hf_symbinv.datasets_scripts.ltl_drawing import Gate
from hf_symbinv.datasets_scripts.ltl_storage import (
    CARD,
    SCHEMA,
    Origin,
    Pair,
    card,
    read_pairs,
    read_rows,
    split_files,
    write_atomically,
    write_split,
)
from hf_symbinv.solvers import ltl
from hf_symbinv.solvers.ltl import find_witness, load_spot, solver_version
from hf_symbinv.solvers.pool import Outcome, ProcessPool

SYMBOLS = "abcdefghijklmnopqrstuvwxyz"
# DeepLTL's gate: lengths from 10 nodes up are equally frequent, the shorter ones share 11.2 % of the rows.
UNIFORM_FROM = 10
SHORT = 0
SHORT_SHARE = 0.112
# Formulas per shard: some 0.3 s of work, in which the 5 ms that a fork costs are lost.
SHARD = 512
SPLITS = ("train", "validation", "test")
COMMAND = "python -m hf_symbinv.datasets_scripts.ltl_random"
STORY = (
    "Random formulas of linear temporal logic with witnesses, by the recipe of DeepLTL: formulas from `spot.randltl`, "
    f"lengths uniform from {UNIFORM_FROM} nodes up; the witness is the accepting run of the formula's automaton."
)


@dataclass
class LtlRandomConfig(datasets.BuilderConfig):
    """What determines the data set.

    Args:
        version: The builder's version: another one makes other data.
        num_aps: Atomic propositions that formulas may use, 0 to 26: a, b, c, ...
        min_size: Shortest formula, in nodes.
        max_size: Longest formula, in nodes.
        rows: Pairs in all splits together (80 % train, 10 % validation, 10 % test).
        seed: Seed of everything random.
        timeout: Limit for solving one formula, in seconds; a formula that reaches it is left out.

    Raises:
        ValueError: For a value out of range.
    """

    version: datasets.Version = field(default_factory=lambda: datasets.Version("1.0.0"))
    num_aps: int = 5
    min_size: int = 1
    max_size: int = 35
    rows: int = 1_000_000
    seed: int = 0
    timeout: float = 120.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.validate()

    def validate(self) -> None:
        """Raise ValueError for a value out of range (`datasets` also sets fields of configs that exist)."""
        if not 0 <= self.num_aps <= len(SYMBOLS):
            raise ValueError(f"num_aps={self.num_aps}: there are 0 to {len(SYMBOLS)}, one per letter")
        if not 1 <= self.min_size <= self.max_size:
            raise ValueError(
                f"min_size={self.min_size}, max_size={self.max_size}: sizes are nodes, at least 1, the smaller first"
            )
        if self.rows < 10:
            raise ValueError(f"rows={self.rows}: ask for at least 10, so that every split of 80/10/10 has one")
        if not self.timeout > 0:
            raise ValueError(f"timeout={self.timeout}: the limit must be positive seconds")

    def recipe(self) -> dict[str, Any]:
        """The fields that determine the data, without those that only name it."""
        names = ("num_aps", "min_size", "max_size", "rows", "seed", "timeout")
        return {name: getattr(self, name) for name in names}


@dataclass
class Harvest:
    """What became of formulas that were drawn: pairs, and how many ended otherwise (unsatisfiable, timeout, error)."""

    pairs: list[Pair] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)


class WorkFolderError(RuntimeError):
    """A folder that cannot take the data set: another one is in it, or another process is at it."""


def quotas(config: LtlRandomConfig) -> dict[int, int]:
    """Rows of each length, and of all short lengths together under the key `SHORT`."""
    lengths = list(range(max(config.min_size, UNIFORM_FROM), config.max_size + 1))
    if not lengths:
        return {SHORT: config.rows}
    short = int(SHORT_SHARE * config.rows) if config.min_size < UNIFORM_FROM else 0
    each, rest = divmod(config.rows - short, len(lengths))
    return {SHORT: short} | {length: each + (place < rest) for place, length in enumerate(lengths)}


def missing_rows(quota: dict[int, int], have: Counter[int], exhausted: set[int]) -> dict[int, int]:
    """Rows to draw next; the lengths that are not exhausted stand in for those that are, long ones first."""
    surplus = sum(max(have[length] - rows, 0) for length, rows in quota.items())
    missing = {length: max(quota[length] - have[length], 0) for length in quota if length not in exhausted}
    lost = max(sum(quota[length] - have[length] for length in exhausted) - surplus, 0)
    heirs = [length for length in missing if length != SHORT] or list(missing)
    if heirs:
        each, rest = divmod(lost, len(heirs))
        for place, length in enumerate(heirs):
            missing[length] += each + (place < rest)
    return {length: rows for length, rows in missing.items() if rows}


def generate(config: LtlRandomConfig, work: Path, workers: int | None, *, progress: bool = True) -> Harvest:
    """Draw and solve until every length is full, with finished shards kept in `work`."""
    quota, have, harvest = quotas(config), Counter[int](), Harvest()
    with (
        Gate(SYMBOLS[: config.num_aps], config.min_size, config.max_size, UNIFORM_FROM) as gate,
        ProcessPool(
            find_witness, workers=workers, timeout=config.timeout, initializer=load_spot, isolate=SHARD
        ) as pool,
        tqdm(total=config.rows, unit=" pairs", file=sys.stderr, disable=not progress) as bar,
    ):
        for round_number in count():
            missing = missing_rows(quota, have, gate.exhausted)
            if not missing:
                break
            formulas = gate.draw(missing, config.seed, round_number)
            for shard in solve_round(formulas, work, f"{round_number:02d}", pool, bar):
                harvest.pairs += shard.pairs
                harvest.left_out += shard.left_out
                have.update(gate.quota_of(len(pair.formula)) for pair in shard.pairs)
    if len(harvest.pairs) < config.rows:
        warnings.warn(
            f"rows={config.rows}: only {len(harvest.pairs)} different satisfiable formulas turned up "
            f"with num_aps={config.num_aps} and sizes {config.min_size} to {config.max_size}",
            stacklevel=2,
        )
    return harvest


def solve_round(formulas: Iterator[str], work: Path, name: str, pool: ProcessPool, bar: Any) -> list[Harvest]:
    """Solve the formulas shard by shard, and leave a file for each shard."""
    finished: dict[int, Harvest] = {}
    waiting: deque[tuple[int, Path, list[str]]] = deque()

    def finish(index: int, path: Path, shard: list[str]) -> None:
        finished[index] = read_shard(path, shard)
        bar.update(len(finished[index].pairs))

    def unsolved() -> Iterator[str]:
        for index in count():
            shard = list(islice(formulas, SHARD))
            if not shard:
                return
            path = work / f"{name}-{index:06d}.tsv"
            if path.exists():
                finish(index, path, shard)
            else:
                waiting.append((index, path, shard))
                yield from shard

    outcomes: list[Outcome] = []
    for outcome in pool.map(unsolved()):
        outcomes.append(outcome)
        index, path, shard = waiting[0]
        if len(outcomes) == len(shard):
            waiting.popleft()
            lines = [f"{formula}\t{shard_entry(outcome)}\n" for formula, outcome in zip(shard, outcomes, strict=True)]
            write_atomically(path, "".join(lines))
            finish(index, path, shard)
            outcomes = []
    return [finished[index] for index in sorted(finished)]


def shard_entry(outcome: Outcome) -> str:
    """The second column of a shard: the witness, or a word that says why there is none."""
    if outcome.status == "done":
        return outcome.value or "unsatisfiable"
    return outcome.status


def read_shard(path: Path, formulas: Sequence[str]) -> Harvest:
    """What became of the formulas of a finished shard.

    Raises:
        WorkFolderError: If the file does not belong to these formulas.
    """
    entries = [line.partition("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    if [formula for formula, _, _ in entries] != list(formulas):
        raise WorkFolderError(f"{path}: not the formulas of this data set; delete the folder and start again")
    pairs = [Pair(formula, entry) for formula, _, entry in entries if entry.endswith("}")]
    return Harvest(pairs, Counter(entry for _, _, entry in entries if not entry.endswith("}")))


def assign_splits(pairs: Sequence[Pair], seed: int) -> dict[str, list[Pair]]:
    """Shuffle and cut into 80 % train, 10 % validation and 10 % test."""
    shuffled = list(pairs)
    random.Random(seed).shuffle(shuffled)
    tenth = len(shuffled) // 10
    return {"train": shuffled[2 * tenth :], "validation": shuffled[:tenth], "test": shuffled[tenth : 2 * tenth]}


@contextmanager
def claimed(folder: Path, description: dict[str, Any]) -> Iterator[Path]:
    """Hold the work folder inside `folder` for the data set that `description` describes.

    Raises:
        WorkFolderError: If `folder` holds another data set, or another process holds it.
    """
    marker = folder / "generation.json"
    if not marker.exists() and ((folder / CARD).exists() or (folder / "data").exists()):
        raise WorkFolderError(f"{folder}: holds a data set of other origin; choose another folder")
    work = folder / ".work"
    work.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise WorkFolderError(f"{folder}: another process is writing here; wait or choose another folder") from None
        if not marker.exists():
            write_atomically(marker, json.dumps(description, indent=2) + "\n")
        elif json.loads(marker.read_text(encoding="utf-8")) != description:
            raise WorkFolderError(
                f"{folder}: holds a data set made in another way, see {marker.name}; choose another folder or delete it"
            )
        yield work
        shutil.rmtree(work)


def prepare(config: LtlRandomConfig, folder: Path, workers: int | None, *, progress: bool = True) -> None:
    """Make the data set in `folder`, or finish it, or leave it as it is if it is finished.

    Raises:
        WorkFolderError: If the folder cannot take it.
        SpotMissingError: If Spot is not installed.
    """
    version = solver_version()
    description = {"builder": f"ltl_random {config.version}", **config.recipe(), "solver_version": version}
    with claimed(folder, description) as work:
        if (folder / CARD).exists():
            return
        harvest = generate(config, work, workers, progress=progress)
        options = [f"--{name.replace('_', '-')} {value}" for name, value in config.recipe().items()]
        reasons = {
            "unsatisfiable": "are unsatisfiable",
            "timeout": f"take over {config.timeout:g} s",
            "error": "make the solver fail",
        }
        left_out = ", ".join(f"{harvest.left_out[name]:,} that {reason}" for name, reason in reasons.items())
        origin = Origin(
            title=f"LTLRandom, {config.num_aps} symbols, up to {config.max_size} nodes",
            story=f"{STORY} Formulas left out: {left_out}.",
            command=f"{COMMAND} --output FOLDER {' '.join(options)}",
            solver_version=version,
        )
        publish(folder, origin, assign_splits(harvest.pairs, config.seed))


def convert(source: Path, folder: Path, seed: int) -> None:
    """Convert the two-line text format into the layout of `prepare`; of pairs with the same formula the first stays.

    Raises:
        PairsFormatError: If the file does not hold pairs.
        WorkFolderError: If the folder cannot take the data set.
    """
    digest = hashlib.sha256(source.read_bytes()).hexdigest()
    with claimed(folder, {"builder": "text", "sha256": digest, "seed": seed}):
        if (folder / CARD).exists():
            return
        pairs: dict[str, Pair] = {}
        for pair in tqdm(read_pairs(source), unit=" pairs", file=sys.stderr):
            pairs.setdefault(pair.formula, pair)
        origin = Origin(
            title=f"LTL pairs of {source.name}",
            story=f"Formulas of linear temporal logic with witnesses, converted from the text file {source.name}.",
            command=f"{COMMAND} --output FOLDER --from-text {shlex.quote(source.name)} --seed {seed}",
            solver_version="unknown",
        )
        publish(folder, origin, assign_splits(list(pairs.values()), seed))


def publish(folder: Path, origin: Origin, splits: dict[str, list[Pair]]) -> None:
    """Write the splits and, last, the card: a folder with a card is complete."""
    for split, pairs in splits.items():
        write_split(folder, split, pairs, origin.solver_version)
    write_atomically(folder / CARD, card(origin, splits))


def source_hash() -> str:
    """A digest of the code that determines the data."""
    digest = hashlib.sha256()
    for path in (__file__, ltl_drawing.__file__, ltl.__file__):
        digest.update(Path(path).read_bytes())
    return digest.hexdigest()[:16]


class LtlRandom(datasets.GeneratorBasedBuilder):
    """LTLRandom as a builder; keyword arguments are fields of `LtlRandomConfig`."""

    VERSION = datasets.Version("1.0.0")
    BUILDER_CONFIG_CLASS = LtlRandomConfig
    BUILDER_CONFIGS = [
        LtlRandomConfig(name="ltl_random35", description="The paper's: 5 symbols, up to 35 nodes, a million pairs"),
        LtlRandomConfig(name="ltl_random35_10aps", num_aps=10, description="The same with 10 symbols"),
    ]
    DEFAULT_CONFIG_NAME = "ltl_random35"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("hash", source_hash())  # `datasets` does not look at the code to find its cache
        super().__init__(*args, **kwargs)
        self.config.validate()

    def _info(self) -> datasets.DatasetInfo:
        return datasets.DatasetInfo(
            description=STORY, features=datasets.Features.from_arrow_schema(SCHEMA), license="apache-2.0"
        )

    def _split_generators(self, dl_manager: datasets.DownloadManager) -> list[datasets.SplitGenerator]:
        recipe = f"{self.config.recipe()} {solver_version()} {source_hash()}"
        name = hashlib.sha256(recipe.encode()).hexdigest()[:16]
        folder = Path(dl_manager.download_config.cache_dir) / f"ltl_random-{name}"
        prepare(self.config, folder, dl_manager.download_config.num_proc or 1)
        return [
            datasets.SplitGenerator(name=split, gen_kwargs={"files": list(map(str, split_files(folder, split)))})
            for split in SPLITS
        ]

    def _generate_examples(self, files: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
        for file in files:
            for row in read_rows(file):
                yield row["formula"], row


def parser() -> argparse.ArgumentParser:
    """The command line of this builder."""
    command = argparse.ArgumentParser(
        prog=COMMAND,
        description="Make a data set of random LTL formulas with witnesses. A run that was stopped continues when the "
        "same command is given again.",
    )
    defaults = {item.name: item.default for item in dataclasses.fields(LtlRandomConfig)}
    command.add_argument("--output", type=Path, required=True, help="folder for Parquet files and card")
    command.add_argument("--from-text", type=Path, help="convert this file of two-line pairs instead (plain, .gz, .xz)")
    command.add_argument("--num-aps", type=int, default=defaults["num_aps"], help="symbols (default: %(default)s)")
    command.add_argument("--min-size", type=int, default=defaults["min_size"], help="nodes (default: %(default)s)")
    command.add_argument("--max-size", type=int, default=defaults["max_size"], help="nodes (default: %(default)s)")
    command.add_argument("--rows", type=int, default=defaults["rows"], help="pairs in all (default: %(default)s)")
    command.add_argument("--seed", type=int, default=defaults["seed"], help="(default: %(default)s)")
    command.add_argument(
        "--timeout", type=float, default=defaults["timeout"], help="seconds for one formula (default: %(default)s)"
    )
    command.add_argument("--workers", type=int, help="processes (default: one per available core)")
    return command


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; its exit code."""
    options = vars(parser().parse_args(arguments))
    folder, source, workers = options.pop("output"), options.pop("from_text"), options.pop("workers")
    try:
        if source is not None:
            convert(source, folder, options["seed"])
        else:
            prepare(LtlRandomConfig(name="custom", **options), folder, workers)
    except (ValueError, ImportError, WorkFolderError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("stopped; the same command continues here", file=sys.stderr)
        return 130
    for split in SPLITS:
        rows = sum(pyarrow.parquet.read_metadata(file).num_rows for file in split_files(folder, split))
        print(f"{folder}: {rows} {split}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
