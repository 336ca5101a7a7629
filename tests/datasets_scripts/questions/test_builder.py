"""A data set is a function of (config, seed), whatever happens on the way, and every row is what it says."""

import fcntl
import hashlib
import math
import os
import pickle
import subprocess
import sys
from collections import Counter
from functools import partial
from itertools import chain, count, islice
from pathlib import Path

import datasets
import pyarrow.parquet
import pytest
from tqdm import tqdm

from hf_symbinv import __version__
from hf_symbinv.datasets_scripts.command import main
from hf_symbinv.datasets_scripts.errors import OptionsError, WorkFolderError
from hf_symbinv.datasets_scripts.questions.benchmarks import Copying, LtlRandom, PropRandom
from hf_symbinv.datasets_scripts.questions.builder import RandomQuestionsConfig, assign_splits, left_out, prepare
from hf_symbinv.datasets_scripts.questions.rounds import Harvest, Rounds, missing_rows, quotas
from hf_symbinv.datasets_scripts.questions.sampling import SHORT, Gate, Order, draw_batch, seed_of
from hf_symbinv.datasets_scripts.storage import Pair
from hf_symbinv.logic import parse_prefix
from hf_symbinv.solvers import Checker, ProcessPool
from hf_symbinv.solvers.ltl import load_spot
from hf_symbinv.tasks import COPY, LTL, PROP, TASKS, load_task
from hf_symbinv.tasks.base import solve_ordered
from hf_symbinv.tasks.prop import PROP_LIKE_DEEPLTL

from ... import forks

SPLITS = ("train", "validation", "test")
# A module is imported once, so every faulty task has another name.
FAULTY = count()
RECIPE = {"num_symbols": 3, "max_size": 14, "rows": 2000, "seed": 5, "timeout": 60.0}


def config(**changes):
    return RandomQuestionsConfig(name="test", **{**RECIPE, **changes})


def rows_of(folder: Path) -> dict[str, list[dict]]:
    found = {split: [] for split in SPLITS}
    for path in sorted((folder / "data").glob("*.parquet")):
        found[path.name.partition("-")[0]] += pyarrow.parquet.read_table(path).to_pylist()
    return found


def all_rows(folder: Path) -> list[dict]:
    return [row for rows in rows_of(folder).values() for row in rows]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """The data set of RECIPE, made by one process."""
    folder = tmp_path_factory.mktemp("ltl") / "data set"
    prepare(config(), folder, 1, progress=False)
    return folder


def test_rows_are_as_many_as_asked_for_and_say_what_their_formula_has(folder):
    assert [len(rows) for rows in rows_of(folder).values()] == [1600, 200, 200]
    lengths = Counter()
    for row in all_rows(folder):
        formula = parse_prefix(row["formula"])
        lengths[row["length"]] += 1
        assert row["symbols"] == list(formula.symbols()) and set(row["symbols"]) <= set("abc")
        assert row["length"] == formula.size <= 14 and row["solver_version"] == LTL.solver_version()
    assert len({row["formula"] for row in all_rows(folder)}) == 2000
    counts = [lengths[length] for length in range(10, 15)]  # those from ten nodes up are equally frequent
    assert max(counts) - min(counts) <= 1 and sum(counts) == 2000 - 224  # 11.2 %


def test_every_witness_satisfies_its_formula(folder):
    with Checker(workers=1, timeout=60.0) as checker:
        results = checker.check((row["formula"], row["witness"]) for row in all_rows(folder))
        assert {result.verdict for result in results} == {"correct"}


@pytest.mark.slow
def test_a_run_that_is_killed_continues_without_losing_or_repeating_a_finished_shard(folder, tmp_path):
    target = tmp_path / "killed"
    options = [f"--{name.replace('_', '-')}={value}" for name, value in RECIPE.items()]
    command = ["data", f"--output={target}", "--workers=1", *options]
    program = "import sys; from hf_symbinv.cli import main; main(sys.argv[1:])"
    process = forks.start(["-c", program, *command], tmp_path / "printed")
    forks.kill_when(lambda: list((target / ".work").glob("*.json")), process)
    shards = {path: path.stat() for path in (target / ".work").glob("*.json")}
    assert shards and not (target / "README.md").exists()

    kept = []
    unlink = os.unlink

    def note(path, *arguments, **options):  # the work folder is removed at the end
        if str(path).endswith(".json"):
            kept.append(os.stat(path, **{name: options[name] for name in options if name == "dir_fd"}))
        return unlink(path, *arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "unlink", note)
        prepare(config(), target, 2, progress=False)
    left = {stat.st_ino: stat.st_mtime_ns for stat in kept}
    assert len(left) > len(shards)
    assert all(left[stat.st_ino] == stat.st_mtime_ns for stat in shards.values())
    assert rows_of(target) == rows_of(folder)
    assert (target / "README.md").read_text() == (folder / "README.md").read_text()
    assert not (target / ".work").exists()


