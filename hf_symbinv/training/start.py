"""A run that starts from a saved model: the architecture and the weights are the model's, the rest is the recipe's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from huggingface_hub.errors import StrictDataclassError

from hf_symbinv.errors import UserError, in_short, nearest
from hf_symbinv.files import bundled_checkpoints, read_object, require_sums
from hf_symbinv.hub.cards.records import Generation
from hf_symbinv.modeling.configuration_symbinv import PRESETS, SymbolInvariantConfig, check_grammar
from hf_symbinv.tasks import SymbolTask
from hf_symbinv.values import require_kinds

if TYPE_CHECKING:
    from hf_symbinv.modeling.modeling_symbinv import SymbolInvariantForConditionalGeneration

# What changes training alone, and how often a text goes through the encoder. The loss does more: the scale of AdaCos is
# a part of the logits. So do normalisations, without which the same rows and features mean something else.
OPEN_FIELDS = ("dropout", "random_share", "encoder_passes")
# Embeddings of which `num_symbols` is the number of rows.
WITH_ROWS = ("learned", "canonical", "renamed", "gaussian")
# What huggingface_hub says of a field of a wrong type, with what it says of each type that the field may have.
_OF_TYPES = re.compile(r"Field '(\w+)' (?:with )?(.*?)(?:\. Errors: .*)?", re.DOTALL)


@contextmanager
def model_errors() -> Iterator[None]:
    """Raises what a model's configuration refuses as a UserError that says so."""
    try:
        yield
    except StrictDataclassError as error:
        cause = error.__cause__ or error
        if (match := _OF_TYPES.fullmatch(str(cause))) is not None:
            wrong = re.sub(r"<class '(\w+)'>", r"\1", match[2]).replace("NoneType", "None")
            remedy = "write a list, such as [EP,DP,CP]" if "list[" in wrong else "correct it"
            raise UserError(f"model.{match[1]}: {wrong}; {remedy}") from error
        raise UserError(f"model: {cause}") from error
    except UserError:
        raise
    except (TypeError, ValueError) as error:
        raise UserError(f"model: {error}") from error


def start_config(folder: str | Path, fields: Mapping[str, Any], task: SymbolTask) -> SymbolInvariantConfig:
    """The configuration of the model in a folder, with what may differ in a run that starts from it.

    The task may have more base tokens than the model, after all of the model's: each gets a new row.

    Args:
        folder: Of a saved model; or the name of a bundled one.
        fields: As `Recipe.model`. `dropout`, `random_share` and `encoder_passes` may have other values than the
            model's, and `num_symbols` another one where no weight depends on it; what else is given must be as it is
            there.
        task: What the model must be for.

    Raises:
        UserError: If there is no model of this package, it is for another task, fields contradict it, all of which are
            named, or a field that may differ has an impossible value.
    """
    own, mine = _saved_config(folder), dict(fields)
    preset = mine.pop("preset", None)
    with model_errors():
        if preset is not None:
            SymbolInvariantConfig.from_preset(preset)  # refuses one that does not exist
        for name in mine.keys() - SymbolInvariantConfig.__annotations__.keys():
            SymbolInvariantConfig(**{name: mine[name]})  # refuses it, with the name that was meant
    given = {**PRESETS.get(preset, {}), **mine}
    may_differ = [*OPEN_FIELDS, *([] if own.symbol_embedding in WITH_ROWS else ["num_symbols"])]
    wrong = [name for name in given if name not in may_differ and getattr(own, name) != given[name]]
    problems = [f"its {name} is {getattr(own, name)!r}, the recipe's {given[name]!r}" for name in wrong]
    remedies = []
    more_tokens = _more_tokens(task, folder, own)
    if more_tokens is None:
        problems.insert(0, f"its base tokens are not those of task {task.name}, {' '.join(task.base_tokens)}")
        remedies.append("name a model for this task")
    if wrong:
        from_preset = ["model.preset"] if set(wrong) - set(mine) else []
        names = [*from_preset, *(f"model.{name}" for name in wrong if name in mine)]
        remedies.append(f"leave {', '.join(names)} out of the recipe, because the architecture is the start's")
    if problems:
        raise UserError(f"start={folder}: {'; '.join(problems)}; {', and '.join(remedies)}")
    with model_errors():
        changed = {key: mine[key] for key in may_differ if key in mine}
        if more_tokens:
            of_task = task.config(symbol_embedding=own.symbol_embedding)
            kept = [key for key in ("token_arity", "grammar") if getattr(own, key)]
            changed |= {key: getattr(of_task, key) for key in ("base_vocab_size", *kept)}
        return SymbolInvariantConfig.from_dict({**own.to_dict(), **changed})


