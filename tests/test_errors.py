"""Errors that a user can mend are sentences, of bounded length, with the remedy at their end."""

import errno

import pytest
import torch
from safetensors import SafetensorError
from safetensors.torch import save_file

from hf_symbinv.errors import LONGEST, UserError, cut, explain, first_line, in_short, is_full_disk


def test_a_sentence_that_repeats_a_file_is_cut_and_keeps_its_ends():
    sentence = explain(UserError(f"file.json: {'x' * 2_000_000}; correct it"))
    assert len(sentence) == LONGEST and sentence.startswith("file.json: xxx") and sentence.endswith("x; correct it")
    assert cut("short") == "short"


def test_a_bug_has_no_sentence():
    assert explain(KeyError("x")) is None and explain(RuntimeError("CUDA error")) is None


def test_values_are_cut():
    assert in_short([1, "a"]) == "[1, 'a']"
    assert in_short("x" * 1_000_000) == "'" + "x" * 199 + "…"
    deep = []
    for _ in range(100_000):
        deep = [deep]
    assert in_short(deep) == "a list that is too deep to show"
    while deep:  # or freeing it would recurse
        deep = deep.pop()


def test_the_first_line_says_what_is_wrong():
    assert first_line(ValueError("\n  a: b:\nmore")) == "a: b"
    assert first_line(ValueError()) == "ValueError"


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device", "run/model.safetensors"),
        OSError(errno.EDQUOT, "Disk quota exceeded"),
        OSError(errno.EFBIG, "File too large", "run/optimizer.pt"),
        Exception('Error while serializing: I/O error: No space left on device (os error 28)'),
        Exception('Error while serializing: I/O error: File too large (os error 27)'),
        RuntimeError("[enforce fail] PytorchStreamWriter failed writing file: file write failed"),
    ],
)  # fmt: skip
def test_a_full_disk_is_one_sentence_whatever_library_found_it(error):
    assert is_full_disk(error)
    where = getattr(error, "filename", None) or "writing failed"
    assert explain(error) == f"{where}: the disk is full; free some space, and repeat the command"
    assert not is_full_disk(OSError(errno.EACCES, "Permission denied", "x")) and not is_full_disk(RuntimeError("other"))


@pytest.mark.parametrize("error", [MemoryError(), torch.OutOfMemoryError("CUDA out of memory. Tried")])
def test_memory_that_is_not_enough_is_one_sentence(error):
    with pytest.raises(RuntimeError) as caught:
        torch.empty(1 << 60)
    told = "there is not enough memory; ask for less at once, such as fewer beams or a smaller batch"
    assert explain(error) == explain(caught.value) == told


def test_weights_that_cannot_be_written_are_one_sentence(tmp_path):
    (tmp_path / "model.safetensors").mkdir()
    with pytest.raises(SafetensorError) as caught:
        save_file({"a": torch.zeros(1)}, tmp_path / "model.safetensors")
    said = explain(caught.value)
    assert said == (
        "weights (*.safetensors) cannot be read or written: Is a directory; check the folder and its permissions"
    )
