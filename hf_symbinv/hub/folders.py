"""What a folder holds: checkpoint, data set, metric or Space; which files go to the Hub; whether they are whole.

Pickles never go: loading one runs whatever its author put into it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from hf_symbinv.hub.code import with_code
from hf_symbinv.hub.errors import PushError
from hf_symbinv.hub.space import space_files

CARD, CONFIG = "README.md", "config.json"
WEIGHTS, DATA = "*.safetensors", "data/*.parquet"
MODEL_TYPES = ("symbol_invariant", "identity_gpt2")
INDEX = "model.safetensors.index.json"
PICKLES = {".bin", ".ckpt", ".joblib", ".pickle", ".pkl", ".pt", ".pth"}
# Files in which a token could stand; the others are numbers in a binary format.
TEXTS = {".cfg", ".csv", ".json", ".jsonl", ".md", ".py", ".toml", ".txt", ".yaml", ".yml"}
# How code that travels with a checkpoint names the rest of it.
SIBLING = re.compile(r"^from \.(\w+) import", re.MULTILINE)
TOKEN = re.compile(rb"\bhf_[A-Za-z0-9]{30,}")

RepoType = Literal["model", "dataset", "space"]


@dataclass(frozen=True)
class Content:
    """What is pushed of a folder.

    Attributes:
        type: Of the repository.
        files: Path in the repository → file here, or content that is made for it.
        left_out: Names of what lies in the folder and is not pushed.
        replaces: Patterns of files that a repository must not keep from before, such as weights of another number of
            parts.
        name: The name that the repository must have after its owner's; None for any.
        sdk: Of a Space, what runs it; None for other repositories.
    """

    type: RepoType
    files: Mapping[str, Path | bytes]
    left_out: list[str] = field(default_factory=list)
    replaces: tuple[str, ...] = ()
    name: str | None = None
    sdk: str | None = None


def read_folder(folder: Path) -> Content:
    """Finds out what a folder holds, and that it is whole.

    Raises:
        PushError: If it is none of these, a file is missing or damaged, or one holds a token.
    """
    if not folder.is_dir():
        raise PushError(f"{folder}: no such folder; pass one that holds a model, a data set, a metric or a Space")
    if (folder / CONFIG).is_file():
        content = _model(folder)
    elif any(folder.glob(DATA)):
        content = _dataset(folder)
    elif (folder / f"{folder.resolve().name}.py").is_file() and (folder / CARD).is_file():
        content = _metric(folder)
    elif "sdk" in (card := _front_matter(folder)):
        content = _space(folder, card)
    else:
        raise PushError(
            f"{folder}: holds neither a model ({CONFIG}), nor a data set ({DATA}), nor a metric "
            f"({folder.resolve().name}.py and {CARD}), nor a Space ({CARD} with sdk in its first lines); pass the "
            "folder that one was saved in"
        )
    for path, file in content.files.items():
        if isinstance(file, Path) and file.suffix in TEXTS and TOKEN.search(file.read_bytes()):
            raise PushError(f"{folder / path}: holds an access token; remove it, and make the token invalid on the Hub")
    return content


def _model(folder: Path) -> Content:
    config = _read_json(folder / CONFIG)
    if config.get("model_type") not in MODEL_TYPES:
        raise PushError(
            f"{folder}: its model type is {config.get('model_type')!r}, which is none of this package's; push it with "
            "`hf upload`"
        )
    weights = _weights(folder)
    files: dict[str, Path | bytes] = {
        path.name: path for path in _visible(folder) if path.is_file() and path.suffix not in PICKLES
    }
    for path in weights:
        _check_weights(path)
    if "auto_map" not in config:
        return _content("model", folder, files | with_code(folder, config), replaces=(WEIGHTS, INDEX))
    named = {
        f"{reference.rpartition('--')[2].partition('.')[0]}.py" for reference in _strings(config.get("auto_map", {}))
    }
    for file in files.values():
        if isinstance(file, Path) and file.suffix == ".py":
            named |= {f"{name}.py" for name in SIBLING.findall(file.read_text(encoding="utf-8", errors="replace"))}
    for name in sorted(named - set(files)):
        raise PushError(f"{folder}: has no {name}, which its {CONFIG} or code needs; save the model again")
    return _content("model", folder, files, replaces=(WEIGHTS, INDEX))


def _weights(folder: Path) -> list[Path]:
    index = folder / INDEX
    names = {"model.safetensors"}
    if index.is_file():
        names = set(_strings(_read_json(index).get("weight_map", {})))
    for name in sorted(names):
        if not (folder / name).is_file():
            raise PushError(f"{folder}: has no {name}; save the model again with save_pretrained")
    return [folder / name for name in sorted(names)]


def _check_weights(path: Path) -> None:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="np"):
            pass
    except SafetensorError as error:
        raise PushError(f"{path}: damaged ({error}); save the model again or copy the file anew") from error


def _dataset(folder: Path) -> Content:
    import pyarrow
    import pyarrow.parquet

    if not (folder / CARD).is_file():
        raise PushError(f"{folder}: has no {CARD}, so it is not complete; repeat the `symbinv data` that makes it")
    tables = sorted(folder.glob(DATA))
    for path in tables:
        try:
            pyarrow.parquet.ParquetFile(path).close()
        except pyarrow.ArrowInvalid as error:
            raise PushError(f"{path}: damaged ({str(error).partition(':')[0]}); make the data set again") from error
    files = {path.name: path for path in _visible(folder) if path.is_file() and path.suffix not in PICKLES}
    files |= {f"data/{path.name}": path for path in tables}
    return _content("dataset", folder, files, replaces=(DATA,))


def _metric(folder: Path) -> Content:
    name = folder.resolve().name
    files: dict[str, Path | bytes] = {CARD: folder / CARD, f"{name}.py": folder / f"{name}.py"}
    for path, text in space_files(name).items():
        own = folder / path
        files[path] = own if own.is_file() else text.encode()
    return _content("space", folder, files, name=name, sdk="gradio")


def _space(folder: Path, card: Mapping[str, Any]) -> Content:
    app = str(card.get("app_file", "app.py"))
    if card["sdk"] == "gradio" and not (folder / app).is_file():
        raise PushError(f"{folder}: has no {app}, which is its app; write it, or name another as app_file in {CARD}")
    inside = {path.relative_to(folder): path for path in sorted(folder.rglob("*")) if path.is_file()}
    seen = {path: file for path, file in inside.items() if not any(part.startswith((".", "__")) for part in path.parts)}
    files = {path.as_posix(): file for path, file in seen.items() if path.suffix not in PICKLES}
    pickles = [path.as_posix() for path in seen if path.suffix in PICKLES]
    return Content("space", files, pickles, sdk=str(card["sdk"]))


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


def _content(type_: RepoType, folder: Path, files: Mapping[str, Path | bytes], **more: Any) -> Content:
    pushed = {path.partition("/")[0] for path in files}
    left_out = [f"{path.name}/" if path.is_dir() else path.name for path in _visible(folder) if path.name not in pushed]
    return Content(type_, files, left_out, **more)


def _visible(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if not path.name.startswith((".", "__")))


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise PushError(f"{path}: damaged ({error}); save the model again") from error
    if not isinstance(content, dict):
        raise PushError(f"{path}: damaged (no JSON object); save the model again")
    return content


def _strings(content: Any) -> Iterator[str]:
    """Every string in a JSON value."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, (dict, list)):
        for item in content.values() if isinstance(content, dict) else content:
            yield from _strings(item)
