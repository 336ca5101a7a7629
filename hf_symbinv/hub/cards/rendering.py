"""Templates of cards, and the checks that the Hub would make."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib import resources
from typing import Any, Literal

from hf_symbinv.hub.cards.facts import CardError

CardKind = Literal["model", "dataset", "space"]
# Lists of names in the metadata, and those that name repositories.
_LISTS = ("tags", "datasets", "metrics", "size_categories", "task_categories")
_REPOSITORIES = ("datasets", "base_model")

_TOKEN = re.compile(r"\bhf_[A-Za-z0-9]{20,}")


@cache
def _environment() -> Any:
    import jinja2

    folder = resources.files("hf_symbinv.hub.cards") / "templates"
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: (folder / name).read_text(encoding="utf-8")),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
    )
    environment.filters["literal"] = lambda text: json.dumps(text, ensure_ascii=False)  # of Python as of JSON
    environment.filters["unwrap"] = lambda text: " ".join(text.split())  # of a paragraph that a template wraps
    environment.filters["cell"] = lambda text: str(text).replace("|", "\\|").replace("\n", " ")
    return environment


def render(template: str, **values: Any) -> str:
    """The text of a template of this room, with one blank line at most between paragraphs and without access tokens."""
    lines: list[str] = []
    text = _environment().get_template(template).render(**values)
    for line in _TOKEN.sub("<token>", text).splitlines():
        if line.strip() or (lines and lines[-1]):
            lines.append(line.rstrip())
    return "\n".join(lines).rstrip() + "\n"


def program(architecture: str, name: str) -> str:
    """The program that shows a class of models at work, whatever the model's sizes, with no package but transformers.

    Args:
        architecture: Name of the class, one of those in `templates/programs`.
        name: What the program loads: OWNER/NAME on the Hub, or a path.
    """
    return str(_environment().get_template(f"programs/{architecture}.py.jinja").render(name=name)).rstrip("\n")


def prose(template: str) -> Any:
    """What a template of prose says, as attributes: those that it sets."""
    return _environment().get_template(template).module


def check_card(text: str, kind: CardKind) -> str:
    """`text` itself, if it is a card that the Hub takes, as far as that can be told without the Hub.

    Raises:
        CardError: If its metadata are none, or not what the Hub expects.
    """
    from huggingface_hub import DatasetCard, ModelCard, SpaceCard
    from huggingface_hub.utils import HFValidationError, validate_repo_id

    known = {"model": ModelCard, "dataset": DatasetCard, "space": SpaceCard}
    try:
        data = known[kind](text).data.to_dict()
    except Exception as error:  # of many types, for metadata that are no YAML or no model index
        reason = str(error).partition("\n")[0]
        raise CardError(f"card: the Hub cannot read its metadata ({reason}); correct them") from error
    if not data.get("license"):
        raise CardError("card: has no license; name one, such as apache-2.0")
    for name in _LISTS:
        value = data.get(name, [])
        if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
            raise CardError(f"card: {name}={value!r}: must be a list of names")
    for name in _REPOSITORIES:
        value = data.get(name, [])
        for repository in value if isinstance(value, list) else [value]:
            try:
                validate_repo_id(repository)
            except HFValidationError as error:
                raise CardError(f"card: {name}={repository!r}: is no name on the Hub; write OWNER/NAME") from error
    return text


__all__ = ["CardKind", "check_card", "program", "prose", "render"]
