"""The configuration has the paper's sizes, refuses what no model can be, and survives saving."""

import json

import pytest
import torch
from huggingface_hub.errors import StrictDataclassError
from transformers import AutoConfig

from hf_symbinv import SymbolInvariantConfig, SymbolInvariantForConditionalGeneration

# Table 6 of the paper: its sets of components, and the parameters of models with three, four, five and six of them.
SETS = [
    f"{encoder} {decoder} {cross}"
    for encoder in ("EP", "EA", "EP EA") for decoder in ("DP", "DA", "DP DA") for cross in ("CP", "CP CA")
] + ["EP DP EA DA CA"]  # fmt: skip
PARAMETERS = {
    "prop": (2_457_216, 2_681_856, 2_906_496, 3_131_136), "ltl": (2_520_000, 2_654_144, 2_788_288, 2_922_432),
}  # fmt: skip
TABLE_6 = [(task, each, counts[len(each.split()) - 3]) for task, counts in PARAMETERS.items() for each in SETS]
BEST = [("prop", "EP DP EA DA CP", 2_906_496), ("ltl", "EP DP EA CP", 2_654_144)]

NOT_FINITE = [float("inf"), float("-inf"), float("nan")]
GRAMMAR = SymbolInvariantConfig.from_preset("ltl").grammar
ONE_STREAM = ("learned", "renamed", "random")


def count_parameters(config):
    with torch.device("meta"):
        model = SymbolInvariantForConditionalGeneration(config)
    return sum(parameter.numel() for parameter in model.parameters())


@pytest.mark.parametrize(("task", "components", "parameters"), TABLE_6)
def test_parameter_counts_are_those_of_table_6(task, components, parameters):
    assert count_parameters(SymbolInvariantConfig.from_preset(task, components=components.split())) == parameters


def test_presets_are_the_papers_best_models():
    for task, components, parameters in BEST:
        config = SymbolInvariantConfig.from_preset(task)
        assert sorted(config.components) == sorted(components.split())
        assert count_parameters(config) == parameters


def test_a_config_with_table_5s_ltl_sizes_has_2654144_parameters_and_these_are_the_defaults():
    sizes = {"base_vocab_size": 13, "d_model": 64, "encoder_layers": 8, "decoder_layers": 8, "num_attention_heads": 4}
    config = SymbolInvariantConfig(**sizes, d_ff=1024, components=["EP", "DP", "EA", "CP"])
    assert count_parameters(config) == 2_654_144
    assert config.to_dict() == SymbolInvariantConfig().to_dict()


@pytest.mark.parametrize("symbol_embedding", ["streams", "random"])
def test_the_number_of_parameters_does_not_depend_on_the_number_of_symbols(symbol_embedding):
    config = {"symbol_embedding": symbol_embedding, "random_dim": 16}
    few, many = (count_parameters(SymbolInvariantConfig(**config, num_symbols=n)) for n in (5, 500))
    assert few == many


@pytest.mark.parametrize(
    ("preset", "base", "layers", "width", "middle", "heads"),
    [("ltl-baseline", 13, 8, 128, 1024, 8), ("prop-baseline", 10, 6, 132, 512, 6)],  # ITE Table 4
)
def test_baselines_have_the_sizes_of_table_4_and_the_parameters_that_follow(preset, base, layers, width, middle, heads):
    config = SymbolInvariantConfig.from_preset(preset)
    assert (config.d_model, config.encoder_layers, config.decoder_layers) == (width, layers, layers)
    assert (config.d_ff, config.num_attention_heads, config.symbol_embedding) == (middle, heads, "learned")
    norm = 2 * width
    attention = 4 * (width * width + width) + norm
    feed_forward = width * middle + middle + middle * width + width + norm
    rest = layers * (attention + feed_forward) + layers * (2 * attention + feed_forward)
    tables = {"learned": (base + 5) * width, "renamed": (base + 5) * width, "random": (base + 1) * (width - 8)}
    for symbol_embedding, table in tables.items():
        config = SymbolInvariantConfig.from_preset(preset, symbol_embedding=symbol_embedding)
        assert count_parameters(config) == rest + table
    more = SymbolInvariantConfig.from_preset(preset, num_symbols=9)
    assert count_parameters(more) == rest + (base + 9) * width


