"""A saved checkpoint is enough: it loads through the Auto classes, with this package or with the code it carries."""

import ast
import copy
import json
import os
import subprocess
import sys

import pytest
import torch
from transformers import AutoConfig, AutoModel, AutoModelForSeq2SeqLM, AutoTokenizer, Trainer
from transformers.dynamic_module_utils import get_imports

from hf_symbinv import (
    LTL,
    SymbolInvariantConfig,
    SymbolInvariantForCausalLM,
    SymbolInvariantForConditionalGeneration,
    SymbolInvariantModel,
    SymbolInvariantTokenizer,
    SymbolInvariantWordTokenizer,
)

from .test_causal import language_model
from .test_classification import STREAMS, encoder
from .test_tokens import filler, labeller
from .tiny import tiny_model, trainer_arguments

CODE = {
    f"{name}_symbinv.py" for name in (
        "arguments", "base", "cache", "configuration", "embedding", "generation", "grammar", "layers", "listed_tokens",
        "loss", "modeling", "numbering", "search", "slots", "tokenization", "versions",
    )
}  # fmt: skip

# What models that write have besides.
WRITING = {"arguments_symbinv.py", "generation_symbinv.py", "grammar_symbinv.py", "search_symbinv.py"}

# Runs where nothing but the checkpoints is: the package cannot be imported, there is no network and no cache.
STRANGER = """
import sys

class NoPackage:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("hf_symbinv", "spot", "modeling"):
            raise ImportError(name + " is not installed here")

sys.meta_path.insert(0, NoPackage())
import torch, transformers

torch.set_grad_enabled(False)
found = []
for autos, folder, inputs, text in torch.load(sys.argv[1]):
    try:
        getattr(transformers, autos[0]).from_pretrained(folder, trust_remote_code=False)
    except ValueError as error:
        refusal = str(error)
    for place in (folder, folder + "-again"):
        loaded = [getattr(transformers, auto).from_pretrained(place, trust_remote_code=True) for auto in autos]
        names = [type(one).__module__.partition(".")[0] + "." + type(one).__name__ for one in loaded]
        model, tokenizer, *_ = loaded
        ids = model.generate(**inputs, max_new_tokens=9, num_beams=3) if hasattr(model, "generate") else None
        found.append([refusal, names, model(**inputs).logits, ids, tokenizer(text)["input_ids"]])
        model.save_pretrained(folder + "-again")
        tokenizer.save_pretrained(folder + "-again")
torch.save(found, sys.argv[2])
"""


PRESETS = {"streams": "ltl", "random": "ltl-baseline"}


def model_of(kind):
    """In single precision, in which checkpoints are saved, and with answers that name symbols."""
    model = tiny_model(PRESETS[kind], symbol_embedding=kind, seed=1, dtype=torch.float32)
    model.adacos.scale.fill_(3.25)
    return model


@pytest.fixture(scope="module", params=PRESETS)
def model(request):
    return model_of(request.param)


