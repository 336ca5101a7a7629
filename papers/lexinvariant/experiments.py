"""Experiments of Lexinvariant Language Models (2023): perplexity by context, ciphers, puzzles over symbols.

Streams, which the paper does not have, are compared with them where symbols are few.

A lexinvariant model has no fixed embeddings: each sequence draws its own. What a symbol means it can only learn from
the sequence, so its perplexity falls with the context towards that of a model that knows the symbols.

All experiments at a scale share their models. Prose is the user's own: see `SOURCES` in `papers/harness/corpora.py`.

Source: Huang et al. 2023 (LI).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from papers.harness.experiments import Experiment, Family, Job, Result, Setting
from papers.harness.measures import Measure, Named
from papers.lexinvariant.measures import (
    CURVE,
    DISTANCE,
    LAST_WINDOW,
    MATRICES,
    WHOLE_KEY,
    WINDOWS,
    Gap,
    Perplexity,
    Places,
)
from papers.lexinvariant.plots import LEARNED, draw_cipher, draw_markov, draw_text, moving_average

if TYPE_CHECKING:
    import numpy as np

MODELS = {
    "learned": LEARNED,
    "gaussian": "lexinvariant",
    "identity": "lexinvariant, identity terms (variant)",
    "regularised": "learned, 20 % of tokens renamed",
}
NORM_FIRST = "lexinvariant, norms before the blocks"
COUNTING, STREAMS = "counting, without order", "streams (not in the paper)"
FAMILY = Family("lexinvariant", Path(__file__).parent / "scales.yaml")
# Places whose losses are averaged; our choice.
MARKOV_PLACES = (Places(0, 4), Places(4, 8), Places(8, 16), Places(16, 32), Places(32, 64))
TEXT_PLACES = (Places(0, 16), Places(16, 32), Places(32, 64), Places(64, 128), Places(128, 256), Places(256, 512))
GAPS = (MARKOV_PLACES[0], MARKOV_PLACES[-1])
DRAWS = 8  # our choice, for the expectation over embeddings
PRIORS, COUNTED = [2.0**power for power in range(-8, 1)], 500  # our choice: the best on so many training texts is taken


def perplexities(losses: np.ndarray, groups: Sequence[Places]) -> dict[Measure, Result]:
    """The mean loss of each text at each group of places that the texts have, for the group's perplexity.

    Args:
        losses: (N, T).
        groups: The places.
    """
    return {Perplexity(places): mean_losses(losses, places) for places in groups if places.end <= losses.shape[1]}


def mean_losses(losses: np.ndarray, places: Places) -> Result:
    """The mean loss of each text, (N, T), at some places."""
    import numpy as np

    return {"losses": np.round(losses[:, places.start : places.end].mean(1), 6).tolist()}


def measure_markov(job: Job) -> dict[Measure, Result]:
    """Perplexity by place in texts of the Markov language, and the gap to the best lexinvariant predictor in nats."""
    from papers.lexinvariant.models import losses_by_place, markov_language, texts_of, trained
    from papers.lexinvariant.oracle import Oracle, true_losses

    name, kind = job.values.get("corpus", "markov"), job.values["model"]
    sizes = job.sizes["languages"][name]
    texts, language = texts_of(job, name), markov_language(sizes)
    best = Oracle(language).losses(texts.test)
    if kind == "truth":
        losses = true_losses(language, texts.test)
    elif kind == "exact":
        losses = best
    else:
        model = trained(job, name, kind, texts)
        losses = losses_by_place(
            model, kind, texts.test, batch_size=sizes["batch"], seed=job.seed, num_draws=job.values.get("draws", 1)
        )
    found = perplexities(losses, MARKOV_PLACES)
    for places in GAPS:
        gaps = (losses - best)[:, places.start : places.end].mean(1)
        found[Gap(places)] = {"values": [float(gap) for gap in gaps]}
    if "draws" not in job.values:
        found[CURVE] = {"losses": [float(loss) for loss in losses.mean(0)]}
    return found


def measure_text(job: Job) -> dict[Measure, Result]:
    """Perplexity by place in windows of a corpus; the curve is smoothed within each text, as the paper's."""
    from papers.lexinvariant.models import losses_by_place, texts_of, trained
    from papers.lexinvariant.oracle import counting_losses

    name, kind = job.values["corpus"], job.values["model"]
    sizes, texts, window = job.sizes["languages"][name], texts_of(job, name), job.sizes["window"]
    if kind == "counting":
        fit = {prior: counting_losses(texts.train[:COUNTED], texts.num_symbols, prior).mean() for prior in PRIORS}
        losses = counting_losses(texts.test, texts.num_symbols, min(fit, key=fit.__getitem__))
    else:
        model = trained(job, name, kind, texts)
        losses = losses_by_place(model, kind, texts.test, batch_size=sizes["batch"], seed=job.seed)
    return {
        **perplexities(losses, TEXT_PLACES),
        LAST_WINDOW: mean_losses(losses, Places(losses.shape[1] - window, losses.shape[1])),
        CURVE: {"losses": moving_average([float(loss) for loss in losses.mean(0)], window)},
    }


