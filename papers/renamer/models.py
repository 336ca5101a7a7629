"""Models of the Renamer experiments: their data, how they are trained, and what they predict.

A **kind** is a model with what its inputs go through: `vanilla`, `augmented` (vanilla, trained on one renamed copy of
the data), `canonicalised` (vanilla, with every input in its canonical form), `renamer` (views, and a first layer that
attends between coreferent tokens only) and `streams` (one stream per register or variable, which the paper has not).
All read the same tokens and have the same sizes, but for the embedding rows and the aggregated attention of streams.
As the scales have it, vanilla is BERT without a change, and the others have its layers: a LayerNorm of embeddings, its
first weights, and its pooler on the token `<s>` with which every sequence begins.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations, product
from typing import Any

import datasets
import torch
from transformers import CONFIG_MAPPING, AutoModelForSequenceClassification, PreTrainedConfig, PreTrainedModel

from hf_symbinv.datasets_scripts.errors import WorkFolderError
from hf_symbinv.errors import InUseError
from hf_symbinv.logic.referents import SymbolIds, random_renaming
from hf_symbinv.training.run import STATE
from hf_symbinv.training.sequences import SequenceCollator
from papers.harness.experiments import Job, MissingDataError
from papers.renamer import basic_blocks, derivatives, expressions, x86, x86_tokens

BLOCKS = "HF_SYMBINV_BLOCKS"
# Kind → what is its own of the configuration.
KINDS: dict[str, dict[str, Any]] = {
    "vanilla": {"symbol_embedding": "learned", "components": ["EP"]},
    "augmented": {"symbol_embedding": "learned", "components": ["EP"]},
    "canonicalised": {"symbol_embedding": "learned", "components": ["EP"]},
    "renamer": {"symbol_embedding": "views", "components": ["EP"]},
    "streams": {"symbol_embedding": "streams", "components": ["EP", "EA"]},
}


@dataclass(frozen=True)
class Language:
    """The tokens of a task, and which of its symbols may trade names.

    Attributes:
        read: A text → the ids of its tokens, `<s>` before them.
        ids: Of its tokens.
        num_symbols: Referents that exist.
        pad: The id of padding.
        groups: From the ids of a sequence the sets of referents that may trade names.
        targets: Fields of the configuration that say what is predicted.
        words: What makes the tokenizer that is saved with models.
    """

    read: Callable[[str], list[int]]
    ids: SymbolIds
    num_symbols: int
    pad: int
    groups: Callable[[Sequence[int]], Sequence[Sequence[int]]]
    targets: Mapping[str, Any]
    words: Mapping[str, Any]

    def canonical(self, ids: Sequence[int]) -> list[int]:
        """The canonical form of a sequence."""
        return self.ids.rename(ids, self.ids.canonical_renaming(ids, self.groups(ids)))

    def renamed(self, ids: Sequence[int], generator: random.Random) -> list[int]:
        """A random renaming of a sequence."""
        return self.ids.rename(ids, random_renaming(self.groups(ids), generator))

    def all_renamings(self, ids: Sequence[int]) -> list[list[int]]:
        """Every renaming of a sequence, once."""
        seen = {self.ids.parts(token)[0] for token in ids} - {-1}
        used = [[referent for referent in group if referent in seen] for group in self.groups(ids)]
        found = []
        for choice in product(
            *(permutations(group, len(old)) for group, old in zip(self.groups(ids), used, strict=True))
        ):
            new = {a: b for olds, news in zip(used, choice, strict=True) for a, b in zip(olds, news, strict=True)}
            found.append(self.ids.rename(ids, [new.get(referent, 0) for referent in range(self.num_symbols)]))
        return found

    def renamed_copies(self, sequences: Iterable[Sequence[int]]) -> list[list[int]]:
        """A random renaming of each sequence, always the same ones."""
        return [self.renamed(ids, random.Random(place)) for place, ids in enumerate(sequences)]

    def seen_by(self, kind: str, ids: Sequence[int]) -> Sequence[int]:
        """What a kind of model sees of a sequence."""
        return self.canonical(ids) if kind == "canonicalised" else ids

    def rows_for(self, kind: str, rows: datasets.Dataset, *, training: bool = False) -> datasets.Dataset:
        """Rows with `input_ids` and `labels` as a kind of model sees them.

        In training `augmented` has one renamed copy of the data, in every epoch and with every seed the same.

        Source: Renamer, section 5.2.
        """
        if kind == "augmented" and training:
            seen: list[Sequence[int]] = list(self.renamed_copies(rows["input_ids"]))
        else:
            seen = [self.seen_by(kind, ids) for ids in rows["input_ids"]]
        return datasets.Dataset.from_dict({"input_ids": seen, "labels": rows["labels"]})

    def encoded(self, rows: datasets.Dataset) -> datasets.Dataset:
        """Rows with a `text`, and its ids as `input_ids` instead."""
        others = rows.remove_columns(["text", *({"input_ids"} & set(rows.column_names))])
        return others.add_column("input_ids", [self.read(text) for text in rows["text"]])

    def config(self, kind: str, sizes: Mapping[str, Any]) -> PreTrainedConfig:
        """The configuration of a kind of model.

        Args:
            kind: Of `KINDS`.
            sizes: A `preset`, which is `renamer-tiny` if it is absent, and fields that differ from it.
        """
        fields = {"preset": "renamer-tiny", **sizes, **KINDS[kind], **self.targets}
        return CONFIG_MAPPING["symbol_invariant"].from_preset(
            fields.pop("preset"),
            base_vocab_size=self.ids.base,
            num_symbols=self.num_symbols,
            num_views=self.ids.views,
            **fields,
        )


def assembly(vocabulary: x86_tokens.Vocabulary) -> Language:
    """Basic blocks, whose cycles are predicted."""
    begin = vocabulary.base_tokens.index("<s>")
    return Language(
        lambda text: [begin, *x86.Block.parse(text).ids(vocabulary)],
        vocabulary.symbol_ids, len(vocabulary.referents), x86.PAD, vocabulary.interchangeable,
        {"num_labels": 1, "problem_type": "regression", "regression_loss": "mape"},
        {**vocabulary.words(), "add_bos_token": True},
    )  # fmt: skip


def algebra(vocabulary: expressions.Vocabulary) -> Language:
    """Pairs of expressions, one of which is the derivative of the other or not."""
    begin = vocabulary.base_tokens.index("<s>")
    return Language(
        lambda text: [begin, *vocabulary.ids_of(text)],
        vocabulary.symbol_ids, len(expressions.SYMBOLS), expressions.PAD, lambda ids: expressions.INTERCHANGEABLE,
        {"num_labels": 2, "problem_type": "single_label_classification"},
        {**vocabulary.words(), "add_bos_token": True},
    )  # fmt: skip


def block_data(job: Job, splitting: str) -> tuple[Language, datasets.DatasetDict]:
    """Blocks in three splits, with `input_ids` and `labels`, as many as the scale asks for, and their language.

    Args:
        job: Its sizes say `source` (`sample`, or absent: the user's own), `max_tokens`, `rows`, `held_out`,
            `rename_rsp`, and with `own_constants` whether constants of the training rows have tokens of their own.
        splitting: `random` or `disjoint`.

    Raises:
        MissingDataError: If the user has to name the blocks.
    """
    sizes = job.sizes["data"]
    source = str(basic_blocks.sample_file()) if sizes.get("source") == "sample" else os.environ.get(BLOCKS, "")
    if not source:
        raise MissingDataError(
            f"{BLOCKS} is not set; let it name labelled basic blocks: a table with text and cycles (.tsv, .tsv.xz), a "
            "folder that papers.renamer.basic_blocks wrote, or a data set on the Hub. Where LLVM is installed, "
            "`python -m papers.renamer.basic_blocks --draw 20000 --output FOLDER` makes a folder"
        )
    folder = job.shared / f"blocks-{splitting}"
    fresh, origin = not folder.exists(), f"--blocks {basic_blocks.origin_of(source)}"
    try:
        kept = basic_blocks.prepare(
            basic_blocks.read_blocks(source), folder, origin=origin, splitting=splitting,
            max_tokens=sizes["max_tokens"], rename_rsp=sizes["rename_rsp"],
        )  # fmt: skip
    except basic_blocks.BlocksError as error:
        raise MissingDataError(f"{BLOCKS}: {error}") from error
    except InUseError:
        raise
    except WorkFolderError as error:
        raise MissingDataError(f"{BLOCKS}={source}: {error}, or name the blocks that are there") from error
    if fresh:
        job.say(f"data {kept}")
    blocks = basic_blocks.load_blocks(folder).select_columns(["text", "cycles"]).rename_column("cycles", "labels")
    data = _parts(blocks.cast_column("labels", datasets.Value("float32")), sizes, ("validation", "test"))
    constants = x86.own_constants(data["train"]["text"]) if sizes["own_constants"] else ()
    return _encoded(assembly(x86_tokens.Vocabulary(sizes["rename_rsp"], constants)), data)


def derivative_data(job: Job) -> tuple[Language, datasets.DatasetDict]:
    """Pairs of expressions in four splits, with `input_ids`, `labels` and `coefficients`, and their language."""
    sizes, folder = job.sizes["data"], job.shared / "derivatives"
    if not folder.exists():
        job.say(f"data {folder.name}: {', '.join(f'{name} {value}' for name, value in sizes.items())}")
    config = derivatives.DerivativesConfig(**sizes)
    derivatives.prepare(config, folder)
    data = _parts(derivatives.load_derivatives(folder), sizes, ("validation", "test", "extended"))
    return _encoded(algebra(expressions.Vocabulary(config.functions)), data.rename_column("label", "labels"))


def _encoded(language: Language, data: datasets.DatasetDict) -> tuple[Language, datasets.DatasetDict]:
    return language, datasets.DatasetDict({split: language.encoded(rows) for split, rows in data.items()})


def _parts(data: datasets.DatasetDict, sizes: Mapping[str, Any], held_out: Sequence[str]) -> datasets.DatasetDict:
    counts = {"train": sizes["rows"], **dict.fromkeys(held_out, sizes["held_out"])}
    return datasets.DatasetDict(
        {
            split: data[split].shuffle(seed=0).select(range(min(rows, len(data[split]))))
            for split, rows in counts.items()
        }
    )


def sized(job: Job) -> tuple[Job, str]:
    """The job with what its row changes of the sizes, and what this adds to the names of models.

    A row's `size` names an entry of the sizes' `sizes`, with fields of `model` and `trainer`.
    """
    size = job.values.get("size")
    if size is None:
        return job, ""
    own = {part: {**job.sizes[part], **job.sizes["sizes"][size].get(part, {})} for part in ("model", "trainer")}
    return replace(job, sizes={**job.sizes, **own}), f"-{size}"


def trained(job: Job, language: Language, kind: str, data: datasets.DatasetDict, name: str) -> PreTrainedModel:
    """A model as it was when its validation error was lowest; trains it, goes on, or only loads it.

    Args:
        job: Its sizes say `model` and `trainer`.
        language: Of the data.
        kind: Of `KINDS`.
        data: With the splits `train` and `validation`.
        name: Of the data, which experiments share.

    Raises:
        OutOfTimeError: If there was no time to finish.
    """
    torch.manual_seed(job.seed)
    model = AutoModelForSequenceClassification.from_config(language.config(kind, job.sizes["model"]))
    folder = job.shared / "runs" / f"{name}-{kind}_seed{job.seed}"
    arguments = {**job.sizes["trainer"], "seed": job.seed, "remove_unused_columns": False}
    arguments |= {"load_best_model_at_end": True, "metric_for_best_model": "loss", "greater_is_better": False}
    if not (folder / STATE).is_file():
        job.say(f"run {folder.name}: {arguments['max_steps']} steps")
    job.train(
        model,
        folder,
        arguments,
        train_dataset=language.rows_for(kind, data["train"], training=True),
        eval_dataset=language.rows_for(kind, data["validation"]),
        data_collator=SequenceCollator(language.pad),
        words=language.words,
    )
    return model.eval()


def validation_curve(job: Job, kind: str, name: str) -> list[tuple[int, float]]:
    """(step, validation loss) of a model that was trained."""
    state = job.shared / "runs" / f"{name}-{kind}_seed{job.seed}" / STATE
    log = json.loads(state.read_text(encoding="utf-8"))["log_history"]
    return [(entry["step"], entry["eval_loss"]) for entry in log if "eval_loss" in entry]


@torch.inference_mode()
def outputs_of(
    model: PreTrainedModel, language: Language, kind: str, sequences: Sequence[Sequence[int]], batch_size: int
) -> torch.Tensor:
    """The logits (N, labels) of sequences, in batches of neighbours.

    Args:
        model: In evaluation mode.
        language: Of the sequences.
        kind: Of `KINDS`: what the model sees of them.
        sequences: Token ids.
        batch_size: Sequences at a time.
    """
    collator, found = SequenceCollator(language.pad), []
    for start in range(0, len(sequences), batch_size):
        batch = collator([{"input_ids": language.seen_by(kind, ids)} for ids in sequences[start : start + batch_size]])
        found.append(model(**{name: tensor.to(model.device) for name, tensor in batch.items()}).logits.float().cpu())
    return torch.cat(found)


def percentage_errors(predicted: torch.Tensor, true: torch.Tensor) -> torch.Tensor:
    """Absolute errors (N,) in percent of the true values.

    Args:
        predicted, true: (N,); the true values are not 0.
    """
    return 100 * ((predicted - true).abs() / true.abs()).double()


def mape(predicted: torch.Tensor, true: torch.Tensor) -> float:
    """The mean absolute percentage error of `predicted` (N,), in percent.

    Source: Renamer, appendix C, divided by the number of blocks.
    """
    return float(percentage_errors(predicted, true).mean())
