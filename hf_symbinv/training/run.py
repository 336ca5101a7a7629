"""A training run in a folder: go on where it was, stop in time, and write down how it was made.

recipe.json     what was asked for, and on which data
checkpoint-*/   to go on from, as transformers' Trainer writes them, with the seconds of the run up to there and the
                checksums of the files
run.json        the record of a run that is finished
sha256.json     the checksums of its weights

A folder without a checkpoint holds nothing yet, so a start that failed refuses no other one.
"""

from __future__ import annotations

import gc
import json
import math
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from accelerate import PartialState
from accelerate.utils import broadcast_object_list
from filelock import FileLock, Timeout
from transformers import Trainer, TrainerCallback, TrainerState, TrainingArguments

from hf_symbinv.errors import InUseError, UserError
from hf_symbinv.files import SUMS, damage_of, path_here, read_object, write_atomically, write_sums
from hf_symbinv.training.cards import command, environment, hyperparameters
from hf_symbinv.values import is_kind

RECORD, ASKED = "run.json", "recipe.json"
# Held by the process that trains.
LOCK = ".lock"
# In each checkpoint: what the trainer writes last, and the wall-clock seconds of the run up to it.
STATE, SECONDS = "trainer_state.json", "seconds.json"
WEIGHTS = "*.safetensors"
# What a run may go on with in the same folder, if it is more than before.
LENGTHS = ("trainer.max_steps", "trainer.num_train_epochs")


class OtherRunError(UserError):
    """A folder holds a run that was asked for in another way, or on other data."""


class BusyRunError(OtherRunError, InUseError):
    """A folder in which another process trains."""


@contextmanager
def interruptible(folder: Path) -> Iterator[None]:
    """Gives a KeyboardInterrupt a sentence that says where the run in this folder goes on."""
    try:
        yield
    except KeyboardInterrupt:
        found = {step: path for step, path in _checkpoints(folder).items() if (path / SUMS).exists()}
        states = {step: _read(path / STATE) for step, path in found.items()}
        step = max((step for step, state in states.items() if state and _is_state_of(state, step)), default=0)
        on = f"interrupted; the same command goes on from step {step:,}"
        none = "interrupted before the first checkpoint; the same command starts over"
        raise KeyboardInterrupt(on if step else none) from None


