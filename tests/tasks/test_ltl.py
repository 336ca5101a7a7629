"""The LTL task agrees with the model's preset and ties tokens, notations and checker together."""

import pytest

from hf_symbinv import LTL, LTL_OPERATORS, SymbolInvariantConfig
from hf_symbinv.logic import nested_to_the_right, parse_prefix, to_prefix
from hf_symbinv.tasks import symbol_names


def test_its_model_is_the_preset_and_agrees_with_its_tokenizer():
    config, tokenizer = LTL.config(num_symbols=5), LTL.tokenizer()
    assert config.to_dict() == SymbolInvariantConfig.from_preset("ltl").to_dict()
    assert config.base_vocab_size == tokenizer.vocab_size == 13
    for name in ("bos_token_id", "pad_token_id", "eos_token_id"):
        assert getattr(config, name) == getattr(tokenizer, name)
    assert {LTL.base_tokens[index]: n for index, n in config.token_arity.items()} == tokenizer.token_arity


def test_the_grammar_of_answers_names_the_tokens_of_traces():
    grammar = LTL.grammar
    named = {name: LTL.base_tokens[grammar[name]] for name in ("separator", "cycle_start", "cycle_end")}
    assert named == {"separator": ";", "cycle_start": "{", "cycle_end": "}"}
    assert {LTL.base_tokens[index] for index in grammar["operand"]} == {"0", "1"}
    assert {LTL.base_tokens[index] for index in grammar["unary"]} == {"!"}
    assert {LTL.base_tokens[index] for index in grammar["binary"]} == {"&", "|"}


def test_questions_keep_the_operators_that_prompts_rewrite():
    assert LTL.read_question("F a", "infix") == "Fa"
    assert LTL.prompt("Fa") == "U1a" == LTL.prompt("U1a")
    assert LTL.prompt("F request") == "U 1 request"


@pytest.mark.parametrize("text", ["a; a & b; cycle{1}", "a;&ab;{1}", "a ; & a b ; { 1 }"])
def test_answers_are_read_in_infix_and_in_prefix_notation(text):
    assert LTL.read_answer(text) == "a;&ab;{1}"


def test_answers_are_shown_in_the_readers_notation_and_stay_as_they_are_if_they_cannot_be_read():
    answer = "request;  & request grant_1 ; { grant_1 }"
    assert LTL.write_answer(answer, "infix") == answer
    answer = answer.replace(";  ", " ; ")
    assert LTL.write_answer(answer, "prefix") == LTL.write_answer(answer, "lbt") == answer
    assert LTL.write_answer(answer, "infix") == "request; request & grant_1; cycle{grant_1}"


def test_long_names_may_be_drawn_and_solved():
    symbols = symbol_names(28)[24:]
    formulas = LTL.draw(symbols, 6, 14, 3, 200)
    assert {name for formula in formulas for name in LTL.symbols(formula)} == set(symbols)
    assert any("p26" in formula and "& " in formula for formula in formulas)
    for formula in formulas[:20]:
        assert to_prefix(nested_to_the_right(parse_prefix(formula))) == formula
        witness = LTL.solve(formula)
        assert witness is None or LTL.judge(formula, witness) == ("correct", "")


def test_models_of_all_operators_read_a_formula_as_it_is_written():
    assert LTL_OPERATORS.base_tokens[: len(LTL.base_tokens)] == LTL.base_tokens
    assert LTL_OPERATORS.config().base_vocab_size == LTL_OPERATORS.tokenizer().vocab_size == 21
    question = LTL_OPERATORS.read_question("G(request -> F grant) & (a W b <-> c R d) ^ (e M f)", "infix")
    assert LTL_OPERATORS.prompt(question) == question
    ids = LTL_OPERATORS.tokenizer()(question)["input_ids"]
    tokens = [token for token in question.split() if token in LTL_OPERATORS.base_tokens]
    assert [id for id in ids if 3 <= id < 21] == [LTL_OPERATORS.base_tokens.index(token) for token in tokens]
    assert sorted(set(tokens)) == ["&", "->", "<->", "F", "G", "M", "R", "W", "^"]


def test_its_random_formulas_have_all_operators_and_are_those_of_their_seed():
    drawn = LTL_OPERATORS.draw(("a", "b", "request"), 3, 20, seed=4, count=300)
    assert drawn == LTL_OPERATORS.draw(("a", "b", "request"), 3, 20, seed=4, count=300)
    operators = {node.operator for text in drawn for node in parse_prefix(text).distinct_nodes()}
    assert {token for token in LTL_OPERATORS.base_tokens[3:] if token not in ";{}"} <= operators
    assert {parse_prefix(text).size for text in drawn} <= set(range(3, 21))
    with pytest.raises(ValueError, match="smallest=0: a formula has at least 1 node"):
        LTL_OPERATORS.draw(("a",), 0, 5, seed=0, count=1)
