"""Questions are batched within limits, candidates are checked in order, and the first that holds is the answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_symbinv import COPY, LTL, PROP, FormulaSyntaxError
from hf_symbinv.evaluation import Answer, Candidate, Question, QuestionSizeError, load_checkpoint, read_question
from hf_symbinv.evaluation.answers import MAX_STREAM_TOKENS, MAX_TOKENS, answer_questions, batches
from hf_symbinv.logic import FormulaSizeError

sizes = st.tuples(st.integers(1, MAX_TOKENS), st.integers(0, 200)).filter(lambda s: s[0] * s[1] <= MAX_STREAM_TOKENS)


class TestQuestions:
    def test_the_model_reads_base_operators_and_the_checker_the_formula_itself(self):
        question = read_question(LTL, "G(request -> F grant)", "infix")
        assert question.text == "G -> request F grant"
        assert question.prompt == "! U 1 ! | ! request U 1 grant"
        assert (question.size, question.symbols) == (10, 2)

    def test_the_largest_formulas_are_taken_and_larger_ones_refused(self):
        assert read_question(LTL, "X" * (MAX_TOKENS - 1) + "a").size == MAX_TOKENS
        with pytest.raises(
            QuestionSizeError, match="5,001 tokens and 1 symbols for the model to read: the limits are 5,000"
        ):
            read_question(LTL, "X" * MAX_TOKENS + "a")
        with pytest.raises(QuestionSizeError, match=r"599 tokens and 300 symbols for the model to read: .* = 100,000"):
            read_question(LTL, " & ".join(f"s{i}" for i in range(300)), "infix")

    def test_what_cannot_be_read_or_rewritten_is_refused(self):
        with pytest.raises(FormulaSyntaxError):
            read_question(LTL, "&a")
        chain = " ^ ".join(f"F({' ^ '.join(f'G a{i}{j}' for j in range(99))})" for i in range(99))
        with pytest.raises((FormulaSizeError, QuestionSizeError)):
            read_question(LTL, chain, "infix")


class TestBatches:
    @given(st.lists(sizes, max_size=30), st.integers(1, 8))
    def test_every_question_is_in_one_batch_and_no_batch_is_too_large(self, sizes, batch_size):
        questions = [Question("a", "a", size, symbols) for size, symbols in sizes]
        found = list(batches(questions, batch_size))
        assert sorted(row for rows in found for row in rows) == list(range(len(questions)))
        for rows in found:
            streams = max(1, *(questions[row].symbols for row in rows))
            work = len(rows) * streams * max(questions[row].size for row in rows)
            assert 1 <= len(rows) <= batch_size and (len(rows) == 1 or work <= MAX_STREAM_TOKENS)


def candidate(verdict):
    return Candidate("{1}", verdict, "", 0.5)


@pytest.mark.parametrize(
    ("verdicts", "best"),
    [
        (["correct", "exact"], 0),
        (["incorrect", "timeout", "exact", "correct"], 2),
        (["timeout", "incorrect"], 0),
        (["invalid"], 0),
    ],
)
def test_the_best_candidate_is_the_first_verified_one_else_the_most_likely(verdicts, best):
    answer = Answer(tuple(map(candidate, verdicts)), 1.0)
    assert answer.best is answer.candidates[best]
    assert answer.check_seconds == 0.5 * len(verdicts)


def test_answers_come_in_the_order_of_the_questions_whatever_the_batches(whole):
    checkpoint = load_checkpoint(str(whole), "cpu")
    texts = ["&ab", "U X a b", "1", "F & a & b c", "a", "!a", "& request X grant_1"]
    questions = [read_question(LTL, text) for text in texts]
    options = {"num_beams": 2, "max_new_tokens": 8, "num_candidates": 2}
    with LTL.checker(timeout=10.0) as checker:
        alone = [answer_questions(checkpoint, [question], checker, **options)[0] for question in questions]
        together = answer_questions(checkpoint, questions, checker, batch_size=3, **options)
    for one, other in zip(alone, together, strict=True):
        assert [(c.text, c.verdict) for c in one.candidates] == [(c.text, c.verdict) for c in other.candidates]
        assert len(one.candidates) == 2


def test_more_beams_than_answers_give_every_answer_once(make_checkpoint):
    checkpoint = load_checkpoint(str(make_checkpoint(PROP)), "cpu")
    questions = [read_question(PROP, text) for text in ("a", "1", "&ab")]
    with PROP.checker(timeout=10.0, workers=1) as checker:
        answers = answer_questions(checkpoint, questions, checker, num_candidates=25, num_beams=25, max_new_tokens=12)
    one, none, two = ({candidate.text: candidate.verdict for candidate in answer.candidates} for answer in answers)
    assert one == {"a1": "correct", "a0": "incorrect"} and none == {"": "correct"}
    both = {first + x + second + y for first, second in ("ab", "ba") for x in "01" for y in "01"}
    assert set(two) == {"a0", "a1", "b0", "b1"} | both
    assert {text for text, verdict in two.items() if verdict == "correct"} == {"a1b1", "b1a1"}
    assert [len(answer.candidates) for answer in answers] == [2, 1, 12]


def test_the_reference_itself_is_exact(whole):
    checkpoint = load_checkpoint(str(whole), "cpu")
    options = {"num_beams": 6, "max_new_tokens": 6, "num_candidates": 6}
    with LTL.checker(timeout=10.0) as checker:
        questions = [read_question(LTL, text) for text in ("a", "!a", "|ab", "Xa", "U1a", "|a!a")]
        answers = answer_questions(checkpoint, questions, checker, **options)
        found = {q.text: a.best.text for q, a in zip(questions, answers, strict=True) if a.best.verified}
        assert found and all(answer.best.verdict != "exact" for answer in answers)
        questions = [read_question(LTL, text, reference=witness) for text, witness in found.items()]
        answers = answer_questions(checkpoint, questions, checker, **options)
    assert [answer.best.verdict for answer in answers] == ["exact"] * len(found)


def test_canonical_names_answer_as_many_symbols_as_they_have_rows_for_whatever_these_are_called(make_checkpoint):
    checkpoint = load_checkpoint(str(make_checkpoint(COPY, symbol_embedding="canonical", num_symbols=3)), "cpu")
    questions = [read_question(COPY, text) for text in ("abdca", "request a grant")]
    with COPY.checker(timeout=10.0, workers=1) as checker:
        asked, remedied = answer_questions(checkpoint, questions, checker, max_new_tokens=6)
    assert (asked.best.text, asked.best.verdict) == ("", "invalid")
    assert asked.best.message == (
        "this checkpoint has rows for the first 3 symbols of a question, whatever their names are, and none for c; ask "
        "with 3 symbols at most, or take a checkpoint with streams"
    )
    assert "has rows for" not in remedied.best.message


@pytest.mark.parametrize("embedding", ["learned", "renamed"])
def test_a_fixed_vocabulary_answers_what_it_has_rows_for_and_nothing_else(embedding, make_checkpoint, caplog):
    folder = make_checkpoint(COPY, symbol_embedding=embedding, num_symbols=3)
    questions = [read_question(COPY, text) for text in ("abdca", "ab", "request a", "ccc")]
    with COPY.checker(timeout=10.0, workers=1) as checker:
        answers = answer_questions(
            load_checkpoint(str(folder), "cpu"), questions, checker, num_candidates=2, num_beams=2, max_new_tokens=6
        )
    unknown = [answers[0], answers[2]]
    assert all([(c.text, c.verdict) for c in answer.candidates] == [("", "invalid")] for answer in unknown)
    assert answers[0].best.message == (
        "this checkpoint knows the symbols a, b, c only and has no row for d; use these names, or a checkpoint with "
        "streams"
    )
    assert "no row for request;" in answers[2].best.message
    assert all("no row" not in answers[row].best.message for row in (1, 3))
    (record,) = caplog.records
    assert record.getMessage() == (
        "2 of 4 questions have symbols that this checkpoint has no row for; their answers count as empty"
    )
