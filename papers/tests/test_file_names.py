"""Folders of results that were made once stay readable: what lies in them keeps its name."""

from dataclasses import replace
from pathlib import Path

from papers.catalogue import EXPERIMENTS, TABLES, load_scale
from papers.harness.tables import Table
from papers.harness.workspace import Workspace

# Measurement, as files name it, → the heads of the columns that are read from it.
COLUMNS = {
    "verdicts-test-normal": ["correct", "correct, no renamed twin", "exact"],
    "verdicts-test-normal-free": ["correct, no grammar"],
    "verdicts-validation-normal": ["validation", "validation, no renamed twin"],
    "verdicts-validation-normal-free": ["validation, no grammar"],
    "verdicts-validation-wide": ["validation, wide"],
    "renamings-normal": [f"alpha-covariance, {count} symbols" for count in range(2, 6)],
    "renamings-grid": [f"heat map alpha-covariance, {count} symbols" for count in range(3, 11)],
    "heat-map-1": [
        "heat map", "heat map, 0 symbols", "heat map, 1 symbol", "heat map, 2 symbols", "in the box", "more symbols",
        "longer", "spread", "edit distance",
    ],
    "heat-map-1-free": ["heat map, no grammar"],
    "heat-map-3": ["top-3"],
    "heat-map-10": ["top-10"],
    "heat-map-25": ["top-25"],
    "effort": ["steps", "examples", "seconds"],
    "cost-3": [f"{unit}, {count} symbol{'s' * (count != 1)}" for unit in ("ms", "MB") for count in range(11)],
    "parameters": ["parameters"],
}  # fmt: skip
STREAMS = [table for table in TABLES.values() if isinstance(table, Table)]
# All rows, also those that are left to the scale `paper`.
ROWS = [row for table in STREAMS for row in replace(load_scale("cpu"), tables={}).rows_of(table)]


def test_columns_are_read_from_the_files_that_they_always_were_read_from():
    found = {}
    for table in STREAMS:
        for measure in table.measures:
            found.setdefault(measure.measurement.name, set()).add(measure.heading)
    assert found == {name: set(headings) for name, headings in COLUMNS.items()}


def test_models_and_rows_of_experiments_have_the_folders_that_they_always_had():
    found = {f"runs/{training.name}" for row in ROWS for training in (row.training, *row.search)} | {
        f"experiments/{experiment.name}/{row.name}" for experiment in EXPERIMENTS.values() for row in experiment.rows
    }
    assert found == set((Path(__file__).parent / "file_names.txt").read_text(encoding="utf-8").splitlines())


def test_a_result_lies_where_model_seed_and_measurement_say(tmp_path):
    place, row = Workspace(tmp_path, load_scale("cpu")), TABLES["sit-1"].rows[0]
    measurement = TABLES["sit-1"].measures[0].measurement
    wanted = tmp_path / "cpu" / "results" / "prop_normal_learned_seed3_verdicts-test-normal.json"
    assert place.result(row.training, 3, measurement) == wanted
    experiment = EXPERIMENTS["lexinv-markov"]
    wanted = tmp_path / "cpu" / "experiments" / "lexinv-markov" / "model=truth_seed3" / "result.json"
    assert place.experiment_result(experiment, experiment.rows[0], 3) == wanted
