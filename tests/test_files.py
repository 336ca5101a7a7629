"""Files are written completely or not at all."""

import hashlib
import multiprocessing
import os
import re
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from hf_symbinv.errors import UserError
from hf_symbinv.files import (
    bundled_checkpoints,
    damage_of,
    folder_atomically,
    read_json,
    read_object,
    reading_parquet,
    require_sums,
    require_writable,
    sha256,
    write_atomically,
    write_sums,
)


@pytest.mark.parametrize(("content", "found"), [("ü\n", b"\xc3\xbc\n"), (b"\x00\xff", b"\x00\xff")])
def test_text_is_utf8_and_bytes_are_as_they_are(content, found, tmp_path):
    (tmp_path / "file").write_text("something longer that was there before")
    write_atomically(tmp_path / "file", content)
    assert (tmp_path / "file").read_bytes() == found
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_what_cannot_be_written_leaves_what_was_there_and_nothing_else(tmp_path):
    write_atomically(tmp_path / "file", "first\n")
    with pytest.raises(UnicodeEncodeError):
        write_atomically(tmp_path / "file", "\ud800")
    assert (tmp_path / "file").read_text() == "first\n"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def _write_often(path: Path, letter: str) -> None:
    for _ in range(20):
        write_atomically(path, letter * 100_000)


def test_two_processes_that_write_one_file_never_leave_a_mixture(tmp_path):
    path = tmp_path / "file"
    write_atomically(path, "a" * 100_000)
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write_often, args=(path, letter)) for letter in "ab"]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        assert path.read_text() in ("a" * 100_000, "b" * 100_000)
    assert [writer.exitcode for writer in writers] == [0, 0]


def test_checkpoints_that_come_with_the_package_are_folders_with_weights():
    found = bundled_checkpoints()
    names = "ltl-base ltl-canonical ltl-many ltl-patterns ltl-small prop-base prop-canonical prop-small"
    assert list(found) == names.split()
    assert all((folder / "model.safetensors").is_file() for folder in found.values())


class MendError(UserError):
    """What a caller raises."""


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "not JSON (Expecting value: line 1 column 1 (char 0))"),
        (b'{"a": 1', "not JSON (Expecting ',' delimiter: line 1 column 8 (char 7))"),
        (b"\xff[1]", "not JSON ('utf-8' codec can't decode byte 0xff in position 0: invalid start byte)"),
        (b"[" * 100_000, "not JSON that can be read (its lists and objects are too deep)"),
        (b"[" + b"9" * 5_000 + b"]", "not JSON (Exceeds the limit (4300 digits) for integer string conversion"),
        (b'["\\ud800"]', "not JSON ('utf-8' codec can't encode character"),
        (b"[1]", "holds no JSON object"),
        (b"null", "holds no JSON object"),
    ],
)
def test_what_is_no_object_is_one_sentence_with_file_and_remedy(content, reason, tmp_path):
    path = tmp_path / "said.json"
    path.write_bytes(content)
    with pytest.raises(MendError) as caught:
        read_object(path, "write it again", MendError)
    message = str(caught.value)
    assert message.startswith(f"{path}: {reason}") and message.endswith("; write it again") and "\n" not in message


def test_json_is_read(tmp_path):
    (tmp_path / "list").write_text('[1, {"\\u00fc": null}]')
    assert read_json(tmp_path / "list", "") == [1, {"ü": None}]
    (tmp_path / "object").write_text('{"a": 1}')
    assert read_object(tmp_path / "object", "") == {"a": 1}


def test_a_table_with_a_byte_changed_is_read_or_named(tmp_path):
    path = tmp_path / "rows.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"text": ["a", "bc", "ü"] * 5}), path)
    whole, refused = path.read_bytes(), 0
    places = range(0, len(whole), 11)
    for place in places:
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        try:
            with reading_parquet(path, "make it again", MendError):
                pyarrow.parquet.read_table(path).to_pylist()
        except MendError as error:
            refused += 1
            assert str(error).startswith(f"{path}: damaged (") and str(error).endswith("; make it again")
    assert refused > len(places) / 4
    path.unlink()
    with pytest.raises(FileNotFoundError), reading_parquet(path):
        pyarrow.parquet.ParquetFile(path)