def test_load_dataset_reads_the_folder(folder, tmp_path):
    loaded = datasets.load_dataset("parquet", data_dir=str(folder), cache_dir=str(tmp_path))
    assert {split: loaded[split].to_list() for split in loaded} == rows_of(folder)
    assert loaded["train"].column_names == ["formula", "witness", "symbols", "length", "solver_version"]


def test_the_builder_makes_what_the_command_makes(folder, tmp_path):
    builder = LtlRandom(**RECIPE, cache_dir=str(tmp_path))
    builder.download_and_prepare(num_proc=2)
    assert {split: builder.as_dataset(split=split).to_list() for split in SPLITS} == rows_of(folder)


def test_the_card_names_command_solver_counts_lengths_and_licence(folder):
    card = (folder / "README.md").read_text()
    for line in (
        "license: apache-2.0",
        "- 1K<n<10K",
        "| train | 1,600 |",
        "| 14 | 355 |",
        f"The generator is hf_symbinv {__version__}, and the solver is {LTL.solver_version()}. This command made the "
        "data:",
        "symbinv data --output FOLDER --task ltl --num-symbols 3 --min-size 1 --max-size 14 --seed 5 --timeout 60.0 "
        "--rows 2000",
    ):
        assert f"\n{line}\n" in card
    assert str(folder) not in card


def test_the_card_counts_the_test_formulas_that_occur_in_train_under_other_names(folder):
    def first_seen(formula: str) -> str:
        names = dict(zip(dict.fromkeys(token for token in formula if token in "abc"), "xyz", strict=False))
        return "".join(names.get(token, token) for token in formula)

    rows = rows_of(folder)
    train = {first_seen(row["formula"]) for row in rows["train"]}
    share = sum(first_seen(row["formula"]) in train for row in rows["test"]) / len(rows["test"])
    assert share > 0
    assert f"{share:.1%} of test occur in train under other names." in (folder / "README.md").read_text()


@pytest.mark.parametrize(("task", "found"), [("prop", 0), ("ltl", 1)])
def test_a_data_set_with_an_empty_split_is_refused_and_leaves_no_trace(task, found, tmp_path):
    message = f"num_symbols=0, sizes 1 to 1: only {found} different questions with answers turned up, and three splits"
    with pytest.raises(ValueError, match=f"{message} take at least 10; ask for more symbols or larger sizes"):
        prepare(config(task=task, num_symbols=0, max_size=1, rows=10), tmp_path / "none", 1, progress=False)
    assert not (tmp_path / "none").exists()


def solving_pool(task, timeout):
    return ProcessPool(
        partial(solve_ordered, task), workers=1, timeout=timeout, initializer=task.prepare, isolate=task.shard
    )


def gate(symbols="ab", min_size=1, max_size=14, task=LTL):
    return Gate(task, tuple(symbols), min_size, max_size, task.uniform_from)


def test_a_question_over_the_limit_is_left_out_like_one_without_an_answer(tmp_path):
    formulas = ["a", "XUa" * 1000 + "b", "0", "Xb"]  # Spot needs minutes for the second
    with gate() as source, solving_pool(LTL, 1.0) as pool, LTL.checker(workers=1) as checker:
        (harvest,) = Rounds(source, pool, checker, tmp_path, tqdm(disable=True)).solve(iter(formulas), "00")
    assert harvest == Harvest([("a", "a;{1}"), ("Xb", "1;b;{1}")], Counter({"timeout": 1, "no answer": 1}))