@pytest.mark.parametrize(
    ("symbol_embedding", "components"),
    [("streams", "EP DP EA CP"), ("learned", "EP DP CP"), ("renamed", "EP DP CP"), ("random", "EP DP CP")],
)
def test_components_are_by_default_those_that_the_embedding_can_use(symbol_embedding, components):
    assert SymbolInvariantConfig(symbol_embedding=symbol_embedding).components == components.split()


DECODER, ENCODER = {"encoder_layers": 0}, {"decoder_layers": 0}
VALUES = {"name": "assignment", "values": [3, 4]}
IMPOSSIBLE = [
    *(({name: 0}, f"{name}=0: must be at least 1") for name in (
        "base_vocab_size", "d_model", "num_views", "max_positions", "encoder_passes", "num_attention_heads", "d_ff",
    )),
    *(({name: -1}, f"{name}=-1: must be ") for name in (
        "encoder_layers", "decoder_layers", "num_symbols", "num_fresh_symbols", "extra_streams", "eos_token_id",
        "dropout", "label_smoothing", "initializer_range",
    )),
    *(({name: 0}, f"{name}=0: must be ") for name in (
        "rope_theta", "identity_multiplier", "initializer_range",
    )),
    ({"random_share": 0, "symbol_embedding": "renamed"}, "random_share=0: must be a probability"),
    ({"layer_norm_eps": 0.0}, "layer_norm_eps=0.0: must be positive"),
    *(({name: 1.0}, f"{name}=1.0: must be a ") for name in ("dropout", "label_smoothing")),
    *(({f"{name}_token_id": 13}, f"{name}_token_id=13: must be a base id, 0 … 12") for name in (
        "pad", "bos", "eos", "decoder_start",
    )),
    *(({"symbol_embedding": kind, "num_symbols": 0}, "num_symbols=0: must be at least 1") for kind in ONE_STREAM),
    ({"activation_function": "nope"}, "activation_function='nope': must be a key of transformers' ACT2FN"),
    ({"d_model": 60, "num_attention_heads": 4}, r"d_model=60: must be a multiple of 2 \* num_attention_heads = 8"),
    ({**DECODER, **ENCODER}, "encoder_layers=0, decoder_layers=0: a model needs layers of one kind at least"),
    *(({**fields, "components": components.split()},
       rf"components='{components.replace(' ', '-')}': '{wrong}' is no block of this model; use some of {known}$")
      for fields, components, wrong, known in (
          ({}, "EP DQ", "DQ", "EP EA DP DA CP CA"),
          (ENCODER, "EP CP", "CP", "EP EA"),
          (DECODER, "DP CP", "CP", "DP DA"),
          ({**ENCODER, "symbol_embedding": "views"}, "EP EA", "EA", "EP"),
          ({**DECODER, "symbol_embedding": "learned"}, "DP DA", "DA", "DP"),
          *(({"symbol_embedding": kind}, f"EP DP CP {one}", one, "EP DP CP")
            for kind, one in (("learned", "EA"), ("renamed", "DA"), ("random", "CA"))),
      )),
    *(({**fields, "components": components.split()}, f"{needs}, or both")
      for fields, components, needs in (
          ({}, "EP DP", "encoder-decoder models need CP or CA"), ({}, "EP CA", "encoder-decoder models need DP or DA"),
          (ENCODER, "", "encoder-only models need EP or EA"), (DECODER, "", "decoder-only models need DP or DA"),
      )),
    ({"components": ["DP", "CP", "CP"]}, "components='DP-CP-CP': a component is listed twice"),
    *(({**fields, "symbol_embedding": kind}, f"symbol_embedding='{kind}': a model that is {of} has one of")
      for fields, kind, of in (
          ({}, "views", "encoder-decoder"), ({}, "gaussian", "encoder-decoder"), (ENCODER, "gaussian", "encoder-only"),
          (ENCODER, "random", "encoder-only"), (DECODER, "random", "decoder-only"), (DECODER, "views", "decoder-only"),
      )),
    ({"num_views": 2, **DECODER}, "num_views=2: a decoder alone writes symbols of one view"),
    ({"embedding_norm": True}, "embedding_norm=True: is for an encoder alone"),
    ({"scale_embedding": False, "symbol_embedding": "gaussian", **DECODER}, "scale_embedding=False: gaussian rows"),
    *(({"num_fresh_symbols": 3, "symbol_embedding": kind}, "num_fresh_symbols=3: symbol_embedding='.*' has a row for")
      for kind in ONE_STREAM),
    ({"num_fresh_symbols": 3, **ENCODER}, "num_fresh_symbols=3: an encoder alone writes no symbols"),
    *(({"extra_streams": 3, **fields}, "extra_streams=3: is for an encoder-decoder with streams whose answers")
      for fields in ({"symbol_embedding": "learned"}, DECODER, {"num_fresh_symbols": 2}, ENCODER)),
    ({"random_share": 0.5, "symbol_embedding": "learned"}, "random_share=0.5: symbol_embedding='learned' randomises"),
    *(({"symbol_embedding": "random", "random_dim": width}, f"random_dim={width}: must be at least 1, and less than")
      for width in (0, -1, 64)),
    ({"symbol_embedding": "random", "random_dim": 2}, "num_symbols=64: hypercube with random_dim=2 has 4 different"),
    ({"symbol_embedding": "random", "random_method": "neighbors", "random_dim": 2, "num_symbols": 9},
     "num_symbols=9: neighbors with random_dim=2 has 8 different vectors"),
    ({"problem_type": "multi_label_classification"}, "problem_type='multi_label_classification': use reg"),
    *(({"token_arity": table}, r"token_arity=.*: keys are base ids 0 … 12, values 0, 1 or 2")
      for table in ({13: 1}, {3: 3}, {"and": 2}, {True: 1})),
    ({"encoder_positions": "tree"}, "encoder_positions='tree': needs token_arity"),
    ({**DECODER, "encoder_passes": 2}, "encoder_passes=2: a decoder without encoder"),
    ({**DECODER, "encoder_positions_in_layers": True}, "encoder_positions_in_layers=True: a decoder without encoder"),
    ({"encoder_positions_in_layers": True}, "encoder_positions_in_layers=True: encoder_positions=\"rope\" turns"),
    *(({name: False}, "loss='adacos': scales cosines") for name in ("normalize_features", "normalize_embeddings")),
    ({"tie_word_embeddings": False}, "tie_word_embeddings=False: encoder, decoder and projection share one table"),
    ({**DECODER, "grammar": VALUES}, "grammar=.*: is for encoder-decoders"),
    ({"num_views": 2, "grammar": VALUES}, "grammar='assignment' with num_views=2: grammars know symbols of one view"),
    ({"num_fresh_symbols": 3, "grammar": VALUES}, "grammar with num_fresh_symbols=3: grammars know the symbols of the"),
    ({"grammar": GRAMMAR, "eos_token_id": None}, "eos_token_id=None: grammar needs a token that ends an answer"),
    ({"vocab_size": 18}, r"vocab_size follows from base_vocab_size \+ num_symbols \* num_views and cannot"),
    ({"num_atention_heads": 4}, "num_atention_heads=4: unknown field; did you mean num_attention_heads?"),
    ({"zzz": 1}, "zzz=1: unknown field; SymbolInvariantConfig's docstring lists the fields"),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "message"), IMPOSSIBLE, ids=str)
