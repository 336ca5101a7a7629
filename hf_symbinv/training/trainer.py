"""transformers' Seq2SeqTrainer with grouped batches, and evaluation that answers formulas and checks the answers."""

from __future__ import annotations

from typing import Any

import datasets
import torch
from accelerate.utils import broadcast_object_list, gather_object
from transformers import Seq2SeqTrainer

from hf_symbinv.metrics.ltl_witness import compute_ltl_witness
from hf_symbinv.training.batching import Collator, GroupedSampler, group_keys, tokenize
from hf_symbinv.training.decoding import generate_answers


class SymbolInvariantTrainer(Seq2SeqTrainer):
    """Identical to Seq2SeqTrainer except: data sets have columns `formula` and `witness` (prefix notation) and are
    tokenized here; batches group examples of equal work; `evaluate` adds the share of each verdict.

    Args:
        train_dataset, eval_dataset: columns `formula` and `witness`.
        processing_class: a SymbolInvariantTokenizer.
        kwargs: every other argument of Seq2SeqTrainer.
    """

    def __init__(
        self,
        *,
        train_dataset: datasets.Dataset,
        eval_dataset: datasets.Dataset,
        processing_class: Any,
        **kwargs: Any,
    ):
        with kwargs["args"].main_process_first(desc="tokenizing"):
            train, evaluation = tokenize(train_dataset, processing_class), tokenize(eval_dataset, processing_class)
        super().__init__(
            train_dataset=train,
            eval_dataset=evaluation,
            processing_class=processing_class,
            data_collator=Collator(processing_class.pad_token_id),
            **kwargs,
        )
        self.gather_function = self.accelerator.gather_for_metrics  # or evaluation counts the padding of the last batch
        self.checked_rows = eval_dataset

    def _get_train_sampler(self, train_dataset: Any = None) -> torch.utils.data.Sampler:
        """Groups of one optimizer step: accelerate deals consecutive batches to the processes in turn."""
        dataset = self.train_dataset if train_dataset is None else train_dataset
        args = self.args
        group = args.train_batch_size * args.gradient_accumulation_steps * args.world_size
        keys = group_keys(dataset, self.accelerator.unwrap_model(self.model).config.base_vocab_size)
        return GroupedSampler(keys, group, args.data_seed if args.data_seed is not None else args.seed)

    def evaluate(self, *args: Any, metric_key_prefix: str = "eval", **kwargs: Any) -> dict[str, Any]:
        """The loss on the evaluation data set, and the verdicts on the answers to its formulas."""
        metrics = super().evaluate(*args, metric_key_prefix=metric_key_prefix, **kwargs)
        verdicts = self.check_answers(self.checked_rows, metric_key_prefix)
        self.log({name: value for name, value in verdicts.items() if isinstance(value, float)})
        return {**metrics, **verdicts}

    def check_answers(self, rows: datasets.Dataset, metric_key_prefix: str) -> dict[str, Any]:
        """Answers the formulas of `rows` on all processes, has the answers checked, and sums up the verdicts."""
        model = self.accelerator.unwrap_model(self.model)
        pairs = list(zip(rows["formula"], rows["witness"], strict=True))
        with self.accelerator.split_between_processes(pairs) as mine:
            formulas = [formula for formula, _ in mine]
            answers = generate_answers(model, self.processing_class, formulas, self.args.per_device_eval_batch_size)
            told = [(formula, answer[0], witness) for (formula, witness), answer in zip(mine, answers, strict=True)]
        told = gather_object(told)
        summary: list[dict[str, Any]] = [{}]
        if self.is_world_process_zero():
            formulas, predictions, references = (list(column) for column in zip(*told, strict=True))
            summary = [compute_ltl_witness(predictions, formulas, references, workers=1)]
        broadcast_object_list(summary)
        return {f"{metric_key_prefix}_{name}": value for name, value in summary[0].items()}
