"""Each stream of a converted model computes what the vanilla one does if one symbol is `a` and all others are `b`."""

import random

import pytest
import torch

from hf_symbinv import SymbolInvariantConfig, SymbolInvariantForConditionalGeneration
from hf_symbinv.tasks import LTL
from hf_symbinv.training.conversion import TABLE, ConversionError, save_converted, to_streams

BASE = len(LTL.base_tokens)
SIZES = {"d_model": 18, "encoder_layers": 2, "decoder_layers": 1, "num_attention_heads": 3, "d_ff": 11, "dropout": 0.1}


def vanilla(embedding="learned", **fields):
    """A vanilla model in double precision, whose every parameter is random."""
    config = LTL.config(**{**SIZES, "symbol_embedding": embedding, "num_symbols": 4, **fields})
    model = SymbolInvariantForConditionalGeneration(config)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            parameter.copy_(0.4 * noise + (1.0 if name.endswith("norm.weight") else 0.0))
    return model.double().eval()


def formula(rng, size, leaves):
    """A random formula in prefix notation, of `size` tokens."""
    if size == 1:
        return rng.choice(leaves)
    if size == 2 or rng.random() < 0.3:
        return rng.choice("!X") + formula(rng, size - 1, leaves)
    left = rng.randint(1, size - 2)
    return rng.choice("&|U") + formula(rng, left, leaves) + formula(rng, size - 1 - left, leaves)


def logits(model, question, answer):
    """Logits `(T, columns)` in id space, for one question and an answer to it."""
    letters = LTL.tokenizer(LTL.config(symbol_embedding="learned", num_symbols=26))  # whose ids are those of rows
    ids = letters(question, text_target=answer, return_tensors="pt")
    target = torch.cat((torch.tensor([[model.config.decoder_start_token_id]]), ids["labels"]), dim=1)
    with torch.no_grad():
        return model(ids["input_ids"], decoder_input_ids=target, return_id_logits=True).logits[0]


def seen_by(symbol, text, actual, placeholder):
    """What the stream of `symbol` sees of a text."""
    return "".join(
        actual if character == symbol else placeholder if character.islower() else character for character in text
    )


@pytest.mark.parametrize("embedding", ["learned", "renamed"])
@pytest.mark.parametrize(("actual", "placeholder"), [("a", "b"), ("d", "a")])
@pytest.mark.parametrize("normalize", [True, False])
def test_each_stream_is_the_vanilla_model_on_two_symbols(embedding, actual, placeholder, normalize):
    plain = {"normalize_features": False, "normalize_embeddings": False, "loss": "cross_entropy"}
    model = vanilla(embedding, **({} if normalize else plain))
    referents = [ord(name) - ord("a") for name in (actual, placeholder)]
    converted = to_streams(model, *referents)
    rng = random.Random(0)
    for size in (1, 5, 9, 17):
        question = formula(rng, size, "abcxyz")
        symbols = sorted({character for character in question if character.islower()})
        answer = f"&{symbols[0]}!{symbols[-1]};{{{symbols[0]}}}"
        streams = [
            logits(model, *(seen_by(symbol, text, actual, placeholder) for text in (question, answer)))
            for symbol in symbols
        ]
        ours = logits(converted, question, answer)
        torch.testing.assert_close(ours[:, :BASE], torch.stack(streams).mean(0)[:, :BASE])
        for symbol, stream in zip(symbols, streams, strict=True):
            torch.testing.assert_close(ours[:, BASE + ord(symbol) - ord("a")], stream[:, BASE + referents[0]])


def test_all_parameters_but_the_symbols_rows_are_the_same():
    model = vanilla("renamed")
    converted = to_streams(model, actual=2, placeholder=1)
    before, after = (dict(one.named_parameters()) | dict(one.named_buffers()) for one in (model, converted))
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before if name != TABLE)
    assert torch.equal(before[TABLE][[*range(BASE), BASE + 2, BASE + 1]], after[TABLE])
    assert converted.lm_head.weight is converted.model.embedding.weight
    assert (
        converted.config.symbol_embedding == "streams" and converted.dtype == torch.float64 and not converted.training
    )


