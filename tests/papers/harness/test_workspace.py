"""The papers' tables: what is trained for them, how numbers are computed, and that a stopped reproduction goes on."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from hf_symbinv import SymbolInvariantForConditionalGeneration
from hf_symbinv.datasets_scripts.questions.transforms import read_folder
from hf_symbinv.evaluation import read_question
from hf_symbinv.evaluation.checkpoints import Checkpoint
from hf_symbinv.metrics.intervals import wilson_interval
from hf_symbinv.tasks import load_task
from papers.__main__ import DONE, UNFINISHED
from papers.__main__ import main as papers
from papers.harness.measurements import MEASUREMENTS, Measurement
from papers.harness.rendering import Number
from papers.harness.workspace import (
    SCALES,
    OutOfTimeError,
    Scale,
    ScaleError,
    Workspace,
    kind_of,
    measure,
    reproduce,
)
from papers.streams.tables import ABLATIONS, TABLES, Training, components_of

ALL = [(table.name, row) for table in TABLES.values() for row in table.rows]
# SIT Table 6: the papers' parameter counts of some component sets.
PARAMETERS = {
    ("prop", "EP DP EA DA CP"): 2_906_496,
    ("prop", "EP DP CP"): 2_457_216,
    ("prop", "EP DP EA DA CP CA"): 3_131_136,
    ("ltl", "EP DP EA CP"): 2_654_144,
    ("ltl", "EA DA CP CA"): 2_654_144,
}


class TestTables:
    def test_all_tables_that_were_promised_exist(self):
        wanted = "sit-1 sit-2 sit-3 sit-4 sit-6 sit-heatmap sit-topn sit-cost ite-2 ite-3 ite-5 ite-6 ite-7 ite-8"
        assert list(TABLES) == [*wanted.split(), "ite-ablation"]

    def test_trainings_are_equal_if_their_names_are(self):
        trainings = {row.training for _, row in ALL}
        assert len({training.name for training in trainings}) == len(trainings)
        assert all(re.fullmatch(r"[\w.=-]+", training.name) for training in trainings)

    def test_labels_of_a_table_are_distinct_and_as_many_as_its_heads(self):
        for table in TABLES.values():
            assert len({row.labels for row in table.rows}) == len(table.rows), table.name
            assert all(len(row.labels) == len(table.heads) for row in table.rows), table.name

    def test_numbers_of_the_papers_are_those_of_a_measure_of_the_table(self):
        for name, row in ALL:
            assert set(row.paper) <= set(TABLES[name].measures), (name, row.labels)

    def test_means_over_a_row_of_ite_table_5_are_where_the_table_has_them(self):
        cells = {row.labels: row.paper["edit distance"] for row in TABLES["ite-5"].rows}
        assert cells["f_bn + f_fn + AC", "hypercube", "6"] == 0.4
        assert cells["f_bn", "neighbors", "8"] == 0.6
        assert cells["none", "normal", "2"] == 16.5
        assert len(cells) == 90

    def test_heat_maps_of_ltl_are_those_of_models_that_saw_formulas_with_few_symbols(self):
        data = {row.training.data for row in TABLES["sit-heatmap"].rows if row.training.task == "ltl"}
        assert data == {"supplemented", "wide"}

    def test_table_6_has_19_component_sets_for_each_task(self):
        assert {task: len(sets) for task, sets in ABLATIONS.items()} == {"prop": 19, "ltl": 19}

    @pytest.mark.parametrize(("key", "parameters"), PARAMETERS.items())
    def test_models_of_the_papers_size_have_the_papers_parameters(self, key, parameters):
        config = Scale.load("paper").recipe(components_of(*key), seed=0).config()
        with torch.device("meta"):
            model = SymbolInvariantForConditionalGeneration(config)
        assert model.num_parameters() == parameters


class TestScales:
    @pytest.mark.parametrize("name", SCALES)
    def test_every_row_of_every_table_has_a_recipe_whose_model_can_be_built(self, name):
        scale = Scale.load(name)
        for table in TABLES.values():
            rows = scale.rows_of(table)
            assert rows, f"{name} makes no row of {table.name}"
            for row in rows:
                recipe = scale.recipe(row.training, seed=3)
                assert recipe.config().symbol_embedding in ("streams", "learned", "renamed", "random")
                assert recipe.trainer["seed"] == 3 and recipe.trainer["max_steps"] >= 1

    def test_the_reduced_data_are_passed_over_as_often_as_in_the_papers(self):
        scale = Scale.load("paper")
        full, reduced = (scale.recipe(Training("ltl", data=data), 0) for data in ("normal", "reduced"))
        assert full.trainer["max_steps"] / 800_000 == pytest.approx(reduced.trainer["max_steps"] / 80_000, rel=1e-3)

    def test_five_epochs_are_five_times_one(self):
        scale, start = Scale.load("paper"), Training("prop", model="learned")
        one, five = (scale.recipe(Training("prop", start=start, epochs=n), 0).trainer["max_steps"] for n in (1, 5))
        assert one == math.ceil(800_000 / 1024) and five == math.ceil(5 * 800_000 / 1024)

    def test_a_model_for_more_symbols_has_rows_for_them(self):
        scale = Scale.load("paper")
        rows = {name: scale.recipe(Training("ltl", model=name), 0).config().num_symbols for name in
                ("learned", "renamed", "renamed-wide")}  # fmt: skip
        assert rows == {"learned": 5, "renamed": 5, "renamed-wide": 10}

    def test_unknown_names_are_refused(self, tmp_path):
        with pytest.raises(ScaleError, match="scale='huge': unknown; use one of smoke, cpu, paper"):
            Scale.load("huge")
        with pytest.raises(ScaleError, match="table='sit-5': unknown; use one of sit-1, "):
            reproduce(Workspace(tmp_path, Scale.load("smoke")), "sit-5")
        with pytest.raises(ScaleError, match="measure='beauty': unknown; use one that a table of TABLES has"):
            measure(Workspace(tmp_path, Scale.load("smoke")), Training("ltl"), [0], "beauty")

    def test_every_measure_of_every_table_is_read_from_a_measurement_that_exists(self):
        kinds = {kind_of(name) for table in TABLES.values() for name in table.measures}
        assert {kind.partition("-")[0] for kind in kinds} == set(MEASUREMENTS)


class TestPieces:
    """Measurements keep what is finished, whatever stops them."""

    @pytest.fixture
    def measurement(self, tmp_path) -> Measurement:
        place = Workspace(tmp_path, Scale.load("smoke"))
        model = SymbolInvariantForConditionalGeneration(Scale.load("smoke").recipe(Training("prop"), 0).config())
        checkpoint = Checkpoint("tiny", None, model.eval(), load_task("prop").tokenizer(), load_task("prop"))
        return Measurement(place, Training("prop"), checkpoint, "grid", tmp_path / "grid.pieces")

    def test_a_stopped_measurement_goes_on_after_the_last_whole_piece(self, measurement):
        questions, asked = list(range(10)), []

        def measure(piece):
            if len(asked) == 2:
                raise KeyboardInterrupt
            asked.append(list(piece))
            return [10 * question for question in piece]

        with pytest.raises(KeyboardInterrupt):
            measurement.piecewise(questions, measure, 4)
        with measurement.pieces.open("a") as file:
            file.write("[80, 9")  # killed in the middle of a line
        asked.clear()
        assert measurement.piecewise(questions, measure, 4) == [10 * question for question in questions]
        assert asked == [[8, 9]]

    def test_without_time_nothing_is_asked_and_nothing_is_lost(self, measurement):
        measurement.piecewise([1, 2], lambda piece: list(piece), 2)
        late = replace(measurement, place=Workspace(Path("unused"), Scale.load("smoke"), max_seconds=0.0))
        assert late.piecewise([1, 2], lambda piece: pytest.fail("asked again"), 2) == [1, 2]
        with pytest.raises(OutOfTimeError):
            late.piecewise([1, 2, 3], lambda piece: pytest.fail("asked without time"), 2)


class NamesMatter(SymbolInvariantForConditionalGeneration):
    """Says that it has streams, but reads the first symbol of the alphabet as the constant 1."""

    def generate(self, input_ids, **options):
        first, one = self.config.base_vocab_size, load_task("prop").tokenizer().convert_tokens_to_ids("1")
        return super().generate(torch.where(input_ids == first, one, input_ids), **options)


class TestCovariance:
    @pytest.mark.parametrize(("kind", "kept"), [(SymbolInvariantForConditionalGeneration, True), (NamesMatter, False)])
    def test_it_is_measured_of_models_with_streams_too(self, kind, kept, tmp_path, monkeypatch):
        place = Workspace(tmp_path, Scale.load("smoke"))
        torch.manual_seed(0)
        model = kind(place.scale.recipe(Training("prop"), 0).config())
        checkpoint = Checkpoint("tiny", None, model.eval(), load_task("prop").tokenizer(), load_task("prop"))
        questions = [read_question(load_task("prop"), text) for text in ("&ab", "|a!b", "&a&bc", "|c|ab")]
        monkeypatch.setattr(Measurement, "questions", lambda *_: questions)
        measurement = Measurement(place, Training("prop"), checkpoint, "renamings-normal", tmp_path / "pieces")
        values = MEASUREMENTS["renamings"](measurement)["by_symbols"]
        assert {symbols: len(same) for symbols, same in values.items()} == {"2": 2, "3": 2}
        assert all(value == 1 for same in values.values() for value in same) == kept


class TestNumbers:
    def test_a_share_has_wilsons_interval_in_percent(self):
        number = Number.share(90, 100)
        low, high = wilson_interval(90, 100)
        assert (number.value, number.low, number.high, number.count) == (90.0, 100 * low, 100 * high, 100)

    def test_a_mean_has_the_normal_interval(self):
        number = Number.mean([1.0] * 50 + [0.0] * 50)
        assert number.value == 50.0
        assert number.high - number.value == pytest.approx(100 * 1.96 * math.sqrt(0.25 * 100 / 99 / 100), rel=1e-3)

    def test_equal_values_have_no_width(self):
        assert Number.mean([1.0, 1.0, 1.0]) == Number(100.0, 100.0, 100.0, 3)

    def test_a_single_value_has_no_interval(self):
        assert Number.mean([0.5]) == Number(50.0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("reproduce")


@pytest.mark.slow
@pytest.mark.xdist_group("reproduction")  # the tests of the class share a folder
class TestSmoke:
    """Two tables of the smallest scale, through the command: they share a folder, and models in it."""

    def test_a_table_is_trained_measured_and_printed_beside_the_papers(self, folder, capsys):
        assert papers(["sit-4", "--scale", "smoke", "--output", str(folder)]) == DONE
        printed = capsys.readouterr().out
        lines = [line for line in printed.splitlines() if line.startswith("|")]
        assert lines[0].startswith(
            "| task | model | validation (n 50) | paper | validation, wide (n 50) | paper | heat map | paper |"
        )
        assert len(lines) == 2 + 8
        assert "| LTL | converted, 1 epoch |" in printed and "| 94.75 |" in printed
        assert printed == (folder / "smoke/tables/sit-4.md").read_text() + "\n"
        content = json.loads((folder / "smoke/tables/sit-4.json").read_text())
        first = content["rows"][0]["numbers"]
        assert list(first) == ["validation"] and first["validation"]["count"] == 50
        assert all(set(row["seconds"]) == {"training", "measuring"} for row in content["rows"])
        assert "training" in printed.splitlines()[-2] and "measuring" in printed.splitlines()[-2]

    def test_what_is_there_is_not_made_again(self, folder, capsys):
        before = {
            path: path.stat().st_mtime_ns for path in folder.glob("smoke/*/**/*.json") if "tables" not in str(path)
        }
        assert papers(["sit-4", "--scale", "smoke", "--output", str(folder)]) == DONE
        assert {path: path.stat().st_mtime_ns for path in before} == before
        assert capsys.readouterr().err == ""

    def test_streams_have_alpha_covariance_1_whatever_they_have_learned(self, folder):
        place = Workspace(folder, Scale.load("smoke"))
        values = place.numbers(components_of("prop", "EP DP CP"), 0, "renamings-wide")["by_symbols"]
        assert values and all(value == 1.0 for same in values.values() for value in same)

    def test_every_measurement_runs(self, folder):
        place, training = Workspace(folder, Scale.load("smoke")), components_of("ltl", "EP DP CP")
        kinds = {"verdicts-test-normal", "renamings-normal", "grid", "grid-3", "cost-1", "parameters"}
        assert {kind.partition("-")[0] for kind in kinds} == set(MEASUREMENTS)
        assert all(place.numbers(training, 0, kind) for kind in kinds)

    def test_the_supplement_adds_training_rows_with_few_symbols_only(self, folder):
        place = Workspace(folder, Scale.load("smoke"))
        plain, more = (read_folder(place.data("ltl", name)) for name in ("normal", "supplemented"))
        added = more["train"]["symbols"][len(plain["train"]) :]
        assert added and all(len(symbols) <= 1 for symbols in added)
        assert list(more["test"]["formula"]) == list(plain["test"]["formula"])

    def test_more_candidates_of_the_same_beams_solve_no_less(self, folder):
        place, training = Workspace(folder, Scale.load("smoke")), components_of("ltl", "EP DP CP")
        one, three = (sum(cell["correct"] for cell in place.numbers(training, 0, kind)["cells"]) for kind in
                     ("grid", "grid-3"))  # fmt: skip
        assert three >= one

    def test_a_call_without_time_says_what_is_missing_and_the_next_one_goes_on(self, folder, capsys):
        arguments = ["ite-8", "--scale", "smoke", "--output", str(folder)]
        assert papers([*arguments, "--max-minutes", "0.1"]) == UNFINISHED
        assert "Missing: propositional logic / normal / baseline" in capsys.readouterr().out
        place = Workspace(folder, Scale.load("smoke"), max_seconds=1.0)
        with pytest.raises(OutOfTimeError):
            place.run(Training("prop", data="renamed", model="random"), seed=0)
