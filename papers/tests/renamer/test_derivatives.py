"""Every label is what sympy says, expressions mean what they say, and a3 is held out."""

import json
import random
from dataclasses import replace

import mpmath
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from hf_symbinv import SymbolInvariantWordTokenizer
from hf_symbinv.logic.referents import random_renaming
from papers.renamer import derivatives, expressions
from papers.renamer.derivatives import (
    DerivativesConfig,
    generate,
    load_derivatives,
    main,
)
from papers.renamer.expressions import (
    BASE_TOKENS,
    FUNCTIONS,
    IDS,
    INTERCHANGEABLE,
    INVERSE_AND_HYPERBOLIC,
    QUESTION,
    STANDARD,
    SYMBOLS,
    ExpressionError,
    Vocabulary,
    canonical_ids,
    derive,
    draw_words,
    evaluate,
    ids_of,
    read_expression,
    write_expression,
)

# No expression may reach the limit, however busy the machine: another data set would come out.
CONFIG = DerivativesConfig(rows=20, held_out=8, max_operators=3, max_tokens=30, timeout=600)
X = sympy.Symbol("x", real=True)


@pytest.fixture(scope="module")
def splits():
    return generate(CONFIG, workers=1)


def complex_of(expression, place):
    """Its value with 50 digits."""
    with mpmath.workdps(50):
        return mpmath.mpmathify(expression.evalf(50, subs=place))


def parts(row):
    return [read_expression(side.split()) for side in row["text"].split(QUESTION)]


class TestLabels:
    def test_true_pairs_are_derivatives_and_false_ones_are_not_says_sympy(self, splits):
        for row in [row for rows in splits.values() for row in rows]:
            function, derivative = parts(row)
            difference = sympy.diff(function, X) - derivative
            place = {
                symbol: sympy.Rational(k + 2, 7) for k, symbol in enumerate(sorted(difference.free_symbols, key=str))
            }
            if row["label"]:
                assert sympy.simplify(difference) == 0, row["text"]
            else:
                assert sympy.simplify(difference) != 0 and difference.subs(place).evalf(20) != 0, row["text"]

    def test_the_extended_split_has_a_coefficient_that_no_other_has(self, splits):
        assert {split: len(rows) for split, rows in splits.items()} == {
            "train": 20, "validation": 8, "test": 8, "extended": 8
        }  # fmt: skip
        for split, rows in splits.items():
            assert all(("a3" in row["text"].split()) == (split == "extended") for row in rows)

    def test_no_function_occurs_twice(self, splits):
        functions = [
            row["text"].split(QUESTION)[0] for split in ("train", "validation", "test") for row in splits[split]
        ]
        assert len(set(functions)) == len(functions)

    def test_with_all_functions_true_pairs_are_derivatives_by_a_difference_quotient(self):
        config = replace(CONFIG, functions="all", rows=60, max_operators=5)
        rows = [row for split in generate(config, workers=1).values() for row in split]
        assert sum(bool(set(row["text"].split()) & set(INVERSE_AND_HYPERBOLIC)) for row in rows) > 10
        others = {sympy.Symbol(k, real=True): sympy.Float(v, 60) for k, v in expressions._PLACES.items() if k != "x"}
        places = {X: sympy.Float("0.7312", 60)}, {X: sympy.Float("0.7312", 60) + sympy.Float("1e-25", 60)}
        for row in rows:
            assert row["input_ids"] == Vocabulary("all").ids_of(row["text"])
            function, derivative = parts(row)
            low, high = (complex_of(function, {**others, **place}) for place in places)
            slope, claimed = (high - low) / mpmath.mpf("1e-25"), complex_of(derivative, {**others, **places[0]})
            assert (abs(slope - claimed) <= 1e-12 * (1 + abs(claimed))) == bool(row["label"]), row["text"]

    def test_the_same_seed_gives_the_same_rows_whatever_the_number_of_processes(self, splits):
        assert generate(CONFIG, workers=2) == splits


words = st.builds(
    lambda seed, size: draw_words(random.Random(seed), size, 4), st.integers(0, 10_000), st.integers(0, 5)
)
all_words = st.builds(
    lambda seed, size: draw_words(random.Random(seed), size, 4, "all"), st.integers(0, 10_000), st.integers(0, 5)
)

