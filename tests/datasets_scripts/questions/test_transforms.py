"""A transform changes what it says and nothing else; tests and validations stay what they were."""

import itertools
import random
from collections import Counter

import datasets
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_symbinv.datasets_scripts.questions.builder import RandomQuestionsConfig, prepare
from hf_symbinv.datasets_scripts.questions.transforms import (
    TransformError,
    completed,
    extended,
    filtered,
    first_in_order,
    ordered,
    read_folder,
    reduced,
    renamed,
    supplemented,
    task_by_columns,
    transform,
)
from hf_symbinv.datasets_scripts.storage import Pair, write_split
from hf_symbinv.logic import assignment_to_prefix, parse_assignment, parse_trace, trace_to_prefix
from hf_symbinv.tasks import COPY, LTL, PROP, TASKS, load_task

letters = st.lists(st.sampled_from("abcdef"), unique=True)


def made(folder, **options):
    config = RandomQuestionsConfig(name="test", num_symbols=4, max_size=10, rows=200, **options)
    prepare(config, folder, 1, progress=False)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """200 rows with 4 symbols, with answers as Spot writes them."""
    return made(tmp_path_factory.mktemp("data") / "ltl", as_solved=True)


@pytest.fixture
def data(folder):
    return read_folder(folder)


def pairs(split):
    return list(zip(split["formula"], split["witness"], strict=True))


def of(task, **splits):
    """A data set of these pairs."""
    rows = {
        name: [
            dict(zip(task.columns, pair, strict=True), symbols=[*task.symbols(pair[0])], length=task.size(pair[0]))
            for pair in content
        ]
        for name, content in splits.items()
    }
    return datasets.DatasetDict({name: datasets.Dataset.from_list(content) for name, content in rows.items()})


class TestRenamed:
    def test_answers_name_symbols_in_the_order_of_the_alphabet(self, data):
        for row in renamed(data, LTL)["train"]:
            in_answer = LTL.symbols(row["witness"])
            assert in_answer == tuple("abcd"[: len(in_answer)])
            assert row["symbols"] == list(LTL.symbols(row["formula"]))
            assert set(row["symbols"]) <= set("abcd")

    def test_every_row_is_renamed_and_nothing_else(self, data):
        for before, after in zip(data["train"], renamed(data, LTL)["train"], strict=True):
            whole = [LTL.alpha_class(f"{row['formula']}{row['witness']}") for row in (before, after)]
            assert whole[0] == whole[1] and before["length"] == after["length"]

    def test_validation_and_test_stay_as_they_are(self, data):
        changed = renamed(data, LTL)
        assert all(pairs(changed[split]) == pairs(data[split]) for split in ("validation", "test"))

    def test_a_symbol_whose_name_is_taken_gets_one_that_is_free(self):
        rows = renamed(of(LTL, train=[("|ab", "b;{1}"), ("&cUad", "&ac;d;{1}"), ("|be", "e;{1}")]), LTL)["train"]
        assert pairs(rows) == [("|ba", "a;{1}"), ("&bUac", "&ab;c;{1}"), ("|ba", "a;{1}")]

    @given(letters, letters)
    def test_the_renaming_is_one_to_one(self, in_answer, in_question):
        renaming = first_in_order(tuple(in_answer), tuple(in_question))
        names = {*in_answer, *in_question}
        assert len({renaming.get(name, name) for name in names}) == len(names)
        assert [renaming[name] for name in in_answer] == list("abcdef"[: len(in_answer)])


class TestRenamedLikeITE:
    def test_only_symbols_of_the_answer_get_other_names_whether_these_are_taken_or_not(self):
        rows = renamed(of(LTL, train=[("|ab", "b;{1}"), ("&cUad", "&ac;d;{1}"), ("|be", "e;{1}")]), LTL, "ite")["train"]
        assert pairs(rows) == [("|aa", "a;{1}"), ("&bUac", "&ab;c;{1}"), ("|ba", "a;{1}")]
        assert [row["symbols"] for row in rows] == [["a"], ["b", "a", "c"], ["b", "a"]]

    def test_the_command_says_so_and_refuses_it_elsewhere(self, folder, tmp_path):
        transform(folder, tmp_path / "merged", None, {"renamed": True, "like": "ite"})
        assert "--renamed --like ite\n" in (tmp_path / "merged" / "README.md").read_text()
        for options, message in (
            ({"like": "ite"}, "like='ite': says how symbols are renamed; add --renamed, or leave it out"),
            ({"renamed": True, "like": "sat"}, "like='sat': no renaming of this name; use ite, or leave it out"),
        ):
            with pytest.raises(TransformError, match=message):
                transform(folder, tmp_path / "refused", None, options)
            assert not (tmp_path / "refused").exists()


