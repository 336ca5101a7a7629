"""Random expressions and their derivatives by sympy, in prefix notation and as token ids.

Coefficients are symbols that may trade names, and so are y and z; x and the operators are base tokens. The referent is
the variable, the view its kind. Functions are `basic` (exp, ln, sin, cos, tan), or `all`: inverse and hyperbolic ones
too, as Lample and Charton have them. No word stands for pi, so expressions in which sympy finds it are left out.

Source: Lample and Charton 2020, Deep Learning for Symbolic Mathematics, section 4 and appendix C (shapes of trees,
operators); Renamer, appendix E (views). How often leaves are what, and that few operators suffice, is our choice.
"""

from __future__ import annotations

import cmath
import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from hf_symbinv.errors import UserError
from hf_symbinv.logic.referents import SymbolIds

if TYPE_CHECKING:
    import sympy

VIEWS = ("input", "coefficient")
SYMBOLS = ("y", "z", "a0", "a1", "a2", "a3")
# The sets that may trade names.
INTERCHANGEABLE = (range(0, 2), range(2, 6))
UNARY = ("exp", "ln", "sin", "cos", "tan")
INVERSE_AND_HYPERBOLIC = ("asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh")
FUNCTIONS = {"basic": UNARY, "all": (*UNARY, *INVERSE_AND_HYPERBOLIC)}

# Operators and how often each is drawn: Lample and Charton's published command.
_BINARY = {"add": 10, "sub": 3, "mul": 10, "div": 5}
_BASIC = {"sqrt": 4, "pow2": 4, "pow3": 2, "pow4": 1, "pow5": 1, "ln": 4, "exp": 4, "sin": 4, "cos": 4, "tan": 4}
_UNARY = {"basic": _BASIC, "all": {**_BASIC, **dict.fromkeys(INVERSE_AND_HYPERBOLIC, 1)}}
# Our choice: with 0.2 for coefficients, as for integers, only an eighth of the pairs would have two of them.
_LEAVES = {"x": 0.35, "input": 0.1, "coefficient": 0.4, "integer": 0.15}
# Places at which derivatives are compared, one for each variable: nothing but chance makes different ones agree there.
_PLACES = {"x": 0.7312, "y": 1.3871, "z": 0.4517, "a0": 1.1243, "a1": 0.6391, "a2": 1.7712, "a3": 0.8953}


class ExpressionError(UserError):
    """A text that is no expression, or an expression that the words cannot say."""


@dataclass(frozen=True)
class Vocabulary:
    """Ids for the words of expressions.

    Attributes:
        functions: Of `FUNCTIONS`.
    """

    functions: str = "basic"

    @cached_property
    def base_tokens(self) -> tuple[str, ...]:
        """The words that are no symbols, in the order of their ids."""
        return (
            "<s>", "<pad>", "</s>", "=d/dx?", "x", "add", "mul", "pow", "div", *UNARY, "INT+", "INT-",
            *map(str, range(10)), *(name for name in FUNCTIONS[self.functions] if name not in UNARY),
        )  # fmt: skip

    @cached_property
    def symbol_ids(self) -> SymbolIds:
        """The arithmetic of its ids."""
        return SymbolIds(len(self.base_tokens), len(VIEWS))

    def ids_of(self, text: str) -> list[int]:
        """Token ids of a row's text.

        Raises:
            ExpressionError: For a word that is no token.
        """
        return [self._id(word) for word in text.split()]

    def _id(self, word: str) -> int:
        if word in SYMBOLS:
            referent = SYMBOLS.index(word)
            return self.symbol_ids.symbol(referent, VIEWS.index("input" if referent < 2 else "coefficient"))
        if word not in self.base_tokens:
            raise ExpressionError(f"{word!r}: no token; use {' '.join(self.base_tokens[3:])} {' '.join(SYMBOLS)}")
        return self.base_tokens.index(word)

    def words(self) -> dict[str, Any]:
        """What makes a `SymbolInvariantWordTokenizer` that gives texts the ids of `ids_of`."""
        symbols = {name: self.symbol_ids.parts(self._id(name)) for name in SYMBOLS}
        return {"base_tokens": self.base_tokens, "symbols": symbols, "num_views": len(VIEWS)}

    def canonical_ids(self, ids: Sequence[int]) -> list[int]:
        """The ids with y and z, and coefficients, named in the order of their first appearance."""
        return self.symbol_ids.rename(ids, self.symbol_ids.canonical_renaming(ids, INTERCHANGEABLE))


