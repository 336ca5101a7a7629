"""A checkpoint loads whole or not at all, and what is wrong with it is said in one sentence."""

import json
import re
import shutil
from fnmatch import fnmatchcase

import pytest

from hf_symbinv.evaluation import CheckpointError, bundled_checkpoints, default_checkpoint, load_checkpoint
from hf_symbinv.tasks import COPY, LTL


@pytest.fixture
def folder(whole, tmp_path):
    return shutil.copytree(whole, tmp_path / "checkpoint")


def change_config(folder, **fields):
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))


def refusal(name, **options):
    with pytest.raises(CheckpointError) as error:
        load_checkpoint(str(name), "cpu", **options)
    message = str(error.value)
    assert "\n" not in message and len(message) < 500
    return message


def test_a_whole_checkpoint_loads_for_evaluation(whole):
    checkpoint = load_checkpoint(str(whole), "cpu")
    assert checkpoint.folder == whole and not checkpoint.model.training and checkpoint.task == LTL
    found = checkpoint.tokenizer("&ab")
    assert checkpoint.tokenizer.decode(found["input_ids"], symbols=found.symbols, skip_special_tokens=True) == "&ab"


def test_bundled_checkpoints_are_found_by_name():
    for name, folder in bundled_checkpoints().items():
        assert load_checkpoint(name, "cpu").folder == folder
    assert default_checkpoint(LTL) in bundled_checkpoints()


def test_a_task_without_a_bundled_checkpoint_says_what_to_do():
    with pytest.raises(CheckpointError, match=r"task copy: no checkpoint for it comes with the package; name a folder"):
        default_checkpoint(COPY)


def gone(name):
    return lambda folder: (folder / name).unlink()


def written(name, content):
    return lambda folder: (folder / name).write_text(content)


def changed(**fields):
    return lambda folder: change_config(folder, **fields)


def cut_short(folder):
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])


IDS, VALUES = '"decoder_start_token_id": 0, "pad_token_id": 1', '{"name": "assignment", "values": [true]}'
# What happens to the folder, and what is said of it; on what cannot be read the remedy follows.
DAMAGED = [
    (gone("model.safetensors"), "{}: its weights cannot be read ("),
    (cut_short, "{}: its weights cannot be read ("),
    (written("model.safetensors", "no tensors at all"), "{}: its weights cannot be read ("),
    # transformers would only warn, and answer with random weights.
    (changed(decoder_layers=2), "{}: its weights do not fit its configuration: * missing keys, first model."),
    (changed(components=["EP", "DP", "CP"]), "unexpected keys, first model."),
    (changed(d_ff=16), "{}: its weights cannot be read ("),
    (written("config.json", "{"), "{}: its configuration cannot be read ("),
    (changed(d_model=7), "(d_model=7: must be a multiple of 2 [*] num_attention_heads = 4"),
    (changed(decoder_layers="two"), "its configuration cannot be read (*decoder_layers*; save or download it again"),
    (gone("tokenizer_config.json"), "{}: its tokenizer cannot be read ("),
    (written("recipe.json", '{"recipe": {"task": "own.py"}}'), "the task of own.py, and task ltl has the same base"),
    (changed(model_type="t5"), "{}: its model type is 't5', not 'symbol_invariant'"),
    (changed(model_type=None), "{}: its model type is None, not 'symbol_invariant'"),
    *(
        (written("config.json", content), "{}: ")
        for content in ("[]", "3", "null", '"text"', '{"model_type": 3}', '{"architectures": [[]]}')
    ),
    *(
        (written("generation_config.json", content), f"generation_config.json*{reason}*; save or download it again")
        for content, reason in (
            ('{"num_beams": 3', "not JSON ("),
            ("[1]", "holds no JSON object"),
            ('{"num_beams": "three"}', "num_beams='three': must be a whole number"),
            ('{"grammar": "lasso"}', "grammar='lasso': must be an object"),
            ('{"output_attentions": 3.5}', "output_attentions=3.5: must be true or false"),
            ('{"pad_token_id": 1, "eos_token_id": 2}', "decoder_start_token_id=None. An answer needs one of the base"),
            (f'{{{IDS}, "eos_token_id": [99]}}', "eos_token_id=[[]99]. An answer"),
            (f'{{{IDS}, "eos_token_id": 2, "grammar": {{"": ""}}}}', "grammar={'': ''}: unknown grammar"),
            (f'{{{IDS}, "eos_token_id": 2, "grammar": {VALUES}}}', "values=[[]True]: must be base ids"),
        )
    ),
]


