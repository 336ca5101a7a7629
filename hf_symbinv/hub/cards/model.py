"""Model cards: what is known about a model, as text for people and as the metadata that the Hub reads."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hf_symbinv.files import write_atomically
from hf_symbinv.hub.cards.descriptions import TASKS, embedding_of
from hf_symbinv.hub.cards.energy import estimate_energy
from hf_symbinv.hub.cards.facts import CardError, ModelFacts, hub_id
from hf_symbinv.hub.cards.papers import papers_of
from hf_symbinv.hub.cards.relatives import NAME, papers_of_variant, relative_of, variant_of
from hf_symbinv.hub.cards.rendering import check_card, render
from hf_symbinv.tasks import symbol_names

CARD = "README.md"
MARK = "<!-- Written by `symbinv card` from the files in this folder. What stands between the notes' marks is kept. -->"
NOTES_BEGIN, NOTES_END = "<!-- notes -->", "<!-- end of notes -->"
# Our choice: rows of the table of losses, at most.
LOG_ROWS = 12
LOG_COLUMNS = ("step", "training loss", "validation loss", "validation verified")
SEQ2SEQ = "SymbolInvariantForConditionalGeneration"
# What an evaluation calls the questions that training has under no names.
NOVEL = "no renamed twin in train"
# Fields of the configuration that say what model it is.
FIELDS = (
    "symbol_embedding", "components", "num_symbols", "d_model", "encoder_layers", "decoder_layers",
    "num_attention_heads", "d_ff", "activation_function", "dropout", "encoder_positions", "decoder_positions", "loss",
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
        CardError: If the folder has a card of other origin, or as `model_card`.
    """
    path = folder / CARD
    before = path.read_text(encoding="utf-8") if path.is_file() else ""
    if before and MARK not in before:
        raise CardError(f"{path}: was not written by this command; move it away, or choose another file with --output")
    text = model_card(facts, notes=notes_in(before), **options)
    write_atomically(path, text)
    return path


def notes_in(card: str) -> str:
    """What was written by hand between the marks of a card."""
    found = re.search(f"{re.escape(NOTES_BEGIN)}(.*?){re.escape(NOTES_END)}", card, re.DOTALL)
    return found[1].strip("\n") if found else ""


def model_card(facts: ModelFacts, *, datasets: Sequence[str] = (), license: str = "apache-2.0", notes: str = "") -> str:
    """The card of a model.

    Args:
        facts: What is known.
        datasets: OWNER/NAME of the training data on the Hub.
        license: The Hub's name for a licence.
        notes: Markdown that the card holds too.

    Raises:
        CardError: If the Hub would refuse the card, or a model that answers no questions has a task or evaluations.
    """
    task, relative = facts.task, relative_of(facts.config)
    if relative is not None and (task or facts.results):
        raise CardError(f"{facts.name}: a model for {relative.title} answers no questions; leave task and results out")
    variant = variant_of(facts.config)
    kind = relative.of_variant(variant) if relative else TASKS.get(task.name) if task else None
    results = [] if relative else [*_own_test(facts), *facts.results]
    text = render(
        "model.md.jinja",
        card_data=_metadata(facts, results, datasets, license),
        mark=MARK, notes_begin=NOTES_BEGIN, notes_end=NOTES_END, notes=notes,
        title=facts.name.rstrip("/").rpartition("/")[2], name=facts.name,
        parameters=f"{facts.parameters:,}",
        embedding=(relative.variants.get(variant) if relative else None) or embedding_of(variant),
        kind=kind, relative=relative,
        converted={name: public(value) for name, value in facts.conversion.items() if value},
        start=facts.start and public(facts.start),
        **_snippet(facts),
        task_description=task.description if task else "",
        results=[_result(facts.name, evaluation) for evaluation in results],
        training=_training(facts) if facts.record else None,
        log_columns=LOG_COLUMNS[:3] if relative else LOG_COLUMNS,
        model=[
            (field, _shown(facts.config[field]))
            for field in (relative.fields if relative else FIELDS)
            if facts.config.get(field) is not None
        ],
        papers=papers_of_variant(relative, variant) if relative else papers_of(variant, task.name if task else None),
    )  # fmt: skip
    return check_card(text, "model")


