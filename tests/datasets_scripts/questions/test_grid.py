"""A grid's cells hold what they say, as much as is asked for and there is, and it ends whatever a task can draw."""

from collections import Counter

import pytest

from hf_symbinv.datasets_scripts.errors import TransformError
from hf_symbinv.datasets_scripts.questions import sampling as drawing
from hf_symbinv.datasets_scripts.questions.builder import RandomQuestionsConfig, prepare
from hf_symbinv.datasets_scripts.questions.grid import QuestionGrid, QuestionGridConfig
from hf_symbinv.datasets_scripts.questions.transforms import read_folder
from hf_symbinv.tasks import TASKS


def config(**changes):
    fields = {"task": "copy", "num_symbols": 3, "min_symbols": 1, "max_size": 4, "per_cell": 4}
    return QuestionGridConfig(name="test", **{**fields, **changes})


@pytest.fixture(scope="module", autouse=True)
def short_drought():
    """Of a few strings none is as rare as in the grids of the papers, and an empty cell waits for the whole drought."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drawing, "GRID_DROUGHT", 10_000)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("grid") / "copy"
    prepare(config(), folder, 1, progress=False)
    return folder


def cells(rows):
    return Counter((len(row["symbols"]), row["length"]) for row in rows)


def test_every_cell_has_as_many_as_are_asked_for_or_exist(folder):
    data = read_folder(folder)
    assert list(data) == ["test"]
    # Of n symbols in l places there are 1; 0, 2, 6, 14; 0, 0, 6, 36 strings with all of them.
    expected = {(1, size): 1 for size in range(1, 5)} | {(2, 2): 2, (2, 3): 4, (2, 4): 4, (3, 3): 4, (3, 4): 4}
    assert cells(data["test"]) == expected
    assert all(set(row["symbols"]) == set("abc"[: len(row["symbols"])]) for row in data["test"])
    assert len(set(data["test"]["string"])) == len(data["test"])


def test_the_card_says_which_cells_are_short_or_empty(folder):
    card = (folder / "README.md").read_text()
    for line in (
        "| 1 | 4 | 1 (1), 2 (1), 3 (1), 4 (1) | - |",
        "| 2 | 10 | 2 (2) | 1 |",
        "| 3 | 8 | - | 1-2 |",
        "symbinv data --grid --output FOLDER --task copy --num-symbols 3 --min-size 1 --max-size 4 --seed 0 "
        "--timeout 10.0 --min-symbols 1 --per-cell 4",
        "No question occurs twice, neither in one split nor in two.",
    ):
        assert f"\n{line}\n" in card


@pytest.fixture(scope="module")
def trained_on(tmp_path_factory):
    """Strings of at most four places, of more names than the grid has."""
    folder = tmp_path_factory.mktemp("known") / "strings"
    random = RandomQuestionsConfig(name="test", task="copy", num_symbols=4, max_size=4, rows=20)
    prepare(random, folder, 1, progress=False)
    return folder


def test_no_renaming_makes_a_question_of_a_novel_grid_one_of_the_training_data(folder, trained_on, tmp_path):
    grid = config(novel=(str(trained_on),))
    prepare(grid, tmp_path / "novel", 1, progress=False)
    known = {TASKS["copy"].alpha_class(text) for text in read_folder(trained_on)["train"]["string"]}
    found, all_of_them = (
        {TASKS["copy"].alpha_class(text) for text in read_folder(one)["test"]["string"]}
        for one in (tmp_path / "novel", folder)
    )
    assert found and not found & known and all_of_them & known
    card = (tmp_path / "novel" / "README.md").read_text()
    assert "No renaming of symbols makes one of them a training question of strings. " in card
    assert "--per-cell 4 --novel strings\n" in card and str(trained_on) not in card


def test_what_a_grid_should_be_novel_to_must_be_training_data_of_the_task(folder, trained_on, tmp_path):
    for novel, message in (
        (folder, "copy: has no split train, only test; name data of a training"),
        (tmp_path, "holds no data set"),
    ):
        with pytest.raises(TransformError, match=message):
            prepare(config(novel=(str(novel),)), tmp_path / "grid", 1, progress=False)
        assert not (tmp_path / "grid").exists()
    with pytest.raises(TransformError, match="task ltl needs formula, witness too: is it of another task"):
        prepare(config(task="ltl", novel=(str(trained_on),)), tmp_path / "grid", 1, progress=False)


@pytest.mark.parametrize("task", ["ltl"])
def test_formulas_have_their_number_of_symbols_and_correct_answers(task, tmp_path):
    prepare(
        config(task=task, min_symbols=2, num_symbols=2, min_size=6, max_size=7), tmp_path / "grid", 1, progress=False
    )
    rows = read_folder(tmp_path / "grid")["test"]
    assert cells(rows) == {(2, 6): 4, (2, 7): 4}
    with TASKS[task].checker(workers=1) as checker:
        results = checker.check([tuple(row[name] for name in TASKS[task].columns) for row in rows])
        assert {result.verdict for result in results} == {"correct"}


def test_the_builder_makes_the_same_grid(folder, tmp_path):
    fields = ("task", "num_symbols", "min_symbols", "max_size", "per_cell")
    made = QuestionGrid(**{name: getattr(config(), name) for name in fields}, cache_dir=str(tmp_path))
    made.download_and_prepare()
    assert made.as_dataset(split="test").to_list() == read_folder(folder)["test"].to_list()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"min_symbols": 4}, "min_symbols=4, num_symbols=3: numbers of symbols are at least 0, the smaller first"),
        ({"min_symbols": -1}, "min_symbols=-1, num_symbols=3: numbers of symbols"),
        ({"per_cell": 0}, "per_cell=0: a cell has at least one sample"),
        ({"max_size": 0}, "min_size=1, max_size=0: sizes are at least 1"),
        ({"task": "sat"}, "task='sat': unknown"),
        ({"novel": "data/ltl"}, r"novel='data/ltl': must be a tuple of folders, such as \('data/ltl',\); correct it"),
        ({"novel": (3,)}, r"novel=\(3,\): must be a tuple of folders"),
    ],
)
def test_values_out_of_range_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        config(**changes)


def test_a_grid_of_empty_cells_is_refused(tmp_path):
    with pytest.raises(
        ValueError, match="no question of 3 to 3 symbols and sizes 1 to 2 with an answer turned up: all"
    ):
        prepare(config(min_symbols=3, max_size=2), tmp_path / "empty", 1, progress=False)
