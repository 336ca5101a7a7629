"""Tables from small results that are stored as a reproduction leaves them: nothing is trained or measured here."""

import json
from dataclasses import replace
from pathlib import Path
from statistics import stdev

import pytest

from hf_symbinv.evaluation.grid import Box, Grid
from hf_symbinv.metrics.intervals import wilson_interval
from papers.__main__ import UNFINISHED
from papers.__main__ import main as papers
from papers.catalogue import find, load_scale
from papers.harness.measurements import Costs, Effort, HeatMap, Renamings
from papers.harness.measures import HEAT_MAP, TRIED, Covariance, Share, Spread
from papers.harness.rendering import Made, Reproduction
from papers.harness.reproduction import measured, reproduce
from papers.harness.searching import finalists, next_trials
from papers.harness.tables import Row, Table, Training
from papers.harness.workspace import Workspace
from papers.streams.tables import TABLES


def workspace(folder) -> Workspace:
    """A workspace in which there is no time to make anything."""
    return Workspace(folder, load_scale("cpu"), max_seconds=0.0)


@pytest.fixture
def place(tmp_path) -> Workspace:
    return workspace(tmp_path)


def store(place, training, measurement, content, seed=0):
    path = place.result(training, seed, measurement)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))


def store_heat_map(place, training, content, seed=0):
    """All that tables of heat maps read: answers with and without a grammar, and what the training took."""
    store(place, training, HeatMap(), content, seed)
    store(place, training, HeatMap(free=True), content, seed)
    store(place, training, Effort(), {"steps": 300, "examples": 19200, "seconds": 60.5}, seed)


def store_run(place, training, seconds, seed=0):
    folder = place.run_folder(training, seed)
    folder.mkdir(parents=True)
    machine = {"python": "3.12.1", "cpu": "Abacus", "packages": {"torch": "2.9.0"}}
    (folder / "run.json").write_text(json.dumps({"finished": True, "seconds": seconds, "environment": machine}))


def heat_map(box, *counts):
    """A heat map with correct answers and samples: in the box, with more symbols, longer."""
    places = [(1, box.size), (box.symbols + 1, 2 * box.symbols + 1), (1, box.size + 1)]
    samples = [
        (*where, float(sample < correct))
        for where, (correct, count) in zip(places, counts, strict=True)
        for sample in range(count)
    ]
    return Grid.count(samples, model="m", data="d", training_box=box).to_dict()


def lines_of(result):
    return [line for line in result.markdown().splitlines() if line.startswith("|")]


BOX = load_scale("cpu").box("prop")
_, IN_THE_BOX, MORE, LONGER = HEAT_MAP
WIDE = Training("prop", data="wide", model="learned", wide=True)


@pytest.fixture(scope="module")
def partial(tmp_path_factory) -> Workspace:
    """Two of four heat maps of one task, and no model."""
    place = workspace(tmp_path_factory.mktemp("partial"))
    store_heat_map(place, Training("prop"), heat_map(BOX, (40, 50), (3, 20), (9, 30)))
    # The model of the wide data says so in its own box; the table has one box for all.
    wide = heat_map(BOX, (30, 50), (10, 20), (20, 30))
    wide["training_box"] = Box(9, 99)._asdict()
    store_heat_map(place, WIDE, wide)
    return place


@pytest.fixture(scope="module")
def result(partial):
    return reproduce(partial, find("sit-heatmap"))


