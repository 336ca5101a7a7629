"""`python -m papers.streams.convert_ite_checkpoints`: a release in, a checkpoint that the other commands load out."""

import json

import pytest
import torch
from safetensors.torch import load_file

from papers.streams.convert_ite_checkpoints import main
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


def test_a_release_is_read_and_then_converted(convert, symbinv, release, tmp_path):
    result = convert(release, "--output", tmp_path / "ours")
    assert result.code == 0 and result.out.startswith(f"{tmp_path / 'ours'}: learned, ")
    assert json.loads((tmp_path / "ours" / "generation_config.json").read_text())["num_beams"] == 3
    assert symbinv("convert", tmp_path / "ours", "--output", tmp_path / "streams").code == 0
    table = load_file(tmp_path / "streams" / "model.safetensors")["model.embedding.weight"]
    assert torch.equal(table[-2:], torch.arange(60.0).view(15, 4)[3:5])  # a and b stand after three special tokens


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