class TestOrdered:
    def test_literals_and_pairs_come_in_the_order_of_the_question(self):
        rows = ordered(
            of(LTL, train=[("&cUad", "&a&!cd;d;{&!a!d}"), ("|be", "&be;{|eb}")], test=[("Uba", "{&ab}")]), LTL
        )
        assert pairs(rows["train"]) == [("&cUad", "&!c&ad;d;{&!a!d}"), ("|be", "&be;{|eb}")]
        assert pairs(rows["test"]) == [("Uba", "{&ba}")]
        (row,) = ordered(of(PROP, train=[("&!caz", "a1c0")]), PROP)["train"]
        assert row["assignment"] == "c0a1"

    @pytest.mark.parametrize(("task", "question", "answer"), [
        (LTL, "&&&abcdU&ea1", "&a&!b&cd;&ea;{&d!b}"), (PROP, "&&&abc|de", "a1b1c1d1e0"),
    ])  # fmt: skip
    def test_renamed_rows_are_ordered_alike_whatever_order_their_solver_took(self, task, question, answer):
        wanted = task.ordered(question, answer)
        assert task.ordered(question, wanted) == wanted
        for names in itertools.permutations("abcde"):
            renaming = dict(zip("abcde", names, strict=True))
            found = task.rename(answer, renaming)
            in_order_of_names = (
                parse_trace(found).in_order("abcde") if task is LTL else parse_assignment(found).sorted()
            )
            write = trace_to_prefix if task is LTL else assignment_to_prefix
            renamed_question = task.rename(question, renaming)
            assert task.ordered(renamed_question, write(in_order_of_names)) == task.rename(wanted, renaming)

    def test_data_are_drawn_so(self, data, tmp_path):
        drawn, changed = read_folder(made(tmp_path / "ltl")), ordered(data, LTL)
        assert {split: pairs(drawn[split]) for split in drawn} == {split: pairs(changed[split]) for split in changed}
        assert pairs(ordered(drawn, LTL)["train"]) == pairs(drawn["train"])

    @pytest.mark.parametrize("name", TASKS)
    def test_answers_of_every_task_stay_right(self, name):
        task = load_task(name)
        task.prepare()
        found = [(text, task.solve(text)) for text in task.draw(tuple("abc"), 3, 8, 0, 40)]
        solved = [(text, answer) for text, answer in found if answer is not None]
        assert len(solved) > 5
        for text, answer in solved:
            assert task.judge(text, task.ordered(text, answer))[0] == "correct", (text, answer)

    def test_a_task_without_an_order_is_refused(self):
        with pytest.raises(TransformError, match="ordered: changes no answer of task copy; leave it out"):
            ordered(of(COPY, train=[("ba", "ba")]), COPY)


class TestCompleted:
    def test_every_correct_assignment_of_all_symbols_is_as_likely(self):
        found = Counter(
            completed(of(PROP, train=[("|&baa", "a1")]), PROP, seed)["train"][0]["assignment"] for seed in range(200)
        )
        assert set(found) == {"b0a1", "b1a1"} and min(found.values()) > 70

    def test_a_row_has_the_same_answer_whatever_stands_beside_it(self):
        alone, after = (of(PROP, train=[*others, ("^^abc", "a1b0c0")]) for others in ([], [("a", "a1"), ("!b", "b0")]))
        assert completed(alone, PROP)["train"][0] == completed(after, PROP)["train"][2]

    def test_answers_are_right_and_name_every_symbol_in_the_order_of_the_question(self):
        questions = [text for text in PROP.draw("edcba", 1, 25, 0, 300) if PROP.solve(text) is not None]
        assert len(questions) > 100
        for question in questions:
            answer = PROP.completed(question, random.Random(0))
            assert PROP.judge(question, answer)[0] == "correct"
            assert PROP.symbols(answer) == PROP.symbols(question)

    @pytest.mark.parametrize(
        ("task", "question", "answer", "message"),
        [
            (LTL, "a", "{a}", "complete: task ltl has no answers that leave nothing open; leave it out"),
            (PROP, "&a!a", "a1", "complete: '&a!a': is false whatever its symbols are, and has no answer"),
            (PROP, "&" * 16 + "abcdefghijklmnopq", "a1", "has 17 symbols, .* of at most 16; .* --max-symbols 16"),
        ],
    )
    def test_what_cannot_be_completed_is_refused(self, task, question, answer, message):
        with pytest.raises(TransformError, match=message):
            completed(of(task, train=[(question, answer)]), task)


@pytest.mark.parametrize(("method", "change"), [
    ("rename", renamed), ("ordered", ordered), ("completed", completed),
    ("rename", lambda data, task: supplemented(data, of(task, train=[("b", "b;{1}")]), task)),
], ids=["renamed", "ordered", "completed", "supplemented"])  # fmt: skip
def test_a_task_that_fails_is_an_error_that_names_the_question(method, change):
    class Failing(type(LTL)):
        pass

    def fail(self, *given):
        raise KeyError("zebra")

    setattr(Failing, method, fail)
    data = of(LTL, train=[("Xb", "1;b;{1}")])
    with pytest.raises(TransformError, match=r"task ltl failed for 'X?b' \(KeyError: 'zebra'\); mend the task or the"):
        change(data, Failing())


