"""A copy is what lies at an address, and an address becomes what its working copy is."""

import json
import time
from contextlib import nullcontext
from pathlib import Path

import pytest
from fsspec.implementations.memory import MemoryFileSystem

from hf_symbinv.errors import UserError
from hf_symbinv.files import sha256
from hf_symbinv.remote import RemoteError, finished, is_remote, local_copy, working_copy, working_path

from .s3_server import bucket, s3

__all__ = ["bucket", "s3"]


@pytest.fixture
def memory(tmp_path, monkeypatch):
    """`memory://`, empty, and the addresses that were read, in their order."""
    from huggingface_hub.utils import _cache_assets

    monkeypatch.setattr(_cache_assets, "HF_ASSETS_CACHE", tmp_path / "assets")
    monkeypatch.setattr(MemoryFileSystem, "store", {})
    monkeypatch.setattr(MemoryFileSystem, "pseudo_dirs", [""])
    return MemoryFileSystem()


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("s3://b/x", True),
        ("simplecache::s3://b/x", True),
        ("data/ltl", False),
        ("alice/ltl", False),
        ("ltl-small", False),
    ],
)
def test_an_address_has_a_protocol(name, expected):
    assert is_remote(name) is expected and not is_remote(Path(name))


def test_a_path_is_its_own_copy(tmp_path):
    assert local_copy("data/ltl") == Path("data/ltl") == local_copy(Path("data/ltl"))
    with working_copy(tmp_path / "none") as folder:
        assert folder == tmp_path / "none" == working_path(tmp_path / "none")
        finished(folder / "file")
    assert not folder.exists()


def test_a_copy_is_what_lies_there_now(memory):
    memory.pipe({"/data/ltl/a.txt": b"1", "/data/ltl/data/b.txt": b"2", "/data/ltl/other/c.txt": b"3"})
    folder = local_copy("memory://data/ltl", ("data",))
    assert folder.name == "ltl" and files_of(folder) == {"a.txt": b"1", "data/b.txt": b"2"}
    memory.pipe("/data/ltl/a.txt", b"11")
    memory.rm("/data/ltl/data/b.txt")
    assert local_copy("memory://data/ltl/", ("data",)) == folder and files_of(folder) == {"a.txt": b"11"}


def test_a_file_has_a_copy_too(memory):
    memory.pipe("/pairs/pairs.jsonl", b"{}")
    assert local_copy("memory://pairs/pairs.jsonl").read_bytes() == b"{}"


def test_what_a_checksum_vouches_for_is_brought_once(memory, tmp_path, monkeypatch):
    (tmp_path / "weights").write_bytes(b"123")
    sums = json.dumps({"model.safetensors": sha256(tmp_path / "weights")}).encode()
    memory.pipe({"/run/model.safetensors": b"123", "/run/sha256.json": sums, "/run/config.json": b"{}"})
    brought = []
    get = MemoryFileSystem.get_file

    def note(self, source, *arguments, **options):
        brought.append(source)
        return get(self, source, *arguments, **options)

    monkeypatch.setattr(MemoryFileSystem, "get_file", note)
    folder = local_copy("memory://run")
    first, times = sorted(brought), {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert [Path(one).name for one in first] == ["config.json", "model.safetensors", "sha256.json"]
    brought.clear()
    local_copy("memory://run")
    assert sorted(Path(one).name for one in brought) == ["config.json", "sha256.json"]
    assert {path: path.stat().st_mtime_ns for path in folder.iterdir()} == times  # libraries' caches go by it
    (folder / "model.safetensors").write_bytes(b"124")
    assert (local_copy("memory://run") / "model.safetensors").read_bytes() == b"123"


def test_a_file_that_is_damaged_there_is_named(memory, tmp_path):
    memory.pipe(
        {"/run/model.safetensors": b"123", "/run/sha256.json": json.dumps({"model.safetensors": "0" * 64}).encode()}
    )
    with pytest.raises(RemoteError, match=r"memory://run/model\.safetensors: damaged \(its checksum is not the one"):
        local_copy("memory://run")


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("memory://none", "memory://none: no such file or folder; correct the address"),
        ("memory://all", "memory://all: holds nothing but folders; name one of them, such as memory://all/one"),
        ("memory://", "memory://: names no folder; name one, such as memory://bucket/folder"),
        ("s4://b/x", "s4://b/x: unknown protocol s4; use one that fsspec knows, such as s3, gs, abfs or hf"),
        ("dropbox://x", "dropbox://x: the library for dropbox:// is not installed; run pip install dropboxdrivefs"),
        (
            "sftp://al:pw@host/x",
            "sftp://<password>@host/x: has a password in it, and addresses are written into records;",
        ),
    ],
)
def test_an_address_that_cannot_be_read_is_one_sentence(address, message, memory):
    memory.pipe("/all/one/file", b"1")
    with pytest.raises(RemoteError) as caught:
        local_copy(address)
    assert str(caught.value).startswith(message) and "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["../evil", "data/../../evil", "a//b"])
