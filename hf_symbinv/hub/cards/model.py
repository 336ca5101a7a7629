"""Model cards: what is known about a model, as text for people and as the metadata that the Hub reads."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hf_symbinv.files import write_atomically
from hf_symbinv.hub.cards.dataset import LICENSE
from hf_symbinv.hub.cards.energy import estimate_energy
from hf_symbinv.hub.cards.facts import CardError, ModelFacts, hub_id, repository_of
from hf_symbinv.hub.cards.kinds import EMBEDDINGS, TASKS
from hf_symbinv.hub.cards.papers import papers_of
from hf_symbinv.hub.cards.relatives import BASELINES, papers_of_variant, relative_name, relative_of, variant_of
from hf_symbinv.hub.cards.rendering import check_card, program, render
from hf_symbinv.hub.cards.training_data import read_training_data

CARD = "README.md"
MARK = "<!-- Written by `symbinv card` from the files in this folder. What stands between the notes' marks is kept. -->"
NOTES_BEGIN, NOTES_END = "<!-- notes -->", "<!-- end of notes -->"
# Our choice: rows of the table of losses, at most.
LOG_ROWS = 12
LOG_COLUMNS = ("step", "training loss", "validation loss", "validation verified")
SEQ2SEQ = "SymbolInvariantForConditionalGeneration"
# What an evaluation calls the questions that training has under no names.
NOVEL = "no renamed twin in train"
UNRECORDED = "not recorded"
# Fields of the configuration that say what model it is.
FIELDS = (
    "symbol_embedding", "components", "num_symbols", "d_model", "encoder_layers", "encoder_passes", "decoder_layers",
    "num_attention_heads", "d_ff", "activation_function", "dropout", "encoder_positions",
    "encoder_positions_in_layers", "decoder_positions", "loss",
)  # fmt: skip


def write_model_card(folder: Path, facts: ModelFacts, **options: Any) -> Path:
    """Write `README.md` into a folder; notes that were written by hand into an earlier one are kept.

    Args:
        folder: Of the model.
        facts: As `read_facts` finds them there, or with more.
        options: Those of `model_card`, but for `notes`.

    Returns:
        The path of the card.

    Raises:
        CardError: If the folder has a card of other origin or one that is no UTF-8, or as `model_card`.
    """
    path = folder / CARD
    try:
        before = path.read_text(encoding="utf-8") if path.is_file() else ""
    except UnicodeDecodeError as error:
        raise CardError(
            f"{path}: not text in UTF-8 ({error.reason} at byte {error.start}); save it as UTF-8, or move it away"
        ) from None
    if before and MARK not in before:
        raise CardError(f"{path}: was not written by this command; move it away, or choose another file with --output")
    text = model_card(facts, notes=notes_in(before), **options)
    write_atomically(path, text)
    return path


def notes_in(card: str) -> str:
    """What was written by hand between the marks of a card."""
    found = re.search(f"{re.escape(NOTES_BEGIN)}(.*?){re.escape(NOTES_END)}", card, re.DOTALL)
    return found[1].strip("\n") if found else ""


def model_card(facts: ModelFacts, *, datasets: Sequence[str] = (), license: str | None = None, notes: str = "") -> str:
    """The card of a model.

    Args:
        facts: What is known.
        datasets: OWNER/NAME of the training data on the Hub.
        license: The Hub's name for a licence; by default that of the package, and for an encoder of others none.
        notes: Markdown that the card holds too.

    Raises:
        CardError: If the Hub would refuse the card, or a model that answers no questions has a task or evaluations.
    """
    task, relative = facts.task, relative_of(facts.config)
    if relative is not None and (task or facts.results):
        raise CardError(f"{facts.name}: a model for {relative.title} answers no questions; leave task and results out")
    variant = variant_of(facts.config)
    results = [] if relative else [*_own_test(facts), *facts.results]
    text = render(
        "model.md.jinja",
        card_data=_metadata(facts, results, datasets, license),
        mark=MARK, notes_begin=NOTES_BEGIN, notes_end=NOTES_END, notes=notes,
        title=facts.name.rstrip("/").rpartition("/")[2], name=facts.name,
        parameters=f"{facts.parameters:,}",
        variant=variant, purpose=_purpose(facts),
        **_prose(facts),
        tables=relative.tables if relative else (),
        converted={name: public(value) for name, value in facts.conversion.items() if value},
        start=facts.start and public(facts.start),
        **_snippet(facts),
        task_description=task.description if task else "", judged=task is None or task.judges,
        results=[_result(facts.name, evaluation) for evaluation in results],
        training=_training(facts) if facts.record else None,
        unrecorded=UNRECORDED,
        log_columns=LOG_COLUMNS[:3] if relative else LOG_COLUMNS,
        model=[
            (field, _shown(facts.config[field]))
            for field in (relative.fields if relative else FIELDS)
            if facts.config.get(field) is not None
        ],
        papers=papers_of_variant(relative, variant) if relative else papers_of(variant, task.name if task else None),
    )  # fmt: skip
    return check_card(text, "model")


def _purpose(facts: ModelFacts) -> str:
    """What the model is for."""
    if relative := relative_of(facts.config):
        return relative.title
    kind = TASKS.get(facts.task.name) if facts.task else None
    return kind.title if kind else "questions about symbols"


def _prose(facts: ModelFacts) -> dict[str, str | None]:
    """Which templates say what the model makes of symbols, what it is for, and to which model it is a baseline."""
    name, relative, variant = relative_name(facts.config), relative_of(facts.config), variant_of(facts.config)
    if relative is None:
        task = facts.task.name if facts.task and facts.task.name in TASKS else None
        return {
            "embedding": variant if variant in EMBEDDINGS else None,
            "prose": task and f"tasks/{task}",
            "baseline_of": None,
        }
    return {
        "embedding": f"{name}/{variant}" if variant in relative.variants else None,
        "prose": f"relatives/{name}",
        "baseline_of": f"{name}/{relative.variants[0]}" if variant in BASELINES else None,
    }


def _metadata(
    facts: ModelFacts, results: Sequence[Mapping[str, Any]], datasets: Sequence[str], license: str | None
) -> str:
    from huggingface_hub import ModelCardData

    kind = TASKS.get(facts.task.name) if facts.task else None
    relative, variant = relative_of(facts.config), variant_of(facts.config)
    architecture = relative.architecture(facts.config) if relative else None
    tags = [*(relative.tags if relative else ["symbol-invariance"]), variant]
    measured = [entry for evaluation in results for entry in _eval_results(facts, evaluation)]
    return ModelCardData(
        library_name="transformers",
        pipeline_tag=relative.heads[architecture] if relative and architecture else "text-generation",
        license=license if license is not None or facts.encoder else LICENSE,
        tags=[*tags, *(kind.tags if kind else [facts.task.name] if facts.task else [])],
        datasets=list(datasets) or None,
        base_model=facts.conversion.get("base_model") or hub_id(facts.encoder),
        metrics=["accuracy"] if measured else None,
        model_name=facts.name.rstrip("/").rpartition("/")[2] if measured else None,
        eval_results=measured or None,
    ).to_yaml()


def _eval_results(facts: ModelFacts, evaluation: Mapping[str, Any]) -> list[Any]:
    """An evaluation as entries of the model index; the name of a metric says how it was verified and its interval."""
    from huggingface_hub import EvalResult

    summary, data = evaluation["groups"][0]["summary"], str(evaluation["data"])
    repository, config = repository_of(data)
    hub = hub_id(repository) if evaluation.get("hub") else None
    task = facts.task.name if facts.task else "answers"
    name = "the training data" if evaluation.get("by_training") else hub or Path(data).name
    shared: dict[str, Any] = {
        "task_type": "text-generation",
        "task_name": TASKS[task].title if task in TASKS else task,
        "dataset_type": hub or task,
        "dataset_name": name,
        # Or the Hub takes all for one.
        "dataset_config": config if hub else None if evaluation.get("by_training") else name,
        "dataset_split": evaluation["split"],
    }
    by = evaluation.get("verified_by")
    by = (f" by {by}" if by else "") + ", written without the grammar" * _free(evaluation["generation"])
    best, asked = evaluation["groups"][0].get("best_of_n"), f"{summary['count']:,} questions"
    how = f"{'first ' if best else ''}answers verified{by}, {_percent(summary['accuracy_interval'])} (95 %), {asked}"
    entries = [
        EvalResult(metric_type="accuracy", metric_value=round(summary["accuracy"], 4), metric_name=how, **shared)
    ]
    if best:
        n = best["n"]
        how = f"best of {n}: an answer among {n} verified{by}, {_percent(best['verified_interval'])} (95 %), {asked}"
        entries.append(
            EvalResult(metric_type=f"best_of_{n}", metric_value=round(best["verified"], 4), metric_name=how, **shared)
        )
    measured = evaluation.get("alpha_covariance") or {}
    if measured.get("alpha_covariance") is not None:
        entries.append(
            EvalResult(
                metric_type="alpha_covariance",
                metric_value=round(measured["alpha_covariance"], 4),
                metric_name=f"alpha-covariance of {measured['examples']:,} questions",
                **shared,
            )
        )
    return entries


def _own_test(facts: ModelFacts) -> list[dict[str, Any]]:
    """The test at the end of training, as an evaluation; nothing where the same data were evaluated later."""
    results = facts.record.get("results", {})
    summary = {name.removeprefix("test_"): value for name, value in results.items() if name.startswith("test_")}
    measured = {"count", "accuracy", "accuracy_interval"} <= summary.keys() and summary["count"]
    if not measured or any(evaluation["split"] == "test" for evaluation in facts.results):
        return []
    grammar = facts.config.get("grammar")  # which the test of a run follows
    return [
        {
            "model": facts.name, "data": "", "split": "test",
            "generation": {}, "grammar": grammar and grammar["name"], "groups": [{"label": "all", "summary": summary}],
            "verified_by": facts.record.get("verified_by"), "by_training": True,
        }
    ]  # fmt: skip


def _result(name: str, evaluation: Mapping[str, Any]) -> dict[str, Any]:
    """An evaluation as texts and numbers; what was not recorded is None, or empty."""
    data = public(str(evaluation["data"]))
    summary, best = (evaluation["groups"][0].get(key) for key in ("summary", "best_of_n"))
    measured = evaluation.get("alpha_covariance") or {}
    return {
        "by_training": bool(evaluation.get("by_training")),
        "command": shlex.join(_command(name, data, evaluation)),
        "data": data,
        "split": evaluation["split"],
        "rows": [_row(group) for group in evaluation["groups"]],
        "best_of": best and best["n"],
        "decoding": [f"{key} {value}" for key, value in evaluation["generation"].items() if key != "grammar"],
        "grammar": evaluation.get("grammar", UNRECORDED),
        "edit_distance": summary.get("edit_distance"),
        "alpha_covariance": measured if measured.get("alpha_covariance") is not None else None,
        "verified_by": evaluation.get("verified_by"),
    }


def _row(group: Mapping[str, Any]) -> dict[str, str]:
    """A group's cells; empty where only best of N was recorded."""
    summary, best = group["summary"], group.get("best_of_n")
    known = {"accuracy", "accuracy_interval"} <= summary.keys()
    return {
        "label": group["label"],
        "count": f"{summary['count']:,}",
        "share": f"{100 * summary['accuracy']:.1f} %" if known else UNRECORDED,
        "interval": _percent(summary["accuracy_interval"]) if known else "",
        "best": f"{100 * best['verified']:.1f} %" if best else "",
        "best_interval": _percent(best["verified_interval"]) if best else "",
    }


