"""Languages for lexinvariant models: windows of characters of real texts, and a random Markov language.

    config = CorpusConfig(name="code", source=STANDARD_LIBRARY, length=512)
    prepare(config, Path("data/code"))
    train = load_windows(Path("data/code"))["train"]
    ids = encode(train[:32]["text"], config.characters)         # (32, 513): <s>, then symbols

and, from the command line,

    python -m papers.lexinvariant.characters --source novels.txt --output data/novels --length 256

Every character of the alphabet is a symbol: id V_n + its place in the alphabet. The base tokens are those of the other
tasks, <s>, <pad> and </s>, and every window begins with <s>, so that its first character is predicted too.
"""

from __future__ import annotations

import argparse
import platform
import random
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pyarrow
import pyarrow.parquet

from hf_symbinv.datasets_scripts.errors import refuse
from hf_symbinv.datasets_scripts.folders import claimed
from hf_symbinv.datasets_scripts.storage import CARD, ROWS_PER_FILE, SPLITS, dataset_info, split_files, write_table
from hf_symbinv.files import path_here, write_atomically
from hf_symbinv.hub.cards.dataset import UNKNOWN, size_category
from hf_symbinv.hub.cards.rendering import check_card
from papers.harness.corpora import ON_THE_HUB, PIECES, PRINTABLE, STANDARD_LIBRARY, CorpusError, documents

BASE_TOKENS = ("<s>", "<pad>", "</s>")  # the ids that SymbolInvariantConfig gives them: 0, 1, 2
ALPHABETS = {
    "printable": PRINTABLE,
    "letters": " " + "".join(map(chr, range(ord("a"), ord("z") + 1))),
}
_COLUMNS = pyarrow.schema([("text", pyarrow.string()), ("document", pyarrow.string())])


@dataclass
class CorpusConfig(datasets.BuilderConfig):
    """What determines windows of a corpus.

    Args:
        source: A text file (`.gz` and `.xz` are unpacked) whose documents begin after a line that starts with the
            character 0x01, followed by their names, and which counts as ten documents if it has no such line; a folder,
            whose files are documents; a data set on the Hub, OWNER/NAME or OWNER/NAME:CONFIG, whose column `text` has
            them; or `STANDARD_LIBRARY`, the sources of this Python's standard library but for the few files with
            characters that are not in the printable alphabet.
        alphabet: `"printable"`, the 95 printable ASCII characters and newline, or `"letters"`, a to z and blank, which
            reads capitals as small letters and everything between letters as one blank.
        replacement: Character that stands in for those outside the alphabet; None to refuse them.
        length: Characters of a window (paper: 512).
        max_characters: Take no more documents when they have so many, and of none more than a tenth of that.
        seed: Of the order of the documents, and with it of the splits.

    Raises:
        CorpusError: For a value out of range.
    """

    version: datasets.Version = field(default_factory=lambda: datasets.Version("1.0.0"))
    source: str = STANDARD_LIBRARY
    alphabet: str = "printable"
    replacement: str | None = None
    length: int = 512
    max_characters: int = 1_000_000_000
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.alphabet not in ALPHABETS:
            raise CorpusError(f"alphabet={self.alphabet!r}: unknown; use one of {', '.join(ALPHABETS)}")
        if self.replacement is not None and (len(self.replacement) != 1 or self.replacement not in self.characters):
            raise CorpusError(
                f"replacement={self.replacement!r}: must be one character of the {self.alphabet} alphabet"
            )
        if self.length < 2:
            raise CorpusError(f"length={self.length}: a window has at least 2 characters")
        if self.max_characters < PIECES * self.length:
            raise CorpusError(
                f"max_characters={self.max_characters}: ask for at least {PIECES} windows of length={self.length}"
            )

    @property
    def characters(self) -> str:
        """The alphabet: the character at place k is the symbol V_n + k."""
        return ALPHABETS[self.alphabet]

    def recipe(self) -> dict[str, Any]:
        """The fields that determine the data."""
        names = ("source", "alphabet", "replacement", "length", "max_characters", "seed")
        return {name: getattr(self, name) for name in names}