def test_impossible_configurations_are_refused_with_a_reason(fields, message):
    with pytest.raises((ValueError, StrictDataclassError), match=message):
        SymbolInvariantConfig(**fields)


@pytest.mark.parametrize(
    "fields", [{"d_model": "64"}, {"components": "EP-DP"}, {"loss": "mse"}, {"token_arity": [2, 1]}]
)
def test_wrong_types_are_refused_by_the_name_of_the_field(fields):
    with pytest.raises(StrictDataclassError, match=next(iter(fields))):
        SymbolInvariantConfig(**fields)


def test_an_unknown_preset_is_refused():
    with pytest.raises(
        ValueError, match="preset='copy': unknown preset; use one of ltl, prop, ltl-baseline, prop-baseline, lexin"
    ):
        SymbolInvariantConfig.from_preset("copy")


VECTORS = {"random_dim": 7, "random_method": "neighbors", "normalize_parts": False}


@pytest.mark.parametrize(
    ("preset", "fields"),
    [
        ("ltl", {"components": ["CA", "DP", "CP"], "num_symbols": 7, "dropout": 0, "rope_theta": 500}),
        *(("prop-baseline", {"symbol_embedding": kind, **VECTORS}) for kind in ONE_STREAM),
    ],
)
def test_saving_and_loading_keeps_every_field(preset, fields, tmp_path):
    config = SymbolInvariantConfig.from_preset(preset, **fields)
    config.save_pretrained(tmp_path)
    assert json.loads((tmp_path / "config.json").read_text())["model_type"] == "symbol_invariant"
    for loaded in (SymbolInvariantConfig.from_pretrained(tmp_path), AutoConfig.from_pretrained(tmp_path)):
        assert type(loaded) is SymbolInvariantConfig
        assert loaded.to_diff_dict() == config.to_diff_dict()
        assert loaded.token_arity == config.token_arity and all(type(key) is int for key in loaded.token_arity)
        assert all(getattr(loaded, name) == value for name, value in {**fields, "grammar": config.grammar}.items())