def _command(name: str, data: str, evaluation: Mapping[str, Any]) -> list[str]:
    """The command that measured this, as far as the evaluation tells."""
    generation, measured = evaluation["generation"], evaluation.get("alpha_covariance") or {}
    count = evaluation["groups"][0]["summary"]["count"]
    parts = ["symbinv", "evaluate", name, "--data", data, "--split", evaluation["split"], "--rows", str(count)]
    for option, key, default in (("--beams", "num_beams", 3), ("--n-best", "num_candidates", 1)):
        if generation.get(key, default) != default:
            parts += [option, str(generation[key])]
    parts += ["--no-grammar"] * _free(generation)
    if any(group["label"] == NOVEL for group in evaluation["groups"]):
        parts.append("--novel")
    if "per_symbols" in measured:
        parts += ["--alpha-covariance", str(measured["per_symbols"])]
        if measured.get("renamings") not in (120, None):
            parts += ["--renamings", str(measured["renamings"])]
        if measured.get("alphabet") is not None:
            parts += ["--alphabet", str(measured["alphabet"])]
        parts += ["--every-renaming"] * measured.get("every_renaming", False)
    return parts


def _free(generation: Mapping[str, Any]) -> bool:
    """Whether a model that may have a grammar was told to write freely."""
    return "grammar" in generation and generation["grammar"] is None


