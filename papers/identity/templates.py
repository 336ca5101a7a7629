"""Template tasks: strings of literals and wildcards, whose wildcards stand for symbols that no training row has.

    task = template_task("aba-abb")  # or a file, see below
    data = Templates(task="aba-abb", rows=1024)
    data.download_and_prepare()
    data.as_dataset()["train"][0]  # {"text": "s17 s4 s17", "label": 1.0, "template": 0}

and as a command that leaves a folder with Parquet files and a card:

    python -m papers.identity.templates --output data/aba-abb --task aba-abb --rows 1024

A row is a template whose wildcards were substituted, each by another symbol. The symbols of training, validation and
test are different ones, so that only rules are learned that do not depend on names. A task of one's own is a file:

    name: second-or-third
    wildcards: [a, b]
    templates:
      - {text: the a a b, label: 1}
      - {text: the a b a, label: -1, weight: 3}

Labels are numbers, or tokens: a wildcard stands for the symbol that substitutes it, a literal for itself. A template
with weight 3 is drawn three times as often as one with weight 1, which is what a template without a weight has.

Source: When can transformers reason with abstract symbols? (2024), sections 1.1.1, 3 and 4.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import math
import random
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

import datasets
import pyarrow

from hf_symbinv.datasets_scripts.errors import refuse
from hf_symbinv.datasets_scripts.folders import claimed
from hf_symbinv.datasets_scripts.storage import CARD, SPLITS, dataset_info, write_table
from hf_symbinv.errors import UserError, in_short
from hf_symbinv.files import path_here, write_atomically
from hf_symbinv.hub.cards.dataset import LICENSE, DataFile, size_category
from hf_symbinv.hub.cards.rendering import check_card
from hf_symbinv.values import read_yaml_file

CLS = "[CLS]"  # the last token of every string that a model reads, where it answers
SYMBOL = re.compile(r"s(\d+)")


class TemplateError(UserError):
    """A template task that makes no sense, or a string that does not belong to it."""


@dataclass(frozen=True)
class Template:
    """A string of literals and wildcards.

    Attributes:
        tokens: Its literals and wildcards.
        label: A number, a wildcard or a literal.
        weight: How often it is drawn, relative to the other templates of its task.
    """

    tokens: tuple[str, ...]
    label: float | str
    weight: float = 1.0


@dataclass(frozen=True)
class TemplateTask:
    """Templates of the same length, and which of their tokens are wildcards.

    Attributes:
        name: What it is called.
        wildcards: The tokens that are substituted.
        templates: In the order of their indices.

    Raises:
        TemplateError: If lengths or kinds of labels differ, a wildcard is in no template, a token has the name of a
            symbol, a weight is no positive number, or a string matches two templates with different labels.
    """

    name: str
    wildcards: frozenset[str]
    templates: tuple[Template, ...]

    def __post_init__(self) -> None:
        if not self.templates or not all(template.tokens for template in self.templates):
            raise TemplateError(f"{self.name}: has no templates, or one without tokens; give at least one token each")
        lengths = sorted({len(template.tokens) for template in self.templates})
        if len(lengths) > 1:
            raise TemplateError(
                f"{self.name}: templates of {' and '.join(map(str, lengths))} tokens; give all the same length, "
                "where needed with a literal that fills up"
            )
        if len({isinstance(template.label, str) for template in self.templates}) > 1:
            raise TemplateError(f"{self.name}: some labels are numbers and some are tokens; use one kind")
        used = {token for template in self.templates for token in template.tokens}
        if unused := sorted(self.wildcards - used):
            raise TemplateError(f"{self.name}: wildcard {unused[0]!r} is in no template; use it or leave it out")
        for token in self.literals:
            if SYMBOL.fullmatch(token) or token == CLS:
                raise TemplateError(f"{self.name}: literal {token!r} is reserved for symbols and models; rename it")
        for index, template in enumerate(self.templates):
            if not 0 < template.weight < math.inf:
                raise TemplateError(f"{self.name}: weight {template.weight:g} of template {index} must be positive")
            if template.label in self.wildcards and template.label not in template.tokens:
                raise TemplateError(f"{self.name}: label {template.label!r} of template {index} is no wildcard of it")
        for (i, first), (j, second) in itertools.combinations(enumerate(self.templates), 2):
            if witness := conflict(first, second, self.wildcards):
                raise TemplateError(
                    f"{self.name}: templates {i} and {j} are not disjoint: {' '.join(witness)!r} matches "
                    f"{' '.join(first.tokens)!r} with label {first.label} and {' '.join(second.tokens)!r} with label "
                    f"{second.label}; change one of them"
                )

    @property
    def symbolic(self) -> bool:
        """Whether labels are tokens."""
        return isinstance(self.templates[0].label, str)

    @property
    def literals(self) -> tuple[str, ...]:
        """The tokens of templates and labels that are no wildcards, sorted."""
        labels = {template.label for template in self.templates if isinstance(template.label, str)}
        return tuple(sorted({token for template in self.templates for token in template.tokens}.union(labels)
                            - self.wildcards))  # fmt: skip

    @property
    def base_tokens(self) -> tuple[str, ...]:
        """The tokens with ids 0, 1, ... of a model: literals and `CLS`; the ids of symbols follow."""
        return (*self.literals, CLS)

    def wildcards_of(self, template: Template) -> tuple[str, ...]:
        """In the order of their first appearance."""
        return tuple(dict.fromkeys(token for token in template.tokens if token in self.wildcards))

    def substitute(self, template: Template, substitution: Mapping[str, str]) -> tuple[tuple[str, ...], float | str]:
        """The string and label that a template becomes."""
        label = template.label
        tokens = tuple(substitution.get(token, token) for token in template.tokens)
        return tokens, substitution.get(label, label) if isinstance(label, str) else label

    def diversity(self, symbols: int) -> float:
        """ρ of rows whose wildcards are substituted uniformly by that many symbols.

        `ρ = min over templates z and tokens t of 1 / P[t in s(W)]`, s being the substitution of z. A symbol is chosen
        with probability w / N for w wildcards and N symbols, so ρ is N over the most wildcards of a template.

        Source: Definition 4.2.
        """
        most = max(len(self.wildcards_of(template)) for template in self.templates)
        return symbols / most if most else float("inf")

    def token_ids(self, tokens: Sequence[str]) -> list[int]:
        """The ids of base tokens and symbols.

        Raises:
            TemplateError: If one is neither.
        """
        known = {token: index for index, token in enumerate(self.base_tokens)}
        ids = []
        for token in tokens:
            symbol = SYMBOL.fullmatch(token)
            if token not in known and symbol is None:
                raise TemplateError(f"{token!r}: neither a symbol such as s0 nor one of {', '.join(self.base_tokens)}")
            ids.append(known[token] if symbol is None else len(known) + int(symbol[1]))
        return ids


def conflict(first: Template, second: Template, wildcards: frozenset[str]) -> tuple[str, ...] | None:
    """A string that matches both templates with different labels; None if there is none.

    A string matches a template if it is the template with its wildcards substituted injectively by tokens that are not
    in the template (Definition 3.1). Two templates are disjoint if no string matches both (Definition 4.1); here they
    may overlap where their labels agree, because then there is still one label for each string.

    At every position both templates must become the same token. So positions are unified: tokens that must be equal are
    put together, and there is a common string unless two literals, two wildcards of one template, or a wildcard and a
    literal of its own template come together. In all common strings the same tokens are equal, so one is as good as
    another: symbols s0, s1, ... stand where no literal must.
    """
    if len(first.tokens) != len(second.tokens):
        return None
    sides = (first, second)

    def node(side: int, token: str) -> tuple[int, str]:
        return (side, token) if token in wildcards else (-1, token)

    group: dict[tuple[int, str], set[tuple[int, str]]] = {}
    for pair in zip(first.tokens, second.tokens, strict=True):
        left, right = (node(side, token) for side, token in enumerate(pair))
        merged = group.get(left, {left}) | group.get(right, {right})
        group.update(dict.fromkeys(merged, merged))
    for members in group.values():
        of = {side: [token for where, token in members if where == side] for side in (-1, 0, 1)}
        if any(len(tokens) > 1 for tokens in of.values()):
            return None
        if of[-1] and any(of[side] and of[-1][0] in sides[side].tokens for side in (0, 1)):
            return None
    names: dict[int, str] = {}
    for members in group.values():
        literals = [token for side, token in members if side == -1]
        fresh = f"s{sum(SYMBOL.fullmatch(name) is not None for name in names.values())}"
        names.setdefault(id(members), literals[0] if literals else fresh)

    def value(side: int, token: float | str) -> float | str:
        members = group.get(node(side, token)) if isinstance(token, str) else None
        return token if members is None else names[id(members)]

    if value(0, first.label) == value(1, second.label):
        return None
    return tuple(str(value(0, token)) for token in first.tokens)


def _task(name: str, *templates: tuple[str, float | str]) -> TemplateTask:
    """A task whose wildcards are Greek letters."""
    found = tuple(Template(tuple(text.split()), label) for text, label in templates)
    tokens = {token for template in found for token in template.tokens}
    return TemplateTask(name, frozenset(tokens & set("αβγδ")), found)


def _majority(length: int) -> TemplateTask:
    """Whether the first token fills more than half of the positions; the other ones hold a second token.

    Of this task the paper only gives the case of length 3 with one repetition, and of longer ones only results.
    """
    texts = ["α " + " ".join(rest) for rest in itertools.product("αβ", repeat=length - 1)]
    return _task(f"majority-{length}", *((text, 1.0 if 2 * text.count("α") > length else -1.0) for text in texts))


_GIVES = "If α gives β {} γ , how many γ does β have ?"
_PRINT = 'α = " γ " ; β = " δ " ; print ( {} )'
# Sections 1.1.1 and 5, Figures 1, 2 and 5.
_TASKS: dict[str, tuple[tuple[str, float | str], ...]] = {
    "same-different": (("α α", 1.0), ("α β", -1.0)),
    "aba-abb": (("α β α", 1.0), ("α β β", -1.0)),
    "aabb-abab": (("α α β β", 1.0), ("α β α β", -1.0)),
    "first-in-majority": (("α α β", 1.0), ("α β α", 1.0), ("β α α", -1.0)),
    "print-variable": (("α = 1 ; β = -1 ; print ( α )", 1.0), ("α = 1 ; β = -1 ; print ( β )", -1.0)),
    "gives-5": ((_GIVES.format("5"), 5.0),),
    "copy": (("α", "α"),),
    "print": (('print ( " α " )', "α"),),
    "print-value": ((_PRINT.format("α"), "γ"), (_PRINT.format("β"), "δ")),
    "gives": ((_GIVES.format("δ"), "δ"),),
}
NAMES = (*_TASKS, "majority-2", "majority-4", "majority-6", "majority-8")


def template_task(name: str) -> TemplateTask:
    """A task by its name in `NAMES`, or from a YAML file.

    Raises:
        TemplateError: If there is none, the file has other keys than it should, or the templates make no sense.
    """
    if name in NAMES:
        return _built_in(name)
    path = Path(name)
    if not path.is_file():
        raise TemplateError(f"task={name!r}: neither a file nor one of {', '.join(NAMES)}")
    content = read_yaml_file(path, TemplateError)
    if not isinstance(content, dict) or set(content) != {"name", "wildcards", "templates"}:
        raise TemplateError(f"{path}: must have the keys name, wildcards and templates, and no others")
    for key in ("wildcards", "templates"):
        if not isinstance(content[key], list):
            raise TemplateError(f"{path}: {key} must be a list, not {in_short(content[key])}")
    return TemplateTask(
        str(content["name"]),
        frozenset(map(str, content["wildcards"])),
        tuple(_read_template(path, index, entry) for index, entry in enumerate(content["templates"])),
    )


@cache
def _built_in(name: str) -> TemplateTask:
    return _task(name, *_TASKS[name]) if name in _TASKS else _majority(int(name.removeprefix("majority-")))


def _is_finite(value: Any) -> bool:
    """Whether a value is a number that is neither infinite nor NaN, and an integer no larger than any float."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def _read_template(path: Path, index: int, entry: Any) -> Template:
    if not isinstance(entry, dict) or set(entry) - {"weight"} != {"text", "label"}:
        raise TemplateError(
            f"{path}: template {index} must have the keys text and label, may have weight, and no others: "
            f"{in_short(entry)}"
        )
    label, weight = entry["label"], entry.get("weight", 1.0)
    if not isinstance(label, str) and not _is_finite(label):
        raise TemplateError(
            f"{path}: label {in_short(label)} of template {index} is neither a number nor a token; quote it"
        )
    if not _is_finite(weight):
        raise TemplateError(f"{path}: weight {in_short(weight)} of template {index} must be a positive number")
    return Template(tuple(str(entry["text"]).split()), label if isinstance(label, str) else float(label), float(weight))


