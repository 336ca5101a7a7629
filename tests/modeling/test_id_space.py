"""Whoever reads ids gets ids: logits, scores, arguments of `generate`, the Trainer's evaluation, smoothed labels."""

import math
from functools import partial

import pytest
import torch
from transformers import Seq2SeqTrainer, Seq2SeqTrainingArguments, Trainer

from hf_symbinv import IdentityGPT2Config, IdentityGPT2LMHeadModel, SymbolInvariantForConditionalGeneration

from .tiny import BASE, EOS, PAD, START, pad, rename, tiny_decoder, tiny_model, trainer_arguments

AND, NEXT, SEPARATOR = 5, 12, 8
SOURCES = [[AND, BASE, NEXT, BASE + 3, EOS], [NEXT, BASE + 1, EOS], [AND, AND, BASE + 4, BASE + 2, BASE, EOS]]
TARGETS = [[BASE + 3, SEPARATOR, BASE, EOS], [BASE + 1, EOS], [BASE + 4, SEPARATOR, BASE + 2, BASE, EOS]]
RENAMING = {0: 1, 1: 3, 2: 0, 3: 4, 4: 2}


def rows():
    return [
        {"input_ids": torch.tensor(source), "labels": torch.tensor(target)}
        for source, target in zip(SOURCES, TARGETS, strict=True)
    ]


def collate(examples):
    labels = pad([row["labels"].tolist() for row in examples], value=-100)["input_ids"]
    return {**pad([row["input_ids"].tolist() for row in examples]), "labels": labels}


arguments = partial(trainer_arguments, per_device_eval_batch_size=1)


def trained(tmp_path, **fields):
    """A model that answers the three questions, trained by the plain Trainer."""
    model = tiny_model(dtype=torch.float32, spread=0.2, **fields)
    settings = arguments(tmp_path, max_steps=80, learning_rate=0.02, per_device_train_batch_size=3)
    trainer = Trainer(model, settings, train_dataset=rows(), eval_dataset=rows(), data_collator=collate)
    trainer.train()
    return trainer


def share_of_right_tokens(prediction):
    found, labels = prediction.predictions.argmax(-1), prediction.label_ids
    return {"accuracy": float((found == labels)[labels != -100].mean())}


def test_the_plain_trainer_evaluates_logits_across_batches_of_different_numbers_of_symbols(tmp_path):
    trainer = trained(tmp_path)
    trainer.compute_metrics = share_of_right_tokens
    assert trainer.evaluate()["eval_accuracy"] == 1.0
    predictions = trainer.predict(rows()).predictions
    assert predictions.shape == (3, 5, trainer.model.config.vocab_size)
    unlabelled = [{"input_ids": row["input_ids"]} for row in rows()]
    trainer.data_collator = lambda examples: pad([row["input_ids"].tolist() for row in examples])
    assert trainer.predict(unlabelled).predictions.argmax(-1).flatten().tolist() == [row[0] for row in TARGETS]


def test_a_larger_num_symbols_gives_one_width_to_ids_beyond_those_of_training(tmp_path):
    model = tiny_model(dtype=torch.float32)
    model.save_pretrained(tmp_path / "model")
    model = SymbolInvariantForConditionalGeneration.from_pretrained(tmp_path / "model", num_symbols=40)
    data = [
        {name: rename(ids, {symbol: symbol * 9 for symbol in range(5)}) for name, ids in row.items()} for row in rows()
    ]
    trainer = Trainer(model, arguments(tmp_path), eval_dataset=data, data_collator=collate)
    assert trainer.predict(data).predictions.shape == (3, 5, BASE + 40)


def test_logits_are_in_id_space_but_for_the_loss_in_training():
    model, batch = tiny_model(), collate(rows())
    width, slots = model.config.vocab_size, BASE + 3
    with torch.no_grad():
        assert model(**batch).logits.shape[-1] == model(**pad(SOURCES)).logits.shape[-1] == width
        assert model(**batch, return_id_logits=False).logits.shape[-1] == slots
        model.train()
        assert model(**batch).logits.shape[-1] == slots and model(**pad(SOURCES)).logits.shape[-1] == width
        with pytest.raises(ValueError, match=rf"symbol id {2**40 + BASE}: .* pass return_id_logits=False"):
            model(torch.tensor([[BASE + 2**40, EOS]]))