def fit_alphabet(text: str, config: CorpusConfig, name: str) -> str:
    """A document in the alphabet's characters.

    Raises:
        CorpusError: If it has another character, and there is no replacement.
    """
    if config.alphabet == "letters":
        return re.sub("[^a-z]+", " ", text.lower())
    if config.replacement is not None:
        return re.sub(f"[^{re.escape(config.characters)}]", lambda found: config.replacement or "", text)
    if found := re.search(f"[^{re.escape(config.characters)}]", text):
        code = " ".join(f"0x{byte:02x}" for byte in found[0].encode("utf-8", errors="surrogateescape"))
        line = text.count("\n", 0, found.start()) + 1
        raise CorpusError(
            f"{config.source}, {name}, line {line}: byte {code} is outside the vocabulary of printable ASCII and "
            "newline; give a replacement, such as '?', or clean the text"
        )
    return text


def windows(text: str, length: int) -> list[str]:
    """A text cut into windows; what is left at its end is dropped."""
    return [text[start : start + length] for start in range(0, len(text) - length + 1, length)]


def split_documents(config: CorpusConfig) -> dict[str, list[tuple[str, str]]]:
    """(window, name of its document) by split: a document's windows are all in one split.

    The documents come in an order drawn with the seed, those of the Hub in their own; of their characters a tenth is
    test, a tenth validation, and the rest train.

    Raises:
        CorpusError: If there is no such source, it has characters outside the alphabet, or is too short.
    """
    found, size = [], 0
    source = documents(config.source)
    if not ON_THE_HUB.fullmatch(config.source) or Path(config.source).exists():
        shuffled = list(source)
        random.Random(config.seed).shuffle(shuffled)
        source = iter(shuffled)
    for name, text in source:
        found.append((name, fit_alphabet(text[: config.max_characters // PIECES], config, name)))
        size += len(found[-1][1])
        if size >= config.max_characters:
            break
    total = sum(len(text) for _, text in found)
    splits: dict[str, list[tuple[str, str]]] = {split: [] for split in SPLITS}
    taken = 0
    for name, text in found:
        split = "test" if taken < total / 10 else "validation" if taken < total / 5 else "train"
        splits[split] += [(window, name) for window in windows(text, config.length)]
        taken += len(text)
    for split, rows in splits.items():
        if not rows:
            raise CorpusError(
                f"{config.source}: {len(found)} documents with {total} characters leave no window of {config.length} "
                f"for {split}; give more or longer documents, or a smaller length"
            )
    return splits


def prepare(config: CorpusConfig, folder: Path) -> None:
    """Leave the windows as Parquet in `folder`, with a card; nothing is done if they are there.

    Raises:
        CorpusError: If the corpus cannot be cut into windows.
        WorkFolderError: If the folder holds something else, or is being written.
    """
    with claimed(folder, {"builder": "language", **config.recipe()}) as work:
        if work is None:
            return
        splits = split_documents(config)
        (folder / "data").mkdir(exist_ok=True)
        for split, rows in splits.items():
            starts = range(0, len(rows), ROWS_PER_FILE)
            for index, start in enumerate(starts):
                texts, names = zip(*rows[start : start + ROWS_PER_FILE], strict=True)
                table = pyarrow.table([pyarrow.array(texts), pyarrow.array(names)], _COLUMNS)
                path = folder / "data" / f"{split}-{index:05d}-of-{len(starts):05d}.parquet"
                write_table(path, table)
        write_atomically(folder / CARD, card(config, folder, {split: len(rows) for split, rows in splits.items()}))


def card(config: CorpusConfig, folder: Path, counts: dict[str, int]) -> str:
    """The card of windows whose files are written."""
    from huggingface_hub import DatasetCardData

    own = config.source == STANDARD_LIBRARY
    title = f"Characters of {'the Python standard library' if own else Path(config.source).name}"
    metadata = DatasetCardData(
        license="other" if own else UNKNOWN,
        license_name="psf-2.0" if own else None,
        pretty_name=title,
        task_categories=["text-generation"],
        tags=["character-level", "symbol-invariance"],
        size_categories=[size_category(sum(counts.values()))],
        dataset_info=dataset_info(_COLUMNS, {split: split_files(folder, split) for split in counts}),
        configs=[{"config_name": "default",
                  "data_files": [{"split": split, "path": f"data/{split}-*.parquet"} for split in counts]}],
    )  # fmt: skip
    outside = "are refused" if config.replacement is None else f"became {config.replacement!r}"
    story = (
        f"Windows of {config.length} characters of {len(config.characters)} (alphabet {config.alphabet}); "
        + (
            "capitals became small letters, all else blanks. "
            if config.alphabet == "letters"
            else f"others {outside}. "
        )
        + "A document's windows are all in one split."
        + (f" Sources of Python {platform.python_version()}." if own else "")
    )
    rows = "\n".join(f"| {split} | {count:,} |" for split, count in counts.items())
    text = (
        f"---\n{metadata.to_yaml()}\n---\n\n# {title}\n\n{story}\n\n"
        "| column | type | |\n|---|---|---|\n| text | string | a window |\n| document | string | where it is from |\n\n"
        f"| split | windows |\n|---|---|\n{rows}\n\nMade with\n\n```\n{command(config)}\n```\n"
    )
    return check_card(text, "dataset")


def command(config: CorpusConfig) -> str:
    """The command that makes the data; a path without its folder, which depends on the place."""
    source = Path(config.source).name if Path(config.source).exists() else config.source
    values = {name: value for name, value in {**config.recipe(), "source": source}.items() if value is not None}
    options = " ".join(f"--{name.replace('_', '-')} {shlex.quote(str(value))}" for name, value in values.items())
    return f"python -m papers.lexinvariant.characters --output FOLDER {options}"


def load_windows(folder: Path) -> datasets.DatasetDict:
    """The splits that `prepare` left in a folder, columns `text` and `document`."""
    return datasets.load_dataset("parquet", data_dir=str(folder))


def encode(texts: Sequence[str], characters: str) -> np.ndarray:
    """Texts of one length L as ids, (rows, L + 1): <s>, then V_n + the place of each character in `characters`.

    Raises:
        CorpusError: If a text has a character that is not among `characters`, or another length.
    """
    if len({len(text) for text in texts}) != 1:
        raise CorpusError("texts of different lengths, or none at all; cut them into windows of one length")
    places = np.full(0x110000, -1)  # by code point
    places[_code_points(characters)] = np.arange(len(characters))
    codes = _code_points("".join(texts)).reshape(len(texts), -1)
    found = places[codes]
    if (found < 0).any():
        wrong = chr(codes[found < 0][0])
        raise CorpusError(f"character {wrong!r} is not in the alphabet {characters!r}; clean the text")
    return symbol_ids(found)


def _code_points(text: str) -> np.ndarray:
    return np.frombuffer(text.encode("utf-32-le", errors="surrogatepass"), dtype="<u4")


def symbol_ids(places: np.ndarray) -> np.ndarray:
    """Places in the alphabet, (rows, L), as ids, (rows, L + 1), that begin with <s>."""
    return np.pad(places + len(BASE_TOKENS), [(0, 0), (1, 0)], constant_values=BASE_TOKENS.index("<s>"))


def words(characters: str) -> dict[str, Any]:
    """What makes a `SymbolInvariantWordTokenizer` that gives texts the ids of `encode`."""
    return {
        "base_tokens": BASE_TOKENS,
        "symbols": {character: [place, 0] for place, character in enumerate(characters)},
        "patterns": [[r"(?s:.)", None]],
        "separators": "(?!)",  # nothing
        "joint": "",
        "add_bos_token": True,
    }


def decode(ids: Sequence[int], characters: str) -> str:
    """Ids as text; base tokens are left out."""
    return "".join(characters[token - len(BASE_TOKENS)] for token in ids if token >= len(BASE_TOKENS))


@dataclass(frozen=True)
class MarkovLanguage:
    """A language whose next symbol depends on the last one only.

    Attributes:
        transitions: P(next | last), (V, V), rows that sum to 1.
        initial: P(first), (V,): the stationary distribution.
    """

    transitions: np.ndarray
    initial: np.ndarray

    @classmethod
    def random(cls, num_symbols: int, seed: int, concentration: float = 0.4) -> MarkovLanguage:
        """Rows drawn from a Dirichlet distribution.

        Args:
            num_symbols: V.
            seed: Of the draw.
            concentration: Of the Dirichlet distribution; the smaller, the more predictable the language. Our choice:
                0.4, with which 6 symbols and seed 4 have perplexity 3.05.
        """
        transitions = np.random.default_rng(seed).dirichlet([concentration] * num_symbols, num_symbols)
        # The left eigenvector of eigenvalue 1: initial @ transitions = initial, and its entries sum to 1.
        system = np.vstack([transitions.T - np.eye(num_symbols), np.ones(num_symbols)])
        initial = np.linalg.lstsq(system, np.append(np.zeros(num_symbols), 1.0), rcond=None)[0]
        return cls(transitions, initial)

    @property
    def num_symbols(self) -> int:
        """How many symbols the language has; V in the paper."""
        return len(self.initial)

    @property
    def perplexity(self) -> float:
        """exp of the entropy rate: what the language's own predictor reaches from the second symbol on."""
        surprise = -np.log(self.transitions, out=np.zeros_like(self.transitions), where=self.transitions > 0)
        return float(np.exp(self.initial @ (self.transitions * surprise).sum(1)))

    def sample(self, rows: int, length: int, seed: int) -> np.ndarray:
        """Sequences of places in the alphabet, (rows, length)."""
        generator = np.random.default_rng(seed)
        uniform = generator.random((rows, length))
        cumulative = self.transitions.cumsum(1)
        drawn = np.empty((rows, length), dtype=np.int64)
        drawn[:, 0] = np.searchsorted(self.initial.cumsum(), uniform[:, 0])
        for place in range(1, length):
            drawn[:, place] = (cumulative[drawn[:, place - 1]] < uniform[:, place, None]).sum(1)
        return np.minimum(drawn, self.num_symbols - 1)  # a cumulative sum may round to less than 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; its exit code."""
    defaults = CorpusConfig(name="custom")
    parser = argparse.ArgumentParser(
        prog="python -m papers.lexinvariant.characters",
        description="Cut a corpus into windows of characters.",
    )
    parser.add_argument("--output", type=path_here, required=True, help="folder for Parquet files and card")
    parser.add_argument("--source", default=defaults.source, help="a file, a folder, OWNER/NAME on the Hub, or python "
                        "for the standard library's sources (default: %(default)s)")  # fmt: skip
    parser.add_argument("--alphabet", default=defaults.alphabet, help="printable or letters (default: %(default)s)")
    parser.add_argument("--replacement", help="character for those outside the alphabet, which are refused else")
    for name in ("length", "max_characters", "seed"):
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=getattr(defaults, name))
    options = vars(parser.parse_args(arguments))
    folder = options.pop("output")
    try:
        prepare(CorpusConfig(name="custom", **options), folder)
    except Exception as error:
        return refuse(error)
    for split in SPLITS:
        rows = sum(pyarrow.parquet.read_metadata(file).num_rows for file in split_files(folder, split))
        print(f"{folder}: {rows} {split}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