def load_start(folder: str | Path, config: SymbolInvariantConfig) -> SymbolInvariantForConditionalGeneration:
    """The model in a folder, or of a bundled name, in single precision, with the configuration of `start_config`.

    Rows of base tokens that the saved model does not have are drawn, as in a new model.

    Raises:
        UserError: If its weights are not whole.
    """
    from hf_symbinv.modeling.modeling_symbinv import SymbolInvariantForConditionalGeneration

    where, own = f"start={folder}", _saved_config(folder)
    grows = config.base_vocab_size > own.base_vocab_size
    try:
        model, info = SymbolInvariantForConditionalGeneration.from_pretrained(
            start_folder(folder), config=own if grows else config, dtype=torch.float32, output_loading_info=True
        )
    except Exception as error:  # of many types, for files that are missing or damaged
        raise UserError(f"{where}: its weights cannot be read ({str(error).splitlines()[0]})") from error
    lost = sorted(map(str, (*info["missing_keys"], *info["unexpected_keys"], *info["mismatched_keys"])))
    if lost:
        raise UserError(f"{where}: its weights do not fit its config.json, first {lost[0]}; save or convert it again")
    return _grown(model, config) if grows else model


@torch.no_grad()
def _grown(
    model: SymbolInvariantForConditionalGeneration, config: SymbolInvariantConfig
) -> SymbolInvariantForConditionalGeneration:
    """A model with this configuration and the weights of another, which has fewer base tokens."""
    larger, tokens = type(model)(config), model.config.base_vocab_size
    saved = model.state_dict()
    for name, tensor in larger.state_dict().items():
        if tensor.shape == saved[name].shape:
            tensor.copy_(saved[name])
        else:  # rows of base tokens, and then those of symbols
            tensor[:tokens] = saved[name][:tokens]
            tensor[config.base_vocab_size :] = saved[name][tokens:]
    # A configuration that a Trainer saved says that training uses no cache, and decoding would use none either.
    larger.generation_config.use_cache = model.generation_config.use_cache
    return larger


def freeze(model: torch.nn.Module, names: Sequence[str] | None) -> None:
    """Keeps modules of a model from being trained; UserError if it has no such module, or nothing is left to train."""
    for name in names or ():
        weights = [weight for key, weight in model.named_parameters() if key.startswith(f"{name}.")]
        if not weights:
            meant = nearest(name, [key for key, _ in model.named_modules() if key])
            raise UserError(
                f"frozen: the model has no part {in_short(name)}; "
                + (f"did you mean {meant}?" if meant else "its parts are model.embedding, model.encoder, model.decoder")
            )
        for weight in weights:
            weight.requires_grad_(False)
    if not any(weight.requires_grad for weight in model.parameters()):
        raise UserError(f"frozen={in_short(list(names or ()))}: leaves nothing to train; name fewer parts")


def start_folder(start: str | Path) -> Path:
    """The folder that a start names, by its path or as a bundled model; a path goes before a name."""
    folder = Path(start)
    return folder if folder.is_dir() else bundled_checkpoints().get(str(start), folder)


def _saved_config(folder: str | Path) -> SymbolInvariantConfig:
    where = f"start={folder}"
    if not isinstance(folder, (str, Path)) or not (start_folder(folder) / "config.json").is_file():
        raise UserError(
            f"{where}: no folder with a config.json, and no bundled model; name a folder that `symbinv train` or "
            f"`convert` wrote, or one of {', '.join(bundled_checkpoints())}"
        )
    require_sums(start_folder(folder))
    remedy, generation = f"save the model of {where} again", start_folder(folder) / "generation_config.json"
    read_object(start_folder(folder) / "config.json", remedy)
    said = read_object(generation, remedy) if generation.is_file() else {}
    require_kinds(said, Generation, str(generation), remedy, UserError)
    try:
        config = SymbolInvariantConfig.from_pretrained(start_folder(folder))
    except (ValueError, OSError, StrictDataclassError) as error:
        raise UserError(f"{where}: its config.json is none of ours ({error.__cause__ or error})") from error
    require_grammar(said.get("grammar"), config, str(generation), remedy)
    return config


def require_grammar(
    grammar: Any, config: SymbolInvariantConfig, place: str, remedy: str, error: type[UserError] = UserError
) -> None:
    """Makes sure that answers of a model can follow the grammar of a `generation_config.json`, if it has one."""
    if grammar is not None:
        try:
            check_grammar(grammar, config)
        except ValueError as reason:
            raise error(f"{place}: {reason}; {remedy}") from reason


def _more_tokens(task: SymbolTask, folder: str | Path, config: SymbolInvariantConfig) -> int | None:
    """How many base tokens a task has beyond those of a model; None if the model's are not its first.

    The model's are those of its tokenizer. If that was not saved with it, their number must be the task's.
    """
    path, tokens = start_folder(folder) / "tokenizer_config.json", list(task.base_tokens)
    remedy = f"save the model of start={folder} again"
    saved = read_object(path, remedy).get("base_tokens") if path.is_file() else None
    known = tokens if saved is None else saved
    first = known == tokens[: len(known)] if isinstance(known, list) else False
    return len(tokens) - len(known) if first and config.base_vocab_size == len(known) else None
