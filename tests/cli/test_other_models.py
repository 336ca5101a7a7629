"""Models that answer no questions: `symbinv info` shows them, and what needs answers says what they are."""

import json

import pytest
import torch
from transformers import pipeline

from hf_symbinv import (
    IdentityGPT2Config,
    IdentityGPT2ForSequenceClassification,
    IdentityGPT2LMHeadModel,
    IdentityGPT2Model,
    SymbolInvariantConfig,
    SymbolInvariantEncoder,
    SymbolInvariantEncoderConfig,
    SymbolInvariantEncoderForSequenceClassification,
    SymbolInvariantEncoderForTokenClassification,
    SymbolInvariantForCausalLM,
    SymbolInvariantForMaskedLM,
    SymbolInvariantForSequenceClassification,
    SymbolInvariantForTokenClassification,
    SymbolInvariantModel,
    SymbolInvariantWordTokenizer,
)
from hf_symbinv.evaluation.checkpoints import KINDS
from hf_symbinv.hub.cards.families import FIELDS
from hf_symbinv.training.fitting import fit
from papers.lexinvariant.characters import BASE_TOKENS, words
from papers.renamer.models import assembly
from papers.renamer.x86_tokens import STANDARD

ASSEMBLY = assembly(STANDARD)
SIZES = {"d_model": 16, "d_ff": 24, "num_attention_heads": 2}
GPT2 = {"vocab_size": 9, "n_embd": 8, "n_layer": 1, "n_head": 2, "n_positions": 6, "num_labels": 1, "pad_token_id": 8,
        "bos_token_id": None, "eos_token_id": None}  # fmt: skip
CHARACTERS = "abc "
PROGRAMS = {
    "base_tokens": ["<s>", "<pad>", "</s>", "<mask>", "=", "+", ";"], "mask_token": "<mask>",
    "symbols": {name: [place, 0] for place, name in enumerate("abxy")},
}  # fmt: skip
MEASURED = "`python -m papers`, run from a checkout of the repository, measures such models"


def renamer():
    return SymbolInvariantForSequenceClassification(ASSEMBLY.config("renamer", SIZES))


def language_model():
    config = SymbolInvariantConfig.from_preset(
        "lexinvariant", base_vocab_size=len(BASE_TOKENS), num_symbols=len(CHARACTERS), decoder_layers=1, **SIZES
    )
    return SymbolInvariantForCausalLM(config)


def of_tokens():
    sizes = {"base_vocab_size": len(PROGRAMS["base_tokens"]), "num_symbols": 4, "encoder_layers": 1}
    return SymbolInvariantConfig(**sizes, **SIZES, decoder_layers=0)


