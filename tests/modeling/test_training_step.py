"""One optimizer step: the loss, the AdaCos scale, gradients, and what the model keeps from them."""

import copy
import random

import numpy as np
import pytest
import torch
from transformers import Trainer

from hf_symbinv.modeling import layers_symbinv as layers

from .reference import Reference, adacos_scale, cross_entropy
from .tiny import BASE, EOS, START, formula_with, gradients, pad, rename, tiny_model, trainer_arguments


def pairs(config, counts, seed=0, longest=5):
    """Formulas with `counts` symbols each and answers of base tokens and these symbols."""
    rng = random.Random(seed)
    sources, answers = [], []
    for count in counts:
        symbols = [BASE + referent for referent in rng.sample(range(40), count)]
        sources.append(formula_with(rng, 2 * count + 3, symbols, config))
        answers.append([rng.choice([3, 5, 7, 8, 9, *symbols]) for _ in range(rng.randint(1, longest))] + [EOS])
    return sources, answers


def training_batch(sources, answers):
    return {**pad(sources), "labels": pad(answers, value=-100)["input_ids"]}


def oracle_rows(model, sources, answers, scaled):
    """The oracle's logits, or cosines, of every label in the batch, as lists, and its column."""
    reference, rows, targets = Reference(model), [], []
    for source, answer in zip(sources, answers, strict=True):
        given = reference.answer(source, [START, *answer[:-1]])
        rows += (given.logits if scaled else given.cosines).tolist()
        targets += [BASE + given.referents.index(token - BASE) if token >= BASE else token for token in answer]
    return rows, targets


def odd(model, counts, seed):
    """Pairs with an odd number of labels, so that their median angle is one of them."""
    sources, answers = pairs(model.config, counts, seed)
    if sum(map(len, answers)) % 2 == 0:
        answers[0] = [3, *answers[0]]
    return sources, answers


@pytest.mark.parametrize("loss", ["adacos", "cross_entropy"])
def test_loss_is_the_mean_cross_entropy_over_labels(loss):
    model = tiny_model(loss=loss)
    sources, answers = pairs(model.config, (2, 0, 3, 1))
    given = model(**training_batch(sources, answers)).loss.item()
    assert given == pytest.approx(cross_entropy(*oracle_rows(model, sources, answers, scaled=True)), abs=1e-10)


def test_labels_are_shifted_behind_the_start_token_and_padding_is_ignored():
    model = tiny_model()
    sources, answers = pairs(model.config, (1, 2), longest=4)
    batch = training_batch(sources, answers)
    teacher = pad([[START, *answer[:-1]] for answer in answers])["input_ids"]
    wide = {**batch, "labels": torch.nn.functional.pad(batch["labels"], (0, 3), value=-100)}
    implicit, explicit, wider = model(**batch), model(**batch, decoder_input_ids=teacher), model(**wide)
    torch.testing.assert_close(implicit.loss, explicit.loss, rtol=0, atol=1e-12)
    torch.testing.assert_close(implicit.loss, wider.loss, rtol=0, atol=1e-12)


def test_labels_for_another_number_of_inputs_are_refused():
    batch = {**pad([[BASE, EOS]] * 2), "labels": torch.tensor([[9, EOS]] * 3)}
    with pytest.raises(ValueError, match="labels has batch 3, the encoder's output 2; the first must be its multiple"):
        tiny_model()(**batch)


def test_initial_scale_is_that_of_adacos():
    model = tiny_model(num_symbols=5)
    assert float(model.adacos.scale) == pytest.approx(2**0.5 * np.log(13 + 5 - 1), rel=1e-6)


def test_scale_follows_the_formula_of_zhang_et_al_one_step_behind():
    """The loss of step t uses s_{t-1}, and its tokens give s_t: documented in `AdaCos`."""
    model = tiny_model().train()
    scale = float(model.adacos.scale)
    for step in range(3):
        sources, answers = odd(model, (2, 0, 3, 1), seed=step)
        loss = model(**training_batch(sources, answers)).loss.item()
        cosines, targets = oracle_rows(model, sources, answers, scaled=False)
        logits = [[scale * cosine for cosine in row] for row in cosines]
        assert loss == pytest.approx(cross_entropy(logits, targets), abs=1e-10)
        scale = adacos_scale(scale, cosines, targets)
        assert float(model.adacos.scale) == pytest.approx(scale, abs=1e-10)


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-5), (torch.bfloat16, 2**-8)]
)
@pytest.mark.parametrize(("start", "cosine"), [(None, None), (99.0, 0.999), (100.0, 0.95)])
@pytest.mark.parametrize("labelled", [9, 5])
def test_scale_is_computed_in_every_type_from_labelled_tokens_and_is_at_most_100(
    dtype, tolerance, start, cosine, labelled
):
    """In single precision exp(95) overflows, and bfloat16 is computed in single precision."""
    model = tiny_model(dtype=dtype).train()
    if start is not None:
        model.adacos.scale.fill_(start)
    cosines = (torch.rand(9, 12) * 2 - 1 if cosine is None else torch.full((9, 12), cosine)).to(dtype)
    targets = torch.arange(9)
    expected = adacos_scale(float(model.adacos.scale), cosines[:labelled].double().tolist(), list(range(labelled)))
    model.adacos.observe(cosines, torch.where(targets < labelled, targets, -100), None)
    assert float(model.adacos.scale) == pytest.approx(expected, rel=tolerance) and (start is None or expected == 100)


