"""One optimizer step: the loss, the AdaCos scale, gradients, and what the model keeps from them."""

import copy
import random

import numpy as np
import pytest
import torch
from transformers import AutoModelForSeq2SeqLM, Trainer, TrainingArguments

from .reference import Reference, adacos_scale, cross_entropy
from .tiny import BASE, EOS, START, enable_checkpointing, formula_with, pad, tiny_config, tiny_model


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


def test_loss_divides_by_the_labels_of_the_whole_step_if_told_their_number():
    model = tiny_model()
    batch = training_batch(*pairs(model.config, (2, 1)))
    number = int((batch["labels"] != -100).sum())
    for items in (number, 7, torch.tensor(7)):
        given = model(**batch, num_items_in_batch=items).loss
        torch.testing.assert_close(given * int(items), model(**batch).loss * number)


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
    with pytest.raises(ValueError, match="labels has batch 3, the encoder's output 2; the first must be a multiple of"):
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


def test_scale_is_clipped_at_100():
    model = tiny_model().train()
    model.adacos.scale.fill_(99.0)
    hundred = torch.full((3, 4), 0.999, dtype=torch.float64)
    model.adacos.observe(hundred, torch.tensor([0, 1, 2]), None)
    assert float(model.adacos.scale) == 100.0
    assert adacos_scale(99.0, hundred.tolist(), [0, 1, 2]) == 100.0


def test_scale_survives_single_precision_at_its_limit():
    model = tiny_model(dtype=torch.float32).train()
    model.adacos.scale.fill_(100.0)
    model.adacos.observe(torch.full((3, 4), 0.95), torch.tensor([0, 1, 2]), None)  # exp(95) overflows float32
    assert float(model.adacos.scale) == pytest.approx(100.0)


def test_scale_in_bfloat16_is_computed_in_single_precision():
    cosines, targets = torch.rand(9, 12, dtype=torch.float64) * 2 - 1, torch.arange(9)
    model = tiny_model(dtype=torch.bfloat16).train()
    before = float(model.adacos.scale)
    model.adacos.observe(cosines.bfloat16(), targets, None)
    expected = adacos_scale(before, cosines.bfloat16().double().tolist(), targets.tolist())
    assert float(model.adacos.scale) == pytest.approx(expected, rel=2**-8)


def test_tokens_without_a_label_do_not_count_in_the_scale():
    cosines, targets = torch.rand(9, 12, dtype=torch.float64) * 2 - 1, torch.arange(9)
    some, all_of_them = tiny_model().train(), tiny_model().train()
    some.adacos.observe(cosines, torch.where(targets < 5, targets, -100), None)
    all_of_them.adacos.observe(cosines[:5], targets[:5], None)
    assert float(some.adacos.scale) == pytest.approx(float(all_of_them.adacos.scale), rel=1e-12)


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


def test_scale_is_saved_and_loaded(tmp_path):
    model = tiny_model(dtype=torch.float32).train()
    model(**training_batch(*pairs(model.config, (2, 1))))
    model.save_pretrained(tmp_path)
    loaded = AutoModelForSeq2SeqLM.from_pretrained(tmp_path)
    assert torch.equal(loaded.adacos.scale, model.adacos.scale)
    assert float(loaded.adacos.scale) != loaded.adacos.initial_scale


