"""Recipes: everything that defines a training run, in one YAML file.

task:             a task's name, or the file that defines it, FILE.py
data:             options of the task's data builder
model:            fields of SymbolInvariantConfig that differ from the task's, with `preset` from those of the preset
trainer:          fields of transformers.Seq2SeqTrainingArguments
evaluation_rows:  validation rows of every evaluation, for the loss and to answer and check
test_rows:        test rows that are answered and checked at the end
start:            folder of a model that the run starts from, with its weights and its architecture; `model` then has at
                  most dropout and the like. Fresh weights if it is left out
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from hf_symbinv.modeling.configuration_symbinv import SymbolInvariantConfig
from hf_symbinv.tasks import load_task
from hf_symbinv.training.start import start_config

# Keys whose values have keys.
SECTIONS = ("data", "model", "trainer")


@dataclass(frozen=True)
class Recipe:
    """One run.

    Attributes:
        task: name of the task, or its file.
        data: keyword arguments of the task's data builder.
        model: keyword arguments of `SymbolInvariantConfig`, with `preset` for a named start; the task gives the others.
        trainer: keyword arguments of `Seq2SeqTrainingArguments`, without `output_dir`.
        evaluation_rows, test_rows: how many rows an evaluation and the final test use.
        start: folder of a model to fine-tune; None for fresh weights. The architecture is then that model's, and
            `model` says at most what does not contradict it: see `start_config`.
    """

    task: str
    data: dict[str, Any]
    model: dict[str, Any]
    trainer: dict[str, Any]
    evaluation_rows: int = 500
    test_rows: int = 1000
    start: str | None = None

    @classmethod
    def load(cls, name_or_path: str | Path, overrides: Mapping[str, Any] | None = None) -> Recipe:
        """Reads a recipe.

        Args:
            name_or_path: a YAML file, or the name of a recipe of this package.
            overrides: values by dotted key, such as `{"trainer.max_steps": 10}`. With `start` among them, the recipe's
                own `model`, which describes a new one, does not count, unless the recipe has a start too.

        Raises:
            FileNotFoundError: if there is no such file or recipe.
            ValueError: for text that is not a recipe, or an unknown key.
        """
        text = _text_of(name_or_path)
        try:
            content = yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise ValueError(f"{name_or_path}: not YAML: {error}") from error
        known = [field.name for field in fields(cls)]
        if not isinstance(content, dict) or not set(content) <= set(known) or not {"task", *SECTIONS} <= set(content):
            keys = sorted(content) if isinstance(content, dict) else type(content).__name__
            raise ValueError(
                f"{name_or_path}: has {keys}; a recipe has task, data, model and trainer, and may have {known[4:]}"
                f"{_other_way(Path(name_or_path), content)}"
            )
        changes = dict(overrides or {})
        if changes.get("start") is not None and content.get("start") is None:
            content["model"] = {}
        for key, value in changes.items():
            section, _, option = key.partition(".")
            if section not in known or bool(option) != (section in SECTIONS):
                raise ValueError(
                    f"{key}={value}: unknown key; use task, data.OPTION, model.FIELD, trainer.ARGUMENT, "
                    "evaluation_rows, test_rows or start"
                )
            if option:
                content[section] = {**content[section], option: value}
            else:
                content[section] = value
        if "output_dir" in content["trainer"]:
            raise ValueError(f"{name_or_path}: trainer.output_dir belongs on the command line, not in the recipe")
        return cls(**content)

    def config(self) -> SymbolInvariantConfig:
        """The model's configuration.

        Raises:
            ValueError: if there is no such task, it has other base tokens than the preset, `model` contradicts `start`,
                and as `SymbolInvariantConfig`.
        """
        own, task = dict(self.model), load_task(self.task)
        if self.start is not None:
            return start_config(self.start, own, task)
        preset = own.pop("preset", None)
        if preset is None:
            return task.config(**own)
        config = SymbolInvariantConfig.from_preset(preset, **own)
        if config.base_vocab_size != len(task.base_tokens):
            raise ValueError(
                f"model.preset={preset}: {config.base_vocab_size} base tokens, and task {self.task} has "
                f"{len(task.base_tokens)}; use a preset of this task, or none"
            )
        return config


def load_sections(path: Path, overrides: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Reads a YAML file of sections, such as the examples have, with values changed by `SECTION.KEY=VALUE`.

    Sections `model` and `trainer` take whatever the model's configuration and TrainingArguments take; of the others the
    file has all keys.

    Raises:
        ValueError: for an override that names no section or key of the file, or whose value is not YAML.
    """
    sections: dict[str, dict[str, Any]] = yaml.safe_load(path.read_text(encoding="utf-8"))
    for override in overrides:
        key, _, value = override.partition("=")
        section, _, name = key.partition(".")
        if section not in sections or not name:
            raise ValueError(f"{override!r}: write SECTION.KEY=VALUE with a section of {', '.join(sections)}")
        if section not in ("model", "trainer") and name not in sections[section]:
            raise ValueError(f"{override!r}: {section} has no {name!r}; use some of {', '.join(sections[section])}")
        try:
            sections[section][name] = yaml.safe_load(value)
        except yaml.YAMLError as error:
            raise ValueError(f"{override!r}: its value is not YAML; quote what YAML reads otherwise") from error
    return sections


def recipe_names() -> list[str]:
    """The recipes that come with the package."""
    return sorted(path.name.removesuffix(".yaml") for path in _recipes().iterdir() if path.name.endswith(".yaml"))


def _recipes() -> Any:
    return resources.files("hf_symbinv.training") / "recipes"


def _other_way(path: Path, content: Any) -> str:
    """What takes a file that has the sizes of the program beside it, and no task."""
    program = path.with_suffix(".py")
    if not isinstance(content, dict) or "task" in content or "trainer" not in content or not program.is_file():
        return ""
    return f"; {program.name} beside it takes this one: accelerate launch {program} --output runs/{path.stem}"


def _text_of(name_or_path: str | Path) -> str:
    path = Path(name_or_path)
    if path.is_file():
        return path.read_text(encoding="utf-8")
    if str(name_or_path) in recipe_names():
        return (_recipes() / f"{name_or_path}.yaml").read_text(encoding="utf-8")
    raise FileNotFoundError(
        f"{name_or_path}: no such file, and no recipe of this name; recipes: {', '.join(recipe_names())}"
    )
