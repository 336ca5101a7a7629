"""Texts as the tokens of a byte-level BPE that was trained on them, in blocks for a causal language model.

    config = SubwordConfig(source="novels.txt", vocab_size=2048, length=128)
    prepare(config, Path("data/novels"))
    blocks = load_blocks(Path("data/novels"))                       # splits with a column input_ids
    tokenizer = AutoTokenizer.from_pretrained("data/novels")

A source is what `corpora.documents` reads: a file, a folder, a data set on the Hub or the Python standard library.
Splits are by document, and the BPE sees the training documents only.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import datasets
import pyarrow
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from hf_symbinv.datasets_scripts.errors import refuse
from hf_symbinv.datasets_scripts.folders import claimed
from hf_symbinv.datasets_scripts.storage import CARD, SPLITS, dataset_info, write_table
from hf_symbinv.files import write_atomically
from hf_symbinv.hub.cards.dataset import UNKNOWN, size_category
from hf_symbinv.hub.cards.rendering import check_card
from papers.harness.corpora import STANDARD_LIBRARY, CorpusError, documents
from papers.harness.options import options_parser

END = "<|endoftext|>"  # GPT-2's name for it; it follows every document
BYTES = 256
_COLUMNS = pyarrow.schema([("input_ids", pyarrow.list_(pyarrow.int32()))])


@dataclass(frozen=True)
class SubwordConfig:
    """What determines the blocks.

    Attributes:
        source: As `lexinvariant.characters.CorpusConfig.source`.
        vocab_size: Of the BPE, with 256 bytes and the end of a document.
        length: Tokens of a block.
        max_characters: Take no more documents when they have so many.
        seed: Of the order of the documents, and with it of the splits.

    Raises:
        CorpusError: For a value out of range.
    """

    source: str = STANDARD_LIBRARY
    vocab_size: int = 2048
    length: int = 128
    max_characters: int = 1_000_000_000
    seed: int = 0

    def __post_init__(self) -> None:
        if self.vocab_size <= BYTES:
            raise CorpusError(
                f"vocab_size={self.vocab_size}: a byte-level BPE has {BYTES} bytes and {END}; give at least {BYTES + 1}"
            )
        if self.length < 2:
            raise CorpusError(f"length={self.length}: a block has at least 2 tokens")


def prepare(config: SubwordConfig, folder: Path) -> None:
    """Leaves tokenizer, blocks as Parquet and, last, a card in `folder`; nothing is done if they are there.

    Raises:
        CorpusError: If there is no such source, or it is too short for a block in each split.
        WorkFolderError: If the folder holds something else, or is being written.
    """
    with claimed(folder, {"builder": "subwords", **asdict(config)}) as work:
        if work is None:
            return
        splits = split_documents(config)
        tokenizer = train_tokenizer(splits["train"], config.vocab_size)
        blocks = {split: cut(config, split, texts, tokenizer) for split, texts in splits.items()}
        paths = {split: [folder / "data" / f"{split}-00000-of-00001.parquet"] for split in blocks}
        (folder / "data").mkdir(exist_ok=True)
        for split, rows in blocks.items():
            write_table(paths[split][0], pyarrow.table({"input_ids": rows}, _COLUMNS))
        PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=END, eos_token=END).save_pretrained(folder)
        write_atomically(folder / CARD, card(config, {split: len(rows) for split, rows in blocks.items()}, paths))


def split_documents(config: SubwordConfig) -> dict[str, list[str]]:
    """The texts of each split: of their characters a tenth is test, a tenth validation, and the rest train.

    They come in an order drawn with the seed, those of the Hub in their own, because rows may be parts of a document.
    Bytes that are no UTF-8 become the replacement character.
    """
    texts: Iterable[str] = (text for _, text in documents(config.source) if text)
    if config.source == STANDARD_LIBRARY or Path(config.source).expanduser().exists():
        texts = list(texts)
        random.Random(config.seed).shuffle(texts)
    found, size = [], 0
    for text in texts:
        found.append(text.encode(errors="surrogateescape").decode(errors="replace"))
        size += len(text)
        if size >= config.max_characters:
            break
    splits: dict[str, list[str]] = {split: [] for split in SPLITS}
    taken = 0
    for text in found:
        split = "test" if taken < size / 10 else "validation" if taken < size / 5 else "train"
        splits[split].append(text)
        taken += len(text)
    return splits


def train_tokenizer(texts: Sequence[str], vocab_size: int) -> Tokenizer:
    """A byte-level BPE, with GPT-2's way to find words."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size, special_tokens=[END], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )  # fmt: skip
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def cut(config: SubwordConfig, split: str, texts: Sequence[str], tokenizer: Tokenizer) -> list[list[int]]:
    """The tokens of a split, in blocks; what is left at the end is dropped.

    Raises:
        CorpusError: If there is no whole block.
    """
    ids = [token for encoding in tokenizer.encode_batch([text + END for text in texts]) for token in encoding.ids]
    if len(ids) < config.length:
        raise CorpusError(
            f"{config.source}: {len(texts)} documents with {len(ids)} tokens leave no block of {config.length} for "
            f"{split}; give more or longer documents, or a smaller length"
        )
    return [ids[start : start + config.length] for start in range(0, len(ids) - config.length + 1, config.length)]


def card(config: SubwordConfig, counts: dict[str, int], paths: dict[str, list[Path]]) -> str:
    """The card of blocks whose files are written."""
    from huggingface_hub import DatasetCardData

    own = config.source == STANDARD_LIBRARY
    title = f"Subwords of {'the Python standard library' if own else Path(config.source).name}"
    metadata = DatasetCardData(
        license="other" if own else UNKNOWN,
        license_name="psf-2.0" if own else None,
        pretty_name=title,
        task_categories=["text-generation"],
        size_categories=[size_category(sum(counts.values()))],
        dataset_info=dataset_info(_COLUMNS, paths),
        configs=[
            {
                "config_name": "default",
                "data_files": [{"split": split, "path": f"data/{split}-*.parquet"} for split in counts],
            }
        ],
    )
    rows = "\n".join(f"| {split} | {count:,} |" for split, count in counts.items())
    return check_card(
        f"---\n{metadata.to_yaml()}\n---\n\n# {title}\n\nBlocks of {config.length} tokens of a byte-level BPE with "
        f"{config.vocab_size} tokens, which was trained on the training documents and lies here too. "
        f"`{END}` follows every document; no document is in two splits.\n\n"
        f"| split | blocks |\n|---|---|\n{rows}\n",
        "dataset",
    )


def load_blocks(folder: Path) -> datasets.DatasetDict:
    """The splits that `prepare` left in a folder, with a column `input_ids`."""
    return datasets.load_dataset("parquet", data_dir=str(folder / "data"))


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; its exit code."""
    parser = options_parser("papers.harness.subwords", __doc__, SubwordConfig(), "tokenizer, Parquet and card")
    options = vars(parser.parse_args(arguments))
    folder = options.pop("output")
    try:
        prepare(SubwordConfig(**options), folder)
    except Exception as error:
        return refuse(error)
    print(f"{folder}: {', '.join(f'{len(rows):,} {split}' for split, rows in load_blocks(folder).items())}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
