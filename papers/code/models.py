"""Models that point at bugs of Python functions: how each is trained, and which rows of the test it has right.

A **kind** is what a model sees of variables: `streams`, a symbol each; `canonical`, the first, the second, ... symbol;
`names`, their names by byte pairs, as ordinary models of code; `renamed`, these too, but under other names in every
step; `legend`, streams, and in half of the steps the names too, in lines before the function.

A row is **right** if a bug is found, and, of a misused variable, the right variable too; or if the model says that
there is none, and there is none.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
from transformers import CONFIG_MAPPING, AutoModelForTokenClassification, AutoTokenizer, PreTrainedModel, set_seed

import hf_symbinv
from papers.code.bug_finding import BugFindingConfig, load_bugs, prepare
from papers.code.columns import ADVERSARIAL, FALSE, FOUND, MINIFIED, PLACED, RANDOM, REPAIRED, USUAL
from papers.code.reading import IMPOSSIBLE, PLACE, REMEDY, RIGHT, Encoded, Reader, marks_of, pointers
from papers.code.row_names import at_random, minified, names_in
from papers.code.training import Batches, BugTrainer
from papers.harness.experiments import Job, Result
from papers.harness.measures import Measure

Row = Mapping[str, Any]
# As a source: the files of this package.
PACKAGE = "hf_symbinv"


@dataclass(frozen=True)
class Kind:
    """What a model sees of variables.

    Attributes:
        embedding: `SymbolInvariantConfig.symbol_embedding`.
        names: `Reader.names` in the test.
        trained: The same in training, one of them in each step.
        is_renamed: Whether each step has other names.
    """

    embedding: str
    names: str
    trained: tuple[str, ...]
    is_renamed: bool = False


KINDS = {
    "streams": Kind("streams", "hidden", ("hidden",)),
    "canonical": Kind("canonical", "hidden", ("hidden",)),
    "names": Kind("learned", "text", ("text",)),
    "renamed": Kind("learned", "text", ("text",), is_renamed=True),
    "legend": Kind("streams", "legend", ("hidden", "legend")),
    "legend off": Kind("streams", "hidden", ("hidden", "legend")),
}


def prepared(job: Job) -> Path:
    """The folder of the data, which all rows of a table share."""
    options = dict(job.sizes["data"])
    if options.get("source") == PACKAGE:
        options["source"] = str(Path(hf_symbinv.__file__).parent)
    config = BugFindingConfig(bug=job.values["bug"], **options)
    folder = job.shared / config.bug
    job.time_left()
    job.say(prepare(config, folder))
    return folder


def reader_of(names: str, folder: Path, train: Sequence[Row], vocab_size: int) -> Reader:
    """What turns rows into tokens: the tokenizer beside the data, or for names one that learnt from the same texts."""
    if names == "text":
        return Reader.of_text([row["text"] for row in train], vocab_size)
    return Reader(AutoTokenizer.from_pretrained(folder), names)


def fresh(kind: Kind, reader: Reader, sizes: Mapping[str, Any]) -> PreTrainedModel:
    """A model with fresh weights; `sizes` are fields of all kinds, and under `kinds` those of some embeddings."""
    fields = {name: value for name, value in sizes.items() if name != "kinds"}
    fields |= sizes.get("kinds", {}).get(kind.embedding, {})
    return AutoModelForTokenClassification.from_config(
        CONFIG_MAPPING["symbol_invariant"](
            base_vocab_size=reader.tokenizer.vocab_size, symbol_embedding=kind.embedding, decoder_layers=0,
            num_labels=2, **fields,
        )
    )  # fmt: skip


def measure(job: Job) -> dict[Measure, Result]:
    """Trains a kind of model, and counts the rows of the test that it has right under each kind of names."""
    kind = KINDS[job.values["model"]]
    folder = prepared(job)
    data, vocab_size = load_bugs(folder), job.sizes["data"].get("vocab_size", BugFindingConfig().vocab_size)
    train = data["train"].to_list()
    pool = names_in(train)
    readers = {names: reader_of(names, folder, train, vocab_size) for names in {*kind.trained, kind.names}}
    set_seed(job.seed)
    model = fresh(kind, readers[kind.names], job.sizes["model"])
    arguments = {**job.sizes["trainer"], "seed": job.seed, "remove_unused_columns": False}
    # Kinds that differ only in the test share a model.
    trained = "legend" if job.values["model"] == "legend off" else job.values["model"]
    job.say(f"  {arguments['max_steps']} steps, {model.num_parameters():,} parameters")
    batches = Batches([readers[one] for one in kind.trained], pool if kind.is_renamed else ())
    job.train(
        model, job.shared / f"{job.values['bug']}-{trained}-seed{job.seed}", arguments, trainer_class=BugTrainer,
        train_dataset=train, data_collator=batches,
    )  # fmt: skip
    return judged(model.eval(), readers[kind.names], data["test"].to_list(), pool, job)


def judged(
    model: PreTrainedModel, reader: Reader, rows: list[Row], pool: Sequence[str], job: Job
) -> dict[Measure, Result]:
    """The numbers of a trained model."""
    sizes, draw = job.sizes["test"], random.Random(f"names {job.seed}")
    rows = rows[: sizes["rows"]]
    found: dict[Measure, Result] = {}
    answer = Answers(model, reader, sizes["batch"])
    usual = answer(rows)
    found[USUAL] = _share(verdict.is_right for verdict in usual)
    bugs = [verdict for verdict in usual if verdict.has_bug]
    found[PLACED] = _share(verdict.place for verdict in bugs)
    if job.values["bug"] == "misuse":
        found[REPAIRED] = _share(verdict.remedy for verdict in bugs)
        found[FOUND] = _share(verdict.place and verdict.remedy for verdict in bugs)
    found[FALSE] = _share(not verdict.place for verdict in usual if not verdict.has_bug)
    found[RANDOM] = _share(verdict.is_right for verdict in answer([at_random(row, pool, draw) for row in rows]))
    found[MINIFIED] = _share(verdict.is_right for verdict in answer([minified(row) for row in rows]))
    attacked = rows[: sizes["attacked"]]
    always = [True] * len(attacked)
    for _ in range(sizes["renamings"]):
        verdicts = answer([at_random(row, pool, draw) for row in attacked])
        always = [so_far and verdict.is_right for so_far, verdict in zip(always, verdicts, strict=True)]
    found[ADVERSARIAL] = _share(always)
    return found


def _share(rights: Iterable[bool]) -> Result:
    rights = list(rights)
    return {"correct": sum(rights), "count": len(rights)}


class Verdict(NamedTuple):
    """What is right of an answer.

    Attributes:
        has_bug: Whether there is one.
        place, remedy: Whether the pointers are right; without a bug the second always is.
    """

    has_bug: bool
    place: bool
    remedy: bool

    @property
    def is_right(self) -> bool:
        return self.place and self.remedy


class Answers:
    """A model's answers to rows, which are asked once for each that it sees as the same tokens.

    Args:
        model: In evaluation mode.
        reader: Its own.
        batch: Rows at a time.
    """

    def __init__(self, model: PreTrainedModel, reader: Reader, batch: int) -> None:
        self.model, self.reader, self.batch = model, reader, batch
        self._known: dict[tuple[int, tuple[int, ...]], Verdict] = {}

    def __call__(self, rows: Sequence[Row]) -> list[Verdict]:
        """The verdict on each row; the first rows of all calls are the same but for names, and so on."""
        encoded = self.reader.encode([row["text"] for row in rows], [marks_of(row) for row in rows])
        keys = [(index, tuple(one.ids)) for index, one in enumerate(encoded)]
        new = [index for index, key in enumerate(keys) if key not in self._known]
        new.sort(key=lambda index: (encoded[index].symbols, len(encoded[index].ids)))
        for first in range(0, len(new), self.batch):
            part = new[first : first + self.batch]
            for index, logits in zip(part, self._logits([encoded[index].ids for index in part]), strict=True):
                self._known[keys[index]] = verdict(rows[index], encoded[index], logits[: len(encoded[index].ids)])
        return [self._known[key] for key in keys]

    @torch.inference_mode()
    def _logits(self, ids: list[list[int]]) -> torch.Tensor:
        """Scores of the pointers, (B, L, 2)."""
        batch = self.reader.tokenizer.pad({"input_ids": ids}, return_tensors="pt").to(self.model.device)
        scores: torch.Tensor = self.model(**batch).logits
        return scores.float().cpu()


def verdict(row: Row, encoded: Encoded, logits: torch.Tensor) -> Verdict:
    """What is right of scores (L, 2) of the two pointers; a variable is as probable as all its occurrences together."""
    labels = torch.tensor(pointers(row, encoded))
    chosen = int(logits[:, PLACE].masked_fill(labels[:, PLACE] == IMPOSSIBLE, -torch.inf).argmax())
    place = bool(labels[chosen, PLACE] == RIGHT)
    if not row.get("right"):
        return Verdict(bool(row.get("arguments")), place, remedy=True)
    tokens = torch.tensor([encoded.token(symbol["start"]) for symbol in row["symbols"]])
    weights = defaultdict[str, float](float)
    for symbol, weight in zip(row["symbols"], logits[tokens, REMEDY].softmax(0).tolist(), strict=True):
        weights[symbol["name"]] += weight
    wrong, right = (row["symbols"][index]["name"] for index in (row["wrong"], row["right"][0]))
    weights[wrong] = -1.0
    return Verdict(has_bug=True, place=place, remedy=max(weights, key=weights.__getitem__) == right)
