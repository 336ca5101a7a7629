"""Rows that are streamed: all of them in each epoch, in other orders, few at a time, and again after a kill."""

import hashlib
import json
import shutil
from collections import Counter

import pyarrow
import pyarrow.parquet
import pytest
import torch
from accelerate.data_loader import BatchSamplerShard, SkipBatchSampler
from torch.utils.data import BatchSampler, DataLoader

from hf_symbinv import LTL, load_data
from hf_symbinv.errors import UserError
from hf_symbinv.parquet import ParquetRows
from hf_symbinv.training.run_data import measure_files, measure_questions
from hf_symbinv.training.streaming import BufferedRows, Positions

from .. import forks
from .runs import assert_equal_up_to_rounding, command, run, weights


def formula(number):
    """Another formula for each number, of one symbol or of two."""
    unary = "".join("X" if bit == "1" else "!" for bit in f"{number:b}")
    return unary + ("a" if number % 3 else "Uab")


def write(folder, numbers, files=3, group=7, symbols=True):
    """Rows with these numbers in files of row groups of so many."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = [formula(number) for number in numbers]
    names = [list(dict.fromkeys(c for c in text if c in "ab")) for text in texts]
    columns = {"formula": texts, "witness": ["{1}"] * len(texts), "length": list(map(len, texts))}
    table = pyarrow.table({**columns, "symbols": names} if symbols else columns)
    size, paths = -(-len(texts) // files), []
    for place in range(files):
        paths.append(folder / f"train-{place:05d}-of-{files:05d}.parquet")
        pyarrow.parquet.write_table(table.slice(place * size, size), paths[-1], row_group_size=group)
    return paths


def rows_of(paths, buffer_size=24):
    return ParquetRows(paths, [hashlib.sha256(path.read_bytes()).hexdigest() for path in paths], buffer_size)


def buffered(paths, buffer_size=24, group=8, piece=4, seed=0):
    return BufferedRows(
        rows_of(paths, buffer_size), LTL, LTL.tokenizer(), group=group, piece=piece, seed=seed, name="training data"
    )


def epoch_of(rows, number=0):
    """The formulas of an epoch, in its order."""
    positions = Positions(len(rows))
    positions.set_epoch(number)
    found = rows.__getitems__(list(positions))
    return LTL.tokenizer().batch_decode(
        [row["input_ids"] for row in found], symbols=["a", "b"], skip_special_tokens=True
    )


@pytest.fixture
def files(tmp_path):
    return write(tmp_path / "data", range(1, 104))


def test_an_epoch_has_each_row_once_but_for_those_that_fill_no_group(files):
    rows = buffered(files)
    first, second = (epoch_of(rows, number) for number in (0, 1))
    everything = {formula(number) for number in range(1, 104)}
    for epoch in (first, second):
        assert len(epoch) == 96 == len(set(epoch)) and set(epoch) < everything
    assert everything - set(first) != everything - set(second)


def test_the_order_is_another_one_in_each_epoch_and_with_each_seed(files):
    assert epoch_of(buffered(files)) == epoch_of(buffered(files))
    orders = [epoch_of(buffered(files, seed=seed), number) for seed in (0, 1) for number in (0, 1)]
    assert len(set(map(tuple, orders))) == 4
    assert orders[0] != [formula(number) for number in range(1, 97)]


def test_a_buffer_mixes_rows_of_several_places(files):
    """Of the first 24 rows of an epoch not all are neighbours in the files."""
    known = {formula(number): number for number in range(1, 104)}
    drawn = sorted(known[text] for text in epoch_of(buffered(files))[:24])
    assert drawn[-1] - drawn[0] > 24


@pytest.mark.parametrize("symbols", [True, False])
def test_rows_of_a_group_are_alike_in_symbols_and_length(tmp_path, symbols):
    rows = buffered(write(tmp_path, range(1, 401), symbols=symbols), buffer_size=400, group=20, piece=20)

    def padded(texts):
        groups = [texts[start : start + 20] for start in range(0, len(texts), 20)]
        return sum(len(group) * max(map(len, group)) * max("b" in text for text in group) for group in groups)

    assert padded(epoch_of(rows)) < 0.5 * padded([formula(number) for number in range(1, 401)])


def test_rows_of_a_group_are_drawn_at_random_if_they_need_not_be_alike(tmp_path):
    rows = rows_of(write(tmp_path, range(1, 401)), 400)
    order = {"group": 20, "piece": 20, "seed": 0}
    alike, drawn = (epoch_of(BufferedRows(rows, LTL, LTL.tokenizer(), **order, alike=alike)) for alike in (True, False))

    def padded(texts):
        return sum(20 * max(map(len, texts[start : start + 20])) for start in range(0, 400, 20))

    assert sorted(alike) == sorted(drawn) and padded(alike) < 0.9 * padded(drawn)


def test_a_position_finds_its_row_without_those_before(files):
    rows = buffered(files)
    positions = list(range(3 * len(rows)))
    straight = [rows[position] for position in positions]
    drawn = torch.randperm(len(positions), generator=torch.Generator().manual_seed(0)).tolist()[:50]
    assert [buffered(files)[position] for position in drawn[:5]] == [straight[position] for position in drawn[:5]]
    assert rows.__getitems__(drawn) == [straight[position] for position in drawn]


def test_a_loader_that_skips_batches_reads_nothing_of_them(files, monkeypatch):
    read, of_file = [], ParquetRows.read
    monkeypatch.setattr(ParquetRows, "read", lambda self, *what: read.append(what) or of_file(self, *what))
    rows = buffered(files)
    whole = [row for batch in DataLoader(rows, 4, sampler=Positions(len(rows)), collate_fn=list) for row in batch]
    count = len(read)
    read.clear()
    sampler = SkipBatchSampler(BatchSampler(Positions(len(rows)), 4, drop_last=False), skip_batches=20)
    rest = [row for batch in DataLoader(buffered(files), batch_sampler=sampler, collate_fn=list) for row in batch]
    assert rest == whole[80:]
    assert 0 < len(read) < count / 2


@pytest.mark.filterwarnings("ignore:This DataLoader will create 2 worker processes")  # where there is one core
@pytest.mark.parametrize("workers", [0, 2])
def test_processes_that_read_ahead_give_the_same_batches(files, workers):
    rows = buffered(files)
    options = {"batch_size": 4, "sampler": Positions(len(rows)), "collate_fn": list, "num_workers": workers}
    found = [row for batch in DataLoader(rows, **options) for row in batch]
    assert found == rows.__getitems__(list(range(len(rows))))


def test_two_processes_get_other_rows_and_together_all(files):
    rows = buffered(files)
    batches = BatchSampler(Positions(len(rows)), 4, drop_last=False)
    shares = [[place for batch in BatchSamplerShard(batches, 2, process) for place in batch] for process in range(2)]
    texts = [LTL.tokenizer().batch_decode([row["input_ids"] for row in rows.__getitems__(one)]) for one in shares]
    assert len(texts[0]) == len(texts[1]) == 48
    assert not set(texts[0]) & set(texts[1])
    assert sorted(shares[0] + shares[1]) == list(range(96))


def test_rows_and_bytes_that_are_held_do_not_grow_with_the_data(tmp_path):
    """Bytes are counted by Arrow; a row group that is read counts too."""

    def most(count):
        paths = write(tmp_path / str(count), range(2**15, 2**15 + count), files=4, group=50)
        rows, held = buffered(paths, buffer_size=200, group=20, piece=20), Counter()
        usual = pyarrow.default_memory_pool()
        pool = pyarrow.proxy_memory_pool(usual)
        pyarrow.set_memory_pool(pool)
        try:
            for batch in BatchSampler(Positions(len(rows)), 20, drop_last=False):
                rows.__getitems__(batch)
                held["rows"] = max(held["rows"], len(rows.buffer))
        finally:
            pyarrow.set_memory_pool(usual)
        return held["rows"], pool.max_memory()

    (few_rows, few), (many_rows, many) = most(600), most(12_000)
    assert few_rows == many_rows == 200
    assert 0 < many < 1.5 * few


def test_rows_are_named_by_their_file(files):
    rows = rows_of(files)
    assert rows.place(0) == f"{files[0]}, row 0" and rows.place(34) == f"{files[0]}, row 34"
    assert rows.place(35) == f"{files[1]}, row 0" and rows.place(102) == f"{files[2]}, row 32"
    assert rows.first(40)["formula"][:] == [formula(number) for number in range(1, 41)]
    assert len(rows.first(1000)) == len(rows) == 103


@pytest.mark.parametrize(
    ("column", "text", "message"),
    [("formula", "&a", "expected 1 more"), ("witness", "{$}", r"'\$'"), ("formula", None, "None is no text")],
)
def test_a_row_that_is_none_of_the_task_s_is_named(files, column, text, message):
    table = pyarrow.parquet.read_table(files[1])
    texts = table[column].to_pylist()
    texts[9] = text
    changed = table.set_column(table.column_names.index(column), column, pyarrow.array(texts, pyarrow.string()))
    pyarrow.parquet.write_table(changed, files[1])
    with pytest.raises(UserError, match=rf"^training data, {files[1]}, row 9, column {column}: .*{message}"):
        for number in range(2):  # in one of which it may sit out
            epoch_of(buffered(files), number)


def test_a_process_that_reads_ahead_names_a_row_in_one_sentence_too(files):
    table = pyarrow.parquet.read_table(files[1])
    texts = pyarrow.array(["&a"] * len(table), pyarrow.string())
    pyarrow.parquet.write_table(table.set_column(table.column_names.index("formula"), "formula", texts), files[1])
    rows = buffered(files)
    with pytest.raises(UserError, match=rf"^training data, {files[1]}, row \d+, column formula: [^\n]*1 more[^\n]*$"):
        list(DataLoader(rows, 4, sampler=Positions(len(rows)), collate_fn=list, num_workers=1))


def test_columns_that_are_none_of_the_task_s_are_refused(tmp_path):
    path = tmp_path / "train.parquet"
    columns = {"formula": [1, 2], "witness": ["{1}", "{1}"], "string": ["a", "b"]}
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    with pytest.raises(UserError, match="training data, column formula: has type int64; write the texts as strings"):
        epoch_of(buffered([path], group=2, piece=2))
    with pytest.raises(UserError, match="2 training rows are fewer than the 8 of one optimizer step"):
        buffered([path])
    pyarrow.parquet.write_table(pyarrow.table({"string": ["a"]}), tmp_path / "other.parquet")
    with pytest.raises(UserError, match="training data: has columns string; task ltl needs formula and witness"):
        buffered([path, tmp_path / "other.parquet"])


def test_a_record_has_what_a_run_in_memory_has_but_for_the_checksum(data):
    streamed, whole = load_data("ltl", {"streaming": True}, str(data)), load_data("ltl", {}, str(data))
    assert {split: len(rows) for split, rows in streamed.items()} == {split: len(rows) for split, rows in whole.items()}
    assert (streamed.source, streamed.builder) == (whole.source, whole.builder)
    found, expected = measure_files(streamed["train"], LTL), measure_questions(whole["train"], LTL)
    (file,) = data.glob("data/train-*.parquet")
    lines = hashlib.sha256(file.read_bytes()).hexdigest() + "\n"
    assert found == {**expected, "files": 1, "sha256": hashlib.sha256(lines.encode()).hexdigest()}
    assert streamed["test"].first(7).to_list() == whole["test"].select(range(7)).to_list()


def test_what_is_not_known_of_the_rows_is_not_recorded(tmp_path):
    path = tmp_path / "train.parquet"
    columns = {"formula": ["a", "b"], "witness": ["{1}", "{1}"], "symbols": ["a", "b"]}
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    found = measure_files(rows_of([path]), LTL)
    assert (found["rows"], found["symbols"], found["size"]) == (2, None, None)


@pytest.mark.parametrize(
    ("task", "options", "source", "message"),
    [
        ("ltl", {}, None, r"data\.streaming: needs a folder of Parquet files; make one with `symbinv data"),
        ("ltl", {}, "alice/ltl", "alice/ltl: no such folder, .*`hf download alice/ltl --repo-type dataset --local-dir"),
        ("pairs", {"pairs": "pairs.jsonl", "symbols": "[a-z]+"}, None, "task pairs reads all rows at once, .*leave"),
        ("ltl", {"streaming": "yes"}, None, r"data\.streaming='yes': must be true or false"),
        ("ltl", {"buffer_size": 0}, None, r"data\.buffer_size=0: must be a whole number of at least 1"),
        ("ltl", {"buffer_size": True}, None, r"data\.buffer_size=True: must be a whole number"),
    ],
)
def test_what_cannot_be_streamed_is_refused(task, options, source, message):
    with pytest.raises(UserError, match=message):
        load_data(task, {"streaming": True, **options}, source)


def test_rows_that_are_not_streamed_take_the_same_options(tmp_path, monkeypatch):
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", str(tmp_path))
    options = {"num_symbols": 2, "min_size": 2, "max_size": 5, "rows": 40}
    assert len(load_data("copy", {**options, "streaming": False, "buffer_size": 10})["train"]) == 32


def test_a_damaged_file_is_refused(data, tmp_path):
    folder = shutil.copytree(data, tmp_path / "data")
    (file,) = folder.glob("data/train-*.parquet")
    file.write_bytes(file.read_bytes()[:-1] + b"?")
    with pytest.raises(UserError, match=f"{file}: damaged .*make the data set again"):
        load_data("ltl", {"streaming": True}, str(folder))


# Runs: 320 rows, 5 steps an epoch, in buffers of 128 rows.

STREAMED = (
    "data.streaming=true", "data.buffer_size=128", "trainer.max_steps=12", "trainer.save_steps=7",
    "trainer.eval_strategy=no", "trainer.report_to=none", "model.dropout=0.1",
)  # fmt: skip
ONE = (*STREAMED, "trainer.per_device_train_batch_size=64")
HALVES = (*STREAMED, "trainer.per_device_train_batch_size=32", "model.dropout=0.0")


@pytest.fixture(scope="module")
def streamed(data, tmp_path_factory):
    output = tmp_path_factory.mktemp("run") / "streamed"
    run(data, output, *ONE)
    return output


def equal(some, other):
    return some.keys() == other.keys() and all(torch.equal(some[name], other[name]) for name in other)


@pytest.mark.slow
def test_a_streamed_run_that_is_killed_in_its_second_epoch_ends_with_the_same_weights(data, streamed, tmp_path):
    output = tmp_path / "killed"
    state = output / "checkpoint-7" / "trainer_state.json"
    forks.kill_when(state.is_file, forks.start(command(data, output, *ONE), tmp_path / "printed"))
    assert state.is_file() and not (output / "run.json").exists()
    shutil.rmtree(output / "checkpoint-12", ignore_errors=True)  # in case the kill came late
    run(data, output, *ONE)
    assert equal(weights(output), weights(streamed))


@pytest.mark.slow
def test_a_streamed_run_tells_its_rows_and_refuses_other_files(data, streamed, program, tmp_path):
    told = json.loads((streamed / "run.json").read_text())
    assert told["rows"] == {"train": 320, "validation": 40, "test": 40} and told["results"]["test_count"] == 10
    assert told["data"]["splits"]["train"].items() >= {"rows": 320, "files": 1, "symbols": [0, 3]}.items()
    assert "that of rows that were streamed is of their files' checksums" in (streamed / "README.md").read_text()
    (file,) = data.glob("data/train-*.parquet")
    other = tmp_path / "other"
    for split in ("validation", "test"):
        (path,) = data.glob(f"data/{split}-*.parquet")
        shutil.copytree(path.parent, other, dirs_exist_ok=True)
    (other / file.name).unlink()
    pyarrow.parquet.write_table(pyarrow.parquet.read_table(file), other / file.name, row_group_size=100)
    said = program(*command(other, streamed, *ONE)).refusal()
    assert "holds a run on other data: data.splits.train.sha256 is" in said


@pytest.mark.slow
def test_two_processes_train_on_the_rows_of_one(data, tmp_path):
    whole, halves = tmp_path / "one" / "run", tmp_path / "two" / "run"
    for output in (whole, halves):
        output.parent.mkdir()
    run(data, whole, *HALVES, "trainer.per_device_train_batch_size=64")
    run(data, halves, *HALVES, processes=2)
    assert json.loads((halves / "run.json").read_text())["processes"] == 2
    assert_equal_up_to_rounding(weights(halves), weights(whole))