class TestFolders:
    @pytest.mark.parametrize("place", ["new", "deep/new", "empty"])
    def test_a_new_folder_appears_with_all_files(self, place, tmp_path):
        (tmp_path / "empty").mkdir()
        with folder_atomically(tmp_path / place) as partial:
            (partial / "a").write_text("1")
            (partial / "b").mkdir()
            (partial / "b" / "c").write_text("2")
            assert partial.name == Path(place).name
            assert not any((tmp_path / place).iterdir()) if place == "empty" else not (tmp_path / place).exists()
        assert {path.name for path in (tmp_path / place).rglob("*")} == {"a", "b", "c"}
        assert [path.name for path in (tmp_path / place).parent.glob(".*")] == []

    def test_a_folder_with_files_keeps_what_has_another_name(self, tmp_path):
        (tmp_path / "folder").mkdir()
        (tmp_path / "folder" / "mine").write_text("1")
        (tmp_path / "folder" / "a").write_text("2")
        os.link(tmp_path / "folder" / "a", tmp_path / "kept")
        (tmp_path / "link").symlink_to("folder")
        with folder_atomically(tmp_path / "link") as partial:
            (partial / "a").write_text("3")
        assert {path.name: path.read_text() for path in (tmp_path / "link").iterdir()} == {"mine": "1", "a": "3"}
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "kept").read_text() == "2"  # replaced, and not written over

    @pytest.mark.parametrize("there", [True, False])
    def test_what_breaks_off_leaves_what_was_there_and_nothing_else(self, there, tmp_path):
        if there:
            (tmp_path / "folder").mkdir()
            (tmp_path / "folder" / "a").write_text("1")
        with pytest.raises(KeyboardInterrupt), folder_atomically(tmp_path / "folder") as partial:
            (partial / "a").write_text("2")
            raise KeyboardInterrupt
        assert [path.name for path in tmp_path.iterdir()] == ["folder"] * there
        assert not there or (tmp_path / "folder" / "a").read_text() == "1"


def test_a_checksum_is_that_of_the_bytes(tmp_path):
    (tmp_path / "file").write_bytes(b"abc" * 100_000)
    assert sha256(tmp_path / "file") == hashlib.sha256(b"abc" * 100_000).hexdigest()


def test_a_link_is_kept_and_what_it_leads_to_is_written(tmp_path):
    (tmp_path / "target").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    write_atomically(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "target").read_text() == "new"


def test_a_pipe_is_written_to_and_not_replaced(tmp_path):
    reading, writing = os.pipe()
    write_atomically(Path(f"/dev/fd/{writing}"), "said\n")
    os.close(writing)
    with os.fdopen(reading) as pipe:
        assert pipe.read() == "said\n"


@pytest.mark.parametrize(
    ("name", "error"), [("", IsADirectoryError), ("none/file", FileNotFoundError), ("file/file", FileNotFoundError)]
)
def test_what_cannot_be_written_is_found_before_the_work(name, error, tmp_path):
    (tmp_path / "file").touch()
    require_writable(tmp_path / "file")
    require_writable(tmp_path / "new")
    with pytest.raises(error) as caught:
        require_writable(tmp_path / name)
    assert caught.value.filename == str(tmp_path / name)


@pytest.fixture
def summed(tmp_path):
    """A folder with two files and their checksums."""
    for name in ("a.safetensors", "b.safetensors"):
        (tmp_path / name).write_bytes(name.encode())
    write_sums(tmp_path, tmp_path.glob("*.safetensors"))
    return tmp_path


def test_files_that_are_as_they_were_have_no_damage_and_others_need_no_checksums(summed, tmp_path_factory):
    assert damage_of(summed) is None and damage_of(tmp_path_factory.mktemp("other")) is None
    (summed / "c.safetensors").touch()
    assert damage_of(summed) is None
    require_sums(summed)


def test_one_bit_is_found_and_so_is_a_lost_file(summed):
    (summed / "b.safetensors").write_bytes(b"c.safetensors")
    sentence = f"{summed}/b.safetensors: damaged (its checksum is not the one in sha256.json)"
    assert damage_of(summed) == sentence
    with pytest.raises(MendError, match=r"copy the folder again, or repeat the `symbinv train` that made it; .*"):
        require_sums(summed, MendError)
    (summed / "a.safetensors").unlink()
    assert damage_of(summed) == f"{summed}/a.safetensors: is missing"


@pytest.mark.parametrize("text", ["", "{", "{}", "[]", '{"a.safetensors": 3}', '{"../b": ""}'])
def test_damaged_checksums_are_damage(text, summed):
    (summed / "sha256.json").write_text(text)
    assert re.search("damaged|is missing", damage_of(summed))
