"""Experiments of Lexinvariant Language Models (2023): perplexity by context, ciphers, puzzles over symbols.

A lexinvariant model has no fixed embeddings: each sequence draws its own. What a symbol means it can only learn from
the sequence, so its perplexity falls with the context towards that of a model that knows the symbols.

All experiments at a scale share their models. Prose is the user's own: see `SOURCES` in `lexinvariant_models.py`.

Source: Huang et al. 2023 (LI).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from papers.harness.experiments import Experiment, Job, Setting
from papers.lexinvariant.plots import LEARNED, draw_cipher, draw_markov, draw_text, moving_average

if TYPE_CHECKING:
    import numpy as np

MODELS = {
    "learned": LEARNED,
    "gaussian": "lexinvariant",
    "identity": "lexinvariant, identity terms (variant)",
    "partial": "learned, 20 % renamed",
}
# Places of a sequence, the first and the one after the last, whose losses are averaged; our choice.
MARKOV_PLACES = ((0, 4), (4, 8), (8, 16), (16, 32), (32, 64))
TEXT_PLACES = ((0, 16), (16, 32), (32, 64), (64, 128), (128, 256), (256, 512))
GAPS = ((0, 4), (32, 64))
WINDOWS = ("first window", "second", "third", "last window")
DRAWS = 8  # our choice, for the expectation over embeddings
PRIORS, COUNTED = [2.0**power for power in range(-8, 1)], 500  # our choice: the best on so many training texts is taken


def span(places: tuple[int, int]) -> str:
    """The places of a group, counted from 1."""
    return f"{places[0] + 1} to {places[1]}"


def perplexities(losses: np.ndarray, groups: Sequence[tuple[int, int]]) -> dict[str, dict[str, Any]]:
    """The mean loss of each text at each group of places that the texts have, for the group's perplexity.

    Args:
        losses: (N, T).
        groups: First place and the one after the last.
    """
    import numpy as np

    return {
        span(places): {"losses": np.round(losses[:, slice(*places)].mean(1), 6).tolist()}
        for places in groups
        if places[1] <= losses.shape[1]
    }


def measure_markov(job: Job) -> dict[str, dict[str, Any]]:
    """Perplexity by place in texts of the Markov language, and the gap to the best lexinvariant predictor in nats."""
    from papers.lexinvariant.models import losses_by_place, markov_language, texts_of, trained
    from papers.lexinvariant.oracle import Oracle, true_losses

    sizes, kind = job.sizes["languages"]["markov"], job.values["model"]
    texts, language = texts_of(job, "markov"), markov_language(sizes)
    best = Oracle(language).losses(texts.test)
    if kind == "truth":
        losses = true_losses(language, texts.test)
    elif kind == "exact":
        losses = best
    else:
        model = trained(job, "markov", kind, texts)
        losses = losses_by_place(
            model, texts.test, batch_size=sizes["batch"], seed=job.seed, num_draws=job.values.get("draws", 1)
        )
    found = perplexities(losses, MARKOV_PLACES)
    for places in GAPS:
        gaps = (losses - best)[:, slice(*places)].mean(1)
        found[f"gap, {span(places)}"] = {"values": [float(gap) for gap in gaps]}
    if "draws" not in job.values:
        found["curve"] = {"losses": [float(loss) for loss in losses.mean(0)]}
    return found


def measure_text(job: Job) -> dict[str, dict[str, Any]]:
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
        losses = losses_by_place(model, texts.test, batch_size=sizes["batch"], seed=job.seed)
    return {
        **perplexities(losses, TEXT_PLACES),
        "last window": perplexities(losses[:, -window:], [(0, window)])[span((0, window))],
        "curve": {"losses": moving_average([float(loss) for loss in losses.mean(0)], window)},
    }


def measure_cipher(job: Job) -> dict[str, dict[str, Any]]:
    """Entries of the key that the votes of a window get right, by its place; and the matrices of the picture."""
    import numpy as np

    from papers.lexinvariant import probe as probes
    from papers.lexinvariant.models import cipher_letters, markov_language, texts_of, trained
    from papers.lexinvariant.oracle import Oracle

    name, kind = job.values["corpus"], job.values["model"]
    sizes, texts = job.sizes["languages"][name], texts_of(job, name)
    letters = cipher_letters(texts)
    key = probes.random_key(texts.num_symbols, letters, job.seed)
    enciphered = key[texts.test]
    posterior = Oracle(markov_language(sizes)).deciphered(enciphered) if name == "markov" else None
    if kind == "exact":
        assert posterior is not None  # the table asks for it of the Markov language only
        probabilities = posterior
    else:
        model = trained(job, name, kind, texts)
        probe = probes.trained_probe(job, name, kind, model, texts)
        probabilities = probes.deciphered(probe, enciphered, batch_size=sizes["batch"], seed=job.seed)
    named, length, window = probabilities.argmax(-1), enciphered.shape[1], sizes["window"]
    found: dict[str, dict[str, Any]] = {}
    starts, matrices = probes.window_starts(length, window, len(WINDOWS)), []
    for head, start in zip(WINDOWS, starts, strict=True):
        part = slice(start, start + window)
        right, seen = probes.votes(named[:, part], enciphered[:, part], key, letters)
        found[head] = {"correct": right, "count": seen}
        matrices.append(probes.key_matrix(probabilities[:, part], enciphered[:, part], key, letters))
    if posterior is not None:
        distance = np.abs(probabilities - posterior).sum(-1)[:, -window:].mean(1) / 2
        found["distance"] = {"values": [float(value) for value in distance]}
    truth = np.eye(len(letters))[np.argsort(key[letters])]
    found["matrices"] = {"starts": starts, "key": truth.tolist(), "windows": matrices}
    return found


def measure_symbols(job: Job) -> dict[str, dict[str, Any]]:
    """The share of answers' symbols that the model generates in the right place, for each kind of puzzle."""
    from hf_symbinv.datasets_scripts.language.puzzles import PUZZLES
    from papers.lexinvariant.models import solved, texts_of, trained

    name = job.values["corpus"]
    sizes, texts = job.sizes["languages"][name], texts_of(job, name)
    model = trained(job, name, job.values["model"], texts)
    characters, rows = texts.characters or "", job.sizes["puzzles"]
    return {
        kind: solved(model, make(characters, rows, job.seed), characters, batch_size=sizes["batch"], seed=job.seed)
        for kind, make in PUZZLES.items()
    }