OTHERS_KEYS = {
    "quantization_config": {"quant_method": "torchao", "quant_type": {"default": {"_type": "Int8WeightOnlyConfig"}}},
    "custom_pipelines": {"ltl": {"impl": "ltl.LTL", "pt": ["AutoModelForSeq2SeqLM"]}},
    "transformers.js_config": {"dtype": "q8"},
    "note": "trained on a Sunday",
    "field_of_a_newer_transformers": [1, 2],
}


def test_a_configuration_keeps_the_keys_of_others_through_files_and_arguments(tmp_path):
    SymbolInvariantConfig().save_pretrained(tmp_path)
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **OTHERS_KEYS}))
    config = AutoConfig.from_pretrained(tmp_path, note="another", dropout=0.3)
    assert (config.note, config.dropout) == ("another", 0.3)
    config.save_pretrained(tmp_path)
    saved = json.loads(path.read_text())
    assert {name: saved[name] for name in OTHERS_KEYS} == {**OTHERS_KEYS, "note": "another"}
    again, unused = SymbolInvariantConfig.from_pretrained(tmp_path, return_unused_kwargs=True, weather="fair")
    assert again.to_diff_dict() == config.to_diff_dict() and unused == {"weather": "fair"}
    with pytest.raises((ValueError, StrictDataclassError), match="note='x': unknown field"):
        SymbolInvariantConfig(note="x")


def test_names_of_transformers_reach_the_same_fields():
    config = SymbolInvariantConfig()
    assert config.hidden_size == config.d_model == 64
    assert config.num_hidden_layers == config.encoder_layers == 8
    assert config.vocab_size == 77
    assert AutoConfig.for_model("symbol_invariant").to_dict() == config.to_dict()


@pytest.mark.parametrize("value", NOT_FINITE)
@pytest.mark.parametrize(
    "name", ["dropout", "layer_norm_eps", "rope_theta", "identity_initial", "identity_multiplier", "label_smoothing"]
)
def test_numbers_that_json_does_not_have_are_refused(name, value):
    with pytest.raises(StrictDataclassError) as caught:
        SymbolInvariantConfig(**{name: value})
    assert f"{name}={value}: must be finite" in str(caught.value.__cause__ or caught.value)
