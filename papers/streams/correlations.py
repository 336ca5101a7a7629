"""What goes with the edit distance of models with random embeddings: the correlations of ITE Appendix E.3.

    python -m papers.streams.correlations papers/results/ite-copy-cpu.json

reads what `python -m papers ite-copy --json` made, and prints a table with the paper's numbers beside ours. A model is
a point; its method and its features are 0 or 1, as in the paper.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hf_symbinv.datasets_scripts.errors import refuse
from hf_symbinv.errors import UserError
from hf_symbinv.files import read_object
from papers.streams.tables import DISTANCE

# ITE Appendix E.3, over 277 models.
QUOTED = {
    "normal": 0.02, "neighbors": -0.14, "hypercube": 0.11, "width": 0.01, "f_bn": 0.10, "f_fn": -0.29, "AC": -0.41
}  # fmt: skip
FEATURES = ("f_bn", "f_fn", "AC")
LABEL = "random embedding, "
# Our choice: an interval of fewer points says nothing.
FEWEST = 4


def points(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, float]]:
    """The models with random embeddings that copy short strings, among the rows of `ite-copy`.

    Returns:
        Of each model its `distance` in tokens, and the properties that `QUOTED` names.
    """
    found = []
    for row in rows:
        strings, enabled, model = row["labels"]
        number = row["numbers"].get(DISTANCE.heading)
        if strings != "copying" or not model.startswith(LABEL) or not number:
            continue
        method, width = model.removeprefix(LABEL).split(", ")
        methods = {name: float(name == method) for name in ("normal", "neighbors", "hypercube")}
        features = {name: float(name in enabled.split(" + ")) for name in FEATURES}
        found.append({"distance": number["value"], "width": float(width), **methods, **features})
    return found


def correlations(models: Sequence[Mapping[str, float]]) -> dict[str, tuple[float, float, float, float] | None]:
    """Pearson's correlation of each property with the edit distance, its 95 % interval (Fisher), and the p-value.

    It is None of a property that all models share. Methods and widths have one only if methods have several widths, or
    one could not be told from the other.

    Raises:
        UserError: If there are fewer than four models.
    """
    from scipy import stats

    if len(models) < FEWEST:
        raise UserError(
            f"{len(models)} models with random embeddings: needs at least {FEWEST}; make more rows of ite-copy"
        )
    mixed = len({(model["normal"], model["neighbors"], model["width"]) for model in models}) > 3
    distances = [model["distance"] for model in models]
    found: dict[str, tuple[float, float, float, float] | None] = {}
    for name in QUOTED:
        values = [model[name] for model in models]
        if len(set(values)) == 1 or not (mixed or name in FEATURES):
            found[name] = None
            continue
        result = stats.pearsonr(values, distances)
        low, high = result.confidence_interval()
        found[name] = (float(result.statistic), float(low), float(high), float(result.pvalue))
    return found


def markdown(models: Sequence[Mapping[str, float]]) -> str:
    """The table."""
    lines = [f"| property | ours (n {len(models)}) | p | paper (n 277) |", "|---|---|---|---|"]
    for name, result in correlations(models).items():
        ours = (
            "not told apart | "
            if result is None
            else f"{result[0]:.2f} ({result[1]:.2f} - {result[2]:.2f}) | {result[3]:.2g}"
        )
        lines.append(f"| {name} | {ours} | {QUOTED[name]:.2f} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; its exit code."""
    command = argparse.ArgumentParser(
        "python -m papers.streams.correlations", description="Correlate properties of random embeddings with errors."
    )
    command.add_argument("table", type=Path, metavar="FILE", help="ite-copy as JSON")
    options = command.parse_args(arguments)
    try:
        content = read_object(options.table, "give what `python -m papers ite-copy --json` printed")
        if content.get("table") != "ite-copy":
            raise UserError(f"{options.table}: is no table ite-copy; make one by `python -m papers ite-copy --json`")
        print(markdown(points(content["rows"])))
    except Exception as error:
        return refuse(error)
    return 0


if __name__ == "__main__":
    sys.exit(main())
