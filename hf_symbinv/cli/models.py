"""The option that names a model, and loading it without the library's own progress bars and warnings."""

from __future__ import annotations

from hf_symbinv.evaluation import Checkpoint, load_checkpoint

MODEL_HELP = "folder, bundled name or name on the Hub (default: %(default)s)"


def load_quietly(name: str, device: str | None) -> Checkpoint:
    """`load_checkpoint`, which raises what matters of transformers' warnings as errors.

    Raises:
        CheckpointError: As `load_checkpoint` does.
    """
    from transformers.utils import logging

    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity(logging.CRITICAL)
    logging.disable_progress_bar()
    try:
        return load_checkpoint(name, device)
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()
