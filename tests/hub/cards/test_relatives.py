"""Cards of language models, GPT-2 and encoders: the Hub takes them, their programs run, none speaks of answers."""

import json
import re
from pathlib import Path

import pytest
import torch
from huggingface_hub import ModelCard

from hf_symbinv import (
    LTL,
    IdentityGPT2ForSequenceClassification,
    SymbolInvariantConfig,
    SymbolInvariantEncoderForSequenceClassification,
    SymbolInvariantEncoderForTokenClassification,
    SymbolInvariantForMaskedLM,
    SymbolInvariantSubwordTokenizer,
    SymbolInvariantWordTokenizer,
)
from hf_symbinv.hub.cards.facts import CardError, read_facts
from hf_symbinv.hub.cards.families import RELATIVES, cited, relative_of, variant_of
from hf_symbinv.hub.cards.model import model_card, write_model_card
from hf_symbinv.hub.cards.rendering import prose
from model_cards.write import relative_card
from papers.catalogue import EXPERIMENTS
from papers.lexinvariant.characters import ALPHABETS, words
from papers.renamer import x86

from ..relatives import PROGRAMS, encoder, gpt2, language_model, reader, tokens
from .conftest import evaluation, programs

ROOT = Path(__file__).parents[3]
STATE = {"global_step": 20, "log_history": [{"step": 10, "loss": 2.5}, {"step": 20, "loss": 1.5, "eval_loss": 1.75}]}


# (relative, variant) → a model; the pipeline_tag is that of its class.
MODELS = {
    ("lexinvariant", "gaussian"): language_model,
    ("lexinvariant", "regularised"): lambda: language_model(random_share=0.2),
    ("lexinvariant", "learned"): lambda: language_model(symbol_embedding="learned"),
    ("lexinvariant", "renamed"): lambda: language_model(symbol_embedding="renamed"),
    ("lexinvariant", "streams"): lambda: language_model(symbol_embedding="streams", components=["DP", "DA"]),
    ("identity-gpt2", "identity"): gpt2,
    ("identity-gpt2", "vanilla"): lambda: gpt2(
        IdentityGPT2ForSequenceClassification, identity_qk=False, identity_vo=False
    ),
    ("renamer", "views"): reader,
    ("renamer", "learned"): lambda: reader(symbol_embedding="learned"),
    ("renamer", "canonical"): lambda: reader(symbol_embedding="canonical"),
    ("renamer", "renamed"): lambda: reader(symbol_embedding="renamed"),
    ("renamer", "streams"): lambda: reader(symbol_embedding="streams"),
    ("tokens", "streams"): lambda: tokens(SymbolInvariantForMaskedLM),
    ("tokens", "views"): lambda: tokens(symbol_embedding="views"),
    ("tokens", "learned"): lambda: tokens(symbol_embedding="learned"),
    ("tokens", "canonical"): lambda: tokens(SymbolInvariantForMaskedLM, symbol_embedding="canonical"),
    ("tokens", "renamed"): lambda: tokens(symbol_embedding="renamed"),
    ("encoder", "streams"): encoder,
}
OWN = [key for key in MODELS if key[1] == RELATIVES[key[0]].variants[0]]


def saved(key, folder):
    """A folder as `fit` leaves it."""
    torch.manual_seed(0)
    model = MODELS[key]()
    model.save_pretrained(folder)
    tables = {"lexinvariant": words(ALPHABETS["printable"]), "renamer": x86.words(), "tokens": PROGRAMS}
    if key[0] in tables:
        SymbolInvariantWordTokenizer(**tables[key[0]]).save_pretrained(folder)
    if key[0] == "encoder":
        texts = ["Anna owes Bob money"]
        SymbolInvariantSubwordTokenizer.train(texts, 300, symbol_pattern="[A-Z][a-z]+").save_pretrained(folder)
    (folder / "trainer_state.json").write_text(json.dumps(STATE))
    return model


def output_of(program, capsys):
    capsys.readouterr()
    exec(compile(program, "<card>", "exec"), {})
    return capsys.readouterr().out.splitlines()


def test_every_variant_that_a_card_describes_is_tried():
    assert set(MODELS) == {(name, variant) for name, relative in RELATIVES.items() for variant in relative.variants}


@pytest.mark.parametrize("name", RELATIVES)
def test_the_card_of_a_relative_is_one_that_the_hub_takes_and_cites_its_paper(name):
    card, relative = ModelCard(relative_card(name)), RELATIVES[name]
    data = card.data.to_dict()
    assert data["library_name"] == "transformers" and data["license"] == "apache-2.0" and data["tags"]
    assert data["pipeline_tag"] == next(iter(relative.heads.values()))
    (paper,) = cited(relative.paper)
    assert paper.link in card.text and paper.bibtex in card.text
    assert "**Limits.**" in card.text
    assert ("These are the paper's numbers, with its own sizes and data." in card.text) == bool(relative.tables)


