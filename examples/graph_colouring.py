"""A task of your own in one file: colour a graph with three colours, neighbours differently.

    accelerate launch examples/graph_colouring.py  # all at once, in some minutes on one CPU core
    symbinv data --task examples/graph_colouring.py --num-symbols 5 --max-size 8 --rows 60000 --output data/graphs
    symbinv train examples/graph_colouring.yaml task=examples/graph_colouring.py --data data/graphs --output runs/graphs
    symbinv evaluate runs/graphs --task examples/graph_colouring.py --data data/graphs
    symbinv solve --task examples/graph_colouring.py --model runs/graphs "ab;bc;ca;cd"

A question is a list of edges, `ab;bc;ca;cd`, and an answer gives each vertex a colour, `aRbGcBdR`. Vertices are
symbols: names do not matter, and a trained model takes more of them than it has seen. Colours and `;` are base tokens.
`symbinv task check examples/graph_colouring.py` tries the laws that a task keeps.
"""

import os
import random
import sys
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

from hf_symbinv import SymbolTask

COLOURS = ("R", "G", "B")


class GraphColouring(SymbolTask):
    """Graphs, and colourings of their vertices with three colours in which neighbours differ."""

    name = "graph_colouring"
    base_tokens = ("<s>", "<pad>", "</s>", *COLOURS, ";")
    columns = ("graph", "colouring")
    description = "A question is a graph as a list of edges; its answer gives each vertex one of three colours."
    uniform_from, short_share = 4, 0.1  # few graphs have 1 to 3 edges: together they get a tenth of the rows

    def draw(self, symbols: Sequence[str], smallest: int, largest: int, seed: int, count: int) -> list[str]:
        """Random edges, in random order, between 2 to all of the vertices."""
        generator, graphs = random.Random(seed), []
        for _ in range(count):
            possible = list(combinations(generator.sample(symbols, generator.randint(2, len(symbols))), 2))
            number = generator.randint(smallest, largest)
            if number <= len(possible):
                edges = [generator.sample(edge, 2) for edge in generator.sample(possible, number)]
                graphs.append(self.write_words([word for edge in edges for word in (*edge, ";")][:-1]))
        return graphs

    def solve(self, question: str) -> str | None:
        """The first colouring in the order of the vertices and colours, by backtracking; None if there is none."""
        edges, vertices = self.edges(question), self.symbols(question)

        def extend(colouring: dict[str, str]) -> dict[str, str] | None:
            if len(colouring) == len(vertices):
                return colouring
            vertex = vertices[len(colouring)]
            taken = {colouring.get(other) for edge in edges if vertex in edge for other in edge}
            tries = (extend({**colouring, vertex: colour}) for colour in COLOURS if colour not in taken)
            return next((found for found in tries if found), None)

        colouring = extend({})
        return colouring and self.write_words(word for pair in colouring.items() for word in pair)

    def judge(self, question: str, answer: str) -> tuple[str, str]:
        """`correct` if every vertex has one colour and the ends of every edge have different ones."""
        words = [name or operator for _, operator, name in self.words(answer)]
        colouring = dict(zip(words[::2], words[1::2], strict=False))
        vertices = set(self.symbols(question))
        if len(words) != 2 * len(vertices) or set(colouring) != vertices or not set(colouring.values()) <= {*COLOURS}:
            return "invalid", "not one colour for each vertex"
        for one, other in self.edges(question):
            if colouring[one] == colouring[other]:
                return "incorrect", f"{one} and {other} are neighbours, and both are {colouring[one]}"
        return "correct", ""

    def size(self, question: str) -> int:
        """The number of edges."""
        return len(self.edges(question))

    def read_question(self, text: str, notation: str) -> str:
        """A graph that a user wrote, once it is known to be one."""
        self.edges(super().read_question(text, notation))
        return text

    def edges(self, question: str) -> list[tuple[str, str]]:
        """The two vertices of every edge."""
        words = [(operator, name) for _, operator, name in self.words(question)]
        pairs = [(one[1], other[1]) for one, other in zip(words[::3], words[1::3], strict=False)]
        separators = {operator for operator, _ in words[2::3]}
        if len(words) % 3 != 2 or separators - {";"} or any(None in pair or pair[0] == pair[1] for pair in pairs):
            raise ValueError(f"{question!r} is no list of edges: write two vertices an edge and ; between, ab;bc;cd")
        return pairs


GRAPH_COLOURING = GraphColouring()

if __name__ == "__main__":  # train by the recipe beside this file, on fewer rows and for fewer steps
    from train_ltl import main

    recipe = ["--recipe", str(Path(__file__).with_suffix(".yaml")), "--output", "runs/colouring"]
    smaller = ["data.rows=20000", "trainer.max_steps=1500", "trainer.eval_steps=750", "evaluation_rows=100"]
    main([*recipe, f"task={os.path.relpath(__file__)}", *smaller, *sys.argv[1:]])
