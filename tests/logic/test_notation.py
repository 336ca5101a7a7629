"""Spot agrees with what every notation reads and writes, and malformed text is refused at the right character."""

import random
import sys

import pytest
import spot
from hypothesis import given, settings

from hf_symbinv.logic import (
    Formula,
    FormulaSyntaxError,
    parse,
    parse_infix,
    parse_lbt,
    parse_prefix,
    to_infix,
    to_lbt,
    to_prefix,
)
from hf_symbinv.logic.formula import ARITY

from .strategies import AWKWARD_NAMES, built_by_spot, formulas, letters

NOTATIONS = {"prefix": (parse_prefix, to_prefix), "infix": (parse_infix, to_infix), "lbt": (parse_lbt, to_lbt)}
notations = pytest.mark.parametrize(("read", "write"), NOTATIONS.values(), ids=NOTATIONS)

# Text in pieces: operators and punctuation first, then names and what is no token at all.
PREFIX_PIECES = list('&|!^UXFGRWM01abz{};AZ-><"\\$ \t')
PREFIX_PIECES += ["->", "<->", "request", "_a", '"a b"', "é", "\x00", "\ud800"]
SPOT_TOKENS = [
    "(", "(", ")", ")", "!", "X", "F", "G", "<>", "U", "W", "M", "R", "V", "&", "&&", "|", "||", "/\\", "\\/",
    "->", "=>", "<->", "<=>", "xor", "^", "+", "¬", "□", "◇", "○", "∧", "∨", "⊕", "→", "↔", "a", "b", "c",
    "Ready", "Usable", '"a b"', "1", "0", "true", "False",
]  # fmt: skip
INFIX_PIECES = [*SPOT_TOKENS, " ", " ", "[]", "()", "*", "~", '"', "é", "\x00", "\ud800", "[", "{", "=", ";", "2", "_"]


@given(formulas(names=letters))
@settings(max_examples=200)
def test_spot_reads_what_is_written(formula):
    expected = built_by_spot(formula)
    assert spot.parse_infix_psl(to_infix(formula)).f == expected
    assert spot.parse_prefix_ltl(to_lbt(formula)).f == expected


@pytest.mark.parametrize("name", AWKWARD_NAMES)
def test_spot_reads_awkward_names(name):
    formula = Formula("G", (Formula("U", (Formula.ap(name), Formula.ap("a"))),))
    expected = built_by_spot(formula)
    assert spot.parse_infix_psl(to_infix(formula)).f == expected
    assert spot.parse_prefix_ltl(to_lbt(formula)).f == expected


@given(formulas(names=letters))
def test_what_spot_writes_is_read_as_spot_means_it(formula):
    written = built_by_spot(formula)
    assert built_by_spot(parse_infix(str(written))) == written
    assert built_by_spot(parse_lbt(f"{written:l}")) == written


def read_by_spot(text: str):
    parsed = spot.parse_infix_psl(text)
    return None if parsed.format_errors(spot.ostringstream()) else parsed.f


def check_against_spot(text: str) -> bool:
    expected = read_by_spot(text)
    try:
        formula = parse_infix(text)
    except FormulaSyntaxError as error:
        assert expected is None, (text, str(error))
        return False
    assert expected is not None, text
    assert built_by_spot(formula) == expected, text
    return True


def test_the_infix_parser_accepts_and_means_what_spot_does():
    generator = random.Random(3)
    accepted = 0
    for _ in range(6000):
        accepted += check_against_spot(" ".join(generator.choices(SPOT_TOKENS, k=generator.randint(1, 6))))
    assert accepted > 300


def test_random_infix_texts_with_redundant_parentheses_mean_what_spot_says():
    generator = random.Random(4)

    def write(depth: int) -> str:
        if depth == 0:
            return generator.choice(["a", "b", "request", "Ready", '"a b"', "1", "false"])
        if generator.random() < 0.3:
            return generator.choice(["!", "X ", "F ", "G", "[]", "<>", "~ "]) + write(depth - 1)
        if generator.random() < 0.3:
            return f"({write(depth - 1)})"
        operator = generator.choice(["U", "W", "R", "M", "&", "|", "^", "xor", "->", "<->", "&&", "||", "=>"])
        return f"{write(depth - 1)} {operator} {write(depth - 1)}"

    for _ in range(1500):
        text = write(generator.randint(1, 4)).replace("GR", "G R").replace("GG", "G G").replace("Gf", "G f")
        assert check_against_spot(text), text


@pytest.mark.parametrize(
    ("text", "prefix"),
    [
        ("G(request -> F grant)", "G -> request F grant"),
        ("a -> b -> c", "-> a -> b c"),
        ("a -> b <-> c", "-> a <-> b c"),
        ("a | b ^ c & d U e", "|a^b&cUde"),
        ("a U b W c", "UaWbc"),
        ("a & b & c", "&&abc"),
        ("!a U X b", "U!aXb"),
        ("(a)Ub", "Uab"),
        ("(a) Uxb", "U a xb"),
        ("Usable", '"Usable"'),
        ("FGXa", "FGXa"),
        ("FX2", "F X2"),
        ("() a && [] <> b", "&XaGFb"),
        (" \n a\t", "a"),
        ('"a b" U "say \\"x\\""', 'U "a b" "say \\"x\\""'),
        ("b | a | a & 1", "||ba&a1"),
        ("TRUE xor falsey", "^ 1 falsey"),
    ],
)
def test_infix_is_read_with_spots_precedence_and_keeps_the_order(text, prefix):
    assert to_prefix(parse_infix(text)) == prefix
    assert parse(text) == parse_infix(text)


def test_the_excerpt_of_a_long_text_shows_where_the_error_is():
    text = "a & " * 500 + "?" + " | b" * 500
    with pytest.raises(FormulaSyntaxError) as caught:
        parse_infix(text)
    assert caught.value.position == 2000
    assert len(str(caught.value)) < 200
    assert "...'a & a & a & a & a & ? | b" in str(caught.value)


@pytest.mark.parametrize("pieces", [PREFIX_PIECES, INFIX_PIECES], ids=["prefix", "infix"])
def test_ten_thousand_malformed_texts_give_a_formula_or_a_syntax_error(pieces):
    generator = random.Random(5)
    outcomes = {"formula": 0, "error": 0}
    for _ in range(10_000):
        text = "".join(generator.choices(pieces, k=generator.randint(0, 12)))
        for read, write in NOTATIONS.values():
            try:
                formula = read(text)
            except FormulaSyntaxError as error:
                assert 0 <= error.position <= len(text)
                outcomes["error"] += 1
            else:
                assert read(write(formula)) == formula
                outcomes["formula"] += 1
    assert min(outcomes.values()) > 100


@notations
@pytest.mark.parametrize(
    ("side", "operator"),
    [(side, operator) for side in ("left", "right") for operator in ARITY if ARITY[operator] > (side == "right")],
)
def test_deep_formulas_are_written_and_read(read, write, operator, side):
    formula = leaf = Formula.ap("request")
    for _ in range(2 * sys.getrecursionlimit()):
        if ARITY[operator] == 1:
            formula = Formula(operator, (formula,))
        else:
            formula = Formula(operator, (formula, leaf) if side == "left" else (leaf, formula))
    assert read(write(formula)) == formula


def test_a_deeply_parenthesised_text_is_read():
    assert parse_infix("(" * 50_000 + "a" + ")" * 50_000) == Formula.ap("a")