def _percent(interval: Sequence[float]) -> str:
    low, high = interval
    return f"{100 * low:.1f} – {100 * high:.1f} %"


def _snippet(facts: ModelFacts) -> dict[str, Any]:
    """Questions for the snippets, and the pipeline that answers them; its file, for a task that is a user's own."""
    task, architectures = facts.task, facts.config.get("architectures") or [SEQ2SEQ]
    found: dict[str, Any] = {"pipeline": None, "prompt": None, "example": None, "task_file": None, "program": None}
    relative = relative_of(facts.config)
    if relative is not None and (architecture := relative.architecture(facts.config)):
        return {**found, "program": program(architecture, facts.name, facts.tokenizer)}
    if SEQ2SEQ not in architectures:
        return found
    if task is None:
        return {**found, "prompt": "a"}
    kind = TASKS.get(task.name)
    if kind is not None:
        prompt = task.prompt(task.read_question(kind.example, task.notations[0]))
        return {**found, "pipeline": kind.pipeline, "prompt": prompt, "example": kind.example}
    drawn = task.example()
    file = Path(str(facts.record.get("recipe", {}).get("task", f"{task.name}.py"))).name
    example = task.write_question(drawn, task.notations[0])
    told = {"prompt": task.prompt(drawn), "example": example, "task_file": file if task.judges else None}
    return {**found, "pipeline": "symbol-task", **told}