class TestHeatMaps:
    def test_numbers_say_where(self, result):
        (streams,) = [made for made in result.rows if made.row.training == Training("prop")]
        shown = {measure.heading: (number.value, number.count) for measure, number in streams.numbers.items()}
        assert shown == {
            "heat map": (52.0, 100),
            "in the box": (80.0, 50),
            "more symbols": (15.0, 20),
            "longer": (30.0, 30),
            "spread": (stdev([80, 15, 30]), 1),
            "heat map, no grammar": (52.0, 100),
            "steps": (300, 1),
            "examples": (19200, 1),
            "seconds": (60.5, 1),
        }
        low, high = wilson_interval(3, 20)
        assert (streams.numbers[MORE].low, streams.numbers[MORE].high) == (100 * low, 100 * high)
        (wide,) = [made for made in result.rows if made.row.training == WIDE]
        assert wide.numbers[IN_THE_BOX].count == 50

    def test_cells_of_several_seeds_are_counted_together_for_their_spread(self, place):
        for seed, counts in enumerate([[(9, 10), (1, 10), (0, 0)], [(5, 10), (3, 10), (0, 0)]]):
            store(place, Training("prop"), HeatMap(), heat_map(BOX, *counts), seed)
        number = measured(place, Training("prop"), (0, 1), Spread())
        assert number.value == pytest.approx(stdev([70, 20])) and number.low is None

    def test_samples_stand_at_the_columns_and_the_paper_only_where_it_says_something(self, result):
        head, _, _, full, *_ = lines_of(result)
        columns = "heat map (n 100) | paper | in the box (n 50) | more symbols (n 20) | longer (n 30)"
        others = "spread | heat map, no grammar (n 100) | steps | examples | seconds"
        assert head == f"| task | model | {columns} | {others} |"
        assert full.startswith("| propositional logic | full vocabulary | 60.0 (50.2 - 69.1) |  | 60.0 (")

    def test_notes_say_what_the_box_is_and_who_was_trained_beyond_it(self, result):
        prop, ltl = (load_scale("cpu").box(task) for task in ("prop", "ltl"))
        boxes = f"propositional logic {prop.symbols} symbols and {prop.size} tokens, LTL {ltl.symbols} symbols and"
        assert f"The box: {boxes} {ltl.size} tokens." in result.markdown()
        assert "Full vocabulary was trained beyond the box" in result.markdown()
        assert "No question of the heat map is a training question under other names." in result.markdown()

    def test_what_is_there_is_drawn(self, result, partial):
        files = sorted(path.name for path in (partial.folder / "tables").iterdir())
        parts = [f"sit-heatmap-prop.{suffix}" for suffix in ("md", "png", "svg")]
        assert files == [*parts, "sit-heatmap.json", "sit-heatmap.md"]
        text = (partial.folder / "tables" / "sit-heatmap-prop.md").read_text()
        assert "full vocabulary on d" in text and "streams on d" in text and "random" not in text

    def test_what_is_missing_is_told_apart(self, result):
        missing = ("propositional logic / baseline", "propositional logic / alpha-renaming",
                   "propositional logic / random embedding", "propositional logic / canonical names",
                   "LTL / baseline")  # fmt: skip
        assert f"Missing: {'; '.join(missing)}" in result.markdown()

    def test_questions_with_few_symbols_stand_apart_before_and_after_the_supplement(self, place):
        cells = heat_map(place.scale.box("ltl"), (9, 10), (5, 10), (1, 10))
        few = Grid.count([(0, 1, 1.0), (0, 1, 0.0), (1, 1, 1.0)], model="m", data="d").to_dict()
        before, after = (row.training for row in TABLES["sit-supplement"].rows)
        store_heat_map(place, before, cells)
        store_heat_map(place, after, few)
        head, _, first, second = lines_of(reproduce(place, find("sit-supplement")))
        assert head.startswith("| training data | heat map, 0 symbols (n 2) | heat map, 1 symbol (n 20) | heat map |")
        assert first.startswith("| before |  | 50.0 (29.9 - 70.1) |") and second.startswith(
            "| after | 50.0 (9.5 - 90.5) | "
        )

    def test_a_region_without_samples_has_no_number(self, place):
        store(place, Training("prop"), HeatMap(), heat_map(BOX, (9, 10), (5, 10), (0, 0)))
        numbers = reproduce(place, find("sit-2")).rows[0].numbers
        assert numbers[LONGER] is None and numbers[IN_THE_BOX].count == 10


class TestCost:
    def test_times_have_their_range_and_stand_beside_the_papers(self, place):
        cost = {"symbols": 10, "count": 40, "ms": 6.5, "ms range": [6.25, 7.0], "MB": 812.5}
        store(place, Training("prop"), Costs(3), {"device": "cpu", "costs": [{**cost, "symbols": 3}, cost]})
        store(place, Training("ltl"), Costs(3), {"device": "cpu", "costs": [cost]})
        result = reproduce(place, find("sit-cost"))
        head, _, prop, ltl, full = lines_of(result)
        assert head == (
            "| task | model | ms, 3 symbols | ms, 10 symbols | paper | MB, 3 symbols | MB, 5 symbols | paper | "
            "MB, 10 symbols | paper |"
        )
        times = "6.50 (6.25 - 7.00) | 6.50 (6.25 - 7.00) | 5.13"
        assert prop == f"| propositional logic | streams | {times} | 812.50 |  |  | 812.50 |  |"
        assert ltl == "| LTL | streams |  | 6.50 (6.25 - 7.00) |  |  |  | 1900 | 812.50 | 3900 |"
        assert full == "| LTL | full vocabulary |  |  |  |  |  | 3100 |  | 3200 |"
        assert "Milliseconds a question" in result.markdown() and "percent" not in result.markdown()
        assert "40 samples behind each number" in result.markdown()
        smoke = replace(result, scale="smoke").markdown()  # of the paper's alone it has no column
        assert "| MB, 3 symbols | MB, 10 symbols | paper |" in smoke


