"""The tables of the papers on streams: which models they compare, what they measure, and the numbers they report.

SIT is Symbol-Invariant Transformer (2026), ITE Interchangeable Token Embeddings (2025).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

from papers.harness.measures import (
    HEAT_MAP,
    SPENT,
    WHOLE,
    Cost,
    Covariance,
    EditDistance,
    Measure,
    Parameters,
    Share,
    Solved,
    Spread,
)
from papers.harness.tables import TASKS, Row, Table, Training

SIZES = Path(__file__).parent / "scales"

CORRECT, EXACT, NEW, FREE = Share("correct"), Share("exact"), Share("correct", new=True), Share("correct", free=True)
DISTANCE = EditDistance()
MAPPED = (*HEAT_MAP, Spread(), Solved(free=True), *SPENT)
VALIDATION = (Share(split="validation"), Share(split="validation", data="wide"), WHOLE)
VALIDATED = (*VALIDATION, Spread(), Share(split="validation", new=True), Share(split="validation", free=True), *SPENT)
# What SIT Tables 2, 3 and 6 and Figures 5 to 14 have of a set of components.
ABLATED = (*HEAT_MAP, *VALIDATED[:2], Spread(), *VALIDATED[4:6], Solved(free=True), Parameters(), *SPENT)
SHARES = "Shares of correct answers in percent, with Wilson's 95 % intervals"
REGIONS = (
    f"{SHARES}: of the whole heat map; in the box of at most as many symbols and tokens as in training; with more "
    "symbols, of any length; and longer, with no more symbols"
)
DISTANCES = "Mean edit distances in tokens over the whole grid, with the normal 95 % interval of the mean"
BEST = {"prop": ("EP", "DP", "EA", "DA", "CP"), "ltl": ("EP", "DP", "EA", "CP")}
# Training data of all that SIT measures on the heat map (Appendix F).
MAPPED_DATA = {"prop": "normal", "ltl": "supplemented"}


def _robustness(task: str, data: str, label: str, model: str, *numbers: float) -> Row:
    measures = (CORRECT, EXACT, *(Covariance(symbols) for symbols in (3, 4, 5)))
    # The papers have no canonical names.
    return Row((TASKS[task], data, label), Training(task, data, model), dict(zip(measures, numbers, strict=False)))


# SIT Table 1, which holds ITE Tables 2, 7 and 8.
ROBUSTNESS = (
    _robustness("prop", "normal", "baseline", "learned", 95.62, 57.94, 95.70, 93.69, 76.02),
    _robustness("prop", "renamed", "baseline", "learned", 41.57, 9.04, 14.96, 16.85, 10.65),
    _robustness("prop", "renamed", "alpha-renaming", "renamed", 93.85, 57.24, 99.56, 99.60, 93.23),
    _robustness("prop", "renamed", "random embedding", "random", 93.25, 56.45, 99.23, 99.42, 92.98),
    _robustness("prop", "renamed", "canonical names", "canonical"),
    _robustness("prop", "renamed", "streams", "streams", 98.03, 60.96, 100.0, 100.0, 100.0),
    _robustness("prop", "reduced", "baseline", "learned", 63.26, 29.31, 86.21, 75.07, 53.31),
    _robustness("prop", "reduced", "alpha-renaming", "renamed", 57.48, 26.77, 97.89, 97.35, 95.06),
    _robustness("prop", "reduced", "random embedding", "random", 55.23, 26.28, 97.88, 95.79, 90.18),
    _robustness("prop", "reduced", "canonical names", "canonical"),
    _robustness("prop", "reduced", "streams", "streams", 70.43, 35.81, 100.0, 100.0, 100.0),
    _robustness("ltl", "normal", "baseline", "learned", 98.23, 83.23, 96.87, 95.86, 91.80),
    _robustness("ltl", "renamed", "baseline", "learned", 34.13, 12.12, 64.93, 57.99, 40.91),
    _robustness("ltl", "renamed", "alpha-renaming", "renamed", 97.96, 77.66, 99.55, 99.49, 98.86),
    _robustness("ltl", "renamed", "random embedding", "random", 95.94, 76.45, 97.66, 97.76, 98.29),
    _robustness("ltl", "renamed", "canonical names", "canonical"),
    _robustness("ltl", "renamed", "streams", "streams", 98.24, 79.65, 100.0, 100.0, 100.0),
    _robustness("ltl", "reduced", "baseline", "learned", 87.47, 63.61, 94.37, 91.70, 85.64),
    _robustness("ltl", "reduced", "alpha-renaming", "renamed", 89.50, 64.15, 99.02, 98.67, 97.82),
    _robustness("ltl", "reduced", "random embedding", "random", 87.32, 59.04, 97.94, 96.12, 94.34),
    _robustness("ltl", "reduced", "canonical names", "canonical"),
    _robustness("ltl", "reduced", "streams", "streams", 93.46, 68.63, 100.0, 100.0, 100.0),
)


def _robustness_table(name: str, title: str, source: str, rows: tuple[Row, ...]) -> Table:
    measures = (CORRECT, NEW, FREE, EXACT, *(Covariance(symbols) for symbols in (2, 3, 4, 5)), *SPENT)
    unit = (
        "Shares of questions in percent, with Wilson's 95 % intervals; mean alpha-covariances in percent, over the "
        "answers to all or 120 renamings of each question, with normal ones"
    )
    return Table(name, title, source, ("task", "training data", "model"), measures, rows, unit)


# SIT Table 6: components, validation with the symbols of training and with the widest set's, heat map.
ABLATIONS: dict[str, dict[str, tuple[float, float, float]]] = {
    "prop": {
        "EP DP EA DA CP": (97.94, 97.63, 95.05),
        "EP DP EA DA CP CA": (96.75, 96.05, 92.66),
        "EP DP DA CP": (96.84, 96.19, 92.47),
        "DP EA DA CP": (96.29, 95.16, 91.44),
        "EP DP DA CP CA": (95.69, 94.95, 91.10),
        "DP EA DA CP CA": (94.81, 93.48, 89.15),
        "EP DP EA CP": (96.81, 85.77, 84.48),
        "EP DP EA CP CA": (96.70, 85.76, 84.33),
        "EP DP CP CA": (96.00, 83.40, 82.16),
        "EP DP CP": (91.47, 69.97, 72.35),
        "DP EA CP": (88.96, 67.74, 70.33),
        "DP EA CP CA": (88.38, 66.32, 68.99),
        "EA DA CP": (64.52, 52.11, 52.66),
        "EP EA DA CP CA": (59.21, 43.89, 47.82),
        "EA DA CP CA": (60.58, 47.60, 47.14),
        "EP EA DA CP": (56.94, 44.09, 46.55),
        "EP DA CP": (54.50, 44.35, 44.50),
        "EP DP EA DA CA": (39.95, 20.86, 28.51),
        "EP DA CP CA": (36.17, 26.15, 26.91),
    },
    "ltl": {
        "EP DP EA CP": (98.12, 96.53, 90.47),
        "EP DP EA CP CA": (98.23, 96.49, 90.27),
        "EP DP DA CP": (97.96, 96.32, 89.66),
        "EP DP EA DA CP": (98.33, 96.45, 89.47),
        "EP DP CP CA": (97.99, 96.05, 89.26),
        "EP DP EA DA CP CA": (97.96, 96.32, 89.16),
        "EP DP DA CP CA": (98.15, 96.00, 88.95),
        "DP EA DA CP": (97.54, 95.48, 87.53),
        "DP EA DA CP CA": (97.68, 95.39, 87.40),
        "EP DP CP": (94.77, 91.34, 84.13),
        "DP EA CP": (94.90, 90.99, 84.13),
        "DP EA CP CA": (94.78, 90.84, 82.76),
        "EP EA DA CP": (18.64, 22.00, 21.13),
        "EP DP EA DA CA": (25.78, 20.52, 20.93),
        "EA DA CP": (17.44, 19.01, 20.27),
        "EP DA CP CA": (18.81, 20.98, 19.60),
        "EP DA CP": (15.45, 20.01, 17.58),
        "EP EA DA CP CA": (14.20, 16.53, 16.92),
        "EA DA CP CA": (14.34, 15.02, 15.99),
    },
}


def components_of(task: str, components: str) -> Training:
    """The streams model with these components, such as `"EP DP CP"`."""
    listed = tuple(components.split())
    fields = () if listed == BEST[task] else (("components", listed),)
    return Training(task, MAPPED_DATA[task], fields=fields)


def _ablations(task: str, labels: dict[str, str]) -> tuple[Row, ...]:
    """A row for each set of components, those with a label in SIT Tables 2 and 3 first, then the others of Table 6."""
    rest = {components: "" for components in ABLATIONS[task] if components not in labels}
    return tuple(
        Row((label, listed), components_of(task, listed), dict(zip(VALIDATION, ABLATIONS[task][listed], strict=True)))
        for listed, label in (labels | rest).items()
    )


def _conversion(task: str, label: str, training: Training, *numbers: float) -> Row:
    # A vocabulary that ends with the symbols of training is tested on these alone.
    left_out = () if training.model == "streams" else (*VALIDATION[1:], Spread())
    measures = tuple(measure for measure in VALIDATED if measure not in left_out)
    shown = (measure for measure in VALIDATION if measure not in left_out)
    paper: dict[Measure, float] = dict(zip(shown, numbers, strict=True))
    return Row((TASKS[task], label), training, paper, measures)


def _vanilla(task: str) -> Training:
    return Training(task, MAPPED_DATA[task], "learned")


def _converted(task: str, epochs: int) -> Training:
    return replace(components_of(task, "EP DP CP"), start=_vanilla(task), epochs=epochs)


def _features(*disabled: str) -> tuple[tuple[str, Any], ...]:
    """Configuration fields with f_bn, f_fn and AdaCos (AC) but for those that are disabled."""
    f_fn = "f_fn" not in disabled
    return (
        ("normalize_parts", "f_bn" not in disabled),
        ("normalize_embeddings", f_fn),
        ("normalize_features", f_fn),
        ("loss", "adacos" if f_fn and "AC" not in disabled else "cross_entropy"),
    )


# ITE Table 5: enabled features → mean edit distance for each width of the random part.
_WIDTHS = {"normal": (2, 4, 8, 16, 32), "neighbors": (4, 6, 8, 16, 32), "hypercube": (5, 6, 8, 16, 32)}
_FEATURES = {
    "f_bn + f_fn + AC": (),
    "f_fn + AC": ("f_bn",),
    "f_bn + f_fn": ("AC",),
    "f_fn": ("f_bn", "AC"),
    "f_bn": ("f_fn",),
    "none": ("f_bn", "f_fn"),
}
_COPYING = {
    "f_bn + f_fn + AC": (13.6, 5.4, 4.6, 8.1, 8.1, 1.9, 13.0, 2.2, 1.0, 2.1, 2.8, 0.4, 7.5, 8.4, 3.9),
    "f_fn + AC": (7.6, 13.1, 4.6, 2.2, 5.2, 8.7, 11.5, 2.8, 2.9, 2.2, 0.5, 3.7, 3.2, 4.2, 4.1),
    "f_bn + f_fn": (13.7, 10.6, 8.3, 3.8, 11.8, 11.9, 5.7, 3.7, 7.4, 8.3, 2.2, 13.1, 21.5, 19.4, 20.9),
    "f_fn": (15.4, 10.6, 8.2, 3.7, 10.1, 8.1, 12.3, 6.4, 13.4, 9.9, 2.5, 1.7, 12.5, 2.1, 12.8),
    "f_bn": (10.6, 16.6, 11.8, 6.9, 8.2, 5.8, 3.0, 0.6, 7.8, 14.3, 12.8, 13.8, 19.4, 22.9, 11.6),
    "none": (16.5, 11.6, 12.6, 12.5, 9.0, 12.5, 3.7, 9.5, 5.9, 13.5, 12.7, 9.6, 8.6, 15.9, 16.6),
}


# ITE Table 6: enabled features → those that are disabled, and the mean edit distances; it has no streams.
_BASELINES = ("full vocabulary", "alpha-renaming", "streams")
_COPYING_BASELINES = {
    "f_fn + AC": ((), (6.1, 1.9, None)),
    "f_fn": (("AC",), (4.9, 11.3, None)),
    "none": (("f_fn",), (5.5, 12.9, None)),
}


def _random_copying(task: str, enabled: str, method: str, width: int, number: float | None = None) -> Row:
    fields = (("random_method", method), ("random_dim", width), *_features(*_FEATURES[enabled]))
    training = Training(task, model="random", fields=fields)
    return _copying(training, enabled, f"random embedding, {method}, {width}", number)


def _copying(training: Training, enabled: str, model: str, number: float | None = None) -> Row:
    return Row((TASKS[training.task], enabled, model), training, {} if number is None else {DISTANCE: number})


def _copying_rows() -> Iterator[Row]:
    """Models of ITE Tables 5 and 6, with streams beside them."""
    settings = [(method, width) for method, widths in _WIDTHS.items() for width in widths]
    for enabled, numbers in _COPYING.items():
        for (method, width), number in zip(settings, numbers, strict=True):
            yield _random_copying("copy", enabled, method, width, number)
    for enabled, (disabled, papers) in _COPYING_BASELINES.items():
        for label, paper in zip(_BASELINES, papers, strict=True):
            training = replace(open_vocabulary("copy")[label], fields=_features(*disabled))
            yield _copying(training, enabled, label, paper)


def _larger_copying(task: str) -> Iterator[Row]:
    """Copying at other sizes: random embeddings of each method, with all features and with none, and the others."""
    for method, width in (("normal", 8), ("neighbors", 4), ("hypercube", 6)):
        for enabled in ("f_bn + f_fn + AC", "none"):
            yield _random_copying(task, enabled, method, width)
    for label, training in ({"baseline": Training(task, model="learned")} | open_vocabulary(task)).items():
        if training.model != "random":
            yield _copying(replace(training, fields=_features(*_FEATURES["none"])), "none", label)


# ITE Table 3: alpha-covariance with 3 to 10 symbols.
MAPPED_COVARIANCES = tuple(Covariance(symbols, "grid") for symbols in range(3, 11))
_COVARIANCE = {
    ("ltl", "full vocabulary"): (54.09, 45.51, 45.23, 42.07, 33.54, 34.47, 32.36, 28.42),
    ("ltl", "alpha-renaming"): (50.64, 43.00, 40.95, 37.49, 30.80, 30.30, 28.76, 25.57),
    ("ltl", "random embedding"): (54.30, 46.05, 45.64, 41.88, 33.89, 35.29, 33.18, 28.34),
    ("prop", "full vocabulary"): (39.77, 30.08, 30.37, 26.64, 20.97, 22.97, 18.80, 17.20),
    ("prop", "alpha-renaming"): (42.29, 32.36, 33.45, 30.28, 24.91, 26.47, 22.29, 19.83),
    ("prop", "random embedding"): (43.36, 32.49, 33.65, 30.04, 25.00, 26.63, 21.99, 20.75),
}


def open_vocabulary(task: str, data: str = "normal") -> dict[str, Training]:
    """The models that are tested with more symbols than in training, and one trained with as many (SIT Figure 2)."""
    return {
        "full vocabulary": Training(task, data="wide", model="learned", wide=True),
        "alpha-renaming": Training(task, data, model="renamed", wide=True),
        "random embedding": Training(task, data, model="random"),
        "canonical names": Training(task, data, model="canonical", wide=True),
        "streams": Training(task, data),
    }


def _covariance_rows() -> tuple[Row, ...]:
    rows = []
    for task in ("ltl", "prop"):
        for label, training in open_vocabulary(task).items():
            # The papers have no numbers of streams and of canonical names.
            numbers = _COVARIANCE.get((task, label), ())
            paper: dict[Measure, float] = dict(zip(MAPPED_COVARIANCES, numbers, strict=False))
            rows.append(Row((TASKS[task], label), training, paper))
    return tuple(rows)


# Our budget: each kind of model gets as many trials, random embeddings each with two widths.
RATES, DROPOUTS, WIDTHS = (2e-3, 5e-3), (0.0, 0.1), (8, 32)


def _tuned(task: str, data: str, label: str, model: str) -> Row:
    """A row whose model is trained as the best of its trials."""
    row = _robustness(task, data, label, model)
    widths = [(("random_dim", width),) for width in WIDTHS] if model == "random" else [()]
    trials = tuple(
        replace(
            row.training, fields=(("dropout", dropout), *features, *width), learning_rate=rate, tuned=True, trial=True
        )
        for rate, features, dropout, width in product(RATES, (_features("f_fn"), _features()), DROPOUTS, widths)
    )
    return replace(row, paper={}, search=trials)


def _tuned_table(name: str, what: str, task: str) -> Table:
    rows = (
        _tuned(task, "normal", "baseline", "learned"),
        _tuned(task, "renamed", "baseline", "learned"),
        _tuned(task, "renamed", "alpha-renaming", "renamed"),
        _tuned(task, "renamed", "random embedding", "random"),
        _tuned(task, "renamed", "canonical names", "canonical"),
        _tuned(task, "renamed", "streams", "streams"),
    )
    return Table(
        name, f"Equal tuning of all models, {what}", "in no paper", ("task", "training data", "model"),
        (CORRECT, NEW, FREE, EXACT, *SPENT), rows, SHARES,
        "Short trials on validation questions say how each row's model is trained: with 2 learning rates, with "
        "cross-entropy or AdaCos and normalised features, with dropout 0 or 0.1, and random embeddings with 2 "
        "widths. Trials without a significant difference to the best one are repeated with lower and higher rates "
        "until none does better, and at full length. The best of these counts. Muon trains all matrices, AdamW all "
        "else.",
        compared=(CORRECT, NEW),
    )  # fmt: skip


def _on_heat_map(number: float | None) -> dict[Measure, float]:
    """What a paper says of a heat map, which may be nothing."""
    return {} if number is None else {WHOLE: number}


# How streams are trained in `sit-dp`: the kind of model, and fields that differ from its.
_DP_TRAININGS: dict[str, tuple[str, tuple[tuple[str, Any], ...]]] = {
    "as here": ("streams", ()),
    "norm first": ("streams", (("norm_first", True),)),
    "as in the release": ("streams-adacos", ()),
}

# SIT Table 2 and 3 give the streams models' means, ITE Figure 5 those of random embeddings.
_HEAT_MAPS = {("prop", "streams"): 95.05, ("ltl", "streams"): 90.47} | {
    ("ltl", "random embedding"): 90.76, ("prop", "random embedding"): 77.70,
}  # fmt: skip

FEW_SYMBOLS = tuple(Solved(symbols=count) for count in range(3))
TOP_3, TOP_10, TOP_25 = Solved(candidates=3), Solved(candidates=10), Solved(candidates=25)

TABLES = {
    table.name: table
    for table in (
        _robustness_table(
            "sit-1", "Renamed and reduced training data", "SIT Table 1, ITE Tables 2, 7 and 8", ROBUSTNESS
        ),
        Table(
            "sit-2", "Components, propositional logic", "SIT Tables 2 and 6", ("model", "components"), ABLATED,
            _ablations(
                "prop",
                {
                    "EP DP EA DA CP": "best",
                    "EP DP EA DA CP CA": "+CA",
                    "EP DP EA DA CA": "-CP+CA",
                    "EP DP DA CP": "-EA",
                    "EP DP EA CP": "-DA",
                    "EP DP CP": "-EA-DA",
                    "DP EA DA CP": "-EP",
                    "EP EA DA CP": "-DP",
                },
            ),
            f"{REGIONS}; of validation questions with the symbols of training, and with as many as the heat map has",
        ),
        Table(
            "sit-3", "Components, LTL", "SIT Tables 3 and 6", ("model", "components"), ABLATED,
            _ablations(
                "ltl",
                {
                    "EP DP EA CP": "best",
                    "EP DP EA CP CA": "+CA",
                    "EP DP EA DA CA": "-CP+CA",
                    "EP DP CP": "-EA",
                    "EP DP EA DA CP": "+DA",
                    "DP EA CP": "-EP",
                    "EA DA CP": "-EP-DP+DA",
                },
            ),
            f"{REGIONS}; of validation questions with the symbols of training, and with as many as the heat map has",
        ),
        Table(
            "sit-4", "Trained models converted to streams", "SIT Table 4", ("task", "model"), VALIDATED,
            (
                _conversion("prop", "baseline before conversion", _vanilla("prop"), 95.57),
                _conversion("prop", "converted, 1 epoch", _converted("prop", 1), 87.54, 67.17, 70.11),
                _conversion("prop", "converted, 5 epochs", _converted("prop", 5), 90.55, 68.78, 71.35),
                _conversion("prop", "from scratch", components_of("prop", "EP DP CP"), 91.47, 69.97, 72.35),
                _conversion("ltl", "baseline before conversion", _vanilla("ltl"), 97.96),
                _conversion("ltl", "converted, 1 epoch", _converted("ltl", 1), 94.75, 92.44, 85.91),
                _conversion("ltl", "converted, 5 epochs", _converted("ltl", 5), 95.12, 92.02, 85.88),
                _conversion("ltl", "from scratch", components_of("ltl", "EP DP CP"), 94.77, 91.34, 84.13),
            ),
            SHARES,
        ),
        Table(
            "sit-heatmap", "More symbols and longer formulas than in training", "SIT Figure 2, ITE Figures 3 and 5",
            ("task", "model"), MAPPED,
            tuple(
                Row((TASKS[task], label), training, _on_heat_map(_HEAT_MAPS.get((task, label))))
                for task, data in MAPPED_DATA.items()
                for label, training in ({"baseline": _vanilla(task)} | open_vocabulary(task, data)).items()
            ),
            REGIONS,
            "The baseline has no rows for more symbols than in training, and its answers to these are empty. Full "
            "vocabulary was trained beyond the box, with as many symbols as the heat map has.",
        ),
        Table(
            "sit-supplement", "Heat maps of alpha-renaming before and after the supplement, LTL", "SIT Figure 4",
            ("training data",), (*FEW_SYMBOLS, *HEAT_MAP),
            tuple(
                Row((label,), open_vocabulary("ltl", data)["alpha-renaming"])
                for label, data in {"before": "normal", "after": "supplemented"}.items()
            ),
            REGIONS.replace("whole heat map", "questions with no, one and two symbols; of the whole heat map"),
            "A model that already answers questions of few symbols has nothing to gain from the supplement.",
        ),
        Table(
            "sit-topn", "Top-N accuracy on the heat map, propositional logic", "SIT Appendix I", ("model",),
            (TOP_3, TOP_10, TOP_25),
            (Row(("streams",), Training("prop"), {TOP_3: 95.05, TOP_10: 99.03, TOP_25: 99.54}),),
            "Shares in percent of questions to which one of N candidates is correct, with Wilson's 95 % intervals",
        ),
        Table(
            "sit-cost", "Decoding time and memory by number of symbols", "SIT Appendix J and section 5.7",
            ("task", "model"), (*(Cost("ms", n) for n in range(11)), *(Cost("MB", n) for n in range(11))),
            (
                Row((TASKS["prop"], "streams"), Training("prop"), {Cost("ms", 10): 5.13}),
                Row((TASKS["ltl"], "streams"), Training("ltl"), {Cost("MB", 5): 1900, Cost("MB", 10): 3900}),
                Row(
                    (TASKS["ltl"], "full vocabulary"), open_vocabulary("ltl")["full vocabulary"],
                    {Cost("MB", 5): 3100, Cost("MB", 10): 3200},
                ),
            ),
            "Milliseconds a question, the median of the repeats with the shortest and the longest; MB of memory at the "
            "most, of a GPU what torch has allocated, of a CPU what is resident beyond the loaded model",
            "The paper's times are from one NVIDIA L40S. They grow from 3.38 ms to 5.13 ms; its text does not say for "
            "which number of symbols the first is. The paper's memory is for the whole heat map, and ours for "
            "questions about as long as the longest in training. Both have 64 questions a batch.",
        ),
        Table(
            "sit-scale", "Embeddings with and without the factor sqrt(D), propositional logic", "in no paper",
            ("embeddings",), (CORRECT, NEW, FREE, EXACT, *SPENT),
            (
                Row(("times sqrt(D)",), Training("prop")),
                Row(("as they are",), Training("prop", fields=(("scale_embedding", False),))),
            ),
            SHARES,
            "ITE's release multiplies embeddings by sqrt(D); that of SIT has an option for it, off by default.",
            compared=(CORRECT, NEW),
        ),
        Table(
            "sit-dp", "Streams without DP, after trainings of several kinds, LTL", "SIT Table 6",
            ("training", "components"), (VALIDATION[0], CORRECT, NEW, FREE, EXACT, *SPENT),
            tuple(
                Row(
                    (label, components),
                    Training("ltl", model=model, fields=(("components", tuple(components.split())), *fields)),
                    {VALIDATION[0]: ABLATIONS["ltl"][components][0]},
                )
                for label, (model, fields) in _DP_TRAININGS.items()
                for components in ("EP DP EA CP", "EA DA CP")
            ),
            SHARES,
            "In the paper all models without DP fail in LTL, and here none does. The rows ask whether the training is "
            "the reason. Each set of components is trained in three ways: with Muon and cross-entropy; in the same "
            "way, but with each LayerNorm before its block instead of after it; and as in the authors' release, with "
            "AdamW, AdaCos and normalised features.",
            compared=(CORRECT, NEW),
        ),
        Table(
            "ite-3", "Alpha-covariance with more symbols than in training", "ITE Table 3", ("task", "model"),
            MAPPED_COVARIANCES, _covariance_rows(),
            "Mean alpha-covariances in percent, over the answers to all or 120 renamings of each question, with normal "
            "95 % intervals",
        ),
        Table(
            "ite-copy", "Copying strings: mean edit distances", "ITE Tables 5 and 6, Appendix E, SIT Appendix E",
            ("strings", "enabled features", "model"), (DISTANCE, *SPENT),
            (*_copying_rows(), *_larger_copying("copy-symbols"), *_larger_copying("copy-long")), DISTANCES,
            "Rows of random embeddings name their method and their width. The paper's numbers are those of the best of "
            "at least 3 trainings; for random embeddings they are means over 10 draws. Ours are for all seeds "
            "together, each with the median of 10 draws by its cross-entropy. For more symbols the paper says that 20 "
            "of 27 models with random embeddings make no error, and that the worst mean is 1.0. For long strings the "
            "papers say that the mean is 0.0, on grids whose limits they do not give. The baseline has no rows for "
            "more symbols than in training, and its answers to these are empty.",
        ),
        Table(
            "ite-ablation", "Random embeddings without their normalisations", "ITE Figure 5", ("task", "model"),
            MAPPED,
            tuple(
                Row((TASKS[task], label), Training(task, model="random", fields=_features(*disabled)), paper)
                for task, numbers in (("ltl", (90.76, 29.53, 81.45)), ("prop", (77.70, 14.12, None)))
                for (label, disabled), paper in zip(
                    {"all": (), "without f_bn": ("f_bn",), "without f_fn and AdaCos": ("f_fn",)}.items(),
                    map(_on_heat_map, numbers), strict=True,
                )
            ),
            REGIONS,
        ),
        _tuned_table("sit-tuned", "LTL", "ltl"),
        _tuned_table("sit-tuned-prop", "propositional logic, where renamed twins are rare", "prop-long"),
    )
}  # fmt: skip
