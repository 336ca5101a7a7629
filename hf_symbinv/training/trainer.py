"""transformers' Seq2SeqTrainer with grouped batches, and evaluation that answers questions and checks the answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import datasets
import torch
from accelerate.utils import broadcast_object_list, gather_object
from transformers import PreTrainedModel, Seq2SeqTrainer
from transformers.trainer import TRAINING_ARGS_NAME

from hf_symbinv.errors import UserError
from hf_symbinv.tasks.base import SymbolTask
from hf_symbinv.training.batching import (
    ALIKE,
    EpochOfSampler,
    GroupedSampler,
    group_keys,
    tokenize,
)
from hf_symbinv.training.decoding import generate_answers
from hf_symbinv.training.optimizers import MUON, MuonAndAdamW
from hf_symbinv.training.risk import Judged, require_judge
from hf_symbinv.training.scoring import score_answers
from hf_symbinv.training.sequences import SequenceCollator
from hf_symbinv.training.truth import FILE as TRUTH_FILE
from hf_symbinv.training.truth import HEIGHTS, TRUTH, TruthCollator, TruthHead, worlds_of


class SymbolInvariantTrainer(Seq2SeqTrainer):
    """Identical to Seq2SeqTrainer except: data sets have the task's two columns (prefix notation) and are tokenized
    here; the `train_sampling_strategy` `group_by_length` makes steps of examples of equal work, and any other makes
    them at random; `evaluate` adds the share of each verdict; no folder gets a pickle of the arguments.

    Args:
        train_dataset, eval_dataset: with the columns `task.columns`.
        truth_loss: weight of a second loss in training, see `hf_symbinv.training.truth`; None for none.
        truth_start: folder of a checkpoint whose layer of truth values goes on; None, or one without, for a new layer.
        risk_candidates: answers of its own to each training question from whose verdicts the model learns, see
            `hf_symbinv.training.risk`; None where it learns from the known answers.
        kwargs: every other argument of Seq2SeqTrainer.
    """

    def __init__(
        self,
        *,
        task: SymbolTask,
        train_dataset: datasets.Dataset,
        eval_dataset: datasets.Dataset,
        processing_class: Any,
        truth_loss: float | None = None,
        truth_start: Path | None = None,
        risk_candidates: int | None = None,
        **kwargs: Any,
    ):
        args = kwargs["args"]
        self._piece = args.train_batch_size * args.world_size
        self._group = self._piece * args.gradient_accumulation_steps
        self._seed = args.data_seed if args.data_seed is not None else args.seed
        with args.main_process_first(desc="tokenizing"):
            train = tokenize(train_dataset, task, processing_class, "training data")
            evaluation = tokenize(eval_dataset, task, processing_class, "evaluation data")
        collator = SequenceCollator(processing_class.pad_token_id)
        self._truth_loss, self._truth_losses = truth_loss, list[torch.Tensor]()
        self._truth_head: TruthHead | None = None
        if truth_loss is not None:
            model = kwargs["model"]
            worlds = worlds_of(task, model.config)
            collator = TruthCollator(processing_class.pad_token_id, worlds, task.base_tokens)
            self._truth_head = TruthHead(model, worlds.bits)
            if truth_start is not None and (truth_start / TRUTH_FILE).is_file():
                self._truth_head.load(truth_start)
        if risk_candidates is not None:
            require_judge(task.name, risk_candidates)
            if args.world_size > 1:
                raise UserError(f"risk_candidates: works in one process, and this run has {args.world_size}; start one")
        self._candidates, self._told = risk_candidates, list[tuple[float, float]]()
        self._judged: Judged | None = None
        super().__init__(
            train_dataset=train,
            eval_dataset=evaluation,
            processing_class=processing_class,
            data_collator=collator,
            **kwargs,
        )
        if self.is_fsdp_enabled:
            raise UserError("FSDP: shards weights that answers need whole; take a launch file without it")
        self.gather_function = self.accelerator.gather_for_metrics  # or evaluation counts the padding of the last batch
        self.task, self.checked_rows = task, eval_dataset
        self.optimizer: torch.optim.Optimizer | None

    def train(self, *args: Any, **kwargs: Any) -> Any:
        """As the base class, with a judge at hand where the model learns from its own answers."""
        if self._candidates is None:
            return super().train(*args, **kwargs)
        with self.task.checker(workers=1) as checker:
            self._judged = Judged(self.task, self.processing_class, checker, self._candidates)
            return super().train(*args, **kwargs)

    def _get_train_sampler(self, train_dataset: Any = None) -> torch.utils.data.Sampler:
        """Groups of one optimizer step: accelerate deals consecutive batches to the processes in turn."""
        dataset = self.train_dataset if train_dataset is None else train_dataset
        if self.args.train_sampling_strategy == ALIKE:
            keys = group_keys(dataset, self.accelerator.unwrap_model(self.model).config.base_vocab_size)
        else:
            keys = torch.ones(len(dataset), 3, dtype=torch.int64)  # all alike, so that steps are drawn at random
        sampler = GroupedSampler(keys, self._group, self._piece, self._seed)
        self.add_callback(EpochOfSampler(sampler, self._group))
        return sampler

    def create_optimizer(self, model: PreTrainedModel | None = None) -> torch.optim.Optimizer:
        """As the base class, and Muon where the arguments' `optim` says so."""
        if self.args.optim == MUON and self.optimizer is None:
            trained = model or self.model
            self.optimizer = MuonAndAdamW(
                trained,
                self.get_decay_parameter_names(trained),
                learning_rate=self.args.learning_rate,
                weight_decay=self.args.weight_decay,
                betas=(self.args.adam_beta1, self.args.adam_beta2),
                eps=self.args.adam_epsilon,
            )
        return super().create_optimizer(model)

    def compute_loss(
        self, model: Any, inputs: dict[str, Any], return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """As the base class, or in training the loss of the model's own answers; then that of truth values is added."""
        truth, heights = inputs.pop(TRUTH, None), inputs.pop(HEIGHTS, None)
        if not model.training:
            return super().compute_loss(model, inputs, return_outputs, num_items_in_batch)
        # As the base class counts its loss, of which each micro-batch then has its share.
        shares = 1 if num_items_in_batch is None else self.current_gradient_accumulation_steps
        head = self._truth_head
        outputs: Any = None
        states: Any = None
        if self._judged is not None:
            told = self._judged.told(model, inputs)
            self._told.append((told.risk, told.right))
            loss, states = told.loss / shares, told.states
        else:
            asked = {"output_hidden_states": True} if head is not None else {}
            loss, outputs = super().compute_loss(model, {**inputs, **asked}, True, num_items_in_batch)
            states = outputs["encoder_hidden_states"] if head is not None else None
        if head is not None:
            truth_loss = head.loss(states, inputs["input_ids"], truth, heights)
            self._truth_losses.append(truth_loss.detach())
            loss = loss + self._truth_loss * truth_loss / shares
        return (loss, outputs) if return_outputs else loss

    def log(self, logs: dict[str, float], *args: Any, **kwargs: Any) -> None:
        """As the base class, with the step, and the mean loss of truth values, or risk and right answers, beside it."""
        logs = {"step": self.state.global_step, **logs}
        if "loss" in logs and self._truth_losses:
            logs = {**logs, "truth_loss": float(torch.stack(self._truth_losses).mean())}
            self._truth_losses.clear()
        if "loss" in logs and self._told:
            means = [sum(numbers) / len(self._told) for numbers in zip(*self._told, strict=True)]
            logs = {**logs, **dict(zip(("risk", "right"), means, strict=True))}
            self._told.clear()
        super().log(logs, *args, **kwargs)

    def evaluate(self, *args: Any, metric_key_prefix: str = "eval", **kwargs: Any) -> dict[str, Any]:
        """The loss on the evaluation data set, and the scores of the answers to its questions."""
        device = self.args.device
        with torch.random.fork_rng([device] if device.type == "cuda" else []):  # or weights depended on `eval_steps`
            metrics = super().evaluate(*args, metric_key_prefix=metric_key_prefix, **kwargs)
            scores = self.check_answers(self.checked_rows, metric_key_prefix, **self._generation())
        self.log({name: value for name, value in scores.items() if isinstance(value, float)})
        return {**metrics, **scores}

    def _generation(self) -> dict[str, Any]:
        """What the arguments say of answers in evaluations; those of a test are decoded as the model is saved."""
        beams, length = self.args.generation_num_beams, self.args.generation_max_length
        lengths = {} if length is None else {"max_length": length, "max_new_tokens": None}
        return lengths if beams is None else {**lengths, "num_beams": beams}

    def check_answers(self, rows: datasets.Dataset, metric_key_prefix: str, **generation: Any) -> dict[str, Any]:
        """Answers the questions of `rows` on all processes, has the answers checked, and sums up."""
        model = self.accelerator.unwrap_model(self.model)
        pairs = list(zip(*(rows[column] for column in self.task.columns), strict=True))
        with self.accelerator.split_between_processes(pairs) as mine:
            prompts = [self.task.prompt(question) for question, _ in mine]
            size = self.args.per_device_eval_batch_size
            answers = generate_answers(model, self.processing_class, prompts, size, **generation)
            told = [(question, answer[0], known) for (question, known), answer in zip(mine, answers, strict=True)]
        told = gather_object(told)
        summary: list[dict[str, Any]] = [{}]
        if self.is_world_process_zero():
            questions, predictions, references = (list(column) for column in zip(*told, strict=True))
            with self.task.checker(workers=1) as checker:
                results = checker.check(list(zip(questions, predictions, strict=True)), references)
                verdicts = [result.verdict for result in results]
            summary = [score_answers(self.task, verdicts, predictions, references)]
        broadcast_object_list(summary)
        return {f"{metric_key_prefix}_{name}": value for name, value in summary[0].items()}

    def _save(self, output_dir: str | None = None, state_dict: dict[str, Any] | None = None) -> None:
        super()._save(output_dir, state_dict)
        if self.args.should_save:
            folder = Path(output_dir or self.args.output_dir)
            (folder / TRAINING_ARGS_NAME).unlink(missing_ok=True)
            if self._truth_head is not None and folder != Path(self.args.output_dir):
                self._truth_head.save(folder)

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: PreTrainedModel | None = None) -> None:
        super()._load_from_checkpoint(resume_from_checkpoint, model)
        if self._truth_head is not None:
            self._truth_head.load(Path(resume_from_checkpoint))

    def create_model_card(self, *args: Any, **kwargs: Any) -> None:
        """A push takes the card that `ModelCardCallback` wrote; transformers' own only where there is none."""
        if not (Path(self.args.output_dir) / "README.md").is_file():
            super().create_model_card(*args, **kwargs)
