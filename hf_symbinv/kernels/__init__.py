"""Kernels for a GPU, which models of this package use once they are switched on.

They pass their tests on an H100, but nobody has measured their speed. So they are off, and no checkpoint carries them:
models whose code came with a checkpoint (`trust_remote_code=True` without this package) do without.
"""

from hf_symbinv.modeling.kernels_symbinv import Kernel, registered


def enable() -> None:
    """Switches the kernels on for all models of this process: where they fit, they go before all other ways.

    They compute feed-forward blocks with ReLU, and attention over at most 128 keys, forward and backward. Models are
    as they were after `disable()`.

    Raises:
        ImportError: if Triton is not installed.
        RuntimeError: if there is no GPU to run them on.
    """
    try:
        from hf_symbinv.kernels import triton_kernels
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "triton":
            raise
        raise ImportError(
            "hf_symbinv.kernels.enable(): Triton is not installed; use a CUDA build of torch, or run "
            "pip install 'hf_symbinv[triton]'"
        ) from error
    if not triton_kernels.can_run():
        raise RuntimeError(
            "hf_symbinv.kernels.enable(): there is no GPU; set TRITON_INTERPRET=1 to run the kernels on a CPU, slowly"
        )
    registered.attention = Kernel(triton_kernels.attention_fits, triton_kernels.short_attention)
    registered.feed_forward = Kernel(triton_kernels.feed_forward_fits, triton_kernels.relu_feed_forward)


def disable() -> None:
    """Switches the kernels off; models compute as they did before `enable()`."""
    registered.attention = registered.feed_forward = None


__all__ = ["disable", "enable"]