SYMBOL = BASE + 1
WITH_SYMBOLS = [
    ("bad_words_ids", [[3], [4, SYMBOL]]), ("sequence_bias", [[[SYMBOL], -2.0]]), ("sequence_bias", {(SYMBOL, 3): 2.0}),
    ("suppress_tokens", [7, SYMBOL]), ("forced_eos_token_id", SYMBOL), ("eos_token_id", [EOS, SYMBOL]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value"), WITH_SYMBOLS)
@pytest.mark.filterwarnings("ignore:.*:UserWarning")
def test_symbols_in_arguments_that_hold_ids_are_refused(name, value):
    with pytest.raises(ValueError, match=rf"{name}: {BASE + 1} is a symbol, .* give base ids, 0 … {BASE - 1}"):
        tiny_model().generate(**pad(SOURCES), **{name: value}, max_new_tokens=5)


def smoothed(logits, label, share):
    """The loss of one label as the formula says; `logits` are those that exist."""
    total = math.log(sum(math.exp(value) for value in logits))
    return (1 - share) * (total - logits[label]) + share * sum(total - value for value in logits) / len(logits)


def test_smoothed_labels_count_what_the_example_can_write_and_follow_a_renaming():
    model, batch = tiny_model(label_smoothing=0.2), collate(rows())
    renamed = {name: ids if name == "attention_mask" else rename(ids, RENAMING) for name, ids in batch.items()}
    with torch.no_grad():
        output = model(**batch)
        assert torch.equal(model(**renamed).loss, output.loss)
    losses = []
    for row, target in enumerate(TARGETS):
        for step, token in enumerate(target):
            known = {column: value for column, value in enumerate(output.logits[row, step].tolist()) if value > -1e9}
            losses.append(smoothed(list(known.values()), list(known).index(token), 0.2))
    assert output.loss.item() == pytest.approx(sum(losses) / len(losses), abs=1e-9)
    model.config.label_smoothing = 0.0
    assert model(**batch).loss < output.loss


@pytest.mark.parametrize("make", [tiny_model, partial(tiny_decoder, symbol_embedding="learned")])
def test_a_trainers_own_smoothing_is_refused(make, tmp_path):
    settings = arguments(tmp_path, max_steps=1, label_smoothing_factor=0.1)
    trainer = Trainer(make().float(), settings, train_dataset=rows(), eval_dataset=rows(), data_collator=collate)
    for call in (trainer.train, trainer.evaluate):
        with pytest.raises(ValueError, match=r"label_smoothing_factor .* set label_smoothing in the model's config"):
            call()


def test_a_loss_function_of_ones_own_gets_logits_in_id_space(tmp_path):
    seen = []

    def loss(outputs, labels, num_items_in_batch):
        seen.append(outputs.logits.shape[-1])
        return torch.nn.functional.cross_entropy(outputs.logits.flatten(0, 1), labels.flatten())

    def with_ids(examples):
        batch = collate(examples)
        start = batch["labels"].roll(1, 1).masked_fill(batch["labels"].roll(1, 1) == -100, PAD)
        start[:, 0] = START
        return {**batch, "decoder_input_ids": start, "return_id_logits": True}

    model = tiny_model(dtype=torch.float32)
    settings = arguments(tmp_path, max_steps=2, learning_rate=0.0, per_device_train_batch_size=3, logging_steps=1)
    trainer = Trainer(model, settings, train_dataset=rows(), data_collator=with_ids, compute_loss_func=loss)
    trainer.train()
    with torch.no_grad():
        expected = model.eval()(**collate(rows())).loss.item()
    assert trainer.state.log_history[0]["loss"] == pytest.approx(expected, rel=1e-3)
    assert set(seen) == {model.config.vocab_size}


def test_a_decoder_smooths_labels_of_the_next_position_and_takes_a_loss_function_of_ones_own(tmp_path):
    model = tiny_decoder(symbol_embedding="learned")
    ids = torch.tensor([AND, BASE, NEXT, BASE + 1, EOS])
    data = [{"input_ids": ids, "labels": ids}]

    def loss(outputs, labels, num_items_in_batch):
        return torch.nn.functional.cross_entropy(outputs.logits[0, :-1], labels[0, 1:])

    def evaluated(**options):
        return Trainer(model, arguments(tmp_path), eval_dataset=data, **options).evaluate()["eval_loss"]

    with torch.no_grad():
        logits = model(ids[None]).logits[0]
    expected = [smoothed(row.tolist(), int(label), 0.1) for row, label in zip(logits[:-1], ids[1:], strict=True)]
    own = evaluated()
    model.config.label_smoothing = 0.1
    assert evaluated() == pytest.approx(sum(expected) / len(expected), rel=1e-5)
    model.accepts_loss_kwargs = False
    assert evaluated(compute_loss_func=loss) == pytest.approx(own, rel=1e-6)


def test_a_seq2seq_trainer_evaluates_answers_with_inputs_and_losses(tmp_path):
    seen = {}

    def keep(prediction):
        seen.update(answers=prediction.predictions, inputs=prediction.inputs, losses=prediction.losses)
        return {}

    model = tiny_model(dtype=torch.float32, spread=0.8, seed=3)
    settings = trainer_arguments(
        tmp_path, Seq2SeqTrainingArguments, per_device_eval_batch_size=3, predict_with_generate=True,
        generation_max_length=8, include_for_metrics=["inputs", "loss"],
    )  # fmt: skip
    given = {"eval_dataset": rows(), "data_collator": collate, "compute_metrics": keep}
    loss = Seq2SeqTrainer(model, settings, **given).evaluate()["eval_loss"]
    expected = model.generate(**pad(SOURCES), max_length=8)
    assert torch.equal(torch.from_numpy(seen["answers"][:, : expected.shape[1]]), expected)
    assert seen["inputs"].tolist() == pad(SOURCES)["input_ids"].tolist()
    with torch.no_grad():
        assert loss == pytest.approx(model(**collate(rows())).loss.item(), rel=1e-5)


def test_a_trainer_that_does_not_know_gpt2_by_name_may_not_smooth_its_labels(tmp_path):
    class LoadedFromElsewhere(IdentityGPT2LMHeadModel):
        """Named as no class that transformers knows."""

    sizes = {"n_embd": 12, "n_layer": 1, "n_head": 3, "n_positions": 16, "vocab_size": 31}
    model = LoadedFromElsewhere(IdentityGPT2Config(**sizes))
    data = [{"input_ids": torch.arange(5), "labels": torch.arange(5)}]
    assert Trainer(model, arguments(tmp_path), eval_dataset=data).evaluate()["eval_loss"] > 0
    trainer = Trainer(model, arguments(tmp_path, label_smoothing_factor=0.1), eval_dataset=data)
    with pytest.raises(ValueError, match=r"label_smoothing_factor would compare each token with the label of its own"):
        trainer.evaluate()
