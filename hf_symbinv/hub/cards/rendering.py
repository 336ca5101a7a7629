"""Templates of cards, and the checks that the Hub would make."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any, Literal

from hf_symbinv.hub.cards.facts import CardError

# Texts that differ in names alone: those of code, and those of English, where no rule of names takes them for code's.
_TWINS = (("size = size + x", "y = y + total"), ("Anna owes Bob money", "Mehmet owes Li money"))
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
    environment.filters["public"] = public
    environment.filters["shown"] = lambda of: " ".join(map(str, of or ["none"])) if isinstance(of, list) else str(of)
    environment.filters["percent"] = lambda share: f"{100 * share:.1f} %"
    environment.filters["interval"] = lambda ends: "{:.1f} – {:.1f} %".format(*(100 * end for end in ends))
    return environment


def render(template: str, **values: Any) -> str:
    """The text of a template of this room, with one blank line at most between paragraphs and without access tokens."""
    text = _TOKEN.sub("<token>", _environment().get_template(template).render(**values))
    lines = re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE)
    return re.sub(r"\n{3,}", "\n\n", lines).strip("\n") + "\n"


def program(architecture: str, name: str, tokenizer: Mapping[str, Any] | None = None) -> str:
    """The program that shows a class of models at work, whatever the model's sizes, with no package but transformers.

    Args:
        architecture: Name of the class, one of those in `templates/programs`.
        name: What the program loads: OWNER/NAME on the Hub, or a path.
        tokenizer: As `tokenizer_config.json` has it; its rule of names decides what texts the program reads.
    """
    rule = tokenizer or {}
    of_code = re.fullmatch(rule.get("symbol_pattern") or "(?!)", "size") and "size" not in rule.get("base_words", ())
    texts = _TWINS[0] if of_code else _TWINS[1]
    template = _environment().get_template(f"programs/{architecture}.py.jinja")
    return str(template.render(name=name, texts=texts)).rstrip("\n")


def public(text: str) -> str:
    """A path or a command, with absolute paths cut to their last part: the others tell about somebody's machine."""
    return re.sub(r"(?<![^\s='\"])[/~][^\s'\"]*/([^\s'\"/]+)/?", r"\1", text)


def prose(template: str) -> Any:
    """What a template of prose says, as attributes: those that it sets."""
    return _environment().get_template(template).module


def check_card(text: str, kind: Literal["model", "dataset", "space"]) -> str:
    """`text` itself, if it is a card that the Hub takes, as far as that can be told without the Hub.

    Raises:
        CardError: If its metadata cannot be read, or name no license or no repository where they must.
    """
    from huggingface_hub import DatasetCard, ModelCard, SpaceCard
    from huggingface_hub.utils import HFValidationError, validate_repo_id

    known = {"model": ModelCard, "dataset": DatasetCard, "space": SpaceCard}
    try:
        data = known[kind](text).data.to_dict()
    except Exception as error:  # of many types, for metadata that are no YAML or no model index
        reason = str(error).partition("\n")[0]
        raise CardError(f"card: the Hub cannot read its metadata ({reason}); correct them") from error
    if not data.get("license", kind == "model"):  # a model of others' weights may leave it to who has the right
        raise CardError("card: has no license; name one, such as apache-2.0")
    for name in ("datasets", "base_model"):
        value = data.get(name, [])
        for repository in value if isinstance(value, list) else [value]:
            try:
                validate_repo_id(repository)
            except HFValidationError as error:
                raise CardError(f"card: {name}={repository!r}: is no name on the Hub; write OWNER/NAME") from error
    return text
