"""Published tables are what their JSON is printed as, with the papers' numbers and the command that makes them."""

import json
import re
from pathlib import Path

import pytest

from papers.catalogue import TABLES
from papers.harness.measurements import HeatMap
from papers.harness.numbers import Number
from papers.harness.provenance import line
from papers.harness.rendering import Made, Reproduction
from papers.harness.tables import Table

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "papers" / "results"
MADE = sorted(path.stem for path in RESULTS.glob("*-cpu.json"))


def rendered(content):
    """The table that a stored JSON object was printed from."""
    table = TABLES[content["table"]]
    rows = {row.labels: row for row in table.rows}
    measures = {measure.heading: measure for measure in table.measures}
    made = [
        Made(
            rows[tuple(row["labels"])],
            {measures[heading]: number and Number(**number) for heading, number in row["numbers"].items()},
        )
        for row in content["rows"]
    ]
    notes = tuple(content.get("notes", ()))
    return Reproduction(
        table, content["scale"], "", content.get("unit", table.unit), tuple(content["seeds"]), tuple(made),
        tuple(content["missing"]), notes,
    )  # fmt: skip


def table_of(text):
    return [line for line in text.splitlines() if line.startswith("|")]


@pytest.mark.parametrize("name", MADE)
def test_a_published_table_is_what_its_json_is_printed_as(name):
    content = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    published = (RESULTS / f"{name}.md").read_text(encoding="utf-8")
    again = rendered(content)
    assert table_of(again.markdown()) == table_of(published)
    assert line(content["made"]) == published.splitlines()[-1]
    head, unit = published.split("\n\n")[:2]
    trained = ", one training" if again.table.trains and len(again.seeds) == 1 else ""
    assert head.startswith(f"{again.table.title} ({again.table.source}), scale {again.scale}{trained}: ")
    assert unit in again.markdown()


@pytest.mark.parametrize("name", MADE)
def test_a_published_table_of_several_trainings_says_what_its_intervals_are_of(name):
    content = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    text = (RESULTS / f"{name}.md").read_text(encoding="utf-8")
    numbers = [number for row in content["rows"] for number in row["numbers"].values() if number]
    several = any(number.get("trainings", 1) > 1 for number in numbers)
    assert ("Intervals have the training as their unit" in text) == several
    assert several or "†" not in text


@pytest.mark.parametrize("name", MADE)
def test_a_published_table_has_the_papers_numbers_and_the_command_that_makes_it(name):
    content = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    rows = {row.labels: row for row in TABLES[content["table"]].rows}
    for row in content["rows"]:
        paper = {measure.heading: number for measure, number in rows[tuple(row["labels"])].paper.items()}
        assert row["paper"] == paper
    command = re.search(r"Command: `(.*)`\.", (RESULTS / f"{name}.md").read_text(encoding="utf-8"))[1]
    seeds = f" --seeds {len(content['seeds'])}" if len(content["seeds"]) > 1 else ""
    assert command == f"python -m papers {content['table']} --scale {content['scale']}{seeds}"


@pytest.mark.parametrize("name", MADE)
def test_a_published_table_says_what_its_answers_may_be_and_whether_heat_maps_have_training_questions(name):
    table = TABLES[json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))["table"]]
    text = (RESULTS / f"{name}.md").read_text(encoding="utf-8")
    if isinstance(table, Table):
        copying = {row.training.task.startswith("copy") for row in table.rows}
        maps = any(isinstance(measure.measurement, HeatMap) for measure in table.measures)
        assert ("Questions of the heat map may be training questions" in text) == (maps and copying == {True})
        assert ("No question of the heat map is a training question" in text) == (maps and copying == {False})
        assert ("Decoding writes only answers of the task's grammar" in text) == (copying != {True})


def test_no_published_file_names_a_command_that_is_gone():
    wrong = [path.name for path in RESULTS.iterdir() if b"symbinv reproduce" in path.read_bytes()]
    assert not wrong