def test_no_name_there_leads_out_of_the_copy(name, memory, monkeypatch, tmp_path):
    monkeypatch.setattr(MemoryFileSystem, "find", lambda self, path: [f"/data/{name}"])
    with pytest.raises(RemoteError, match="which no folder here can have as a file"):
        local_copy("memory://data", ("*",))
    assert not list(tmp_path.rglob("evil"))


def test_a_finished_file_goes_up_at_once_and_the_rest_at_the_end(memory):
    with working_copy("memory://run", ("checkpoint-*",)) as folder:
        assert memory.find("/run") == [] and folder == working_path("memory://run")
        folder.mkdir()
        (folder / "recipe.json").write_text("{}")
        (folder / ".lock").touch()
        (folder / "checkpoint-3").mkdir()
        (folder / "checkpoint-3" / "trainer_state.json").write_text("{}")
        finished(folder / "checkpoint-3" / "trainer_state.json")
        assert memory.find("/run") == ["/run/checkpoint-3/trainer_state.json"]
        finished(folder)
        assert memory.find("/run") == ["/run/checkpoint-3/trainer_state.json", "/run/recipe.json"]
        (folder / "checkpoint-3" / "trainer_state.json").unlink()
        (folder / "recipe.json").write_text("[]")
    assert memory.find("/run") == ["/run/recipe.json"] and memory.cat("/run/recipe.json") == b"[]"


def test_what_says_that_a_folder_is_complete_goes_up_last(memory, monkeypatch):
    order = []
    put = MemoryFileSystem.put_file

    def note(self, source, target, *arguments, **options):
        order.append(target.removeprefix("/data/"))
        return put(self, source, target, *arguments, **options)

    with working_copy("memory://data", ("data",)) as folder:
        monkeypatch.setattr(MemoryFileSystem, "put_file", note)
        (folder / "data").mkdir(parents=True)
        for name in ("README.md", "data/train.parquet", "generation.json"):
            (folder / name).write_text(name)
    assert sorted(order[:2]) == ["data/train.parquet", "generation.json"] and order[2:] == ["README.md"]


def test_a_working_copy_begins_as_what_is_there_and_leaves_alone_what_is_not_its_own(memory):
    memory.pipe({"/run/recipe.json": b"{}", "/run/other/file": b"1"})
    with working_copy("memory://run", ("checkpoint-*",)) as folder:
        (folder / "unsent").touch()
        assert sorted(files_of(folder)) == ["recipe.json", "unsent"]
        memory.pipe("/run/recipe.json", b"[]")
        (folder / "unsent").unlink()
    assert memory.find("/run") == ["/run/other/file", "/run/recipe.json"]
    (folder / "left over").touch()
    with working_copy("memory://run") as folder:
        assert files_of(folder) == {"recipe.json": b"[]"}


