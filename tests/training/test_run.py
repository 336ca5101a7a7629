"""Runs and their folders: killed and resumed, made longer, and refused where another run would be mixed in."""

import hashlib
import json
import os
import shutil

import pytest
import torch
from filelock import FileLock
from transformers import TrainingArguments

from hf_symbinv.errors import explain
from hf_symbinv.files import damage_of, write_sums
from hf_symbinv.training.fitting import fit
from hf_symbinv.training.recipe import training_arguments
from hf_symbinv.training.run import OtherRunError, Run, last_checkpoint, seconds_of
from hf_symbinv.training.run_data import data_record, measure_rows

from .. import forks
from .runs import FITTED, RECIPE, assert_equal_up_to_rounding, assert_same_weights, command, run, small_model, weights


@pytest.fixture
def run_here(program):
    """As `run`, in the process of the tests."""

    def done(*arguments):
        result = program(*command(*arguments))
        assert result.code == 0, result.err[-3000:]

    return done


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
    assert (finished / "learning.png").read_bytes().startswith(b"\x89PNG")
    assert (finished / "modeling_symbinv.py").is_file()
    assert (finished / "tokenizer_config.json").is_file()


@pytest.mark.slow
def test_processes_that_read_ahead_as_beside_a_gpu_change_no_weight(data, finished, tmp_path):
    run(data, tmp_path / "ahead", "trainer.dataloader_num_workers=2")
    assert_same_weights(tmp_path / "ahead", finished)


@pytest.mark.slow
def test_a_run_killed_after_a_checkpoint_resumes_to_the_same_weights_bit_for_bit(data, finished, run_here, tmp_path):
    output = tmp_path / "killed"
    state = output / "checkpoint-3" / "trainer_state.json"
    forks.kill_when(state.is_file, forks.start(command(data, output), tmp_path / "printed"))
    assert state.is_file()
    assert not (output / "run.json").exists()
    shutil.rmtree(output / "checkpoint-6", ignore_errors=True)  # in case the kill came late
    run_here(data, output)
    assert_same_weights(output, finished)


@pytest.mark.parametrize(
    "state",
    [
        "", '{"global_step": 6, "lo', "{}", "[]", '{"global_step": 6}', '{"global_step": 6, "max_steps": 0}',
        '{"global_step": 9, "max_steps": 9}', '{"global_step": "6", "max_steps": 9}',
    ],
)  # fmt: skip
def test_a_checkpoint_whose_state_is_cut_or_not_its_own_is_passed_over(state, tmp_path):
    for step, text in ((3, '{"global_step": 3, "max_steps": 9}'), (6, state), ("last", "{}")):
        (tmp_path / f"checkpoint-{step}").mkdir()
        (tmp_path / f"checkpoint-{step}" / "trainer_state.json").write_text(text)
        write_sums(tmp_path / f"checkpoint-{step}", [tmp_path / f"checkpoint-{step}" / "trainer_state.json"])
    assert last_checkpoint(tmp_path) == tmp_path / "checkpoint-3"
    assert seconds_of(tmp_path / "checkpoint-3") == 0
    (tmp_path / "checkpoint-3" / "sha256.json").unlink()  # which is written last
    assert last_checkpoint(tmp_path) is None


@pytest.mark.slow
def test_micro_batches_train_as_one_batch(data, finished, run_here, tmp_path):
    output = tmp_path / "micro"
    run_here(data, output, "trainer.per_device_train_batch_size=2", "trainer.gradient_accumulation_steps=4")
    assert_equal_up_to_rounding(weights(output), weights(finished))


