"""Files are written completely or not at all."""

import multiprocessing
from pathlib import Path

import pytest

from hf_symbinv.files import bundled_checkpoints, write_atomically


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
    assert list(found) == ["ltl-small", "prop-small"]
    assert all((folder / "model.safetensors").is_file() for folder in found.values())
