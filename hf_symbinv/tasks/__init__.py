"""The tasks, one module each: base tokens and arities, notations, generator, solver and judge of a kind of question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hf_symbinv.tasks.base import SymbolTask, symbol_names
from hf_symbinv.tasks.pairs import PAIRS, PairsTask
from hf_symbinv.tasks.registry import TASKS, TaskError, load_task, new_task, task_file, task_of, task_of_tokenizer

if TYPE_CHECKING:
    from hf_symbinv.tasks.contract import Law, check_task
    from hf_symbinv.tasks.copying import COPY
    from hf_symbinv.tasks.ltl import LTL, LTL_OPERATORS, LTLTask, OperatorsTask
    from hf_symbinv.tasks.prop import PROP
    from hf_symbinv.tasks.tseitin import TSEITIN

__all__ = [
    "COPY",
    "LTL",
    "LTL_OPERATORS",
    "PAIRS",
    "PROP",
    "TASKS",
    "TSEITIN",
    "LTLTask",
    "Law",
    "OperatorsTask",
    "PairsTask",
    "SymbolTask",
    "TaskError",
    "check_task",
    "load_task",
    "new_task",
    "symbol_names",
    "task_file",
    "task_of",
    "task_of_tokenizer",
]


def __getattr__(name: str) -> Any:
    if name in ("Law", "check_task"):  # tried rarely, and every command imports this room
        from hf_symbinv.tasks import contract

        return getattr(contract, name)
    if name in ("LTLTask", "OperatorsTask"):
        from hf_symbinv.tasks import ltl

        return getattr(ltl, name)
    if name not in ("COPY", "LTL", "LTL_OPERATORS", "PROP", "TSEITIN"):
        raise AttributeError(f"module 'hf_symbinv.tasks' has no attribute {name!r}")
    task = TASKS[name.lower().replace("_", "-")]
    globals()[name] = task
    return task
