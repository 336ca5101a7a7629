"""Models learn to point at bugs, by transformers' Trainer."""

import random

import pytest
import torch
from transformers import TrainingArguments

from papers.code.reading import IMPOSSIBLE, PLACE, REMEDY, RIGHT, collate
from papers.code.row_names import names_in
from papers.code.training import Batches, BugTrainer


@pytest.mark.parametrize("names", ["hidden", "legend", "text"])
def test_a_model_learns_the_bugs_of_some_functions_by_heart(model, readers, rows, names, tmp_path):
    learner = model(readers[names], "learned" if names == "text" else "streams")
    arguments = TrainingArguments(
        tmp_path, max_steps=150, per_device_train_batch_size=6, learning_rate=1e-2, lr_scheduler_type="cosine",
        remove_unused_columns=False, dataloader_pin_memory=False, save_strategy="no", report_to="none",
        disable_tqdm=True, seed=0,
    )  # fmt: skip
    trainer = BugTrainer(model=learner, args=arguments, train_dataset=rows, data_collator=Batches([readers[names]]))
    trainer.train()
    batch = collate(readers[names].rows(rows), pad=1)
    labels = batch.pop("labels")
    with torch.inference_mode():
        chosen = learner.eval()(**batch).logits.masked_fill(labels == IMPOSSIBLE, -torch.inf).argmax(1)
    indices = torch.arange(len(rows))
    assert (labels[indices, chosen[:, PLACE], PLACE] == RIGHT).all()
    with_bug = (labels[..., REMEDY] == RIGHT).any(1)
    assert (labels[indices, chosen[:, REMEDY], REMEDY] == RIGHT)[with_bug].all()


def test_names_of_a_pool_change_from_batch_to_batch(readers, rows):
    random.seed(0)
    pool = [*names_in(rows, least=1), "other", "names", "still"]
    batches = Batches([readers["text"]], pool)
    assert len({tuple(batches(rows[:1])["input_ids"][0].tolist()) for _ in range(10)}) > 1
    hidden = Batches([readers["hidden"]])
    assert torch.equal(hidden(rows)["input_ids"], hidden(rows)["input_ids"])


def test_rows_of_a_batch_are_alike(model, readers, rows, tmp_path):
    arguments = TrainingArguments(
        tmp_path, per_device_train_batch_size=2, remove_unused_columns=False, report_to="none"
    )
    trainer = BugTrainer(model=model(readers["hidden"]), args=arguments, train_dataset=rows,
                         data_collator=Batches([readers["hidden"]]))  # fmt: skip
    for batch in torch.tensor(list(trainer._get_train_sampler())).view(-1, 2).tolist():
        first, second = (len({one["name"] for one in rows[index]["symbols"]}) for index in batch)
        assert abs(first - second) <= 1
