"""The example of a user's own task: its questions, solver and judge agree with the definition of a colouring."""

import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_symbinv.tasks import load_task

ROOT = Path(__file__).resolve().parents[1]
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
