"""What is written together appears together, wherever the process is killed."""

import json
from pathlib import Path

import pytest
import torch


@pytest.fixture
def store(tmp_path):
    from store import Store

    found = Store(tmp_path / "results")
    found.write("first", {"values": 1}, {"weights": {"a": torch.ones(3)}, "moments": {"a": torch.zeros(3)}})
    return found


def opened(store):
    from store import Store

    return Store(store.folder)


def test_results_and_tensors_come_back(store):
    again = opened(store)
    assert again.results == {"first": {"values": 1}}
    assert torch.equal(again.read("weights")["a"], torch.ones(3))
    again.drop("moments", "never-there")
    assert sorted(path.name for path in store.folder.iterdir()) == ["results.json", "weights.safetensors"]


class Killed(BaseException):
    """Ends a call as a killed process would: nothing is tidied up."""


# Every call that changes the folder, by its number.
@pytest.mark.parametrize("calls", range(8))
def test_a_write_that_is_cut_off_anywhere_leaves_all_or_nothing(store, monkeypatch, calls):
    import store as module

    left = [calls]

    def counted(function):
        def call(*arguments, **options):
            if not left[0]:
                raise Killed
            left[0] -= 1
            return function(*arguments, **options)

        return call

    for name in ("mkdir", "write_text", "rename", "replace", "rmdir"):
        monkeypatch.setattr(Path, name, counted(getattr(Path, name)))
    monkeypatch.setattr(module, "save_file", counted(module.save_file))
    new = {"weights": {"a": torch.full((3,), 2.0)}, "moments": {"a": torch.full((3,), 3.0)}}
    with pytest.raises(Killed):
        store.write("second", {"values": 2}, new)
    monkeypatch.undo()
    again = opened(store)
    written = again.results == {"first": {"values": 1}, "second": {"values": 2}}
    assert written or again.results == {"first": {"values": 1}}
    assert again.read("weights")["a"][0].item() == (2 if written else 1)
    assert again.read("moments")["a"][0].item() == (3 if written else 0)
    assert json.loads((store.folder / "results.json").read_text(encoding="utf-8")) == again.results
    assert written == (calls >= 5)  # behind the folder, two files, the results and the renaming


def test_a_whole_write_makes_as_many_calls_as_were_cut_off(store, monkeypatch):
    count = []
    for name in ("mkdir", "write_text", "rename", "replace", "rmdir"):
        function = getattr(Path, name)
        monkeypatch.setattr(Path, name, lambda *a, function=function, **o: count.append(0) or function(*a, **o))
    store.write("second", {}, {"weights": {"a": torch.ones(3)}, "moments": {"a": torch.ones(3)}})
    assert len(count) + 2 == 9  # with two calls of save_file; the last one only removes an empty folder
