"""Data sets become questions; answers become groups, and groups a table."""

import json
import math

import pyarrow
import pyarrow.parquet
import pytest

from hf_symbinv import COPY, LTL, PROP, TSEITIN
from hf_symbinv.errors import UserError
from hf_symbinv.evaluation import (
    Answer,
    Candidate,
    DataError,
    Question,
    alpha_covariance,
    answer_questions,
    evaluate_checkpoint,
    load_checkpoint,
    load_questions,
    read_question,
    training_classes,
)
from hf_symbinv.evaluation.grid import Grid
from hf_symbinv.evaluation.report import first_of_each, groups, training_box
from hf_symbinv.metrics.edit_distance import edit_distance
from hf_symbinv.metrics.intervals import wilson_interval


def write(folder, split="test", **columns):
    """A data set folder with a card, as `symbinv data` leaves it."""
    (folder / "data").mkdir(parents=True)
    pyarrow.parquet.write_table(pyarrow.table(columns), folder / "data" / f"{split}-00000-of-00001.parquet")
    files = f"  - split: {split}\n    path: data/{split}-*.parquet\n"
    card = f"---\nconfigs:\n- config_name: default\n  data_files:\n{files}---\n"
    (folder / "README.md").write_text(card)
    return str(folder)


class TestQuestions:
    def test_the_first_rows_with_their_references(self, tmp_path):
        data = write(tmp_path, formula=["Uab", "a", "b"], witness=["b;{1}", "a;{1}", "b;{1}"])
        found = load_questions(LTL, data, "test", 2)
        assert [(question.prompt, question.reference) for question in found] == [("Uab", "b;{1}"), ("a", "a;{1}")]

    def test_two_folders_of_the_same_name_are_two_data_sets(self, tmp_path):
        """`datasets` would take the second one from its cache of the first."""
        first = write(tmp_path / "one" / "ltl", formula=["a"], witness=["a;{1}"])
        second = write(tmp_path / "two" / "ltl", formula=["b"], witness=["b;{1}"])
        assert [load_questions(LTL, data, "test", 9)[0].prompt for data in (first, second)] == ["a", "b"]

    @pytest.mark.parametrize(
        ("columns", "message"),
        [
            ({"formula": ["a"]}, "has columns formula; task ltl needs witness too"),
            ({"text": ["a"]}, "has columns text; task ltl needs formula and witness too"),
            (
                {"formula": ["a", "&a"], "witness": ["{a}", "{a}"]},
                "split test, row 1: position 2 of '&a': expected 1 more",
            ),
            ({"formula": [1], "witness": ["{a}"]}, "split test, row 0: "),
            ({"formula": [None], "witness": ["{a}"]}, "split test, row 0: "),
        ],
    )
    def test_a_data_set_of_another_kind_is_refused(self, columns, message, tmp_path):
        with pytest.raises(DataError) as error:
            load_questions(LTL, write(tmp_path, **columns), "test", 10)
        assert message in str(error.value)

    # datasets 4 leaves the file open.
    @pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
    def test_an_empty_split_is_refused(self, tmp_path):
        (tmp_path / "test.csv").write_text("formula,witness\n")
        with pytest.raises(DataError, match="split test: has no rows"):
            load_questions(LTL, str(tmp_path), "test", 10)

    @pytest.mark.parametrize("name", ["nowhere", "/nowhere", "."])
    def test_a_data_set_that_is_not_there_is_refused(self, name, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        with pytest.raises(DataError, match=f"{name}.*make a data set with `symbinv data`"):
            load_questions(LTL, name, "test", 10)

    def test_damaged_files_are_refused(self, tmp_path):
        data = write(tmp_path, formula=["a"], witness=["{a}"])
        (tmp_path / "data" / "test-00000-of-00001.parquet").write_bytes(b"PAR1 but not really")
        with pytest.raises(UserError, match=r"test-00000-of-00001.parquet: damaged \(.*; make the data set again$"):
            load_questions(LTL, data, "test", 10)


def answer(*verdicts):
    return Answer(tuple(Candidate("{1}", verdict, "", 0.0) for verdict in verdicts), 0.0)


def test_groups_count_first_candidates_by_length_and_by_symbols_and_say_what_best_of_n_adds():
    questions = [Question("", "", size, symbols) for size, symbols in [(5, 1), (6, 1), (10, 2), (11, 0)]]
    verdicts = ("exact", "correct"), ("incorrect", "correct"), ("invalid", "timeout"), ("correct",)
    answers = [answer(*of_question) for of_question in verdicts]
    found = groups(LTL, questions, answers, 2, set())
    assert [(g.label, g.summary["count"], g.summary["accuracy"], g.best_of_n["verified"]) for g in found] == [
        ("all", 4, 0.5, 0.75),
        ("length 1-5", 1, 1.0, 1.0),
        ("length 6-10", 2, 0.0, 0.5),
        ("length 11-15", 1, 1.0, 1.0),
        ("symbols 0", 1, 1.0, 1.0),
        ("symbols 1", 2, 0.5, 1.0),
        ("symbols 2", 1, 0.0, 0.0),
    ]
    assert found[0].best_of_n == {"n": 2, "verified": 0.75, "verified_interval": wilson_interval(3, 4)}
    alone = [answer(candidate.verdict) for candidate in (a.candidates[0] for a in answers)]
    one = groups(LTL, questions, alone, 1, set())
    assert [g.summary for g in one] == [g.summary for g in found], "more candidates change no accuracy"
    assert {g.best_of_n for g in one} == {None}


def test_the_grid_and_the_table_of_verdicts_count_first_candidates():
    """Of the bundled model's candidates for these formulas only the second or the third is right."""
    checkpoint = load_checkpoint("ltl-small", "cpu")
    questions = [read_question(LTL, text) for text in ("!UXa!X!Uba", "UX0!U!cUcb")]
    options = {"data": "two", "split": "test", "num_candidates": 3, "num_beams": 3, "max_new_tokens": 40}
    with LTL.checker(timeout=10.0) as checker:
        evaluation = evaluate_checkpoint(checkpoint, questions, checker, **options)
    assert [(cell.count, cell.total) for cell in evaluation.grid.cells] == [(2, 0)]
    lines = evaluation.table().splitlines()
    assert lines[2].split()[:5] == ["all", "2", "0.0", "%", "0.0"]
    place = lines.index("above the first candidate counts; best of 3 counts a verified answer among 3 candidates")
    assert lines[place + 1].split() == ["questions", "best", "of", "3", "95", "%", "interval"]
    assert lines[place + 2].split()[:4] == ["all", "2", "100.0", "%"]
    assert evaluation.to_dict()["groups"][0]["best_of_n"]["verified"] == 1.0


@pytest.mark.parametrize(("task", "grammar"), [(LTL, "lasso"), (PROP, "assignment"), (COPY, None)])
def test_a_report_says_whether_a_grammar_constrained_the_answers(make_checkpoint, task, grammar):
    checkpoint = load_checkpoint(str(make_checkpoint(task)), "cpu")
    options = {"data": "one", "split": "test", "num_beams": 1, "max_new_tokens": 5}
    with task.checker(timeout=10.0, workers=1) as checker:
        evaluation = evaluate_checkpoint(checkpoint, [read_question(task, "a")], checker, **options)
        free = evaluate_checkpoint(checkpoint, [read_question(task, "a")], checker, grammar=None, **options)
    assert evaluation.to_dict()["grammar"] == grammar and free.grammar is None
    assert f"{f'grammar {grammar}' if grammar else 'no grammar'} constrained the answers" in evaluation.table()
    assert "no grammar constrained the answers" in free.table()


def test_formulas_that_training_knows_under_other_names_are_left_out_of_the_novel_group(tmp_path):
    train = ["&ab", "U1c", "Xa"]
    data = write(tmp_path, split="train", formula=train, witness=["{1}"] * 3)
    questions = [read_question(LTL, text) for text in ("&ca", "&aa", "U1z", "U!1z")]
    answers = [answer(verdict) for verdict in ("correct", "correct", "incorrect", "incorrect")]
    found = groups(LTL, questions, answers, 1, training_classes(LTL, data))[1]
    assert (found.label, found.summary["count"], found.summary["accuracy"]) == ("no renamed twin in train", 2, 0.5)


def test_a_stream_model_has_alpha_covariance_one(whole):
    checkpoint = load_checkpoint(str(whole), "cpu")
    questions = [read_question(LTL, text) for text in ("U&abc", "&UabXc", "|ab", "1", "XX!d")]
    with LTL.checker(timeout=10.0) as checker:
        evaluation = evaluate_checkpoint(
            checkpoint, questions, checker,
            data="five", split="test", alpha_covariance_questions=5, num_beams=2, max_new_tokens=12,
        )  # fmt: skip
    measured = evaluation.alpha_covariance
    assert measured["alpha_covariance"] == 1.0 and measured["excluded"] == 1
    assert measured["predictions"] == 2 * math.perm(4, 3) + math.perm(4, 2) + 4  # names a to d
    assert measured["by_symbols"] == [
        {"symbols": count, "alpha_covariance": 1.0, "interval": interval, "examples": number, "values": [1.0] * number}
        for count, number, interval in [(1, 1, None), (2, 1, None), (3, 2, (1.0, 1.0))]
    ]
    assert evaluation.table().splitlines()[-7:] == [
        "alpha-covariance with 95 % intervals: 1.0000 (1.0000 - 1.0000) over 4 questions and 64 answers",
        "  without 1 questions that have no two renamings",
        "  symbols 1: 1.0000 over 1 questions",
        "  symbols 2: 1.0000 over 1 questions",
        "  symbols 3: 1.0000 (1.0000 - 1.0000) over 2 questions",
        "  each question was decoded once and its answer renamed: names do not reach a model with streams;",
        "  --every-renaming decodes all renamings",
    ]
    asked = {"per_symbols": 5, "renamings": 120, "alphabet": None, "every_renaming": False, "renamed": True}
    assert asked.items() <= measured.items()


def test_so_many_questions_are_renamed_with_each_number_of_symbols():
    questions = [Question(text, text, len(text), symbols) for text, symbols in
                 [("a", 1), ("Xa", 1), ("1", 0), ("&ab", 2), ("XXa", 1), ("|ab", 2)]]  # fmt: skip
    assert [question.text for question in first_of_each(questions, 2)] == ["1", "a", "Xa", "&ab", "|ab"]
    assert [question.text for question in first_of_each(questions, 1)] == ["1", "a", "&ab"]


def test_a_report_says_whether_all_renamings_were_decoded(whole, make_checkpoint):
    learned = make_checkpoint(LTL, symbol_embedding="learned", components=None)
    options = {"data": "two", "split": "test", "num_beams": 1, "max_new_tokens": 6, "alpha_covariance_questions": 1}
    with LTL.checker(timeout=10.0) as checker:
        for folder, every, renamed in ((whole, True, False), (whole, False, True), (learned, False, False)):
            checkpoint = load_checkpoint(str(folder), "cpu")
            evaluation = evaluate_checkpoint(
                checkpoint, [read_question(LTL, "&ab")], checker, alphabet="abc", every_renaming=every, **options
            )
            measured = evaluation.alpha_covariance
            assert (measured["renamed"], measured["every_renaming"]) == (renamed, every)
            assert (measured["alphabet"], measured["predictions"]) == (3, 6)
            assert ("decoded once" in evaluation.table()) == renamed


def test_a_grid_has_a_cell_for_each_number_of_symbols_and_size(make_checkpoint):
    checkpoint = load_checkpoint(str(make_checkpoint(COPY)), "cpu")
    texts = ["ab", "ba", "aa", "abc", "abb"]
    options = {"data": "five", "split": "test", "num_beams": 1, "max_new_tokens": 5}
    with COPY.checker(timeout=10.0, workers=1) as checker:
        questions = [read_question(COPY, text, reference=text) for text in texts]
        known = evaluate_checkpoint(checkpoint, questions, checker, **options)
        answers = answer_questions(checkpoint, questions, checker, num_beams=1, max_new_tokens=5)
        unknown = evaluate_checkpoint(checkpoint, [read_question(COPY, text) for text in texts], checker, **options)
    places = [(1, 2), (2, 2), (2, 3), (3, 3)]
    assert [(cell.symbols, cell.size, cell.count) for cell in known.grid.cells] == [
        (*place, count) for place, count in zip(places, [1, 2, 1, 1], strict=True)
    ]
    distances = [edit_distance(answer.best.text, text) for answer, text in zip(answers, texts, strict=True)]
    assert [cell.total for cell in known.grid.cells] == [
        distances[2], distances[0] + distances[1], distances[4], distances[3]
    ]  # fmt: skip
    assert (known.grid.metric, unknown.grid.metric, unknown.grid.questions) == ("edit_distance", "accuracy", "string")
    assert Grid.from_dict(known.to_dict()["grid"]) == known.grid


def test_the_training_box_of_a_grid_is_that_of_the_data_that_the_run_used(make_checkpoint):
    folder = make_checkpoint(COPY, num_symbols=4)
    checkpoint = load_checkpoint(str(folder), "cpu")
    assert training_box(checkpoint) is None
    asked = {"recipe": {"data": {"num_symbols": 4, "max_size": 25, "rows": 500_000}}}
    splits = {
        "train": {"rows": 8, "symbols": [1, 3], "size": [2, 9]},
        "test": {"rows": 1, "symbols": [1, 5], "size": [2, 30]},
    }
    builder = {"num_symbols": 4, "max_size": 12}
    for record, box in (
        ([], None),
        (asked, None),
        ({**asked, "data": "unlike ours"}, None),
        ({**asked, "data": {"source": "some", "builder": builder, "splits": splits}}, (3, 9)),
        ({**asked, "data": {"source": "some", "builder": builder, "splits": {"train": {"rows": 8}}}}, (4, 12)),
        ({**asked, "data": {"source": "some", "builder": None, "splits": {"train": {"rows": 8}}}}, None),
    ):
        (folder / "run.json").write_text(json.dumps(record))
        assert training_box(checkpoint) == box
    for text in ("{", "null", "[" * 100_000):
        (folder / "run.json").write_text(text)
        assert training_box(checkpoint) is None
    assert training_box(load_checkpoint("ltl-small", "cpu")) == (5, 25)


def test_answering_each_question_once_gives_what_answering_all_its_renamings_gives(whole, capfd):
    checkpoint = load_checkpoint(str(whole), "cpu")
    questions = [read_question(LTL, text) for text in ("&ab", "UcXa", "|&abUac", "X1")]
    once, every = (
        alpha_covariance(
            checkpoint, questions, alphabet="abcd", every_renaming=every, progress=True, num_beams=2, max_new_tokens=10
        )
        for every in (False, True)
    )
    assert "3/3 [" in capfd.readouterr().err
    assert once == every
    assert once["predictions"] == 12 + 12 + 24


@pytest.mark.parametrize("every", [False, True])
def test_alpha_covariance_does_not_ask_what_new_symbols_are_called(make_checkpoint, monkeypatch, every):
    """Tseitin's answers call a new symbol by the first name that the question lacks, which changes with the others."""
    from hf_symbinv.training import decoding

    fields = {"symbol_embedding": "learned", "components": ["EP", "DP", "CP"], "num_symbols": 9}
    checkpoint = load_checkpoint(str(make_checkpoint(TSEITIN, **fields)), "cpu")
    questions = [read_question(TSEITIN, text) for text in ("&ab", "|&cb!a", "^cd")]
    assert len({TSEITIN.solve(TSEITIN.rename("&ab", {"b": name})) for name in "bcd"}) == 3

    def solved(model, tokenizer, texts, **options):
        return [[TSEITIN.solve(text)] for text in texts]

    def one_name_left_out(model, tokenizer, texts, **options):
        return [[TSEITIN.solve(text) if "e" in text else TSEITIN.symbols(text)[0]] for text in texts]

    for answers, value in ((solved, 1.0), (one_name_left_out, None)):
        monkeypatch.setattr(decoding, "generate_answers", answers)
        measured = alpha_covariance(checkpoint, questions, alphabet="abcde", every_renaming=every)
        assert measured["predictions"] == 20 + 60 + 20
        assert measured["alpha_covariance"] == value or (value is None and 0.9 < measured["alpha_covariance"] < 1.0)


@pytest.mark.parametrize("embedding", ["streams", "canonical"])
def test_answers_with_new_symbols_follow_all_renamings_whether_asked_once_or_under_all_names(
    make_checkpoint, embedding
):
    fields = {"symbol_embedding": embedding, "components": ["EP", "DP", "CP"], "num_symbols": 9}
    checkpoint = load_checkpoint(str(make_checkpoint(TSEITIN, **fields, num_fresh_symbols=3)), "cpu")
    questions = [read_question(TSEITIN, text) for text in ("&ab", "|&cb!a", "^cd")]
    # Each symbol once, and nothing else: more symbols than there are in the question.
    only_symbols = {"suppress_tokens": list(range(3, 11)), "no_repeat_ngram_size": 1}
    options = {"num_beams": 2, "min_new_tokens": 4, "max_new_tokens": 5, **only_symbols}
    answers = answer_questions(checkpoint, questions, None, **options)
    written = [TSEITIN.symbols(answer.best.text) for answer in answers]
    assert all(set(names) - set(TSEITIN.symbols(q.text)) for q, names in zip(questions, written, strict=True))
    once, every = (
        alpha_covariance(checkpoint, questions, alphabet="abcde", every_renaming=every, **options)
        for every in (False, True)
    )
    assert once == every and every["alpha_covariance"] == 1.0 and every["predictions"] == 20 + 60 + 20
