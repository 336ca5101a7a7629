"""Tasks by name, by file, or by the base tokens of a checkpoint."""

from __future__ import annotations

import contextlib
import importlib
import keyword
import math
import re
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Any

from hf_symbinv.auto_classes import imports_transformers, register_auto_classes, register_pipelines
from hf_symbinv.errors import USER_FILES, UserError
from hf_symbinv.solvers import ProcessPool
from hf_symbinv.solvers.pool import PREPARE_SECONDS, PoolError
from hf_symbinv.tasks.base import SymbolTask
from hf_symbinv.tasks.pairs import PAIRS, PairsTask

# Modules are imported when their task is first used.
_HOMES = {
    "ltl": ("hf_symbinv.tasks.ltl", "LTL"),
    "ltl-operators": ("hf_symbinv.tasks.ltl", "LTL_OPERATORS"),
    "prop": ("hf_symbinv.tasks.prop", "PROP"),
    "copy": ("hf_symbinv.tasks.copying", "COPY"),
    "tseitin": ("hf_symbinv.tasks.tseitin", "TSEITIN"),
}
# Task and public release → the task whose questions are drawn as that release draws them.
_LIKE = {("prop", "deepltl"): ("hf_symbinv.tasks.prop", "PROP_LIKE_DEEPLTL")}
_FILE = re.compile(r"(?P<path>.+\.py)(?::(?P<name>[A-Za-z_]\w*))?", re.DOTALL)
# Tasks of users' files, which `task_of` finds too.
_loaded: dict[str, SymbolTask] = {}
# What commands call in their own process, with texts of every kind, and arguments to try it with.
_CALLED_HERE: dict[str, tuple[Any, ...]] = {
    "solver_version": (), "tokenizer": (), "config": (), "checker": (), "size": ("a",), "symbols": ("a",),
    "words": ("a",), "prompt": ("a",), "alpha_class": ("a",), "normalized": ("a",), "ordered": ("a", "a"),
    "shared_answer": ("a", "a"), "with_new_names": ("a", "a"), "new_names": ("a",), "rename": ("a", {"a": "b"}),
    "write": ([],), "write_words": (["a"],), "read_question": ("a", "prefix"), "write_question": ("a", "prefix"),
    "read_answer": ("a",), "write_answer": ("a", "prefix"),
}  # fmt: skip
# Seconds for one of them, at most. Our choice: it is a call of microseconds, but `checker` calls `prepare`.
TRIAL_SECONDS = 60.0 + PREPARE_SECONDS


class TaskError(UserError):
    """A name or a file that gives no task."""


class _Tasks(Mapping[str, SymbolTask]):
    """The tasks that come with the package, by name."""

    def __getitem__(self, name: str) -> SymbolTask:
        return _at(*_HOMES[name])

    def __contains__(self, name: object) -> bool:
        return name in _HOMES

    def __iter__(self) -> Iterator[str]:
        return iter(_HOMES)

    def __len__(self) -> int:
        return len(_HOMES)


def _at(module: str, attribute: str) -> SymbolTask:
    task = getattr(importlib.import_module(module), attribute)
    assert isinstance(task, SymbolTask)
    return task


TASKS: Mapping[str, SymbolTask] = _Tasks()


def load_task(name_or_file: str | Path, like: str = "") -> SymbolTask:
    """The task of this name, or the one that a file defines.

    Args:
        name_or_file: A key of `TASKS`; or `FILE.py`, which defines one instance of `SymbolTask`, or `FILE.py:NAME`. The
            file's folder is put on the module path and the file imported by its stem, so that worker processes find it.
            A process of its own imports it first, and calls what commands call in theirs: code that ends its process,
            as `os._exit(0)` does, would end a command as if its work were done.
        like: A public release whose distribution of questions a student wants who makes a paper's tables again:
            `deepltl` for `prop`. Empty for the task's own distribution.

    Raises:
        TaskError: If there is no such task, or the file cannot be imported, defines none, or several, or ends the
            process that tries it; or if the task is not drawn like that release.
    """
    name = str(name_or_file)
    if like:
        if (name, like) not in _LIKE:
            raise TaskError(
                f"like={like!r}: task {name} is not drawn like this; use deepltl with task prop, or leave it out"
            )
        return _at(*_LIKE[name, like])
    if name in TASKS:
        return TASKS[name]
    if name == PAIRS:
        raise TaskError(
            f"task={name!r}: its base words come from data; train with `symbinv train --pairs`, and name the model only"
        )
    match = _FILE.fullmatch(name)
    if match is None:
        raise TaskError(f"task={name!r}: unknown; use one of {', '.join(TASKS)}, or a file FILE.py that defines a task")
    if not Path(match["path"]).is_file():
        raise TaskError(f"task={name!r}: no such file")
    if name not in _loaded:
        _try_elsewhere(name)
    task = _loaded[name] = _defined(match, name)
    return task


def _try_elsewhere(name: str) -> None:
    """Import a task's file, and call some of the task's methods, in a process of its own; TaskError if that ends.

    Exceptions are no matter here: they come again where the task is used, in a sentence of that place.
    """
    # No limit of memory: a task may load much, and how much it may is said by the commands that use it.
    pool = ProcessPool(
        partial(_call, name), workers=1, timeout=TRIAL_SECONDS, initializer=partial(_import, name), memory=math.inf
    )
    with pool:
        try:
            pool.warm_up()
        except PoolError as error:
            raise TaskError(f"task={name!r}: the file cannot be imported ({error}); mend the file") from error
        for method, outcome in zip(_CALLED_HERE, pool.map(_CALLED_HERE), strict=True):
            if outcome.status != "done":
                given = ", ".join(map(repr, _CALLED_HERE[method]))
                raise TaskError(
                    f"task={name!r}: a process that called {method}({given}) {outcome.value}; mend the method, and "
                    "raise an exception where something is wrong"
                )


