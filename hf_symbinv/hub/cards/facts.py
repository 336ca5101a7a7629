"""What is known about a model: its configuration, how it was trained, what it was made of, and what was measured of it.

All of it lies beside the weights as JSON, so that a card can be written again from the folder alone:

config.json, tokenizer_config.json   from `save_pretrained`
run.json                             from training
conversion.json                      from `symbinv convert`
results.json                         a list of what `symbinv evaluate --output` wrote, added by `symbinv card --results`
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any

from hf_symbinv.errors import UserError
from hf_symbinv.files import read_json, read_object, require_sums
from hf_symbinv.hub.cards.families import relative_of
from hf_symbinv.hub.cards.records import Config, Conversion, Data, Evaluation, Record, Span, State, Tokenizer
from hf_symbinv.tasks import SymbolTask, TaskError, task_file, task_of_tokenizer
from hf_symbinv.values import is_kind, require_kinds

CONFIG, TOKENIZER, WEIGHTS = "config.json", "tokenizer_config.json", "*.safetensors"
RECORD, STATE, CONVERSION, RESULTS = "run.json", "trainer_state.json", "conversion.json", "results.json"
REMEDY = "write it again or remove it"
EVALUATED = "give what `symbinv evaluate --output` wrote"
MODEL_TYPES = ("symbol_invariant", "symbol_invariant_encoder", "identity_gpt2")
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}")


class CardError(UserError):
    """A card that cannot be written; the message says why and what to do."""


@dataclass(frozen=True)
class ModelFacts:
    """What a model card is made of.

    Attributes:
        name: OWNER/NAME on the Hub, or the path that the snippet loads the model from.
        config, record, conversion, results, tokenizer: As the files have them; empty if there is none.
        task: What the model answers; None if that is not known here, or it answers no questions.
        parameters: Their number.
    """

    name: str
    config: Mapping[str, Any]
    task: SymbolTask | None
    parameters: int
    record: Mapping[str, Any] = field(default_factory=dict)
    conversion: Mapping[str, str | None] = field(default_factory=dict)
    results: Sequence[Mapping[str, Any]] = ()
    tokenizer: Mapping[str, Any] = field(default_factory=dict)

    @property
    def start(self) -> str | None:
        """The model that this one was made of or trained on from; None for one that was trained from scratch."""
        start = self.conversion.get("source") or self.record.get("recipe", {}).get("start") or self.encoder
        return str(start) if start else None

    @property
    def encoder(self) -> str:
        """The encoder to which streams were given, as its configuration names it; empty for other models."""
        return str(self.config.get("encoder", {}).get("_name_or_path", ""))


def read_facts(folder: Path, *, name: str | None = None, task: SymbolTask | None = None) -> ModelFacts:
    """The facts about the model in a folder, with `config.json`, weights, and as much of the rest as there is.

    Args:
        folder: Of the model.
        name: As in `ModelFacts`; None for the folder's own name.
        task: What the model answers; None to find out, for which no code that the folder names is run.

    Raises:
        CardError: If there is no model, a file is not what it should be, or the task is that of a file.
    """
    if not (folder / CONFIG).is_file():
        raise CardError(
            f"{folder}: has no {CONFIG}; name the folder of a model (`symbinv data` writes the cards of data sets)"
        )
    config = read_recorded(folder / CONFIG, Config)
    if config.get("model_type") not in MODEL_TYPES:
        raise CardError(
            f"{folder}: its model type is {config.get('model_type')!r}; this command knows what to say of models of "
            f"types {', '.join(MODEL_TYPES)} only"
        )
    relative = relative_of(config)
    if relative is not None and relative.architecture(config) is None:
        raise CardError(
            f"{folder}: holds a {config['architectures'][0]}; save the whole model, {' or '.join(relative.heads)}"
        )
    require_sums(folder, CardError)
    record = read_recorded(folder / RECORD, Record)
    if not record and (state := read_recorded(folder / STATE, State)):
        record = {"step": state.get("global_step")}
    return ModelFacts(
        name=name or folder.resolve().name,
        config=config,
        task=task or (None if relative else _find_task(folder, record)),
        parameters=_count_parameters(folder),
        record=record,
        conversion=read_recorded(folder / CONVERSION, Conversion),
        results=read_results([folder / RESULTS] if (folder / RESULTS).is_file() else []),
        tokenizer=read_recorded(folder / TOKENIZER, Tokenizer),
    )


def read_recorded(path: Path, kind: Any) -> dict[str, Any]:
    """The JSON object in a file, of one of the kinds of `records`, or a CardError; empty if there is no such file."""
    if not path.is_file():
        return {}
    content = read_object(path, REMEDY, CardError)
    require_kinds(content, kind, str(path), REMEDY, CardError)
    return content


def read_results(paths: Iterable[Path]) -> list[dict[str, Any]]:
    """The evaluations in files, each with one or a list of them; CardError for a file that holds something else."""
    found = []
    for path in paths:
        content = read_json(path, REMEDY, CardError)
        for evaluation in content if isinstance(content, list) else [content]:
            require_kinds(evaluation, Evaluation, str(path), EVALUATED, CardError)
            try:
                json.dumps(evaluation, allow_nan=False)
            except ValueError:
                raise CardError(f"{path}: holds a number that is not finite; {EVALUATED}") from None
            # The first group is all questions, and has an accuracy; further ones may have the best of N in its place.
            for place, group in enumerate(evaluation["groups"]):
                known = {"accuracy", "accuracy_interval"} & group["summary"].keys()
                if len(known) == 1 or not (known or (place and group.get("best_of_n"))):
                    raise CardError(f"{path}: group {group['label']!r}: has no accuracy with an interval; {EVALUATED}")
            found.append(evaluation)
    return found


def add_results(known: Sequence[Mapping[str, Any]], new: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Evaluations with further ones; a new one replaces that of the same data with the same decoding."""
    found = {_identity(evaluation): evaluation for evaluation in known}
    for evaluation in new:
        found[_identity(evaluation)] = evaluation
    return list(found.values())


