"""Muon and AdamW as one optimizer: each parameter moves as under its own, and runs go on bit for bit."""

import copy

import pytest
import torch
from datasets import load_dataset
from torch import nn
from transformers import get_scheduler

from hf_symbinv import Recipe
from hf_symbinv.errors import UserError
from hf_symbinv.training import train
from hf_symbinv.training.optimizers import MuonAndAdamW

from .runs import assert_same_weights

HYPERPARAMETERS = {"learning_rate": 0.01, "weight_decay": 0.1, "betas": (0.8, 0.9), "eps": 1e-7}
DECAYED = ("0.weight", "1.weight")


@pytest.fixture
def model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Embedding(7, 4), nn.Linear(4, 6), nn.LayerNorm(6))


def step(model, optimizer, seed):
    optimizer.zero_grad()
    torch.manual_seed(seed)
    (model(torch.randint(7, (5,))) * torch.randn(5, 6)).sum().backward()
    optimizer.step()


def values(model):
    return {name: parameter.detach().clone() for name, parameter in model.named_parameters()}


def test_matrices_of_linear_layers_move_by_muon_and_all_else_by_adamw(model):
    alone = copy.deepcopy(model)
    both = MuonAndAdamW(model, DECAYED, **HYPERPARAMETERS)
    muon = torch.optim.Muon([alone[1].weight], lr=0.01, weight_decay=0.1, adjust_lr_fn="match_rms_adamw")
    others = [
        {"params": [alone[0].weight], "weight_decay": 0.1},
        {"params": [alone[1].bias, *alone[2].parameters()], "weight_decay": 0.0},
    ]
    adamw = torch.optim.AdamW(others, lr=0.01, betas=(0.8, 0.9), eps=1e-7)
    for seed in range(3):
        step(model, both, seed)
        alone.zero_grad()
        torch.manual_seed(seed)
        (alone(torch.randint(7, (5,))) * torch.randn(5, 6)).sum().backward()
        muon.step()
        adamw.step()
    expected = values(alone)
    assert all(torch.equal(value, expected[name]) for name, value in values(model).items())


def test_a_model_without_a_matrix_to_train_is_refused(model):
    model[1].weight.requires_grad_(False)
    with pytest.raises(UserError, match=r"trainer\.optim=muon: trains weights of linear layers .*; leave the line out"):
        MuonAndAdamW(model, DECAYED, **HYPERPARAMETERS)


def test_a_schedule_reaches_both_also_after_a_state_was_loaded(model):
    optimizer = MuonAndAdamW(model, DECAYED, **HYPERPARAMETERS)
    optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    schedule = get_scheduler("linear", optimizer, num_warmup_steps=0, num_training_steps=4)
    step(model, optimizer, 0)
    schedule.step()
    rates = {group["lr"] for part in optimizer.parts for group in part.param_groups}
    assert rates == {0.0075} == {group["lr"] for group in optimizer.param_groups}


def test_a_run_with_muon_that_is_stopped_goes_on_to_the_same_weights_bit_for_bit(data, tmp_path):
    changes = {
        "trainer.optim": "muon", "trainer.max_steps": 4, "trainer.save_steps": 1, "trainer.eval_steps": 4,
        "evaluation_rows": 4, "test_rows": 4,
    }  # fmt: skip
    recipe, rows = Recipe.load("ltl-smoke", changes), load_dataset("parquet", data_dir=str(data))
    assert train(recipe, rows, tmp_path / "straight")["hyperparameters"]["optim"] == "muon"
    stopped = {"finished": False}
    for _ in range(9):
        if stopped["finished"]:
            break
        stopped = train(recipe, rows, tmp_path / "stopped", max_seconds=0.0)
    assert stopped["finished"]
    assert_same_weights(tmp_path / "straight", tmp_path / "stopped")


def test_a_torch_without_muon_is_named(monkeypatch):
    monkeypatch.delattr(torch.optim, "Muon")
    with pytest.raises(UserError, match=r"trainer\.optim=muon: needs torch 2\.9 or newer, and this is 2\..*; upgrade"):
        Recipe.load("ltl-smoke", {"trainer.optim": "muon"}).arguments("unused")
