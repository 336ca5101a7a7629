"""A training step: the same in every way, without a read of the device, resumed bit for bit."""

import pytest
import torch
from torch import nn

from tests.modeling.test_fixed_streams import Reads

from .test_packed import random_rows

STEPS = 8


@pytest.fixture
def rows():
    import packed

    questions, answers = random_rows(60)
    keys = [[max(len({token for token in question if token >= 13}), 1), len(question), len(answer)]
            for question, answer in zip(questions, answers, strict=True)]  # fmt: skip
    # Answers with symbols of the question alone, as a model with streams needs.
    answers = [[token if token < 13 else 3 for token in answer] for answer in answers]
    flat = [packed.flat(part) for part in (questions, answers)]
    padded = [packed.padded(one["tokens"], one["lengths"], fill) for one, fill in zip(flat, (1, 255), strict=True)]
    return packed.Rows(*padded, torch.tensor(keys))


def training(rows, name="eager-float32", **fields):
    from packed import Plan
    from setting import TOY
    from ways import Training, Way

    from hf_symbinv import SymbolInvariantConfig

    config = SymbolInvariantConfig.from_preset("ltl", **{**TOY, **fields})
    plan = Plan(rows.keys, 8, 3, 0)
    return Training(config, rows, plan.shapes, 8, STEPS, Way.named(name)), plan


def taken(made, plan, steps=range(STEPS)):
    for step in steps:
        made.step(step, *plan.at(step))
    return {name: value.clone() for name, value in made.state().items()}


def test_a_way_has_the_name_that_it_is_made_from():
    from steps import COMPILED, WAYS
    from ways import Way

    assert [Way.named(way.name) for way in (*WAYS, *COMPILED)] == [*WAYS, *COMPILED]
    assert Way().name == "eager-float32" and COMPILED[0].name == "graphs-compiled-bfloat16"


def test_the_step_is_that_of_a_plain_loop(rows):
    """The papers' AdamW on the model as users call it, written out."""
    from ways import rate_at

    from hf_symbinv import SymbolInvariantForConditionalGeneration

    made, plan = training(rows, dropout=0.0)
    torch.manual_seed(0)
    model = SymbolInvariantForConditionalGeneration(made.config).train()
    decayed = [value for value in model.parameters() if value.dim() > 1]
    others = [value for value in model.parameters() if value.dim() == 1]
    groups = [{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.95))
    for step in range(STEPS):
        chosen, _ = plan.at(step)
        ids = rows.questions[chosen].long()
        labels = rows.answers[chosen].long()
        loss = model(ids, (ids != 1).long(), labels=labels.masked_fill(labels == 255, -100)).loss
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for group in optimizer.param_groups:
            group["lr"] = rate_at(step, STEPS, 0)
        optimizer.step()
        made.step(step, *plan.at(step))
        assert float(made.losses[step]) == pytest.approx(float(loss.detach()), rel=1e-4)
    for name, value in model.named_parameters():
        if name.endswith("k_proj.bias"):  # moves no score, so its gradient is rounding that AdamW makes large
            continue
        torch.testing.assert_close(made.state()[f"weights.{name}"], value.detach(), rtol=1e-3, atol=1e-5, msg=name)


def test_the_rate_rises_for_a_thousand_steps_and_falls_as_a_cosine():
    from ways import rate_at

    assert rate_at(0, 52_000) == 0 and rate_at(500, 52_000) == pytest.approx(5e-4)
    assert rate_at(1000, 52_000) == pytest.approx(1e-3) and rate_at(26_500, 52_000) == pytest.approx(5e-4)
    assert rate_at(52_000, 52_000) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("name", ["eager-float32", "graphs-float32", "graphs-bfloat16"])
def test_a_step_reads_nothing_from_the_device(rows, name):
    made, plan = training(rows, name)
    made.step(0, *plan.at(0))  # which makes the graphs
    before = made.state()["weights.adacos.scale"].clone()
    chosen, shape = plan.at(1)  # on the host
    with Reads() as reads:
        made.step(1, chosen, shape)
    assert reads.found == [] and not torch.equal(made.state()["weights.adacos.scale"], before)


def test_what_a_step_changes_stays_where_it_is(rows):
    """A graph reads and writes the places that it saw."""
    made, plan = training(rows, "graphs-float32")

    def places():
        found = {name: value.data_ptr() for name, value in made.state().items()}
        found |= {f"gradient {i}": value.grad.data_ptr() for i, value in enumerate(made.parameters)}
        return {**found, "loss": made.loss.data_ptr(), "rate": made.rate.data_ptr(), "rows": made.rows.data_ptr()}

    before, values = places(), {name: value.clone() for name, value in made.state().items()}
    taken(made, plan, range(3))
    assert places() == before and {"weights.adacos.scale", "losses"} < values.keys()
    same = [name for name, value in values.items() if torch.equal(value, made.state()[name])]
    assert not [name for name in same if not name.endswith("k_proj.bias")]


def test_making_graphs_changes_nothing(rows):
    plain, graphs = (taken(*training(rows, name)) for name in ("eager-float32", "graphs-float32"))
    assert len(plain) > 100
    assert not [name for name, value in plain.items() if not torch.equal(value, graphs[name])]


def test_a_state_holds_everything_that_a_step_depends_on(rows):
    whole = taken(*training(rows))
    first, plan = training(rows)
    kept = taken(first, plan, range(3))
    second, plan = training(rows)
    taken(second, plan, range(1, 2))  # anything
    second.restore(kept)
    again = taken(second, plan, range(3, STEPS))
    assert not [name for name, value in whole.items() if not torch.equal(value, again[name])]


def test_bfloat16_learns_about_the_same(rows):
    exact, rounded = (
        taken(*training(rows, name, dropout=0.0))["losses"] for name in ("eager-float32", "eager-bfloat16")
    )
    torch.testing.assert_close(rounded, exact, rtol=0.03, atol=0)
    assert not torch.equal(rounded, exact)
