"""The LTL task agrees with the model's preset and ties tokens, notations and checker together."""

import pickle

import pytest

from hf_symbinv import LTL, SymbolInvariantConfig


def test_tokens_and_arities_are_those_of_the_models_preset():
    config = SymbolInvariantConfig.from_preset("ltl")
    tokenizer = LTL.tokenizer()
    assert config.base_vocab_size == len(LTL.base_tokens) == tokenizer.vocab_size == 13
    assert config.token_arity == LTL.token_arity_by_id()
    assert [config.bos_token_id, config.pad_token_id, config.eos_token_id] == [
        tokenizer.bos_token_id,
        tokenizer.pad_token_id,
        tokenizer.eos_token_id,
    ]
    assert {LTL.base_tokens[index]: n for index, n in config.token_arity.items()} == tokenizer.token_arity


def test_the_grammar_of_answers_names_the_tokens_of_traces():
    grammar = SymbolInvariantConfig.from_preset("ltl").grammar
    named = {name: LTL.base_tokens[grammar[name]] for name in ("separator", "cycle_start", "cycle_end")}
    assert named == {"separator": ";", "cycle_start": "{", "cycle_end": "}"}
    assert {LTL.base_tokens[index] for index in grammar["operand"]} == {"0", "1"}
    assert {LTL.base_tokens[index] for index in grammar["unary"]} == {"!"}
    assert {LTL.base_tokens[index] for index in grammar["binary"]} == {"&", "|"}


@pytest.mark.parametrize("notation", LTL.notations)
def test_every_notation_reads_what_it_writes(notation):
    formula = LTL.parse("G(request -> F grant_1)", "infix")
    assert LTL.parse(LTL.write(formula, notation), notation) == formula


def test_answers_are_read_in_prefix_notation_and_shown_in_the_readers():
    answer = LTL.parse_answer("request ; & request grant_1 ; { grant_1 }")
    assert (
        LTL.write_answer(answer, "prefix")
        == LTL.write_answer(answer, "lbt")
        == "request ; & request grant_1 ; { grant_1 }"
    )
    assert LTL.write_answer(answer, "infix") == "request; request & grant_1; cycle{grant_1}"


def test_an_unknown_notation_is_refused():
    for call in (
        lambda: LTL.parse("a", "smt"),
        lambda: LTL.write(LTL.parse("a", "infix"), "smt"),
        lambda: LTL.write_answer(LTL.parse_answer("{a}"), "smt"),
    ):
        with pytest.raises(ValueError, match="notation='smt': unknown; use one of infix, lbt, prefix"):
            call()


def test_its_checker_judges_its_own_notation():
    with LTL.checker(workers=1, timeout=30.0) as checker:
        assert [result.verdict for result in checker.check([("!X0", "{1}"), ("&aXb", "{a}")])] == [
            "correct",
            "incorrect",
        ]


def test_the_task_is_a_value():
    assert pickle.loads(pickle.dumps(LTL)) == LTL and hash(LTL) == hash(pickle.loads(pickle.dumps(LTL)))
