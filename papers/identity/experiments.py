"""Experiments of When can transformers reason with abstract symbols? (2024): template tasks, copying, GPT-2.

`aI` adds a multiple of the identity to W_K W_Qᵀ, `bI` one to W_V W_O, with a trainable scalar for each head. The
paper's numbers are read from its figures, but for those of GPT-2. The models of template tasks are small GPT-2s with
token and position embeddings from N(0, 1), as in the paper's release; they answer at a last token [CLS].
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, TypeVar

from hf_symbinv.files import write_atomically
from papers.harness.corpora import source_of
from papers.harness.experiments import Experiment, Family, Findings, Job, Result, Setting
from papers.harness.measures import Measure, Named

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel

    from papers.identity.templates import TemplatesConfig, TemplateTask

Made = TypeVar("Made")
FAMILY = Family("identity", Path(__file__).parent / "scales.yaml")


@dataclass(frozen=True)
class ErrorAfter(Measure):
    """The error on unseen symbols after training on so many rows."""

    rows: int

    @property
    def heading(self) -> str:
        return f"n = {self.rows}"


ERROR, CROSS_ENTROPY, START = Named("error"), Named("cross-entropy"), Named("start")
CONDITION = Named("log₁₀ of smallest over largest singular value")
UNSEEN_ERROR = Named("error on unseen symbols")
# In a log of its own, and no column: learning rate, that of scalars and validation error of each attempt.
SEARCH = Named("search")
PERPLEXITY = Named("perplexity")

# Label → which scalars there are.
PARAMETRISATIONS: dict[str, dict[str, Any]] = {
    "vanilla": {"identity_qk": False, "identity_vo": False},
    "aI": {"identity_qk": True, "identity_vo": False},
    "bI": {"identity_qk": False, "identity_vo": True},
    "aI+bI": {"identity_qk": True, "identity_vo": True},
}
BASELINES = {"MLP": "mlp", "LSTM": "lstm"}


def template_model(config: TemplatesConfig, scalars: Mapping[str, Any], fields: Mapping[str, Any]) -> PreTrainedModel:
    """A fresh GPT-2 for a template task: a regression if its labels are numbers, else a language model.

    Args:
        config: Of the task, whose vocabulary it has, and one id more, for padding.
        scalars: Fields of `IdentityGPT2Config` that choose the scalars.
        fields: Other fields, such as `n_embd`.
    """
    from torch import nn
    from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSequenceClassification

    from papers.identity.templates import template_task

    task, padding = template_task(config.task), config.vocab_size()
    made = AutoConfig.for_model(
        "identity_gpt2", vocab_size=padding + 1, pad_token_id=padding, bos_token_id=None, eos_token_id=None,
        num_labels=1, n_positions=len(task.templates[0].tokens) + 2, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
        **scalars, **fields,
    )  # fmt: skip
    kind = AutoModelForCausalLM if task.symbolic else AutoModelForSequenceClassification
    model = kind.from_config(made)
    for table in (model.transformer.wte, model.transformer.wpe):
        nn.init.normal_(table.weight)
    return model


def _train(job: Job, name: str, model: PreTrainedModel, rows: Any, attempt: Attempt | None = None) -> None:
    """Trains a model in a folder of the job, as fast as the scale or an attempt says.

    Raises:
        OutOfTimeError: If there was no time to finish.
    """
    from transformers import default_data_collator

    fixed = {"seed": job.seed, "save_strategy": "no", "report_to": "none", "disable_tqdm": True}
    arguments = {**fixed, **job.sizes["trainer"]}
    if attempt is not None:
        name += f"_rate={attempt.rate:g}_multiplier={attempt.multiplier:g}"
        arguments["learning_rate"] *= attempt.rate
        job.say(f"  {name}")
    job.train(model, job.folder / name, arguments, train_dataset=rows, data_collator=default_data_collator)


def _batches(
    rows: Sequence[Mapping[str, Any]], device: torch.device, size: int = 250
) -> Iterator[dict[str, torch.Tensor]]:
    from transformers import default_data_collator

    for start in range(0, len(rows), size):
        batch = default_data_collator(rows[start : start + size])
        yield {name: values.to(device) for name, values in batch.items()}


@dataclass(frozen=True)
class Attempt:
    """How fast a model learns: a factor of the learning rate of all weights, and one more for the scalars."""

    rate: float
    multiplier: float = 1.0


def attempts(label: str) -> tuple[Attempt, ...]:
    """What is tried for a row: four of them, whatever its model."""
    if not _has_scalars(label):
        return tuple(map(Attempt, (0.3, 1.0, 3.0, 10.0)))
    return tuple(Attempt(rate, multiplier) for rate in (1.0, 3.0) for multiplier in (1.0, 10.0))


def _has_scalars(label: str) -> bool:
    return label != "vanilla" and label not in BASELINES


def _search(job: Job, make: Callable[[Attempt], tuple[float, Made]]) -> tuple[Attempt, Made, Result]:
    """The attempt with the least validation error.

    Args:
        job: What the attempts are of.
        make: Trains a model; its error on validation data, and whatever else is wanted of it.

    Returns:
        The attempt, what was wanted of it, and the log: learning rates, those of scalars, and errors.
    """
    tried = [(attempt, *make(attempt)) for attempt in attempts(job.values["scalars"])]
    errors = [error if math.isfinite(error) else math.inf for _, error, _ in tried]  # not, where training diverged
    place = errors.index(min(errors))
    base = job.sizes["trainer"]["learning_rate"]
    rates = [(base * attempt.rate, base * attempt.rate * attempt.multiplier) for attempt, _, _ in tried]
    log = {"values": [[*pair, error] for pair, error in zip(rates, errors, strict=True)], "chosen": place}
    return tried[place][0], tried[place][2], log


def write_attempts(name: str, error: str) -> Callable[[Sequence[tuple[Setting, Findings]], Path], None]:
    """What writes the attempts of each row and seed, with an error on validation data, into `NAME-search.md`."""

    def write(found: Sequence[tuple[Setting, Findings]], folder: Path) -> None:
        lines = [
            f"How fast the models of `{name}` learned: every attempt with its {error} on validation data, which "
            "have other unseen symbols than test data. The chosen one made the row.",
            "",
            f"| row | | seed | learning rate | of scalars | {error} | |",
            "|---|---|---:|---:|---:|---:|---|",
        ]
        seeds: Counter[str] = Counter()
        for row, content in found:
            search = content.get(SEARCH.heading, {"values": []})
            for place, (rate, scalars, value) in enumerate(search["values"]):
                chosen = "chosen" if place == search["chosen"] else ""
                of_scalars = f"{scalars:g}" if _has_scalars(row.values["scalars"]) else ""
                cells = (*row.labels, seeds[row.name], f"{rate:g}", of_scalars, f"{value:.3f}", chosen)
                lines.append(f"| {' | '.join(map(str, cells))} |")
            seeds[row.name] += 1
        write_atomically(folder / f"{name}-search.md", "\n".join(lines) + "\n")

    return write


def measure_templates(job: Job) -> dict[Measure, Result]:
    """Squared errors on unseen symbols, or wrong ones, after training on each number of rows.

    The attempt that is best after training on most rows is taken for all numbers of rows.
    """
    *fewer, most = job.sizes["rows"]
    best, errors, log = _search(job, lambda attempt: _trained_on(job, most, attempt))
    found: dict[Measure, Result] = {ErrorAfter(count): _trained_on(job, count, best)[1] for count in fewer}
    return {**found, ErrorAfter(most): errors, SEARCH: log}


def _trained_on(job: Job, count: int, attempt: Attempt) -> tuple[float, Result]:
    """The error on validation data, and errors on test data, of a model that was trained on so many rows."""
    from transformers import set_seed

    from papers.identity.templates import TemplatesConfig, drawn, encoded, template_task

    config = TemplatesConfig(
        name="custom", task=job.values["task"], rows=count, seed=job.seed, **job.sizes["evaluation"]
    )
    task, splits = template_task(config.task), drawn(config)
    set_seed(job.seed)
    if job.values["scalars"] in BASELINES:
        model = _baseline(config, job.values["scalars"], job.sizes["model"])
    else:
        model = template_model(config, _scalars(job, attempt), job.sizes["model"])
    if task.symbolic:
        scale_logits(model)
    _train(job, f"n={count}", model, encoded(task, splits["train"]), attempt)
    model.eval()
    validation, test = (_errors(model, task, splits[split]) for split in ("validation", "test"))
    error = validation["correct"] / validation["count"] if task.symbolic else fmean(validation["values"])
    return error, test


def _scalars(job: Job, attempt: Attempt) -> dict[str, Any]:
    """Fields of `IdentityGPT2Config` that choose the scalars of a row, and how fast they learn."""
    return {**PARAMETRISATIONS[job.values["scalars"]], "identity_multiplier": attempt.multiplier}


def _errors(model: PreTrainedModel, task: TemplateTask, rows: Sequence[Mapping[str, Any]]) -> Result:
    """Wrong answers, or squared errors."""
    import torch

    from papers.identity.templates import encoded

    if task.symbolic:
        logits, labels = _predicted(model, encoded(task, rows))
        return {"correct": int((logits.argmax(-1) != labels).sum()), "count": len(labels)}
    with torch.no_grad():
        squares = [
            (model(input_ids=batch["input_ids"]).logits[:, 0] - batch["labels"]).square()
            for batch in _batches(encoded(task, rows), model.device)
        ]
    return {"values": [round(square, 6) for square in torch.cat(squares).tolist()]}


def _baseline(config: TemplatesConfig, label: str, fields: Mapping[str, Any]) -> PreTrainedModel:
    """A fresh MLP or LSTM for a template task, as wide and deep as the GPT-2 with these fields."""
    from papers.identity.baselines import BaselineConfig, TemplateBaseline
    from papers.identity.templates import template_task

    length = len(template_task(config.task).templates[0].tokens) + 1  # and [CLS]
    return TemplateBaseline(
        BaselineConfig(BASELINES[label], config.vocab_size(), length, width=fields["n_embd"], layers=fields["n_layer"])
    )


def scale_logits(model: PreTrainedModel) -> None:
    """Divides a fresh model's logits by √d.

    With rows from N(0, 1) the logits of tied embeddings grow with √d: the loss of memorised symbols is soon 0, and the
    rule is not learned. Copying at d = 128 with 256 rows, 70 % of unseen symbols were wrong, and 0 % like this.
    """
    from torch import nn

    nn.init.constant_(model.transformer.ln_f.weight, model.config.n_embd**-0.5)


def measure_copying(job: Job) -> dict[Measure, Result]:
    """Error and cross-entropy on unseen symbols, of a transformer or of the theorems' model."""
    from transformers import set_seed

    from papers.identity.templates import TemplatesConfig, drawn, encoded, template_task

    config = TemplatesConfig(name="custom", task="copy", seed=job.seed, **job.sizes["data"])
    task, splits, width = template_task("copy"), drawn(config), job.values["width"]
    if job.values["model"] == "theory":
        set_seed(job.seed)
        return _copying_in_theory(job, config.vocab_size(), splits)

    def make(attempt: Attempt) -> tuple[float, dict[Measure, Result]]:
        set_seed(job.seed)
        model = template_model(config, _scalars(job, attempt), {**job.sizes["model"], "n_embd": width})
        if job.values["model"] == "scaled":
            scale_logits(model)
        _train(job, "model", model, encoded(task, splits["train"]), attempt)
        model.eval()
        validation, test = (_copied(*_predicted(model, encoded(task, splits[name]))) for name in ("validation", "test"))
        return fmean(validation[CROSS_ENTROPY]["values"]), test

    _, found, log = _search(job, make)
    return {**found, SEARCH: log}