def measure_cipher(job: Job) -> dict[Measure, Result]:
    """Entries of the key that the votes of a window get right, by its place; and the matrices of the picture.

    Of a sequence it is the share of the entries that get votes, and of all sequences the mean, as in LI section 3.3.
    """
    import numpy as np

    from papers.lexinvariant import probe as probes
    from papers.lexinvariant.models import cipher_letters, markov_language, texts_of, trained
    from papers.lexinvariant.oracle import Oracle

    name, kind = job.values["corpus"], job.values["model"]
    sizes, texts = job.sizes["languages"][name], texts_of(job, name)
    letters = cipher_letters(texts)
    key = probes.random_key(texts.num_symbols, letters, job.seed)
    enciphered = key[texts.test]
    # Of the Markov language alone the posterior is known.
    posterior = Oracle(markov_language(sizes)).deciphered(enciphered) if "num_symbols" in sizes["data"] else None
    if kind == "exact" and posterior is not None:
        probabilities = posterior
    else:
        model = trained(job, name, kind, texts)
        probe = probes.trained_probe(job, name, kind, model, texts)
        probabilities = probes.deciphered(probe, kind, enciphered, batch_size=sizes["batch"], seed=job.seed)
    named, length, window = probabilities.argmax(-1), enciphered.shape[1], sizes["window"]
    found: dict[Measure, Result] = {}
    starts, matrices = probes.window_starts(length, window, len(WINDOWS)), []
    for measure, start in zip(WINDOWS, starts, strict=True):
        part = slice(start, start + window)
        found[measure] = {"shares": probes.precisions(named[:, part], enciphered[:, part], key, letters)}
        matrices.append(probes.key_matrix(probabilities[:, part], enciphered[:, part], key, letters))
    last = slice(length - window, length)
    right = probes.whole_key(named[:, last], enciphered[:, last], key, letters)
    found[WHOLE_KEY] = {"correct": right, "count": len(letters)}
    if posterior is not None:
        distance = np.abs(probabilities - posterior).sum(-1)[:, -window:].mean(1) / 2
        found[DISTANCE] = {"values": [float(value) for value in distance]}
    truth = np.eye(len(letters))[np.argsort(key[letters])]
    found[MATRICES] = {"starts": starts, "key": truth.tolist(), "windows": matrices}
    return found


def measure_symbols(job: Job) -> dict[Measure, Result]:
    """The share of answers' symbols that the model generates in the right place, for each kind of puzzle; their symbols
    are drawn alike, and by how frequent they are.
    """
    import numpy as np

    from papers.lexinvariant.models import solved, texts_of, trained
    from papers.lexinvariant.puzzles import PUZZLES

    name = job.values["corpus"]
    sizes, texts = job.sizes["languages"][name], texts_of(job, name)
    model = trained(job, name, job.values["model"], texts)
    characters, rows = texts.characters or "", job.sizes["puzzles"]
    counts = np.bincount(texts.train.flatten(), minlength=len(characters)).tolist()
    counted = dict(zip(characters, counts, strict=True))
    found: dict[Measure, Result] = {}
    for kind, make in PUZZLES.items():
        for measure, frequencies in (Named(kind), None), (by_frequency(kind), counted):
            puzzles = make(characters, rows, job.seed, frequencies=frequencies)
            found[measure] = solved(model, puzzles, characters, batch_size=sizes["batch"], seed=job.seed)
    return found


def by_frequency(kind: str) -> Named:
    """The share of puzzles whose symbols are drawn by their frequency in the training text."""
    return Named(f"{kind}, by frequency")


def _text_rows(models: dict[str, str], paper: dict[tuple[str, str], dict[Measure, float]]) -> tuple[Setting, ...]:
    return tuple(
        Setting((corpus, label), {"corpus": corpus, "model": kind}, paper.get((corpus, kind), {}))
        for corpus in ("code", "prose")
        for kind, label in models.items()
    )


