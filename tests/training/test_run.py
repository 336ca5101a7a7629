"""Whole runs of examples/train_ltl.py: killed and resumed."""

import json
import os
import shutil
import signal
import subprocess
import time

import pytest
import torch

from hf_symbinv.training.run import last_checkpoint, seconds_of

from .runs import RECIPE, assert_equal_up_to_rounding, command, run, weights


@pytest.mark.slow
def test_a_run_writes_model_record_and_events_and_learns(finished):
    record = json.loads((finished / "run.json").read_text())
    assert record["processes"] == 1
    assert record["command"].startswith("train_ltl.py --recipe")
    assert record["results"]["test_count"] == 10
    assert record["environment"]["packages"]["torch"].split("+")[0] == torch.__version__.split("+")[0]
    losses = [entry["loss"] for entry in record["log"] if "loss" in entry]
    assert losses[-1] < losses[0]
    assert any("eval_accuracy" in entry for entry in record["log"])
    assert list(finished.glob("**/events.out.tfevents.*"))
    assert (finished / "modeling_symbinv.py").is_file()
    assert (finished / "tokenizer_config.json").is_file()


@pytest.mark.slow
def test_processes_that_read_ahead_as_beside_a_gpu_change_no_weight(data, finished, tmp_path):
    run(data, tmp_path / "ahead", "trainer.dataloader_num_workers=2")
    found, expected = weights(tmp_path / "ahead"), weights(finished)
    assert found.keys() == expected.keys() and all(torch.equal(found[name], expected[name]) for name in expected)