@pytest.fixture(scope="module")
def folder(model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("checkpoint")
    model.save_pretrained(folder)
    LTL.tokenizer().save_pretrained(folder)
    return folder


def run_alone(program, place, *arguments):
    """Runs `program` in an isolated interpreter whose caches lie in `place`."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "HF_"))}
    environment |= {"HF_HOME": str(place / "home"), "HF_MODULES_CACHE": str(place / "modules"), "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-I", "-c", program, *map(str, arguments)]
    run = subprocess.run(command, env=environment, cwd=place, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr


def code_in(folder):
    return {path.name for path in folder.iterdir() if path.suffix == ".py" or path.is_dir()}


def test_with_the_package_every_auto_class_loads_the_packages_class_without_trust(model, folder):
    assert type(AutoTokenizer.from_pretrained(folder)) is SymbolInvariantTokenizer
    for trust in ({}, {"trust_remote_code": True}):  # with trust, too, the package goes before the checkpoint's code
        assert type(AutoConfig.from_pretrained(folder, **trust)) is SymbolInvariantConfig
        assert type(AutoModel.from_pretrained(folder, **trust)) is SymbolInvariantModel
        assert type(AutoModelForSeq2SeqLM.from_pretrained(folder, **trust)) is SymbolInvariantForConditionalGeneration
    base = AutoModel.from_pretrained(folder).state_dict()
    assert base.keys() == model.model.state_dict().keys()
    assert all(torch.equal(base[name], tensor) for name, tensor in model.model.state_dict().items())


def test_a_checkpoint_holds_the_code_once_and_flat_and_it_imports_torch_transformers_and_siblings_only(folder):
    assert code_in(folder) == CODE
    for name in CODE:
        # As transformers scans it: an import in a `try` is no requirement.
        required = set(get_imports(folder / name)) - sys.stdlib_module_names
        assert required <= {"torch", "transformers"}, name
        for node in ast.walk(ast.parse((folder / name).read_text())):
            if isinstance(node, ast.ImportFrom) and node.level:
                assert node.level == 1 and f"{node.module}.py" in CODE, ast.unparse(node)
    auto_map = json.loads((folder / "config.json").read_text())["auto_map"]
    assert auto_map == {
        "AutoConfig": "configuration_symbinv.SymbolInvariantConfig",
        "AutoModel": "modeling_symbinv.SymbolInvariantModel",
        "AutoModelForSeq2SeqLM": "modeling_symbinv.SymbolInvariantForConditionalGeneration",
    }
    auto_map = json.loads((folder / "tokenizer_config.json").read_text())["auto_map"]
    assert auto_map["AutoTokenizer"][0] == "tokenization_symbinv.SymbolInvariantTokenizer"


def test_a_checkpoint_of_trainer_brings_the_code_along(model, tmp_path):
    arguments = trainer_arguments(tmp_path, max_steps=1, save_steps=1, save_strategy="steps")
    data = [{"input_ids": [13, 2], "labels": [9, 13, 10, 2]}]
    Trainer(copy.deepcopy(model), arguments, train_dataset=data, processing_class=LTL.tokenizer()).train()
    checkpoint = tmp_path / "checkpoint-1"
    assert code_in(checkpoint) == CODE
    assert set(json.loads((checkpoint / "config.json").read_text())["auto_map"]) >= {
        "AutoConfig",
        "AutoModelForSeq2SeqLM",
    }
    assert "auto_map" in json.loads((checkpoint / "tokenizer_config.json").read_text())


@pytest.mark.slow
def test_without_the_package_the_checkpoints_own_code_gives_the_same_logits_answers_and_ids(tmp_path):
    ltl, formula, text = LTL.tokenizer(), "& U request grant_1 X c", "b = a + 17"
    table = {"base_tokens": ["<s>", "<pad>", "</s>", "<number>", "+", "="], "symbols": {"a": [0, 0], "b": [1, 0]}}
    words = SymbolInvariantWordTokenizer(**table, patterns=[[r"\d+", "<number>"], [r"\S", None]])
    formulas = dict(ltl(["&UabXc", formula, "1", "U!a&bb"], padding=True, return_tensors="pt"))
    both = ["AutoModelForSeq2SeqLM", "AutoTokenizer", "AutoConfig", "AutoModel"]
    cases = [(both, model, formulas, ltl, formula) for model in map(model_of, PRESETS)]
    new_symbols = tiny_model(num_fresh_symbols=3, grammar=None, dtype=torch.float32)
    answers = {"input_ids": torch.tensor([[3, 14, 2]]), "decoder_input_ids": torch.tensor([[0, 14, 15, 15]])}
    views = tiny_model(num_views=3, grammar=None, dtype=torch.float32)
    cases += [(both, new_symbols, answers, words, text), (both, views, answers, words, text)]
    causal = language_model(dtype=torch.float32, identity_qk=True, identity_vo=True)
    streams = SymbolInvariantForCausalLM(SymbolInvariantConfig(encoder_layers=0, decoder_layers=1, d_model=16)).eval()
    rows = {"input_ids": torch.tensor([[7, 3, 8, 12]])}
    for auto, model, inputs in (
        ("AutoModelForCausalLM", causal, {"input_ids": torch.tensor([[3, 4, 5, 3]]), "slot_vectors": causal.draw(1)}),
        ("AutoModelForCausalLM", streams, {"input_ids": torch.tensor([[0, 13, 15, 13]])}),
        ("AutoModelForSequenceClassification", encoder(dtype=torch.float32), rows),
        ("AutoModelForSequenceClassification", encoder(**STREAMS, dtype=torch.float32), rows),
        ("AutoModelForTokenClassification", labeller(**STREAMS, dtype=torch.float32), rows),
        ("AutoModelForMaskedLM", filler(**STREAMS, dtype=torch.float32), rows),
    ):
        cases.append(([auto, "AutoTokenizer"], model, inputs, words, text))
    own = {
        "AutoModelForSeq2SeqLM": {"modeling_symbinv.py", *WRITING},
        "AutoModelForCausalLM": {"causal_symbinv.py", *WRITING},
    }
    shared = CODE - WRITING - {"modeling_symbinv.py", "tokenization_symbinv.py"}
    saved, code = [], []
    for index, (autos, model, inputs, tokenizer, text) in enumerate(cases):
        folder = tmp_path / f"model-{index}"
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        files = {"tokenization_symbinv.py"} if tokenizer is ltl else {"text_symbinv.py"}
        code.append(shared | files | own.get(autos[0], {"classification_symbinv.py"}))
        assert code_in(folder) == code[-1]
        saved.append((autos, str(folder), inputs, text))
    torch.save(saved, tmp_path / "cases.pt")
    run_alone(STRANGER, tmp_path, tmp_path / "cases.pt", tmp_path / "found.pt")
    found = torch.load(tmp_path / "found.pt")
    for index, (autos, model, inputs, tokenizer, text) in enumerate(cases):
        assert code_in(tmp_path / f"model-{index}-again") == code[index]
        config, base = "SymbolInvariantConfig", "SymbolInvariantModel"
        classes = [type(model).__name__, type(tokenizer).__name__, config, base][: len(autos)]
        with torch.no_grad():  # as the stranger, for in training attention is rounded otherwise
            expected = model(**inputs).logits
        for refusal, names, logits, ids, read in found[2 * index : 2 * index + 2]:
            assert "trust_remote_code=True" in refusal
            assert names == [f"transformers_modules.{name}" for name in classes]
            if tokenizer is ltl:  # where weights are mapped from a file, sums over several rows are rounded otherwise
                torch.testing.assert_close(logits, expected)
            else:
                assert torch.equal(logits, expected)
            assert read == tokenizer(text)["input_ids"]
            if hasattr(model, "generate"):
                assert torch.equal(ids, model.generate(**inputs, max_new_tokens=9, num_beams=3))
