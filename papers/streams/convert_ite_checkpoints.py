"""Converts checkpoints of the Symbol-Invariant Transformer (SIT) and of "Interchangeable Token Embeddings" (ITE), as
their authors release them, to models of ours.

    python -m papers.streams.convert_ite_checkpoints SOURCE --output FOLDER

SOURCE is a folder with `config.json` and weights, or such a folder on the Hub, OWNER/NAME/FOLDER; without FOLDER the
command says which ones there are. Convert what it writes of ITE with `symbinv convert` for a model with streams.

`read_release` gives the model. Such a checkpoint is a folder with `config.json`
(`vocab`, `d_embed_enc`, `merged_embedder`, …) and `pytorch_model.bin`. ITE's encoder-decoder is ours with one stream:
post-norm blocks with four biased projections, a table that is tied three ways and may be multiplied by sqrt(D), tree or
sinusoidal or rotary positions. Keys and the order of the tokens differ:

    encoder_stack.enc_layers.0.multi_head_attn.Q         model.encoder.layers.0.self_attention.EP.q_proj
    encoder_stack.enc_layers.0.ff.0, .2                  model.encoder.layers.0.feed_forward.fc1, .fc2
    decoder_stack.dec_layers.0.multi_head_self_attn.Q    model.decoder.layers.0.self_attention.DP.q_proj
    decoder_stack.dec_layers.0.multi_head_enc_dec_attn.Q model.decoder.layers.0.cross_attention.CP.q_proj
    merged_embedder.base_weight, .ap_weight              model.embedding.weight

SIT's has more blocks, as its configuration says (`cross_attn`, `no_enc_agg`, …), and the rows of ours for streams:

    encoder_stack.enc_layers.0.multi_head_ap_attn.Q      model.encoder.layers.0.self_attention.EA.q_proj
    decoder_stack.dec_layers.0.multi_head_ap_attn.Q      model.decoder.layers.0.self_attention.DA.q_proj
    decoder_stack.dec_layers.0.cross_attns.0.attn.Q      model.decoder.layers.0.cross_attention.CP.q_proj

It has a stream for each symbol of its vocabulary, and averages the logits of base tokens over all of them: there are so
many `extra_streams`.

The logits are the same, but that the release sets those of `<start>` and `<pad>` to -inf (here `generate` leaves these
tokens out). A release searches with plain cosines, so AdaCos starts with the scale 1, and finds its own in training.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from huggingface_hub.errors import StrictDataclassError

from hf_symbinv.datasets_scripts.errors import refuse
from hf_symbinv.errors import UserError, hub_failure
from hf_symbinv.files import path_here, read_object
from hf_symbinv.modeling.configuration_symbinv import SymbolInvariantConfig
from hf_symbinv.modeling.modeling_symbinv import SymbolInvariantForConditionalGeneration
from hf_symbinv.tasks import TASKS, SymbolTask
from hf_symbinv.training.conversion import TABLE, ConversionError, save_converted
from hf_symbinv.training.recipe_run import GENERATION

# The first that there is: nothing but tensors can be in safetensors.
WEIGHTS = ("model.safetensors", "pytorch_model.bin")
ON_THE_HUB = re.compile(r"(?P<repository>[A-Za-z0-9][\w.-]*/[\w.-]+)(?:/(?P<folder>[\w./-]*\w))?/?")
SHOWN_FOLDERS = 20
NO_RELEASE = "is no release of SIT or ITE; `symbinv convert` takes the checkpoints of this package"
# Their tokens → ours, where they differ.
TOKENS = {"<start>": "<s>", "<eos>": "</s>", "xor": "^", "=": "<->"}
LASSO = [";", "{", "}"]
RANDOM_METHODS = {
    "randn": "normal", "nbor": "neighbors", "nbor_naive": "neighbors", "nbor_no_check": "neighbors",
    "diagbor": "hypercube", "diagbor_naive": "hypercube", "diagbor_no_check": "hypercube",
}  # fmt: skip
# Of each block with self-attention, its layers there, its attention and its norm.
BLOCKS = {
    "EP": ("encoder_stack.enc_layers", "multi_head_attn", "norm_attn"),
    "EA": ("encoder_stack.enc_layers", "multi_head_ap_attn", "norm_ap_attn"),
    "DP": ("decoder_stack.dec_layers", "multi_head_self_attn", "norm_self_attn"),
    "DA": ("decoder_stack.dec_layers", "multi_head_ap_attn", "norm_ap_attn"),
}
CROSS_BLOCK = "multi_head_enc_dec_attn", "norm_enc_dec_attn"  # of a model with one stream
STACKS = {"encoder_stack.enc_layers": "model.encoder.layers", "decoder_stack.dec_layers": "model.decoder.layers"}
PROJECTIONS = {"q_proj": "Q", "k_proj": "K", "v_proj": "V", "out_proj": "final_projection"}
KNOWN_FIELDS = {
    "vocab", "d_embed_enc", "d_embed_dec", "d_ff", "ff_activation", "dropout", "num_heads", "num_layers", "datatype",
    "layer_norm_eps", "merged_embedder", "max_encode_length", "max_decode_length", "enc_pe", "dec_pe",
    "no_pe_cross_keys", "tree_pos_enc",
}  # fmt: skip
KNOWN_VOCAB = {
    "aps", "consts", "trace_ops", "ltl_ops", "merge_tokens", "dynamic_aps", "use_start_token", "use_pad_token",
    "use_eos_token",
}  # fmt: skip
KNOWN_EMBEDDER = {
    "tie_embeddings", "pad_vocab_size_multiple", "d_ap", "ap_embed", "base_normalization", "ap_normalization",
    "final_normalization", "feature_normalization", "embed_scaling", "shuffle_aps",
}  # fmt: skip
# Of SIT alone: cross-attention in order, and what disables the blocks with self-attention.
CROSS, MODES = "cross_attn", {"per": "CP", "agg": "CA"}
DISABLED = {"no_enc_per": "EP", "no_enc_agg": "EA", "no_dec_per": "DP", "no_dec_agg": "DA"}
# Of ITE alone.
ONE_STREAM_VOCAB, ONE_STREAM_EMBEDDER = {"merge_tokens", "dynamic_aps"}, {"ap_embed", "shuffle_aps"}


def is_release(path: str | Path) -> bool:
    """Whether a folder, or the folder of a file, holds a checkpoint of the authors."""
    try:
        return "d_embed_enc" in read_object(_folder(path) / "config.json", "")
    except (OSError, UserError):
        return False


def find_release(source: str) -> Path:
    """Where a checkpoint of the authors lies; one on the Hub is downloaded, its configuration and its weights alone.

    Args:
        source: A folder, the file with the weights in it, or OWNER/NAME or OWNER/NAME/FOLDER on the Hub.

    Returns:
        Its folder or file.

    Raises:
        ConversionError: If it is no release, or the Hub cannot be reached or has no such release.
    """
    path, hub = Path(source), ON_THE_HUB.fullmatch(source)
    if path.exists() or hub is None:
        _require(path.exists(), "no such folder; on the Hub a release is called OWNER/NAME/FOLDER")
        _require(is_release(path), NO_RELEASE)
        return path
    from huggingface_hub import HfApi, snapshot_download

    repository, prefix = hub["repository"], f"{hub['folder']}/" if hub["folder"] else ""
    try:
        snapshot = Path(snapshot_download(repository, allow_patterns=f"{prefix}config.json"))
        folder = snapshot / prefix
        if is_release(folder):
            # The revision is that of the configuration, also if somebody pushes meanwhile.
            names = [f"{prefix}{name}" for name in WEIGHTS]
            snapshot_download(repository, revision=snapshot.name, allow_patterns=names)
            return folder
        _require(not (folder / "config.json").is_file(), NO_RELEASE)
        files = HfApi().list_repo_files(repository, revision=snapshot.name)
    except Exception as error:  # of many types, for no network, no such repository, no access
        failure = hub_failure(error, repository)
        if failure is None:
            raise
        raise ConversionError(f"no such folder, and {failure.removeprefix(f'{repository}: ')}") from error
    folders = sorted(f"{repository}/{file.removesuffix('/config.json')}" for file in files if "/config.json" in file)
    shown = f"{', '.join(folders[:SHOWN_FOLDERS])}{', …' * (len(folders) > SHOWN_FOLDERS)}" or "none"
    raise ConversionError(f"has no config.json there; folders of this repository with one: {shown}")


def read_release(path: str | Path) -> tuple[SymbolInvariantForConditionalGeneration, SymbolTask]:
    """Reads a checkpoint of the authors.

    Args:
        path: its folder, or the file with the weights in it.

    Returns:
        The model, in evaluation mode and single precision, with `symbol_embedding` `streams` (of SIT), `learned` (no
        dynamic symbols), `renamed` (shuffled symbols) or `random`; and the task that has its tokens.

    Raises:
        ConversionError: If a file is missing or damaged, the architecture has what ours has not, or parameters are
            missing, left over or of another shape.
        OSError: If a file cannot be read.
    """
    folder = _folder(path)
    content = read_object(folder / "config.json", "download it again", ConversionError)
    _check_architecture(content)
    state = _read_weights(Path(path))
    table, fields, task = _read_table(content, state)
    config = _config(content, fields, task)
    names = _names(config)
    model = SymbolInvariantForConditionalGeneration(config)
    ours = {TABLE: table}
    ours |= {name: _take(state, theirs) for name, theirs in names.items()}
    _require(not state, f"unknown parameters: {', '.join(sorted(state))}; this architecture is none of SIT's or ITE's")
    if model.adacos is not None:
        ours["adacos.scale"] = torch.tensor(1.0)
    for name, tensor in model.named_parameters():
        _require(
            ours[name].shape == tensor.shape,
            f"parameter {names.get(name, 'merged_embedder.base_weight')} has shape {tuple(ours[name].shape)}, "
            f"and by config.json it is {tuple(tensor.shape)}; take both from one checkpoint",
        )
    model.load_state_dict(ours)
    return model.eval(), task


def _config(content: Mapping[str, Any], fields: Mapping[str, Any], task: SymbolTask) -> SymbolInvariantConfig:
    encoder = _positions(content["enc_pe"], bool(content.get("tree_pos_enc")))
    decoder, heads = _positions(content["dec_pe"], False), content["num_heads"]
    try:
        return task.config(
            **fields,
            d_model=content["d_embed_enc"] - content["d_embed_enc"] % heads,  # as the release rounds it
            encoder_layers=content["num_layers"],
            decoder_layers=content["num_layers"],
            num_attention_heads=heads,
            d_ff=content["d_ff"],
            activation_function=content["ff_activation"],
            dropout=content["dropout"],
            layer_norm_eps=content["layer_norm_eps"],
            components=_components(content),
            scale_embedding=content["merged_embedder"]["embed_scaling"] is not None,
            encoder_positions=encoder,
            decoder_positions=decoder,
        )
    except (ValueError, TypeError, ZeroDivisionError, StrictDataclassError) as error:
        raise ConversionError(f"config.json describes no model of ours: {error.__cause__ or error}") from error


def _folder(path: str | Path) -> Path:
    path = Path(path)
    return path.parent if path.is_file() else path


def _read_weights(path: Path) -> dict[str, torch.Tensor]:
    files = [path] if path.is_file() else [path / name for name in WEIGHTS if (path / name).is_file()]
    _require(bool(files), f"{path}: has no {' or '.join(WEIGHTS)}; download the whole checkpoint")
    file = files[0]
    try:
        if file.suffix == ".safetensors":
            from safetensors.torch import load_file

            state = load_file(file)
        else:
            state = torch.load(file, map_location="cpu", weights_only=True)  # no other object of a pickle is made
    except OSError:
        raise
    except Exception as error:  # pickle, zip and safetensors raise many types; all mean the same here
        reason = str(error).split("\n")[0]
        raise ConversionError(
            f"{file}: no file of tensors ({type(error).__name__}: {reason}); download it again"
        ) from error
    _require(
        isinstance(state, Mapping) and all(isinstance(tensor, torch.Tensor) for tensor in state.values()),
        f"{file}: holds a {type(state).__name__}, not tensors by name; give the file with the model's weights",
    )
    return {str(name): tensor.float() for name, tensor in state.items()}


def _check_architecture(content: Mapping[str, Any]) -> None:
    """Refuses what no configuration of ours expresses."""
    streams = CROSS in content
    optional = {"datatype", "max_encode_length", "max_decode_length", "tree_pos_enc"}
    blocks = {CROSS, *DISABLED} if streams else set()
    _check_fields("config.json", content, KNOWN_FIELDS | blocks, optional)
    embedder = content["merged_embedder"]
    _require(
        isinstance(embedder, dict)
        and isinstance(content["vocab"], dict)
        and content["vocab"].get("merge_tokens", "all" if streams else None) == "all",
        "its encoder and decoder have vocabularies of their own, and a projection with bias; here all three share one "
        "table (only releases with --merged-vocab --merge-tokens=all can be read)",
    )
    _check_fields("config.json, vocab", content["vocab"], KNOWN_VOCAB, ONE_STREAM_VOCAB if streams else set())
    optional = {"tie_embeddings", "pad_vocab_size_multiple"} | (ONE_STREAM_EMBEDDER if streams else set())
    _check_fields("config.json, merged_embedder", embedder, KNOWN_EMBEDDER, optional)
    _require(
        content["d_embed_dec"] in (None, content["d_embed_enc"]),
        f"d_embed_enc={content['d_embed_enc']}, d_embed_dec={content['d_embed_dec']}: here both are one d_model",
    )
    _require(
        embedder["embed_scaling"] in ("sqrtd", None),
        f'embed_scaling={embedder["embed_scaling"]!r}: here embeddings are multiplied by sqrt(D), "sqrtd", or by '
        "nothing, null; other scalings cannot be expressed",
    )
    _require(
        not (content["no_pe_cross_keys"] and content["dec_pe"] == "rope"),
        "no_pe_cross_keys: here rotary positions turn the keys of cross-attention too",
    )
    _require(
        not (content.get("tree_pos_enc") and content["enc_pe"] == "rope"),
        "tree_pos_enc with enc_pe='rope': here an encoder has tree positions or rotary ones, not both",
    )
    for name in ("base", "ap", "final", "feature"):
        value = embedder.get(f"{name}_normalization")
        _require(value in ("l2", "disabled"), f"{name}_normalization={value!r}: unknown; ITE has l2 and disabled")


def _check_fields(where: str, content: Mapping[str, Any], known: set[str], optional: set[str]) -> None:
    for problem, names in (("has unknown", set(content) - known), ("lacks", known - optional - set(content))):
        _require(not names, f"{where} {problem} {', '.join(sorted(names))}; take it from a release of SIT or ITE")


def _components(content: Mapping[str, Any]) -> list[str]:
    """The attention blocks of a layer."""
    if CROSS not in content:
        return ["EP", "DP", "CP"]
    modes = content[CROSS].split("-") if content[CROSS] else []
    unknown = [mode for mode in modes if mode not in MODES]
    _require(not unknown, f"{CROSS}={content[CROSS]!r}: unknown; SIT has per and agg, or both with - between them")
    return [block for field, block in DISABLED.items() if not content[field]] + [MODES[mode] for mode in modes]


def _positions(name: str, tree: bool) -> str:
    if tree:
        return "tree"
    _require(name in ("rope", "sinusoid"), f"positions {name!r}: unknown; ITE has rope and sinusoid")
    return "rope" if name == "rope" else "sinusoidal"


def _read_table(
    content: Mapping[str, Any], state: dict[str, torch.Tensor]
) -> tuple[torch.Tensor, dict[str, Any], SymbolTask]:
    """The embedding table in our order, the fields of the configuration that it decides, and the tokens' task."""
    embedder, vocab = content["merged_embedder"], content["vocab"]
    weight = _take(state, "merged_embedder.base_weight")
    streams, symbols = CROSS in content, [str(name) for name in vocab["aps"]]
    dynamic = streams or bool(vocab["dynamic_aps"])
    is_random = not streams and dynamic and embedder["shuffle_aps"] is None
    own = 2 if streams else int(is_random)  # rows of all symbols: actual and placeholder, or the shared part
    tokens = _tokens(vocab, [] if dynamic else symbols, rows=len(weight) - own)
    base = [TOKENS.get(token, token) for token in tokens if token not in symbols or dynamic]
    task = next((task for task in TASKS.values() if sorted(task.base_tokens) == sorted(base)), None)
    if task is None:
        raise ConversionError(f"base tokens {' '.join(base)}: no task has these; tasks: {', '.join(TASKS)}")
    places = {TOKENS.get(token, token): place for place, token in enumerate(tokens)}
    rows = [weight[[places[token] for token in task.base_tokens]]]
    normalize = {name: embedder[f"{name}_normalization"] == "l2" for name in ("base", "ap", "final", "feature")}
    fields: dict[str, Any] = {
        "symbol_embedding": "learned",
        "num_symbols": len(symbols),
        "normalize_embeddings": normalize["final"],
        "normalize_features": normalize["feature"],
        "loss": "adacos" if normalize["final"] and normalize["feature"] else "cross_entropy",
    }
    if streams:
        rows.append(weight[-2:])
        fields |= {"symbol_embedding": "streams", "extra_streams": len(symbols)}
    elif not dynamic:
        rows.append(weight[[places[name] for name in symbols]])
    elif not is_random:
        rows.append(_take(state, "merged_embedder.ap_weight"))
        fields |= {"symbol_embedding": "renamed", "num_symbols": embedder["shuffle_aps"]}
    else:
        method = embedder["ap_embed"]
        _require(
            method in RANDOM_METHODS,
            f"ap_embed={method!r}: here random parts are drawn, not learned; known are {', '.join(RANDOM_METHODS)}",
        )
        _require(
            normalize["base"] == normalize["ap"],
            "base_normalization and ap_normalization differ: here normalize_parts is for both",
        )
        rows.append(weight[-1:])
        fields |= {
            "symbol_embedding": "random", "random_dim": embedder["d_ap"],
            "random_method": RANDOM_METHODS[method], "normalize_parts": normalize["base"],
        }  # fmt: skip
    return torch.cat(rows), fields, task


