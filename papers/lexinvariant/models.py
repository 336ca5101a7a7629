"""Language models of the lexinvariant experiments: their texts, their training, their losses by place.

Letters: N rows, T symbols of a row, V symbols of the alphabet. Texts are places in the alphabet, (N, T); the model sees
ids (N, T + 1), which begin with <s>, so that the loss of the first symbol counts too.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn
from transformers import (
    CONFIG_MAPPING,
    Adafactor,
    AutoModelForCausalLM,
    PreTrainedConfig,
    PreTrainedModel,
    set_seed,
)

from papers.harness.corpora import source_of
from papers.harness.experiments import Job
from papers.lexinvariant.characters import (
    ALPHABETS,
    BASE_TOKENS,
    CorpusConfig,
    MarkovLanguage,
    encode,
    load_windows,
    prepare,
    symbol_ids,
    words,
)
from papers.lexinvariant.puzzles import Puzzle

# What makes a model of each kind out of the paper's, which is "gaussian". "canonical", "identity", "renamed" and
# "streams" are models that the paper does not have; "norm-first" is the paper's where a scale has its norms behind the
# blocks. A canonical model is a learned one that reads texts whose symbols are numbered by their first occurrence, a
# regularised one is a learned one that trains on texts `renamed_in_part`.
KINDS: dict[str, dict[str, Any]] = {
    "learned": {"symbol_embedding": "learned"},
    "canonical": {"symbol_embedding": "learned"},
    "gaussian": {},
    "identity": {"identity_qk": True, "identity_vo": True},
    "norm-first": {"norm_first": True},
    "regularised": {"symbol_embedding": "learned"},
    "renamed": {"symbol_embedding": "renamed"},
    "streams": {"symbol_embedding": "streams", "components": ["DP", "DA"]},
}
REPLACEMENT = " "  # our choice, for the few characters of a corpus that are no printable ASCII
RENAMED_SHARE = 0.2  # the paper's, section 3.6
TEST_SEEDS = 10_000  # what is added to a seed for test texts of the Markov language


@dataclass(frozen=True)
class Texts:
    """Texts of a language.

    Attributes:
        train, test: Places in the alphabet, (N, T).
        num_symbols: V.
        characters: The alphabet; None if symbols are no characters.
    """

    train: np.ndarray
    test: np.ndarray
    num_symbols: int
    characters: str | None = None


def markov_language(sizes: Mapping[str, Any]) -> MarkovLanguage:
    """The Markov language of an experiment."""
    return MarkovLanguage.random(sizes["data"]["num_symbols"], sizes["data"]["seed"])


def texts_of(job: Job, name: str) -> Texts:
    """Texts of `prose`, `code` or, where the sizes say how many symbols it has, a Markov language.

    Raises:
        MissingDataError: If no corpus is named, or it cannot be used.
    """
    sizes = job.sizes["languages"][name]
    data, rows = sizes["data"], sizes["test_rows"]
    if "num_symbols" in data:
        language = markov_language(sizes)
        train = language.sample(data["rows"], data["length"], job.seed).astype(np.uint8)
        test = language.sample(rows, data["length"], TEST_SEEDS + job.seed)
        return Texts(train, test, language.num_symbols)
    with source_of(name) as source:
        config = CorpusConfig(name=name, source=source, replacement=REPLACEMENT, **data)
        prepare(config, job.shared / name)
    splits = load_windows(job.shared / name)
    # Windows lie in the order of their documents: a part of them is drawn from all documents of the split.
    test = splits["test"].shuffle(seed=0).select(range(min(rows, len(splits["test"]))))
    places = [_places(part["text"], config.characters) for part in (splits["train"], test)]
    return Texts(places[0], places[1].astype(np.int64), len(config.characters), config.characters)


def _places(texts: Sequence[str], characters: str) -> np.ndarray:
    return (encode(list(texts), characters)[:, 1:] - len(BASE_TOKENS)).astype(np.uint8)


def cipher_letters(texts: Texts) -> np.ndarray:
    """Places of the symbols that ciphers exchange: a to z, or all if symbols are no characters (LI section 3.3)."""
    if texts.characters is None:
        return np.arange(texts.num_symbols)
    return np.array([texts.characters.index(letter) for letter in ALPHABETS["letters"].strip()])


def configuration(kind: str, num_symbols: int, sizes: Mapping[str, Any]) -> PreTrainedConfig:
    """The configuration of a kind of model, with the fields `model` of the sizes, and `identity` for that kind."""
    fields = {**sizes["model"], **KINDS[kind], **(sizes.get("identity", {}) if kind == "identity" else {})}
    family = CONFIG_MAPPING["symbol_invariant"]
    return family.from_preset("lexinvariant", base_vocab_size=len(BASE_TOKENS), num_symbols=num_symbols, **fields)


def as_read(kind: str, texts: np.ndarray, num_symbols: int) -> np.ndarray:
    """Texts (N, T) as a kind of model reads them: a canonical one numbers their symbols by their first occurrence."""
    return by_first_occurrence(texts, num_symbols)[0].astype(texts.dtype) if kind == "canonical" else texts


def renamed_in_part(texts: np.ndarray, num_symbols: int) -> np.ndarray:
    """Texts (N, T) in which each token is renamed with a probability of 0.2, by a permutation drawn for each text.

    Source: LI appendix G, B_p(x, π).
    """
    permutations = torch.rand(len(texts), num_symbols).argsort(1).numpy()
    moved = (torch.rand(texts.shape) < RENAMED_SHARE).numpy()
    return np.where(moved, np.take_along_axis(permutations, texts, 1), texts)


def collate(rows: Sequence[np.ndarray], renamed_of: int | None = None) -> dict[str, torch.Tensor]:
    """Texts as the model's input, ids (N, T + 1), which are its labels too.

    Args:
        rows: The texts.
        renamed_of: V, to rename their tokens in part; None to leave them.
    """
    texts = np.stack(rows).astype(np.int64)
    ids = torch.from_numpy(symbol_ids(texts if renamed_of is None else renamed_in_part(texts, renamed_of)))
    return {"input_ids": ids, "labels": ids}


def trained(job: Job, name: str, kind: str, texts: Texts) -> PreTrainedModel:
    """The model of a kind for a language, in evaluation mode; all experiments of the family share it.

    Raises:
        OutOfTimeError: If there was no time to finish; the next call goes on.
    """
    sizes = job.sizes["languages"][name]
    folder = job.shared / "models" / f"{name}-{kind}-seed{job.seed}"
    set_seed(job.seed)
    model = AutoModelForCausalLM.from_config(configuration(kind, texts.num_symbols, sizes))
    job.time_left()
    job.say(f"model {folder.name}: {sizes['trainer']['max_steps']} steps, {model.num_parameters():,} parameters")
    arguments: dict[str, Any] = {**sizes["trainer"], "seed": job.seed}
    options: dict[str, Any] = {}
    if arguments.get("optim") == "adafactor":  # steps relative to the weights' size, without which 0.01 is far too much
        kept = {"lr": arguments["learning_rate"], "scale_parameter": True, "relative_step": False}
        options["optimizer_cls_and_kwargs"] = (Adafactor, kept)
    if texts.characters is not None:
        options["words"] = words(texts.characters)
    read = Rows(as_read(kind, texts.train, texts.num_symbols))
    collator = functools.partial(collate, renamed_of=texts.num_symbols) if kind == "regularised" else collate
    job.train(model, folder, arguments, train_dataset=read, data_collator=collator, **options)
    return model.to("cuda" if torch.cuda.is_available() else "cpu").eval()


class Rows(torch.utils.data.Dataset):
    """The rows of an array as a data set."""

    def __init__(self, rows: np.ndarray) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> np.ndarray:
        return np.asarray(self.rows[index])


def batches(texts: np.ndarray, size: int, device: torch.device) -> Iterator[torch.Tensor]:
    """Ids (size, T + 1), the last batch perhaps smaller."""
    for start in range(0, len(texts), size):
        yield torch.from_numpy(symbol_ids(texts[start : start + size])).to(device)


@torch.inference_mode()
def losses_by_place(
    model: PreTrainedModel, kind: str, texts: np.ndarray, *, batch_size: int, seed: int, num_draws: int = 1
) -> np.ndarray:
    """−log p(x_t | x_1 … x_t−1), (N, T).

    Streams and canonical models predict that a new symbol comes, not which: those that have not occurred yet are
    equally likely.

    Args:
        model: In evaluation mode.
        kind: Of `KINDS`.
        texts: Places in the alphabet, (N, T).
        batch_size: Rows at a time.
        seed: Of the embeddings.
        num_draws: Embeddings of each row, over which its probabilities are averaged.
    """
    torch.manual_seed(seed)
    found, which = [], np.zeros(texts.shape)
    if kind in ("canonical", "streams"):
        texts, which = by_first_occurrence(texts, model.config.num_symbols)
    for ids in batches(texts, batch_size, model.device):
        logits = model(input_ids=ids, num_draws=num_draws).logits[:, :-1].float()
        found.append(nn.functional.cross_entropy(logits.transpose(1, 2), ids[:, 1:], reduction="none").cpu())
    return torch.cat(found).double().numpy() + which


def by_first_occurrence(texts: np.ndarray, num_symbols: int) -> tuple[np.ndarray, np.ndarray]:
    """Texts (N, T) with their symbols numbered in the order of their first occurrence, which streams do not notice.

    The next new symbol is then the smallest that has not occurred, where the logits of streams have it. Also
    returns −log of the chance to guess which symbol each new one is, (N, T), of those that have not occurred; 0 at
    other places.
    """
    is_symbol = texts[:, :, None] == np.arange(num_symbols)  # (N, T, V)
    first = np.where(is_symbol.any(1), is_symbol.argmax(1), texts.shape[1])  # (N, V)
    is_new = np.take_along_axis(first, texts, 1) == np.arange(texts.shape[1])
    left = num_symbols - (is_new.cumsum(1) - is_new)
    return np.take_along_axis(first.argsort(1).argsort(1), texts, 1), np.where(is_new, np.log(np.maximum(left, 1)), 0.0)


@torch.inference_mode()
def solved(
    model: PreTrainedModel, puzzles: Sequence[Puzzle], characters: str, *, batch_size: int, seed: int
) -> dict[str, Any]:
    """How many symbols of the answers a model generates greedily in their places, `correct` of `count`.

    Args:
        model: In evaluation mode.
        puzzles: With prompts of one length and answers of one length.
        characters: The alphabet.
        batch_size: Puzzles at a time.
        seed: Of the embeddings.
    """
    torch.manual_seed(seed)
    answers = encode(["".join(puzzle.answer) for puzzle in puzzles], characters)[:, 1:]
    prompts = encode([puzzle.prompt for puzzle in puzzles], characters)[:, 1:] - len(BASE_TOKENS)
    new = 2 * answers.shape[1] - 1  # a blank between two
    found = [
        model.generate(ids, min_new_tokens=new, max_new_tokens=new, do_sample=False)[:, ids.shape[1] :: 2].cpu().numpy()
        for ids in batches(prompts, batch_size, model.device)
    ]
    return {"correct": int((np.concatenate(found) == answers).sum()), "count": int(answers.size)}