@pytest.mark.slow
def test_a_run_killed_after_a_checkpoint_resumes_to_the_same_weights_bit_for_bit(data, finished, tmp_path):
    output = tmp_path / "killed"
    process = subprocess.Popen(command(data, output), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    state = output / "checkpoint-3" / "trainer_state.json"
    until = time.time() + 240
    while not state.is_file() and process.poll() is None and time.time() < until:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert state.is_file()
    assert not (output / "run.json").exists()
    shutil.rmtree(output / "checkpoint-6", ignore_errors=True)  # in case the kill came late
    run(data, output)
    resumed, straight = weights(output), weights(finished)
    assert all(torch.equal(resumed[name], straight[name]) for name in straight)


@pytest.mark.slow
def test_what_cannot_be_used_is_refused_in_one_sentence(data, tmp_path):
    refused = subprocess.run(
        command(data, tmp_path / "run", "model.nheads=3"), capture_output=True, text=True, timeout=300, check=False
    )
    assert refused.returncode == 2 and "Traceback" not in refused.stderr
    assert "train_ltl.py: error: nheads=3: unknown field" in refused.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("cut", ["", '{"global_step": 6, "lo'])
def test_a_checkpoint_that_was_not_written_to_its_end_is_passed_over(cut, tmp_path):
    for step, state in ((3, '{"global_step": 3}'), (6, cut)):
        (tmp_path / f"checkpoint-{step}").mkdir()
        (tmp_path / f"checkpoint-{step}" / "trainer_state.json").write_text(state)
    assert last_checkpoint(tmp_path) == tmp_path / "checkpoint-3"
    assert seconds_of(tmp_path / "checkpoint-3") == 0


@pytest.mark.slow
def test_micro_batches_train_as_one_batch(data, finished, tmp_path):
    output = tmp_path / "micro"
    run(data, output, "trainer.per_device_train_batch_size=2", "trainer.gradient_accumulation_steps=4")
    assert_equal_up_to_rounding(weights(output), weights(finished))


@pytest.mark.slow
def test_a_folder_of_another_recipe_is_refused(data, finished):
    changed = command(data, finished, "trainer.learning_rate=0.5")
    result = subprocess.run(changed, capture_output=True, text=True, timeout=300, check=False)
    assert result.returncode != 0
    assert "holds a run of another recipe" in result.stderr


def test_a_data_set_without_splits_and_an_unknown_argument_are_refused(tmp_path):
    from datasets import Dataset, DatasetDict

    from hf_symbinv import Recipe, train

    rows = Dataset.from_dict({"formula": ["a"], "witness": ["{a}"]})
    path = tmp_path / "recipe.yaml"
    path.write_text(RECIPE)
    with pytest.raises(ValueError, match="needs train, validation and test"):
        train(Recipe.load(path), DatasetDict(train=rows), tmp_path / "out")
    every = DatasetDict(train=rows, validation=rows, test=rows)
    with pytest.raises(ValueError, match=r"trainer: .*max_stepz"):
        train(Recipe.load(path, {"trainer.max_stepz": 3}), every, tmp_path / "out")
    with pytest.raises(ValueError, match=r"trainer: never is not a valid IntervalStrategy.*; see transformers\."):
        train(Recipe.load(path, {"trainer.eval_strategy": "never"}), every, tmp_path / "out")
    assert not os.path.exists(tmp_path / "out")


@pytest.mark.slow
def test_a_run_in_pieces_ends_with_the_weights_of_a_run_in_one(data, tmp_path):
    from datasets import load_dataset

    from hf_symbinv import Recipe, train

    path = tmp_path / "recipe.yaml"
    path.write_text(RECIPE)
    recipe = Recipe.load(path, {"trainer.max_steps": 2, "trainer.report_to": "none", "model.dropout": 0.1})
    rows = load_dataset("parquet", data_dir=str(data))
    straight = train(recipe, rows, tmp_path / "one")
    pieces = [train(recipe, rows, tmp_path / "many", max_seconds=0.0) for _ in range(2)]
    assert pieces == [{"finished": False, "step": step, "max_steps": 2} for step in (1, 2)]
    assert not (tmp_path / "many" / "run.json").exists()
    seconds = json.loads((tmp_path / "many" / "checkpoint-2" / "seconds.json").read_text())
    assert seconds > json.loads((tmp_path / "many" / "checkpoint-1" / "seconds.json").read_text()) > 0

    (tmp_path / "many" / "checkpoint-9").mkdir()  # as a run leaves it that was killed while it wrote
    whole = train(recipe, rows, tmp_path / "many", max_seconds=0.0)
    assert whole["finished"] and straight["finished"] and whole["seconds"] > seconds
    scores = {name: value for name, value in straight["results"].items() if name.startswith("test_")}
    assert {name: whole["results"][name] for name in scores} == scores
    some, other = weights(tmp_path / "one"), weights(tmp_path / "many")
    assert all(torch.equal(some[name], other[name]) for name in some)
    assert train(recipe, rows, tmp_path / "many") == whole


@pytest.mark.slow
def test_training_on_renamed_data_gives_streams_the_same_weights(data, tmp_path):
    from hf_symbinv import LTL
    from hf_symbinv.datasets_scripts.questions.transforms import transform

    transform(data, tmp_path / "renamed", LTL, {"renamed": True})
    for name, folder in {"plain": data, "other": tmp_path / "renamed"}.items():
        run(folder, tmp_path / name)
    plain, other = weights(tmp_path / "plain"), weights(tmp_path / "other")
    assert plain.keys() == other.keys() and all(torch.equal(plain[key], other[key]) for key in plain)


@pytest.mark.slow
def test_a_run_leaves_a_card_with_its_test_and_its_losses(finished):
    from huggingface_hub import ModelCard

    card = ModelCard.load(finished / "README.md")
    (result,) = card.data.eval_results
    assert result.metric_name.startswith("answers verified by spot ") and "10 questions" in result.metric_name
    record = json.loads((finished / "run.json").read_text())
    assert result.metric_value == record["results"]["test_accuracy"]
    assert record["hyperparameters"]["learning_rate"] == 1e-2 and "output_dir" not in record["hyperparameters"]
    assert record["rows"] == {"train": 320, "validation": 40, "test": 40}
    for text in ("| steps | 6 |", "| learning_rate | 0.01 |", f"torch {record['environment']['packages']['torch']}"):
        assert text in card.text
    assert card.text.count("\n| 3 | ") == 1 and str(finished.parent) not in card.text