def _import(name: str) -> None:
    with contextlib.suppress(Exception, SystemExit):
        match = _FILE.fullmatch(name)
        assert match is not None
        _loaded[name] = _defined(match, name)


def _call(name: str, method: str) -> None:
    """Call a method of a task if it is the user's own."""
    with contextlib.suppress(Exception, SystemExit):
        task = _loaded[name]
        if getattr(type(task), method) is not getattr(SymbolTask, method):
            found = getattr(task, method)(*_CALLED_HERE[method])
            next(iter(found), None)  # of a generator, nothing has run before


def _defined(match: re.Match[str], name: str) -> SymbolTask:
    """The task of a file, which is imported here; arguments as `_FILE` matches a name, and errors as of `load_task`."""
    path = Path(match["path"]).resolve()
    module = _imported(path, name)
    found = {
        attribute: value
        for attribute, value in vars(module).items()
        if isinstance(value, SymbolTask) and type(value).__module__ == module.__name__
    }
    if match["name"] is not None:
        if match["name"] not in found:
            raise TaskError(f"task={name!r}: the file defines no task of this name; it has {_list(found)}")
        task = found[match["name"]]
    elif len(set(map(id, found.values()))) == 1:
        task = next(iter(found.values()))
    elif found:
        raise TaskError(f"task={name!r}: the file defines several tasks; name one, such as {name}:{next(iter(found))}")
    else:
        raise TaskError(f"task={name!r}: the file defines no task; make an instance of its class, as TASK = MyTask()")
    USER_FILES.add(str(path))
    return task


def task_file(name: Any) -> Path | None:
    """The file that a task's name names, `FILE.py` or `FILE.py:NAME`, if there is such a file."""
    match = _FILE.fullmatch(name) if isinstance(name, str) else None
    return Path(match["path"]) if match is not None and Path(match["path"]).is_file() else None


def new_task(path: Path) -> str:
    """Write a small task that works, `hf_symbinv.tasks.starter`, into a new file; its name is the file's without `.py`.

    Raises:
        TaskError: If there is such a file, or its name is no name of a module.
        OSError: If the file cannot be written.
    """
    name = path.stem
    if path.suffix != ".py" or not (name.isidentifier() and name.isascii()) or keyword.iskeyword(name):
        raise TaskError(f"{path}: is no name of a module; use letters a to z, digits and _, and end it in .py")
    if name in sys.stdlib_module_names:
        raise TaskError(f"{path}: Python has a module called {name!r}; choose another name")
    text = Path(__file__).with_name("starter.py").read_text(encoding="utf-8")
    kind = "".join(part[:1].upper() + part[1:] for part in name.split("_"))
    for old, new in (("FILE", str(path)), ("NAME", name), ("StarterTask", f"{kind}Task")):
        text = re.sub(rf"\b{old}\b", new.replace("\\", r"\\"), text)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise TaskError(f"{path}: there is such a file; choose another name") from None
    return name


def task_of(base_tokens: Sequence[str]) -> SymbolTask:
    """The task with these base tokens, of the package or of `load_task`'s files; TaskError if there is none."""
    tokens = tuple(base_tokens)
    for task in chain(TASKS.values(), _loaded.values()):
        if task.base_tokens == tokens:
            return task
    raise TaskError(f"base tokens {' '.join(tokens)}: no task has these; name the file that defines it")


def task_of_tokenizer(settings: Mapping[str, Any], trained_for: Any = None) -> SymbolTask:
    """The task of a tokenizer, from its arguments as `tokenizer_config.json` has them; TaskError if there is none.

    A recipe that names a file as its task, in `trained_for`, means no task of the package with the same base tokens.
    """
    is_rule = settings.get("symbol_pattern") is not None
    task = PairsTask.of_tokenizer(settings) if is_rule else task_of(settings["base_tokens"])
    if task in TASKS.values() and isinstance(trained_for, str) and _FILE.fullmatch(trained_for):
        rule = f"its recipe is for the task of {trained_for}, and task {task.name} has the same base tokens"
        raise TaskError(f"{rule}; say with --task, or symbol_task= of a pipeline, which of them it is")
    return task


def _imported(path: Path, name: str) -> ModuleType:
    """The module of a file, imported as a worker process will import it: by its stem, from its folder."""
    if not path.stem.isidentifier():
        raise TaskError(f"task={name!r}: the file's name is no name of a module; use letters a to z, digits and _")
    folder = str(path.parent)
    if folder not in sys.path:
        sys.path.append(folder)
    try:
        if imports_transformers(path):
            register_auto_classes()
            register_pipelines()
        module = importlib.import_module(path.stem)
    except (Exception, SystemExit) as error:  # whatever a user's file raises
        raise TaskError(
            f"task={name!r}: the file cannot be imported ({_place(error, path)}{type(error).__name__}: {error})"
        ) from error
    if Path(getattr(module, "__file__", None) or "").resolve() != path:
        raise TaskError(
            f"task={name!r}: another module is called {path.stem!r}, {getattr(module, '__file__', 'a built-in one')}; "
            "give the file another name"
        )
    return module


def _place(error: BaseException, path: Path) -> str:
    """The last line of a user's file on the way to an error."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename) == path]
    if isinstance(error, SyntaxError):
        lines = [error.lineno]
    return f"line {lines[-1]}, " if lines else ""


def _list(names: Mapping[str, object]) -> str:
    return ", ".join(names) or "none"
