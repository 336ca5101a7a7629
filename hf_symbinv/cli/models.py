"""The options that name a model and a task, and loading a model without the library's own bars and warnings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from hf_symbinv.cli.arguments import DEFAULT_TASK
from hf_symbinv.evaluation import Checkpoint, default_checkpoint, load_checkpoint
from hf_symbinv.evaluation.sessions import is_random, start_session
from hf_symbinv.tasks import SymbolTask, load_task

MODEL_HELP = "folder, bundled name or name on the Hub (default: the task's bundled one)"
# Of a model that does not say how long its answers are.
MAX_NEW_TOKENS = 100


class Models:
    """The task and the model that a command's options name; the model is loaded when it is first needed.

    Without a model it is the task's bundled one; without a task that of the model, or `ltl` if there is none either.
    """

    def __init__(self, model: str | None, task: str | None, device: str | None, embedding_seed: int | None):
        self._model, self._device, self._seed = model, device, embedding_seed or 0
        self._loaded: Checkpoint | None = None
        self._task = load_task(task or DEFAULT_TASK) if task or model is None else None

    @property
    def task(self) -> SymbolTask:
        """The task; without an option that names it, the model has to be loaded."""
        return self.checkpoint.task if self._task is None else self._task

    @property
    def checkpoint(self) -> Checkpoint:
        """The checkpoint that the options name, or the task's default; loaded when it is first asked for."""
        if self._loaded is None:
            name = default_checkpoint(self.task) if self._model is None else self._model
            self._loaded = load_quietly(name, self._device, self._task)
            if is_random(self._loaded):
                start_session(self._loaded, self._seed)
        return self._loaded

    def complete(self, generation: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments of `generate` with the length of an answer, the model's own if none was given."""
        longest = generation.get("max_new_tokens") or self.checkpoint.model.generation_config.max_new_tokens
        return {**generation, "max_new_tokens": longest or MAX_NEW_TOKENS}


def load_quietly(name: str, device: str | None, task: SymbolTask | None = None) -> Checkpoint:
    """`load_checkpoint`, which raises what matters of transformers' warnings as errors."""
    with quiet():
        return load_checkpoint(name, device, task)


@contextmanager
def quiet() -> Iterator[None]:
    """Without the bars and warnings of transformers and of the Hub's client."""
    from huggingface_hub.utils import logging as hub_logging
    from transformers.utils import logging

    verbosity, hub_verbosity = logging.get_verbosity(), hub_logging.get_verbosity()
    bars = logging.is_progress_bar_enabled()
    logging.set_verbosity(logging.CRITICAL)
    hub_logging.set_verbosity(logging.CRITICAL)  # it tells of each attempt
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        hub_logging.set_verbosity(hub_verbosity)
        if bars:
            logging.enable_progress_bar()
