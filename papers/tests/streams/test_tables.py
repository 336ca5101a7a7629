"""The tables of the papers on streams: their rows, their scales, and two of them made at the smallest scale."""

import json
import re

import pytest
import torch

from hf_symbinv import SymbolInvariantForConditionalGeneration
from hf_symbinv.datasets_scripts.questions.transforms import read_folder
from hf_symbinv.evaluation.checkpoints import load_checkpoint
from hf_symbinv.tasks import PROP
from papers.__main__ import DONE, UNFINISHED
from papers.__main__ import main as papers
from papers.catalogue import load_scale
from papers.harness.experiments import OutOfTimeError
from papers.harness.measurements import (
    Costs,
    Effort,
    HeatMap,
    Measurement,
    ModelUnderTest,
    ParameterCount,
    Renamings,
    Verdicts,
)
from papers.harness.measures import EditDistance
from papers.harness.scales import SCALES
from papers.harness.tables import Training
from papers.harness.workspace import Workspace
from papers.streams.tables import TABLES, components_of

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
    def test_trainings_are_equal_if_their_names_are(self):
        trainings = {training for _, row in ALL for training in (row.training, *row.search)}
        assert len({training.name for training in trainings}) == len(trainings)
        assert all(re.fullmatch(r"[\w.=-]+", training.name) for training in trainings)

    def test_streams_are_trained_on_renamed_data_only_where_renaming_merges_symbols(self):
        for name, data in (("cpu", "normal"), ("paper", "renamed")):
            rows = {row.labels: row for row in load_scale(name).rows_of(TABLES["sit-tuned"])}
            same = [rows["LTL", "renamed", kind] for kind in ("streams", "canonical names")]
            assert {one.data for row in same for one in (row.training, *row.search)} == {data}
            assert rows["LTL", "renamed", "baseline"].training.data == "renamed"

    def test_means_over_a_row_of_ite_table_5_are_where_the_table_has_them(self):
        cells = {row.labels[1:]: row.paper[EditDistance()] for row in TABLES["ite-copy"].rows if row.paper}
        assert cells["f_bn + f_fn + AC", "random embedding, hypercube, 6"] == 0.4
        assert cells["f_bn", "random embedding, neighbors, 8"] == 0.6
        assert cells["none", "random embedding, normal, 2"] == 16.5
        assert cells["f_fn", "alpha-renaming"] == 11.3
        assert len(cells) == 90 + 6

    @pytest.mark.parametrize(("key", "parameters"), PARAMETERS.items())
    def test_models_of_the_papers_size_have_the_papers_parameters(self, key, parameters):
        config = load_scale("paper").recipe(components_of(*key), seed=0).config()
        with torch.device("meta"):
            model = SymbolInvariantForConditionalGeneration(config)
        assert model.num_parameters() == parameters


class TestScales:
    @pytest.mark.parametrize("name", SCALES)
    def test_every_row_of_every_table_has_a_recipe_whose_model_can_be_built(self, name):
        scale = load_scale(name)
        for table in TABLES.values():
            rows = scale.rows_of(table)
            assert rows, f"{name} makes no row of {table.name}"
            for row in rows:
                recipe = scale.recipe(row.training, seed=3)
                assert recipe.config().symbol_embedding in ("streams", "learned", "canonical", "renamed", "random")
                assert recipe.trainer["seed"] == 3 and recipe.trainer["max_steps"] >= 1

    def test_the_reduced_data_are_passed_over_as_often_as_in_the_papers(self):
        scale = load_scale("paper")
        full, reduced = (scale.recipe(Training("ltl", data=data), 0) for data in ("normal", "reduced"))
        assert full.trainer["max_steps"] / 800_000 == pytest.approx(reduced.trainer["max_steps"] / 80_000, rel=1e-3)

    def test_a_table_says_the_sizes_of_its_tasks_where_they_are_not_the_scales(self):
        scale = load_scale("cpu")
        told = scale.about_of(scale.rows_of(TABLES["ite-copy"]))
        assert told.startswith(f"{scale.about} Copying more symbols: trained on strings of 3 to 30 tokens")
        assert "Copying long strings: trained on strings of 20 to 80 tokens" in told
        assert scale.about_of(scale.rows_of(TABLES["sit-tuned-prop"])).startswith("trained and tested on propositional")
        assert load_scale("paper").about_of(TABLES["ite-copy"].rows) == "the papers' own sizes."

    def test_rows_that_a_scale_makes_are_those_with_its_last_labels(self):
        scale = load_scale("smoke")
        made = [row.labels[1] for row in scale.rows_of(TABLES["sit-2"])]
        assert made == ["EP DP EA DA CP CA", "EP DP CP"]
        copied = [row.labels[2] for row in scale.rows_of(TABLES["ite-copy"]) if row.labels[0] == "copying"]
        assert {label for label in copied if "random" in label} == {
            "random embedding, normal, 8", "random embedding, neighbors, 4", "random embedding, hypercube, 6"
        }  # fmt: skip
        assert len(copied) == 18 + 9
        assert scale.rows_of(TABLES["sit-4"]) == list(TABLES["sit-4"].rows)

    @pytest.mark.parametrize("name", ["cpu", "paper"])
    def test_the_larger_scales_make_all_38_sets_of_components_and_all_90_random_embeddings(self, name):
        rows = [row for table in ("sit-2", "sit-3") for row in load_scale(name).rows_of(TABLES[table])]
        assert len({(row.training.task, row.labels[1]) for row in rows}) == len(rows) == 38
        assert all(len(row.paper) == 3 for row in rows)
        copied = [row for row in load_scale(name).rows_of(TABLES["ite-copy"]) if row.labels[0] == "copying"]
        assert sum("random" in row.labels[2] and len(row.paper) == 1 for row in copied) == 90