_MARKOV_ROWS = (
    Setting(("the language itself",), {"model": "truth"}),
    Setting(("p', best lexinvariant predictor",), {"model": "exact"}),
    *(Setting((label,), {"model": kind}) for kind, label in MODELS.items()),
    Setting((f"lexinvariant, mean of {DRAWS} draws",), {"model": "gaussian", "draws": DRAWS}),
    Setting((STREAMS,), {"model": "streams"}),
)
_SMALL = {"corpus": "markov-small"}
_STREAMS_ROWS = (
    Setting(("the language itself",), {**_SMALL, "model": "truth"}),
    Setting(("p', best lexinvariant predictor",), {**_SMALL, "model": "exact"}),
    Setting((LEARNED,), {**_SMALL, "model": "learned"}),
    Setting(("canonical names",), {**_SMALL, "model": "canonical"}),
    Setting(("learned, renamed in training",), {**_SMALL, "model": "renamed"}),
    Setting(("lexinvariant",), {**_SMALL, "model": "gaussian"}),
    Setting((f"lexinvariant, mean of {DRAWS} draws",), {**_SMALL, "model": "gaussian", "draws": DRAWS}),
    Setting((STREAMS,), {**_SMALL, "model": "streams"}),
)
_CIPHER_ROWS = (
    Setting(("Markov", "exact posterior"), {"corpus": "markov", "model": "exact"}),
    Setting(("Markov", MODELS["gaussian"]), {"corpus": "markov", "model": "gaussian"}),
    Setting(("Markov", MODELS["identity"]), {"corpus": "markov", "model": "identity"}),
    Setting(("Markov", STREAMS), {"corpus": "markov", "model": "streams"}),
    Setting(("code", MODELS["gaussian"]), {"corpus": "code", "model": "gaussian"}),
    Setting(("prose", MODELS["gaussian"]), {"corpus": "prose", "model": "gaussian"}, {LAST_WINDOW: 99.6}),
)
_STREAMS_CIPHER_ROWS = (
    Setting(("exact posterior",), {**_SMALL, "model": "exact"}),
    Setting(("canonical names",), {**_SMALL, "model": "canonical"}),
    Setting(("learned, renamed in training",), {**_SMALL, "model": "renamed"}),
    Setting(("lexinvariant",), {**_SMALL, "model": "gaussian"}),
    Setting((STREAMS,), {**_SMALL, "model": "streams"}),
)
# LI Tables 1 and 2, character-level: GitHub for code, Wiki-40B for prose.
_SOLVED = (Named("look up"), Named("permutation"), by_frequency("look up"), by_frequency("permutation"))
_PUZZLES_SOLVED: dict[tuple[str, str], dict[Measure, float]] = {
    row: dict(zip(_SOLVED, numbers, strict=True))
    for row, numbers in {
        ("code", "learned"): (42.40, 21.03, 66.00, 36.62),
        ("code", "gaussian"): (86.65, 71.59, 86.75, 70.77),
        ("prose", "learned"): (38.25, 20.77, 75.55, 42.71),
        ("prose", "gaussian"): (59.70, 60.51, 63.45, 59.86),
    }.items()
}


EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        name="lexinv-markov",
        family=FAMILY,
        measures=(*map(Perplexity, MARKOV_PLACES), *map(Gap, GAPS)),
        rows=_MARKOV_ROWS,
        measure=measure_markov,
        draw=draw_markov,
    ),
    Experiment(
        name="lexinv-streams",
        family=FAMILY,
        measures=(*map(Perplexity, MARKOV_PLACES), *map(Gap, GAPS)),
        rows=_STREAMS_ROWS,
        measure=measure_markov,
    ),
    Experiment(
        name="lexinv-text",
        family=FAMILY,
        measures=(*map(Perplexity, TEXT_PLACES), LAST_WINDOW),
        rows=_text_rows({**MODELS, "norm-first": NORM_FIRST, "counting": COUNTING}, {}),
        measure=measure_text,
        draw=draw_text,
    ),
    Experiment(
        name="lexinv-cipher",
        family=FAMILY,
        measures=(*WINDOWS, WHOLE_KEY, DISTANCE),
        rows=_CIPHER_ROWS,
        measure=measure_cipher,
        draw=draw_cipher,
    ),
    Experiment(
        name="lexinv-streams-keys",
        family=FAMILY,
        measures=(*WINDOWS, WHOLE_KEY, DISTANCE),
        rows=_STREAMS_CIPHER_ROWS,
        measure=measure_cipher,
    ),
    Experiment(
        name="lexinv-symbols",
        family=FAMILY,
        measures=_SOLVED,
        rows=_text_rows(MODELS, _PUZZLES_SOLVED),
        measure=measure_symbols,
    ),
)