def _take(state: dict[str, torch.Tensor], name: str) -> torch.Tensor:
    _require(name in state, f"parameter {name} is missing; take config.json and weights from one checkpoint")
    return state.pop(name)


def _tokens(vocab: Mapping[str, Any], symbols: list[str], rows: int) -> list[str]:
    """Their tokens in the order of their rows: special ones, symbols, constants, operators of both sides, of one side.

    The releases for LTL add the tokens of a lasso; those for copying, which have no operators, do not.
    """
    special = [f"<{name}>" for name in ("pad", "eos", "start") if vocab[f"use_{name}_token"]]
    for lasso in (LASSO, []):
        answer, question = [*vocab["trace_ops"], *lasso], list(vocab["ltl_ops"])
        common = [token for token in question if token in answer]
        own = [[token for token in side if token not in common] for side in (answer, question)]
        tokens = [*special, *symbols, *vocab["consts"], *common, *own[0], *own[1]]
        if len(tokens) == rows:
            return tokens
    raise ConversionError(
        f"merged_embedder.base_weight has {rows} rows for tokens, the vocabulary in config.json has another number of "
        "them; take both from one checkpoint"
    )


def _names(config: SymbolInvariantConfig) -> dict[str, str]:
    """Our names of parameters → theirs, but for the embeddings."""
    components = config.components or []
    cross = [block for block in components if block not in BLOCKS]
    names: dict[str, str] = {}
    for their_stack, our_stack in STACKS.items():
        for layer in range(config.encoder_layers):
            theirs, ours = f"{their_stack}.{layer}", f"{our_stack}.{layer}"
            pairs = {f"{ours}.feed_forward.{name}": f"{theirs}.ff.{i}" for name, i in (("fc1", 0), ("fc2", 2))}
            pairs[f"{ours}.feed_forward.norm"] = f"{theirs}.norm_ff"
            found = {
                f"self_attention.{block}": BLOCKS[block][1:]
                for block in components
                if block in BLOCKS and BLOCKS[block][0] == their_stack
            }
            if their_stack == BLOCKS["DP"][0]:
                for place, block in enumerate(cross):
                    nested = f"cross_attns.{place}.attn", f"cross_attns.{place}.norm"
                    found[f"cross_attention.{block}"] = nested if config.symbol_embedding == "streams" else CROSS_BLOCK
            for block, (attention, norm) in found.items():
                pairs |= {f"{ours}.{block}.{own}": f"{theirs}.{attention}.{name}" for own, name in PROJECTIONS.items()}
                pairs[f"{ours}.{block}.norm"] = f"{theirs}.{norm}"
            names |= {f"{a}.{kind}": f"{b}.{kind}" for a, b in pairs.items() for kind in ("weight", "bias")}
    return names


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ConversionError(message)