def _metadata(facts: ModelFacts, results: Sequence[Mapping[str, Any]], datasets: Sequence[str], license: str) -> str:
    from huggingface_hub import ModelCardData

    kind = TASKS.get(facts.task.name) if facts.task else None
    relative, variant = relative_of(facts.config), variant_of(facts.config)
    head = relative.head(facts.config) if relative else None
    tags = [*(relative.tags if relative else ["symbol-invariance"]), variant]
    measured = [entry for evaluation in results for entry in _eval_results(facts, evaluation)]
    return ModelCardData(
        library_name="transformers",
        pipeline_tag=head.pipeline_tag if head else "text-generation",
        license=license,
        tags=[*tags, *(kind.tags if kind else [facts.task.name] if facts.task else [])],
        datasets=list(datasets) or None,
        base_model=facts.conversion.get("base_model"),
        metrics=["accuracy"] if measured else None,
        model_name=facts.name.rstrip("/").rpartition("/")[2] if measured else None,
        eval_results=measured or None,
    ).to_yaml()


def _eval_results(facts: ModelFacts, evaluation: Mapping[str, Any]) -> list[Any]:
    """An evaluation as entries of the model index; the name of a metric says how it was verified and its interval."""
    from huggingface_hub import EvalResult

    summary, data = evaluation["groups"][0]["summary"], str(evaluation["data"])
    hub = hub_id(data) if evaluation.get("hub") else None
    task = facts.task.name if facts.task else "answers"
    name = "the training data" if evaluation.get("by_training") else hub or Path(data).name
    shared: dict[str, Any] = {
        "task_type": "text-generation",
        "task_name": TASKS[task].title if task in TASKS else task,
        "dataset_type": hub or task,
        "dataset_name": name,
        "dataset_config": None if hub or evaluation.get("by_training") else name,  # or the Hub takes all for one
        "dataset_split": evaluation["split"],
    }
    by = evaluation.get("verified_by")
    how = f"answers verified{f' by {by}' if by else ''}, {_interval(summary)} (95 %), {summary['count']:,} questions"
    entries = [
        EvalResult(metric_type="accuracy", metric_value=round(summary["accuracy"], 4), metric_name=how, **shared)
    ]
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
    if not summary.get("count") or any(evaluation["split"] == "test" for evaluation in facts.results):
        return []
    return [
        {
            "model": facts.name, "data": "", "split": "test",
            "generation": {}, "groups": [{"label": "all", "summary": summary}],
            "verified_by": facts.record.get("verified_by"), "by_training": True,
        }
    ]  # fmt: skip


def _result(name: str, evaluation: Mapping[str, Any]) -> dict[str, Any]:
    summary = evaluation["groups"][0]["summary"]
    by = f" Verified by {evaluation['verified_by']}." if evaluation.get("verified_by") else ""
    data, split = public(str(evaluation["data"])), evaluation["split"]
    heading = f"On {data}, split {split}:"
    decoding = ", ".join(f"{key} {value}" for key, value in evaluation["generation"].items())
    command = shlex.join(_command(name, data, evaluation))
    if evaluation.get("by_training"):
        heading, command = "On split test of the training data, at the end of training:", ""
    rows = [
        {
            "label": group["label"], "count": f"{group['summary']['count']:,}",
            "share": f"{100 * group['summary']['accuracy']:.1f} %", "interval": _interval(group["summary"]),
        }
        for group in evaluation["groups"]
    ]  # fmt: skip
    more = [f"Decoded with {decoding}."] if decoding else []
    if "edit_distance" in summary:
        more.append(f"Mean edit distance {summary['edit_distance']:.2f}.")
    measured = evaluation.get("alpha_covariance") or {}
    if measured.get("alpha_covariance") is not None:
        more.append(_alpha_covariance(measured))
    return {"heading": heading, "command": command, "rows": rows, "more": (" ".join(more) + by).strip()}


def _alpha_covariance(measured: Mapping[str, Any]) -> str:
    """Alpha-covariance, over all questions and for each number of symbols, in sentences."""

    def mean(part: Mapping[str, Any]) -> str:
        low, high = part.get("interval") or (None, None)
        return f"{part['alpha_covariance']:.4f}" + ("" if low is None else f" ({low:.4f} – {high:.4f})")

    text = (
        f"Alpha-covariance {mean(measured)} over {measured['examples']:,} questions and {measured['predictions']:,} "
        "answers to renamed ones"
    )
    parts = [f"{mean(part)} with {part['symbols']}" for part in measured.get("by_symbols", [])]
    text += f"; by number of symbols {', '.join(parts)}." if parts else "."
    if measured.get("renamed"):
        text += " Each question was decoded once and its answer renamed: names do not reach a model with streams."
    return text


