"""`symbinv convert`: a vanilla checkpoint in, one with streams out, that the other commands load."""

import json
import pickle

import pytest
import torch
from safetensors.torch import load_file, save_file

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


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    """A release with one layer, all of whose parameters are zero but for the symbols' rows."""
    vocab = {
        "aps": ["a", "b"], "consts": ["0", "1"], "trace_ops": ["&", "|", "!"], "ltl_ops": ["U", "X", "!", "&", "|"],
        "merge_tokens": "all", "dynamic_aps": False, "use_start_token": True, "use_pad_token": True,
        "use_eos_token": True,
    }  # fmt: skip
    embedder = {
        "d_ap": 0, "ap_embed": "randn", "base_normalization": "l2", "ap_normalization": "l2",
        "final_normalization": "l2", "feature_normalization": "l2", "embed_scaling": "sqrtd", "shuffle_aps": None,
    }  # fmt: skip
    content = {
        "vocab": vocab, "merged_embedder": embedder, "d_embed_enc": 4, "d_embed_dec": 4, "d_ff": 6,
        "ff_activation": "relu", "dropout": 0.1, "num_heads": 2, "num_layers": 1, "layer_norm_eps": 1e-6,
        "enc_pe": "sinusoid", "dec_pe": "rope", "no_pe_cross_keys": False, "tree_pos_enc": True,
    }  # fmt: skip
    state = {"merged_embedder.base_weight": torch.arange(60.0).view(15, 4)}
    for layer, attentions, norms in (
        ("encoder_stack.enc_layers.0", ["multi_head_attn"], ["norm_attn", "norm_ff"]),
        (
            "decoder_stack.dec_layers.0",
            ["multi_head_self_attn", "multi_head_enc_dec_attn"],
            ["norm_self_attn", "norm_enc_dec_attn", "norm_ff"],
        ),
    ):
        shapes = {f"{block}.{name}": (4, 4) for block in attentions for name in ("Q", "K", "V", "final_projection")}
        for name, shape in {**shapes, "ff.0": (6, 4), "ff.2": (4, 6)}.items():
            state |= {f"{layer}.{name}.weight": torch.zeros(shape), f"{layer}.{name}.bias": torch.zeros(shape[0])}
        for name in norms:
            state |= {f"{layer}.{name}.weight": torch.ones(4), f"{layer}.{name}.bias": torch.zeros(4)}
    release = tmp_path_factory.mktemp("release")
    (release / "config.json").write_text(json.dumps(content))
    torch.save(state, release / "pytorch_model.bin")
    return release


def test_a_baseline_gets_streams(symbinv, baseline, tmp_path):
    output = tmp_path / "converted"
    result = symbinv("convert", baseline, "--output", output)
    parameters = (
        sum(tensor.numel() for tensor in load_file(output / "model.safetensors").values()) - 1
    )  # AdaCos's scale
    assert (result.code, result.out) == (0, f"{output}: streams, EP DP CP, {parameters:,} parameters\n")
    assert f"made of {baseline.name}." in (output / "README.md").read_text()
    assert json.loads(symbinv("info", output, "--json").out)["symbol_embedding"] == "streams"


def test_a_conversion_that_is_stopped_leaves_no_folder(symbinv, baseline, tmp_path, monkeypatch):
    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("hf_symbinv.training.conversion.write_model_card", stopped)
    assert symbinv("convert", baseline, "--output", tmp_path / "converted").code == 130
    assert not any(tmp_path.iterdir())


