"""Recipes: everything that defines a training run, in one YAML file.

task:             a task's name, or the file that defines it, FILE.py, or `pairs`, for a user's own texts
data:             options of the task's data builder; for `pairs` those of `PairsOptions`
model:            fields of SymbolInvariantConfig that differ from the task's, with `preset` from those of the preset
trainer:          fields of transformers.Seq2SeqTrainingArguments; `optim` may be `muon` too
evaluation_rows:  validation rows of every evaluation, for the loss and to answer and check
test_rows:        test rows that are answered and checked at the end
truth_loss:       weight of a second loss, by which the encoder learns what each part of a question means: LTL and
                  propositional logic with canonical names have it. None if it is left out
risk_candidates:  answers of its own to each training question that are judged, and from whose verdicts the model learns
                  in the place of the known answers: for a `start` that answers well. None if it is left out
start:            folder of a model that the run starts from, or the name of a bundled one, with its weights and its
                  architecture; `model` then has at most dropout, a larger d_ff and the like. Fresh weights if it is
                  left out
frozen:           parts of the model that stay as the start has them, such as [model.encoder, model.embedding]. None if
                  it is left out

Values are those of YAML 1.2: `5e-4` is a number, and `no` and `2020-01-01` are texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, get_type_hints

import torch
from annotated_types import Ge, Gt, Interval
from pydantic import FiniteFloat
from transformers import Seq2SeqTrainingArguments, TrainingArguments
from transformers.integrations import get_available_reporting_integrations
from typing_extensions import TypedDict

from hf_symbinv.errors import UserError, in_short, nearest
from hf_symbinv.modeling.configuration_symbinv import SymbolInvariantConfig
from hf_symbinv.tasks import PAIRS, SymbolTask, load_task
from hf_symbinv.tasks.registry import task_file
from hf_symbinv.training.batching import ALIKE, RANDOM
from hf_symbinv.training.optimizers import MUON
from hf_symbinv.training.risk import require_judge
from hf_symbinv.training.start import freeze, load_start, model_errors, start_config
from hf_symbinv.training.truth import worlds_of
from hf_symbinv.values import YamlError, read_yaml, read_yaml_file, require_kinds, wrong_kind

# Keys whose values have keys.
SECTIONS = ("data", "model", "trainer")


# Kinds of numbers of which transformers would train nothing, or something else, and say nothing of it.
_Whole = Annotated[int, Interval(gt=-(2**63), lt=2**63)]
_KINDS: dict[Any, Any] = {int: _Whole, int | None: _Whole | None, float: FiniteFloat}
_POSITIVE = ("per_device_train_batch_size", "per_device_eval_batch_size", "gradient_accumulation_steps")
_NOT_NEGATIVE = ("learning_rate", "weight_decay", "warmup_steps", "max_grad_norm", "adam_epsilon")
_SHARES = ("adam_beta1", "adam_beta2", "label_smoothing_factor")
_RANGES: dict[str, Any] = {
    "max_steps": Literal[-1] | Annotated[_Whole, Ge(1)],
    "num_train_epochs": Annotated[FiniteFloat, Gt(0)],
    **dict.fromkeys(_POSITIVE, Annotated[_Whole, Gt(0)]),
    **dict.fromkeys(_NOT_NEGATIVE, Annotated[FiniteFloat, Ge(0)]),
    **dict.fromkeys(_SHARES, Annotated[float, Interval(ge=0, lt=1)]),
    "generation_config": str | None,  # other objects are for programs
    "torch_compile_mode": Literal["default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"] | None,
}


# Of what an evaluation measures, beside the loss.
_SMALLER_IS_BETTER = ("edit_distance", "incorrect", "invalid", "timeout", "error")


class _Content(TypedDict):
    task: str
    data: dict[str, Any]
    model: dict[str, Any]
    trainer: dict[str, Any]
    evaluation_rows: NotRequired[Annotated[int, Ge(1)]]
    test_rows: NotRequired[Annotated[int, Ge(1)]]
    truth_loss: NotRequired[Annotated[FiniteFloat, Gt(0)] | None]
    risk_candidates: NotRequired[int | None]
    start: NotRequired[str | None]
    frozen: NotRequired[list[str] | None]


@dataclass(frozen=True)
class Recipe:
    """One run; the module describes the fields."""

    task: str
    data: dict[str, Any]
    model: dict[str, Any]
    trainer: dict[str, Any]
    evaluation_rows: int = 500
    test_rows: int = 1000
    truth_loss: float | None = None
    risk_candidates: int | None = None
    start: str | None = None
    frozen: list[str] | None = None

    def __post_init__(self) -> None:
        if (wrong := wrong_kind(vars(self), _Content)) is not None:
            raise UserError(f"{wrong}; correct it")

    @classmethod
    def load(cls, name_or_path: str | Path, overrides: Mapping[str, Any] | None = None) -> Recipe:
        """Reads a recipe.

        Args:
            name_or_path: a YAML file, or the name of a recipe of this package.
            overrides: values by dotted key, such as `{"trainer.max_steps": 10}`. With `start` among them, the recipe's
                own `model`, which describes a new one, does not count, unless the recipe has a start too.

        Raises:
            UserError: if there is no such file or recipe, for text that is not a recipe, an unknown key, or a recipe
                whose task is a file that `overrides` does not name: recipes may come from others, and run no code.
        """
        content = read_yaml_file(_path_of(name_or_path))
        known = [field.name for field in fields(cls)]
        if not isinstance(content, dict) or not set(content) <= set(known) or not {"task", *SECTIONS} <= set(content):
            keys = sorted(map(str, content)) if isinstance(content, dict) else type(content).__name__
            raise UserError(
                f"{name_or_path}: has {in_short(keys)}; a recipe has task, data, model and trainer, and may have "
                f"{known[4:]}"
            )
        require_kinds(content, _Content, str(name_or_path), "correct it")
        changes = dict(overrides or {})
        if "task" not in changes and task_file(content["task"]) is not None:
            raise UserError(
                f"{name_or_path}: names {content['task']} as the file of its task, and no code that a recipe names is "
                f"run; if you trust this file, name it: task={content['task']}"
            )
        if changes.get("start") is not None and content.get("start") is None:
            content["model"] = {}
        for key, value in changes.items():
            section, _, option = key.partition(".")
            if section not in known or bool(option) != (section in SECTIONS):
                raise UserError(
                    f"{key}={value}: unknown key; use task, data.OPTION, model.FIELD, trainer.ARGUMENT, "
                    f"evaluation_rows, test_rows, truth_loss, risk_candidates, start or frozen{_meant_key(key, known)}"
                )
            if option:
                content[section] = {**content[section], option: value}
            else:
                content[section] = value
        if "output_dir" in content["trainer"]:
            raise UserError(f"{name_or_path}: trainer.output_dir belongs on the command line, not in the recipe")
        _known_arguments(Seq2SeqTrainingArguments, content["trainer"])
        return cls(**content)

    def config(self, task: SymbolTask | None = None) -> SymbolInvariantConfig:
        """The model's configuration, for the recipe's task unless the data have one of their own.

        Raises:
            UserError: if there is no such task, it has other base tokens than the preset, `model` contradicts `start`,
                or is no configuration.
        """
        own, task = dict(self.model), task or load_task(self.task)
        if self.start is not None:
            return start_config(self.start, own, task)
        preset = own.pop("preset", None)
        with model_errors():
            config = task.config(**own) if preset is None else SymbolInvariantConfig.from_preset(preset, **own)
        if config.base_vocab_size != len(task.base_tokens):
            raise UserError(
                f"model.preset={preset}: {config.base_vocab_size} base tokens, and task {self.task} has "
                f"{len(task.base_tokens)}; use a preset of this task, or none"
            )
        if config.num_views != 1:
            raise UserError(f"model.num_views={config.num_views}: tasks have symbols of one view; leave it out")
        return config

    def arguments(self, folder: str | Path) -> Seq2SeqTrainingArguments:
        """The arguments of the trainer; UserError for one that transformers refuses, or that would push pickles."""
        on_gpu = torch.cuda.is_available()
        # Reading and padding 768 rows takes a core 10 ms, a GPU's step no longer: docs/gpu.md.
        loading = {"dataloader_num_workers": 4 if on_gpu else 0, "dataloader_pin_memory": on_gpu}
        # Every parameter takes part in every step: several processes need not walk the graph for those that do not.
        fixed = {"ddp_find_unused_parameters": False, "hub_strategy": "end", "train_sampling_strategy": ALIKE}
        options = {**loading, **fixed, **self.trainer}
        if options["train_sampling_strategy"] not in (ALIKE, RANDOM):
            raise UserError(
                f"trainer.train_sampling_strategy={in_short(options['train_sampling_strategy'])}: must be {ALIKE}, for "
                f"steps whose rows are alike in symbols and lengths, or {RANDOM}; use one of them"
            )
        if options["hub_strategy"] != "end":
            raise UserError(
                f"trainer.hub_strategy={options['hub_strategy']}: would push pickles along with checkpoints; use end"
            )
        if options.get("push_to_hub") and "/" not in str(options.get("hub_model_id")):
            raise UserError("trainer.push_to_hub: needs to know where to; set trainer.hub_model_id=OWNER/NAME too")
        metric = str(options.get("metric_for_best_model")).removeprefix("eval_")
        if metric in _SMALLER_IS_BETTER and options.get("greater_is_better") is None:
            options["greater_is_better"] = False  # transformers would keep the worst model
        is_muon = options.get("optim") == MUON
        if is_muon:
            if not hasattr(torch.optim, "Muon"):
                raise UserError(
                    f"trainer.optim={MUON}: needs torch 2.9 or newer, and this is {torch.__version__}; upgrade it, or "
                    "leave the line out"
                )
            del options["optim"]
        arguments: Seq2SeqTrainingArguments = training_arguments(Seq2SeqTrainingArguments, folder, options)
        if is_muon:
            arguments.optim = MUON
        return arguments

    def check(self) -> None:
        """Finds what is wrong with the model, its start or the trainer, before data are made for them.

        Raises:
            UserError: as `config`, `arguments`, for a start that is not whole, and for parts that cannot be frozen.
        """
        self.arguments("unused")
        if self.frozen is not None and self.start is None:
            raise UserError(
                f"frozen={in_short(self.frozen)}: new weights that nothing trains stay random; name a start too, or "
                "leave the line out"
            )
        if self.risk_candidates is not None:
            require_judge(self.task, self.risk_candidates)
        if self.task == PAIRS:  # whose base words are the data's
            return
        config = self.config()
        if self.truth_loss is not None:
            worlds_of(load_task(self.task), config)
        if self.start is not None:
            freeze(load_start(self.start, config), self.frozen)


def training_arguments(kind: type[TrainingArguments], folder: str | Path, options: Mapping[str, Any]) -> Any:
    """The arguments of a trainer; UserError for an unknown one, a value out of range, or one transformers refuses."""
    from accelerate.utils import DynamoBackend  # or transformers says in words of its own that it is missing

    _known_arguments(kind, options)
    backends: Any = Literal[tuple(backend.value.lower() for backend in DynamoBackend)]
    hints: dict[str, Any] = {**get_type_hints(kind), **_RANGES, "torch_compile_backend": backends | None}
    for name, value in options.items():
        wrong = wrong_kind(value, _KINDS.get(hints[name], hints[name]), f"trainer.{name}")
        if wrong is not None:
            raise UserError(f"{wrong}; correct it")
    # Several processes on a machine without an accelerator would look for one each.
    where = {"use_cpu": not torch.accelerator.is_available()}
    try:
        arguments = kind(output_dir=str(folder), **{**where, **options})
    except (TypeError, ValueError) as error:
        raise UserError(f"trainer: {error}; see transformers.{kind.__name__} for the arguments") from error
    here = get_available_reporting_integrations()
    if missing := [name for name in arguments.report_to if name not in here]:
        raise UserError(
            f"trainer.report_to: {missing[0]!r} is not installed, or transformers does not know it; install it, or use "
            f"some of {', '.join([*here, 'none'])}"
        )
    return arguments


def _known_arguments(kind: type[TrainingArguments], options: Mapping[str, Any]) -> None:
    known = [field.name for field in fields(kind)]
    for name in options:
        if name not in known:
            near = nearest(name, known)
            hint = "" if near is None else f"did you mean trainer.{near}? "
            raise UserError(f"trainer.{name}: unknown argument; {hint}transformers.{kind.__name__} has all of them")


def overrides(texts: Sequence[str]) -> dict[str, Any]:
    """`SECTION.KEY=VALUE` as a dictionary; values are YAML.

    Raises:
        UserError: if a text is something else.
    """
    found = {}
    for text in texts:
        key, equals, value = text.partition("=")
        try:
            found[key] = read_yaml(value)
        except YamlError:
            equals = ""
        if not equals:
            raise UserError(
                f"{text}: must be SECTION.KEY=VALUE with a YAML value, such as trainer.max_steps=100; quote what YAML "
                "reads otherwise"
            )
    return found


def load_sections(path: Path, changes: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Reads a YAML file of sections, such as the examples have, with values changed by `SECTION.KEY=VALUE`.

    Sections `model` and `trainer` take whatever the model's configuration and TrainingArguments take; of the others the
    file has all keys.

    Raises:
        UserError: for an override that names no section or key of the file, or whose value is not YAML.
    """
    sections: dict[str, dict[str, Any]] = read_yaml_file(path)
    require_kinds(sections, dict[str, dict[str, Any]], str(path), "correct it")
    for key, value in overrides(changes).items():
        section, _, name = key.partition(".")
        if section not in sections or not name:
            raise UserError(
                f"{key}={value}: write SECTION.KEY=VALUE with a section of {', '.join(sections)}"
                f"{_meant_key(key, list(sections))}"
            )
        if section not in ("model", "trainer") and name not in sections[section]:
            near = nearest(name, sections[section])
            hint = "" if near is None else f"did you mean {section}.{near}? "
            raise UserError(f"{key}={value}: {section} has no {name}; {hint}use some of {', '.join(sections[section])}")
        sections[section][name] = value
    return sections


def recipe_names() -> list[str]:
    """The recipes that come with the package."""
    return sorted(path.name.removesuffix(".yaml") for path in _recipes().iterdir() if path.name.endswith(".yaml"))


def _recipes() -> Any:
    return resources.files("hf_symbinv.training") / "recipes"


def _meant_key(key: str, known: Sequence[str]) -> str:
    """`; did you mean trainer.max_steps?` for `trainr.max_steps` and for `max_steps`, or nothing."""
    section, dot, option = key.partition(".")
    if section in known:
        return ""
    if dot:
        near = nearest(section, known)
        return "" if near is None else f"; did you mean {near}.{option}?"
    options = {"trainer": TrainingArguments, "model": SymbolInvariantConfig}
    for home, kind in options.items():
        if section in [field.name for field in fields(kind)]:
            return f"; did you mean {home}.{section}?"
    return ""


def _path_of(name_or_path: str | Path) -> Path:
    path = Path(name_or_path)
    if path.is_file():
        return path
    if str(name_or_path) in recipe_names():
        return Path(str(_recipes() / f"{name_or_path}.yaml"))
    raise UserError(f"{name_or_path}: no such file, and no recipe of this name; recipes: {', '.join(recipe_names())}")
