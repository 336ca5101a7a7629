"""Pairs survive the way from text to Parquet, and a line that is wrong is named."""

import gzip
import lzma
import shutil
from pathlib import Path

import datasets
import pyarrow
import pyarrow.parquet
import pytest

from hf_symbinv.datasets_scripts.errors import UnreadableDataError
from hf_symbinv.datasets_scripts.storage import (
    ROWS_PER_FILE,
    Pair,
    PairsFormatError,
    number_of_rows,
    read_pairs,
    require_whole,
    split_files,
    splits_of,
    write_split,
)
from hf_symbinv.tasks import LTL, PROP
from papers.harness import subwords
from papers.harness.publishing import About, publish_rows
from papers.identity import templates
from papers.lexinvariant import characters

PAIRS = [Pair("&!Xd!Ube", "&!b!e;!d;{1}"), Pair("& request X grant", "request ; grant ; { 1 }"), Pair("1", "{1}")]
ABOUT = About("Numbers", "They count.", "none", "other", ("counting",), "cc0-1.0", "None.")
TEXT = "".join(f"{pair.question}\n{pair.answer}\n" for pair in PAIRS)


@pytest.mark.parametrize(("name", "opener"), [("a.txt", open), ("a.txt.gz", gzip.open), ("a.txt.xz", lzma.open)])
def test_text_is_read_plain_and_compressed(tmp_path, name, opener):
    with opener(tmp_path / name, "wt") as file:
        file.write(TEXT)
    assert list(read_pairs(LTL, tmp_path / name)) == PAIRS


@pytest.mark.parametrize("end", ["\n", " \n\n\t\n"])
def test_blank_lines_at_the_end_are_passed_over(tmp_path, end):
    (tmp_path / "pairs.txt").write_text(TEXT + end)
    assert list(read_pairs(LTL, tmp_path / "pairs.txt")) == PAIRS


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\n{a}\n&a\n{a}\n", r"pairs.txt, line 3: no formula in prefix notation: position 2 of '&a'"),
        ("a\n{a}\na\na\n", r"pairs.txt, line 4: no witness in prefix notation: position 1 of 'a': expected a cycle"),
        ("a\n{a}\n\na\n{a}\n", "pairs.txt, line 3: no formula in .*: a blank line, and others follow; delete it"),
        ("a\n\n", r"pairs.txt, line 2: no witness in prefix notation: position 0 of '': expected a cycle"),
        ("a\n{a}\nb\n", r"pairs.txt, line 3: the formula has no witness; lines with one and the other"),
        (b"a\n{a}\n\xff\xfe\n", r"pairs.txt, after line \d: not readable as text: .*utf-8"),
    ],
)
def test_a_wrong_line_is_named(tmp_path, text, message):
    path = tmp_path / "pairs.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(PairsFormatError, match=message):
        list(read_pairs(LTL, path))


def test_large_splits_are_cut_into_files_and_empty_ones_have_one(tmp_path):
    pairs = [Pair("a", "{a}")] * (ROWS_PER_FILE + 1)
    write_split(LTL, tmp_path, "train", pairs, "spot")
    write_split(LTL, tmp_path, "test", [], "spot")
    assert [path.name for path in split_files(tmp_path, "train")] == [
        "train-00000-of-00002.parquet",
        "train-00001-of-00002.parquet",
    ]
    files = {"train": [str(path) for path in split_files(tmp_path, "train")]}
    assert len(datasets.load_dataset("parquet", data_files=files, cache_dir=str(tmp_path / "c"))["train"]) == len(pairs)
    assert len(split_files(tmp_path, "test")) == 1


def test_pairs_of_other_tasks_are_read_too(tmp_path):
    path = tmp_path / "pairs.txt"
    path.write_text("&a!b\na1b0\n<-> a b\na 0 b 0\n<->xorab!c\na1b0c1\n")
    pairs = [Pair("&a!b", "a1b0"), Pair("<-> a b", "a0b0"), Pair("<-> ^ a b ! c", "a1b0c1")]
    assert list(read_pairs(PROP, path)) == pairs
    path.write_text("&aXb\na1b1\n")
    with pytest.raises(PairsFormatError, match=r"pairs.txt, line 1: no formula in prefix notation: .*temporal"):
        list(read_pairs(PROP, path))


def test_splits_come_in_their_usual_order(tmp_path):
    for split in ("test", "other", "train", "validation"):
        write_split(LTL, tmp_path, split, PAIRS, "spot")
    assert splits_of(tmp_path) == ["train", "validation", "test", "other"]
    assert splits_of(tmp_path / "nowhere") == []


def corpus(folder):
    for number in range(20):
        (folder / f"{number}.txt").write_text("a b c " * 50)
    return str(folder)


