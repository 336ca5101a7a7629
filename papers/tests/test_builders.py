"""Builders of the papers' data: values out of range are refused, and a folder keeps the data set that it has."""

import importlib
from pathlib import Path

import pytest
import yaml

from hf_symbinv.errors import UserError

CASES = yaml.safe_load(Path(__file__).with_name("refusals.yaml").read_text(encoding="utf-8"))
# Builder → what makes its data set small, an option that makes another one, and one that is refused.
SMALL = {
    "harness.subwords": ("--source=SOURCE --vocab-size=300 --length=16", "--vocab-size=301", "--vocab-size=256"),
    "lexinvariant.characters": ("--source=SOURCE --length=8", "--length=9", "--length=1"),
    "code.bug_finding": ("--source=SOURCE --vocab-size=300 --max-tokens=100", "--vocab-size=301", "--max-tokens=1"),
    "renamer.basic_blocks": ("--blocks=papers/renamer/sample_blocks.tsv", "--seed=1", "--max-tokens=0"),
    "renamer.derivatives": (
        "--rows=20 --held-out=4 --max-operators=2 --max-tokens=20 --workers=1", "--functions=all", "--max-operators=0",
    ),
    "identity.templates": ("--task=copy --rows=40 --evaluation-rows=10", "--rows=41", "--rows=0"),
}  # fmt: skip
FUNCTION = "def f{0}(one, other):\n    both = one + other\n    return both.g{0}(one, other)\n\n\n"


@pytest.mark.parametrize(("kind", "fields", "message"), [(kind, *case) for kind, own in CASES.items() for case in own])
def test_values_out_of_range_are_refused(kind, fields, message):
    module, _, name = kind.rpartition(".")
    with pytest.raises(UserError) as refused:
        getattr(importlib.import_module(module), name)(**fields)
    assert message in str(refused.value)


@pytest.mark.parametrize("name", SMALL)
def test_a_folder_keeps_its_data_set_and_what_is_refused_leaves_none(name, tmp_path, capsys, monkeypatch):
    from papers.renamer.basic_blocks import sample_file

    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", str(tmp_path / "cache"))
    (tmp_path / "source").mkdir()
    for number in range(40):
        functions = "".join(FUNCTION.format(f"{number}x{place}") for place in range(4))
        (tmp_path / "source" / f"{number}.py").write_text(functions)
    options, other, refused = SMALL[name]
    options = options.replace("SOURCE", str(tmp_path / "source"))
    options = options.replace("papers/renamer/sample_blocks.tsv", str(sample_file())).split()
    main = importlib.import_module(f"papers.{name}").main
    assert main([*options, refused, f"--output={tmp_path / 'made'}"]) == 2
    assert capsys.readouterr().err.startswith("error: ")
    assert not (tmp_path / "made").exists()
    assert main([*options, f"--output={tmp_path / 'made'}"]) == 0
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "made").rglob("*.parquet")}
    assert before and main([*options, f"--output={tmp_path / 'made'}"]) == 0
    assert main([*options, other, f"--output={tmp_path / 'made'}"]) == 2
    assert "holds a data set made in another way" in capsys.readouterr().err
    assert {path: path.stat().st_mtime_ns for path in before} == before