STANDARD = Vocabulary()
BASE_TOKENS, IDS, words = STANDARD.base_tokens, STANDARD.symbol_ids, STANDARD.words
ids_of, canonical_ids = STANDARD.ids_of, STANDARD.canonical_ids
PAD, QUESTION = BASE_TOKENS.index("<pad>"), BASE_TOKENS[3]


@dataclass(frozen=True, slots=True)
class Derivative:
    """An expression, its derivative, and the derivative's value at a fixed place."""

    function: str
    derivative: str
    value: complex


@cache
def _trees(operators: int) -> int:
    """The number of unary-binary trees with so many inner nodes."""
    if operators == 0:
        return 1
    rest = operators - 1
    return _trees(rest) + sum(_trees(left) * _trees(rest - left) for left in range(operators))


def draw_words(generator: random.Random, operators: int, coefficients: int, functions: str = "basic") -> list[str]:
    """A random expression in prefix notation with operators by the names of Lample and Charton.

    Args:
        generator: Draws it.
        operators: How many; all shapes of trees with them are equally likely.
        coefficients: How many different ones may occur.
        functions: Of `FUNCTIONS`.
    """
    if operators == 0:
        [kind] = generator.choices(list(_LEAVES), list(_LEAVES.values()))
        leaves = {"x": ["x"], "input": ["y", "z"], "coefficient": list(SYMBOLS[2 : 2 + coefficients]),
                  "integer": ["1", "2", "3", "4", "5"]}  # fmt: skip
        return [generator.choice(leaves[kind])]
    rest = operators - 1
    place = generator.randrange(_trees(operators))
    if place < _trees(rest):
        [name] = generator.choices(list(_UNARY[functions]), list(_UNARY[functions].values()))
        return [name, *draw_words(generator, rest, coefficients, functions)]
    place -= _trees(rest)
    left = 0
    while place >= _trees(left) * _trees(rest - left):
        place -= _trees(left) * _trees(rest - left)
        left += 1
    [name] = generator.choices(list(_BINARY), list(_BINARY.values()))
    parts = (draw_words(generator, part, coefficients, functions) for part in (left, rest - left))
    return [name, *(word for part in parts for word in part)]


def read_expression(words: Sequence[str]) -> sympy.Expr:
    """The expression that words in prefix notation mean: those of data sets, and those of `draw_words`.

    Raises:
        ExpressionError: If they are none.
    """
    expression, rest = _read(list(words))
    if rest:
        raise ExpressionError(f"{' '.join(words)!r}: {' '.join(rest)!r} is left over; an expression ends before it")
    return expression


def _read(words: list[str]) -> tuple[sympy.Expr, list[str]]:
    import sympy

    if not words:
        raise ExpressionError("an expression ends too early; an operator lacks an operand")
    head, rest = words[0], words[1:]
    if head in ("INT+", "INT-"):
        digits = 0
        while digits < len(rest) and rest[digits].isdigit():
            digits += 1
        if not digits:
            raise ExpressionError(f"{head!r} has no digits; write {head} 1 2 for 12")
        number = sympy.Integer("".join(rest[:digits]))
        return (number if head == "INT+" else -number), rest[digits:]
    if head.isdigit():
        return sympy.Integer(head), rest
    if head == "x" or head in SYMBOLS:
        return sympy.Symbol(head, real=True), rest
    functions = {"sqrt": sympy.sqrt, **{f"pow{n}": _power(n) for n in range(2, 6)}}
    functions |= {name: getattr(sympy, name) for name in FUNCTIONS["all"]}
    if head in functions:
        inner, rest = _read(rest)
        return functions[head](inner), rest
    if head in ("add", "sub", "mul", "div", "pow"):
        left, rest = _read(rest)
        right, rest = _read(rest)
        results = {"add": lambda: left + right, "sub": lambda: left - right, "mul": lambda: left * right,
                   "div": lambda: left / right, "pow": lambda: left**right}  # fmt: skip
        return results[head](), rest
    known = " ".join((*Vocabulary("all").base_tokens[4:], *SYMBOLS))
    raise ExpressionError(f"{head!r}: no word of an expression; use {known}")