def _command(name: str, data: str, evaluation: Mapping[str, Any]) -> list[str]:
    """The command that measured this, as far as the evaluation tells."""
    generation, measured = evaluation["generation"], evaluation.get("alpha_covariance") or {}
    count = evaluation["groups"][0]["summary"]["count"]
    parts = ["symbinv", "evaluate", name, "--data", data, "--split", evaluation["split"], "--rows", str(count)]
    for option, key, default in (("--beams", "num_beams", 3), ("--n-best", "num_candidates", 1)):
        if generation.get(key, default) != default:
            parts += [option, str(generation[key])]
    if any(group["label"] == NOVEL for group in evaluation["groups"]):
        parts.append("--novel")
    if "per_symbols" in measured:
        parts += ["--alpha-covariance", str(measured["per_symbols"])]
        if measured["renamings"] not in (120, None):
            parts += ["--renamings", str(measured["renamings"])]
        if measured["alphabet"] is not None:
            parts += ["--alphabet", str(measured["alphabet"])]
        parts += ["--every-renaming"] * measured["every_renaming"]
    return parts


def _interval(summary: Mapping[str, Any]) -> str:
    low, high = summary["accuracy_interval"]
    return f"{100 * low:.1f} – {100 * high:.1f} %"


def _snippet(facts: ModelFacts) -> dict[str, Any]:
    """Questions for the snippets, and the pipeline that answers them; its file, for a task that is a user's own."""
    task, architectures = facts.task, facts.config.get("architectures") or [SEQ2SEQ]
    found: dict[str, Any] = {"pipeline": None, "prompt": None, "example": None, "task_file": None, "snippet": None}
    relative = relative_of(facts.config)
    if relative is not None and (head := relative.head(facts.config)):
        return {**found, "snippet": head.snippet.replace(NAME, json.dumps(facts.name, ensure_ascii=False))}
    if SEQ2SEQ not in architectures:
        return found
    if task is None:
        return {**found, "prompt": "a"}
    kind = TASKS.get(task.name)
    if kind is not None:
        prompt = task.prompt(task.read_question(kind.example, task.notations[0]))
        return {**found, "pipeline": kind.pipeline, "prompt": prompt, "example": kind.example}
    drawn = next(iter(task.draw(symbol_names(4), 4, 8, 0, 50)), "a")
    file = Path(str(facts.record.get("recipe", {}).get("task", f"{task.name}.py"))).name
    example = task.write_question(drawn, task.notations[0])
    told = {"prompt": task.prompt(drawn), "example": example, "task_file": file}
    return {**found, "pipeline": "symbol-task", **told}


def _training(facts: ModelFacts) -> dict[str, Any]:
    record = facts.record
    recipe = record.get("recipe", {})
    kind = TASKS.get(facts.task.name) if facts.task else None
    told = [f"{name} {value}" for name, value in recipe.get("data", {}).items()]
    rows = [f"{count:,} {split}" for split, count in record.get("rows", {}).items()]
    data = " ".join(
        [
            *([kind.data] if kind else []),
            *([f"As the recipe asks for them: {', '.join(told)}."] if told else []),
            *([f"Rows: {', '.join(rows)}."] if rows else []),
        ]
    )
    own = "hyperparameters" in record
    hyperparameters = record["hyperparameters"] if own else recipe.get("trainer", {})
    return {
        "data": data or "The training data were not recorded.",
        "command": public(record.get("command", "")),
        "facts": list(_machine(record)),
        "which": f"Hyperparameters {'that are not the defaults' if own else 'that the recipe sets'}",
        "hyperparameters": [(name, _shown(value)) for name, value in hyperparameters.items()],
        "log": log_table(record.get("log", [])),
    }


def _machine(record: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    """Steps, time, hardware, energy and versions, as far as they were recorded."""
    machine = record.get("environment", {})
    steps = record.get("step") or max((entry.get("step", 0) for entry in record.get("log", [])), default=0)
    if steps:
        planned = record.get("max_steps")
        yield "steps", f"{steps:,}" + (f" of {planned:,}" if planned and planned > steps else "")
    if record.get("seconds"):
        yield "time", duration(record["seconds"])
    if machine.get("threads"):
        processes = record.get("processes", 1)
        each = f"{machine['threads']} thread{'s' * (machine['threads'] > 1)}"
        share = f"{processes} processes with {each} each" if processes > 1 else each
        yield "CPU", f"{machine.get('cpu') or 'model not recorded'}; {share} on {machine['cpu_count']} cores"
    if machine.get("accelerator"):
        yield "accelerator", f"{record.get('processes', 1)} × {machine['accelerator']}"
    if energy := estimate_energy(record):
        yield "energy", f"about {energy}, {energy.assumption}"
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