@dataclass
class TemplatesConfig(datasets.BuilderConfig):
    """What rows are drawn.

    Args:
        task: A name in `NAMES`, or a YAML file.
        rows: Of training.
        symbols: Of training; None for as many as rows, as in the paper's figures.
        evaluation_rows, evaluation_symbols: Of validation, and of test, which has others.
        noise: Standard deviation of what is added to the labels of training rows, which must be numbers.
        seed: Of the draws.
    """

    task: str = "same-different"
    rows: int = 1024
    symbols: int | None = None
    evaluation_rows: int = 1000
    evaluation_symbols: int = 100
    noise: float = 0.0
    seed: int = 0

    def alphabets(self) -> dict[str, range]:
        """The numbers of each split's symbols.

        Raises:
            TemplateError: If there are fewer symbols than wildcards in a template, no rows, or noise for tokens.
        """
        task = template_task(self.task)
        if not 0 <= self.noise < math.inf:
            raise TemplateError(f"noise={self.noise}: must be a number of at least 0")
        if self.noise and task.symbolic:
            raise TemplateError(f"noise={self.noise}: the labels of {task.name} are tokens; leave noise out")
        needed = max(len(task.wildcards_of(template)) for template in task.templates)
        train = self.rows if self.symbols is None else self.symbols
        for name, value, least in (
            ("rows", self.rows, 1), ("evaluation_rows", self.evaluation_rows, 1),
            ("symbols", train, needed), ("evaluation_symbols", self.evaluation_symbols, needed),
        ):  # fmt: skip
            if value < least:
                raise TemplateError(f"{name}={value}: {task.name} needs at least {least}")
        ends = [0, *itertools.accumulate((train, self.evaluation_symbols, self.evaluation_symbols))]
        return {split: range(*pair) for split, pair in zip(SPLITS, itertools.pairwise(ends), strict=True)}

    def vocab_size(self) -> int:
        """How many ids a model of this task must know: base tokens, and symbols of all splits."""
        return len(template_task(self.task).base_tokens) + self.alphabets()["test"].stop

    def options(self) -> dict[str, Any]:
        """The fields that choose the data."""
        inherited = {item.name for item in fields(datasets.BuilderConfig)}
        return {item.name: getattr(self, item.name) for item in fields(self) if item.name not in inherited}