class Run:
    """One run and its folder.

    Args:
        args: Of the trainer; its `output_dir` is the folder.
        recipe: What is asked for, in sections, of which `trainer` has the arguments; access tokens are left out.
        data: What is trained on, as `hf_symbinv.training.data_record` measures it; None if that is not known.
        max_seconds: Stop after the step that reaches this time, with a checkpoint to go on from; None for no limit.

    Attributes:
        folder: Of the run.
        recipe, data: As given, as JSON has it.
        checkpoint: The last one that is complete; None before there is any.
        clock: Counts the seconds of the run.

    Raises:
        OtherRunError: If the folder holds a run of another recipe or on other data. A run may be made longer: a larger
            `trainer.max_steps` or `trainer.num_train_epochs` is no other recipe.
    """

    def __init__(
        self,
        args: TrainingArguments,
        recipe: Mapping[str, Any],
        data: Mapping[str, Any] | None = None,
        *,
        max_seconds: float | None = None,
    ):
        started = time.monotonic()
        self.args, self.folder = args, path_here(str(args.output_dir))
        self.recipe: dict[str, Any] = json.loads(json.dumps(recipe, default=str))
        arguments = self.recipe.get("trainer", {})
        self.recipe["trainer"] = {name: value for name, value in arguments.items() if not name.endswith("token")}
        self.data: dict[str, Any] | None = json.loads(json.dumps(data))
        self.checkpoint = None if self.record is not None else last_checkpoint(self.folder)
        self._state = None if self.checkpoint is None else TrainerState.load_from_json(str(self.checkpoint / STATE))
        self._refuse_other()
        self.clock = Clock(started, seconds_of(self.checkpoint), max_seconds, self._best)

    @property
    def record(self) -> dict[str, Any] | None:
        """The content of `run.json`; None if this run, at its length, is not finished, or its weights are not whole."""
        found = _read(self.folder / RECORD)
        if found is None or found.get("recipe") != self.recipe:
            return None
        return found if any(self.folder.glob(WEIGHTS)) and damage_of(self.folder) is None else None

    @property
    def trained(self) -> Path | None:
        """The folder of the weights after training, if all steps are done and at most the record is missing."""
        if self.record is not None:
            return self.folder
        state = self._state
        if state is None or self.checkpoint is None or state.global_step < state.max_steps:
            return None
        longer = (
            self.args.max_steps > state.max_steps
            if self.args.max_steps > 0
            else math.ceil(self.args.num_train_epochs) > state.num_train_epochs
        )
        if longer:
            return None
        return self._best if self.args.load_best_model_at_end and self._best else self.checkpoint

    @property
    def _best(self) -> Path | None:
        """The best checkpoint so far, where the folder lies now; None if that is not known."""
        best = None if self._state is None else self._state.best_model_checkpoint
        return self.folder / Path(best).name if best else None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keeps other processes from training in the folder (BusyRunError); of those of one run, the main one asks."""
        if not PartialState().is_main_process:
            yield
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self.folder / LOCK)
        try:
            lock.acquire(blocking=False)
        except Timeout:
            raise BusyRunError(
                f"{self.folder}: another process is training here; wait until it is done, or choose another folder"
            ) from None
        try:
            with interruptible(self.folder):
                yield
        finally:
            lock.release()
            # A start that failed leaves no folder.
            if [path.name for path in self.folder.iterdir()] in ([], [LOCK]):
                (self.folder / LOCK).unlink(missing_ok=True)
                self.folder.rmdir()

    def train(self, trainer: Trainer) -> dict[str, float] | None:
        """Does the steps that are missing; all processes call it. The trainer's model is loaded from `self.trained`, if
        that is some folder.

        Returns:
            What the trainer measured of its work, empty if no step was missing; None if time was up.
        """
        PartialState().wait_for_everyone()  # until all processes have seen what was in the folder
        if trainer.is_world_process_zero():
            self.folder.mkdir(parents=True, exist_ok=True)
            _write(self.folder / ASKED, {"recipe": self.recipe, "data": self.data})
            (self.folder / SUMS).unlink(missing_ok=True)  # of weights that are about to be replaced
        if self.trained is not None:  # `Trainer.train` would take one more step
            trainer.state = self._state
            return {}
        trainer.add_callback(self.clock)
        if trainer.is_world_process_zero():
            self._clear_way()
            if self.checkpoint is not None:
                print(self._goes_on(), file=sys.stderr, flush=True)
        metrics = trainer.train(
            resume_from_checkpoint=None if self.checkpoint is None else str(self.checkpoint)
        ).metrics
        return None if self.clock.stopped else dict(metrics)

    def finish(self, trainer: Trainer, results: Mapping[str, Any], **more: Any) -> dict[str, Any]:
        """Writes the record, with what else is known, when the model is saved; all processes call it."""
        record = {
            "finished": True,
            "command": command(),
            "recipe": self.recipe,
            "data": self.data,
            "hyperparameters": hyperparameters(self.args),
            "results": dict(results),
            **more,
            "log": trainer.state.log_history,
            "seconds": round(self.clock.seconds(), 1),
            "processes": self.args.world_size,
            "environment": environment(self.args.device),
        }
        if trainer.is_world_process_zero():
            write_sums(self.folder, self.folder.glob(WEIGHTS))
            _write(self.folder / RECORD, record)
        return record

    def _clear_way(self) -> None:
        """Removes what has the name of a later checkpoint: a damaged one, or one that was not written to its end."""
        done = 0 if self._state is None else self._state.global_step
        for step, path in _checkpoints(self.folder).items():
            if step <= done:
                continue
            if (path / STATE).is_file() and not (path / SUMS).exists():  # whole, perhaps, and another program's
                shutil.rmtree(kept := path.with_name(f"unfinished-{path.name}"), ignore_errors=True)
                path.rename(kept)
            elif path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()

    def _goes_on(self) -> str:
        """Where a run goes on, and what becomes of its learning rate if it was shorter."""
        assert self._state is not None
        before = self._state.max_steps
        now = self.args.max_steps if self.args.max_steps > 0 else before
        text = f"{self.folder}: goes on from step {self._state.global_step:,} of {now:,}"
        return text if now == before else f"{text}; from here the learning rate is that of the schedule over all steps"

    def _refuse_other(self) -> None:
        for path in self.folder.glob(WEIGHTS):
            if path.is_dir():
                raise OtherRunError(f"{path}: is a folder, and the weights get this name; move it away")
        finished = (self.folder / RECORD).is_file()
        if self.checkpoint is None and not finished:
            return
        there = _read(self.folder / ASKED)
        if there is None or not (isinstance(there.get("recipe"), dict) and isinstance(there.get("data") or {}, dict)):
            raise OtherRunError(
                f"{self.folder}: holds a run, and its {ASKED} is missing or damaged, so that nothing can go on; choose "
                "another folder or remove this one"
            )
        changed = dict(_differences(there["recipe"], self.recipe))
        longer = {key for key in LENGTHS if key in changed and is_kind([*changed[key]], list[float])}
        longer = {key for key in longer if changed[key][1] > changed[key][0]}
        if changed := {key: values for key, values in changed.items() if key not in longer}:
            shorter = changed.keys() & set(LENGTHS)
            rule = f" A run can be made longer, not shorter: raise {' and '.join(sorted(shorter))}." if shorter else ""
            raise OtherRunError(
                f"{self.folder}: holds another run: {_listed(changed)}. Give the values that are there, choose another "
                f"folder, or remove this one.{rule}"
            )
        if there.get("data") and self.data:
            changed = dict(_differences(there["data"].get("splits"), self.data["splits"], "data.splits"))
            if changed:
                raise OtherRunError(
                    f"{self.folder}: holds a run on other data: {_listed(changed)}. Give the data that it was started "
                    "with, choose another folder, or remove this one."
                )
        if longer and self.checkpoint is None:
            raise OtherRunError(
                f"{self.folder}: holds a finished run without a checkpoint, so it cannot be made longer; choose "
                "another folder, and trainer.save_strategy=steps to keep one"
            )


class Clock(TrainerCallback):
    """Counts the seconds of a run over all its calls, and stops training when those of this call are used up.

    Keeps the best checkpoint of earlier calls, which transformers forgets if the folder was moved.
    """

    def __init__(self, started: float, before: float, limit: float | None, best: Path | None = None):
        self.started, self.before, self.limit, self.best = started, before, limit, best
        self.stopped = False

    def seconds(self) -> float:
        """Of the whole run, up to now."""
        return self.before + time.monotonic() - self.started

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self.best is not None and self.best.is_dir():
            state.best_model_checkpoint = str(self.best)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self.limit is None:
            return
        over = [time.monotonic() - self.started >= self.limit]
        broadcast_object_list(over)  # or one process would wait for the others' next step
        if over[0]:
            self.stopped = control.should_save = control.should_training_stop = True

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        PartialState().wait_for_everyone()  # until each has written its state of random numbers
        if state.is_world_process_zero:
            folder = Path(args.output_dir) / f"checkpoint-{state.global_step}"
            write_atomically(folder / SECONDS, json.dumps(self.seconds()) + "\n")
            write_sums(folder, (path for path in folder.iterdir() if path.is_file() and path.name != SUMS))


def end(trainer: Trainer) -> None:
    """Ends the trackers and the group of processes; nothing may be asked of other processes afterwards.

    `DistributedDataParallel` shares the group. If it lets go of it last, torch joins the group's threads while it holds
    Python's lock, and one of them may wait for that lock for ever. So the wrapped model goes first.
    """
    trainer.model_wrapped = trainer.model
    trainer.accelerator.free_memory()
    gc.collect()
    trainer.accelerator.end_training()


def last_checkpoint(folder: Path) -> Path | None:
    """The last checkpoint in a run's folder that is complete, with its checksums, and as it was written, or None.

    One line on stderr says if a later one is damaged; OtherRunError if all that are complete are.
    """
    damages: list[str] = []
    for step, path in sorted(_checkpoints(folder).items(), reverse=True):
        state = _read(path / STATE)
        if state is None or not _is_state_of(state, step) or not (path / SUMS).exists():
            continue
        damage = damage_of(path)
        if damage is None:
            if damages and PartialState().is_main_process:
                print(f"{damages[0]}; {path.name} is whole and takes its place", file=sys.stderr, flush=True)
            return path
        damages.append(damage)
    if damages:
        raise OtherRunError(
            f"{damages[0]}, and no checkpoint before it is whole; remove {folder} to start again, or choose another "
            "folder"
        )
    return None


def _checkpoints(folder: Path) -> dict[int, Path]:
    """Steps → what a run's folder has under the name of the checkpoint after so many, whatever it is."""
    found = {path.name.removeprefix("checkpoint-"): path for path in folder.glob("checkpoint-*")}
    return {int(number): path for number, path in found.items() if number.isdecimal()}


