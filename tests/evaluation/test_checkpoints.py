"""A checkpoint loads whole or not at all, and what is wrong with it is said in one sentence."""

import json
import re
import shutil

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


class TestDamage:
    def test_no_weights(self, folder):
        (folder / "model.safetensors").unlink()
        assert f"{folder}: its weights cannot be read (" in refusal(folder)

    def test_weights_cut_short(self, folder):
        weights = folder / "model.safetensors"
        weights.write_bytes(weights.read_bytes()[:-100])
        assert f"{folder}: its weights cannot be read (" in refusal(folder)

    def test_weights_that_are_something_else(self, folder):
        (folder / "model.safetensors").write_bytes(b"no tensors at all")
        assert f"{folder}: its weights cannot be read (" in refusal(folder)

    def test_weights_of_fewer_layers(self, folder):
        """transformers would only warn, and answer with random weights."""
        change_config(folder, decoder_layers=2)
        message = refusal(folder)
        assert (
            f"{folder}: its weights do not fit its configuration: " in message
            and "missing keys, first model." in message
        )

    def test_weights_of_more_layers(self, folder):
        change_config(folder, components=["EP", "DP", "CP"])
        assert "unexpected keys, first model." in refusal(folder)

    def test_weights_of_another_width(self, folder):
        change_config(folder, d_ff=16)
        assert f"{folder}: its weights cannot be read (" in refusal(folder)

    def test_a_configuration_that_is_no_json(self, folder):
        (folder / "config.json").write_text("{")
        assert f"{folder}: its configuration cannot be read (" in refusal(folder)

    def test_a_configuration_with_an_impossible_size(self, folder):
        change_config(folder, d_model=7)
        assert "(d_model=7: must be a multiple of 2 * num_attention_heads = 4" in refusal(folder)

    def test_a_configuration_of_a_wrong_type(self, folder):
        change_config(folder, decoder_layers="two")
        message = refusal(folder)
        assert "its configuration cannot be read (" in message and "decoder_layers" in message
        assert message.endswith("; save or download it again")

    def test_a_configuration_with_keys_of_others_is_read(self, folder):
        change_config(folder, custom_pipelines={}, note="kept")
        assert load_checkpoint(str(folder)).model.config.note == "kept"

    def test_no_tokenizer(self, folder):
        (folder / "tokenizer_config.json").unlink()
        assert f"{folder}: its tokenizer cannot be read (" in refusal(folder)

    def test_a_generation_configuration_cut_in_half(self, folder):
        path = folder / "generation_config.json"
        path.write_text(path.read_text()[:30])
        assert f"{path}: not JSON (" in refusal(folder)
        path.unlink()  # there need not be one
        assert load_checkpoint(str(folder)).model.generation_config.num_beams in (None, 1)

    @pytest.mark.parametrize(
        ("content", "reason"),
        [
            ("[1]", "holds no JSON object"),
            ('{"num_beams": "three"}', "num_beams='three': must be a whole number"),
            ('{"grammar": "lasso"}', "grammar='lasso': must be an object"),
            ('{"output_attentions": 3.5}', "output_attentions=3.5: must be true or false"),
            (
                '{"pad_token_id": 1, "eos_token_id": 2}',
                "decoder_start_token_id=None. An answer needs one of the base",
            ),
            (
                '{"decoder_start_token_id": 0, "pad_token_id": 1, "eos_token_id": [99]}',
                "eos_token_id=[99]. An answer",
            ),
            (
                '{"decoder_start_token_id": 0, "pad_token_id": 1, "eos_token_id": 2, "grammar": {"": ""}}',
                "grammar={'': ''}: unknown grammar",
            ),
            (
                '{"decoder_start_token_id": 0, "pad_token_id": 1, "eos_token_id": 2, '
                '"grammar": {"name": "assignment", "values": [true]}}',
                "values=[True]: must be base ids",
            ),
        ],
    )
    def test_a_generation_configuration_with_which_no_answer_can_be_written(self, folder, content, reason):
        (folder / "generation_config.json").write_text(content)
        message = refusal(folder)
        assert "generation_config.json" in message and reason in message
        assert message.endswith("; save or download it again")

    @pytest.mark.parametrize("content", ["[]", "3", "null", '"text"', '{"model_type": 3}', '{"architectures": [[]]}'])
    def test_a_configuration_of_another_shape(self, folder, content):
        (folder / "config.json").write_text(content)
        assert refusal(folder).startswith(f"{folder}: ")

    def test_a_tokenizer_of_another_task(self, folder):
        path = folder / "tokenizer_config.json"
        content = json.loads(path.read_text())
        content["base_tokens"] = [token if token != "U" else "V" for token in content["base_tokens"]]
        content["token_arity"] = {token: n for token, n in content["token_arity"].items() if token != "U"}
        path.write_text(json.dumps(content))
        unknown = "base tokens <s> <pad> </s> 0 1 & | ! ; { } V X: no task has these; name the file that defines it"
        assert f"{folder}: {unknown}, or use a checkpoint of another task" == refusal(folder)
        message = f"{folder}: its base tokens are not those of task ltl, <s> <pad> </s> 0 1"
        assert message in refusal(folder, task=LTL)

    def test_a_checkpoint_of_another_task_than_asked_for(self, folder):
        assert f"{folder}: its base tokens are not those of task copy, <s> <pad> </s>; use a" in refusal(
            folder, task=COPY
        )

    @pytest.mark.parametrize(("model_type", "shown"), [("t5", "'t5'"), ("bert", "'bert'"), (None, "None")])
    def test_a_model_of_another_family(self, folder, model_type, shown):
        change_config(folder, model_type=model_type)
        assert f"{folder}: its model type is {shown}, not 'symbol_invariant'" in refusal(folder)


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
