"""One bit of a trained model's weights flips: every command that reads the model finds it."""

import pytest

from hf_symbinv.files import write_sums


@pytest.fixture
def folder(checkpoint, tmp_path, monkeypatch):
    """A model with checksums, as a run leaves it, in which a bit flips."""
    import shutil

    folder = shutil.copytree(checkpoint, tmp_path / "model")
    write_sums(folder, folder.glob("*.safetensors"))
    data = bytearray((folder / "model.safetensors").read_bytes())
    data[-2] ^= 1
    (folder / "model.safetensors").write_bytes(data)
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.mark.parametrize(
    "command",
    [
        ["solve", "--model", "model", "a"], ["evaluate", "model", "--data", "nowhere"],
        ["card", "model"], ["push", "model", "alice/model"], ["convert", "model", "--output", "made"],
        ["train", "ltl-smoke", "--output", "made", "start=model"],
    ],
)  # fmt: skip
def test_it_is_one_sentence(command, folder, symbinv):
    result = symbinv(*command)
    assert (result.code, result.out) == (2, "")
    assert result.err == (
        f"symbinv {command[0]}: model/model.safetensors: damaged (its checksum is not the one in sha256.json); copy "
        "the folder again, or repeat the `symbinv train` that made it; if the weights were replaced on purpose, remove "
        "model/sha256.json\n"
    )


def test_without_checksums_the_model_is_read_as_before(folder, symbinv):
    (folder / "sha256.json").unlink()
    assert symbinv("card", "model").code == 0