@pytest.mark.parametrize("name", RELATIVES)
def test_what_the_card_of_a_relative_names_exists(name):
    card = relative_card(name)
    tables = set(re.findall(r"^python -m papers (.*)$", card, re.MULTILINE))
    assert ("Run them from a checkout of the repository:" in card) == bool(tables), "no wheel holds them"
    assert tables == {known for known, found in EXPERIMENTS.items() if found.family.name == name.split("-")[0]}
    for path in re.findall(r"examples/\w+\.py", card):
        assert (ROOT / path).is_file()
    for module in re.findall(r"python -m hf_symbinv\.(datasets_scripts[\w.]+)", card):
        assert (ROOT / f"{module.replace('.', '/')}.py").is_file()
    for preset in re.findall(r"`(renamer-\w+)`", card):
        SymbolInvariantConfig.from_preset(preset, base_vocab_size=3)


@pytest.mark.parametrize("key", OWN, ids=" ".join)
def test_the_programs_of_a_relatives_card_run(key, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    saved(key, tmp_path / "OWNER" / "NAME")
    for program in programs(relative_card(key[0])):
        lines = output_of(program, capsys)
        alike = key[0] not in ("renamer", "tokens", "encoder") or lines[0] == lines[1]
        assert lines and alike, "renamed alike, predicted alike"


@pytest.mark.parametrize("key", MODELS, ids=" ".join)
def test_a_trained_folder_gets_a_card_that_says_what_it_is(key, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    name, variant = key
    model, relative = saved(key, tmp_path / "run"), RELATIVES[name]
    facts = read_facts(tmp_path / "run")
    assert relative_of(facts.config) is relative and variant_of(facts.config) == variant
    card = ModelCard.load(write_model_card(tmp_path / "run", facts))
    assert card.data.tags == [*relative.tags, variant] and card.data.eval_results is None
    assert card.data.pipeline_tag == relative.heads[type(model).__name__]
    told = prose(f"embeddings/{name}/{variant}.md.jinja")
    assert f"{model.num_parameters():,} parameters" in card.text
    assert told.title in card.text and told.what in card.text and told.names in card.text

    assert "| steps | 20 |" in card.text and "No results were recorded." in card.text
    assert ("No results were recorded. These commands" in card.text) == bool(relative.tables)
    assert not re.search(r"verified|[Ss]pot\b|solver|question|symbinv evaluate", card.text)
    assert cited(relative.paper)[0].bibtex in card.text
    comparison = "Use it to compare with a " in card.text
    assert comparison == (variant in ("regularised", "learned", "canonical", "renamed", "vanilla"))
    (program,) = programs(card.text)
    lines = output_of(program, capsys)
    invariant = name == "encoder" or (name == "renamer" and variant in ("views", "streams", "canonical"))
    assert lines and (not invariant or lines[0] == lines[1])


@pytest.mark.parametrize(
    ("kind", "rule"),
    [
        (SymbolInvariantEncoderForSequenceClassification, r"[a-z_]\w*"),
        (SymbolInvariantEncoderForTokenClassification, "[A-Z][a-z]+"),
    ],
)
def test_the_card_of_an_encoder_with_a_head_names_the_encoder_that_it_was_made_of(
    kind, rule, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    encoder(kind).save_pretrained(tmp_path / "run")
    SymbolInvariantSubwordTokenizer.train(["a = b"], 300, symbol_pattern=rule).save_pretrained(tmp_path / "run")
    card = ModelCard.load(write_model_card(tmp_path / "run", read_facts(tmp_path / "run")))
    assert card.data.base_model == "alice/bert" and card.data.pipeline_tag == RELATIVES["encoder"].heads[kind.__name__]
    assert card.data.license is None, "it is another's encoder"
    assert "It started from the weights of alice/bert." in card.text
    (program,) = programs(card.text)
    first, second = output_of(program, capsys)
    assert first == second and f'pipeline("{card.data.pipeline_tag}"' in program


def test_what_is_no_fact_about_such_a_model_is_refused(tmp_path):
    saved(("lexinvariant", "gaussian"), tmp_path)
    message = "a model for sequences of symbols answers no questions; leave task and results out"
    with pytest.raises(CardError, match=message):
        model_card(read_facts(tmp_path, task=LTL))
    (tmp_path / "results.json").write_text(json.dumps([evaluation()]))
    with pytest.raises(CardError, match=message):
        model_card(read_facts(tmp_path))
    config = tmp_path / "config.json"
    config.write_text(config.read_text().replace('SymbolInvariantForCausalLM"\n', 'SymbolInvariantDecoder"\n'))
    with pytest.raises(CardError, match="holds a SymbolInvariantDecoder; save the whole model, SymbolInvariantForCau"):
        read_facts(tmp_path)
