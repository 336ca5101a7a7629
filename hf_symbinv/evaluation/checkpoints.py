"""Checkpoints by folder, by the name of a bundled one, or by their name on the Hub; and what can be wrong with them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hf_symbinv.auto_classes import AUTO_CLASSES, register_auto_classes
from hf_symbinv.errors import UserError, first_line, hub_failure, in_short
from hf_symbinv.files import bundled_checkpoints, read_object, require_sums
from hf_symbinv.hub.cards.records import Generation
from hf_symbinv.tasks import SymbolTask, TaskError, symbol_names, task_of_tokenizer
from hf_symbinv.values import is_kind, require_kinds

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

AGAIN = "save or download it again"
MODEL_TYPE = "symbol_invariant"
# Task -> the bundled checkpoint that answers its questions.
_DEFAULTS = {"ltl": "ltl-base", "ltl-operators": "ltl-patterns", "prop": "prop-small"}
HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")


class Kind(NamedTuple):
    """Models that answer no questions of a task: what they are, what takes them, and experiments that measure them."""

    what: str
    use: str
    tables: str = ""


_READER = "an encoder that gives each text a class or a number"
_TOKEN_READER = "an encoder that gives each token a class"
# Class of a model, as its configuration names it -> its kind. Those of templates have no tokenizer, and no pipeline.
KINDS = {
    "SymbolInvariantEncoder": Kind("a model without a head", "AutoModel"),
    "SymbolInvariantEncoderForSequenceClassification": Kind(_READER, "text-classification", "rules-names"),
    "SymbolInvariantEncoderForTokenClassification": Kind(_TOKEN_READER, "token-classification", "rules-names"),
    "SymbolInvariantForCausalLM": Kind("a language model", "text-generation", "lexinv-..."),
    "SymbolInvariantForMaskedLM": Kind("a masked language model", "fill-mask"),
    "SymbolInvariantForSequenceClassification": Kind(_READER, "text-classification", "renamer-..."),
    "SymbolInvariantForTokenClassification": Kind(_TOKEN_READER, "token-classification"),
    "SymbolInvariantModel": Kind("a model without a head", "AutoModel"),
    "IdentityGPT2LMHeadModel": Kind("a language model", "AutoModelForCausalLM", "identity-..."),
    "IdentityGPT2ForSequenceClassification": Kind(_READER, "AutoModelForSequenceClassification", "identity-..."),
    "IdentityGPT2Model": Kind("a model without a head", "AutoModel"),
}


class CheckpointError(UserError):
    """A checkpoint that is not there, not of this family, or damaged."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A model in evaluation mode, with its tokenizer and its task.

    `name` is as the user gave it; `folder`, where it lies, is None for one from the Hub.
    """

    name: str
    folder: Path | None
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    task: SymbolTask


def checkpoint(name: str) -> str:
    """The folder of a checkpoint that comes with the package, such as `ltl-base`.

        AutoModelForSeq2SeqLM.from_pretrained(hf_symbinv.checkpoint("ltl-base"))

    It is text, because `transformers.pipeline` takes no `Path`.

    Raises:
        CheckpointError: If no checkpoint of this name comes with the package.
    """
    bundled = bundled_checkpoints()
    if name not in bundled:
        raise CheckpointError(
            f"{name!r}: no checkpoint of this name comes with the package; use one of {', '.join(bundled)}, or give "
            "from_pretrained the folder or the name on the Hub itself"
        )
    return str(bundled[name])


def default_checkpoint(task: SymbolTask) -> str:
    """The name of the bundled checkpoint for a task; CheckpointError if there is none."""
    if task.name not in _DEFAULTS:
        raise CheckpointError(
            f"task {task.name}: no checkpoint for it comes with the package; name a folder or a model on the Hub, or "
            "train one with `symbinv train`"
        )
    return _DEFAULTS[task.name]


def load_checkpoint(name: str = "ltl-base", device: str | None = None, task: SymbolTask | None = None) -> Checkpoint:
    """Load a checkpoint and make sure that it is whole.

    Args:
        name: A folder; the name of a bundled checkpoint; or
            OWNER/NAME on the Hub.
        device: Such as `cpu` or `cuda:1`; None for the first GPU, or the CPU where there is none.
        task: What it must be for; None for the task that has its base tokens.

    Raises:
        CheckpointError: If there is no such checkpoint, it is another family's or task's, a file is missing or
            damaged, or the device is not there.
    """
    from transformers import AutoTokenizer

    target = _device(device)
    folder = _folder(name)
    source = str(folder or name)
    config = _configuration(name, source)
    if (kind := kind_of(config)) is not None:
        command = "`python -m papers`, run from a checkout of the repository,"
        measured = f"; {command} measures such models: {kind.tables}" if kind.tables else ""
        how = f'pipeline("{kind.use}", model="{name}", trust_remote_code=True)'
        if kind.use.startswith("AutoModel"):
            how = f'{kind.use}.from_pretrained("{name}", trust_remote_code=True)'
        raise CheckpointError(
            f"{name}: holds {kind.what}, {config['architectures'][0]}, which answers no questions of a task; use "
            f"{how}{measured}"
        )
    if config.get("model_type") != MODEL_TYPE:
        remedy = "use one of that type" + ", or `symbinv convert` one of an earlier release" * (
            "model_type" not in config
        )
        found = config.get("model_type")
        raise CheckpointError(f"{name}: its model type is {found!r}, not {MODEL_TYPE!r}; {remedy}")
    _refuse_damaged_generation(name, source)
    model = _weights(name, source, config, "SymbolInvariantForConditionalGeneration")
    _refuse_lost_tokens(name, model)
    from hf_symbinv.training.start import require_grammar  # torch only where it is needed

    grammar = getattr(model.generation_config, "grammar", None)
    require_grammar(grammar, model.config, f"{name}: generation_config.json", AGAIN, CheckpointError)
    try:
        tokenizer = AutoTokenizer.from_pretrained(source, trust_remote_code=False)
    except Exception as error:
        raise _unreadable(name, "tokenizer", error) from error
    task = checked_task(name, tokenizer, model, task)
    return Checkpoint(name, folder, model.to(target).eval(), tokenizer, task)


def kind_of(config: Mapping[str, Any]) -> Kind | None:
    """The kind of the model with this `config.json`; None for one that answers questions, and for other families'."""
    architectures = config.get("architectures")
    return KINDS.get(architectures[0]) if architectures and is_kind(architectures, list[str]) else None