def test_drawing_only_useful_sizes_does_not_change_the_distribution_of_a_length():
    """Root operators of formulas of 8 nodes: drawn with sizes 8 to 12, and with sizes 1 to 12 and selected."""
    samples = []
    for shortest in (1, 8):
        batches = (
            draw_batch(LTL, Order(("a", "b"), shortest, 12, seed_of("law", shortest, batch), 1000)) for batch in count()
        )
        stream = (text for batch in batches for text in batch if len(text) == 8)
        samples.append(Counter(text[0] for text in islice(stream, 3000)))
    assert samples[0].keys() == samples[1].keys() == set("!X&U")
    chi_square = sum(
        (samples[0][operator] - samples[1][operator]) ** 2 / (samples[0][operator] + samples[1][operator])
        for operator in "!X&U"
    )
    assert chi_square < 16.3  # exceeded once in a thousand tries with 3 degrees of freedom


def test_the_gate_draws_exactly_what_is_missing_and_nothing_twice():
    with gate(min_size=3, max_size=13) as source:
        first = list(source.draw({SHORT: 50, 10: 20, 12: 0, 13: 30}, "seed"))
        second = list(source.draw({SHORT: 5, 11: 7}, "seed", 2))
    assert Counter(source.quota_of(len(formula)) for formula in first) == {SHORT: 50, 10: 20, 13: 30}
    assert Counter(source.quota_of(len(formula)) for formula in second) == {SHORT: 5, 11: 7}
    assert len(set(first + second)) == 112
    assert min(map(len, first + second)) >= 3


def test_what_is_drawn_does_not_depend_on_what_was_drawn_before_or_on_formulas_of_this_process():
    def drawn(before):
        with gate("abc") as source:
            list(source.draw(before, "before"))
            source.seen.clear()
            return list(source.draw({SHORT: 20, 14: 300}, "seed"))

    first = drawn({})
    alive = [load_spot().formula(text) for text in ("Xc", "Xb", "Xa", "c U a", "b U a", "a U b")]
    assert drawn({13: 500}) == first
    assert len(alive) == 6


class TestLikeDeepLTL:
    """Data of propositional logic that are drawn by the rule of DeepLTL's release."""

    OPTIONS = {"task": "prop", "like": "deepltl", "num_symbols": 4, "max_size": 14, "rows": 600}

    def test_lengths_are_those_of_formulas_that_are_drawn_one_by_one(self, tmp_path):
        prepare(config(**self.OPTIONS), tmp_path / "like", 1, progress=False)
        found = Counter(row["length"] for row in all_rows(tmp_path / "like"))
        most = math.ceil(600 * (1 - 0.095) / 3)  # of 12, 13 and 14 nodes
        expected, seen = Counter[int](), set[str]()
        for batch in count():
            for question in PROP_LIKE_DEEPLTL.draw("abcd", 1, 14, batch, 500):
                size = PROP.size(question)
                if expected[size] < most and question not in seen and PROP.solve(question) is not None:
                    seen.add(question)
                    expected[size] += len(seen) <= 600
            if len(seen) >= 600:
                break
        assert found.total() == expected.total() == 600
        card = (tmp_path / "like" / "README.md").read_text()
        assert "with answers. They are drawn as in the release of deepltl. Questions left out" in card
        for size in range(1, 15):
            assert abs(found[size] - expected[size]) <= 4 * math.sqrt(expected[size] + 1)
        # The package's own distribution is another: a length of 10 or more has every fifth of most rows.
        assert sum(found[size] for size in range(10, 15)) < 0.7 * (600 - int(0.112 * 600))

    def test_only_data_that_ask_for_it_say_so(self):
        assert "like" not in config(task="prop").recipe() and "--like" not in config(task="prop").command()
        asked = config(**self.OPTIONS)
        assert asked.recipe()["like"] == "deepltl" and asked.command().endswith("--like deepltl --rows 600")

    def test_where_it_has_no_rule_it_is_refused(self, capsys, tmp_path):
        message = "max_size=11: DeepLTL counts sizes from 12 up; ask for at least 12, or leave out like"
        with pytest.raises(OptionsError, match=message):
            config(**{**self.OPTIONS, "max_size": 11})
        assert config(**{**self.OPTIONS, "max_size": 12}) and config(**{**self.OPTIONS, "max_size": 11, "like": ""})
        command = ["--output", str(tmp_path / "other"), "--rows=20", "--max-size=12", "--workers=1"]
        assert main([*command, "--like=deepltl"]) != 0
        assert "like='deepltl': task ltl is not drawn like this; use deepltl with task prop" in capsys.readouterr().err
        assert main([*command, "--like=deepltl", "--task=prop"]) == 0