SEARCH = Path("tables", "tuned-search.json")


def chosen_of(place):
    """For each trial in the log of a search: correct answers of 200 then, at full length, and whether it was chosen."""
    reproduce(place, TestSearch.TABLE)
    lines = json.loads((place.folder / SEARCH).read_text())
    both = [[line[one] and round(2 * line[one]["value"]) for one in ("validation", "at full length")] for line in lines]
    return [(*shares, line["chosen"]) for shares, line in zip(both, lines, strict=True)]


class TestSearch:
    """A search starts with two of three learning rates."""

    *TRIALS, HIGHER = (
        Training("ltl", "renamed", "learned", learning_rate=rate, trial=True) for rate in (0.001, 0.002, 0.005)
    )
    ROW = Row(("baseline",), Training("ltl", "renamed", "learned"), search=tuple(TRIALS))
    NEW = Share(new=True)
    TABLE = Table("tuned", "Tuning", "a test", ("model",), (Share(), NEW), (ROW,), "Percent", compared=(NEW,))
    CHOSEN = replace(TRIALS[1], trial=False)

    def tried(self, place, trial, correct):
        store(place, trial, TRIED.measurement, {"correct": correct, "count": 200})

    def test_the_best_trial_on_validation_data_says_how_the_row_is_trained(self, place):
        for trial, correct in zip((*self.TRIALS, self.HIGHER), (90, 120, 80), strict=True):
            self.tried(place, trial, correct)
        for seed in (0, 1):
            found = {"correct": 60 + seed, "exact": 5, "count": 100, "new": {"correct": 10, "exact": 1, "count": 40}}
            store(place, self.CHOSEN, Share().measurement, found, seed)
        result = reproduce(place, self.TABLE, (0, 1))
        assert [made.row.training for made in result.rows] == [self.CHOSEN] and not result.missing
        head, _, line = lines_of(result)
        assert head == "| model | correct (n 200) | correct, no renamed twin (n 80) |"
        # Trainings differ by less than the answers of one leave open: half of the 200, and half of the 80.
        ends = [f"{100 * end:.1f}" for count in ((60, 100), (10, 40)) for end in wilson_interval(*count)]
        assert line == f"| baseline | 60.5 ({ends[0]} - {ends[1]}) | 25.0 ({ends[2]} - {ends[3]}) |"
        assert "Intervals have the training as their unit" in result.markdown()
        trials = json.loads((place.folder / "tables" / "tuned-search.json").read_text())
        assert [(one["learning_rate"], one["steps"], one["chosen"]) for one in trials] == [
            (0.001, 800, False), (0.002, 800, True), (0.005, 800, False)
        ]  # fmt: skip
        log = (place.folder / "tables" / "tuned-search.md").read_text()
        assert "| baseline | 0.002 | cross_entropy | 0.0 |  | 800 | 0 | 60.0 (53.1 - 66.5) |  | chosen |" in log
        assert "200 validation questions" in log

    def test_trials_that_are_not_told_from_the_best_one_are_made_at_full_length(self, place):
        for trial, correct in zip((*self.TRIALS, self.HIGHER), (110, 120, 80), strict=True):
            self.tried(place, trial, correct)
        assert reproduce(place, self.TABLE).missing == ("baseline",)
        slow = replace(self.TRIALS[0], trial=False)
        self.tried(place, slow, 150)
        assert chosen_of(place)[:2] == [(110, 150, False), (120, None, False)]
        self.tried(place, self.CHOSEN, 140)
        (made,) = reproduce(place, self.TABLE).rows
        assert made.row.training == slow
        assert chosen_of(place) == [(110, 150, True), (120, 140, False), (80, None, False)]
        assert (
            "| 55.0 (48.1 - 61.7) | 75.0 (68.6 - 80.5) | chosen |"
            in (place.folder / SEARCH).with_suffix(".md").read_text()
        )

    def test_a_search_goes_on_until_the_rates_beside_the_best_one_were_tried(self, place):
        for trial, correct in zip(self.TRIALS, (90, 120), strict=True):
            self.tried(place, trial, correct)
        assert next_trials(place, self.ROW, 0) == [self.HIGHER]
        self.tried(place, self.HIGHER, 160)
        beyond = replace(self.HIGHER, learning_rate=0.01)
        assert next_trials(place, self.ROW, 0) == [beyond]
        assert not any(line["chosen"] for line in self.log(place))
        self.tried(place, beyond, 100)
        assert next_trials(place, self.ROW, 0) == []
        assert finalists(place, self.ROW, 0) == [replace(self.HIGHER, trial=False)]
        assert [(line["learning_rate"], line["chosen"]) for line in self.log(place)] == [
            (0.001, False), (0.002, False), (0.005, True), (0.01, False)
        ]  # fmt: skip

    def test_all_losses_that_are_not_told_from_the_best_one_get_the_rates_beside_their_best(self, place):
        other = [replace(trial, fields=(("loss", "adacos"),)) for trial in self.TRIALS]
        third = [replace(trial, fields=(("dropout", 0.1),)) for trial in self.TRIALS]
        row = replace(self.ROW, search=(*self.TRIALS, *other, *third))
        for trial, correct in zip(row.search, (110, 120, 118, 110, 60, 70), strict=True):
            self.tried(place, trial, correct)
        assert next_trials(place, row, 0) == [self.HIGHER, replace(other[0], learning_rate=0.0005)]

    def log(self, place):
        reproduce(place, self.TABLE)
        return json.loads((place.folder / SEARCH).read_text())

    def test_a_search_that_is_not_finished_chooses_nothing(self, place):
        self.tried(place, self.TRIALS[0], 90)
        result = reproduce(place, self.TABLE)
        assert result.missing == ("baseline",)
        (line,) = self.log(place)
        assert line["learning_rate"] == 0.001 and not line["chosen"]

    def test_trials_are_short_and_differ_from_their_scale_in_what_is_searched_alone(self):
        scale = load_scale("cpu")
        short, full = scale.recipe(self.TRIALS[1], seed=3), scale.recipe(self.CHOSEN, seed=3)
        usual = scale.recipe(self.ROW.training, seed=3)
        assert (short.trainer["max_steps"], full.trainer["max_steps"]) == (800, 3000)
        assert {**full.trainer, "learning_rate": 0.005} == usual.trainer and full.model == usual.model

    def test_tables_that_search_train_all_models_by_the_arguments_of_searches(self):
        scale, rows = load_scale("paper"), TABLES["sit-tuned"].rows
        trained = [scale.recipe(one, 0).trainer for row in rows for one in row.search]
        trained += [scale.recipe(replace(one, trial=False), 0).trainer for row in rows for one in row.search]
        assert {(one["optim"], one["lr_scheduler_type"]) for one in trained} == {("muon", "linear")}
        assert {one["max_steps"] for one in trained} == {5200, 52000}
        assert scale.recipe(TABLES["sit-1"].rows[0].training, 0).trainer["lr_scheduler_type"] == "cosine"