def convert(source: str, folder: Path) -> str:
    """Writes the model of a release to a new folder.

    Returns:
        What it is.

    Raises:
        UserError: If there is no such release, or the folder exists.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"--output {folder}: exists; name a new folder")
    try:
        model, task = read_release(find_release(source))
    except ConversionError as error:
        raise UserError(f"{source}: {error}") from error
    model.generation_config.update(**GENERATION)
    streams = model.config.symbol_embedding == "streams"
    paper = "Symbol-Invariant Transformer" if streams else "Interchangeable Token Embeddings"
    how = f'Read from a release of "{paper}"; the parameters are its own.'
    save_converted(model, task.tokenizer(model.config), folder, source=source, how=how)
    return f"{folder}: {model.config.symbol_embedding}, {model.num_parameters():,} parameters"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m papers.streams.convert_ite_checkpoints",
        description="Convert a checkpoint of the Symbol-Invariant Transformer or of Interchangeable Token Embeddings, "
        "as their authors release them.",
    )
    parser.add_argument("source", metavar="SOURCE", help="folder, file of weights, OWNER/NAME or OWNER/NAME/FOLDER")
    parser.add_argument("--output", type=path_here, required=True, metavar="FOLDER", help="a new folder")
    options = parser.parse_args(arguments)
    try:
        print(convert(options.source, options.output))
    except Exception as error:
        return refuse(error)
    return 0


if __name__ == "__main__":
    sys.exit(main())