def test_a_converted_model_is_trained_on_by_a_recipe_of_another_size(symbinv, baseline, tmp_path):
    symbinv("convert", baseline, "--output", tmp_path / "converted")
    texts = tmp_path / "texts.txt"
    texts.write_text("".join(f"{'X' * n}{name}\n{'1;' * n}{{{name}}}\n" for n in range(5) for name in "abcd"))
    assert symbinv("data", "--from-text", texts, "--output", tmp_path / "data").code == 0
    run = ["--data", tmp_path / "data", "--output", tmp_path / "tuned", f"start={tmp_path / 'converted'}"]
    short = ["trainer.max_steps=2", "trainer.eval_strategy='no'", "trainer.use_cpu=true", "trainer.disable_tqdm=true"]
    result = symbinv("train", "ltl-paper", *run, *short, "trainer.per_device_train_batch_size=4", "test_rows=2")
    assert (result.code, json.loads(result.out)["test_count"]) == (0, 2), result.err
    before, after = (json.loads((tmp_path / name / "config.json").read_text()) for name in ("converted", "tuned"))
    assert {name for name in before if before[name] != after[name]} <= {"use_cache"}
    assert json.loads((tmp_path / "tuned" / "run.json").read_text())["recipe"]["model"] == {}


def test_a_start_that_cannot_be_is_refused_before_data_are_made(symbinv, baseline, tmp_path, monkeypatch):
    def never(*_):
        raise AssertionError("data were loaded")

    monkeypatch.setattr("hf_symbinv.datasets_scripts.loading.load_data", never)
    run = ["train", "ltl-smoke", "--output", tmp_path / "run"]
    result = symbinv(*run, f"start={baseline}", "model.d_ff=11", "model.loss=cross_entropy")
    assert result.code == 2 and result.err.count("\n") == 1
    assert "its d_ff is 12, the recipe's 11; its loss is 'adacos', the recipe's 'cross_entropy'; leave " in result.err
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    (damaged / "config.json").write_bytes((baseline / "config.json").read_bytes())
    result = symbinv(*run, f"start={damaged}")
    assert result.code == 2 and f"start={damaged}: its weights cannot be read" in result.err


def test_names_choose_the_rows(symbinv, baseline, tmp_path):
    result = symbinv("convert", baseline, "--output", tmp_path / "new", "--actual", "c", "--placeholder", "a", "--json")
    assert json.loads(result.out)["components"] == ["EP", "DP", "CP"]
    before, after = (load_file(folder / "model.safetensors") for folder in (baseline, tmp_path / "new"))
    assert torch.equal(after["model.embedding.weight"][-2:], before["model.embedding.weight"][[-1, -3]])


def test_a_release_is_read_and_then_converted(symbinv, release, tmp_path):
    result = symbinv("convert", release, "--output", tmp_path / "ours")
    assert result.code == 0 and result.out.startswith(f"{tmp_path / 'ours'}: learned, EP DP CP, ")
    assert json.loads((tmp_path / "ours" / "generation_config.json").read_text())["num_beams"] == 3
    assert symbinv("convert", tmp_path / "ours", "--output", tmp_path / "streams").code == 0
    table = load_file(tmp_path / "streams" / "model.safetensors")["model.embedding.weight"]
    assert torch.equal(table[-2:], torch.arange(60.0).view(15, 4)[3:5])  # a and b stand after three special tokens

    result = symbinv("convert", release, "--output", tmp_path / "other", "--actual", "a")
    assert result.code == 2 and "a release stays what it is; convert the OUTPUT again" in result.err


def test_a_release_with_a_parameter_too_many_is_refused(symbinv, release, tmp_path):
    state = torch.load(release / "pytorch_model.bin", weights_only=True)
    (tmp_path / "config.json").write_bytes((release / "config.json").read_bytes())
    torch.save({**state, "head.bias": torch.zeros(1)}, tmp_path / "pytorch_model.bin")
    result = symbinv("convert", tmp_path, "--output", tmp_path / "other")
    assert result.code == 2 and "unknown parameters: head.bias" in result.err


def on_the_hub(release, folder):
    """The files of a repository with a release in a folder, and more that nobody asked for."""
    files = {f"{folder}/{path.name}": path.read_bytes() for path in release.iterdir()}
    return {**files, f"{folder}/optimizer.pt": b"a pickle", "other/config.json": b"{}", "other/model.safetensors": b""}


