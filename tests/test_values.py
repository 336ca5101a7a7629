"""Kinds of values: each wrong one is named with the keys that lead to it."""

from typing import Annotated, Any, Literal

import pytest
from annotated_types import Len
from typing_extensions import TypedDict

from hf_symbinv.errors import UserError
from hf_symbinv.values import YamlError, is_kind, is_text, read_yaml, read_yaml_file, require_kinds


class _Point(TypedDict):
    x: int
    y: float | None


class Drawing(TypedDict, total=False):
    name: str
    points: list[_Point]
    colours: dict[str, Annotated[list[float], Len(2, 2)]]
    style: Literal["thin", "thick"]
    rest: Any


@pytest.mark.parametrize(
    "value",
    [
        {}, {"name": "a"}, {"points": []}, {"points": [{"x": 1, "y": None}, {"x": 2, "y": 0.5, "z": 1}]},
        {"colours": {"red": [1, 0.5]}}, {"style": "thin"}, {"rest": object()}, {"other": 1},
    ],
)  # fmt: skip
def test_what_is_of_the_kind_is_taken(value):
    require_kinds(value, Drawing, "file", "mend it")
    assert is_kind(value, Drawing)


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ([], "[]: must be an object"),
        ({"name": 3}, "name=3: must be text"),
        ({"name": None}, "name=None: must be text"),
        ({"points": {}}, "points={}: must be a list"),
        ({"points": [{"x": 1}]}, "points.0={'x': 1}: must be an object with y"),
        ({"points": [{"x": True, "y": 1}]}, "points.0.x=True: must be a whole number"),
        ({"points": [{"x": 1.0, "y": 1}]}, "points.0.x=1.0: must be a whole number"),
        ({"points": [{"x": 1, "y": "2"}]}, "points.0.y='2': must be a number"),
        ({"points": [{"x": 1, "y": 10**400}]}, "must be a number"),
        ({"colours": {"red": [1, 2, 3]}}, "colours.red=[1, 2, 3]: must have at most 2 items"),
        ({"colours": {1: [1, 2]}}, "colours.1=[1, 2]: must be text"),
        ({"style": "wide"}, "style='wide': must be 'thin' or 'thick'"),
        ({"style": ["thin"]}, "style=['thin']: must be 'thin' or 'thick'"),
    ],
)
def test_the_first_wrong_value_is_named_with_rule_and_remedy(value, sentence):
    with pytest.raises(UserError) as caught:
        require_kinds(value, Drawing, "file", "mend it")
    message = str(caught.value)
    assert message.startswith("file: ") and sentence in message and message.endswith("; mend it")
    assert not is_kind(value, Drawing)


def test_a_long_value_is_cut():
    with pytest.raises(UserError) as caught:
        require_kinds({"name": ["x" * 10_000_000]}, Drawing, "file", "mend it")
    assert len(str(caught.value)) < 300


def test_texts_that_files_can_hold():
    assert is_text("") and is_text("ä\x00😀")
    assert not any(map(is_text, ("\ud800", "a\udfff", b"a", None, 1)))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        # The examples of YAML 1.2.2, section 10.3.2, and what YAML 1.1 reads otherwise.
        ("A null: null\nAlso a null: # Empty", {"A null": None, "Also a null": None}),
        ("[ true, True, false, FALSE ]", [True, True, False, False]),
        ("[ 0, 0o7, 0x3A, -19 ]", [0, "0o7", "0x3A", -19]),
        ("[ 0., -0.0, .5, +12e03, -2E+05 ]", [0.0, -0.0, 0.5, 12000.0, -200000.0]),
        ("[ .inf, -.Inf, +.INF ]", [float("inf"), float("-inf"), float("inf")]),
        ("[1e-3, 1E3, 010, 1_000, 0b1, 12:30:45]", [0.001, 1000.0, 10, "1_000", "0b1", "12:30:45"]),
        ("[yes, no, on, off, y, 2001-12-14, <<, =]", ["yes", "no", "on", "off", "y", "2001-12-14", "<<", "="]),
        ("{3: 0, a: 'null', b: \"1\"}", {3: 0, "a": "null", "b": "1"}),
        ("", None),
        ("text: |\n  a\n  b\n", {"text": "a\nb\n"}),
        ("[!!str 1, !!float 1, !!int 010]", ["1", 1.0, 10]),
    ],
)
def test_yaml_has_the_kinds_of_1_2(text, value):
    found = read_yaml(text)
    assert found == value and repr(found) == repr(value)
    assert str(read_yaml("[.nan, .NaN]")) == "[nan, nan]"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "not YAML (while parsing a flow node"),
        ("a: 1\na: 2", "'a': stands twice; write it once"),
        ("{[1]: 2}", "found unhashable key"),
        ("a: &x [1]\nb: *x", "*x stands for another value; write the value out"),
        ("&x [*x]", "*x stands for another value"),
        ("[" * 50_000, "has too many levels"),
        ("a: " * 60_000, "the limit is 100,000"),
        ("!!python/object/apply:os.system [ls]", "could not determine a constructor for the tag"),
        ("!!int many", "not YAML ("),
        ("!!int [1]", "not YAML ("),
        ("!!seq 3", "not YAML ("),
        ("!!map 3", "not YAML ("),
        ("1" * 5_000, "not YAML (Exceeds the limit"),
        ("\0", "not YAML (unacceptable character"),
        ("--- 1\n--- 2", "not YAML (expected a single document"),
    ],
)
def test_yaml_that_is_refused_is_one_sentence(text, reason, tmp_path):
    with pytest.raises(YamlError) as caught:
        read_yaml(text)
    assert reason in str(caught.value) and "\n" not in str(caught.value)
    path = tmp_path / "recipe.yaml"
    path.write_text(text)
    with pytest.raises(UserError) as caught:
        read_yaml_file(path)
    assert str(caught.value).startswith(f"{path}: ") and str(caught.value).endswith("; correct it")


def test_an_alias_bomb_is_refused_at_once():
    levels = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30)]
    with pytest.raises(YamlError, match="stands for another value"):
        read_yaml("\n".join(["a0: &a0 [lol]", *levels]))


def test_a_file_that_is_no_text_is_refused(tmp_path):
    (tmp_path / "recipe.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match=r"not text in UTF-8 .*; save it as UTF-8"):
        read_yaml_file(tmp_path / "recipe.yaml")