WRITERS = {
    "questions": lambda folder, home: write_split(LTL, folder, "train", PAIRS, "spot"),
    "rows": lambda folder, home: publish_rows(folder, {"a": (pyarrow.int64(), "")}, {"train": [{"a": 1}]}, ABOUT),
    "templates": lambda folder, home: templates.write(
        templates.TemplatesConfig(name="custom", task="aba-abb", rows=20, evaluation_rows=20), folder
    ),
    "subwords": lambda folder, home: subwords.prepare(
        subwords.SubwordConfig(source=corpus(home), vocab_size=260, length=4), folder
    ),
    "characters": lambda folder, home: characters.prepare(
        characters.CorpusConfig(name="test", source=corpus(home), length=4), folder
    ),
}


@pytest.mark.parametrize("kind", WRITERS)
def test_a_table_is_there_completely_or_not_at_all(kind, tmp_path, monkeypatch):
    class Killed(BaseException):
        pass

    def half_written(table, where, **options):
        content = pyarrow.BufferOutputStream()
        write(table, content, **options)
        half = content.getvalue().to_pybytes()[:100]
        where.write(half) if hasattr(where, "write") else Path(where).write_bytes(half)
        raise Killed

    write, home, folder = pyarrow.parquet.write_table, tmp_path / "corpus", tmp_path / "made"
    home.mkdir()
    with monkeypatch.context() as patch:
        patch.setattr("pyarrow.parquet.write_table", half_written)
        with pytest.raises(Killed):
            WRITERS[kind](folder, home)
    assert list((folder / "data").iterdir()) == []
    WRITERS[kind](folder, home)
    assert all(number_of_rows(path) for path in (folder / "data").iterdir())


def table(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    pyarrow.parquet.write_table(pyarrow.table({"a": [1]}), path)
    return path


class TestWholeness:
    @pytest.fixture
    def folder(self, tmp_path):
        """Data with a card, as builders leave them."""
        publish_rows(tmp_path / "rows", {"a": (pyarrow.int64(), "a number")}, {"train": [{"a": 1}]}, ABOUT)
        return tmp_path / "rows"

    @staticmethod
    def flip(path):
        content = bytearray(path.read_bytes())
        content[len(content) // 3] ^= 1
        path.write_bytes(content)

    def test_the_inner_folder_is_as_whole_as_the_outer_one(self, folder, tmp_path, monkeypatch):
        require_whole(folder / "data")
        self.flip(folder / "data" / "train-00000-of-00001.parquet")
        (tmp_path / "link").symlink_to(folder / "data")
        (tmp_path / "other").mkdir()
        shutil.copy(folder / "README.md", tmp_path / "other")
        (tmp_path / "other" / "data").symlink_to(folder / "data")
        for inner in (folder, folder / "data", tmp_path / "link", tmp_path / "other" / "data"):
            with pytest.raises(UnreadableDataError, match=r"its checksum is not the one in README\.md"):
                require_whole(inner)
        monkeypatch.chdir(folder / "data")
        with pytest.raises(UnreadableDataError, match=r"its checksum is not the one in README\.md"):
            require_whole(Path())

    @pytest.mark.parametrize("inner", ["", "data"])
    def test_data_without_their_card_are_not_finished(self, folder, inner):
        (folder / "README.md").rename(folder / "generation.json")
        with pytest.raises(UnreadableDataError) as caught:
            require_whole(folder / inner)
        assert str(caught.value) == (
            f"{folder}: its data are not finished (it has a generation.json and no README.md); repeat the command that "
            "makes them, or delete generation.json if no file is missing"
        )

    @pytest.mark.parametrize(
        ("names", "missing"),
        [
            (["train-00000-of-00003"], "train-00001-of-00003"),
            (["test-00000-of-00001", "train-00001-of-00002-a1"], "train-00000-of-00002-a1"),
            (["data/x-00000-of-00003", "data/x-00002-of-00003"], "data/x-00001-of-00003"),
            (["train-00000-of-99999999999999"], "train-00001-of-99999999999999"),
            (["train-2-of-3", "train-3-of-3"], "train-1-of-3"),
        ],
    )
    def test_a_part_that_is_not_there_is_missed(self, tmp_path, names, missing):
        for name in names:
            table(tmp_path / f"{name}.parquet")
        with pytest.raises(UnreadableDataError) as caught:
            require_whole(tmp_path)
        assert str(caught.value).startswith(f"{tmp_path / missing}.parquet: is missing, and ")
        assert " parts; put it back, or make the data set again. If the others are all " in str(caught.value)

    @pytest.mark.parametrize(
        "names",
        [
            ["train", "test", "data/validation"],
            ["train-00000-of-00002", "train-00001-of-00002", "test-00000-of-00001"],
            ["train-00001-of-00002", "train-00002-of-00002"],
            ["train-00000-of-00002-a1b2", "train-00001-of-00002-a1b2"],
            ["half-of-them", "train-00000", "1-of-2"],
        ],
    )
    def test_tables_that_people_made_themselves_are_taken(self, tmp_path, names):
        for name in names:
            table(tmp_path / f"{name}.parquet")
        (tmp_path / "README.md").write_text("# Mine\n")
        require_whole(tmp_path)
        (tmp_path / "data").mkdir(exist_ok=True)
        require_whole(tmp_path / "data")
