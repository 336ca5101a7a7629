"""A data set card has what `datasets` loads by, checksums that hold, and a licence that is known or said not to be."""

import hashlib
import re
import shutil

import pytest
from datasets import load_dataset
from huggingface_hub import DatasetCard

from hf_symbinv import LTL
from hf_symbinv.datasets_scripts.storage import Pair, publish
from hf_symbinv.hub import PushError
from hf_symbinv.hub.cards.dataset import Origin
from hf_symbinv.hub.cards.facts import CardError
from hf_symbinv.hub.folders import read_folder

ORIGIN = Origin("tiny", "A story.", "symbinv data --output FOLDER", "spot 2.13")
SPLITS = {"train": [Pair("&aXb", "a;b;{1}"), Pair("a", "{a}")], "test": [Pair("Xa", "1;a;{1}")]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "tiny"
    publish(LTL, folder, ORIGIN, SPLITS)
    return folder


def test_the_metadata_are_what_the_hub_and_datasets_read(folder, tmp_path):
    data = DatasetCard.load(folder / "README.md").data.to_dict()
    assert data["license"] == "apache-2.0" and data["pretty_name"] == "tiny" and data["size_categories"] == ["n<1K"]
    assert [file["split"] for file in data["configs"][0]["data_files"]] == ["train", "test"]
    info = data["dataset_info"]
    assert {"name": "symbols", "list": "string"} in info["features"]
    assert [(split["name"], split["num_examples"]) for split in info["splits"]] == [("train", 2), ("test", 1)]
    assert info["download_size"] == sum(path.stat().st_size for path in folder.glob("data/*"))
    loaded = load_dataset(str(folder), cache_dir=str(tmp_path))
    assert loaded["train"]["formula"] == ["&aXb", "a"] and loaded["test"].features["length"].dtype == "int32"


def test_every_file_is_listed_with_its_size_and_checksum(folder):
    listed = re.findall(r"^\| (data/\S+) \| ([\d,]+) \| `(\w{64})` \|$", (folder / "README.md").read_text(), re.M)
    assert {name for name, _, _ in listed} == {f"data/{path.name}" for path in (folder / "data").iterdir()}
    for name, size, digest in listed:
        content = (folder / name).read_bytes()
        assert len(content) == int(size.replace(",", "")) and hashlib.sha256(content).hexdigest() == digest


@pytest.fixture
def several(folder, tmp_path):
    """A folder of two data sets, as `symbinv push` takes it."""
    for name in ("ltl-5", "ltl_10"):
        shutil.copytree(folder, tmp_path / "ltl" / name)
    return tmp_path / "ltl"


def test_the_card_of_several_data_sets_names_each_with_its_files_and_features(several, tmp_path):
    content = read_folder(several)
    (several / "README.md").write_bytes(content.files["README.md"])  # now the folder is as the repository
    data = DatasetCard.load(several / "README.md").data.to_dict()
    assert [config["config_name"] for config in data["configs"]] == ["ltl-5", "ltl_10"]
    assert (data["license"], data["pretty_name"]) == ("apache-2.0", "ltl")
    for name in ("ltl-5", "ltl_10"):
        loaded = load_dataset(str(several), name, cache_dir=str(tmp_path / "cache"))
        assert loaded["train"]["formula"] == ["&aXb", "a"] and list(loaded) == ["train", "test"]
    with pytest.raises(ValueError, match="Config name is missing"):
        load_dataset(str(several), cache_dir=str(tmp_path / "cache"))
    assert read_folder(several).files["README.md"] == content.files["README.md"]  # and pushing it again changes nothing


def test_what_was_written_about_several_data_sets_stays(several):
    (several / "README.md").write_text("---\nlicense: cc-by-4.0\nlanguage: en\n---\n# Ours\n\n---\n\nRead this.\n")
    card = DatasetCard(read_folder(several).files["README.md"].decode())
    assert card.text == "# Ours\n\n---\n\nRead this.\n"
    assert (card.data.license, card.data.language) == ("cc-by-4.0", "en") and len(card.data.configs) == 2
    (several / "README.md").write_text("# Ours\n")
    assert DatasetCard(read_folder(several).files["README.md"].decode()).text == "# Ours\n"


def test_data_sets_that_cannot_stand_in_one_repository_are_refused(several):
    (several / "ltl-5").rename(several / "ltl 5")
    with pytest.raises(CardError, match="'ltl 5': names a data set, and has other characters than"):
        read_folder(several)
    (several / "ltl 5").rename(several / "ltl-5")
    (several / "ltl-5" / "README.md").write_text("---\nlicense: mit\n---\n")
    with pytest.raises(CardError, match=r"ltl-5/README\.md: does not say which files are its splits; write it as"):
        read_folder(several)
    (several / "ltl-5" / "README.md").unlink()
    with pytest.raises(PushError, match=r"ltl-5: has no README\.md, so it is not complete; repeat the `symbinv data`"):
        read_folder(several)