def _training(facts: ModelFacts) -> dict[str, Any]:
    record = facts.record
    recipe = record.get("recipe", {})
    own = "hyperparameters" in record
    hyperparameters = record["hyperparameters"] if own else recipe.get("trainer", {})
    return {
        "data": _data(record),
        "rows": [(split, f"{count:,}") for split, count in record.get("rows", {}).items()],
        "command": public(record.get("command", "")),
        "facts": list(_machine(record)),
        "energy": estimate_energy(record),
        "set_by_recipe": not own,
        "hyperparameters": [(name, _shown(value)) for name, value in hyperparameters.items()],
        "log": log_table(record.get("log", [])),
    }


def _data(record: Mapping[str, Any]) -> dict[str, Any] | None:
    """What it was trained on, as texts; None if that was not recorded."""
    data = read_training_data(record)
    if data is None:
        return None

    def span(pair: tuple[int, int] | None) -> str:
        return UNRECORDED if pair is None else f"{pair[0]} – {pair[1]}"

    return {
        "source": data.source and public(data.source),
        "options": public(", ".join(f"{name} {_shown(value)}" for name, value in data.builder.items())),
        "splits": [
            {
                "name": split.name, "rows": UNRECORDED if split.rows is None else f"{split.rows:,}",
                "symbols": span(split.symbols), "size": span(split.size), "sha256": split.sha256,
            }
            for split in data.splits
        ],
        "measured": any(split.symbols or split.size for split in data.splits),
        "summed": any(split.sha256 for split in data.splits),
        "streamed": any(split.files for split in data.splits),
    }  # fmt: skip


def _machine(record: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    """Steps, time, hardware and versions, as far as they were recorded."""
    machine = record.get("environment", {})
    steps = record.get("step") or max((entry.get("step", 0) for entry in record.get("log", [])), default=0)
    if steps:
        planned = record.get("max_steps")
        yield "steps", f"{steps:,}" + (f" of {planned:,}" if planned and planned > steps else "")
    if record.get("seconds"):
        yield "time", duration(record["seconds"])
    if machine.get("threads"):
        processes, cores = record.get("processes") or 1, machine.get("cpu_count")
        each = f"{machine['threads']} thread{'s' * (machine['threads'] > 1)}"
        share = f"{processes} processes with {each} each" if processes > 1 else each
        yield "CPU", f"{machine.get('cpu') or 'model not recorded'}; {share}{f' on {cores} cores' if cores else ''}"
    if machine.get("accelerator"):
        yield "accelerator", f"{record.get('processes') or 1} × {machine['accelerator']}"
    versions = {"Python": machine.get("python"), **machine.get("packages", {})}
    if any(versions.values()):
        yield "versions", ", ".join(f"{name} {version}" for name, version in versions.items() if version)


def public(text: str) -> str:
    """A path or a command, with absolute paths cut to their last part: the others tell about somebody's machine."""
    return re.sub(r"(?<![^\s='\"])[/~][^\s'\"]*/([^\s'\"/]+)/?", r"\1", text)


def duration(seconds: float) -> str:
    """Hours and minutes, or seconds if it is short."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


def log_table(log: Sequence[Mapping[str, Any]]) -> list[tuple[str, str, str, str]]:
    """Step, training loss, validation loss and share of verified answers: of evaluations, or of a few steps.

    Args:
        log: As the trainer's `log_history`.
    """
    rows: dict[int, dict[str, float]] = {}
    for entry in log:
        if entry.get("step"):
            rows.setdefault(entry["step"], {}).update(entry)
    losses = {step: row["loss"] for step, row in rows.items() if "loss" in row}
    steps = [step for step, row in rows.items() if "eval_loss" in row] or list(losses)
    if len(steps) > LOG_ROWS:
        steps = [steps[round(place * (len(steps) - 1) / (LOG_ROWS - 1))] for place in range(LOG_ROWS)]
    table = []
    for step in steps:
        before = [known for known in losses if known <= step]
        loss = losses[max(before)] if before else None
        row = rows[step]
        share = row.get("eval_accuracy")
        table.append(
            (f"{step:,}", _number(loss), _number(row.get("eval_loss")), "" if share is None else f"{100 * share:.1f} %")
        )
    return table


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


def _shown(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


__all__ = ["CARD", "MARK", "duration", "log_table", "model_card", "notes_in", "public", "write_model_card"]
