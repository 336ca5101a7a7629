"""The example of a user's own task: its questions, solver and judge agree with the definition of a colouring."""

import itertools
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_symbinv.cli import main
from hf_symbinv.tasks import load_task

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "graph_colouring.py"
COLOURING = load_task(EXAMPLE)

VERTICES = ["a", "b", "c", "request", "next state"]
GRAPHS = st.lists(st.permutations(VERTICES).map(lambda names: names[:2]), min_size=1, max_size=10).map(
    lambda edges: COLOURING.write_words([word for edge in edges for word in (*edge, ";")][:-1])
)


def colourings(graph):
    """Every right answer, by trying all assignments of three colours."""
    vertices = COLOURING.symbols(graph)
    for colours in itertools.product("RGB", repeat=len(vertices)):
        given = dict(zip(vertices, colours, strict=True))
        if all(given[one] != given[other] for one, other in COLOURING.edges(graph)):
            yield COLOURING.write_words(word for pair in given.items() for word in pair)


def test_the_example_is_one_short_file():
    assert len(EXAMPLE.read_text().splitlines()) < 100


@given(GRAPHS)
def test_solving_finds_a_colouring_exactly_if_there_is_one(graph):
    assert COLOURING.solve(graph) == next(colourings(graph), None)


@given(GRAPHS, st.data())
def test_an_answer_is_correct_exactly_if_it_is_a_colouring(graph, data):
    vertices = data.draw(st.permutations(COLOURING.symbols(graph)))
    answer = COLOURING.write_words(word for vertex in vertices for word in (vertex, data.draw(st.sampled_from("RGB"))))
    in_order = sorted(COLOURING.write_words(pair) for pair in _pairs(answer))
    known = (sorted(COLOURING.write_words(pair) for pair in _pairs(right)) for right in colourings(graph))
    assert COLOURING.judge(graph, answer)[0] == ("correct" if in_order in known else "incorrect")


def _pairs(answer):
    words = [name or operator for _, operator, name in COLOURING.words(answer)]
    return list(zip(words[::2], words[1::2], strict=True))


def test_drawn_graphs_have_the_edges_asked_for_and_each_once():
    graphs = COLOURING.draw(VERTICES, 2, 6, seed=0, count=300)
    assert {COLOURING.size(graph) for graph in graphs} == {2, 3, 4, 5, 6}
    assert all(len({frozenset(edge) for edge in COLOURING.edges(graph)}) == COLOURING.size(graph) for graph in graphs)
    assert {len(COLOURING.symbols(graph)) for graph in graphs} == {3, 4, 5}
    assert graphs == COLOURING.draw(VERTICES, 2, 6, seed=0, count=300)


@pytest.mark.parametrize("answer", ["", "aR", "aRbGcB", "aRbGbB", "aRbb", "aRGb", "aRbG;", "aRb?"])
def test_an_answer_gives_every_vertex_one_colour(answer):
    assert COLOURING.judge("ab", answer) == ("invalid", "not one colour for each vertex")


def test_neighbours_of_one_colour_are_named():
    assert COLOURING.judge("ab;bc", "cRbGaG") == ("incorrect", "a and b are neighbours, and both are G")


@pytest.mark.parametrize("text", ["", "a", "ab;", "abc", "ab;c", "aa", "ab,bc", "ab;bR", "ab ; bc"])
def test_what_is_no_list_of_edges_is_refused(text):
    with pytest.raises(ValueError, match="is no list of edges: write two vertices an edge and ; between, ab;bc;cd"):
        COLOURING.read_question(text, "prefix")
    assert COLOURING.read_question("ab bc ; bc c", "prefix") == "ab bc ; bc c"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "size", "questions", "refusal"),
    [
        ("examples/graph_colouring.py", "5", ("ab;bc", "request grant", "ab;"), "is no list of edges"),
        ("papers/shapes/three_address.py", "4", ("+ab", "+ request grant", "+a"), "is no expression"),
    ],
)
def test_data_training_evaluation_and_solving_take_a_file_as_a_task(
    file, size, questions, refusal, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(ROOT)
    data, model, task, own = tmp_path / "data", tmp_path / "model", ["--task", file], load_task(ROOT / file)
    sizes = ["model.d_model=16", "model.num_attention_heads=2", "model.d_ff=16"]
    steps = ["trainer.max_steps=30", "trainer.eval_strategy=no", "test_rows=20"]

    assert main(["data", *task, "--num-symbols", "4", "--max-size", size, "--rows", "900", "--output", str(data)]) == 0
    recipe = [file.replace(".py", ".yaml"), f"task={file}", *sizes, *steps]
    assert main(["train", *recipe, "--data", str(data), "--output", str(model)]) == 0
    assert (json.loads((model / "config.json").read_text())["num_fresh_symbols"] or 0) == own.num_fresh_symbols

    capsys.readouterr()
    assert main(["evaluate", str(model), *task, "--data", str(data), "--rows", "20", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["groups"][0]["summary"]["count"] == 20

    code = main(["solve", *task, "--model", str(model), "--json", *questions])
    *answered, refused = map(json.loads, capsys.readouterr().out.splitlines())
    assert code == 2 and refusal in refused["error"]
    question, answer = own.columns
    assert [found[question] for found in answered] == [*questions[:-1]]
    for found in answered:
        assert found["verdict"] == own.judge(found[question], found[answer])[0]
