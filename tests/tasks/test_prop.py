"""The task of propositional logic agrees with the model's preset and ties tokens, notations and checker together."""

from collections import Counter

import pytest

from hf_symbinv import SymbolInvariantConfig
from hf_symbinv.logic import FormulaSyntaxError, parse_prefix
from hf_symbinv.tasks.prop import PROP, PROP_LIKE_DEEPLTL


def test_tokens_arities_and_grammar_are_those_of_the_models_preset():
    config, own = SymbolInvariantConfig.from_preset("prop"), PROP.config()
    tokenizer = PROP.tokenizer()
    assert config.base_vocab_size == own.base_vocab_size == len(PROP.base_tokens) == tokenizer.vocab_size == 10
    assert config.token_arity == own.token_arity == PROP.token_arity_by_id()
    assert config.grammar == own.grammar == PROP.grammar
    assert [PROP.base_tokens[value] for value in PROP.grammar["values"]] == ["0", "1"]
    assert config.encoder_positions == own.encoder_positions == "tree"
    assert not config.scale_embedding and not own.scale_embedding
    for name in ("bos_token_id", "pad_token_id", "eos_token_id"):
        assert getattr(config, name) == getattr(own, name) == getattr(tokenizer, name)


@pytest.mark.parametrize(
    ("formula", "assignment"),
    [
        ("& a ! <-> b ^ 0 1", "a1b0"),
        ("&a!b", "b0a1"),
        ("<-> request grant", "request 1 grant 1"),
        ("^ request p26", "p26 0 request 1"),
    ],
)
def test_formulas_and_assignments_survive_the_tokenizer(formula, assignment):
    tokenizer = PROP.tokenizer()
    batch = tokenizer(formula, text_target=assignment)
    assert PROP.size(formula) == len(batch["input_ids"]) - 1
    for text, ids in ((formula, batch["input_ids"]), (assignment, batch["labels"])):
        decoded = tokenizer.decode(ids, symbols=batch.symbols, skip_special_tokens=True)
        assert [token[1:] for token in PROP.words(decoded)] == [token[1:] for token in PROP.words(text)]


def test_formulas_of_earlier_releases_are_read_without_blanks():
    questions = PROP.draw("aorxy", 5, 20, 7, 300)
    assert any("<->" in question and "^" in question for question in questions)
    for question in questions:
        released = question.replace(" ", "").replace("^", "xor")
        assert PROP.read_question(released, "prefix") == question
    assert PROP.read_question("&|xor", "prefix") == "&|xor"  # three symbols
    assert PROP.read_question("->a<->bc", "prefix") == "-> a <-> b c"


@pytest.mark.parametrize("text", ["xora", "<->abc", "xorAb", "xora b"])
def test_what_is_no_formula_of_earlier_releases_either_is_refused(text):
    with pytest.raises(FormulaSyntaxError):
        PROP.read_question(text, "prefix")


def test_prompts_have_no_implication_but_keep_xor_and_equivalence():
    assert PROP.prompt("-> a <-> b ^ c -> ! d e") == "| ! a <-> b ^ c | d e"
    assert PROP.prompt("<-> a ^ b c") == "<-> a ^ b c"
    assert PROP.prompt("-> -> a b c") == "|!|!abc"
    assert set(PROP.tokenizer()(PROP.prompt("<-> -> a b c"))["input_ids"]) == {2, 6, 7, 9, 10, 11, 12}


def test_questions_of_temporal_logic_are_refused():
    with pytest.raises(ValueError, match="operator 'F': belongs to linear temporal logic, which is the task ltl"):
        PROP.read_question("G(a -> F b)", "infix")
    with pytest.raises(ValueError, match="operator 'X': belongs to linear temporal logic"):
        PROP.solve("&aXb")


@pytest.mark.parametrize(
    ("text", "answer"),
    [("a1b0", "a1b0"), ("a 1 b 0", "a1b0"), ("a=1, b=0", "a1b0"), ('"a=b" 1', '"a=b" 1'), ('"a=b"=1', '"a=b" 1')],
)
def test_answers_are_read_in_prefix_and_infix_notation(text, answer):
    assert PROP.read_answer(text) == answer


def test_answers_are_shown_in_the_readers_notation():
    assert PROP.write_answer("request 1 grant 0", "infix") == "request=1, grant=0"
    assert PROP.write_answer("a 1 b 0", "prefix") == PROP.write_answer("a 1 b 0", "lbt") == "a1b0"
    assert PROP.write_answer("a1b", "infix") == "a1b"
    for text in ("", "a=1, a=0", "a1a0", "a"):
        with pytest.raises(FormulaSyntaxError):
            PROP.read_answer(text)


class TestDraws:
    def test_questions_have_the_wanted_sizes_symbols_and_operators(self):
        questions = PROP.draw("abc", 10, 30, 1, 5000)
        assert len(questions) > 500
        words = Counter()
        for question in questions:
            assert 10 <= PROP.size(question) <= 30 and PROP.symbols(question) and parse_prefix(question)
            words.update(name or word for _, word, name in PROP.words(question))
        assert set(words) <= {*"abc01!&|^", "<->"}
        assert {"!", "&", "|", "^", "<->"} <= set(words)
        for derived in ("^", "<->"):
            for basic in "&|":
                assert 0.35 < words[derived] / words[basic] < 0.7  # half weight; Spot folds them at different rates

    def test_no_question_is_valid(self):
        questions = PROP.draw("ab", 1, 12, 1, 3000)
        assert "1" not in questions
        assert all(PROP.judge(question, "z1")[0] == "incorrect" for question in questions[:400])
        assert set(PROP.draw([], 1, 9, 1, 50)) == {"0"}

    def test_trees_have_twice_the_nodes_of_the_longest_formula_or_like_deepltls_two_more(self):
        # Both have trees of at most 40 nodes.
        longer = PROP_LIKE_DEEPLTL.draw("abc", 5, 38, 7, 500)
        shorter = PROP.draw("abc", 5, 20, 7, 500)
        assert len(shorter) > 100 and shorter == [question for question in longer if PROP.size(question) <= 20]
