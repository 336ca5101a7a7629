"""A checkpoint in the layout of SIT's release gives the logits that the transcription of its architecture gives."""

import json
import random
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

from hf_symbinv import SymbolInvariantConfig
from hf_symbinv.tasks import LTL, PROP
from hf_symbinv.training.conversion import ConversionError
from papers.streams.convert_ite_checkpoints import is_release, main, read_release

D, HEADS, FF, LAYERS, STREAMS = 12, 3, 10, 2, 4
VOCABULARIES = {
    "ltl": {
        "consts": ["0", "1"], "trace_ops": ["&", "|", "!"], "ltl_ops": ["U", "X", "!", "&", "|"],
        "merge_tokens": "all", "dynamic_aps": True,
    },
    "prop": {"consts": ["0", "1"], "trace_ops": [], "ltl_ops": ["!", "&", "|", "=", "^"]},
}  # fmt: skip
# The base tokens of a release in the order of their rows, in our spelling.
SPECIAL = ["<pad>", "</s>", "<s>"]
ROWS = {"ltl": [*SPECIAL, *"01!&|;{}UX"], "prop": [*SPECIAL, *"01!&|", "<->", "^"]}
TASKS = {"ltl": LTL, "prop": PROP}
# Sets of components: what the release says of them.
BLOCKS = {
    "EP EA DP CP": {"cross_attn": "per", "no_dec_agg": True},
    "EP EA DP DA CA CP": {"cross_attn": "agg-per"},
    "EA DA CA": {"cross_attn": "agg", "no_enc_per": True, "no_dec_per": True},
    "EP DP DA CP CA": {"cross_attn": "per-agg", "no_enc_agg": True},
}
# Our name of a block: theirs, and that of its norm.
OWN = {
    "encoder.EP": ("multi_head_attn", "norm_attn"), "encoder.EA": ("multi_head_ap_attn", "norm_ap_attn"),
    "decoder.DP": ("multi_head_self_attn", "norm_self_attn"), "decoder.DA": ("multi_head_ap_attn", "norm_ap_attn"),
}  # fmt: skip


def content(task="ltl", blocks="EP EA DP CP", scaling="sqrtd", **changes):
    """What stands in config.json."""
    embedder = {
        "tie_embeddings": True, "pad_vocab_size_multiple": 8, "d_ap": 0, "base_normalization": "l2",
        "ap_normalization": "l2", "final_normalization": "l2", "feature_normalization": "l2", "embed_scaling": scaling,
    }  # fmt: skip
    vocab = {"aps": [*"abcdefghij"[:STREAMS]], "use_start_token": True, "use_pad_token": True, "use_eos_token": True}
    disabled = dict.fromkeys(("no_enc_agg", "no_dec_agg", "no_enc_per", "no_dec_per"), False)
    return {
        "vocab": vocab | VOCABULARIES[task], "d_embed_enc": D, "d_embed_dec": D, "d_ff": FF, "ff_activation": "relu",
        "dropout": 0.1, "num_heads": HEADS, "num_layers": LAYERS, "layer_norm_eps": 1e-6, "merged_embedder": embedder,
        "max_encode_length": 1024, "max_decode_length": 1024, "tree_pos_enc": True, "datatype": "float32",
        "enc_pe": "sinusoid", "dec_pe": "rope", "no_pe_cross_keys": False, **disabled, **BLOCKS[blocks], **changes,
    }  # fmt: skip


def transcription(task="ltl", blocks="EP EA DP CP", scaling="sqrtd"):
    """The release's architecture with random weights."""
    benchmarks = str(Path(__file__).parents[3] / "benchmarks")
    sys.path.insert(0, benchmarks)
    try:
        from transcription import Transcription
    finally:
        sys.path.remove(benchmarks)
    sizes = {"d_model": D, "encoder_layers": LAYERS, "decoder_layers": LAYERS, "num_attention_heads": HEADS, "d_ff": FF}
    config = SymbolInvariantConfig.from_preset(
        task, **sizes, components=blocks.split(), extra_streams=STREAMS, scale_embedding=scaling == "sqrtd"
    )
    peer = Transcription(config).eval()
    generator = torch.Generator().manual_seed(0)
    for parameter in peer.parameters():
        parameter.data = 0.4 * torch.randn(parameter.shape, generator=generator)
    return peer