def _predicted(model: PreTrainedModel, rows: Sequence[Mapping[str, Any]]) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits (rows, tokens) where a language model answers, and the right tokens (rows)."""
    import torch

    with torch.no_grad():
        batches = list(_batches(rows, model.device))
        logits = [model(input_ids=batch["input_ids"]).logits[:, -2] for batch in batches]
    return torch.cat(logits), torch.cat([batch["labels"][:, -1] for batch in batches])


def _copying_in_theory(
    job: Job, vocab_size: int, splits: Mapping[str, Sequence[Mapping[str, Any]]]
) -> dict[Measure, Result]:
    """Gradient descent on the symbols of the training rows, with the learning rates of `start_of_copying`."""
    import torch

    from papers.identity.templates import template_task
    from papers.identity.theory import CopyingAttention, descend, start_of_copying

    task = template_task("copy")
    seen, unseen = (
        torch.tensor([task.token_ids([row["text"]])[0] for row in splits[split]]).unique()
        for split in ("train", "test")
    )
    model = CopyingAttention(vocab_size, job.values["width"], identity=job.values["scalars"] == "bI")
    start = start_of_copying(model, seen, unseen)
    descend(model, seen, **job.sizes["theory"])
    with torch.no_grad():
        return {**_copied(model(unseen), unseen), START: {"values": [start]}}


def _copied(logits: torch.Tensor, wanted: torch.Tensor) -> dict[Measure, Result]:
    from torch.nn.functional import cross_entropy

    return {
        ERROR: {"correct": int((logits.argmax(-1) != wanted).sum()), "count": len(wanted)},
        CROSS_ENTROPY: {"values": cross_entropy(logits, wanted, reduction="none").tolist()},
    }


def measure_kernel(job: Job) -> dict[Measure, Result]:
    """How far N is from singular, and the error on unseen symbols of ridge regression with the same kernel."""
    import torch

    from papers.identity import theory as theory
    from papers.identity.templates import CLS, TemplatesConfig, drawn, template_task

    config = TemplatesConfig(name="custom", task=job.values["task"], seed=job.seed, **job.sizes["data"])
    task, splits, constants = template_task(config.task), drawn(config), job.sizes["constants"]
    generator = torch.Generator().manual_seed(job.seed)

    def kernel(ids: torch.Tensor, vocab_size: int, heads: int) -> torch.Tensor:
        if job.values["kernel"] == "mlp":
            inner = theory.matching_kernel(ids)
        else:
            inner = theory.attention_kernel(
                ids, vocab_size, beta=constants["beta"], gamma=constants["gamma"], heads=heads, generator=generator
            )
        return theory.cosine_features_kernel(inner, constants["b1"], constants["b2"])

    matrix = theory.template_matrix(kernel(*theory.template_pairs(task), job.sizes["heads"]["templates"]))
    rows = [*splits["train"], *splits["test"]]
    ids = torch.tensor([task.token_ids([*row["text"].split(), CLS]) for row in rows])
    labels = torch.tensor([row["label"] for row in rows], dtype=torch.float64)
    count = len(splits["train"])
    job.time_left()
    full = kernel(ids, config.vocab_size(), job.sizes["heads"]["rows"])
    errors = theory.ridge_regression(full, labels[:count], constants["ridge"]) - labels[count:]
    return {
        CONDITION: {"values": [theory.log_condition(matrix)]},
        UNSEEN_ERROR: {"values": [float(errors.square().mean())]},
    }


def _subwords(job: Job) -> Path:
    """The folder with blocks and tokenizer of the row's corpus.

    Raises:
        MissingDataError: If no corpus is named, or it cannot be used.
    """
    from papers.harness.subwords import SubwordConfig, prepare

    name = job.values["corpus"]
    folder = job.shared / f"subwords-{name}"
    with source_of(name) as source:
        prepare(SubwordConfig(source=source, **job.sizes["data"]), folder)
    return folder


def measure_gpt2(job: Job) -> dict[Measure, Result]:
    """Perplexity on held-out documents."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, set_seed

    from papers.harness.subwords import load_blocks

    folder = _subwords(job)
    tokenizer, length = AutoTokenizer.from_pretrained(folder), job.sizes["data"]["length"]
    blocks = {
        split: [{"input_ids": ids, "labels": ids} for ids in rows["input_ids"]]
        for split, rows in load_blocks(folder).items()
    }
    set_seed(job.seed)
    scalars = dict(PARAMETRISATIONS[job.values["scalars"]], identity_multiplier=job.values["multiplier"])
    end = tokenizer.eos_token_id
    config = AutoConfig.for_model(
        "identity_gpt2", vocab_size=len(tokenizer), n_positions=length, bos_token_id=end, eos_token_id=end,
        **scalars, **job.sizes["model"],
    )  # fmt: skip
    model = AutoModelForCausalLM.from_config(config)
    job.say(f"  {len(blocks['train'])} training blocks of {length} tokens, {len(tokenizer)} different")
    _train(job, "model", model, blocks["train"])
    model.eval()
    with torch.no_grad():
        losses = [float(model(**block).loss) for block in _batches(blocks["test"], model.device, size=1)]
    return {PERPLEXITY: {"losses": losses}}


