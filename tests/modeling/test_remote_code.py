"""A saved checkpoint is enough: it loads through the Auto classes, with this package or with the code it carries."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    Trainer,
    TrainingArguments,
)
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
from .tiny import tiny_model

FORMULAS = ["&UabXc", "& U request grant_1 X c", "1", "U!a&bb"]
CODE = {
    "arguments_symbinv.py",
    "base_symbinv.py",
    "cache_symbinv.py",
    "configuration_symbinv.py",
    "embedding_symbinv.py",
    "generation_symbinv.py",
    "grammar_symbinv.py",
    "head_symbinv.py",
    "layers_symbinv.py",
    "listed_tokens_symbinv.py",
    "loss_symbinv.py",
    "modeling_symbinv.py",
    "numbering_symbinv.py",
    "search_symbinv.py",
    "slots_symbinv.py",
    "tokenization_symbinv.py",
    "versions_symbinv.py",
}

# What models that write have besides.
WRITING = {"arguments_symbinv.py", "generation_symbinv.py", "grammar_symbinv.py", "search_symbinv.py"}

# Runs where nothing but the checkpoints is: the package cannot be imported, there is no network and no cache.
STRANGER = """
import json, sys

class NoPackage:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("hf_symbinv", "spot", "modeling"):
            raise ImportError(name + " is not installed here")

sys.meta_path.insert(0, NoPackage())
import torch
from transformers import AutoConfig, AutoModel, AutoModelForSeq2SeqLM, AutoTokenizer

folders, formulas, result = json.loads(sys.argv[1])

def answer(model, tokenizer):
    batch = tokenizer(formulas, padding=True, return_tensors="pt")
    ids = model.generate(**batch, num_beams=3, max_new_tokens=12)
    return ids.tolist(), tokenizer.batch_decode(ids, symbols=batch.symbols, skip_special_tokens=True)

found = {}
for folder in folders:
    try:
        AutoModelForSeq2SeqLM.from_pretrained(folder, trust_remote_code=False)
    except ValueError as error:
        refusal = str(error)
    names = {}
    for auto in (AutoConfig, AutoModel, AutoTokenizer, AutoModelForSeq2SeqLM):
        loaded = auto.from_pretrained(folder, trust_remote_code=True)
        names[auto.__name__] = type(loaded).__module__.partition(".")[0] + "." + type(loaded).__name__
    model, tokenizer = loaded, AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
    ids, texts = answer(model, tokenizer)
    again = folder + "-again"
    model.save_pretrained(again)
    tokenizer.save_pretrained(again)
    second = answer(
        AutoModelForSeq2SeqLM.from_pretrained(again, trust_remote_code=True),
        AutoTokenizer.from_pretrained(again, trust_remote_code=True),
    )
    same = second == (ids, texts)
    found[folder] = {"refusal": refusal, "names": names, "ids": ids, "texts": texts, "same": same, "again": again}
with open(result, "w") as file:
    json.dump(found, file)
"""


# The same for the models without encoder and without decoder.
STRANGER_ALONE = """
import sys

class NoPackage:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("hf_symbinv", "spot", "modeling"):
            raise ImportError(name + " is not installed here")

sys.meta_path.insert(0, NoPackage())
import torch, transformers

torch.set_grad_enabled(False)
for auto, folder, inputs, expected in torch.load(sys.argv[1]):
    model = getattr(transformers, auto).from_pretrained(folder, trust_remote_code=True)
    assert type(model).__module__.startswith("transformers_modules."), type(model)
    assert torch.equal(model(**inputs).logits, expected), auto
    model.save_pretrained(folder + "-again")
    model = getattr(transformers, auto).from_pretrained(folder + "-again", trust_remote_code=True)
    assert torch.equal(model(**inputs).logits, expected), auto
    if auto in ("AutoModelForCausalLM", "AutoModelForSeq2SeqLM"):
        print(model.generate(**inputs, max_new_tokens=4, num_beams=2).tolist())
