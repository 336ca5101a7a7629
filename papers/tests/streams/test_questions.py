"""Tables of the questions alone: training rows by symbols, and the time that Spot takes."""

import json

import datasets
import pytest

from hf_symbinv.cli import DONE
from hf_symbinv.tasks import LTL
from papers.__main__ import main
from papers.streams.questions import EXPERIMENTS, drawn

pytest.importorskip("spot")


def made(name, folder):
    """The rows of a table at the smallest scale: label → heading → value."""
    assert main([name, "--output", str(folder)]) == DONE
    content = json.loads((folder / "smoke" / "tables" / f"{name}.json").read_text())
    assert (folder / "smoke" / "tables" / f"{name}.png").stat().st_size > 5_000
    return {
        row["labels"][0]: {heading: found["value"] for heading, found in row["numbers"].items() if found}
        for row in content["rows"]
    }


@pytest.mark.parametrize(("symbols", "length"), [(1, 1), (2, 6), (4, 12)])
def test_formulas_of_a_cell_have_its_symbols_and_length_and_come_again(symbols, length):
    formulas = list(drawn(symbols, length, 5, seed=3))
    assert len(set(formulas)) == len(formulas) == (1 if length == 1 else 5)
    assert all(len(LTL.symbols(formula)) == symbols and LTL.size(formula) == length for formula in formulas)
    assert list(drawn(symbols, length, 5, seed=3)) == formulas


def test_a_cell_that_no_formula_fits_is_empty_at_once():
    assert list(drawn(10, 10, 5, seed=0)) == []


@pytest.mark.slow
def test_the_supplement_adds_rows_with_few_symbols_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))
    rows = made("sit-symbols", tmp_path)
    before, after = rows["before"], rows["after"]
    assert sum(before.values()) == 800
    assert after["1 symbol"] > before["1 symbol"] and after["0 symbols"] >= before["0 symbols"]
    assert all(after[f"{number} symbols"] == before[f"{number} symbols"] for number in (2, 3, 4, 5))


@pytest.mark.slow
def test_times_are_of_each_length_that_there_is(tmp_path):
    rows = made("ite-times", tmp_path)
    assert [set(row) for row in rows.values()] == [{"5 nodes", "10 nodes", "stopped"}] * 2
    assert all(0 < row["10 nodes"] <= 1000 for row in rows.values())


def test_every_length_of_a_scale_is_a_column():
    [times] = [experiment for experiment in EXPERIMENTS if experiment.name == "ite-times"]
    headings = {measure.heading for measure in times.measures}
    assert all(f"{length} nodes" in headings for scale in times.scales() for length in times.sizes(scale)["lengths"])
