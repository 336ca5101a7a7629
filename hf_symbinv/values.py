"""Values that people and other programs write into files: whether they are of the kinds that are expected.

A kind is written as a type: `int`, `float` (whole numbers too), `str`, `bool`, `None`, `Any`, unions of these,
`list[KIND]`, `tuple[KIND, KIND]` for a list of so many, `dict[str, KIND]`, and a `TypedDict`, an object with these
keys. Those of one with `total=False` may be missing, and keys that it does not name may have any value.

This is little enough to be written here: pydantic comes with two extras only and says a wrong value in several lines,
msgspec would be one more dependency and says "Expected `int`, got `str` - at `$.trainer.seed`" without the value and
the remedy, and the checks of huggingface_hub, which configurations use, do not look into objects inside of objects.
"""

from __future__ import annotations

import math
import re
import sys
import types
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

import yaml

from hf_symbinv.errors import UserError, in_short

_NAMES = {
    bool: "true or false", int: "a whole number", float: "a number", str: "text", dict: "an object", list: "a list",
    types.NoneType: "null",
}  # fmt: skip
# Our choice: recipes have some 1,000 characters and three levels.
LONGEST_YAML = 100_000
DEEPEST_YAML = 50
_WITH = "an object with "


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
    wrong = _wrong(value, kind, "")
    if wrong is not None:
        key, found, wanted = wrong
        told = f"{key.lstrip('.')}={in_short(found)}" if key else in_short(found)
        raise error(f"{place}: {told}: must be {wanted}; {remedy}")


def is_kind(value: Any, kind: Any) -> bool:
    """Whether a value is of a kind, and everything in it."""
    return _wrong(value, kind, "") is None


def _wrong(value: Any, kind: Any, key: str) -> tuple[str, Any, str] | None:
    """The keys that lead to the first value of another kind, this value, and what it must be; None if there is none."""
    if kind is Any:
        return None
    if kind is None:
        kind = types.NoneType
    if is_typeddict(kind):
        return _wrong_in_object(value, kind, key)
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        found = [_wrong(value, part, key) for part in parts]
        if None in found:
            return None
        # Of the right kind, but for a part.
        inner = [one for one in found if one is not None and (one[0] != key or one[2].startswith(_WITH))]
        return inner[0] if inner else (key, value, described(kind))
    if origin is Literal:
        return None if value in parts and type(value) in map(type, parts) else (key, value, described(kind))
    if origin in (list, dict):
        if not isinstance(value, origin):
            return key, value, described(kind)
        names = value.keys() if origin is dict else range(len(value))
        for name in names:
            if origin is dict and not isinstance(name, str):
                return key, name, "text, as a key"
            found_inside = _wrong(value[name], parts[-1], f"{key}.{name}")
            if found_inside is not None:
                return found_inside
        return None
    if origin is tuple:
        fits = isinstance(value, list) and len(value) == len(parts)
        fits = fits and all(is_kind(one, part) for one, part in zip(value, parts, strict=True))
        return None if fits else (key, value, described(kind))
    if isinstance(value, bool) and kind is not bool:
        return key, value, described(kind)
    if kind is float and isinstance(value, int):
        return None if abs(value) <= sys.float_info.max else (key, value, "a number that is not so large")
    return None if isinstance(value, kind) else (key, value, described(kind))


def _wrong_in_object(value: Any, kind: Any, key: str) -> tuple[str, Any, str] | None:
    if not isinstance(value, dict):
        return key, value, described(kind)
    missing = sorted(kind.__required_keys__ - value.keys())
    if missing:
        return key, value, f"{_WITH}{missing[0]}"
    for name, own in get_type_hints(kind).items():
        if name in value and (found := _wrong(value[name], own, f"{key}.{name}")) is not None:
            return found
    return None