def test_the_papers_vanilla_model_becomes_the_papers_model_with_streams():
    """SIT Table 6: LTL EP-DP-CP has 2,520,000 parameters."""
    with torch.device("meta"):
        config = SymbolInvariantConfig.from_preset("ltl", symbol_embedding="learned", components=["EP", "DP", "CP"])
    model = SymbolInvariantForConditionalGeneration(config)
    count = sum(parameter.numel() for parameter in model.parameters())
    assert count - (config.num_symbols - 2) * config.d_model == 2_520_000
    assert sum(parameter.numel() for parameter in to_streams(model).parameters()) == 2_520_000


def test_grammar_generation_and_card_are_saved_with_the_model(tmp_path):
    model = vanilla(loss="adacos").float()
    model.generation_config.update(num_beams=3, max_new_tokens=7)
    save_converted(to_streams(model), LTL.tokenizer(), tmp_path, source="runs/o'hara: x", how="It was converted.")
    loaded = SymbolInvariantForConditionalGeneration.from_pretrained(tmp_path)
    assert loaded.generation_config.num_beams == 3 and loaded.generation_config.grammar == LTL.grammar
    assert torch.equal(loaded.adacos.scale, model.adacos.scale)
    from huggingface_hub import ModelCard

    card = ModelCard.load(tmp_path / "README.md")
    assert card.data.base_model is None and "made of runs/o'hara: x" in card.text
    assert "It was converted." in card.text and "| components | EP DP CP |" in card.text and "fine-tune it" in card.text
    save_converted(to_streams(model), LTL.tokenizer(), tmp_path, source="o-hara/vanilla", how="It was converted.")
    assert ModelCard.load(tmp_path / "README.md").data.base_model == "o-hara/vanilla"


def test_every_view_of_the_two_symbols_gives_a_row():
    model = vanilla(num_views=2, grammar=None)
    table, found = (one.state_dict()[TABLE] for one in (model, to_streams(model, 3, 1)))
    assert torch.equal(found[:BASE], table[:BASE])
    for view in range(2):
        assert torch.equal(found[BASE + view], table[BASE + 3 * 2 + view])
        assert torch.equal(found[BASE + 2 + view], table[BASE + 1 * 2 + view])


def test_aggregated_attention_has_no_effect_before_it_is_trained_and_then_it_learns():
    model = vanilla()
    plain, aggregated = to_streams(model), to_streams(model, aggregated=True)
    assert aggregated.config.components == ["EP", "DP", "EA", "CP"]
    question, answer = "&UabX&!c|da", "a;{&bc}"
    torch.testing.assert_close(
        logits(aggregated, question, answer), logits(plain, question, answer), atol=1e-4, rtol=1e-4
    )
    ids = LTL.tokenizer()(question, text_target=answer, return_tensors="pt")
    aggregated(**ids).loss.backward()
    assert all(layer.self_attention["EA"].out_proj.weight.grad.any() for layer in aggregated.model.encoder.layers)


def test_aggregated_attention_is_refused_where_it_would_have_an_effect():
    model = vanilla(norm_first=True)
    with pytest.raises(ConversionError, match=r"aggregated: .*; convert without it"):
        to_streams(model, aggregated=True)
    assert to_streams(model).config.components == ["EP", "DP", "CP"]


@pytest.mark.parametrize(
    ("fields", "rows", "message"),
    [
        ({"embedding": "streams"}, (0, 1), "symbol_embedding='streams': only a row that a symbol has of its own"),
        ({"embedding": "random"}, (0, 1), "symbol_embedding='random': only a row"),
        ({"num_symbols": 1}, (0, 1), r"actual=0 and placeholder=1: the model has rows for the symbols 0 … 0 "),
        ({}, (4, 1), r"actual=4 and placeholder=1: the model has rows for the symbols 0 … 3 \(a, b, …\)"),
        ({}, (0, -1), "placeholder=-1: the model has rows"),
        ({}, (2, 2), "actual=2 and placeholder=2: the model has rows"),
    ],
)
def test_a_model_that_cannot_be_converted(fields, rows, message):
    with pytest.raises(ConversionError, match=message):
        to_streams(vanilla(**fields), *rows)
