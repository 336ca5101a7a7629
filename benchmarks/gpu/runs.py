"""Trainings of the papers' length, a piece at a time: what was reached is kept, and goes on bit for bit."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from law import answered
from packed import Plan
from setting import Job, Setting, machine
from steps import fastest
from store import Store
from ways import Training, Way, wait

from hf_symbinv import SymbolInvariantForConditionalGeneration

# Parts of the curve of losses.
POINTS = 100
SPLITS = ("valid", "grid")
QUESTIONS = 512


@dataclass(frozen=True)
class Run:
    """One training.

    Attributes:
        name: Of its result and files.
        task: Whose data it learns, and whose paper's sizes its model has.
        fields: Of the model that are not the paper's.
    """

    name: str
    task: str
    fields: dict[str, Any] = field(default_factory=dict)


# The second has the loss of the models that come with the package, which learn faster than those with AdaCos.
PLAIN = {"loss": "cross_entropy", "normalize_embeddings": False, "normalize_features": False}
RUNS = [Run("ltl", "ltl"), Run("streams-base", "ltl", PLAIN), Run("prop", "prop")]


def prepared(setting: Setting, run: Run, way: Way) -> tuple[Training, Plan]:
    """The training at its beginning, and its plan."""
    rows, plan = setting.training_rows(run.task)
    config, steps = setting.config(run.task, **run.fields), setting.sizes.steps[run.task]
    return Training(config, rows.to(setting.device), plan.shapes, plan.batch, steps, way), plan


def files(run: Run) -> tuple[str, str, str]:
    """The files of a training: weights and losses, and the optimizer's moments, which are needed until it ends."""
    return run.name, f"{run.name}-first", f"{run.name}-second"


def tensors_of(training: Training, run: Run) -> dict[str, dict[str, torch.Tensor]]:
    """The state by file; the steps of the optimizer are known."""
    parts: dict[str, dict[str, torch.Tensor]] = {file: {} for file in files(run)}
    home = dict(zip(("weights", "losses", "first", "second"), (run.name, *files(run)), strict=True))
    for name, value in training.state().items():
        kind = name.partition(".")[0]
        if kind != "count":
            parts[home[kind]][name] = value
    return parts


def resume(store: Store, training: Training, run: Run, step: int) -> None:
    """Puts a state that was written into a training."""
    state = {name: value for file in files(run) for name, value in store.read(file).items()}
    counts = {name: torch.tensor(float(step)) for name in training.state() if name.startswith("count.")}
    training.restore({**state, **counts})


def go_on(setting: Setting, run: Run) -> bool:
    """Trains until the training ends, or the time; whether it has ended."""
    name = f"run-{run.name}"
    before = setting.store.results.get(name, {}).get("values")
    if before and before["finished"]:
        setting.store.drop(*files(run)[1:])
        return True
    way = Way.named(before["way"]) if before else fastest(setting)
    training, plan = prepared(setting, run, way)
    step, seconds, steps = before["step"] if before else 0, before["seconds"] if before else 0.0, len(training.losses)
    if before:
        resume(setting.store, training, run, step)
    start = written = time.monotonic()
    while step < steps and setting.left > 0:
        for _ in range(min(setting.sizes.together, steps - step)):
            training.step(step, *plan.at(step))
            step += 1
        wait(setting.device)
        now = time.monotonic()
        if step == steps or setting.left <= 0 or now - written >= setting.sizes.save_every:
            written = now
            losses = training.losses[:step].cpu()
            values = {
                "step": step, "steps": steps, "finished": step == steps, "way": way.name,
                "seconds": seconds + now - start, "batch": plan.batch,
                "tokens_a_row": {"needed": plan.needed, "padded": plan.padded}, "shapes": plan.shapes.tolist(),
                "curve": [float(part.mean()) for part in losses.split(max(steps // POINTS, 1))],
            }  # fmt: skip
            setting.store.write(name, {"values": values, "machine": machine(setting)}, tensors_of(training, run))
    if step == steps:
        setting.store.drop(*files(run)[1:])
    return step == steps


def without_its_way(setting: Setting, run: Run, error: Exception) -> bool:
    """Takes the fastest way out of the choice if a training could not begin in it; whether there is another."""
    way = fastest(setting)
    if f"run-{run.name}" in setting.store.results or way == Way() or setting.device == "cpu":
        return False
    failed = {"values": {}, "error": f"training {run.name}: {error}"[:2000], "machine": machine(setting)}
    setting.store.write(f"step-{way.name}", failed)
    return True


def answers(run: Run) -> Iterator[Job]:
    """The answers of a trained model, for `report.py` to have them checked where solvers are."""
    yield Job(f"answers-{run.name}", partial(answers_of, run=run), 60)


def trained(setting: Setting, run: Run) -> SymbolInvariantForConditionalGeneration:
    """The model of a training as far as it came, on the CPU."""
    model = SymbolInvariantForConditionalGeneration(setting.config(run.task, **run.fields))
    state = {name.removeprefix("weights."): value for name, value in setting.store.read(run.name).items()}
    del state["losses"]
    model.load_state_dict(state)
    return model.eval()


def answers_of(setting: Setting, run: Run) -> dict[str, Any]:
    """Beam-3 answers to each split, `(Q, T)` uint8 in a file beside the results."""
    model, found = trained(setting, run).to(setting.device), {}
    for split in SPLITS:
        parts = setting.pack(run.task).rows(split).questions.long().split(QUESTIONS)
        tokens = setting.sizes.tokens[split]
        answers = [answered(model, part.to(setting.device), 3, tokens) for part in parts]
        found[split] = torch.cat(answers).to(torch.uint8)
    return {"questions": {split: len(rows) for split, rows in found.items()}, "tensors": found}


def same_bits(setting: Setting) -> dict[str, Any]:
    """Whether a training that was stopped and resumed is the one that was not, bit for bit, in the fastest way."""
    way, run, steps, states = fastest(setting), RUNS[0], 6, []
    for stop in (None, steps // 2):
        training, plan = prepared(setting, run, way)
        for step in range(steps):
            if step == stop:
                with TemporaryDirectory() as folder:
                    store = Store(Path(folder))
                    store.write("run", {}, tensors_of(training, run))
                    training, plan = prepared(setting, run, way)
                    resume(store, training, run, step)
            training.step(step, *plan.at(step))
        states.append({name: value.cpu().clone() for name, value in training.state().items()})
    different = [name for name, value in states[0].items() if not torch.equal(value, states[1][name])]
    return {"way": way.name, "steps": steps, "compared": len(states[0]), "different": different}