# What transformers and safetensors raise for a damaged file is of many types; all mean the same here.
def _configuration(name: str, source: str) -> dict[str, Any]:
    from transformers import PreTrainedConfig

    try:
        content, _ = PreTrainedConfig.get_config_dict(source)
    except Exception as error:
        raise _unreadable(name, "configuration", error) from error
    if not isinstance(content, dict):
        raise CheckpointError(f"{name}: its configuration is {in_short(content)}, and no JSON object; {AGAIN}")
    if not content:
        raise CheckpointError(f"{name}: has no config.json; name a repository that holds a model")
    return dict(content)


def _weights(name: str, source: str, config: dict[str, Any], architecture: str) -> PreTrainedModel:
    """The model, with a weight for each parameter and no other."""
    import transformers

    register_auto_classes()
    try:
        transformers.CONFIG_MAPPING[config["model_type"]].from_dict(dict(config))
    except Exception as error:
        raise _unreadable(name, "configuration", error) from error
    try:
        model, info = getattr(transformers, AUTO_CLASSES[architecture]).from_pretrained(
            source, trust_remote_code=False, output_loading_info=True
        )
    except Exception as error:
        raise _unreadable(name, "weights", error) from error
    for problem in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        if info[problem]:
            keys = sorted(map(str, info[problem]))
            raise CheckpointError(
                f"{name}: its weights do not fit its configuration: {len(keys)} {problem.replace('_', ' ')}, first "
                f"{keys[0]}; take config.json and model.safetensors from one checkpoint"
            )
    loaded: PreTrainedModel = model
    return loaded


def _refuse_damaged_generation(name: str, source: str) -> None:
    """transformers passes over a damaged file of this kind, and the answers are other ones, without the grammar."""
    from transformers.utils import cached_file

    try:
        path = cached_file(source, "generation_config.json", _raise_exceptions_for_missing_entries=False)
    except Exception as error:
        raise _unreadable(name, "generation_config.json", error) from error
    if path is not None:
        require_kinds(read_object(Path(path), AGAIN, CheckpointError), Generation, path, AGAIN, CheckpointError)