class TestDamage:
    @pytest.mark.parametrize(("harm", "sentence"), DAMAGED)
    def test_it_is_said_in_a_sentence(self, harm, sentence, folder):
        harm(folder)
        assert fnmatchcase(refusal(folder), f"*{sentence.replace('{}', str(folder))}*")

    def test_a_configuration_with_keys_of_others_and_none_of_generation_are_read(self, folder):
        change_config(folder, custom_pipelines={}, note="kept")
        (folder / "generation_config.json").unlink()
        model = load_checkpoint(str(folder)).model
        assert model.config.note == "kept" and model.generation_config.num_beams in (None, 1)

    def test_a_tokenizer_of_another_task(self, folder):
        copy = f"{folder}: its base tokens are not those of task copy, <s> <pad> </s>; use a"
        assert copy in refusal(folder, task=COPY)
        path = folder / "tokenizer_config.json"
        content = json.loads(path.read_text())
        content["base_tokens"] = [token if token != "U" else "V" for token in content["base_tokens"]]
        content["token_arity"] = {token: n for token, n in content["token_arity"].items() if token != "U"}
        path.write_text(json.dumps(content))
        unknown = "base tokens <s> <pad> </s> 0 1 & | ! ; { } V X: no task has these; name the file that defines it"
        assert f"{folder}: {unknown}, or use a checkpoint of another task" == refusal(folder)
        message = f"{folder}: its base tokens are not those of task ltl, <s> <pad> </s> 0 1"
        assert message in refusal(folder, task=LTL)


class TestNames:
    def test_a_folder_without_a_checkpoint(self, tmp_path):
        assert refusal(tmp_path).startswith(
            f"{tmp_path}: has no config.json; pass the folder that a checkpoint was saved in"
        )

    def test_a_training_that_has_not_ended_names_what_can_be_asked(self, folder, tmp_path):
        for step in (5, 40):
            shutil.copytree(folder, tmp_path / f"checkpoint-{step}")
        (tmp_path / "checkpoint-best").mkdir()  # another program's
        told = refusal(tmp_path)
        assert told.startswith(f"{tmp_path}: its training has not ended; repeat the command that trains it, or name ")
        last = re.search(r"or name (\S+), where it is so far$", told)[1]
        assert last == str(tmp_path / "checkpoint-40") and load_checkpoint(last).task.name

    def test_a_file(self, folder):
        name = folder / "model.safetensors"
        assert refusal(name) == f"{name}: is a file; pass the folder that holds it"

    @pytest.mark.parametrize("name", ["nothing-here", "/nothing/here", "./nothing/here", "a/b/c"])
    def test_no_such_folder(self, name):
        assert refusal(name).startswith(f"{name}: no such folder; bundled checkpoints: ")

    def test_an_empty_name(self):
        assert refusal("").startswith("'': no such folder")

    def test_a_name_on_the_hub_that_cannot_be_reached(self):
        assert refusal("owner/name") == (
            "owner/name: no such folder, and offline mode is on; unset HF_HUB_OFFLINE, or use a folder"
        )


@pytest.mark.parametrize("device", ["abacus", "cuda:99", "meta:x", ""])
def test_a_device_that_is_not_there(whole, device):
    with pytest.raises(CheckpointError, match=f"device '{device}': not usable here "):
        load_checkpoint(str(whole), device)
