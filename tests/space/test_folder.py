"""The folder is a Space as it stands, and small."""

import re
import tomllib
from pathlib import Path

import pytest
from huggingface_hub import SpaceCard

ROOT = Path(__file__).resolve().parents[2]
SPACE = ROOT / "examples" / "space"


def test_the_card_says_how_to_run_it_with_the_gradio_that_is_tested():
    data = SpaceCard.load(SPACE / "README.md").data
    assert data.sdk == "gradio" and (SPACE / data.app_file).is_file() and data.license == "apache-2.0"
    assert f"gradio=={data.sdk_version}" in (ROOT / "constraints.txt").read_text().split()
    assert len(data.short_description) <= 60  # the Hub's limit


def test_its_requirement_is_this_package_with_extras_that_it_has():
    (line,) = (SPACE / "requirements.txt").read_text().split()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    name, extras = re.fullmatch(r"(\w+)\[([\w,]+)\]", line).groups()
    assert name == project["name"] and set(extras.split(",")) <= set(project["optional-dependencies"])


@pytest.mark.parametrize(("file", "limit"), [("baseline/model.safetensors", 2_000_000), ("screenshot.png", 200_000)])
def test_what_is_no_text_is_small(file, limit):
    assert 0 < (SPACE / file).stat().st_size < limit


def test_the_baseline_is_weights_and_texts_without_code():
    assert not [
        path.name for path in (SPACE / "baseline").iterdir() if path.suffix not in (".json", ".md", ".safetensors")
    ]
