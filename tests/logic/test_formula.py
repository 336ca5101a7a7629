"""Formulas are values: they compare, hash, pickle, rename and rewrite by their tree, however deep it is."""

import copy
import itertools
import pickle
import sys

import pytest
import spot
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_symbinv.logic import Formula, FormulaSizeError, parse_infix, parse_prefix, to_infix, to_prefix
from hf_symbinv.logic.formula import ARITY, BASE_OPERATORS, MAX_BASE_SIZE, SYMBOL

from .strategies import built_by_spot, formulas, letters

DEPTH = 2 * sys.getrecursionlimit()
DEEP_TEXTS = ["!" * DEPTH + "a", "U" * DEPTH + "a" * (DEPTH + 1), "&a" * DEPTH + "b", "X!" * DEPTH + "1"]


def test_python_operators_build_the_formula_they_look_like():
    a, b = Formula.ap("a"), Formula.ap("b")
    assert to_prefix((a & ~b) | (a ^ b)) == "|&a!b^ab"
    with pytest.raises(TypeError):
        a & "b"


def test_equal_trees_are_equal_and_hash_alike_and_others_differ():
    assert parse_prefix("&Uabc") == parse_infix("(a U b) & c")
    assert len({parse_prefix("&Uabc"), parse_prefix("&Uabc"), parse_prefix("&cUab")}) == 2
    assert parse_prefix("a") != "a"
    assert Formula.ap("1x") != Formula.true()


def test_a_formula_cannot_be_changed():
    formula = parse_prefix("&ab")
    with pytest.raises(AttributeError, match="'operator': a Formula is frozen; build a new one"):
        formula.operator = "|"
    with pytest.raises(AttributeError, match="'operands': a Formula is frozen"):
        del formula.operands


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("Z",), "operator 'Z': unknown; use one of ap 0 1 ! X F G & | \\^ -> <-> U R W M"),
        (("&", (Formula.ap("a"),)), "operator '&': takes 2 operands, got 1"),
        (("!", (Formula.ap("a"),), "a"), "operator '!': only a symbol has a name, got 'a'"),
        ((SYMBOL,), "symbol name None: must be a non-empty string"),
        ((SYMBOL, (), ""), "symbol name '': must be a non-empty string"),
        ((SYMBOL, (), "a\nb"), r"symbol name 'a\\nb': control character '\\n'; use printable characters"),
        ((SYMBOL, (), "\ud800"), "use printable characters"),
    ],
)
def test_an_impossible_node_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Formula(*arguments)


def test_an_operand_that_is_no_formula_is_refused():
    with pytest.raises(TypeError, match="operator '!': operands must be Formula, got str"):
        Formula("!", ("a",))


def test_symbols_come_in_the_order_of_first_appearance():
    assert parse_prefix("&UbaXb").symbols() == ("b", "a")
    assert parse_prefix("!1").symbols() == ()


def test_renaming_is_simultaneous_and_keeps_the_tree():
    assert to_prefix(parse_prefix("&UabXc").rename({"a": "b", "b": "a"})) == "&UbaXc"
    assert to_prefix(parse_prefix("Uab").rename({"a": "request"})) == "U request b"


def test_a_renaming_that_merges_symbols_is_refused():
    with pytest.raises(ValueError, match="renaming: 'a' and 'b' would both become 'b'; new names must differ"):
        parse_prefix("Uab").rename({"a": "b"})


@given(formulas(), st.permutations("abcde"))
def test_renaming_back_gives_the_formula_back(formula, names):
    there = dict(zip("abcde", names, strict=True))
    back = {new: old for old, new in there.items()}
    assert formula.rename(there).rename(back) == formula
    assert formula.rename(there).symbols() == tuple(there.get(name, name) for name in formula.symbols())


@pytest.mark.parametrize("text", DEEP_TEXTS, ids=["not", "left", "right", "mixed"])
def test_depth_is_not_limited(text):
    formula = parse_prefix(text)
    assert to_prefix(formula) == text
    assert formula == parse_prefix(text)
    assert hash(formula) == hash(parse_prefix(text))
    assert pickle.loads(pickle.dumps(formula)) == copy.deepcopy(formula) == formula
    assert formula != parse_prefix(text[:-1] + "c")
    assert len(repr(formula)) < 500
    assert formula.size == len(text)
    assert formula.rename({"a": "d"}).rename({"d": "a"}) == formula
    assert formula.to_base() == formula


@pytest.mark.parametrize("operator", ["F", "G", "R", "W", "M", "->"])
def test_deep_formulas_rewrite(operator):
    leaf = [] if ARITY[operator] == 1 else ["a"]
    formula = parse_prefix(" ".join([operator, *leaf] * DEPTH + ["b"]))
    assert {node.operator for node in formula.to_base().distinct_nodes()} <= BASE_OPERATORS


def test_shared_subformulas_are_visited_once():
    formula = Formula.ap("a")
    for _ in range(60):
        formula = formula & formula
    twin = Formula.ap("a")
    for _ in range(60):
        twin = twin & twin
    assert formula.size == 2**61 - 1
    assert formula == twin
    assert hash(formula) == hash(twin)
    assert pickle.loads(pickle.dumps(formula)).rename({"a": "b"}).symbols() == ("b",)


def check_rewriting(formula: Formula) -> None:
    rewritten = formula.to_base()
    assert {node.operator for node in rewritten.distinct_nodes()} <= BASE_OPERATORS
    assert spot.are_equivalent(built_by_spot(formula), built_by_spot(rewritten)), to_infix(formula)
    core = formula.to_core()
    assert {node.operator for node in core.distinct_nodes()} <= BASE_OPERATORS | {"R"}
    assert spot.are_equivalent(built_by_spot(formula), built_by_spot(core)), to_infix(formula)


@pytest.mark.parametrize("operator", [operator for operator in ARITY if operator not in BASE_OPERATORS])
def test_every_operator_is_rewritten_to_an_equivalent_formula(operator):
    operands = [parse_prefix(text) for text in ("a", "!b", "b", "0", "1", "|ab", "&aXc", "!Uac")]
    for choice in itertools.product(operands, repeat=ARITY[operator]):
        check_rewriting(Formula(operator, choice))


@settings(max_examples=500)
@given(formulas(names=letters, max_leaves=5))
def test_any_formula_is_rewritten_to_an_equivalent_one(formula):
    check_rewriting(formula)


@given(formulas(BASE_OPERATORS))
def test_base_formulas_stay_as_they_are(formula):
    assert formula.to_base() == formula


@pytest.mark.parametrize("operator", ["W", "M"])
@pytest.mark.parametrize("side", ["left", "right"])
def test_nested_weak_operators_grow_linearly(operator, side):
    text = f"{operator}a" * 1000 + "b" if side == "right" else operator * 1000 + "a" * 1001
    assert parse_prefix(text).to_base().size <= 12 * 1000


def test_a_rewriting_that_explodes_is_refused_quickly():
    parity = parse_prefix("^" * 40 + "a" * 41)
    with pytest.raises(FormulaSizeError, match=f"needs more than {MAX_BASE_SIZE} nodes"):
        parity.to_base()
    with pytest.raises(FormulaSizeError):
        parse_prefix("^" * 2500 + "a" * 2501).to_base()
