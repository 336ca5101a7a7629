"""What a card says about training: the command, the arguments, the machine; and a callback that writes the card.

trainer = Seq2SeqTrainer(model=model, args=args, callbacks=[ModelCardCallback(LTL)], ...)
"""

from __future__ import annotations

import logging
import os
import platform
import re
import shlex
import sys
import time
from importlib import metadata
from pathlib import Path
from typing import Any

import torch
from transformers import TrainerCallback, TrainingArguments

from hf_symbinv.hub.cards.facts import CardError, ModelFacts, read_facts
from hf_symbinv.hub.cards.model import write_model_card
from hf_symbinv.tasks.base import SymbolTask

_logger = logging.getLogger(__name__)

PACKAGES = (
    "hf_symbinv", "torch", "transformers", "datasets", "accelerate", "tokenizers", "safetensors", "spottl",
    "py-aiger-sat",
)  # fmt: skip
# Arguments of a trainer that bear on what is learned.
HYPERPARAMETERS = (
    "learning_rate", "lr_scheduler_type", "lr_scheduler_kwargs", "warmup_steps", "max_steps", "num_train_epochs",
    "per_device_train_batch_size", "gradient_accumulation_steps", "train_sampling_strategy", "optim", "adam_beta1",
    "adam_beta2", "adam_epsilon", "weight_decay", "max_grad_norm", "label_smoothing_factor", "bf16", "fp16", "seed",
    "data_seed", "load_best_model_at_end",
)  # fmt: skip
_TOKEN = re.compile(r"(?<=token=)\S+|(?<=token )\S+|\bhf_[A-Za-z0-9]{20,}")


class ModelCardCallback(TrainerCallback):
    """Writes `README.md`, the model's card, into the output folder when training ends.

    Args:
        task: what the model is trained to answer; None for one that answers no questions.
    """

    def __init__(self, task: SymbolTask | None = None):
        self.task = task
        self._started = time.monotonic()

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._started = time.monotonic()

    def on_train_end(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
        """Only the main process writes; a card of other origin stays."""
        if not state.is_world_process_zero:
            return
        record = {
            "command": command(),
            "hyperparameters": hyperparameters(args),
            "log": state.log_history,
            "step": state.global_step,
            "max_steps": state.max_steps,
            "seconds": round(time.monotonic() - self._started, 1),
            "processes": args.world_size,
            "environment": environment(args.device),
        }
        folder = Path(args.output_dir)
        folder.mkdir(parents=True, exist_ok=True)
        facts = ModelFacts(
            name=args.hub_model_id or folder.resolve().name,
            config={**model.config.to_dict(), "architectures": [type(model).__name__]},  # as it will be saved
            task=self.task,
            parameters=model.num_parameters(),
            record=record,
        )
        write_card(folder, facts)


def write_card(folder: Path, facts: ModelFacts | None = None) -> None:
    """`write_model_card`, which at the end of a run only warns if there can be no card.

    Args:
        folder: With a model, and what is known of it.
        facts: What is known; None to read it in the folder.
    """
    try:
        write_model_card(folder, facts or read_facts(folder))
    except CardError as error:
        _logger.warning("no card was written: %s", error)


def command() -> str:
    """The command line of this process, without the folder of the program and without access tokens."""
    return _TOKEN.sub("<token>", shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]))


def hyperparameters(args: TrainingArguments) -> dict[str, Any]:
    """The arguments of a trainer that bear on what is learned, as far as they are set."""
    given = args.to_dict()
    return {name: given[name] for name in HYPERPARAMETERS if given.get(name) or name == "seed"}  # which may be 0


def environment(device: torch.device | None = None) -> dict[str, Any]:
    """Versions and machine, as far as they bear on results; of accelerators that `device` is, or any if it is None."""
    versions: dict[str, str | None] = {}
    for package in PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = None
    used = torch.cuda.is_available() and (device is None or device.type == "cuda")
    return {
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "cpu": cpu_model(),
        "cpu_count": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "accelerator": torch.cuda.get_device_name() if used else None,
        "packages": versions,
    }


def cpu_model() -> str | None:
    """The CPU's name, such as `AMD EPYC 9554 64-Core Processor`; None where it cannot be told."""
    path = Path("/proc/cpuinfo")
    found = re.search(r"^model name\s*:\s*(.+)$", path.read_text(), re.MULTILINE) if path.is_file() else None
    return found[1].strip() if found else platform.processor() or None
