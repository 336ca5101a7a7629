"""A pushed model loads anywhere, with the package or with the code it carries, and answers the same bit for bit."""

import sysconfig

import pytest

from .fixtures import TOKEN, run, tokens_in

FORMULAS = ["&UabXc", "& U request grant_1 X c", "1", "U!a&bb"]

# What a model says, down to the last bit: ids, texts, and a hash of the scores of one forward pass.
ANSWER = """
import hashlib
import torch

def answer(model, tokenizer):
    batch = tokenizer(given["formulas"], padding=True, return_tensors="pt")
    ids = model.generate(**batch, num_beams=3, max_new_tokens=12)
    with torch.no_grad():
        logits = model(**batch, labels=batch["input_ids"]).logits
    texts = tokenizer.batch_decode(ids, symbols=batch.symbols, skip_special_tokens=True)
    return [ids.tolist(), texts, hashlib.sha256(logits.numpy().tobytes()).hexdigest()]
"""
PUSH = f"""
import os
from hf_symbinv import LTL, SymbolInvariantConfig, SymbolInvariantForConditionalGeneration
from hf_symbinv.cli import main
from hf_symbinv.evaluation import bundled_checkpoints
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer
{ANSWER}
sizes = dict(d_model=16, encoder_layers=1, decoder_layers=1, num_attention_heads=2, d_ff=24)
result = {{}}
for preset, kind in (("ltl", "streams"), ("ltl-baseline", "random")):
    torch.manual_seed(0)
    config = SymbolInvariantConfig.from_preset(preset, symbol_embedding=kind, **sizes)
    model, tokenizer = SymbolInvariantForConditionalGeneration(config).eval(), LTL.tokenizer()
    result[kind] = answer(model, tokenizer)
    if kind == "streams":
        model.push_to_hub("alice/streams")
        tokenizer.push_to_hub("alice/streams")
    else:
        model.save_pretrained("model")
        tokenizer.save_pretrained("model")
        assert main(["push", "model", "alice/random", "--private", "--revision", "v2"]) == 0

# One that comes with the package, and holds no code.
folder = str(bundled_checkpoints()["ltl-small"])
model, tokenizer = AutoModelForSeq2SeqLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
result["bundled"] = answer(model, tokenizer)
model.save_pretrained("bundled")
tokenizer.save_pretrained("bundled")
assert main(["push", "bundled", "alice/bundled"]) == 0
"""
PULL = f"""
from huggingface_hub import logging
from transformers import AutoConfig, AutoModel, AutoModelForSeq2SeqLM, AutoTokenizer
{ANSWER}
logging.set_verbosity_debug()
result = {{}}
for kind, name, options in given["models"]:
    loaded, classes = {{}}, {{}}
    for auto in (AutoConfig, AutoTokenizer, AutoModel, AutoModelForSeq2SeqLM):
        loaded[auto] = auto.from_pretrained(name, **options)
        classes[auto.__name__] = type(loaded[auto]).__module__.partition(".")[0] + "." + type(loaded[auto]).__name__
    result[kind] = [answer(loaded[AutoModelForSeq2SeqLM], loaded[AutoTokenizer]), classes]
result["packages"] = [package for package in ("hf_symbinv", "spot") if package in sys.modules]
"""
CLASSES = {
    "AutoConfig": "SymbolInvariantConfig",
    "AutoTokenizer": "SymbolInvariantTokenizer",
    "AutoModel": "SymbolInvariantModel",
    "AutoModelForSeq2SeqLM": "SymbolInvariantForConditionalGeneration",
}
# Without the package: no folder of packages but one, whose hooks, as that of an editable installation, do not run.
ALONE = f"""
sys.path.append({sysconfig.get_path("purelib")!r})
import importlib.util
assert importlib.util.find_spec("hf_symbinv") is None, "hf_symbinv is installed here, and not in editable mode"
"""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def pushed(server, tmp_path_factory):
    """What the models said where they were made, and the home of who pushed them."""
    home = tmp_path_factory.mktemp("alice")
    return run(server, PUSH, {"formulas": FORMULAS}, home), home


def models(**options):
    """What is pulled: as (name for the test, repository, arguments of from_pretrained)."""
    return [
        ["streams", "alice/streams", options],
        ["random", "alice/random", {"revision": "v2", **options}],
        ["bundled", "alice/bundled", options],
    ]


@pytest.fixture(scope="module")
def pulled(server, pushed, tmp_path_factory):
    """What a user with the package finds, and the home of that user."""
    home = tmp_path_factory.mktemp("user")
    given = {"formulas": FORMULAS, "models": models()}
    return run(server, "import hf_symbinv\n" + PULL, given, home), home


def test_with_the_package_it_needs_no_trust(pushed, pulled):
    for kind in ("streams", "random", "bundled"):
        answers, classes = pulled[0][kind]
        assert answers == pushed[0][kind]
        assert classes == {auto: f"hf_symbinv.{name}" for auto, name in CLASSES.items()}


def test_without_the_package_the_code_in_the_repository_does_the_same(server, pushed, tmp_path):
    given = {"formulas": FORMULAS, "models": models(trust_remote_code=True)}
    found = run(server, ALONE + PULL, given, tmp_path, flags=("-I", "-S"))
    for kind in ("streams", "random", "bundled"):
        answers, classes = found[kind]
        assert answers == pushed[0][kind]
        assert classes == {auto: f"transformers_modules.{name}" for auto, name in CLASSES.items()}
    assert found["packages"] == []


def test_no_token_is_left_anywhere(server, pushed, pulled):
    assert (pulled[1] / "output.txt").read_text().count("authenticated: True") > 10
    assert tokens_in(pulled[1]) == tokens_in(pushed[1]) == []
    for repository in server.repositories.values():
        for files in repository.commits.values():
            assert not [path for path, blob in files.items() if TOKEN.encode() in blob.content]
