"""`python -m papers.streams.convert_ite_checkpoints`: a release in, a checkpoint that the other commands load out."""

import json

import pytest
import torch
from safetensors.torch import load_file

from papers.streams.convert_ite_checkpoints import main
from papers.tests.streams.test_convert_ite_checkpoints import config, state_dict, write
from tests.cli.conftest import Result, hub, server, symbinv

__all__ = ["hub", "server", "symbinv"]


@pytest.fixture
def convert(capsys):
    def run(*arguments):
        capsys.readouterr()
        return Result(main([str(argument) for argument in arguments]), *capsys.readouterr())

    return run


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    return write(tmp_path_factory.mktemp("release"), config(), state_dict(16))


def test_a_release_is_read_and_then_converted(convert, symbinv, release, tmp_path):
    result = convert(release, "--output", tmp_path / "ours")
    assert result.code == 0 and result.out.startswith(f"{tmp_path / 'ours'}: learned, ")
    assert json.loads((tmp_path / "ours" / "generation_config.json").read_text())["num_beams"] == 3
    assert symbinv("convert", tmp_path / "ours", "--output", tmp_path / "streams").code == 0
    table = load_file(tmp_path / "streams" / "model.safetensors")["model.embedding.weight"]
    rows = torch.load(release / "pytorch_model.bin", weights_only=True)["merged_embedder.base_weight"]
    assert torch.equal(table[-2:], rows[3:5])  # a and b stand after three special tokens


def test_only_releases_are_read_and_only_into_new_folders(convert, release, tmp_path):
    for source, output, message in (
        (
            tmp_path,
            tmp_path / "new",
            "is no release of SIT or ITE; `symbinv convert` takes the checkpoints of this package",
        ),
        (tmp_path / "none", tmp_path / "new", "no such folder; on the Hub a release is called OWNER/NAME/FOLDER"),
        (release, release, "exists; name a new folder"),
    ):
        result = convert(source, "--output", output)
        assert result.code == 2 and message in result.err and result.err.count("\n") == 1


def on_the_hub(release, folder):
    """The files of a repository with a release in a folder, and more that nobody asked for."""
    files = {f"{folder}/{path.name}": path.read_bytes() for path in release.iterdir()}
    return {**files, f"{folder}/optimizer.pt": b"a pickle", "other/config.json": b"{}", "other/model.safetensors": b""}


def test_a_release_on_the_hub_is_read_from_its_folder(convert, release, hub, tmp_path):
    hub.put("model", "authors/models", on_the_hub(release, "ltl/baseline"))
    result = convert("authors/models/ltl/baseline", "--output", tmp_path / "ours")
    assert (result.code, result.out.split(",")[0]) == (0, f"{tmp_path / 'ours'}: learned"), result.err
    assert convert(release, "--output", tmp_path / "same").code == 0
    ours, same = (load_file(tmp_path / name / "model.safetensors") for name in ("ours", "same"))
    assert ours.keys() == same.keys() and all(torch.equal(ours[name], same[name]) for name in ours)
    made = json.loads((tmp_path / "ours" / "conversion.json").read_text())
    assert (made["source"], made["base_model"]) == ("authors/models/ltl/baseline", "authors/models")
    fetched = {path.name for path in (tmp_path / "hub-cache").rglob("snapshots/*/**/*") if path.is_file()}
    assert fetched == {"config.json", "pytorch_model.bin"}


def test_what_the_hub_does_not_have_is_said_in_one_sentence(convert, release, hub, tmp_path):
    hub.put("model", "authors/models", on_the_hub(release, "ltl/baseline"))
    known = "folders of this repository with one: authors/models/ltl/baseline, authors/models/other"
    for source, message in (
        ("authors/models", f"authors/models: has no config.json there; {known}"),
        ("authors/models/prop/baseline", f"authors/models/prop/baseline: has no config.json there; {known}"),
        ("authors/models/other", "authors/models/other: is no release of SIT or ITE"),
        ("authors/none", "authors/none: no such folder, and the Hub has no such repository, or it is private"),
    ):
        result = convert(source, "--output", tmp_path / "new")
        assert result.code == 2 and message in result.err.splitlines()[-1], result.err