def _identity(evaluation: Mapping[str, Any]) -> str:
    return json.dumps([evaluation["data"], evaluation["split"], evaluation["generation"]], sort_keys=True)


def hub_id(name: str) -> str | None:
    """`name` if it can be OWNER/NAME on the Hub and is no path here; the Hub refuses cards with others."""
    return name if _HUB_ID.fullmatch(name) and not Path(name).exists() and ".." not in name else None


def repository_of(data: str) -> tuple[str, str | None]:
    """OWNER/NAME of data on the Hub, and which data set in it OWNER/NAME/CONFIG names; None if there is but one."""
    owner, _, rest = data.partition("/")
    repository, _, config = rest.partition("/")
    return (f"{owner}/{repository}", config) if config else (data, None)


def _find_task(folder: Path, record: Mapping[str, Any]) -> SymbolTask | None:
    """The task with the tokenizer's base tokens; None if there is none, and no file here from which it could be."""
    recipe = record.get("recipe")
    named = recipe.get("task") if isinstance(recipe, Mapping) else None
    try:
        return task_of_tokenizer({"base_tokens": (), **read_recorded(folder / TOKENIZER, Tokenizer)}, named)
    except TaskError:
        file = task_file(named)
        if file is None:
            return None
        raise CardError(
            f"{folder / RECORD}: names {file} as the file of its task, and no code that a folder names is run; if you "
            f"trust this file, name it: --task {file}"
        ) from None


def largest_in_training(record: Mapping[str, Any]) -> tuple[int, int] | None:
    """The largest number of symbols and the largest size of a training question, or the limits that their builder had;
    None if the record, that of `run.json`, does not say.
    """
    data: Any = record.get("data")
    if not is_kind(data, Data):
        return None
    train, builder = data["splits"].get("train", {}), data["builder"] or {}
    if train.get("symbols") and train.get("size"):
        return train["symbols"][1], train["size"][1]
    limits: Any = builder.get("num_symbols"), builder.get("max_size")
    return limits if is_kind([*limits], Span) else None


def _count_parameters(folder: Path) -> int:
    """Numbers in the weights, without the saved scale of AdaCos, which is no parameter."""
    from safetensors import SafetensorError, safe_open

    total = 0
    for path in sorted(folder.glob(WEIGHTS)):
        try:
            with safe_open(path, framework="np") as file:
                names = [name for name in file.keys() if not name.endswith("adacos.scale")]  # noqa: SIM118
                total += sum(prod(file.get_slice(name).get_shape()) for name in names)
        except (SafetensorError, OSError) as error:
            raise CardError(f"{path}: damaged ({error}); save the model again or copy the file anew") from error
    if not total:
        raise CardError(f"{folder}: has no weights ({WEIGHTS}); save the model again with save_pretrained")
    return total
