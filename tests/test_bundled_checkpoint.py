"""The checkpoints that ship with the package, used as their cards say."""

import json
import random
import re

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModel, AutoModelForSeq2SeqLM, AutoTokenizer, pipeline

import hf_symbinv
from hf_symbinv.evaluation import bundled_checkpoints
from hf_symbinv.logic import parse_trace, to_prefix
from hf_symbinv.tasks import PROP

FOLDER = bundled_checkpoints()["ltl-small"]
FORMULAS = ["&aXb", "U1&a!b", "&!aUaXb", "|UabX!c", "&X!dUXab"]


@pytest.fixture(scope="module")
def model():
    return AutoModelForSeq2SeqLM.from_pretrained(FOLDER)


@pytest.fixture(scope="module")
def tokenizer():
    return AutoTokenizer.from_pretrained(FOLDER)


def answers(model, tokenizer, formulas: list[str]) -> list[str]:
    inputs = tokenizer(formulas, padding=True, return_tensors="pt")
    ids = model.generate(**inputs, num_beams=3, max_new_tokens=100)
    return tokenizer.batch_decode(ids, symbols=inputs.symbols, skip_special_tokens=True)


def verdicts(formulas: list[str], witnesses: list[str]) -> list[str]:
    with hf_symbinv.Checker(workers=1) as checker:
        return [result.verdict for result in checker.check(list(zip(formulas, witnesses, strict=True)))]


def test_three_calls_give_verified_witnesses_in_prefix_notation(model, tokenizer):
    witnesses = answers(model, tokenizer, FORMULAS)
    assert all(parse_trace(witness) for witness in witnesses)
    assert verdicts(FORMULAS, witnesses).count("correct") >= 4


def test_formulas_with_more_symbols_than_it_was_trained_on_are_answered_by_the_same_weights(model, tokenizer):
    formulas = ["&a&Xb&XXc&d&Xe&XXf&gXh", "&&Xp!q&|rsXX&!t&u!v", "UaUbUcUdUeUfUgh", "&!aX&!bX&!cX&!dX&!eX!f"]
    assert verdicts(formulas, answers(model, tokenizer, formulas)).count("correct") >= 1


def test_the_base_model_loads_from_the_same_folder(model):
    base = AutoModel.from_pretrained(FOLDER)
    assert type(base) is hf_symbinv.SymbolInvariantModel
    assert torch.equal(base.embedding.weight, model.model.embedding.weight)


@pytest.mark.parametrize(
    ("name", "largest", "megabytes"),
    [
        ("ltl-base", 50, 12),
        ("ltl-many", 50, 12),
        ("ltl-canonical", 35, 12),
        ("ltl-patterns", 50, 4),
        ("ltl-small", 25, 4),
        ("prop-base", 50, 12),
        ("prop-canonical", 50, 12),
        ("prop-small", 10, 4),
    ],
)
def test_the_folder_is_small_holds_no_pickle_and_tells_how_it_was_made(name, largest, megabytes):
    folder = bundled_checkpoints()[name]
    assert sum(path.stat().st_size for path in folder.iterdir()) < megabytes * 2**20
    assert not [path for path in folder.iterdir() if path.suffix in {".bin", ".pt", ".pkl"}]
    record = json.loads((folder / "run.json").read_text())
    assert record["recipe"]["data"]["max_size"] == largest
    recipe = {"ltl-patterns": "examples/ltl_patterns.yaml", "ltl-many": "ltl-base"}.get(name, name)
    assert re.search(rf"(symbinv train|train_ltl.py --recipe) {recipe} ", record["command"])
    assert f"{record['results']['test_accuracy']:.1%}".replace("%", " %") in (folder / "README.md").read_text()


@pytest.mark.parametrize("folder", bundled_checkpoints().values(), ids=bundled_checkpoints())
class TestCode:
    """The package is the code of its own checkpoints; a push adds a copy, as `tests/hub` sees."""

    def test_the_folder_holds_no_code_and_promises_none(self, folder):
        assert not list(folder.glob("*.py"))
        for path in folder.glob("*.json"):
            assert "auto_map" not in json.loads(path.read_text())

    @pytest.mark.parametrize("trust", [{}, {"trust_remote_code": True}, {"trust_remote_code": False}])
    def test_with_the_package_it_loads_with_and_without_trust(self, folder, trust):
        model = AutoModelForSeq2SeqLM.from_pretrained(folder, **trust)
        assert type(model) is hf_symbinv.SymbolInvariantForConditionalGeneration
        assert type(AutoTokenizer.from_pretrained(folder, **trust)) is hf_symbinv.SymbolInvariantTokenizer

    def test_saved_again_it_holds_the_same_weights_under_the_same_names_and_the_code(self, folder, tmp_path):
        AutoModelForSeq2SeqLM.from_pretrained(folder).save_pretrained(tmp_path)
        before, after = (load_file(home / "model.safetensors") for home in (folder, tmp_path))
        assert before.keys() == after.keys()
        assert all(torch.equal(tensor, after[name]) for name, tensor in before.items())
        assert (tmp_path / "modeling_symbinv.py").is_file()


@pytest.mark.slow
def test_most_fresh_formulas_of_the_training_distribution_get_a_correct_witness(model, tokenizer):
    """The card's 1,000 rows are the measurement; 60 other formulas show that these are the weights measured there."""
    import spot

    rng = random.Random(7)
    formulas: list[str] = []
    while len(formulas) < 60:
        priorities = "false=1,true=1,not=1,X=1,U=1,and=1,F=0,G=0,equiv=0,implies=0,xor=0,R=0,W=0,M=0,or=0"
        # Spot writes into the string of priorities, so every call gets a new one.
        options = {
            "seed": rng.randrange(2**31),
            "tree_size": rng.randint(10, 25),
            "ltl_priorities": "".join(priorities),
        }
        formula = next(iter(spot.randltl(list("abcde"), 1, **options)))
        if formula.translate("Buchi", "low").is_empty():
            continue
        formulas.append(to_prefix(hf_symbinv.parse_infix(str(formula)).to_base()))
    results = verdicts(formulas, answers(model, tokenizer, formulas))
    assert results.count("correct") >= 36


@pytest.fixture(scope="module")
def prop_base():
    folder = bundled_checkpoints()["prop-base"]
    return AutoModelForSeq2SeqLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)


class TestPropositionalLogic:
    """The checkpoint that `pipeline("prop-assignment")` takes if no model is named."""

    FORMULAS = ("&|ab!c", "^a^bc", "|&ab!b", "&^a&ab|!cd", "|&a!a&b^cd")

    def test_formulas_get_assignments_that_py_aiger_verifies(self, prop_base):
        pairs = list(zip(self.FORMULAS, answers(*prop_base, list(self.FORMULAS)), strict=True))
        with PROP.checker(workers=1) as checker:
            verdicts = [result.verdict for result in checker.check(pairs)]
        assert verdicts.count("correct") == 5

    def test_the_pipeline_takes_it_if_no_model_is_named(self):
        result = pipeline("prop-assignment")("(request | !grant) & busy", verify=True)
        assert result["verdict"] == "correct"