class TestExtended:
    def test_new_questions_of_train_are_added_to_train(self):
        data = of(LTL, train=[("Ucb", "b;{1}")], test=[("!c", "!c;{1}")])
        other = of(LTL, train=[("Xf", "1;f;{1}"), ("!c", "{!c}"), ("Ucb", "{b}")], test=[("Xc", "1;c;{1}")])
        whole = extended(data, other, LTL)
        assert pairs(whole["train"]) == [("Ucb", "b;{1}"), ("Xf", "1;f;{1}")]
        assert pairs(whole["test"]) == pairs(data["test"])


class TestReduced:
    def test_rows_are_chosen_from_train_by_the_seed(self, data):
        few, again, others = (reduced(data, 20, seed) for seed in (1, 1, 2))
        assert len(few["train"]) == 20 and set(pairs(few["train"])) < set(pairs(data["train"]))
        assert pairs(few["train"]) == pairs(again["train"]) != pairs(others["train"])
        assert pairs(few["test"]) == pairs(data["test"])


class TestSupplemented:
    def test_rows_with_few_symbols_are_added_under_known_names(self):
        data = of(LTL, train=[("Ucb", "b;{1}")], test=[("!c", "!c;{1}"), ("1", "{1}")])
        other = of(LTL, train=[("Xf", "1;f;{1}"), ("!f", "!f;{1}"), ("&fg", "&fg;{1}"), ("1", "{1}"), ("X1", "{1}")])
        whole = supplemented(data, other, LTL)
        assert pairs(whole["train"])[1:] == [("Xb", "1;b;{1}"), ("!b", "!b;{1}"), ("X1", "{1}")]
        assert whole["train"]["symbols"][1:] == [["b"], ["b"], []]
        assert pairs(whole["test"]) == pairs(data["test"])

    @given(st.sets(st.sampled_from(["!h", "!!h", "&h!h", "|h&h!h", "^hh", "!|hh", "&1h"]), min_size=1))
    def test_new_symbols_of_answers_stay_apart_from_the_known_names(self, questions):
        task = TASKS["tseitin"]
        answered = [[(text, task.solve(text)) for text in texts] for texts in (["&ab"], sorted(questions))]
        data, other = (of(task, train=rows) for rows in answered)
        for row in supplemented(data, other, task)["train"]:
            assert task.judge(*(row[column] for column in task.columns)) == ("correct", "")


class TestFiltered:
    def test_rows_are_chosen_by_symbols_and_size_in_all_splits(self, data):
        chosen = filtered(data, min_symbols=1, max_symbols=3, min_size=3, max_size=9)
        for split, rows in data.items():
            expected = [row for row in rows if 1 <= len(row["symbols"]) <= 3 and 3 <= row["length"] <= 9]
            assert chosen[split].to_list() == expected


def test_folders_are_changed_as_data_sets_are(folder, data, tmp_path):
    options = {"max_symbols": 3, "reduce": 30, "seed": 4, "ordered": True, "renamed": True}
    transform(folder, tmp_path / "made", None, options)
    made = read_folder(tmp_path / "made")
    expected = renamed(ordered(reduced(filtered(data, max_symbols=3), 30, 4), LTL), LTL)
    assert {split: rows.to_list() for split, rows in made.items()} == {
        split: rows.to_list() for split, rows in expected.items()
    }
    card = (tmp_path / "made" / "README.md").read_text()
    assert (
        "\nsymbinv data --output FOLDER --from ltl --max-symbols 3 --reduce 30 --seed 4 --ordered --renamed\n" in card
    )
    assert str(tmp_path) not in card
    before = (tmp_path / "made" / "README.md").stat().st_mtime_ns
    transform(folder, tmp_path / "made", None, options)
    assert (tmp_path / "made" / "README.md").stat().st_mtime_ns == before


def test_a_folder_without_data_or_of_another_task_is_refused(folder, data, tmp_path):
    with pytest.raises(
        TransformError, match=r"nowhere: holds no data set \(no data/SPLIT-\*\.parquet\); make one with"
    ):
        transform(tmp_path / "nowhere", tmp_path / "made", None, {"renamed": True})
    with pytest.raises(TransformError, match=r"split train: has columns formula, .*; task copy needs copy, string too"):
        transform(folder, tmp_path / "made", COPY, {"renamed": True})
    with pytest.raises(TransformError, match="task prop needs assignment too: is it of another task"):
        renamed(data, PROP)
    write_split(LTL, tmp_path, "test", [Pair("a", "{a}")], "spot")
    with pytest.raises(TransformError, match=r"data has splits \['test'\]; this changes split train"):
        transform(tmp_path, tmp_path / "made", LTL, {"reduce": 1})
    with pytest.raises(TransformError, match="no task has columns x; name it with --task"):
        task_by_columns(datasets.DatasetDict({"train": datasets.Dataset.from_dict({"x": [1]})}))
    assert task_by_columns(data) is LTL
