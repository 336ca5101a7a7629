"""Models that answer no questions: what needs answers says what they are."""

import pytest
from transformers import pipeline

from hf_symbinv import (
    IdentityGPT2ForSequenceClassification,
    IdentityGPT2Model,
    SymbolInvariantConfig,
    SymbolInvariantEncoderForSequenceClassification,
    SymbolInvariantEncoderForTokenClassification,
    SymbolInvariantForMaskedLM,
    SymbolInvariantModel,
    SymbolInvariantWordTokenizer,
)
from hf_symbinv.evaluation.checkpoints import KINDS
from papers.lexinvariant.characters import ALPHABETS, words
from papers.renamer import x86

from ..hub.relatives import PROGRAMS, SIZES, encoder, gpt2, language_model, reader, tokens

MEASURED = "; `python -m papers`, run from a checkout of the repository, measures such models"
PIPELINE, AUTO = 'use pipeline("{}", model="{{}}", trust_remote_code=True)', "use {}.from_pretrained"


def headless():
    return SymbolInvariantModel(SymbolInvariantConfig.from_preset("ltl", encoder_layers=1, decoder_layers=1, **SIZES))


# Class -> how one is made, the words of its tokenizer, what takes it, and a text for its pipeline.
MODELS = {
    "SymbolInvariantForSequenceClassification": (
        reader, x86.words(), f"{PIPELINE.format('text-classification')}{MEASURED}: renamer-...", "movq (%rax), %rbx"
    ),
    "SymbolInvariantForMaskedLM": (
        lambda: tokens(SymbolInvariantForMaskedLM), PROGRAMS, PIPELINE.format("fill-mask"), "a = b + <mask>"
    ),
    "SymbolInvariantForTokenClassification": (tokens, PROGRAMS, PIPELINE.format("token-classification"), "a = b + x"),
    "SymbolInvariantForCausalLM": (
        language_model, words(ALPHABETS["printable"]), f"{PIPELINE.format('text-generation')}{MEASURED}: lexinv-...",
        "abc ab",
    ),
    "SymbolInvariantEncoder": (encoder, None, AUTO.format("AutoModel"), None),
    "SymbolInvariantEncoderForSequenceClassification": (
        lambda: encoder(SymbolInvariantEncoderForSequenceClassification), None,
        f"{PIPELINE.format('text-classification')}{MEASURED}: rules-names", None,
    ),
    "SymbolInvariantEncoderForTokenClassification": (
        lambda: encoder(SymbolInvariantEncoderForTokenClassification), None,
        f"{PIPELINE.format('token-classification')}{MEASURED}: rules-names", None,
    ),
    "SymbolInvariantModel": (headless, None, AUTO.format("AutoModel"), None),
    "IdentityGPT2LMHeadModel": (gpt2, None, AUTO.format("AutoModelForCausalLM"), None),
    "IdentityGPT2ForSequenceClassification": (
        lambda: gpt2(IdentityGPT2ForSequenceClassification), None,
        AUTO.format("AutoModelForSequenceClassification"), None,
    ),
    "IdentityGPT2Model": (lambda: gpt2(IdentityGPT2Model), None, AUTO.format("AutoModel"), None),
}  # fmt: skip


@pytest.fixture(params=MODELS)
def saved(request, tmp_path):
    """The class, the folder and the model of one kind."""
    make, own_words, _, _ = MODELS[request.param]
    model, folder = make(), tmp_path / "model"
    model.save_pretrained(folder)
    if own_words is not None:
        SymbolInvariantWordTokenizer(**own_words).save_pretrained(folder)
    return request.param, folder, model


def test_every_kind_is_tested():
    assert set(MODELS) == set(KINDS)


def test_what_needs_answers_says_what_the_model_is_and_what_takes_it(symbinv, saved):
    name, folder, _ = saved
    result = symbinv("evaluate", folder, "--data", "nowhere")
    assert result.code == 2 and result.out == ""
    assert f"{folder}: holds {KINDS[name].what}, {name}, which answers no questions of a task; " in result.err
    assert MODELS[name][2].format(folder) in result.err


@pytest.mark.parametrize("name", [name for name, (*_, text) in MODELS.items() if text])
def test_the_pipelines_that_are_named_take_their_models(name, tmp_path):
    make, own_words, told, text = MODELS[name]
    make().save_pretrained(tmp_path)
    SymbolInvariantWordTokenizer(**own_words).save_pretrained(tmp_path)
    assert pipeline(told.split('"')[1], model=str(tmp_path), trust_remote_code=True)(text)