def test_lengths_that_are_exhausted_pass_their_rows_on():
    quota = {SHORT: 10, 10: 20, 11: 20}
    have = Counter({SHORT: 4, 10: 20, 11: 15})
    assert missing_rows(quota, have, set()) == {SHORT: 6, 11: 5}
    assert missing_rows(quota, have, {SHORT}) == {10: 3, 11: 8}
    assert missing_rows(quota, Counter({SHORT: 4, 10: 23, 11: 22}), {SHORT}) == {10: 1}
    assert missing_rows(quota, Counter({SHORT: 4, 10: 23, 11: 23}), {SHORT}) == {}
    assert missing_rows(quota, have, {10, 11}) == {SHORT: 11}
    assert missing_rows(quota, have, {SHORT, 10, 11}) == {}
    assert missing_rows(quota, Counter({SHORT: 4, 10: 22, 11: 20}), {SHORT, 10}) == {11: 4}


def test_splits_are_shuffled_by_the_seed_alone():
    pairs = [Pair(str(number), "") for number in range(100)]
    first = assign_splits(pairs, 1)
    assert first == assign_splits(pairs[::-1], 1) != assign_splits(pairs, 2)
    assert sorted(chain(*first.values())) == sorted(pairs)
    others = assign_splits([*pairs[3:], *(Pair(str(number), "") for number in range(100, 103))], 1)
    assert all(len(set(others[split]) & set(first[split])) >= len(first[split]) - 3 for split in SPLITS)


@pytest.mark.parametrize("task", [LTL, COPY])
def test_a_question_that_reaches_the_limit_changes_its_own_row_alone(task, tmp_path):
    """Whichever fail: all rows of a run but those that failed in the other are rows of the other."""

    class Solved(Rounds):
        """Rounds whose solver fails at every question in which a digest says so."""

        def solve(self, questions, name):
            texts = list(questions)
            failed = [hashlib.sha256(f"{self.seed}{text}".encode()).digest()[0] < self.rate for text in texts]
            self.failed.update(text for text, fails in zip(texts, failed, strict=True) if fails)
            return [Harvest([Pair(text, "") for text, fails in zip(texts, failed, strict=True) if not fails])]

    found, failed = [], []
    for seed, rate in enumerate((0, 2, 25, 60)):
        with gate(symbols="abc", max_size=18, task=task) as source:
            rounds = Solved(source, None, None, tmp_path, None)
            rounds.seed, rounds.rate, rounds.failed = seed, rate, set()
            quota = quotas(task, 1, 18, 400)
            harvest = rounds.run(quota, partial(missing_rows, quota), "", 7)
        found.append({pair.question for pair in harvest.pairs})
        failed.append(rounds.failed)
    assert len({len(rows) for rows in found}) == 1
    for rows, lost in zip(found[1:], failed[1:], strict=True):
        assert found[0] - rows == found[0] & lost


@pytest.mark.parametrize("function", [partial(draw_batch, LTL), partial(solve_ordered, LTL), LTL.judge])
def test_processes_that_draw_solve_and_judge_import_nothing_that_writes_or_reads_data_sets(function):
    program = "import pickle, sys; pickle.load(sys.stdin.buffer); print({'datasets', 'torch'} & set(sys.modules))"
    light = {**os.environ, "HF_SYMBINV_LIGHT": "1"}
    pickled = pickle.dumps(function)
    done = subprocess.run([sys.executable, "-c", program], env=light, input=pickled, capture_output=True, check=True)
    assert done.stdout.strip() == b"set()"


