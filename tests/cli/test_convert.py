"""`symbinv convert`: a vanilla checkpoint in, one with streams out, that the other commands load."""

import json

import pytest
import torch
from safetensors.torch import load_file

from hf_symbinv import SymbolInvariantForConditionalGeneration
from hf_symbinv.tasks import LTL

SIZES = {"d_model": 8, "encoder_layers": 1, "decoder_layers": 1, "num_attention_heads": 2, "d_ff": 12}


@pytest.fixture(scope="module")
def baseline(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "baseline"
    torch.manual_seed(0)
    config = LTL.config(symbol_embedding="renamed", num_symbols=3, **SIZES)
    SymbolInvariantForConditionalGeneration(config).save_pretrained(folder)
    LTL.tokenizer().save_pretrained(folder)
    return folder


def test_a_baseline_gets_streams(symbinv, baseline, tmp_path):
    output = tmp_path / "converted"
    result = symbinv("convert", baseline, "--output", output)
    parameters = sum(tensor.numel() for tensor in load_file(output / "model.safetensors").values()) - 1  # AdaCos
    assert (result.code, result.out) == (0, f"{output}: streams, EP DP CP, {parameters:,} parameters\n")
    assert f"made of {baseline.name}." in (output / "README.md").read_text()
    assert json.loads((output / "config.json").read_text())["symbol_embedding"] == "streams"


def test_a_canonical_model_gets_the_papers_blocks(symbinv, tmp_path):
    result = symbinv("convert", "ltl-canonical", "--aggregated", "--output", tmp_path / "converted")
    assert result.code == 0 and ": streams, EP DP EA CP, 1,494,240 parameters" in result.out
    text = (tmp_path / "converted" / "README.md").read_text()
    assert "Each EA block was added without an effect on the output." in text
    assert symbinv("solve", "--model", tmp_path / "converted", "G a").code in (0, 1)


def test_a_conversion_that_is_stopped_leaves_no_folder(symbinv, baseline, tmp_path, monkeypatch):
    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("hf_symbinv.training.conversion.write_model_card", stopped)
    assert symbinv("convert", baseline, "--output", tmp_path / "converted").code == 130
    assert not any(tmp_path.iterdir())


def test_a_checkpoint_of_ours_on_the_hub_is_converted_too_if_its_task_is_sure(symbinv, baseline, hub, tmp_path):
    asked = {"recipe.json": b'{"recipe": {"task": "own.py"}}'}
    hub.put("model", "alice/baseline", asked | {path.name: path.read_bytes() for path in baseline.iterdir()})
    options = ("convert", "alice/baseline", "--output", tmp_path / "new")
    assert "task ltl has the same base tokens; say with --task" in symbinv(*options).err
    result = symbinv(*options, "--task", "ltl")
    assert (result.code, result.out.split(",")[0]) == (0, f"{tmp_path / 'new'}: streams"), result.err


def test_what_cannot_be_converted_is_said_in_one_sentence(symbinv, baseline, tmp_path):
    symbinv("convert", baseline, "--output", tmp_path / "streams")
    for arguments, message in (
        ([tmp_path / "streams"], "symbol_embedding='streams': only a row that a symbol has of its own"),
        ([tmp_path / "none"], "no such folder"),
    ):
        result = symbinv("convert", *arguments, "--output", tmp_path / "new")
        assert result.code == 2 and message in result.err and result.err.count("\n") == 1
    result = symbinv("convert", baseline, "--output", baseline)
    assert result.code == 2 and "exists; name a new folder" in result.err