# Read from the figures' files: error or loss over the number of training rows, which is that of training symbols too.
_CURVES: dict[tuple[str, str], dict[int, float]] = {
    ("aba-abb", "vanilla"): {256: 0.8, 1024: 0.12},
    ("aba-abb", "aI"): {16: 0.55, 64: 0.02},
    ("print-variable", "vanilla"): {16: 1.0, 256: 0.75, 1024: 0.3},
    ("print-variable", "aI"): {64: 0.05, 256: 0.0},
}
_TEMPLATES = (
    *(("aba-abb", label) for label in (*PARAMETRISATIONS, *BASELINES)),
    *(
        (task, label)
        for task in ("print-variable", "same-different", "majority-4", "majority-6", "majority-8")
        for label in ("vanilla", "aI", *BASELINES)
    ),
)
_SHOWN = {"aba-abb": "αβα / αββ", "print-variable": "print(α) / print(β)", "same-different": "αα / αβ",
          **{f"majority-{length}": f"majority of {length}" for length in (4, 6, 8)},
          "print-value": 'α = "γ"; β = "δ"; print(α) / print(β)',
          "gives": "If α gives β δ γ, how many γ does β have?"}  # fmt: skip
# Figure 2's error in percent; which scalars its modified transformer has is in an appendix that was not at hand.
_SYMBOLIC: dict[tuple[str, str], dict[int, float]] = {
    ("print-value", "vanilla"): {1024: 50},
    ("print-value", "bI"): {},
    ("print-value", "aI+bI"): {64: 50, 256: 50, 1024: 50, 4096: 10},
    ("gives", "vanilla"): {},
    ("gives", "aI+bI"): {},
}
_COPYING = {
    ("gpt2", "vanilla"): "transformer",
    ("gpt2", "bI"): "transformer, bI",
    ("scaled", "vanilla"): "transformer, logits / √d",
    ("scaled", "bI"): "transformer, logits / √d, bI",
    ("theory", "vanilla"): "attention of the theorems",
    ("theory", "bI"): "attention of the theorems, bI",
}