def of_encoder():
    bert = {"model_type": "bert", "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "vocab_size": 9}
    return SymbolInvariantEncoderConfig(encoder=bert, mixing_layers=1)


def headless():
    return SymbolInvariantModel(SymbolInvariantConfig.from_preset("ltl", encoder_layers=1, decoder_layers=1, **SIZES))


# Class -> how one is made, whose fields are shown, the words of its tokenizer, what is said to take it.
MODELS = {
    "SymbolInvariantForSequenceClassification": (
        renamer, "renamer", ASSEMBLY.words, 'use pipeline("text-classification", model="{}", trust_remote_code=True); '
        f"{MEASURED}: renamer-...",
    ),
    "SymbolInvariantForMaskedLM": (
        lambda: SymbolInvariantForMaskedLM(of_tokens()), "tokens", PROGRAMS,
        'use pipeline("fill-mask", model="{}", trust_remote_code=True)',
    ),
    "SymbolInvariantForTokenClassification": (
        lambda: SymbolInvariantForTokenClassification(of_tokens()), "tokens", PROGRAMS,
        'use pipeline("token-classification", model="{}", trust_remote_code=True)',
    ),
    "SymbolInvariantForCausalLM": (
        language_model, "lexinvariant", words(CHARACTERS), 'use pipeline("text-generation", model="{}", '
        f"trust_remote_code=True); {MEASURED}: lexinv-...",
    ),
    "SymbolInvariantEncoder": (
        lambda: SymbolInvariantEncoder(of_encoder()), "encoder", None,
        'use AutoModel.from_pretrained("{}", trust_remote_code=True)',
    ),
    "SymbolInvariantEncoderForSequenceClassification": (
        lambda: SymbolInvariantEncoderForSequenceClassification(of_encoder()), "encoder", None,
        f'use pipeline("text-classification", model="{{}}", trust_remote_code=True); {MEASURED}: rules-names',
    ),
    "SymbolInvariantEncoderForTokenClassification": (
        lambda: SymbolInvariantEncoderForTokenClassification(of_encoder()), "encoder", None,
        f'use pipeline("token-classification", model="{{}}", trust_remote_code=True); {MEASURED}: rules-names',
    ),
    "SymbolInvariantModel": (
        headless, None, None, 'use AutoModel.from_pretrained("{}", trust_remote_code=True)'
    ),
    "IdentityGPT2LMHeadModel": (
        lambda: IdentityGPT2LMHeadModel(IdentityGPT2Config(**GPT2)), "identity-gpt2", None,
        'use AutoModelForCausalLM.from_pretrained("{}", trust_remote_code=True); ' + MEASURED,
    ),
    "IdentityGPT2ForSequenceClassification": (
        lambda: IdentityGPT2ForSequenceClassification(IdentityGPT2Config(**GPT2)), "identity-gpt2", None,
        'use AutoModelForSequenceClassification.from_pretrained("{}", trust_remote_code=True); ' + MEASURED,
    ),
    "IdentityGPT2Model": (
        lambda: IdentityGPT2Model(IdentityGPT2Config(**GPT2)), "identity-gpt2", None,
        'use AutoModel.from_pretrained("{}", trust_remote_code=True)',
    ),
}  # fmt: skip


@pytest.fixture(params=MODELS)
def saved(request, tmp_path):
    """The class, the folder and the model of one kind."""
    make, _, own_words, _ = MODELS[request.param]
    model, folder = make(), tmp_path / "model"
    model.save_pretrained(folder)
    if own_words is not None:
        SymbolInvariantWordTokenizer(**own_words).save_pretrained(folder)
    return request.param, folder, model


def test_every_kind_is_tested():
    assert set(MODELS) == set(KINDS)


def test_info_shows_what_tells_models_of_the_family_apart(symbinv, saved):
    name, folder, model = saved
    result = symbinv("info", folder, "--json")
    content = json.loads(result.out)
    assert result.code == 0 and result.err == ""
    assert content["class"] == name and content["parameters"] == model.num_parameters()
    assert content["license"] == "not stated" and "trained with" not in content
    shown = [field for field in FIELDS if hasattr(model.config, field)]
    assert len(shown) > 2 and all(content[field] == getattr(model.config, field) for field in shown)


def test_what_needs_answers_says_what_the_model_is_and_what_takes_it(symbinv, saved):
    name, folder, _ = saved
    result = symbinv("evaluate", folder, "--data", "nowhere")
    assert result.code == 2 and result.out == ""
    assert f"{folder}: holds {KINDS[name].what}, {name}, which answers no questions of a task; " in result.err
    assert MODELS[name][3].format(folder) in result.err
    assert symbinv("info", folder, "--task", "ltl").err == result.err.replace("symbinv evaluate", "symbinv info")


def test_the_pipelines_that_are_named_take_their_models(tmp_path):
    for name, task, text in (
        ("SymbolInvariantForSequenceClassification", "text-classification", "movq (%rax), %rbx"),
        ("SymbolInvariantForCausalLM", "text-generation", "abc ab"),
        ("SymbolInvariantForMaskedLM", "fill-mask", "a = b + <mask>"),
        ("SymbolInvariantForTokenClassification", "token-classification", "a = b + x"),
    ):
        make, _, own_words, told = MODELS[name]
        make().save_pretrained(tmp_path / name)
        SymbolInvariantWordTokenizer(**own_words).save_pretrained(tmp_path / name)
        assert f'pipeline("{task}"' in told
        assert pipeline(task, model=str(tmp_path / name), trust_remote_code=True)(text)


def test_info_shows_how_a_model_was_fitted(symbinv, tmp_path):
    model, arguments = IdentityGPT2LMHeadModel(IdentityGPT2Config(**GPT2)), {"max_steps": 2, "use_cpu": True}
    ids = [{"input_ids": torch.tensor([1, 2, 1]), "labels": torch.tensor([1, 2, 1])}] * 8
    fit(model, tmp_path, {**arguments, "report_to": "none"}, train_dataset=ids)
    content = json.loads(symbinv("info", tmp_path, "--json").out)
    record = json.loads((tmp_path / "run.json").read_text())
    assert record["recipe"]["trainer"] == {**arguments, "report_to": "none"}
    assert content["trained by"] == record["command"] and content["results"]["train_loss"] > 0
    (tmp_path / "run.json").unlink()
    assert json.loads(symbinv("info", tmp_path, "--json").out)["training steps"] == 2
    (tmp_path / "trainer_state.json").write_text("{")
    assert "trainer_state.json is damaged" in symbinv("info", tmp_path).out


def test_weights_that_are_damaged_are_called_so(symbinv, tmp_path):
    renamer().save_pretrained(tmp_path)
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    result = symbinv("info", tmp_path)
    assert result.code == 2 and f"{tmp_path}: its weights cannot be read (" in result.err