class TestCopying:
    TRAINING = TABLES["ite-copy"].rows[90].training

    def grid(self, distances):
        samples = [(3, 5, distance) for distance in distances]
        return Grid.count(samples, model="m", data="d", metric="edit_distance", questions="string").to_dict()

    def test_edit_distances_over_seeds_have_an_interval_as_wide_as_one_training_leaves_open(self, place):
        store_heat_map(place, self.TRAINING, self.grid([0, 2, 4]))
        store_heat_map(place, self.TRAINING, self.grid([2]), seed=1)
        result = reproduce(place, find("ite-copy"), seeds=(0, 1))
        shown = "| copying | f_fn + AC | full vocabulary | 2.00 (-0.26 - 4.26) | 6.1 | 300 | 19,200 | 60 |"
        assert lines_of(result)[2 + 90] == shown
        assert "Mean edit distances in tokens" in result.markdown() and "percent" not in result.markdown()
        assert "The paper's numbers are those of the best of at least 3 trainings" in result.markdown()
        assert (
            "No question of the heat map" not in result.markdown()
        )  # strings to copy may be those of training, renamed

    def test_without_squares_there_is_no_interval(self, place):
        grid = self.grid([0, 2, 4])
        grid["cells"][0].pop("total_squared_distance")
        store_heat_map(place, self.TRAINING, grid)
        first = lines_of(reproduce(place, find("ite-copy")))[2 + 90]
        assert first.startswith("| copying | f_fn + AC | full vocabulary | 2.00 | 6.1 |")

    def test_rows_that_a_scale_does_not_make_are_counted(self, tmp_path):
        place = Workspace(tmp_path, load_scale("smoke"), max_seconds=0.0)
        assert "Of 121 rows 72 are not made at this scale." in reproduce(place, find("ite-copy")).markdown()
        assert "not made" not in reproduce(place, find("ite-3")).markdown()