# Inverse and hyperbolic functions, at places where they are real; acosh is so from 1 on, the first three up to 1.
OFF_THE_CUT = [
    *(("asin", "x"), ("acos", "z"), ("atanh", "x"), ("acosh", "y")),
    *((word, "y") for word in ("atan", "sinh", "cosh", "tanh", "asinh")),
]


class TestExpressions:
    @given(all_words)
    def test_what_is_written_means_what_was_read(self, drawn):
        try:
            text = write_expression(read_expression(drawn), "all")
        except ExpressionError:  # 1 / 0 and the like
            return
        assert write_expression(read_expression(text), "all") == text

    @pytest.mark.parametrize(
        ("text", "expression"),
        [
            ("add mul a1 x pow x INT- 1 2", "a1*x + x**(-12)"),
            ("div INT- 1 INT+ 2", "-1/2"),
            ("pow x div INT+ 1 INT+ 2", "sqrt(x)"),
            ("mul y exp sin z", "y*exp(sin(z))"),
            ("add asin x add acos y atan z", "asin(x) + acos(y) + atan(z)"),
            ("add sinh x add cosh y tanh z", "sinh(x) + cosh(y) + tanh(z)"),
            ("add asinh x add acosh y atanh z", "asinh(x) + acosh(y) + atanh(z)"),
        ],
    )
    def test_prefix_notation_is_read(self, text, expression):
        names = {name: sympy.Symbol(name, real=True) for name in ("x", *SYMBOLS)}
        assert read_expression(text.split()) == sympy.sympify(expression, locals=names)

    # On the cut of an inverse function, such as asin of 3, each library takes a side of its own.
    @given(words | st.sampled_from([f"{word} {name}".split() for word, name in OFF_THE_CUT]))
    def test_the_fast_value_is_sympys(self, drawn):
        try:
            expression = read_expression(drawn)
            value = evaluate(write_expression(expression, "all"))
        except (ExpressionError, ArithmeticError, ValueError):
            return
        slow = complex(
            expression.evalf(30, subs={sympy.Symbol(k, real=True): v for k, v in expressions._PLACES.items()})
        )
        if abs(value) < 1e12:
            assert abs(value - slow) <= 1e-6 * (1 + abs(slow))

    @pytest.mark.parametrize("operators", [0, 1, 2, 3, 6])
    def test_a_drawn_tree_has_the_operators_that_were_asked_for(self, operators):
        leaves = {"x", *SYMBOLS, "1", "2", "3", "4", "5"}
        drawn = draw_words(random.Random(operators), operators, 3)
        assert sum(word not in leaves for word in drawn) == operators

    def test_all_shapes_of_trees_are_equally_frequent(self):
        generator, shapes = random.Random(0), {}
        for _ in range(6000):
            drawn = draw_words(generator, 2, 3)
            shape = "".join("b" if w in ("add", "sub", "mul", "div") else "l" if w in {"x", *SYMBOLS, *"12345"} else "u"
                            for w in drawn)  # fmt: skip
            shapes[shape] = shapes.get(shape, 0) + 1
        assert set(shapes) == {"uul", "ubll", "bull", "blul", "bblll", "blbll"}
        assert all(abs(count - 1000) < 120 for count in shapes.values())

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("add x", "an expression ends too early; an operator lacks an operand"),
            ("x x", "'x x': 'x' is left over; an expression ends before it"),
            ("INT+ x", "'INT\\+' has no digits; write INT\\+ 1 2 for 12"),
            ("sech x", "'sech': no word of an expression; use x add .* asin acos .* atanh y z a0"),
        ],
    )
    def test_what_is_no_expression_is_refused(self, text, message):
        with pytest.raises(ExpressionError, match=message):
            read_expression(text.split())

    def test_what_the_words_cannot_say_is_refused(self):
        with pytest.raises(ExpressionError, match="has a part that is no word: ImaginaryUnit"):
            write_expression(sympy.I * X)
        with pytest.raises(ExpressionError, match="has a part that is no word: asin"):
            write_expression(sympy.asin(X))

    def test_basic_functions_are_drawn_as_before_and_all_of_them_are_those_of_lample_and_charton(self):
        generator, found = random.Random(0), {"basic": set(), "all": set()}
        for name, seen in found.items():
            for _ in range(4000):
                seen |= set(draw_words(generator, 1, 3, name))
        powers = {"sqrt", "pow2", "pow3", "pow4", "pow5"}
        assert {word for word in found["basic"] if word in FUNCTIONS["all"]} == {"exp", "ln", "sin", "cos", "tan"}
        assert found["all"] - found["basic"] == {
            "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"
        }  # fmt: skip
        assert powers < found["basic"]

    def test_what_has_no_derivative_to_learn_from_is_left_out(self):
        found = [derive((0, number, 3, 5, 20, "basic")) for number in range(60)]
        assert None in found
        for pair in filter(None, found):
            assert "x" in pair.function.split() and pair.derivative != "INT+ 0"
            assert max(len(pair.function.split()), len(pair.derivative.split())) <= 20


