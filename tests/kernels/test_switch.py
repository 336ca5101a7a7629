"""`enable()` says what is missing, and changes what models compute with; `disable()` takes it back."""

import os
import subprocess
import sys

import pytest
import torch

from hf_symbinv.kernels import disable, enable
from hf_symbinv.modeling.kernels_symbinv import Kernels, registered

PROGRAM = """
from hf_symbinv.kernels import disable, enable
from hf_symbinv.modeling.kernels_symbinv import registered
enable()
enable()
print(registered.attention.compute.__module__, registered.feed_forward.compute.__module__)
disable()
print(registered.attention, registered.feed_forward)
"""


def test_without_being_asked_models_use_no_kernels():
    assert registered == Kernels(None, None)


def test_without_triton_it_cannot_be_switched_on(monkeypatch):
    monkeypatch.setitem(sys.modules, "triton", None)
    monkeypatch.delitem(sys.modules, "hf_symbinv.kernels.triton_kernels", raising=False)
    monkeypatch.delattr("hf_symbinv.kernels.triton_kernels", raising=False)
    with pytest.raises(ImportError, match=r"Triton is not installed; use a CUDA build of torch, or run pip install"):
        enable()
    assert registered == Kernels(None, None)
    disable()


@pytest.mark.skipif(os.environ.get("TRITON_INTERPRET") == "1", reason="the interpreter needs no GPU")
def test_without_a_gpu_it_cannot_be_switched_on(monkeypatch):
    pytest.importorskip("triton")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(RuntimeError, match="there is no GPU; set TRITON_INTERPRET=1"):
        enable()
    assert registered == Kernels(None, None)


@pytest.mark.slow
def test_it_registers_both_kernels_and_takes_them_back():
    """In a process of its own, because the interpreter is chosen when kernels are defined."""
    pytest.importorskip("triton")
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    own = "hf_symbinv.kernels.triton_kernels"
    assert run.stdout.splitlines() == [f"{own} {own}", "None None"]
