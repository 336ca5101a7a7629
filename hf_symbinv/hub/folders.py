"""What a folder holds: checkpoint, data set or Space; which files go to the Hub; whether they are whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from hf_symbinv.files import read_object, require_listed, require_sums
from hf_symbinv.hub.cards.facts import MODEL_TYPES
from hf_symbinv.hub.gate import PushError, check_files, chosen_files

CARD, CONFIG = "README.md", "config.json"
WEIGHTS, DATA = "*.safetensors", "data/*.parquet"
INDEX = "model.safetensors.index.json"
AGAIN = "save the model again"

RepoType = Literal["model", "dataset", "space"]


@dataclass(frozen=True)
class Content:
    """What is pushed of a folder.

    Attributes:
        type: Of the repository.
        files: Path in the repository → file here.
        left_out: Names of what lies in the folder and is not pushed.
        replaces: Patterns of files that a repository must not keep from before, such as weights of another number of
            parts.
        sdk: Of a Space, what runs it; None for other repositories.
    """

    type: RepoType
    files: Mapping[str, Path]
    left_out: list[str] = field(default_factory=list)
    replaces: tuple[str, ...] = ()
    sdk: str | None = None


def read_folder(folder: Path, include: Sequence[str] = ()) -> Content:
    """What a folder holds, once it is sure that it is whole and `check_files` lets it pass."""
    if not folder.is_dir():
        raise PushError(f"{folder}: no such folder; pass one that holds a model, a data set or a Space")
    if (folder / CONFIG).is_file():
        content = _model(folder, include)
    elif any(folder.glob(DATA)):
        content = _dataset(folder, include)
    elif "sdk" in (card := _front_matter(folder)):
        content = _space(folder, card, include)
    else:
        raise PushError(
            f"{folder}: holds nothing that can be pushed; pass the folder of a model ({CONFIG}), of a data set "
            f"({DATA}), or of a Space ({CARD} with sdk in its first lines)"
        )
    check_files(folder, content.files.values())
    return content


def _model(folder: Path, include: Sequence[str]) -> Content:
    config = read_object(folder / CONFIG, AGAIN, PushError)
    if config.get("model_type") not in MODEL_TYPES:
        raise PushError(
            f"{folder}: its model type is {config.get('model_type')!r}, which is none of this package's; push it with "
            "`hf upload`"
        )
    if "auto_map" not in config:
        raise PushError(
            f"{folder / CONFIG}: has no auto_map, so that nobody without this package could load it; load the model "
            "and save it again with save_pretrained, which brings its code along"
        )
    for reference in _strings(config["auto_map"]):
        module = f"{reference.rpartition('--')[2].partition('.')[0]}.py"
        if not (folder / module).is_file():
            raise PushError(f"{folder}: has no {module}, which its {CONFIG} names; {AGAIN}")
    _check_weights(folder)
    files, left_out = chosen_files(folder, "model", include)
    return Content("model", files, left_out, replaces=(WEIGHTS, INDEX))


def _check_weights(folder: Path) -> None:
    index = folder / INDEX
    names = {"model.safetensors"}
    if index.is_file():
        names = set(_strings(read_object(index, AGAIN, PushError).get("weight_map", {})))
    for name in sorted(names):
        if not (folder / name).is_file():
            raise PushError(f"{folder}: has no {name}; save the model again with save_pretrained")
    require_sums(folder, PushError)


def _dataset(folder: Path, include: Sequence[str]) -> Content:
    if not (folder / CARD).is_file():
        raise PushError(f"{folder}: has no {CARD}, so it is not complete; repeat the `symbinv data` that makes it")
    require_listed(folder, PushError)
    return Content("dataset", *chosen_files(folder, "dataset", include), replaces=(DATA,))


def _space(folder: Path, card: Mapping[str, Any], include: Sequence[str]) -> Content:
    app = str(card.get("app_file", "app.py"))
    if card["sdk"] == "gradio" and not (folder / app).is_file():
        raise PushError(f"{folder}: has no {app}, which is its app; write it, or name another as app_file in {CARD}")
    return Content("space", *chosen_files(folder, "space", include), sdk=str(card["sdk"]))


def _front_matter(folder: Path) -> dict[str, Any]:
    """What the first lines of a folder's card say; nothing if there is no card."""
    import yaml
    from huggingface_hub import metadata_load

    card = folder / CARD
    if not card.is_file():
        return {}
    try:
        return metadata_load(card) or {}
    except (ValueError, yaml.YAMLError) as error:
        raise PushError(
            f"{card}: its first lines are damaged ({' '.join(str(error).split())}); correct them"
        ) from error


def _strings(content: Any) -> Iterator[str]:
    """Every string in a JSON value."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, (dict, list)):
        for item in content.values() if isinstance(content, dict) else content:
            yield from _strings(item)