def test_drawing_ends_where_no_question_gets_an_answer_or_those_of_one_size_alone(tmp_path, monkeypatch):
    """Also with fewer rows than sizes, where those that have none of their own stand in for the others."""

    class Solved(Rounds):
        """Rounds whose solver answers questions of the largest size, or none."""

        def solve(self, questions, name):
            return [Harvest([Pair(text, "") for text in questions if len(text) == self.answered])]

    monkeypatch.setattr("hf_symbinv.datasets_scripts.questions.rounds.FRUITLESS_ROUNDS", 5)
    low, high, rows = 12, 30, 10
    for answered in (high, 0):
        with gate("abc", min_size=low, max_size=high, task=COPY) as source:
            rounds = Solved(source, None, None, tmp_path, None)
            rounds.answered = answered
            quota = quotas(COPY, low, high, rows)
            harvest = rounds.run(quota, partial(missing_rows, quota), "", 7)
        assert len(harvest.pairs) >= (rows if answered else 0)


def test_another_limit_leaves_the_other_rows_in_their_splits(tmp_path):
    """And what else the machine does: the limit is of CPU time."""
    found = []
    for limit in (5.0, 0.03):
        folder = tmp_path / str(limit)
        prepare(config(num_symbols=5, max_size=30, rows=300, timeout=limit), folder, 2, progress=False)
        found.append({split: {row["formula"] for row in rows} for split, rows in rows_of(folder).items()})
    common = sum(len(found[0][split] & found[1][split]) for split in SPLITS)
    assert common >= 270 and "that take over 0.03 s of CPU time" in (folder / "README.md").read_text()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_symbols": -1}, "num_symbols=-1: there cannot be fewer than 0"),
        ({"task": "sat"}, "task='sat': unknown; use one of ltl, ltl-operators, prop, copy, tseitin, or a file"),
        ({"min_size": 0}, "min_size=0, max_size=14: sizes are at least 1, the smaller first"),
        ({"min_size": 15}, "min_size=15, max_size=14: sizes are"),
        ({"rows": 9}, "rows=9: ask for at least 10"),
        ({"timeout": 0.0}, "timeout=0.0: the limit must be positive seconds"),
    ],
)
def test_values_out_of_range_are_refused_everywhere(changes, message, tmp_path, capsys):
    with pytest.raises(ValueError, match=message):
        config(**changes)
    with pytest.raises(ValueError, match=message):
        LtlRandom(**{**RECIPE, **changes}, cache_dir=str(tmp_path))
    options = [f"--{name.replace('_', '-')}={value}" for name, value in {**RECIPE, **changes}.items()]
    assert main([f"--output={tmp_path}/new", *options]) == 2
    assert capsys.readouterr().err.startswith(f"error: {message}")
    assert not (tmp_path / "new").exists()


def test_a_folder_with_another_data_set_is_refused(folder, tmp_path, capsys):
    with pytest.raises(WorkFolderError, match="holds a data set made in another way, see "):
        prepare(config(seed=7), folder, 1)
    (tmp_path / "data").mkdir()
    with pytest.raises(WorkFolderError, match="holds a data set of other origin; choose another folder"):
        prepare(config(), tmp_path, 1)
    assert main([f"--output={tmp_path}", "--rows=10"]) == 2
    assert capsys.readouterr().err.startswith(f"error: {tmp_path}: holds a data set of other origin")


