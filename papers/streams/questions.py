"""The questions alone, without a model: how many have few symbols, and how long Spot takes to find their traces.

Sources: Names Don't Matter: Symbol-Invariant Transformer, appendix F; Interchangeable Token Embeddings, section 5.2.3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from papers.harness.experiments import Experiment, Family, Findings, Job, Result, Setting
from papers.harness.measures import Measure, Named

FAMILY = Family("streams-questions", Path(__file__).parent / "questions.yaml")
MOST_SYMBOLS, DATA_SYMBOLS = 10, 5
LENGTHS = (5, 10, 15, 20, 25, 30, 35, 40, 45, 50)
# Batches that are drawn for a cell, at most, and formulas of a batch: few of 10 nodes have 5 symbols.
BATCHES, BATCH = 30, 1_000

ROWS_WITH = tuple(Named(f"{count} symbols" if count != 1 else "1 symbol") for count in range(DATA_SYMBOLS + 1))
MILLISECONDS = {length: Named(f"{length} nodes") for length in LENGTHS}
STOPPED = Named("stopped")


def measure_symbols(job: Job) -> dict[Measure, Result]:
    """Training rows by their number of symbols, before or after the supplement."""
    from hf_symbinv.datasets_scripts.loading import load_data
    from hf_symbinv.datasets_scripts.questions.transforms import supplemented
    from hf_symbinv.tasks import LTL

    data = load_data("ltl", job.sizes["data"])
    if job.values["data"] == "supplemented":
        data = supplemented(data, load_data("ltl", job.sizes["wide"]), LTL)
    counts = Counter(map(len, data["train"]["symbols"]))
    return {measure: {"values": [counts[number]]} for number, measure in enumerate(ROWS_WITH)}


def measure_times(job: Job) -> dict[Measure, Result]:
    """Milliseconds that Spot takes to find a trace of a formula, by the formula's length.

    One that takes longer than the limit counts with the limit.
    """
    from hf_symbinv.solvers import ProcessPool
    from hf_symbinv.tasks import LTL

    limit, found, stopped = job.sizes["timeout"], dict[Measure, Result](), 0
    with ProcessPool(LTL.solve, workers=1, timeout=limit, initializer=LTL.prepare) as pool:
        pool.warm_up()
        for length in job.sizes["lengths"]:
            formulas = list(drawn(job.values["symbols"], length, job.sizes["formulas"], job.seed))
            outcomes = list(pool.map(formulas))
            stopped += sum(outcome.status != "done" for outcome in outcomes)
            if outcomes:
                found[MILLISECONDS[length]] = {"values": [1000 * min(one.seconds, limit) for one in outcomes]}
    found[STOPPED] = {"values": [stopped]}
    return found


def drawn(symbols: int, length: int, count: int, seed: int) -> Iterator[str]:
    """Different random formulas of exactly this length with exactly so many symbols; fewer where there are few."""
    from hf_symbinv.solvers import ProcessPool
    from hf_symbinv.tasks import LTL, symbol_names

    if length < 2 * symbols - 1:  # each symbol but one needs an operator that joins it to the others
        return
    seen, names = set[str](), symbol_names(symbols)
    with ProcessPool(draw, workers=1, timeout=60.0, initializer=LTL.prepare, isolate=1) as pool:
        orders = ((names, length, seed * BATCHES + batch) for batch in range(BATCHES))
        for outcome in pool.map(orders, window=1):
            for formula in outcome.value if outcome.status == "done" else ():
                if len(seen) < count and formula not in seen and len(LTL.symbols(formula)) == symbols:
                    seen.add(formula)
                    yield formula
            if len(seen) == count:
                return


def draw(order: tuple[Sequence[str], int, int]) -> list[str]:
    """A batch, in a process of its own, as the task asks for it."""
    from hf_symbinv.tasks import LTL

    names, length, seed = order
    return LTL.draw(names, length, length, seed, BATCH)


def draw_symbols(found: Sequence[tuple[Setting, Findings]], folder: Path) -> None:
    """Bars of training rows by symbols, before and after, in log scale: `sit-symbols.png` and `.svg`."""
    from matplotlib.figure import Figure

    from hf_symbinv.plotting.figures import LINES
    from papers.harness.pictures import finish

    figure = Figure(figsize=(5.6, 3.4), layout="constrained")
    axes = figure.subplots()
    first = {row.labels[0]: content for row, content in reversed(found)}  # of each row the first seed
    names = list(dict.fromkeys(row.labels[0] for row, _ in found))
    for place, name in enumerate(names):
        counts = [first[name][measure.heading]["values"][0] for measure in ROWS_WITH]
        places = [number + (place - 0.5) * 0.4 for number in range(len(counts))]
        axes.bar(places, counts, 0.4, label=name, color=LINES[place][0], hatch=("", "//")[place], edgecolor="white")
    axes.set_yscale("log")
    axes.set_xlabel("symbols of a formula", fontsize=9)
    axes.set_ylabel("training rows", fontsize=9)
    finish(figure, axes, folder, "sit-symbols")


def draw_times(found: Sequence[tuple[Setting, Findings]], folder: Path) -> None:
    """Mean times relative to the shortest, by symbols and length, in log scale: `ite-times.png` and `.svg`."""
    from matplotlib.figure import Figure

    from hf_symbinv.plotting.figures import LINES
    from papers.harness.pictures import finish

    means = {
        (length, row.values["symbols"]): sum(values) / len(values)
        for row, content in reversed(found)
        for length, measure in MILLISECONDS.items()
        if (values := content.get(measure.heading, {}).get("values"))
    }
    figure = Figure(figsize=(5.6, 3.8), layout="constrained")
    axes = figure.subplots()
    for place, length in enumerate(sorted({length for length, _ in means})):
        points = sorted(
            (symbols, mean / min(means.values())) for (own, symbols), mean in means.items() if own == length
        )
        color, dashes, marker = LINES[place % len(LINES)]
        axes.plot(*zip(*points, strict=True), color=color, linestyle=dashes, marker=marker, markersize=4, linewidth=1.4,
                  label=f"{length} nodes")  # fmt: skip
    axes.set_yscale("log")
    axes.set_xlabel("symbols of a formula", fontsize=9)
    axes.set_ylabel("mean time, the shortest is 1", fontsize=9)
    finish(figure, axes, folder, "ite-times")


EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        name="sit-symbols",
        family=FAMILY,
        measures=ROWS_WITH,
        rows=(
            Setting(("before",), {"data": "drawn"}, {ROWS_WITH[0]: 1, ROWS_WITH[1]: 11_635}),
            Setting(("after",), {"data": "supplemented"}, {ROWS_WITH[0]: 203, ROWS_WITH[1]: 22_474}),
        ),
        measure=measure_symbols,
        trains=False,
        draw=draw_symbols,
    ),
    Experiment(
        name="ite-times",
        family=FAMILY,
        measures=(*MILLISECONDS.values(), STOPPED),
        rows=tuple(Setting((str(count),), {"symbols": count}) for count in range(1, MOST_SYMBOLS + 1)),
        measure=measure_times,
        trains=False,
        draw=draw_times,
    ),
)
