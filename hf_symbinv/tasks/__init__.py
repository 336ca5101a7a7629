"""The tasks, one module each: base tokens and arities, notations, generator, solver and judge of a kind of question."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hf_symbinv.tasks.base import SymbolTask, symbol_names
from hf_symbinv.tasks.registry import TASKS, TaskError, load_task, task_of

if TYPE_CHECKING:
    from hf_symbinv.tasks.copying import COPY
    from hf_symbinv.tasks.ltl import LTL
    from hf_symbinv.tasks.prop import PROP

__all__ = ["COPY", "LTL", "PROP", "TASKS", "SymbolTask", "TaskError", "load_task", "symbol_names", "task_of"]


def __getattr__(name: str) -> SymbolTask:
    if name not in ("COPY", "LTL", "PROP"):
        raise AttributeError(f"module 'hf_symbinv.tasks' has no attribute {name!r}")
    task = TASKS[name.lower()]
    globals()[name] = task
    return task