def _text_rows(models: dict[str, str], paper: dict[tuple[str, str], dict[str, float]]) -> tuple[Setting, ...]:
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
)
_CIPHER_ROWS = (
    Setting(("Markov", "exact posterior"), {"corpus": "markov", "model": "exact"}),
    Setting(("Markov", MODELS["gaussian"]), {"corpus": "markov", "model": "gaussian"}),
    Setting(("Markov", MODELS["identity"]), {"corpus": "markov", "model": "identity"}),
    Setting(("code", MODELS["gaussian"]), {"corpus": "code", "model": "gaussian"}),
    Setting(("prose", MODELS["gaussian"]), {"corpus": "prose", "model": "gaussian"}, {"last window": 99.6}),
)
# LI Table 1, character-level: GitHub for code, Wiki-40B for prose.
_PUZZLES_SOLVED = {
    ("code", "learned"): {"look up": 42.40, "permutation": 21.03},
    ("code", "gaussian"): {"look up": 86.65, "permutation": 71.59},
    ("prose", "learned"): {"look up": 38.25, "permutation": 20.77},
    ("prose", "gaussian"): {"look up": 59.70, "permutation": 60.51},
}

EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        name="lexinv-markov",
        family="lexinvariant",
        title="A language of six symbols, with the exact best lexinvariant predictor",
        source="LI Theorem 2.1",
        heads=("model",),
        measures=(*map(span, MARKOV_PLACES), *(f"gap, {span(places)}" for places in GAPS)),
        unit="Perplexities by place in the sequence; gaps to p' are mean losses in nats",
        rows=_MARKOV_ROWS,
        measure=measure_markov,
        draw=draw_markov,
    ),
    Experiment(
        name="lexinv-text",
        family="lexinvariant",
        title="Characters of prose and code: perplexity by context",
        source="LI Figures 3 and 7",
        heads=("corpus", "model"),
        measures=(*map(span, TEXT_PLACES), "last window"),
        unit="Perplexities by place in the window (paper, after 511 characters of the Pile: lexinvariant 3.38, learned "
        "2.00)",
        rows=_text_rows({**MODELS, "counting": "counting, without order"}, {}),
        measure=measure_text,
        draw=draw_text,
    ),
    Experiment(
        name="lexinv-cipher",
        family="lexinvariant",
        title="Substitution ciphers: entries of the key that a probe recovers",
        source="LI Figures 4 and 5",
        heads=("language", "model"),
        measures=(*WINDOWS, "distance"),
        unit="Entries right by the vote of a window, in percent; distance: total variation between the probe's and the "
        "exact posterior of what a symbol stands for, in the last window (paper: the Pile, 150M parameters)",
        rows=_CIPHER_ROWS,
        measure=measure_cipher,
        draw=draw_cipher,
    ),
    Experiment(
        name="lexinv-symbols",
        family="lexinvariant",
        title="Puzzles over random symbols, by models of text",
        source="LI Table 1",
        heads=("corpus", "model"),
        measures=("look up", "permutation"),
        unit="Symbols generated right, in percent (paper: character level, GitHub for code, Wiki-40B for prose)",
        rows=_text_rows(MODELS, _PUZZLES_SOLVED),
        measure=measure_symbols,
    ),
)