def _refuse_lost_tokens(name: str, model: PreTrainedModel) -> None:
    """An answer begins and ends with tokens that the generation's configuration, or else the model's, must have."""
    said, size = model.generation_config, model.config.base_vocab_size
    start = said.decoder_start_token_id
    tokens = {
        "decoder_start_token_id": said.bos_token_id if start is None else start,
        "pad_token_id": said.pad_token_id,
        "eos_token_id": said.eos_token_id,
    }
    for field, ids in tokens.items():
        if ids is None or not all(0 <= one < size for one in ([ids] if isinstance(ids, int) else ids)):
            raise CheckpointError(
                f"{name}: its generation_config.json has {field}={in_short(ids)}. An answer needs one of the base "
                f"tokens, 0 to {size - 1}; {AGAIN}"
            )


def checked_task(name: str, tokenizer: Any, model: Any, task: SymbolTask | None) -> SymbolTask:
    """The task of a model and its tokenizer, which gets the names that the model has rows for if it lacks them.

    `task` is what it must be for; None for the task that has its base tokens.

    Raises:
        CheckpointError: If there is no such task, or the parts are another task's.
    """
    base_tokens = tuple(getattr(tokenizer, "base_tokens", ()))
    if task is None:
        settings = {**getattr(tokenizer, "init_kwargs", {}), "base_tokens": base_tokens}
        try:
            task = task_of_tokenizer(settings, _trained_for(name))
        except TaskError as error:
            raise CheckpointError(f"{name}: {error}, or use a checkpoint of another task") from error
    if base_tokens != task.base_tokens or model.config.base_vocab_size != len(task.base_tokens):
        raise CheckpointError(
            f"{name}: its base tokens are not those of task {task.name}, {' '.join(task.base_tokens)}; use a "
            "checkpoint for this task"
        )
    names = task.fixed_names(model.config)
    if names is not None and tokenizer.fixed_names is None:
        tokenizer.fix_names(names or symbol_names(model.config.num_symbols))
    return task


def _trained_for(name: str) -> Any:
    """The task that the recipe of a trained model names; None if it has none that can be read."""
    from transformers.utils import cached_file

    with suppress(OSError, ValueError, KeyError, TypeError):
        if Path(name).is_dir() or HUB_NAME.fullmatch(name):
            return json.loads(Path(cached_file(name, "recipe.json")).read_bytes())["recipe"]["task"]
    return None


def _folder(name: str) -> Path | None:
    """The folder of a checkpoint; None if it can only be on the Hub."""
    path = Path(name)
    if name and path.is_dir():
        if not (path / "config.json").exists():
            steps = [int(step) for one in path.glob("checkpoint-*") if (step := one.name.partition("-")[2]).isdecimal()]
            if steps:
                last = path / f"checkpoint-{max(steps)}"
                told = f"{name}: its training has not ended; repeat the command that trains it, or name {last}"
                raise CheckpointError(f"{told}, where it is so far")
            raise CheckpointError(f"{name}: has no config.json; pass the folder that a checkpoint was saved in")
        require_sums(path, CheckpointError)
        return path
    bundled = bundled_checkpoints()
    if name in bundled:
        return bundled[name]
    if name and path.exists():
        raise CheckpointError(f"{name}: is a file; pass the folder that holds it")
    if not HUB_NAME.fullmatch(name):
        known = ", ".join(bundled) or "none"
        raise CheckpointError(
            f"{name or repr(name)}: no such folder; bundled checkpoints: {known}; on the Hub they are called OWNER/NAME"
        )
    return None


def _device(name: str | None) -> Any:
    import torch

    if name is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise CheckpointError(
            f"device {name!r}: not usable here ({first_line(error)}); use cpu, or cuda with a GPU"
        ) from error
    return device


def _unreadable(name: str, part: str, error: Exception) -> Exception:
    if isinstance(error, ImportError):  # this installation is damaged, not the checkpoint
        return error
    failure = hub_failure(error, name)
    if failure is not None:
        return CheckpointError(f"{name}: no such folder, and {failure.removeprefix(f'{name}: ')}")
    is_here = Path(name).is_dir() or name in bundled_checkpoints()
    where = "" if is_here else "no such folder, and from the Hub "
    return CheckpointError(f"{name}: {where}its {part} cannot be read ({first_line(error)}); {AGAIN}")
