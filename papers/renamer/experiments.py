"""Experiments of Renamer: A Transformer Architecture Invariant to Variable Renaming.

Cycles of basic blocks, with registers as they are and renamed; the predictions for all renamings of one block; and
whether one expression is the derivative of another, with coefficients that training had and with one more.

Blocks are the user's own: the variable HF_SYMBINV_BLOCKS names them.

Source: Ankner, Renda, Carbin, Renamer: tables 1 and 2, figure 2, appendices D and E.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from papers.harness.experiments import Experiment, Family, Job, Result, Setting
from papers.harness.measures import Measure, Named
from papers.renamer.plots import EPOCHS, ERRORS, PREDICTIONS, draw_efficiency, draw_predictions

FAMILY = Family("renamer", Path(__file__).parent / "scales.yaml")

MODELS = {
    "vanilla": "vanilla",
    "augmented": "augmented",
    "canonicalised": "canonicalised",
    "renamer": "Renamer",
    "streams": "streams with views (ours)",
}
PLAIN, RENAMED, CHANGED = Named("MAPE"), Named("MAPE, renamed"), Named("changed, %")
REACHED, EARLIER = Named("epochs to vanilla's best"), Named("earlier, %")
LOWEST, MEAN, HIGHEST = Named("lowest"), Named("mean"), Named("highest")
WRONG, WRONG_EXTENDED, WRONG_ALL_FOUR = Named("error"), Named("error, a3"), Named("error, a0 to a3")
SPLITTINGS = {"random": "random", "disjoint": "disjoint up to renaming"}
# Renamer, figure 1(a).
FIGURE_1 = "movq 64(%rsp), %rax;subl $1, 56(%rbp);movl 16(%rax), %eax"

# Size → kind → MAPE on the blocks as they are and renamed.
_BLOCKS = {
    "tiny": {"vanilla": (3.30, 5.26), "augmented": (3.34, 3.44), "canonicalised": (3.03, 3.03),
             "renamer": (2.39, 2.39)},
    "mini": {"vanilla": (1.13, 2.76), "augmented": (2.25, 2.55), "canonicalised": (0.96, 0.96),
             "renamer": (0.85, 0.85)},
    "small": {"vanilla": (1.25, 2.89), "augmented": (2.36, 2.36), "canonicalised": (0.76, 0.76),
              "renamer": (0.59, 0.59)},
}  # fmt: skip
# Section 5.2: how much earlier Renamer has the best error of the vanilla model.
_EARLIER = {"tiny": 42.77, "mini": 24.75, "small": 59.06}
_RANGE = {"vanilla": (1.11, 4.86), "augmented": (1.12, 1.12), "renamer": (1.72, 1.72)}
_ALGEBRA = {"vanilla": (0.79, 4.68), "canonicalised": (0.71, 4.98), "renamer": (0.80, 2.38)}


def measure_blocks(job: Job) -> dict[Measure, Result]:
    """Errors on the test blocks as they are and renamed, and when the error of vanilla's best step was reached."""
    import torch

    from papers.renamer import models as models

    job, suffix = models.sized(job)
    kind, splitting = job.values["model"], job.values.get("split", "random")
    (language, data), name = models.block_data(job, splitting), f"blocks-{splitting}{suffix}"
    models.trained(job, language, "vanilla", data, name)  # the others are compared with it
    model = models.trained(job, language, kind, data, name)
    blocks, true = data["test"]["input_ids"], torch.tensor(data["test"]["labels"])
    renamed = language.renamed_copies(blocks)
    plain, other = (
        models.outputs_of(model, language, kind, ids, job.sizes["batch"])[:, 0] for ids in (blocks, renamed)
    )
    found: dict[Measure, Result] = {
        measure: {"values": [round(error, 4) for error in models.percentage_errors(predicted, true).tolist()]}
        for measure, predicted in ((PLAIN, plain), (RENAMED, other))
    }
    found[CHANGED] = {"correct": int((plain != other).sum()), "count": len(true)}
    at, best = min(models.validation_curve(job, "vanilla", name), key=lambda entry: entry[1])
    curve = models.validation_curve(job, kind, name)
    epoch = len(data["train"]) / job.sizes["trainer"]["per_device_train_batch_size"]
    found[EPOCHS] = {"values": [step / epoch for step, _ in curve]}
    found[ERRORS] = {"values": [loss for _, loss in curve]}
    reached = [step for step, loss in curve if loss <= best]
    if reached:
        found[REACHED] = {"values": [reached[0] / epoch]}
        found[EARLIER] = {"values": [100 * (1 - reached[0] / at)]}
    return found


