"""Values that people and other programs write into files: whether they are of the kinds that are expected.

A kind is a type that pydantic takes, such as a `TypedDict` of typing_extensions: values are not converted, and keys
that it does not name may have any value.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from hf_symbinv.errors import UserError, in_short

if TYPE_CHECKING:
    from pydantic import TypeAdapter

# What pydantic calls an error → what a value must be.
_WORDS = {
    "bool_type": "true or false", "int_type": "a whole number", "float_type": "a number", "string_type": "text",
    "dict_type": "an object", "list_type": "a list", "finite_number": "finite",
}  # fmt: skip
# Our choice: recipes have some 1,000 characters.
LONGEST_YAML = 100_000


def require_kinds(value: Any, kind: Any, place: str, remedy: str, error: type[UserError] = UserError) -> None:
    """Makes sure that a value is of a kind, and everything in it.

    Args:
        value: As JSON or YAML has it.
        kind: As the module describes it.
        place: Where it stands, as the sentence begins: a file.
        remedy: As the sentence ends.
        error: What is raised.

    Raises:
        UserError: For the first value of another kind, with the keys that lead to it.
    """
    if (wrong := wrong_kind(value, kind)) is not None:
        raise error(f"{place}: {wrong}; {remedy}")


def is_kind(value: Any, kind: Any) -> bool:
    """Whether a value is of a kind, and everything in it."""
    return wrong_kind(value, kind) is None


def wrong_kind(value: Any, kind: Any, key: str = "") -> str | None:
    """`KEY=VALUE: must be ...` for the first value that is of another kind; None if there is none.

    `key` is that of the value itself.
    """
    from pydantic import ValidationError

    try:
        _adapter(kind).validate_python(value, strict=True)
        return None
    except ValidationError as reason:
        errors = reason.errors()
    (keys, found), rules = _place(errors[0]["loc"], value), list[str]()
    if errors[0]["type"] == "missing":
        errors = errors[:1]
    for one in errors:  # each type of a union has its own
        if _place(one["loc"], value)[0] == keys:
            rule = f"an object with {one['loc'][-1]}" if one["type"] == "missing" else _WORDS.get(one["type"])
            rules.append(f"be {rule}" if rule else re.sub(r"^\w+ should ", "", one["msg"]))
    path = ".".join([key] * bool(key) + keys)
    told = f"{path}={in_short(found)}" if path else in_short(found)
    return f"{told}: must {' or '.join(dict.fromkeys(rules)).replace('or be ', 'or ')}"


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def _place(names: tuple[Any, ...], value: Any) -> tuple[list[str], Any]:
    """The keys that lead to a value, and the value; pydantic's own names for parts of types are left out."""
    keys = []
    for name in names:
        if name in value if isinstance(value, dict) else isinstance(value, list) and isinstance(name, int):
            value = value[name]
            keys.append(str(name))
    return keys, value


class YamlError(UserError):
    """Text that is not YAML as recipes have it."""


class _Loader(yaml.SafeLoader):
    """YAML with the kinds of YAML 1.2: `1e-3` is a number, and `no`, `2020-01-01` and `1_000` are texts.

    PyYAML knows those of YAML 1.1. Keys may stand once, and there are no aliases, which can make a text large.
    """

    yaml_implicit_resolvers: dict[str, Any] = {}  # those of the base class are of YAML 1.1

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise YamlError(f"*{self.peek_event().anchor} stands for another value; write the value out")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        if twice := [key for place, key in enumerate(keys) if key in keys[:place]]:
            raise YamlError(f"{in_short(twice[0])}: stands twice; write it once")
        found: dict[Any, Any] = super().construct_mapping(node, deep)
        return found


# YAML 1.2.2, section 10.3.2, without octal and hexadecimal numbers.
for _tag, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?[0-9]+", list("-+0123456789")),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", list("-+.0123456789")),
    ("float", r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)", list("-+.")),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(rf"(?:{_pattern})\Z"), _first)
_Loader.add_constructor("tag:yaml.org,2002:int", lambda loader, node: int(loader.construct_scalar(node)))


def read_yaml(text: str) -> Any:
    """The content of YAML text, with the kinds of YAML 1.2.

    Raises:
        YamlError: If it is none, or too long or too deep, has aliases or an object with a key twice.
    """
    if len(text) > LONGEST_YAML:
        raise YamlError(f"has {len(text):,} characters; the limit is {LONGEST_YAML:,}")
    try:
        return yaml.load(text, _Loader)
    except YamlError as error:
        raise YamlError(f"not YAML as recipes have it ({error})") from None
    except RecursionError:
        raise YamlError("not YAML as recipes have it (has too many levels)") from None
    except (yaml.YAMLError, ValueError, AttributeError, TypeError, KeyError) as error:  # `!!int {}` and its like too
        raise YamlError(f"not YAML ({' '.join(str(error).split())})") from error


def read_yaml_file(path: Path, error: type[UserError] = YamlError) -> Any:
    """The content of a YAML file; `read_yaml`'s errors, and those of text that is no UTF-8, name the file."""
    try:
        with path.open(encoding="utf-8") as file:
            return read_yaml(file.read(LONGEST_YAML + 1))
    except UnicodeDecodeError as reason:
        raise error(f"{path}: not text in UTF-8 ({reason}); save it as UTF-8") from reason
    except YamlError as reason:
        raise error(f"{path}: {reason}; correct it") from reason


def is_text(value: Any) -> bool:
    """Whether a value is a text that files can hold: without halves of surrogate pairs, which UTF-8 has not."""
    return isinstance(value, str) and re.search("[\ud800-\udfff]", value) is None