def _power(exponent: int) -> Any:
    return lambda base: base**exponent


def write_expression(expression: sympy.Expr, functions: str = "basic") -> list[str]:
    """An expression as words in prefix notation; sums and products of several terms lean to the right.

    Args:
        expression: Of sympy.
        functions: Of `FUNCTIONS`: those that have words.

    Raises:
        ExpressionError: If it has a part that the words do not know, such as an imaginary number.
    """
    import sympy

    if isinstance(expression, sympy.Integer):
        return ["INT+" if expression >= 0 else "INT-", *str(abs(int(expression)))]
    if isinstance(expression, sympy.Rational):
        return [
            "div",
            *(word for part in (expression.p, expression.q) for word in write_expression(sympy.Integer(part))),
        ]
    if isinstance(expression, sympy.Symbol):
        return [str(expression)]
    if expression == sympy.E:
        return ["exp", "INT+", "1"]
    names = {getattr(sympy, name): name for name in FUNCTIONS[functions]}
    if expression.func in names and len(expression.args) == 1:
        return [names[expression.func], *write_expression(expression.args[0], functions)]
    operators = {sympy.Add: "add", sympy.Mul: "mul", sympy.Pow: "pow"}
    if expression.func not in operators:
        raise ExpressionError(f"{expression}: has a part that is no word: {expression.func.__name__}")
    parts = [write_expression(part, functions) for part in expression.args]
    words = parts[-1]
    for part in reversed(parts[:-1]):
        words = [operators[expression.func], *part, *words]
    return words


def load_sympy() -> None:
    """What the first expression would else wait for: seconds where sympy has never run."""
    import sympy

    sympy.diff(sympy.sin(sympy.Symbol("x", real=True)))


def derive(item: tuple[int, int, int, int, int, str]) -> Derivative | None:
    """A random expression and its derivative; None if there is nothing to use.

    Args:
        item: Seed, number of the expression, how many coefficients may occur, operators and tokens at most, functions.
    """
    import sympy

    seed, number, coefficients, max_operators, max_tokens, functions = item
    generator = random.Random(f"{seed} {coefficients} {number}")
    words = draw_words(generator, generator.randint(1, max_operators), coefficients, functions)
    if "x" not in words:
        return None
    x = sympy.Symbol("x", real=True)
    try:
        function = read_expression(words)
        derivative = sympy.diff(function, x)
        texts = [write_expression(part, functions) for part in (function, derivative)]
    except (ExpressionError, ZeroDivisionError, OverflowError, RecursionError):
        return None
    if derivative == 0 or max(map(len, texts)) > max_tokens:
        return None
    try:
        value = evaluate(texts[1])
    except (ArithmeticError, ValueError):
        return None
    return Derivative(" ".join(texts[0]), " ".join(texts[1]), value) if cmath.isfinite(value) else None


def evaluate(words: Sequence[str]) -> complex:
    """The value of an expression at a fixed place, with floating-point numbers.

    Raises:
        ArithmeticError, ValueError: If it has none there.
    """
    stack: list[complex] = []
    digits = ""
    # Zeros lose their sign, which logarithms would take for a side of their cut.
    for word in reversed(words):
        if word.isdigit():
            digits = word + digits
            continue
        if word in ("INT+", "INT-"):
            value = complex(int(digits) * (1 if word == "INT+" else -1))
            digits = ""
        elif word in _PLACES:
            value = complex(_PLACES[word])
        elif word in FUNCTIONS["all"]:
            value = getattr(cmath, "log" if word == "ln" else word)(stack.pop())
        else:
            left, right = stack.pop(), stack.pop()
            value = _apply(word, left, right)
        stack.append(complex(value.real + 0.0, value.imag + 0.0))
    return stack.pop()


def _apply(operator: str, left: complex, right: complex) -> complex:
    if operator == "add":
        return left + right
    if operator == "mul":
        return left * right
    return left / right if operator == "div" else left**right
