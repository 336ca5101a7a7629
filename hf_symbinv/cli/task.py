"""`symbinv task`: a file with a task to start from, and the laws of tasks tried on one."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from hf_symbinv.cli import DONE, NOT_VERIFIED
from hf_symbinv.cli.arguments import TIMEOUT, at_least, command_parser, gigabytes, seconds
from hf_symbinv.errors import UserError
from hf_symbinv.solvers.pool import MEMORY
from hf_symbinv.tasks import check_task, load_task, new_task

DESCRIPTION = """\
Start a task of your own, or try the laws of tasks on one.

  new FILE.py    write a small task that works, to change into your own
  check FILE.py  draw questions, solve them, judge answers, and print a line for
                 each law: ok and what was tried, or failed, the law and a
                 counterexample; FILE.py:NAME names one of several tasks, and
                 ltl, ltl-operators, prop, copy and tseitin are the package's

Tries prove no law; a counterexample disproves one. The exceptions of a task are
shown with the line that raised them. With --json check prints one object.

exit codes: 0 the file is written, or all laws hold; 1 a law does not hold; 2 bad
usage or a file that defines no task
"""

EXAMPLE = """\
$ symbinv task new repeats.py
repeats.py: the task repeats; try `symbinv task check repeats.py`
$ symbinv task check repeats.py
ok      tokens         3 base tokens; the tokenizer writes 79 prompts and answers as it reads them
ok      sizes          40 different questions of sizes 1 to 10
ok      symbols        letters, and names such as request and next state
ok      seed           1000 questions twice, and others with another seed
ok      answers        39 of 40 questions have an answer
ok      wrong answers  135 of 176 damaged or foreign answers are refused
ok      renaming       215 pairs keep their verdicts, and 39 questions have answers, under other names
ok      new symbols    at most 0 in an answer, of 0 that it may have
ok      notations      prefix: what is written is read back
ok      junk           43 texts that are no answers, to 10 questions
task repeats: all 10 laws hold
"""


def parser() -> argparse.ArgumentParser:
    """The options of `symbinv task`."""
    command = command_parser("task", DESCRIPTION, EXAMPLE)
    command.add_argument("action", choices=("new", "check"), help="what to do, as described above")
    command.add_argument("file", metavar="FILE.py", help="the task")
    add, number = command.add_argument_group("check").add_argument, at_least(1)
    add("--num-symbols", type=at_least(2), metavar="N", help="symbols to draw with (default: 4)")
    add("--min-size", type=number, metavar="N", help="smallest question (default: 1)")
    add("--max-size", type=number, metavar="N", help="largest question (default: 10)")
    add("--questions", type=number, metavar="N", help="questions to try, at most (default: 40)")
    add("--seed", type=at_least(0), metavar="N", help="of questions and wrong answers (default: 0)")
    add("--timeout", type=seconds, metavar="SECONDS", help=f"limit for one question (default: {TIMEOUT:g})")
    add("--memory", type=gigabytes, metavar="GB", help=f"memory that one question may take (default: {MEMORY:g})")
    add("--json", action="store_true", default=None, help="print one JSON object")
    return command


def main(arguments: Sequence[str]) -> int:
    """Run the command; its exit code."""
    command = parser()
    given = {name: value for name, value in vars(command.parse_args(arguments)).items() if value is not None}
    action, file = given.pop("action"), given.pop("file")
    if action == "new":
        if given:
            command.error(f"--{next(iter(given)).replace('_', '-')}: only with check")
        return _new(Path(file))
    return _check(file, given)


def _new(path: Path) -> int:
    """Write a task to start from."""
    name = new_task(path)
    print(f"{path}: the task {name}; try `symbinv task check {path}`")
    return DONE


def _check(file: str, options: dict[str, object]) -> int:
    """Try all laws and print what became of them."""
    as_json = options.pop("json", False)
    task = load_task(file)
    try:
        laws = check_task(task, **options)  # type: ignore[arg-type]
    except ValueError as error:
        raise UserError(str(error)) from error
    failed = sum(not law.ok for law in laws)
    if as_json:
        print(json.dumps({"task": task.name, "ok": not failed, "laws": [asdict(law) for law in laws]}))
    else:
        width = max(len(law.name) for law in laws)
        first: dict[str, str] = {}  # law of each counterexample, or of each exception that breaks several laws
        for law in laws:
            found = law.message if law.ok else f"{law.statement}; but {law.message}"
            if not law.ok and (told := first.setdefault(law.message, law.name)) != law.name:
                found = f"{law.statement}; but see {told}"
            print(f"{'ok' if law.ok else 'failed':6}  {law.name.ljust(width)}  {found}")
        outcome = f"{failed} of {len(laws)} laws do not hold" if failed else f"all {len(laws)} laws hold"
        print(f"task {task.name}: {outcome}")
    return NOT_VERIFIED if failed else DONE