@pytest.mark.slow
def test_a_run_tells_what_it_was_trained_on(data, finished):
    from datasets import load_dataset

    from hf_symbinv import LTL

    told = json.loads((finished / "run.json").read_text())["data"]
    assert told["source"] == str(data) and told["builder"]["max_size"] == 6 and told["builder"]["num_symbols"] == 3
    rows = load_dataset("parquet", data_dir=str(data))
    for split, count in (("train", 320), ("validation", 10), ("test", 10)):
        used = rows[split].select(range(count))
        lines = "".join(f"{row['formula']}\t{row['witness']}\n" for row in used)
        symbols, sizes = [len(row["symbols"]) for row in used], [LTL.size(row["formula"]) for row in used]
        assert told["splits"][split] == {
            "rows": count,
            "symbols": [min(symbols), max(symbols)],
            "size": [min(sizes), max(sizes)],
            "sha256": hashlib.sha256(lines.encode()).hexdigest(),
        }
    assert json.loads((finished / "recipe.json").read_text())["data"] == told


def test_a_data_set_without_splits_is_refused(tmp_path):
    from datasets import Dataset, DatasetDict

    from hf_symbinv import Recipe, train

    rows = Dataset.from_dict({"formula": ["a"], "witness": ["{a}"]})
    path = tmp_path / "recipe.yaml"
    path.write_text(RECIPE)
    with pytest.raises(ValueError, match="needs train, validation and test"):
        train(Recipe.load(path), DatasetDict(train=rows), tmp_path / "out")
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
    pieces = [train(recipe, rows, tmp_path / "many", max_seconds=0.0)]
    shutil.copytree(tmp_path / "many" / "checkpoint-1", tmp_path / "many" / "checkpoint-2")
    (tmp_path / "many" / "checkpoint-2" / "sha256.json").unlink()  # as other programs write them
    pieces.append(train(recipe, rows, tmp_path / "many", max_seconds=0.0))
    assert (tmp_path / "many" / "unfinished-checkpoint-2" / "model.safetensors").is_file()
    assert pieces == [{"finished": False, "step": step, "max_steps": 2} for step in (1, 2)]
    assert not (tmp_path / "many" / "run.json").exists()
    seconds = json.loads((tmp_path / "many" / "checkpoint-2" / "seconds.json").read_text())
    assert seconds > json.loads((tmp_path / "many" / "checkpoint-1" / "seconds.json").read_text()) > 0

    (tmp_path / "many" / "checkpoint-9").mkdir()  # as a run leaves it that was killed while it wrote
    whole = train(recipe, rows, tmp_path / "many", max_seconds=0.0)
    assert whole["finished"] and straight["finished"] and whole["seconds"] > seconds
    scores = {name: value for name, value in straight["results"].items() if name.startswith("test_")}
    assert {name: whole["results"][name] for name in scores} == scores
    assert_same_weights(tmp_path / "one", tmp_path / "many")
    assert train(recipe, rows, tmp_path / "many") == whole


@pytest.mark.slow
def test_training_on_renamed_data_gives_streams_the_same_weights(data, finished, run_here, tmp_path):
    from hf_symbinv import LTL
    from hf_symbinv.datasets_scripts.questions.transforms import transform

    transform(data, tmp_path / "renamed", LTL, {"renamed": True})
    run_here(tmp_path / "renamed", tmp_path / "other")
    assert_same_weights(tmp_path / "other", finished)


@pytest.mark.slow
def test_a_run_leaves_a_card_with_its_test(finished):
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
    assert str(finished.parent) not in card.text


ARGUMENTS = {
    **FITTED, "max_steps": 4, "learning_rate": 1e-2, "lr_scheduler_type": "cosine", "logging_steps": 1,
}  # fmt: skip


@pytest.fixture(scope="module")
def one(rows, tmp_path_factory):
    """A finished run."""
    folder = tmp_path_factory.mktemp("one")
    assert fit(small_model(), folder, ARGUMENTS, train_dataset=rows)
    return folder


@pytest.fixture
def fitted(one, tmp_path):
    """A copy of it, in the folder of the test."""
    return shutil.copytree(one, tmp_path, dirs_exist_ok=True)


def record_of(folder):
    return json.loads((folder / "run.json").read_text())