def _by_rows(numbers: Mapping[int, float]) -> dict[Measure, float]:
    return {ErrorAfter(count): number for count, number in numbers.items()}


EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        "identity-templates", FAMILY, tuple(map(ErrorAfter, (16, 64, 256, 1024))),
        tuple(
            Setting(
                (_SHOWN[task], label.replace("+", " + ")), {"task": task, "scalars": label},
                _by_rows(_CURVES.get((task, label), {})),
            )
            for task, label in _TEMPLATES
        ),
        measure_templates,
        draw=write_attempts("identity-templates", "mean squared error"),
    ),
    Experiment(
        "identity-symbols", FAMILY, tuple(map(ErrorAfter, (64, 256, 1024, 4096))),
        tuple(
            Setting((_SHOWN[task], label.replace("+", " + ")), {"task": task, "scalars": label}, _by_rows(numbers))
            for (task, label), numbers in _SYMBOLIC.items()
        ),
        measure_templates,
        draw=write_attempts("identity-symbols", "share of wrong symbols"),
    ),
    Experiment(
        "identity-copy", FAMILY, (ERROR, CROSS_ENTROPY, START),
        tuple(
            Setting(
                (label, str(width)), {"model": model, "scalars": scalars, "width": width},
                {ERROR: 0.0} if model == "gpt2" else {},
            )
            for (model, scalars), label in _COPYING.items()
            for width in (32, 128, 512)
        ),
        measure_copying,
        draw=write_attempts("identity-copy", "cross-entropy"),
    ),
    Experiment(
        "identity-kernel", FAMILY, (CONDITION, UNSEEN_ERROR),
        tuple(
            Setting((_SHOWN[task], label), {"task": task, "kernel": kernel})
            for task in ("same-different", "aba-abb", "majority-4", "print-variable")
            for kernel, label in (("attention", "attention and MLP layer"), ("mlp", "MLP layer alone"))
        ),
        measure_kernel,
        trains=False,
    ),
    Experiment(
        "identity-gpt2", FAMILY, (PERPLEXITY,),
        tuple(
            Setting(
                (corpus, label), {"corpus": corpus, "scalars": scalars, "multiplier": multiplier},
                {PERPLEXITY: number} if corpus == "prose" and number else {},
            )
            for corpus in ("prose", "code")
            for label, scalars, multiplier, number in (
                ("GPT-2", "vanilla", 1.0, 64.0),
                ("GPT-2, aI + bI", "aI+bI", 1.0, 60.46),
                ("GPT-2, aI + bI, tenfold learning rate", "aI+bI", 10.0, None),
            )
        ),
        measure_gpt2,
    ),
)  # fmt: skip
