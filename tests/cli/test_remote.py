"""What lies at an address is read from a copy, and an address is no place to write."""

import os
from pathlib import Path

import pytest
from fsspec.implementations.memory import MemoryFileSystem

from hf_symbinv import remote
from hf_symbinv.remote import RemoteError, is_remote, local_copy, path_here

ADDRESS = "s3://bucket/folder"


@pytest.fixture
def memory(tmp_path, monkeypatch):
    """`memory://`, empty; copies lie in `tmp_path`."""
    from huggingface_hub.utils import _cache_assets

    monkeypatch.setattr(_cache_assets, "HF_ASSETS_CACHE", tmp_path / "assets")
    monkeypatch.setattr(MemoryFileSystem, "store", {})
    monkeypatch.setattr(MemoryFileSystem, "pseudo_dirs", [""])
    remote._copy.cache_clear()
    return MemoryFileSystem()


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("name", "expected"),
    [(ADDRESS, True), ("simplecache::s3://b/x", True), ("data/ltl", False), ("alice/ltl", False), ("ltl-small", False)],
)
def test_an_address_has_a_protocol_and_a_path_is_its_own_copy(name, expected):
    assert is_remote(name) is expected and not is_remote(Path(name))
    if not expected:
        assert local_copy(name) == Path(name) == local_copy(Path(name)) == path_here(name)


def test_a_copy_is_what_lies_there(memory):
    memory.pipe({"/data/ltl/a.txt": b"1", "/data/ltl/data/b.txt": b"2", "/data/ltl/checkpoint-3/c.pt": b"3"})
    folder = local_copy("memory://data/ltl")
    assert folder.name == "ltl" and files_of(folder) == {"a.txt": b"1", "data/b.txt": b"2"}
    assert local_copy("memory://data/ltl/") == folder
    memory.pipe("/pairs/pairs.jsonl", b"{}")
    copy = local_copy("memory://pairs/pairs.jsonl")
    assert copy.name == "pairs.jsonl" and copy.read_bytes() == b"{}"


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("memory://none", "memory://none: no such file or folder; correct the address"),
        ("s4://b/x", "s4://b/x: cannot be read (Protocol not known: s4); check the address, its library"),
        ("dropbox://x", "dropbox://x: cannot be read (DropboxFileSystem requires"),
        ("sftp://al:pw@host/x", "sftp://<password>@host/x: has a password in it, and records repeat it;"),
        ("hf://datasets/alice/none", "hf://datasets/alice/none: the Hub: offline mode is on; unset HF_HUB_OFFLINE"),
    ],
)
def test_an_address_that_cannot_be_read_is_one_sentence(address, message, memory):
    with pytest.raises(RemoteError) as caught:
        local_copy(address)
    assert str(caught.value).startswith(message) and "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["../evil", "data/../../evil", "/../../evil"])
def test_no_name_there_leads_out_of_the_copy(name, memory, monkeypatch, tmp_path):
    monkeypatch.setattr(MemoryFileSystem, "find", lambda self, path: [f"/data/{name}"])
    with pytest.raises(RemoteError, match="which would lie elsewhere; correct the address"):
        local_copy("memory://data")
    assert not list(tmp_path.rglob("evil"))


def test_commands_read_addresses_and_name_them(memory, symbinv, tmp_path):
    options = ["--task", "copy", "--num-symbols", "3", "--max-size", "6", "--rows", "60", "--workers", "1"]
    assert symbinv("data", "--output", tmp_path / "copy", *options).code == 0
    for name, content in files_of(tmp_path / "copy").items():
        memory.pipe(f"/data/copy/{name}", content)
    few = symbinv("data", "--from", "memory://data/copy", "--output", tmp_path / "few", "--reduce", "9")
    assert few.code == 0 and few.out.startswith(f"{tmp_path / 'few'}: 9 train\n")
    memory.pipe("/pairs.txt", b"a U b\tcycle{b}\n")
    read = symbinv("verify", "--file", "memory://pairs.txt")
    assert (read.code, read.err) == (0, "") and "correct" in read.out
    missing = symbinv("evaluate", "ltl-small", "--data", "memory://none")
    assert missing.code == 2 and missing.err.endswith(": memory://none: no such file or folder; correct the address\n")


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (["train", "ltl-smoke", "--output", ADDRESS], "--output"),
        (["data", "--output", ADDRESS], "--output"),
        (["evaluate", "--data", "x", "--output", ADDRESS], "--output"),
        (["card", ADDRESS], "FOLDER"),
        (["push", ADDRESS, "alice/x"], "FOLDER"),
        (["plot", "heatmap", ADDRESS], "INPUT"),
        (["task", "new", f"{ADDRESS}/x.py"], "FILE.py"),
    ],
)
def test_commands_make_no_folder_of_an_address(arguments, option, symbinv, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = symbinv(*arguments).err.splitlines()[-1]
    assert f" argument {option}: {ADDRESS}" in said
    assert ": must be a path of this machine; copy it from there, or write to a folder here and then push" in said
    assert not os.listdir(tmp_path)
