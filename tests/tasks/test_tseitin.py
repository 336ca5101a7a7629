"""The task of clauses ties its solver, judge, notations and tokens together, and new symbols have any names."""

import pickle
from itertools import islice

import pytest

from hf_symbinv import COPY, PROP, TSEITIN
from hf_symbinv.logic import FormulaSyntaxError
from hf_symbinv.tasks import load_task, symbol_names


def test_tokens_are_those_of_formulas_and_a_separator():
    assert TSEITIN.base_tokens == (*PROP.base_tokens, ";")
    assert load_task("tseitin") is TSEITIN and pickle.loads(pickle.dumps(TSEITIN)) == TSEITIN != PROP


@pytest.mark.parametrize(
    ("formula", "clauses"),
    [
        ("&ab", "c!a!b;!ca;!cb;c"),
        ("&bd", "a!b!d;!ab;!ad;a"),
        ("! | request grant", "! a request grant ; a ! request ; a ! grant ; ! a"),
    ],
)
def test_new_symbols_have_the_first_names_that_the_formula_lacks(formula, clauses):
    assert TSEITIN.solve(formula) == clauses
    assert TSEITIN.judge(formula, clauses) == ("correct", "")
    tokenizer = TSEITIN.tokenizer()
    batch = tokenizer(formula, text_target=clauses)
    assert tokenizer.decode(batch["labels"], symbols=batch.symbols, skip_special_tokens=True) == clauses


def test_names_end_with_letters_no_sooner_than_they_have_to():
    formula = TSEITIN.write_words(["&"] * 25 + list(symbol_names(26)))
    assert list(islice(TSEITIN.new_names(formula, ["p27"]), 2)) == ["p26", "p28"]
    assert TSEITIN.solve("& a b").startswith("c!a!b")


def test_a_formula_of_more_gates_than_an_answer_may_have_new_symbols_has_none():
    most = TSEITIN.num_fresh_symbols
    assert TSEITIN.judge("&" * most + "a" * (most + 1), TSEITIN.solve("&" * most + "a" * (most + 1)))[0] == "correct"
    assert TSEITIN.solve("&" * (most + 1) + "a" * (most + 2)) is None
    wordy = ";".join(["a", *"bcdefghijklmnopqr"])
    assert TSEITIN.judge("a", wordy) == ("incorrect", "the clauses have 17 new symbols; they may have 16")


def test_exact_is_the_known_answer_whatever_its_new_symbols_are_called():
    known = "c!a!b;!ca;!cb;c"
    answers = [known, "x!a!b;!xa;!xb;x", "grant ! a ! b ; ! grant a ; ! grant b ; grant", "!ca;c!a!b;!cb;c", "a;b", "a"]
    with TSEITIN.checker(workers=1) as checker:
        results = list(checker.check([("&ab", answer) for answer in answers], [known] * len(answers)))
    assert [result.verdict for result in results] == ["exact", "exact", "exact", "correct", "correct", "incorrect"]


def test_answers_share_a_text_exactly_if_they_are_the_same_up_to_new_symbols():
    shared = TSEITIN.shared_answer("&bd", "c!b!d;!cb;!cd;c")
    assert shared == TSEITIN.shared_answer("&bd", "a ! b ! d ; ! a b ; ! a d ; a") == "a!b!d;!ab;!ad;a"
    assert TSEITIN.shared_answer("^^bdb", "xy;yx") == TSEITIN.shared_answer("^^bdb", "yx;xy") == "ac;ca"
    assert TSEITIN.shared_answer("^^bdb", "xb") != TSEITIN.shared_answer("^^bdb", "xd")
    assert TSEITIN.shared_answer("&bd", "no;;clauses") == TSEITIN.shared_answer("&bd", "no;;clauses")
    assert TSEITIN.with_new_names("&bd", "xy", taken="ac") == "ef"
    assert COPY.shared_answer("ab", "xy") == "xy"  # which has no new symbols: x is another answer than y


def test_people_read_and_write_brackets():
    answer = TSEITIN.solve("& request ! grant")
    assert TSEITIN.write_answer(answer, "infix") == "(a | !request | grant) & (!a | request) & (!a | !grant) & (a)"
    assert TSEITIN.read_answer(TSEITIN.write_answer(answer, "infix")) == TSEITIN.read_answer(answer) == answer
    assert TSEITIN.write_answer(answer, "lbt") == TSEITIN.write_answer(answer, "prefix") == answer
    assert TSEITIN.write_answer("no;;clauses", "infix") == "no;;clauses"
    with pytest.raises(FormulaSyntaxError):
        TSEITIN.read_answer("a;;b")
    with pytest.raises(ValueError, match="notation='dimacs': unknown; use one of infix, lbt, prefix"):
        TSEITIN.write_answer(answer, "dimacs")


@pytest.mark.parametrize(
    ("embedding", "limit"), [("streams", 16), ("canonical", 16), ("learned", None), ("renamed", None)]
)
def test_models_that_write_symbols_of_their_question_are_told_how_many_more_there_are(embedding, limit):
    components = None if embedding == "streams" else ["EP", "DP", "CP"]
    assert TSEITIN.config(symbol_embedding=embedding, components=components).num_fresh_symbols == limit
    assert PROP.config(symbol_embedding=embedding, components=components).num_fresh_symbols is None
    if limit:
        assert (
            TSEITIN.config(symbol_embedding=embedding, components=components, num_fresh_symbols=3).num_fresh_symbols
            == 3
        )