def _is_state_of(state: Mapping[str, Any], step: int) -> bool:
    """Whether a trainer's state says that this many steps are done, of at least as many."""
    done, all_steps = state.get("global_step"), state.get("max_steps")
    return done == step and isinstance(all_steps, int) and 0 < step <= all_steps


def seconds_of(checkpoint: Path | None) -> float:
    """The seconds that a run took up to a checkpoint; 0 if there is none, or the run ended before it was said."""
    if checkpoint is None or not (checkpoint / SECONDS).is_file():
        return 0.0
    return float(json.loads((checkpoint / SECONDS).read_text()))


def _read(path: Path) -> dict[str, Any] | None:
    """The JSON object in a file; None if there is none, also where a file was not written to its end."""
    try:
        return read_object(path, "")
    except (FileNotFoundError, NotADirectoryError, UserError):
        return None


def _write(path: Path, content: Mapping[str, Any]) -> None:
    write_atomically(path, json.dumps(content, indent=2) + "\n")


_ABSENT = object()


def _differences(old: Any, new: Any, key: str = "") -> Iterator[tuple[str, tuple[Any, Any]]]:
    """Dotted key → (old, new) of each value that differs; a key that one lacks has the value `_ABSENT`."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for name in dict.fromkeys((*old, *new)):
            yield from _differences(old.get(name, _ABSENT), new.get(name, _ABSENT), f"{key}.{name}" if key else name)
    elif old != new:
        yield key, (old, new)


def _listed(changed: Mapping[str, tuple[Any, Any]]) -> str:
    return "; ".join(f"{key} is {_text(old)} there and {_text(new)} now" for key, (old, new) in changed.items())


def _text(value: Any) -> str:
    return "not set" if value is _ABSENT else json.dumps(value)