def test_a_refusal_names_the_address_and_what_was_done_so_far_goes_up(memory):
    with (
        pytest.raises(UserError, match=r"^memory://data/generation\.json: no$"),
        working_copy("memory://data") as folder,
    ):
        folder.mkdir()
        (folder / "done").touch()
        raise UserError(f"{folder / 'generation.json'}: no")
    assert memory.find("/data") == ["/data/done"]


def test_a_bug_changes_nothing_there(memory):
    with pytest.raises(KeyError), working_copy("memory://data") as folder:
        folder.mkdir()
        (folder / "half").touch()
        raise KeyError("bug")
    assert memory.find("/data") == []


def test_while_nothing_can_go_up_the_work_goes_on_and_in_the_end_it_does(memory, monkeypatch, capsys):
    put = MemoryFileSystem.put_file

    def fail(*arguments, **options):
        raise ConnectionError("no route to host")

    with working_copy("memory://run") as folder:
        folder.mkdir()
        (folder / "one").touch()
        monkeypatch.setattr(MemoryFileSystem, "put_file", fail)
        finished(folder)
        said = capsys.readouterr().err
        assert (
            said.startswith("warning: memory://run: cannot be written (no route to host); ") and said.count("\n") == 1
        )
        monkeypatch.setattr(MemoryFileSystem, "put_file", put)
    assert memory.find("/run") == ["/run/one"]


def test_two_processes_of_a_machine_do_not_work_at_one_address(memory):
    with (
        working_copy("memory://run"),
        pytest.raises(RemoteError, match=r"memory://run: another process is writing here; wait"),
        working_copy("memory://run"),
    ):
        pass


def test_a_bucket_is_read_and_written(bucket):
    with working_copy(bucket.url("runs/own"), ("checkpoint-*",)) as folder:
        (folder / "checkpoint-3").mkdir(parents=True)
        (folder / "checkpoint-3" / "optimizer.pt").write_bytes(b"1" * 1000)
        finished(folder)
        assert bucket.files() == {"runs/own/checkpoint-3/optimizer.pt": b"1" * 1000}
        (folder / "checkpoint-3" / "optimizer.pt").unlink()
        (folder / "run.json").write_text("{}")
    assert bucket.files("runs/own") == {"run.json": b"{}"}
    bucket.put("runs/own/run.json", b"[]")
    bucket.put("runs/other/run.json", b"")
    assert files_of(local_copy(bucket.url("runs/own"))) == {"run.json": b"[]"}


@pytest.mark.parametrize("name", ["../evil", "data/../../evil"])
def test_no_key_of_a_bucket_leads_out_of_the_copy(name, bucket, tmp_path):
    bucket.put(f"data/ltl/{name}", b"evil")
    with pytest.raises(RemoteError, match=r"which no folder here can have as a file"):
        local_copy(bucket.url("data/ltl"), ("*",))
    assert not list(tmp_path.rglob("evil"))


@pytest.mark.parametrize("work", [local_copy, working_copy])
def test_a_bucket_that_is_not_there_or_not_open_is_one_sentence(work, bucket, monkeypatch):
    import s3fs

    def refusal(address):
        s3fs.S3FileSystem.clear_instance_cache()
        start = time.monotonic()
        with pytest.raises(RemoteError) as caught, nullcontext() if work is local_copy else work(address):
            work(address)
        assert time.monotonic() - start < 60
        return str(caught.value)

    assert "no such " in refusal("s3://no-such-bucket/data") and "bucket does not exist" in refusal(
        "s3://no-such-bucket/data"
    )
    assert bucket.name in [one["Name"] for one in bucket.client.list_buckets()["Buckets"]]
    assert "no-such-bucket" not in [one["Name"] for one in bucket.client.list_buckets()["Buckets"]]
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    said = refusal(bucket.url("data"))
    assert "no credentials (" in said and "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY" in said
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "alice")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    assert "127.0.0.1:9" in (said := refusal(bucket.url("data"))) and "check the address, the endpoint" in said