def gradients_of(model, batch, parts):
    """Gradients and scale after one step whose batch is cut into `parts` micro-batches, as Trainer does it."""
    model = copy.deepcopy(model).train()
    items = (batch["labels"] != -100).sum()
    for start in range(0, len(batch["labels"]), len(batch["labels"]) // parts):
        stop = start + len(batch["labels"]) // parts
        model(**{key: value[start:stop] for key, value in batch.items()}, num_items_in_batch=items).loss.backward()
    return {name: parameter.grad for name, parameter in model.named_parameters()}, model.adacos.scale


@pytest.mark.parametrize("parts", [4, 32])
def test_micro_batches_of_one_step_give_the_gradient_and_scale_of_the_whole_batch(parts):
    model = tiny_model()
    batch = training_batch(*pairs(model.config, [0, 1, 2, 3] * 8))
    whole, whole_scale = gradients_of(model, batch, 1)
    cut, cut_scale = gradients_of(model, batch, parts)
    for name, gradient in whole.items():
        torch.testing.assert_close(cut[name], gradient, rtol=0, atol=1e-12, msg=name)
    torch.testing.assert_close(cut_scale, whole_scale, rtol=0, atol=1e-12)


def test_trainer_counts_the_labels_so_that_accumulation_changes_nothing(tmp_path):
    model = tiny_model(dtype=torch.float64)
    sources, answers = pairs(model.config, [0, 1, 2, 3] * 4)
    data = [{"input_ids": source, "labels": answer} for source, answer in zip(sources, answers, strict=True)]

    def collate(rows):
        return training_batch([row["input_ids"] for row in rows], [row["labels"] for row in rows])

    states = []
    for size, accumulation in ((16, 1), (4, 4)):
        arguments = TrainingArguments(
            str(tmp_path),
            per_device_train_batch_size=size,
            gradient_accumulation_steps=accumulation,
            max_steps=2,
            learning_rate=1e-2,
            optim="sgd",
            use_cpu=True,
            save_strategy="no",
            report_to=[],
            disable_tqdm=True,
            dataloader_pin_memory=False,
        )
        trained = copy.deepcopy(model)
        Trainer(trained, arguments, data_collator=collate, train_dataset=data).train()
        states.append(trained.state_dict())
    for name, tensor in states[0].items():
        assert not name.endswith("weight") or not torch.equal(tensor, model.state_dict()[name]), name
        torch.testing.assert_close(states[1][name], tensor, rtol=0, atol=1e-9, msg=name)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")  # dynamo's, at a graph break
def test_compiled_steps_of_several_sizes_have_the_losses_gradients_and_scales_of_eager_ones():
    """The last batch of an epoch is smaller, so a graph has to take batches of any size."""
    model = tiny_model(dtype=torch.float32, decoder_layers=1).train()
    other = copy.deepcopy(model)
    compiled = torch.compile(other, backend="eager")
    for step, counts in enumerate([(2, 3, 1), (2, 1)]):
        batch = training_batch(*pairs(model.config, counts, seed=step))
        expected, given = model(**batch).loss, compiled(**batch).loss
        torch.testing.assert_close(given, expected)
        for loss in (expected, given):
            loss.backward()
        torch.testing.assert_close(other.adacos.scale, model.adacos.scale)
    for (name, wanted), found in zip(model.named_parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(found.grad, wanted.grad, rtol=1e-4, atol=1e-6, msg=name)
    assert float(model.adacos.scale) != model.adacos.initial_scale
    torch._dynamo.reset()


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_gradient_checkpointing_gives_the_same_gradients(use_reentrant):
    model = tiny_model(dropout=0.1, components=["EP", "EA", "DP", "DA", "CP", "CA"]).train()
    batch = training_batch(*pairs(model.config, (2, 0, 3)))
    expected, given = copy.deepcopy(model), copy.deepcopy(model)
    enable_checkpointing(given, use_reentrant=use_reentrant)
    for one in (expected, given):
        torch.manual_seed(0)
        one(**batch).loss.backward()
    for (name, parameter), other in zip(expected.named_parameters(), given.parameters(), strict=True):
        torch.testing.assert_close(other.grad, parameter.grad, rtol=0, atol=1e-12, msg=name)


def test_dropout_is_active_in_training_only():
    model = tiny_model(dropout=0.5)
    batch = training_batch(*pairs(model.config, (2, 1)))
    assert torch.equal(model(**batch).loss, model(**batch).loss)
    model.train()
    assert not torch.equal(model(**batch).logits, model(**batch).logits)


def test_every_parameter_gets_a_gradient():
    model = tiny_model(components=["EP", "EA", "DP", "DA", "CP", "CA"]).train()
    model(**training_batch(*pairs(model.config, (2, 3)))).loss.backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None and parameter.grad.isfinite().all(), name
        # A constant added to every key moves no softmax.
        assert parameter.grad.abs().max() > (0 if not name.endswith("k_proj.bias") else -1), name


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


def test_training_on_3_symbols_and_evaluating_with_8_changes_neither_weights_nor_config():
    torch.manual_seed(0)
    model = tiny_model(dtype=torch.float32, num_symbols=3, encoder_positions="rope").train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for step in range(5):
        optimizer.zero_grad()
        model(**training_batch(*pairs(model.config, (1, 2, 3), seed=step))).loss.backward()
        optimizer.step()
    model.eval()
    shapes, config = {name: tensor.shape for name, tensor in model.state_dict().items()}, model.config.to_dict()
    sources, answers = pairs(model.config, (8, 8))
    batch = training_batch(sources, answers)
    with torch.no_grad():
        output = model(**batch)
        generated = model.generate(**pad(sources), max_new_tokens=8)
    assert output.loss.isfinite() and output.logits.isfinite().any(1).sum(1).tolist() == [BASE + 8] * 2
    assert generated.shape[0] == 2
    assert {name: tensor.shape for name, tensor in model.state_dict().items()} == shapes
    assert model.config.to_dict() == config


def test_eight_examples_are_learnt_by_heart():
    """Writing the symbols of a formula in another order cannot be learnt without telling them apart."""
    torch.manual_seed(0)
    config = tiny_config(d_model=36, d_ff=40, decoder_layers=1, loss="cross_entropy", normalize_features=False)
    model = AutoModelForSeq2SeqLM.from_config(config).train()
    rng = random.Random(0)
    sources, answers = [], []
    for _ in range(8):
        symbols = [BASE + referent for referent in rng.sample(range(20), 3)]
        sources.append(formula_with(rng, 7, symbols, config))
        answers.append([9, *rng.sample(symbols, 2), 10, EOS])
    batch = training_batch(sources, answers)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(120):
        optimizer.zero_grad()
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
    model.eval()
    written = model.generate(**pad(sources), grammar=None, max_new_tokens=6)
    assert loss.item() < 0.1
    for row, answer in zip(written.tolist(), answers, strict=True):
        assert row[1 : 1 + len(answer)] == answer