def test_evaluation_and_batches_without_labels_leave_the_scale_alone():
    model = tiny_model()
    batch = training_batch(*pairs(model.config, (2, 1)))
    before = model.adacos.scale.clone()
    model(**batch)
    model.train()
    model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"])
    assert torch.equal(model.adacos.scale, before)
    ignored = {**batch, "labels": torch.full_like(batch["labels"], -100)}
    model(**ignored)
    model(**ignored, num_items_in_batch=0)
    assert torch.equal(model.adacos.scale, before)
    model(**batch)
    assert not torch.equal(model.adacos.scale, before)


def test_a_micro_batch_without_labels_takes_part_in_a_step():
    model = tiny_model().train()
    batch = training_batch(*odd(model, (2, 1), seed=0))
    number = int((batch["labels"] != -100).sum())
    alone = copy.deepcopy(model)
    alone(**batch)
    loss = model(**{**batch, "labels": torch.full_like(batch["labels"], -100)}, num_items_in_batch=number).loss
    assert loss.item() == 0.0
    model(**batch, num_items_in_batch=number)
    assert torch.equal(model.adacos.scale, alone.adacos.scale)


def test_trainer_counts_the_labels_so_that_accumulation_changes_nothing(tmp_path):
    model = tiny_model(dtype=torch.float64)
    sources, answers = pairs(model.config, [0, 1, 2, 3] * 4)
    data = [{"input_ids": source, "labels": answer} for source, answer in zip(sources, answers, strict=True)]

    def collate(rows):
        return training_batch([row["input_ids"] for row in rows], [row["labels"] for row in rows])

    states = []
    for size, accumulation in ((16, 1), (4, 4)):
        sizes = {"per_device_train_batch_size": size, "gradient_accumulation_steps": accumulation}
        arguments = trainer_arguments(tmp_path, max_steps=2, learning_rate=1e-2, optim="sgd", **sizes)
        trained = copy.deepcopy(model)
        Trainer(trained, arguments, data_collator=collate, train_dataset=data).train()
        states.append(trained.state_dict())
    for name, tensor in states[0].items():
        assert not name.endswith("weight") or not torch.equal(tensor, model.state_dict()[name]), name
        torch.testing.assert_close(states[1][name], tensor, rtol=0, atol=1e-9, msg=name)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")  # dynamo's, at a graph break
@pytest.mark.parametrize("is_training", [True, False])
def test_compiled_steps_of_several_sizes_are_those_of_eager_ones_and_keep_the_law(is_training):
    """The last batch of an epoch is smaller, so a graph has to take batches of any size."""
    model = tiny_model(dtype=torch.float32, decoder_layers=1).train(is_training)
    other = copy.deepcopy(model)
    compiled = torch.compile(other, backend="aot_eager")
    for step, counts in enumerate([(2, 3, 1), (2, 1)]):
        batch = training_batch(*pairs(model.config, counts, seed=step))
        expected, given = model(**batch), compiled(**batch)
        torch.testing.assert_close(given.loss, expected.loss)
        torch.testing.assert_close(given.logits, expected.logits)
        for output in (expected, given):
            output.loss.backward()
        torch.testing.assert_close(other.adacos.scale, model.adacos.scale)
    for (name, wanted), found in zip(model.named_parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(found.grad, wanted.grad, rtol=1e-4, atol=1e-6, msg=name)
    assert (float(model.adacos.scale) != pytest.approx(model.adacos.initial_scale)) == is_training
    if not is_training:  # in training the scale has changed
        images = dict(enumerate([*range(1, 1000), 0]))
        renamed = {name: ids if name == "attention_mask" else rename(ids, images) for name, ids in batch.items()}
        assert torch.equal(compiled(**renamed).loss, given.loss)
    torch._dynamo.reset()


@pytest.mark.parametrize("components", ["EP DP EA CP", "EP EA DP DA CP CA"])
def test_training_gives_the_same_gradients_with_attention_written_out_and_fused(components, monkeypatch):
    model = tiny_model(components=components.split())
    batch = training_batch(*pairs(model.config, (2, 0, 3)))

    written = gradients(model, **batch)
    monkeypatch.setattr(layers, "SHORT", 0)
    for name, gradient in gradients(model, **batch).items():
        torch.testing.assert_close(written[name], gradient, rtol=1e-9, atol=1e-12)


def test_dropout_is_active_in_training_only():
    model = tiny_model(dropout=0.5)
    batch = training_batch(*pairs(model.config, (2, 1)))
    assert torch.equal(model(**batch).loss, model(**batch).loss)
    model.train()
    assert not torch.equal(model(**batch).logits, model(**batch).logits)


@pytest.mark.parametrize(
    "fields",
    [
        {"components": ["EP", "EA", "DP", "DA", "CP", "CA"], "identity_qk": True, "identity_vo": True},
        {"components": ["EA", "DA", "CA"]},
        {"loss": "cross_entropy"},
        *({"symbol_embedding": name, "components": None} for name in ("learned", "renamed", "random")),
    ],
)
@pytest.mark.parametrize("labels", [True, False])
def test_every_parameter_takes_part_in_a_step_without_symbols_or_labels(fields, labels):
    """Several processes rely on it: `hf_symbinv.training` has them look for no parameter that takes no part."""
    model = tiny_model(**fields).train()
    batch = training_batch(*pairs(model.config, (0, 0)))
    if not labels:
        batch["labels"] = torch.full_like(batch["labels"], -100)
    model(**batch, num_items_in_batch=5).loss.backward()
    assert [name for name, parameter in model.named_parameters() if parameter.grad is None] == []
