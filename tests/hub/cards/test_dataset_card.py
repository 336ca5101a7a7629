"""A data set card has what `datasets` loads by, checksums that hold, and a licence that is known or said not to be."""

import hashlib
import re

import pytest
from datasets import load_dataset
from huggingface_hub import DatasetCard

from hf_symbinv import LTL
from hf_symbinv.datasets_scripts.storage import Pair, publish
from hf_symbinv.hub.cards.dataset import Origin

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