def measure_range(job: Job) -> dict[Measure, Result]:
    """The lowest, mean and highest prediction over all renamings of the block of Figure 1."""
    from papers.renamer.models import block_data, outputs_of, trained

    kind = job.values["model"]
    language, data = block_data(job, "random")
    model = trained(job, language, kind, data, "blocks-random")
    renamings = language.all_renamings(language.read(FIGURE_1))
    # In one batch: rows of batches of different shapes may be rounded differently.
    predictions = outputs_of(model, language, kind, renamings, len(renamings))[:, 0].tolist()
    return {
        LOWEST: {"values": [min(predictions)]},
        MEAN: {"values": [sum(predictions) / len(predictions)]},
        HIGHEST: {"values": [max(predictions)]},
        PREDICTIONS: {"values": predictions},
    }


def measure_derivatives(job: Job) -> dict[Measure, Result]:
    """Wrong answers on the test pairs, on those with a coefficient that training lacks, and on those with all four."""
    import torch

    from papers.renamer.models import derivative_data, outputs_of, trained

    kind, (language, data) = job.values["model"], derivative_data(job)
    model = trained(job, language, kind, data, "derivatives")
    found: dict[Measure, Result] = {}
    for split, measure in (("test", WRONG), ("extended", WRONG_EXTENDED)):
        rows = data[split]
        answers = outputs_of(model, language, kind, rows["input_ids"], job.sizes["batch"]).argmax(1)
        wrong = answers != torch.tensor(rows["labels"])
        found[measure] = {"correct": int(wrong.sum()), "count": len(wrong)}
        all_four = torch.tensor(rows["coefficients"]) == 4
        if all_four.any():
            found[WRONG_ALL_FOUR] = {"correct": int(wrong[all_four].sum()), "count": int(all_four.sum())}
    return found


def _paper(numbers: dict[str, tuple[float, float]], kind: str, measures: Sequence[Measure]) -> dict[Measure, float]:
    return dict(zip(measures, numbers.get(kind, ()), strict=False))


def _of_blocks(size: str, kind: str) -> dict[Measure, float]:
    numbers = _paper(_BLOCKS[size], kind, (PLAIN, RENAMED))
    if kind == "renamer":
        numbers[EARLIER] = _EARLIER[size]
    return numbers


_BLOCK_MEASURES = (PLAIN, RENAMED, CHANGED, REACHED, EARLIER)

EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        name="renamer-blocks",
        family=FAMILY,
        measures=_BLOCK_MEASURES,
        rows=tuple(
            Setting(
                (label, MODELS[kind]),
                {"split": splitting, "model": kind},
                _of_blocks("tiny", kind) if splitting == "random" else {},
            )
            for splitting, label in SPLITTINGS.items()
            for kind in MODELS
        ),
        measure=measure_blocks,
        compared=(PLAIN, RENAMED),
        draw=draw_efficiency("renamer-blocks"),
    ),
    Experiment(
        name="renamer-sizes",
        family=FAMILY,
        measures=_BLOCK_MEASURES,
        rows=tuple(
            Setting((size.capitalize(), MODELS[kind]), {"size": size, "model": kind}, _of_blocks(size, kind))
            for size in ("mini", "small")
            for kind in MODELS
        ),
        measure=measure_blocks,
        compared=(PLAIN, RENAMED),
        draw=draw_efficiency("renamer-sizes"),
    ),
    Experiment(
        name="renamer-figure2",
        family=FAMILY,
        measures=(LOWEST, MEAN, HIGHEST),
        rows=tuple(
            Setting((label,), {"model": kind}, _paper(_RANGE, kind, (LOWEST, HIGHEST)))
            for kind, label in MODELS.items()
        ),
        measure=measure_range,
        draw=draw_predictions,
    ),
    Experiment(
        name="renamer-derivatives",
        family=FAMILY,
        measures=(WRONG, WRONG_EXTENDED, WRONG_ALL_FOUR),
        rows=tuple(
            Setting((label,), {"model": kind}, _paper(_ALGEBRA, kind, (WRONG, WRONG_EXTENDED)))
            for kind, label in MODELS.items()
            if kind != "augmented"
        ),
        measure=measure_derivatives,
        compared=(WRONG, WRONG_EXTENDED),
    ),
)
