"""Every notation reads back what it writes, Spot agrees, and malformed text is refused at the right character."""

import pickle
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


@notations
@given(formula=formulas())
def test_what_is_written_reads_back_as_the_same_tree(read, write, formula):
    assert read(write(formula)) == formula


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


@pytest.mark.parametrize(
    ("prefix", "infix"),
    [
        ("G -> request F grant_1", "G(request -> F grant_1)"),
        ("&&abc", "a & b & c"),
        ("&a&bc", "a & (b & c)"),
        ("UaUbc", "a U (b U c)"),
        ("^a!&bc", "a xor !(b & c)"),
        ("XXX!a", "X X X !a"),
        ('& "U" "a b"', '"U" & "a b"'),
        ("& true Fx", '"true" & "Fx"'),
        ("<-> 1 0", "1 <-> 0"),
    ],
)
def test_infix_is_written_readably_with_the_users_names(prefix, infix):
    assert to_infix(parse_prefix(prefix)) == infix


@pytest.mark.parametrize("text", ["&UabXc", "&^aWbFc0", "& a bc", '"bc"', "-> a b", '& "a b" c', '"A"', "& a X2"])
def test_prefix_is_written_compact_where_every_token_is_one_character(text):
    assert to_prefix(parse_prefix(text)) == text


@pytest.mark.parametrize(
    ("read", "text", "position", "message"),
    [
        (parse_prefix, "", 0, "expected a formula, found nothing"),
        (parse_prefix, "&a", 2, "expected 1 more operand"),
        (parse_prefix, "Uabc", 3, "the formula is complete here, expected its end"),
        (parse_prefix, "&aB", 2, "'B' is no token; without white space every character is an operator or a lower-case"),
        (parse_prefix, "->ab", 0, "so separate the tokens by blanks if symbols have longer names"),
        (parse_prefix, "& ab A", 5, "'A' is no operator and no identifier; put other names in double quotes"),
        (parse_prefix, '& ab "c d', 5, "'\"c' is no operator and no identifier"),
        (parse_prefix, '& "a"b c', 2, "double quotes, blanks around them"),
        (parse_prefix, '& a ""', 4, "symbol name '': must be a non-empty string"),
        (parse_infix, "", 0, "expected a formula, the text ends here"),
        (parse_infix, "a & (b | c", 10, "expected ')' for the '(' at position 4"),
        (parse_infix, "a)", 1, "')' closes nothing"),
        (parse_infix, "a b", 2, "unexpected 'b', expected an operator, ')' or the end"),
        (parse_infix, "é & a", 0, "unexpected 'é', expected a formula"),
        (parse_infix, '"é" & \n | a', 8, "unexpected '|', expected a formula"),
        (parse_infix, "a U U b", 4, "expected a formula before the operator 'U'"),
        (parse_infix, "true Usable", 5, "unexpected 'U', expected an operator, ')' or the end"),
        (parse_infix, 'a & "b', 4, "this quoted name is not closed by another double quote"),
        (parse_infix, 'a & "b\nc"', 4, "control character '\\n'; use printable characters"),
        (parse_infix, "F[3] a", 1, "bounds are written X[3], F[2:5], G[0..3], F[2:]"),
        (parse_infix, "a |-> b", 3, "`|->` of SystemVerilog is ->, and `|=>` is -> X"),
        (parse_infix, "F[2:1] a", 0, "the first bound, 2, is above the last, 1; swap them"),
        (parse_infix, "X[99999999] a", 0, "the bound 99999999 is too large; use one of 7 digits at most"),
        (parse_infix, "G[0:999999] a", 0, "written out, this operator takes more than 1,000,000 nodes"),
        (parse_infix, "G req[3]", 5, 'a name with brackets stands in double quotes: "req[3]"'),
        (parse_infix, "a & mem[3][2].x", 7, 'a name with brackets stands in double quotes: "mem[3][2].x"'),
        (parse_infix, "G(a=0)", 3, "; write !a, without a value"),
        (parse_infix, "cnt == 3", 4, "a proposition is true or false, and is not compared"),
        (parse_infix, "{a;b}", 0, "regular expressions are not read"),
        (parse_infix, "G a AND F b", 4, "`AND` is &"),
        (parse_infix, "G(a -> b\nG c", 9, "the '(' at position 1 is not closed"),
        (parse_infix, "a @ b", 2, "put names that are not identifiers in double quotes"),
        (parse_infix, "G \u00e4", 2, "a name with other letters than a to z stands in double quotes"),
        (parse_infix, "G 1st", 3, "a name that begins with a digit stands in double quotes"),
        (parse_infix, "alas a", 5, "operators are ! & | xor -> <-> X F G U R W M"),
        (parse_lbt, "U p0", 4, "expected 1 more operand"),
        (parse_lbt, "U p0 ~ p1", 5, "unexpected '~', expected an operator, an identifier or a name in double quotes"),
        (parse_lbt, 'U p0 ""', 5, "symbol name '': must be a non-empty string"),
    ],
)
def test_a_syntax_error_names_the_first_wrong_character(read, text, position, message):
    with pytest.raises(FormulaSyntaxError) as caught:
        read(text)
    assert caught.value.position == position
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"position {position} of ")
    assert pickle.loads(pickle.dumps(caught.value)).position == position


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