def test_a_release_on_the_hub_is_read_from_its_folder(symbinv, release, hub, tmp_path):
    hub.put("model", "authors/models", on_the_hub(release, "ltl/baseline"))
    result = symbinv("convert", "authors/models/ltl/baseline", "--output", tmp_path / "ours")
    assert (result.code, result.out.split(",")[0]) == (0, f"{tmp_path / 'ours'}: learned"), result.err
    assert symbinv("convert", release, "--output", tmp_path / "same").code == 0
    ours, same = (load_file(tmp_path / name / "model.safetensors") for name in ("ours", "same"))
    assert ours.keys() == same.keys() and all(torch.equal(ours[name], same[name]) for name in ours)
    made = json.loads((tmp_path / "ours" / "conversion.json").read_text())
    assert (made["source"], made["base_model"]) == ("authors/models/ltl/baseline", "authors/models")
    fetched = {path.name for path in (tmp_path / "hub-cache").rglob("snapshots/*/**/*") if path.is_file()}
    assert fetched == {"config.json", "pytorch_model.bin"}


def test_tensors_are_read_from_safetensors_where_there_are_any(symbinv, release, hub, tmp_path):
    state = torch.load(release / "pytorch_model.bin", weights_only=True)
    save_file(state, tmp_path / "model.safetensors")
    files = {"config.json": (release / "config.json").read_bytes(), "pytorch_model.bin": b"no tensors"}
    hub.put("model", "authors/one", {**files, "model.safetensors": (tmp_path / "model.safetensors").read_bytes()})
    assert symbinv("convert", "authors/one", "--output", tmp_path / "ours").code == 0


def test_a_pickle_on_the_hub_that_holds_more_than_tensors_is_refused(symbinv, release, hub, tmp_path):
    code = pickle.dumps({"merged_embedder.base_weight": len})
    hub.put("model", "authors/bad", {"config.json": (release / "config.json").read_bytes(), "pytorch_model.bin": code})
    result = symbinv("convert", "authors/bad", "--output", tmp_path / "new")
    assert result.code == 2 and "no file of tensors" in result.err.splitlines()[-1]


def test_a_checkpoint_of_ours_on_the_hub_is_converted_too(symbinv, baseline, hub, tmp_path):
    hub.put("model", "alice/baseline", {path.name: path.read_bytes() for path in baseline.iterdir()})
    result = symbinv("convert", "alice/baseline", "--output", tmp_path / "new")
    assert (result.code, result.out.split(",")[0]) == (0, f"{tmp_path / 'new'}: streams"), result.err


def test_what_the_hub_does_not_have_is_said_in_one_sentence(symbinv, release, hub, tmp_path):
    hub.put("model", "authors/models", on_the_hub(release, "ltl/baseline"))
    known = "folders of this repository with one: authors/models/ltl/baseline, authors/models/other"
    for source, message in (
        ("authors/models", f"authors/models: has no config.json there; {known}"),
        ("authors/models/prop/baseline", f"authors/models/prop/baseline: has no config.json there; {known}"),
        ("authors/models/other", "authors/models/other: is no release; of this package's checkpoints, name the"),
        ("authors/none", "authors/none: no such folder, and the Hub has no such repository, or it is private"),
    ):
        result = symbinv("convert", source, "--output", tmp_path / "new")
        assert result.code == 2 and message in result.err.splitlines()[-1], result.err


def test_what_cannot_be_converted_is_said_in_one_sentence(symbinv, baseline, tmp_path):
    symbinv("convert", baseline, "--output", tmp_path / "streams")
    for arguments, message in (
        ([tmp_path / "streams"], "symbol_embedding='streams': only a row that a symbol has of its own"),
        ([baseline, "--actual", "d"], "--placeholder 'b': the model has no row for 'd'; use two of a b c"),
        ([baseline, "--actual", ""], "--actual ''"),
        ([tmp_path / "none"], "no such folder"),
    ):
        result = symbinv("convert", *arguments, "--output", tmp_path / "new")
        assert result.code == 2 and message in result.err and result.err.count("\n") == 1
    result = symbinv("convert", baseline, "--output", baseline)
    assert result.code == 2 and "exists; name a new folder" in result.err