def write(folder, content, peer, task="ltl"):
    """A release with the weights of the transcription."""
    state, ours, cross = {}, peer.state_dict(), [name for name in peer.config.components if name.startswith("C")]
    table, base = ours["model.embedding.weight"], list(TASKS[task].base_tokens)
    order = [*(base.index(token) for token in ROWS[task]), len(base), len(base) + 1]
    state["merged_embedder.base_weight"] = table[order]
    for side, stack in (("encoder", "encoder_stack.enc_layers"), ("decoder", "decoder_stack.dec_layers")):
        for layer in range(LAYERS):
            here, there = f"model.{side}.layers.{layer}", f"{stack}.{layer}"
            names = {f"{here}.feed_forward.fc1": f"{there}.ff.0", f"{here}.feed_forward.fc2": f"{there}.ff.2"}
            names[f"{here}.feed_forward.norm"] = f"{there}.norm_ff"
            places = {f"self_attention.{name.split('.')[1]}": OWN[name] for name in OWN if name.startswith(side)}
            if side == "decoder":
                nested = enumerate(cross)
                places |= {
                    f"cross_attention.{one}": (f"cross_attns.{i}.attn", f"cross_attns.{i}.norm") for i, one in nested
                }
            for block, (attention, norm) in places.items():
                if f"{here}.{block}.norm.weight" in ours:
                    names[f"{here}.{block}.norm"] = f"{there}.{norm}"
                    for one, other in zip("qkv", "QKV", strict=True):
                        names[f"{here}.{block}.{one}_proj"] = f"{there}.{attention}.{other}"
                    names[f"{here}.{block}.out_proj"] = f"{there}.{attention}.final_projection"
            for name, theirs in names.items():
                state |= {f"{theirs}.{kind}": ours[f"{name}.{kind}"].clone() for kind in ("weight", "bias")}
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(content))
    save_file(state, folder / "model.safetensors")
    return folder


def batch(task, counts):
    """Questions with so many symbols each, padded, and beginnings of answers with their symbols, start token first."""
    rng, base = random.Random(0), TASKS[task].base_tokens
    rows, answers = [], []
    for count in counts:
        symbols = [len(base) + referent for referent in rng.sample(range(STREAMS), count)]
        leaves = [*symbols, *(rng.choice([3, 4, *symbols]) for _ in range(2))]
        rows.append([*(rng.choice([5, 6]) for _ in leaves[1:]), *leaves, 2])
        answers.append([0, *(rng.choice([3, 4, 7, *symbols]) for _ in range(4))])
    width = max(map(len, rows))
    ids = torch.tensor([[*row, *[1] * (width - len(row))] for row in rows])
    return ids, (ids != 1).long(), torch.tensor(answers)


@pytest.mark.parametrize("scaling", ["sqrtd", None])
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("blocks", BLOCKS)
def test_logits_are_those_of_the_release(tmp_path, task, blocks, scaling):
    peer = transcription(task, blocks, scaling)
    model, found = read_release(write(tmp_path / "release", content(task, blocks, scaling), peer, task))
    assert found == TASKS[task] and model.config.extra_streams == STREAMS
    ids, mask, targets = batch(task, (2, 0, STREAMS, 1))
    with torch.no_grad():
        logits = model.double()(ids, mask, decoder_input_ids=targets, return_id_logits=True).logits
        expected = peer.double()(ids, mask, targets)
    torch.testing.assert_close(logits, expected, rtol=1e-12, atol=1e-12)
    assert expected[0].isinf().any() and not expected[2].isinf().any()  # a symbol that does not occur is not written


@pytest.mark.parametrize(("task", "question"), [("ltl", "&UabXa"), ("prop", "^ab")])
def test_what_the_command_writes_is_loaded_and_answers(tmp_path, capsys, task, question):
    peer = transcription(task)
    release = write(tmp_path / "release", content(task), peer, task)
    assert is_release(release) and main([str(release), "--output", str(tmp_path / "ours")]) == 0
    assert f"{tmp_path / 'ours'}: streams, " in capsys.readouterr().out
    assert "Symbol-Invariant Transformer" in (tmp_path / "ours" / "README.md").read_text()
    model = AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "ours")
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "ours")
    inputs = tokenizer(question, return_tensors="pt")
    answer = model.generate(**inputs, max_new_tokens=8, num_beams=1, grammar=None)
    with torch.no_grad():
        ours = model(**inputs, decoder_input_ids=answer[:, :-1], return_id_logits=True).logits
        theirs = peer(inputs["input_ids"], inputs["attention_mask"], answer[:, :-1])
    torch.testing.assert_close(ours[..., : theirs.shape[-1]], theirs[..., : ours.shape[-1]], rtol=1e-4, atol=1e-4)
    theirs[..., :2] = -torch.inf  # neither start token nor padding is written
    assert torch.equal(answer[0, 1:], theirs[0].argmax(-1))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cross_attn": "per-all"}, "cross_attn='per-all': unknown; SIT has per and agg, or both with - between them"),
        ({"cross_attn": ""}, "encoder-decoder models need CP or CA"),
        ({"no_dec_agg": False}, "parameter decoder_stack.dec_layers.0.multi_head_ap_attn.Q.weight is missing"),
        ({"no_enc_agg": True}, "unknown parameters: encoder_stack.enc_layers.0.multi_head_ap_attn.K.bias, "),
        ({"no_enc_agg": None, "mixture": 8}, "config.json has unknown mixture"),
    ],
)
def test_a_configuration_that_does_not_fit_the_weights_is_refused(tmp_path, changes, message):
    release = write(tmp_path / "release", content(**changes), transcription())
    with pytest.raises(ConversionError) as caught:
        read_release(release)
    assert message in str(caught.value)
