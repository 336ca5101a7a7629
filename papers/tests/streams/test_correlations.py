"""Correlations of ITE Appendix E.3, against the definition written out."""

import json
import math
from pathlib import Path

import pytest

from papers.streams.correlations import correlations, main, points
from papers.streams.tables import TABLES

RESULTS = Path(__file__).parents[3] / "papers" / "results"


def rows(distance):
    """All rows of the table, with an edit distance that depends on the labels."""
    heading = "edit distance"
    return [
        {"labels": list(row.labels), "numbers": {heading: {"value": distance(*row.labels)}}}
        for row in TABLES["ite-copy"].rows
    ]


def pearson(first, second):
    means = sum(first) / len(first), sum(second) / len(second)
    a, b = [x - means[0] for x in first], [y - means[1] for y in second]
    return sum(x * y for x, y in zip(a, b, strict=True)) / math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))


def test_coefficients_are_pearsons_over_the_90_models_that_copy_short_strings():
    def distance(strings, enabled, model):
        return len(enabled) + 0.1 * len(model) + (strings != "copying") * 100

    models = points(rows(distance))
    assert len(models) == 90
    for name, (coefficient, low, high, _) in correlations(models).items():
        expected = pearson([model[name] for model in models], [model["distance"] for model in models])
        assert coefficient == pytest.approx(expected) and low < coefficient < high


def test_the_command_prints_the_page(capsys):
    assert main([str(RESULTS / "ite-copy-cpu.json")]) == 0
    printed = capsys.readouterr().out
    assert printed in (RESULTS / "random-embeddings-correlations.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"table": "sit-1", "rows": []}, "is no table ite-copy"),
        ({"table": "ite-copy", "rows": []}, "0 models with random embeddings: needs at least 4"),
    ],
)
def test_another_table_is_refused(tmp_path, capsys, content, message):
    path = tmp_path / "table.json"
    path.write_text(json.dumps(content))
    assert main([str(path)]) == 2
    assert message in capsys.readouterr().err
