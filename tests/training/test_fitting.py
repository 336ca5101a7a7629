"""Models that answer no questions are trained by transformers' Trainer, stop in time and go on where they were."""

import argparse
import weakref

import pytest
import torch
from transformers import Trainer, TrainerCallback, TrainingArguments

from hf_symbinv.errors import explain, refusals
from hf_symbinv.training.fitting import fit
from hf_symbinv.training.run import OtherRunError, end

from .runs import FITTED, assert_same_weights, small_model


def test_a_run_that_is_stopped_ends_with_the_weights_of_one_that_is_not(tmp_path, rows):
    assert fit(small_model(), tmp_path / "whole", FITTED, train_dataset=rows)
    calls = 1
    while not fit(small_model(), tmp_path / "pieces", FITTED, max_seconds=0.0, train_dataset=rows):
        calls += 1
        assert calls < 10
    assert calls > 3
    assert_same_weights(tmp_path / "whole", tmp_path / "pieces")


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        (1, "interrupted before the first checkpoint; the same command starts over"),
        (3, "interrupted; the same command goes on from step 2"),
    ],
)
def test_an_interrupted_run_says_where_the_same_command_goes_on(tmp_path, rows, capsys, steps, said):
    class Stop(TrainerCallback):
        def on_step_end(self, args, state, control, **_):
            if state.global_step == steps:
                raise KeyboardInterrupt

    with pytest.raises(SystemExit) as stopped, refusals(argparse.ArgumentParser("program")):
        fit(small_model(), tmp_path, FITTED, train_dataset=rows, callbacks=[Stop()])
    assert (stopped.value.code, capsys.readouterr().err.splitlines()[-1]) == (130, f"program: {said}")


def test_what_wraps_a_model_for_several_processes_is_gone_before_their_group(tmp_path, rows, monkeypatch):
    trainer = Trainer(small_model(), TrainingArguments(str(tmp_path), **FITTED), train_dataset=rows)
    wrapped = torch.nn.ModuleDict({"module": trainer.model})
    wrapped.itself = [wrapped]  # a circle, as DistributedDataParallel's hooks are
    trainer.model_wrapped, seen = wrapped, weakref.ref(wrapped)
    trainer.accelerator._models.append(wrapped)
    del wrapped
    monkeypatch.setattr(trainer.accelerator, "end_training", lambda: left.append(seen()))
    left = []
    end(trainer)
    assert left == [None]


@pytest.mark.parametrize("best", [False, True])
def test_a_run_that_was_killed_before_it_wrote_its_model_takes_no_further_step(tmp_path, rows, best):
    trained, again = small_model(), small_model()
    arguments = {**FITTED, "learning_rate": 1.0}  # at which training makes the loss worse
    if best:
        arguments |= {"eval_strategy": "steps", "eval_steps": 2, "load_best_model_at_end": True}
    fit(trained, tmp_path, arguments, train_dataset=rows, eval_dataset=rows)
    (tmp_path / "run.json").unlink()
    (tmp_path / "model.safetensors").unlink()
    assert fit(again, tmp_path, arguments, train_dataset=rows, eval_dataset=rows)
    for one, other in zip(trained.parameters(), again.parameters(), strict=True):
        assert torch.equal(one, other)


def test_a_folder_that_holds_another_run_is_refused_by_the_keys_that_differ(tmp_path, rows):
    fit(small_model(), tmp_path, FITTED, train_dataset=rows)
    with pytest.raises(OtherRunError, match=r"trainer\.learning_rate is not set there and 0\.5 now") as error:
        fit(small_model(), tmp_path, {**FITTED, "learning_rate": 0.5}, train_dataset=rows)
    assert explain(error.value) == str(error.value)  # what a command prints
    with pytest.raises(OtherRunError, match=r"model.n_embd is 8 there and 16 now\. .* or remove this one\.$"):
        fit(small_model(n_embd=16), tmp_path, FITTED, train_dataset=rows)


def test_an_argument_that_transformers_does_not_know_is_refused_by_name(tmp_path):
    with pytest.raises(ValueError, match=r"trainer\.max_stepz: unknown argument; did you mean trainer\.max_steps\?"):
        fit(small_model(), tmp_path, {"max_stepz": 3})