def test_a_longer_run_goes_on_from_the_last_step_by_the_longer_schedule(fitted, rows, capfd):
    assert "goes on" not in capfd.readouterr().err
    longer = {**ARGUMENTS, "max_steps": 8}
    assert fit(small_model(), fitted, longer, train_dataset=rows)
    assert (
        f"{fitted}: goes on from step 4 of 8; from here the learning rate is that of the schedule over all steps\n"
    ) in capfd.readouterr().err
    log = [entry for entry in record_of(fitted)["log"] if "loss" in entry]
    assert [entry["step"] for entry in log] == [1, 2, 3, 4, 5, 6, 7, 8]
    fit(small_model(), fitted / "whole", longer, train_dataset=rows)
    whole = [entry["learning_rate"] for entry in record_of(fitted / "whole")["log"] if "loss" in entry]
    assert [entry["learning_rate"] for entry in log][5:] == pytest.approx(whole[5:])


def test_a_shorter_run_is_refused_and_told_that_longer_ones_are_not(fitted, rows):
    with pytest.raises(OtherRunError) as error:
        fit(small_model(), fitted, {**ARGUMENTS, "max_steps": 2}, train_dataset=rows)
    assert str(error.value) == (
        f"{fitted}: holds another run: trainer.max_steps is 4 there and 2 now. Give the values that are there, "
        "choose another folder, or remove this one. A run can be made longer, not shorter: raise trainer.max_steps."
    )
    with pytest.raises(OtherRunError, match=r"another run: trainer.learning_rate is [^;]* now. Give the values"):
        fit(small_model(), fitted, {**ARGUMENTS, "max_steps": 8, "learning_rate": 1.0}, train_dataset=rows)


def test_a_finished_run_whose_weights_are_damaged_gets_them_again(fitted, rows):
    weights = fitted / "model.safetensors"
    whole = weights.read_bytes()
    assert json.loads((fitted / "sha256.json").read_text()) == {weights.name: hashlib.sha256(whole).hexdigest()}
    weights.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert fit(small_model(), fitted, ARGUMENTS, train_dataset=rows)
    assert weights.read_bytes() == whole and damage_of(fitted) is None


@pytest.mark.parametrize("damage", ["bit", "state", "folders", "gone"])
def test_a_damaged_checkpoint_is_passed_over_for_the_one_before(fitted, rows, capfd, damage):
    before = (fitted / "model.safetensors").read_bytes()
    (fitted / "run.json").unlink()
    last = fitted / "checkpoint-4"
    damaged = last / ("trainer_state.json" if damage == "state" else "optimizer.pt")
    content = damaged.read_bytes()
    damaged.write_bytes(content.replace(b'"epoch"', b'"epoca"') if damage == "state" else content[:-1])
    if damage == "gone":
        damaged.unlink()
    if damage == "folders":
        for path in [path for path in last.iterdir() if path.name != "trainer_state.json"]:
            path.unlink()
            path.mkdir()
        (fitted / "checkpoint-5").write_text("a note")
    assert fit(small_model(), fitted, ARGUMENTS, train_dataset=rows)
    assert (fitted / "model.safetensors").read_bytes() == before and damage_of(last) is None
    said = capfd.readouterr().err
    assert "; checkpoint-2 is whole and takes its place\n" in said
    if damage in ("bit", "state"):
        assert f"{damaged}: damaged (its checksum is not the one in sha256.json); " in said


def test_a_run_without_a_whole_checkpoint_is_refused_unless_it_is_finished(fitted, rows):
    for checkpoint in fitted.glob("checkpoint-*"):
        (checkpoint / "optimizer.pt").unlink()
    assert fit(small_model(), fitted, ARGUMENTS, train_dataset=rows)
    (fitted / "run.json").unlink()
    with pytest.raises(OtherRunError) as error:
        fit(small_model(), fitted, ARGUMENTS, train_dataset=rows)
    assert str(error.value) == (
        f"{fitted / 'checkpoint-4' / 'optimizer.pt'}: is missing, and no checkpoint before it is whole; remove "
        f"{fitted} to start again, or choose another folder"
    )