def described(kind: Any) -> str:
    """A kind in words."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        words = list(dict.fromkeys(described(part) for part in parts))
        if "a number" in words and "a whole number" in words:
            words.remove("a whole number")
        return " or ".join(words)
    if origin is Literal:
        return f"one of {', '.join(map(str, parts))}"
    if is_typeddict(kind):
        return "an object"
    if origin is list and parts:
        return f"a list, each item of it {described(parts[0])}"
    if origin is tuple:
        return f"a list of {len(parts)}, each {described(parts[0])}"
    return _NAMES.get(types.NoneType if kind is None else origin or kind, getattr(kind, "__name__", str(kind)))


class YamlError(UserError):
    """Text that is not YAML as recipes have it."""


class _Loader(yaml.SafeLoader):
    """YAML with the kinds of YAML 1.2: `1e-3` is a number, and `no`, `2020-01-01` and `1_000` are texts.

    PyYAML knows those of YAML 1.1. Keys may stand once, and there are neither aliases nor kinds of other programs.
    """

    # What the base class knows of these is of YAML 1.1.
    yaml_implicit_resolvers: dict[str, Any] = {}
    yaml_constructors: dict[str | None, Any] = {}
    depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        """A node, of which no other is a part again and which is not too deep."""
        if self.check_event(yaml.AliasEvent):
            raise YamlError(f"*{self.peek_event().anchor} stands for another value; write the value out")
        self.depth += 1
        if self.depth > DEEPEST_YAML:
            raise YamlError(f"has more than {DEEPEST_YAML} levels")
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def text(self, node: Any) -> str:
        """A scalar as it is written."""
        return str(self.construct_scalar(node))

    def whole(self, node: Any) -> int:
        """A whole number, also `0o17` and `0xf`."""
        text = self.text(node)
        return int(text, 0) if text[1:2] in ("o", "x") else int(text)

    def number(self, node: Any) -> float:
        """A number, also `.inf` and `.nan`."""
        text = self.text(node).lower()
        return float(text.replace(".inf", "inf").replace(".nan", "nan"))

    def mapping(self, node: Any) -> dict[Any, Any]:
        """An object, of which each key stands once."""
        found: dict[Any, Any] = {}
        for key_node, value_node in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, (str, int, float)):
                raise YamlError(f"{in_short(key)}: cannot be a key; write a name")
            if key in found:
                raise YamlError(f"{in_short(key)}: stands twice; write it once")
            found[key] = self.construct_object(value_node, deep=True)
        return found

    def unknown(self, node: Any) -> Any:
        """A value of another program's kind."""
        raise YamlError(f"{in_short(node.tag, 60)}: unknown kind of value; leave it out")


# YAML 1.2.2, section 10.3.2.
for _tag, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", list("-+0123456789")),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", list("-+.0123456789")),
    ("float", r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)", list("-+.")),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(rf"(?:{_pattern})\Z"), _first)
for _tag, _method in (
    ("null", lambda loader, node: None),
    ("bool", lambda loader, node: loader.text(node).lower() == "true"),
    ("int", _Loader.whole),
    ("float", _Loader.number),
    ("str", _Loader.text),
    ("seq", lambda loader, node: [loader.construct_object(item, deep=True) for item in node.value]),
    ("map", _Loader.mapping),
):
    _Loader.add_constructor(f"tag:yaml.org,2002:{_tag}", _method)
_Loader.add_constructor(None, _Loader.unknown)


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
    except (yaml.YAMLError, ValueError, AttributeError, TypeError) as error:  # `!!int {}` and its like too
        raise YamlError(f"not YAML ({' '.join(str(error).split())})") from error


def read_yaml_file(path: Path, error: type[UserError] = YamlError) -> Any:
    """The content of a YAML file.

    Args:
        path: Of the file.
        error: What is raised.

    Raises:
        UserError: As `read_yaml`, or for text that is no UTF-8, with the name of the file.
        OSError: If it cannot be read.
    """
    try:
        with path.open(encoding="utf-8") as file:
            return read_yaml(file.read(LONGEST_YAML + 1))
    except UnicodeDecodeError as reason:
        raise error(f"{path}: not text in UTF-8 ({reason}); save it as UTF-8") from reason
    except YamlError as reason:
        raise error(f"{path}: {reason}; correct it") from reason


def is_text(value: Any) -> bool:
    """Whether a value is a text that files can hold: without halves of surrogate pairs, which UTF-8 has not."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_finite(value: Any) -> bool:
    """Whether a value is a number that is neither infinite nor NaN, and an integer no larger than any float."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def require_finite(value: Any, place: str, remedy: str, error: type[UserError] = UserError) -> None:
    """Makes sure that all numbers in a value are finite; JSON that Python reads may have others, such as `NaN`.

    Args:
        value, place, remedy, error: Those of `require_kinds`.

    Raises:
        UserError: For the first that is infinite or NaN, with the keys that lead to it.
    """
    waiting = [("", value)]
    while waiting:
        key, found = waiting.pop()
        if isinstance(found, (dict, list)):
            names = found if isinstance(found, dict) else range(len(found))
            waiting += [(f"{key}.{name}", found[name]) for name in reversed([*names])]
        elif isinstance(found, float) and not math.isfinite(found):
            told = f"{key.lstrip('.')}={found}" if key else found
            raise error(f"{place}: {told}: must be a finite number; {remedy}")


__all__ = [
    "YamlError", "described", "is_finite", "is_kind", "read_yaml", "read_yaml_file", "require_finite", "require_kinds",
]  # fmt: skip
