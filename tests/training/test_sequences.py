"""Sequences of different lengths become one batch, and labels keep their kind."""

import torch

from hf_symbinv.training.sequences import SequenceCollator

ROWS = [{"input_ids": [5, 6, 7], "labels": 1.5}, {"input_ids": [8], "labels": 2.0}]


def test_short_sequences_are_padded_and_masked():
    batch = SequenceCollator(pad=1)(ROWS)
    assert batch["input_ids"].tolist() == [[5, 6, 7], [8, 1, 1]]
    assert batch["attention_mask"].tolist() == [[1, 1, 1], [1, 0, 0]]


def test_numbers_are_labels_of_regression_and_integers_are_classes():
    assert SequenceCollator(1)(ROWS)["labels"].dtype == torch.float32
    assert SequenceCollator(1)([{**row, "labels": 1} for row in ROWS])["labels"].dtype == torch.int64
    assert "labels" not in SequenceCollator(1)([{"input_ids": [5]}])


def test_labels_of_tokens_are_padded_by_what_losses_leave_out():
    rows = [{"input_ids": [5, 6, 7], "labels": [5, 4]}, {"input_ids": [8], "labels": [9, 8, 7]}]
    assert SequenceCollator(1)(rows)["labels"].tolist() == [[5, 4, -100], [9, 8, 7]]