def test_a_longer_run_that_is_stopped_at_once_still_goes_on_and_no_checksums_are_those_of_before(fitted, rows):
    assert not fit(small_model(), fitted, {**ARGUMENTS, "max_steps": 8}, max_seconds=0.0, train_dataset=rows)
    assert not (fitted / "sha256.json").exists() and record_of(fitted)["recipe"]["trainer"]["max_steps"] == 4
    assert fit(small_model(), fitted, {**ARGUMENTS, "max_steps": 8}, train_dataset=rows)
    assert (fitted / "sha256.json").exists() and damage_of(fitted) is None


def test_a_start_that_failed_refuses_no_other_one(tmp_path, rows):
    with pytest.raises(ValueError, match="expected sequence of length"):
        fit(small_model(), tmp_path, ARGUMENTS, train_dataset=[{"input_ids": [1] * n, "labels": [1]} for n in range(9)])
    assert (tmp_path / "recipe.json").is_file()
    assert fit(small_model(), tmp_path, {**ARGUMENTS, "learning_rate": 0.5}, train_dataset=rows)
    assert record_of(tmp_path)["recipe"]["trainer"]["learning_rate"] == 0.5


def test_a_folder_in_the_place_of_the_weights_is_refused_before_training(tmp_path, rows):
    (tmp_path / "model.safetensors").mkdir()
    with pytest.raises(OtherRunError, match=r"model\.safetensors: is a folder, and the weights get this name"):
        fit(small_model(), tmp_path, ARGUMENTS, train_dataset=rows)
    assert not (tmp_path / "checkpoint-3").exists()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"task": "ltl"}', '{"recipe": {}, "data": "x"}'])
def test_a_folder_that_does_not_say_what_was_asked_for_is_refused(text, fitted, rows):
    (fitted / "recipe.json").write_text(text)
    with pytest.raises(OtherRunError, match=r"its recipe\.json is missing or damaged, .* remove this one"):
        fit(small_model(), fitted, ARGUMENTS, train_dataset=rows)


def test_other_data_are_refused_by_what_differs(tmp_path, rows):
    first, other = (
        data_record("texts", None, {"train": measure_rows(texts, lambda text: len(set(text)), len)})
        for texts in ([["ab"], ["a"]], [["ab"], ["abc"]])
    )
    fit(small_model(), tmp_path, ARGUMENTS, data=first, train_dataset=rows)
    assert record_of(tmp_path)["data"] == first
    assert first["splits"]["train"] == {
        "rows": 2, "symbols": [1, 2], "size": [1, 2], "sha256": hashlib.sha256(b"ab\na\n").hexdigest()
    }  # fmt: skip
    with pytest.raises(OtherRunError) as error:
        fit(small_model(), tmp_path, ARGUMENTS, data=other, train_dataset=rows)
    assert explain(error.value) == str(error.value)
    assert "data.splits.train.symbols is [1, 2] there and [2, 3] now; " in str(error.value)
    assert f'data.splits.train.sha256 is "{first["splits"]["train"]["sha256"]}" there' in str(error.value)
    assert fit(small_model(), tmp_path, ARGUMENTS, data={**first, "source": "moved"}, train_dataset=rows)


def test_neither_recipe_nor_record_has_an_access_token(tmp_path, rows):
    fit(small_model(), tmp_path, {**ARGUMENTS, "hub_token": "hf_secret"}, train_dataset=rows)
    assert not [path for path in tmp_path.rglob("*.json") if "hf_secret" in path.read_text()]


def test_a_second_process_in_the_same_folder_is_refused_and_the_first_goes_on(tmp_path):
    (tmp_path / "run").mkdir()
    first = FileLock(tmp_path / "run" / ".lock")
    run = Run(training_arguments(TrainingArguments, tmp_path / "run", {"report_to": "none"}), {"trainer": {}})
    with first.acquire(), pytest.raises(OtherRunError) as caught, run.held():
        raise AssertionError("two at once")
    assert str(caught.value) == (
        f"{tmp_path / 'run'}: another process is training here; wait until it is done, or choose another folder"
    )
    with run.held(), pytest.raises(OtherRunError), run.held():
        pass
    with run.held():
        pass
