"""Makes `evaluate.load("alpha_covariance")` find this package's metrics by their bare names.

`evaluate` looks for a bare name on the Hub and then in its own cache of modules,
`<modules>/evaluate_modules/metrics/evaluate-metric--NAME/<64 hexadecimal digits>/NAME.py`, where the newest file wins.
`register_metrics` puts the metrics there. It computes the path from the environment as `evaluate` does, because
importing `evaluate` takes seconds; and as every import of the package calls it, it imports little itself.
"""

from __future__ import annotations

import hashlib
import os
from importlib.util import find_spec

METRICS = ("alpha_covariance", "edit_distance", "ltl_witness", "prop_assignment", "renaming_invariance")


def register_metrics() -> None:
    """Put every metric's script into `evaluate`'s cache of modules, or mark it as the newest one there.

    Writes are atomic, so processes may do this at the same time. Does nothing if `evaluate` is not installed; where
    the cache cannot be written, it only logs, and the metrics load by path.
    """
    if find_spec("evaluate") is None:
        return
    try:
        folder = os.path.join(modules_cache(), "evaluate_modules", "metrics")
        if folder.startswith("~"):
            raise FileNotFoundError(f"{folder}: no home folder is known; set HOME or HF_HOME")
        _make_package(folder)
        for name in METRICS:
            _register(name, os.path.join(folder, f"evaluate-metric--{name}"))
    except OSError as error:
        import logging

        message = "evaluate.load finds the metrics %s by path only: %s"
        logging.getLogger(__name__).debug(message, ", ".join(METRICS), error)


def modules_cache() -> str:
    """The folder of dynamic modules, as `evaluate.config.HF_MODULES_CACHE` computes it from the environment."""
    cache = os.path.join(os.getenv("XDG_CACHE_HOME", "~/.cache"), "huggingface")
    return os.getenv("HF_MODULES_CACHE", os.path.join(os.path.expanduser(os.getenv("HF_HOME", cache)), "modules"))


def script_path(name: str) -> str:
    """The script of the metric `name` inside this package."""
    return os.path.join(os.path.dirname(__file__), name, f"{name}.py")


def _make_package(folder: str) -> None:
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "__init__.py"), "a"):
        pass


def _register(name: str, folder: str) -> None:
    with open(script_path(name), "rb") as file:
        script = file.read()
    version = os.path.join(folder, hashlib.sha256(script).hexdigest())
    cached = os.path.join(version, f"{name}.py")
    if _holds(cached, script):
        os.utime(cached)
        return
    import shutil
    import tempfile
    from pathlib import Path

    from hf_symbinv.files import write_atomically

    _make_package(folder)
    # The name of a temporary folder is shorter than 64 characters, so `evaluate` never looks into it.
    temporary = tempfile.mkdtemp(prefix="new-", dir=folder)
    try:
        _make_package(temporary)
        with open(os.path.join(temporary, f"{name}.py"), "wb") as file:
            file.write(script)
        os.chmod(temporary, 0o755)
        try:
            os.rename(temporary, version)
        except OSError:  # the folder exists: another process made it, or its script is damaged
            write_atomically(Path(cached), script)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _holds(path: str, content: bytes) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read() == content
    except FileNotFoundError:
        return False