words = transformers.AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
assert type(words).__module__.startswith("transformers_modules."), type(words)
print(words("b = a + 17")["input_ids"])
"""


PRESETS = {"streams": "ltl", "random": "ltl-baseline"}


@pytest.fixture(scope="module")
def models():
    """In single precision, in which checkpoints are saved, and with answers that name symbols."""
    found = {
        kind: tiny_model(preset, symbol_embedding=kind, seed=1, dtype=torch.float32) for kind, preset in PRESETS.items()
    }
    for model in found.values():
        model.adacos.scale.fill_(3.25)
    return found


@pytest.fixture(scope="module")
def folders(models, tmp_path_factory):
    found = {kind: tmp_path_factory.mktemp("checkpoint") for kind in models}
    for kind, folder in found.items():
        models[kind].save_pretrained(folder)
        LTL.tokenizer().save_pretrained(folder)
    return found


@pytest.fixture(scope="module", params=PRESETS)
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def model(models, kind):
    return models[kind]


@pytest.fixture(scope="module")
def folder(folders, kind):
    return folders[kind]


@pytest.fixture(scope="module")
def strangers(folders, tmp_path_factory):
    """What a process without the package finds of each folder."""
    place = tmp_path_factory.mktemp("stranger")
    result = place / "result.json"
    run_alone(STRANGER, json.dumps([list(map(str, folders.values())), FORMULAS, str(result)]), place)
    return json.loads(result.read_text())


def run_alone(program, argument, place):
    """What `program` prints in an isolated interpreter whose caches lie in `place`."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "HF_"))}
    environment |= {"HF_HOME": str(place / "home"), "HF_MODULES_CACHE": str(place / "modules"), "HF_HUB_OFFLINE": "1"}
    run = subprocess.run(
        [sys.executable, "-I", "-c", program, argument],
        env=environment,
        cwd=place,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def answer(model, tokenizer):
    batch = tokenizer(FORMULAS, padding=True, return_tensors="pt")
    ids = model.generate(**batch, num_beams=3, max_new_tokens=12)
    return ids.tolist(), tokenizer.batch_decode(ids, symbols=batch.symbols, skip_special_tokens=True)


def code_in(folder):
    return {path.name for path in folder.iterdir() if path.suffix == ".py" or path.is_dir()}


def test_with_the_package_every_auto_class_loads_the_packages_class_without_trust(folder):
    assert type(AutoTokenizer.from_pretrained(folder)) is SymbolInvariantTokenizer
    for trust in ({}, {"trust_remote_code": True}):  # with trust, too, the package goes before the checkpoint's code
        assert type(AutoConfig.from_pretrained(folder, **trust)) is SymbolInvariantConfig
        assert type(AutoModel.from_pretrained(folder, **trust)) is SymbolInvariantModel
        assert type(AutoModelForSeq2SeqLM.from_pretrained(folder, **trust)) is SymbolInvariantForConditionalGeneration


def test_weights_scale_and_answers_come_back_bit_for_bit(model, folder):
    loaded = AutoModelForSeq2SeqLM.from_pretrained(folder)
    assert loaded.state_dict().keys() == model.state_dict().keys()
    for name, tensor in model.state_dict().items():
        assert torch.equal(loaded.state_dict()[name], tensor), name
    base = AutoModel.from_pretrained(folder)
    for name, tensor in model.model.state_dict().items():
        assert torch.equal(base.state_dict()[name], tensor), name
    ids, texts = answer(model, LTL.tokenizer())
    assert answer(loaded, AutoTokenizer.from_pretrained(folder)) == (ids, texts)
    assert any(name in "".join(texts) for name in ("a", "request"))


@pytest.mark.parametrize("auto", [AutoModel, AutoModelForSeq2SeqLM])
def test_models_are_made_from_a_config_by_the_auto_classes(auto):
    config = SymbolInvariantConfig(d_model=8, encoder_layers=1, decoder_layers=1, d_ff=8)
    assert type(auto.from_config(config)).__name__.startswith("SymbolInvariant")


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
    arguments = TrainingArguments(
        str(tmp_path),
        max_steps=1,
        save_steps=1,
        use_cpu=True,
        report_to=[],
        disable_tqdm=True,
        dataloader_pin_memory=False,
    )
    data = [{"input_ids": [13, 2], "labels": [9, 13, 10, 2]}]
    Trainer(model, arguments, train_dataset=data, processing_class=LTL.tokenizer()).train()
    checkpoint = tmp_path / "checkpoint-1"
    assert code_in(checkpoint) == CODE
    assert set(json.loads((checkpoint / "config.json").read_text())["auto_map"]) >= {
        "AutoConfig",
        "AutoModelForSeq2SeqLM",
    }
    assert "auto_map" in json.loads((checkpoint / "tokenizer_config.json").read_text())


@pytest.mark.slow
def test_without_the_package_the_checkpoints_own_code_gives_the_same_answers(folder, strangers):
    model, tokenizer = AutoModelForSeq2SeqLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    ids, texts = answer(model, tokenizer)
    given = strangers[str(folder)]
    assert "trust_remote_code=True" in given["refusal"]
    assert given["names"] == {
        "AutoConfig": "transformers_modules.SymbolInvariantConfig",
        "AutoModel": "transformers_modules.SymbolInvariantModel",
        "AutoTokenizer": "transformers_modules.SymbolInvariantTokenizer",
        "AutoModelForSeq2SeqLM": "transformers_modules.SymbolInvariantForConditionalGeneration",
    }
    assert (given["ids"], given["texts"]) == (ids, texts)
    assert given["same"] and code_in(Path(given["again"])) == CODE


@pytest.mark.slow
def test_without_the_package_models_without_encoder_or_decoder_load_too(tmp_path):
    causal = language_model(dtype=torch.float32, identity_qk=True, identity_vo=True)
    inputs = {"input_ids": torch.tensor([[3, 4, 5, 3]]), "slot_vectors": causal.draw(1)}
    cases = [("AutoModelForCausalLM", causal, inputs)]
    streams = SymbolInvariantForCausalLM(SymbolInvariantConfig(encoder_layers=0, decoder_layers=1, d_model=16)).eval()
    cases.append(("AutoModelForCausalLM", streams, {"input_ids": torch.tensor([[0, 13, 15, 13]])}))
    answers = {"input_ids": torch.tensor([[3, 14, 2]]), "decoder_input_ids": torch.tensor([[0, 14, 16, 17]])}
    new_symbols = tiny_model(num_fresh_symbols=3, grammar=None, dtype=torch.float32)
    cases.append(("AutoModelForSeq2SeqLM", new_symbols, answers))
    for options in ({}, {"symbol_embedding": "streams", "components": ["EP", "EA"]}):
        classifier = encoder(dtype=torch.float32, **options)
        cases.append(("AutoModelForSequenceClassification", classifier, {"input_ids": torch.tensor([[7, 3, 8, 12]])}))
    for auto, make in (("AutoModelForTokenClassification", labeller), ("AutoModelForMaskedLM", filler)):
        cases.append((auto, make(**STREAMS, dtype=torch.float32), {"input_ids": torch.tensor([[7, 3, 8, 12]])}))
    table = {"base_tokens": ["<s>", "<pad>", "</s>", "<number>", "+", "="], "symbols": {"a": [0, 0], "b": [1, 0]}}
    words = SymbolInvariantWordTokenizer(**table, patterns=[[r"\d+", "<number>"], [r"\S", None]])
    saved = []
    for index, (auto, model, inputs) in enumerate(cases):
        folder = tmp_path / f"model-{index}"
        model.save_pretrained(folder)
        words.save_pretrained(folder)
        names = {
            "AutoModelForCausalLM": {"causal_symbinv.py", *WRITING},
            "AutoModelForSeq2SeqLM": {"modeling_symbinv.py", *WRITING},
            "AutoModelForMaskedLM": {"classification_symbinv.py", "masked_symbinv.py"},
        }.get(auto, {"classification_symbinv.py"})
        shared = CODE - WRITING - {"modeling_symbinv.py", "tokenization_symbinv.py"}
        assert code_in(folder) == shared | {"text_symbinv.py", "words_symbinv.py"} | names
        with torch.no_grad():
            saved.append((auto, str(folder), inputs, model(**inputs).logits))
    torch.save(saved, tmp_path / "cases.pt")
    printed = run_alone(STRANGER_ALONE, str(tmp_path / "cases.pt"), tmp_path)
    written = [model.generate(**inputs, max_new_tokens=4, num_beams=2) for _, model, inputs in cases[:3]]
    assert printed.splitlines() == [*(str(ids.tolist()) for ids in written), "[7, 5, 6, 4, 3]"]