class TestIds:
    def test_ids_of_basic_functions_are_those_that_saved_data_have(self):
        assert ids_of("x y a3 9 tan") == [4, 26, 37, 25, 13]
        assert STANDARD.base_tokens == BASE_TOKENS == Vocabulary("all").base_tokens[: len(BASE_TOKENS)]

    @given(all_words)
    def test_the_tokenizer_of_the_vocabulary_gives_its_ids(self, drawn):
        vocabulary = Vocabulary("all")
        text = " ".join(word for word in drawn if word in vocabulary.base_tokens or word in SYMBOLS)
        tokenizer = SymbolInvariantWordTokenizer(**vocabulary.words())
        assert tokenizer(text)["input_ids"] == vocabulary.ids_of(text)

    @given(words, st.randoms(use_true_random=False))
    def test_renamed_expressions_have_one_canonical_form_and_the_renamed_ids(self, drawn, generator):
        text = " ".join(word for word in drawn if word in BASE_TOKENS or word in SYMBOLS)
        renaming = random_renaming(INTERCHANGEABLE, generator)
        renamed = " ".join(SYMBOLS[renaming[SYMBOLS.index(w)]] if w in SYMBOLS else w for w in text.split())
        assert ids_of(renamed) == IDS.rename(ids_of(text), renaming)
        assert canonical_ids(ids_of(renamed)) == canonical_ids(ids_of(text))


class TestFolders:
    def test_the_command_leaves_a_data_set(self, tmp_path, capsys):
        options = ["--rows", "20", "--held-out", "4", "--max-operators", "2", "--max-tokens", "20", "--workers", "1"]
        assert main([*options, "--output", str(tmp_path / "a")]) == 0
        assert "20 train, 4 validation, 4 test, 4 extended" in capsys.readouterr().out
        data = load_derivatives(tmp_path / "a")
        assert data["train"][0]["input_ids"] == ids_of(data["train"][0]["text"])
        assert "Made by hf_symbinv with" in (tmp_path / "a/README.md").read_text()
        assert json.loads((tmp_path / "a/generation.json").read_text()) == {
            "builder": "derivatives 1.0.0", "rows": 20, "held_out": 4, "max_operators": 2, "max_tokens": 20, "seed": 0,
            "timeout": 5.0,
        }  # fmt: skip

    def test_without_sympy_the_message_says_what_installs_it(self, tmp_path, capsys, monkeypatch):
        monkeypatch.setattr(derivatives, "find_spec", lambda name: None)
        assert main(["--output", str(tmp_path / "a")]) == 2
        assert "not installed; in a checkout, run pip install '.[algebra]'" in capsys.readouterr().err

    def test_more_rows_than_there_are_expressions_are_refused(self, tmp_path, capsys):
        options = ["--rows", "3000", "--held-out", "2", "--max-operators", "1", "--max-tokens", "4", "--workers", "1"]
        assert main([*options, "--output", str(tmp_path / "a")]) == 2
        assert "turn up; ask for fewer rows, more operators or more tokens" in capsys.readouterr().err
        assert not (tmp_path / "a").exists()