def test_two_processes_do_not_write_into_one_folder(tmp_path):
    with (tmp_path / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(WorkFolderError, match="another process is writing here; wait or choose another folder"):
            prepare(config(), tmp_path, 1)


def test_a_shard_of_other_questions_is_refused(tmp_path):
    target = tmp_path / "mixed"
    (target / ".work").mkdir(parents=True)
    (target / ".work" / "00-000000.json").write_text('[["a", "done", "a;{1}"]]')
    with pytest.raises(WorkFolderError, match=r"00-000000.json: not the questions of this data set; delete the folder"):
        prepare(config(), target, 1, progress=False)


@pytest.fixture
def faulty(tmp_path, monkeypatch):
    """`faulty(method, code)`: the file of a task that reverses strings, but for one method's body."""
    monkeypatch.setattr(sys, "path", sys.path.copy())
    arguments = {"draw": "symbols, smallest, largest, seed, count", "judge": "question, answer"}

    def write(method, code):
        file = tmp_path / f"faulty_{next(FAULTY)}.py"
        head = f"    def {method}(self, {arguments.get(method, 'question')}):"
        lines = ["class Faulty(Reversal):", "    name = 'faulty'", head, f"        {code}", "", "FAULTY = Faulty()", ""]
        task = REVERSAL.replace("REVERSAL = Reversal()", "\n".join(lines))
        file.write_text(f"import time\n{task}")
        return file

    return write


class TestOtherTasks:
    @pytest.mark.parametrize(
        ("builder", "columns"), [(PropRandom, ["formula", "assignment"]), (Copying, ["string", "copy"])]
    )
    def test_the_builders_of_the_benchmarks_make_correct_answers(self, builder, columns, tmp_path):
        made = builder(num_symbols=4, min_size=5, max_size=12, rows=200, cache_dir=str(tmp_path))
        made.download_and_prepare()
        rows = [row for split in SPLITS for row in made.as_dataset(split=split)]
        task = TASKS[made.config.task]
        assert list(rows[0])[:2] == columns == list(task.columns)
        assert len({row[columns[0]] for row in rows}) == 200
        with task.checker(workers=1) as checker:
            results = checker.check([(row[columns[0]], row[columns[1]]) for row in rows])
            assert {result.verdict for result in results} == {"correct"}
        for row in rows:
            assert row["symbols"] == list(task.symbols(row[columns[0]])) and set(row["symbols"]) <= set("abcd")
            assert 5 <= row["length"] == task.size(row[columns[0]]) <= 12

    def test_a_task_of_one_s_own_has_data_too(self, tmp_path, monkeypatch):
        monkeypatch.setattr(sys, "path", sys.path.copy())
        (tmp_path / "reversal.py").write_text(REVERSAL)
        changes = {"task": str(tmp_path / "reversal.py"), "min_size": 2, "max_size": 6, "rows": 100}
        prepare(config(**changes), tmp_path / "data set", 1, progress=False)
        rows = all_rows(tmp_path / "data set")
        assert all(row["answer"] == row["question"][::-1] for row in rows)
        assert "b" not in {row["question"][0] for row in rows}  # without an answer
        card = (tmp_path / "data set" / "README.md").read_text()
        assert "--task reversal.py " in card and str(tmp_path) not in card

    def test_sizes_whose_questions_have_no_answers_end_after_some_rounds(self, tmp_path, faulty, monkeypatch, capsys):
        monkeypatch.setattr("hf_symbinv.datasets_scripts.progress.SLOW", 0.0)
        monkeypatch.setattr("hf_symbinv.datasets_scripts.questions.rounds.FRUITLESS_ROUNDS", 5)
        task = load_task(faulty("draw", "return [f'\"b{seed}_{number}\"' for number in range(count)]"))
        with gate("b", 1, 3, task) as source, solving_pool(task, 10.0) as pool, task.checker(workers=1) as checker:
            rounds = Rounds(source, pool, checker, tmp_path, tqdm(disable=True))
            harvest = rounds.run({1: 2}, partial(missing_rows, {1: 2}), "", 0)
        assert harvest == Harvest([], Counter({"no answer": 2 * 5}))
        said = "most rows are still wanted of size 1: 0 of the last 2 questions had an answer; let draw make more"
        assert said in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("method", "code", "printed", "message"),
        [
            ("solve", "return {}[question]", "KeyError: ",
             r"task faulty: solve raised an exception for 512 of 512 questions, first for '\w+' \(KeyError: "),
            ("judge", "raise LookupError('no luck')", "LookupError: no luck",
             r"task faulty: judge raised an exception for (\d+) of \1 answers of solve, first for '\w+' to '\w+' "
             r"\(LookupError: no luck\); mend the task"),
            ("draw", "return [symbols[99]]", "IndexError: ", "task faulty cannot draw sizes 2 to 14 with 3 symbols: "),
            ("size", "return len(question[0].tail)", "AttributeError: ", "size raised AttributeError for '"),
        ],
    )  # fmt: skip
    def test_an_exception_of_a_task_is_shown_once_with_its_traceback(
        self, method, code, printed, message, tmp_path, faulty, caplog, capfd
    ):
        file = faulty(method, code)
        with pytest.raises(ValueError, match=message):
            prepare(config(task=str(file), min_size=2, rows=1000), tmp_path / "made", 1, progress=False)
        shown = capfd.readouterr().err + caplog.text
        assert shown.count("Traceback (most recent call last)") == 1
        assert printed in shown and f'{file.name}", line ' in shown and f", in {method}" in shown
        assert not (tmp_path / "made").exists()

    @pytest.mark.parametrize(
        ("method", "code", "message"),
        [
            ("solve", "return question if 'a' in question else question[::-1]",
             r"task faulty: judge calls \d+ of 512 answers of solve wrong, first '(\w+)' to '\1': incorrect, not "
             "backwards; mend solve or judge and repeat the command"),
            ("judge", "return 'incorrect', ''", r"judge calls (\d+) of \1 answers .*: incorrect, no reason given"),
            ("judge", "return True", r"judge raised .* returned True; return a verdict, one of correct, incorrect"),
            ("solve", "return 5", "solve returned 5; return a text, or None if there is no answer"),
            ("solve", r"return '\ud800'", r"solve returned '\\ud800'; return a text, or None"),
            ("draw", r"return ['\ud800']", r"task faulty: draw returned \['\\ud800'\]; return a list of texts"),
            ("draw", "return None", "task faulty: draw returned None; return a list of texts"),
        ],
    )  # fmt: skip
    def test_a_wrong_answer_is_never_written(self, method, code, message, tmp_path, faulty):
        with pytest.raises(ValueError, match=message):
            prepare(config(task=str(faulty(method, code)), min_size=6, rows=1000), tmp_path / "made", 1, progress=False)
        assert not (tmp_path / "made").exists()

    @pytest.mark.slow
    def test_the_command_fails_with_one_sentence_and_goes_on_when_the_task_is_mended(self, tmp_path, faulty):
        file = faulty("solve", "raise OSError(question)")
        command = [sys.executable, "-m", "symbinv", "data", "--task", str(file), "--min-size", "4"]
        command += ["--max-size", "9", "--rows", "500", "--workers", "1", "--output", str(tmp_path / "made")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 2 and done.stdout == ""
        assert done.stderr.count("Traceback") == 1 and "raise OSError(question)" in done.stderr
        assert done.stderr.splitlines()[-1].startswith("error: task faulty: solve raised an exception for 500 of 500")
        file.write_text(REVERSAL)
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0 and "made: 400 train" in done.stdout
        assert "500/500" in done.stderr

    def test_an_answer_whose_verdict_takes_too_long_is_left_out_and_counted(self, tmp_path, faulty):
        task = load_task(faulty("judge", "return 'correct', '' if 'c' not in question else time.sleep(60)"))
        with gate(task=task) as source, solving_pool(task, 10.0) as pool, task.checker(timeout=0.5) as checker:
            rounds = Rounds(source, pool, checker, tmp_path, tqdm(disable=True))
            (harvest,) = rounds.solve(iter(["abb", "acb", "b"]), "00")
        assert harvest == Harvest([("abb", "bba")], Counter({"answer not judged": 1, "no answer": 1}))
        assert left_out(harvest.left_out, 0.5).endswith(
            "1 that have an answer that cannot be judged within 0.5 s of CPU time."
        )


REVERSAL = """
import random
from hf_symbinv.tasks import SymbolTask

class Reversal(SymbolTask):
    name = "reversal"
    base_tokens = ("<s>", "<pad>", "</s>")
    drought = 2000
    def draw(self, symbols, smallest, largest, seed, count):
        generator = random.Random(seed)
        return ["".join(generator.choices(symbols, k=generator.randint(smallest, largest))) for _ in range(count)]
    def solve(self, question):
        return None if question.strip('"').startswith("b") else question[::-1]
    def judge(self, question, answer):
        return ("correct", "") if answer == question[::-1] else ("incorrect", "not backwards")

REVERSAL = Reversal()
"""


def test_a_size_with_few_different_questions_is_named_while_it_keeps_the_others_waiting(monkeypatch, capsys):
    monkeypatch.setattr("hf_symbinv.datasets_scripts.progress.SLOW", 0.0)
    with gate("ab", 2, 3, COPY) as source:
        assert len(list(source.draw({2: 4, 3: 9}, 0))) == 12
    assert capsys.readouterr().err.splitlines()[-1] == (
        "most rows are still wanted of size 3: 0 of the last 1,000 questions were new; the size leaves its rows to "
        "others when no new one turns up; to wait less, ask for more symbols or larger sizes"
    )