def draw(task: TemplateTask, rows: int, symbols: range, seed: str, noise: float = 0.0) -> Iterator[dict[str, Any]]:
    """Rows `text`, `label` and `template`: templates by their weights, and uniformly one of their substitutions.

    Source: Definition 3.2.

    Args:
        task: What is drawn from.
        rows, symbols, seed: How many rows, with which symbols, from which start.
        noise: Standard deviation of what is added to labels. The strings are those without noise.
    """
    rng, noises = random.Random(seed), random.Random(f"{seed} noise")
    weights = [template.weight for template in task.templates]
    uniform = len(set(weights)) == 1
    for _ in range(rows):
        index = rng.randrange(len(weights)) if uniform else rng.choices(range(len(weights)), weights)[0]
        template = task.templates[index]
        wildcards = task.wildcards_of(template)
        chosen = [f"s{number}" for number in rng.sample(symbols, len(wildcards))]
        tokens, label = task.substitute(template, dict(zip(wildcards, chosen, strict=True)))
        if noise and not isinstance(label, str):
            label += noises.gauss(0, noise)
        yield {"text": " ".join(tokens), "label": label, "template": index}


def drawn(config: TemplatesConfig) -> dict[str, list[dict[str, Any]]]:
    """Split → its rows, drawn as the options say."""
    task, found = template_task(config.task), {}
    for split, symbols in config.alphabets().items():
        rows, noise = (config.rows, config.noise) if split == "train" else (config.evaluation_rows, 0.0)
        found[split] = list(draw(task, rows, symbols, f"{config.seed} {split}", noise))
    return found