@pytest.mark.slow
@pytest.mark.xdist_group("reproduction")  # the tests of the class share a folder
class TestSmoke:
    """Two tables of the smallest scale, through the command: they share a folder, and models in it."""

    def test_a_table_is_trained_measured_and_printed_beside_the_papers(self, folder, capsys):
        assert papers(["sit-4", "--scale", "smoke", "--output", str(folder)]) == DONE
        printed = capsys.readouterr().out
        lines = [line for line in printed.splitlines() if line.startswith("|")]
        assert lines[0].startswith(
            "| task | model | validation (n 50) | paper | validation, wide (n 50) | paper | heat map (n 24) | paper |"
        )
        assert len(lines) == 2 + 8
        assert "| LTL | converted, 1 epoch |" in printed and "| 94.75 |" in printed
        assert printed == (folder / "smoke/tables/sit-4.md").read_text() + "\n"
        content = json.loads((folder / "smoke/tables/sit-4.json").read_text())
        first = content["rows"][0]["numbers"]
        assert list(first)[:2] == ["validation", "validation, no renamed twin"]
        assert first["validation"]["count"] == 50 > first["validation, no renamed twin"]["count"]
        assert all(set(row["seconds"]) == {"training", "measuring"} for row in content["rows"])
        assert "training" in printed.splitlines()[-2] and "measuring" in printed.splitlines()[-2]

    def test_what_is_there_is_not_made_again(self, folder, capsys):
        before = {
            path: path.stat().st_mtime_ns for path in folder.glob("smoke/*/**/*.json") if "tables" not in str(path)
        }
        assert papers(["sit-4", "--scale", "smoke", "--output", str(folder)]) == DONE
        assert {path: path.stat().st_mtime_ns for path in before} == before
        also, others = capsys.readouterr().err.splitlines()
        made = "sit-4.json, sit-4-ltl.png, sit-4-prop.png"
        assert also == f"table sit-4: also in {folder / 'smoke/tables/sit-4.md'}, {made}"
        assert others.endswith("; papers/results/sit-4-cpu.md has others")

    def test_streams_have_alpha_covariance_1_whatever_they_have_learned(self, folder):
        place = Workspace(folder, load_scale("smoke"))
        values = place.found(components_of("prop", "EP DP CP"), 0, Renamings("grid"))["by_symbols"]
        assert values and all(value == 1.0 for same in values.values() for value in same)

    def test_every_measurement_runs(self, folder):
        place, training = Workspace(folder, load_scale("smoke")), components_of("ltl", "EP DP CP")
        verdicts = [Verdicts("test", "normal"), Verdicts("test", "normal", free=True)]
        every = [*verdicts, Renamings("normal"), HeatMap(), HeatMap(3), Costs(1), ParameterCount(), Effort()]
        assert {type(measurement) for measurement in every} == set(Measurement.__subclasses__())
        assert all(place.found(training, 0, measurement) for measurement in every)

    def test_without_a_grammar_a_young_model_writes_what_is_no_trace(self, folder):
        place, training = Workspace(folder, load_scale("smoke")), components_of("ltl", "EP DP CP")
        bound, free = (place.found(training, 0, Verdicts("test", "normal", free=free)) for free in (False, True))
        # A trace may be invalid all the same if it ends too late.
        assert bound["verdicts"]["invalid"] < free["verdicts"]["invalid"]

    def test_questions_with_a_renamed_twin_are_left_out_of_the_new_ones(self, folder):
        place, training = Workspace(folder, load_scale("smoke")), components_of("prop", "EP DP CP")
        model = ModelUnderTest(place, training, load_checkpoint(str(place.run(training, 0))), folder / "pieces")
        assert model.without_twins(model.questions("normal", "train", 20)) == [False] * 20
        new = place.found(training, 0, Verdicts("test", "normal"))["new"]
        assert new["count"] == sum(model.without_twins(model.questions("normal", "test", 50)))

    @pytest.mark.parametrize("data", ["normal", "wide"])
    def test_no_renaming_makes_a_question_of_the_heat_map_one_of_the_training_data(self, folder, data):
        place = Workspace(folder, load_scale("smoke"))
        questions = read_folder(place.data("prop", "grid"))["test"]["formula"]
        assert questions and not place.training_classes(Training("prop", data)) & set(map(PROP.alpha_class, questions))

    def test_the_supplement_adds_training_rows_with_few_symbols_only(self, folder):
        place = Workspace(folder, load_scale("smoke"))
        plain, more = (read_folder(place.data("ltl", name)) for name in ("normal", "supplemented"))
        added = more["train"]["symbols"][len(plain["train"]) :]
        assert added and all(len(symbols) <= 1 for symbols in added)
        assert list(more["test"]["formula"]) == list(plain["test"]["formula"])

    def test_a_call_without_time_says_what_is_missing_and_the_next_one_goes_on(self, folder, capsys):
        arguments = ["sit-1", "--scale", "smoke", "--output", str(folder)]
        assert papers([*arguments, "--max-minutes", "0.1"]) == UNFINISHED
        assert "Missing: propositional logic / normal / baseline" in capsys.readouterr().out
        place = Workspace(folder, load_scale("smoke"), max_seconds=1.0)
        with pytest.raises(OutOfTimeError):
            place.run(Training("prop", data="renamed", model="random"), seed=0)