def test_what_is_made_is_told_with_its_row_and_the_number_of_rows(tmp_path):
    table, said = find("identity-kernel"), []
    found = {measure: {"correct": 1, "count": 2} for measure in table.measures}
    place = Workspace(tmp_path, load_scale("smoke"), say=said.append)
    reproduce(place, replace(table, measure=lambda job: found, draw=None), (0, 1))
    rows = [" / ".join(row.labels) for row in table.rows_of("smoke")]
    assert said == [
        f"row {number} of {len(rows)}, experiment identity-kernel: {labels}, seed {seed}"
        for number, labels in enumerate(rows, start=1)
        for seed in (0, 1)
    ]


class TestCovariance:
    TRAINING = Training("prop")

    def test_it_is_the_mean_over_the_questions_with_so_many_symbols(self, place):
        store(place, self.TRAINING, Renamings("grid"), {"by_symbols": {"3": [1.0, 1.0], "4": [0.5, 1.0, 0.75]}})
        result = reproduce(place, find("ite-3"))
        (numbers,) = [made.numbers for made in result.rows if made.row.training == self.TRAINING]
        three, four, five = (numbers[Covariance(symbols, "grid")] for symbols in (3, 4, 5))
        assert three.value == 100.0
        assert (four.value, four.count) == (75, 3)
        assert five is None

    def test_a_model_whose_renamings_were_not_measured_is_missing(self, place):
        store(place, self.TRAINING, Renamings("normal"), {"by_symbols": {"3": [1.0, 1.0]}})
        assert "propositional logic / streams" in reproduce(place, find("ite-3")).missing

    def test_samples_stand_at_the_numbers_where_a_column_has_different_ones(self, place):
        for symbols, row in ((2, "full vocabulary"), (3, "streams")):
            training = next(r.training for r in TABLES["ite-3"].rows if r.labels == ("propositional logic", row))
            store(place, training, Renamings("grid"), {"by_symbols": {"3": [0.5] * symbols}})
        text = reproduce(place, find("ite-3")).markdown()
        assert "50.0 (50.0 - 50.0), n 2 |" in text and "50.0 (50.0 - 50.0), n 3 |" in text


class TestHowItWasMade:
    def test_every_row_has_its_seconds_and_the_table_its_versions(self, place):
        best, plain = (TABLES["ite-ablation"].rows[number].training for number in (3, 5))
        for training, seconds in ((best, 5000.0), (plain, 4000.0)):
            store_heat_map(place, training, heat_map(BOX, (9, 10), (5, 10), (1, 10)))
            store_run(place, training, seconds)
        record = {"seconds": 30.0, "commit": "abc", "environment": {"packages": {"torch": "2.9.0"}}}
        for measurement in (HeatMap(), HeatMap(free=True), Effort()):
            place.result(best, 0, measurement).with_suffix(".made.json").write_text(json.dumps(record))
        result = reproduce(place, find("ite-ablation"))
        content = json.loads((place.folder / "tables" / "ite-ablation.json").read_text())
        assert content["rows"][3]["seconds"] == {"training": 5000.0, "measuring": 90.0}
        assert content["rows"][5]["seconds"] == {"training": 4000.0}
        assert content["rows"][4]["seconds"] == {}
        assert content["made"]["measured_at"] == ["abc"]
        last = result.markdown().splitlines()[-1]
        assert last.startswith("torch 2.9.0, Python 3.12.1; Abacus; commit ")
        assert last.endswith("; training 2.5 h, measuring at least 90 s.")

    def test_a_model_in_two_rows_is_trained_once(self):
        table, records = TABLES["sit-1"], {"training": {"runs/one": {"seconds": 100.0}}}
        rows = tuple(Made(row, {}, records) for row in table.rows[:2])
        made = Reproduction(table, "cpu", "small", table.unit, (0,), rows)
        assert made.made["seconds"] == {"training": 100.0}
        assert [row["seconds"] for row in made.to_dict()["rows"]] == [{"training": 100.0}] * 2

    def test_the_command_prints_what_it_wrote(self, place, capsys):
        store(place, Training("prop"), HeatMap(3), heat_map(BOX, (9, 10), (5, 10), (1, 10)))
        folder = place.folder.parent
        arguments = ["sit-topn", "--scale", "cpu", "--output", str(folder), "--max-minutes", "0.01"]
        assert papers(arguments) == UNFINISHED
        out, err = capsys.readouterr()
        assert out == (place.folder / "tables" / "sit-topn.md").read_text() + "\n"
        assert err.endswith("table sit-topn: is not complete; repeat the command to go on\n")
        assert papers([*arguments, "--json"]) == UNFINISHED
        assert json.loads(capsys.readouterr().out)["missing"] == ["streams"]