def encoded(task: TemplateTask, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """`input_ids` and `labels` as the models of transformers take them.

    With numbers for labels the ids are those of the text and `CLS`: for a regression on the last token. With tokens the
    answer's id follows, and is the one label that is not -100: for a causal language model, which predicts it at `CLS`.
    """
    result: list[dict[str, Any]] = []
    for row in rows:
        ids = task.token_ids([*row["text"].split(), CLS])
        if task.symbolic:
            answer = task.token_ids([row["label"]])
            result.append({"input_ids": ids + answer, "labels": [-100] * len(ids) + answer})
        else:
            result.append({"input_ids": ids, "labels": float(row["label"])})
    return result


def _schema(task: TemplateTask) -> pyarrow.Schema:
    label = pyarrow.string() if task.symbolic else pyarrow.float32()
    return pyarrow.schema([("text", pyarrow.string()), ("label", label), ("template", pyarrow.int32())])


class Templates(datasets.GeneratorBasedBuilder):
    """A template task as a builder; keyword arguments are fields of `TemplatesConfig`."""

    VERSION = datasets.Version("1.0.0")
    BUILDER_CONFIG_CLASS = TemplatesConfig

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        task = template_task(kwargs.get("task", TemplatesConfig.task))
        # `datasets` looks neither at the code nor into a task's file to find its cache.
        digest = hashlib.sha256(Path(__file__).read_bytes() + repr(task.templates).encode()).hexdigest()
        kwargs.setdefault("hash", digest[:16])
        super().__init__(*args, **kwargs)
        self.config.alphabets()

    def _info(self) -> datasets.DatasetInfo:
        features = datasets.Features.from_arrow_schema(_schema(template_task(self.config.task)))
        return datasets.DatasetInfo(features=features, license=LICENSE)

    def _split_generators(self, dl_manager: datasets.DownloadManager) -> list[datasets.SplitGenerator]:
        return [datasets.SplitGenerator(name=split, gen_kwargs={"split": split}) for split in SPLITS]

    def _generate_examples(self, split: str) -> Iterator[tuple[int, dict[str, Any]]]:
        yield from enumerate(drawn(self.config)[split])


def write(config: TemplatesConfig, folder: Path) -> None:
    """Writes Parquet files and, last, the card; a folder that holds these data is left as it is.

    Raises:
        TemplateError: If the task makes no sense.
        WorkFolderError: If the folder cannot take the data.
    """
    task = template_task(config.task)
    templates = [[" ".join(template.tokens), template.label, template.weight] for template in task.templates]
    with claimed(folder, {"builder": "templates", **config.options(), "templates": templates}) as work:
        if work is None:
            return
        rows = drawn(config)
        (folder / "data").mkdir(exist_ok=True)
        paths = {split: [folder / "data" / f"{split}-00000-of-00001.parquet"] for split in rows}
        for split, content in rows.items():
            write_table(paths[split][0], pyarrow.Table.from_pylist(content, _schema(task)))
        write_atomically(folder / CARD, card(config, folder, paths))


def card(config: TemplatesConfig, folder: Path, paths: Mapping[str, Sequence[Path]]) -> str:
    """The card of data whose files are written."""
    from huggingface_hub import DatasetCardData

    task, alphabets = template_task(config.task), config.alphabets()
    metadata = DatasetCardData(
        license=LICENSE,
        pretty_name=f"Template task {task.name}",
        annotations_creators=["machine-generated"],
        task_categories=["text-generation" if task.symbolic else "text-classification"],
        tags=["template-task", "symbol-invariance"],
        size_categories=[size_category(config.rows + 2 * config.evaluation_rows)],
        dataset_info=dataset_info(_schema(task), paths),
        configs=[
            {
                "config_name": "default",
                "data_files": [{"split": split, "path": f"data/{split}-*.parquet"} for split in paths],
            }
        ],
    )
    options = {**config.options(), "task": Path(config.task).name, "symbols": len(alphabets["train"])}
    command = " ".join(f"--{name.replace('_', '-')} {value}" for name, value in options.items())
    lines = [
        f"# Template task {task.name}",
        "",
        "Strings made from templates whose wildcards were substituted by symbols, each wildcard by another one. No "
        "symbol occurs in two splits, so a model is tested on symbols that it was not trained on.",
        "",
        f"Data diversity of the training rows (ρ): {task.diversity(len(alphabets['train'])):g}",
        "",
        *([f"Normal noise with a standard deviation of {config.noise:g} is added to the labels of training rows.", ""]
          if config.noise else []),
        "| template | label | weight |", "|---|---|---:|",
        *(f"| `{' '.join(template.tokens)}` | {template.label} | {template.weight:g} |"
          for template in task.templates),
        "",
        "| split | rows | symbols |", "|---|---|---|",
        *(f"| {split} | {config.rows if split == 'train' else config.evaluation_rows} | s{symbols[0]} to "
          f"s{symbols[-1]} |" for split, symbols in alphabets.items()),
        "",
        "Made with", "", "```",
        f"python -m papers.identity.templates --output FOLDER {command}",
        "```", "",
        "| file | bytes | SHA-256 |", "|---|---:|---|",
        *(f"| {file.path} | {file.bytes:,} | `{file.sha256}` |"
          for files in paths.values() for file in (DataFile.of(folder, path) for path in files)),
        "",
        "Definitions: When can transformers reason with abstract symbols? (2024), sections 3 and 4.",
    ]  # fmt: skip
    return check_card(f"---\n{metadata.to_yaml()}\n---\n\n" + "\n".join(lines) + "\n", "dataset")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; its exit code."""
    command = argparse.ArgumentParser(description="Write a template task as Parquet files with a card.")
    command.add_argument("--output", type=path_here, required=True, help="the folder, made if it does not exist")
    for item in fields(TemplatesConfig):
        if item.name in TemplatesConfig(name="custom").options():
            kind = {"task": str, "noise": float}.get(item.name, int)
            command.add_argument(f"--{item.name.replace('_', '-')}", type=kind, default=item.default)
    options = vars(command.parse_args(arguments))
    folder = options.pop("output")
    try:
        write(TemplatesConfig(name="custom", **options), folder)
    except Exception as error:
        return refuse(error)
    print(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
