"""Hundreds of symbols: questions and their judges, and the table from its models to its numbers."""

import json

import pytest

from papers.__main__ import DONE, main
from papers.shapes.many import EXPERIMENTS
from papers.shapes.many_models import COLOURS, EOS, SEPARATOR, Question, questions, right

[MANY] = EXPERIMENTS
SIZES = {"names": 90, "shortest": 20, "longest": 80, "edges": 0.75}


@pytest.mark.parametrize("task", ["copy", "colouring"])
@pytest.mark.parametrize("symbols", [2, 3, 17, 64])
def test_a_question_has_so_many_symbols_and_its_own_answer_is_right(task, symbols):
    for question in questions(task, SIZES, (symbols, symbols), 20, seed=0):
        assert len({*question.ids} - {EOS, SEPARATOR}) == symbols
        assert question.answer[-1] == EOS
        (correct, count), whole = right(task, question, question.answer[:-1])
        assert whole and correct == count > 0
        if task == "colouring":
            assert {*question.answer[1:-1:2]} <= {*COLOURS}
            assert {*question.answer[:-1:2]} == {*question.ids} - {EOS, SEPARATOR}


def test_a_copy_is_judged_by_its_places():
    question = Question([10, 11, 10, EOS], [10, 11, 10, EOS])
    assert right("copy", question, [10, 11, 11]) == ((2, 3), False)
    assert right("copy", question, [10, 11]) == ((2, 3), False)
    assert right("copy", question, [10, 11, 10, 10]) == ((3, 3), False)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ([10, 3, 11, 4, 12, 3], ((2, 2), True)),  # the path 10 11 12
        ([12, 5, 10, 3, 11, 4], ((2, 2), True)),
        ([10, 3, 11, 3, 12, 4], ((1, 2), False)),
        ([10, 3, 11, 4], ((1, 2), False)),
        ([10, 3, 11, 4, 12, 11], ((1, 2), False)),
        ([10, 3, 11, 4, 12, 3, 12, 5], ((2, 2), False)),
        ([10, 3, 11, 4, 12, 3, 13, 5], ((2, 2), False)),
        ([], ((0, 2), False)),
    ],
)
def test_a_colouring_is_judged_by_its_edges(answer, expected):
    graph = Question([10, 11, SEPARATOR, 11, 12, EOS], [])
    assert right("colouring", graph, answer) == expected


@pytest.mark.slow
def test_the_table_is_made_from_its_models_and_not_twice(tmp_path, capsys):
    arguments = ["shape-many", "--output", str(tmp_path)]
    assert main(arguments) == DONE
    printed = capsys.readouterr().out
    content = json.loads((tmp_path / "smoke/tables/shape-many.json").read_text())
    assert len(content["rows"]) == len(MANY.rows) and content["missing"] == []
    assert all(row["numbers"]["seconds"]["value"] > 0 for row in content["rows"])
    assert main(arguments) == DONE and capsys.readouterr().out == printed
