"""Model cards: what is known about a model, as text for people and as the metadata that the Hub reads."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from hf_symbinv.files import write_atomically
from hf_symbinv.hub.cards.dataset import LICENSE
from hf_symbinv.hub.cards.facts import CardError, ModelFacts, hub_id, repository_of
from hf_symbinv.hub.cards.families import (
    BASELINES,
    EMBEDDINGS,
    FIELDS,
    TASKS,
    papers_of,
    papers_of_variant,
    relative_name,
    relative_of,
    variant_of,
)
from hf_symbinv.hub.cards.rendering import check_card, program, public, render

CARD = "README.md"
MARK = "<!-- Written by `symbinv card` from the files in this folder. What stands between the notes' marks is kept. -->"
NOTES_BEGIN, NOTES_END = "<!-- notes -->", "<!-- end of notes -->"
SEQ2SEQ = "SymbolInvariantForConditionalGeneration"
# Option of `symbinv evaluate` -> what an evaluation calls it, and where nothing has to be said.
_DECODING = (
    ("--beams", "num_beams", 3), ("--n-best", "num_candidates", 1), ("--max-new-tokens", "max_new_tokens", 100),
    ("--embedding-seed", "embedding_seed", None),
)  # fmt: skip
# What an evaluation calls the questions that training has under no names.
NOVEL = "no renamed twin in train"


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
    task, relative, variant = facts.task, relative_of(facts.config), variant_of(facts.config)
    if relative is not None and (task or facts.results):
        raise CardError(f"{facts.name}: a model for {relative.title} answers no questions; leave task and results out")
    kind, record = TASKS.get(task.name) if task else None, facts.record
    results = [] if relative else [*_own_test(facts), *facts.results]
    text = render(
        "model.md.jinja",
        card_data=_metadata(facts, results, datasets, license),
        mark=MARK, notes_begin=NOTES_BEGIN, notes_end=NOTES_END, notes=notes,
        title=_title(facts), name=facts.name, parameters=f"{facts.parameters:,}", variant=variant,
        purpose=relative.title if relative else kind.title if kind else "questions about symbols",
        **_prose(facts),
        tables=relative.tables if relative else (),
        conversion=facts.conversion, start=facts.start,
        **_snippet(facts),
        task_description=task.description if task else "", judged=task is None or task.judges,
        results=[{**result, "command": shlex.join(_command(facts.name, result))} for result in results],
        record=record, run=list(_run(record)), data=record.get("data"),
        hyperparameters=record.get("hyperparameters", record.get("recipe", {}).get("trainer", {})),
        fields={name: facts.config[name] for name in FIELDS if facts.config.get(name) not in (None, False)},
        papers=papers_of_variant(relative, variant) if relative else papers_of(variant, task.name if task else None),
    )  # fmt: skip
    return check_card(text, "model")


def _title(facts: ModelFacts) -> str:
    return facts.name.rstrip("/").rpartition("/")[2]


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
        model_name=_title(facts) if measured else None,
        eval_results=measured or None,
    ).to_yaml()


def _eval_results(facts: ModelFacts, evaluation: Mapping[str, Any]) -> list[Any]:
    """An evaluation as entries of the model index; the name of a metric says how it was verified and its interval."""
    from huggingface_hub import EvalResult

    data, by_training = str(evaluation["data"]), evaluation.get("by_training")
    repository, config = repository_of(data)
    hub = hub_id(repository) if evaluation.get("hub") else None
    task = facts.task.name if facts.task else "answers"
    name = "the training data" if by_training else hub or Path(data).name

    def entry(metric: str, value: float, what: str) -> Any:
        return EvalResult(
            task_type="text-generation",
            task_name=TASKS[task].title if task in TASKS else task,
            dataset_type=hub or task,
            dataset_name=name,
            dataset_config=config if hub else None if by_training else name,  # or the Hub takes all for one
            dataset_split=evaluation["split"],
            metric_type=metric,
            metric_value=round(value, 4),
            metric_name=what,
        )

    group, by = evaluation["groups"][0], evaluation.get("verified_by")
    summary, best, measured = group["summary"], group.get("best_of_n"), evaluation.get("alpha_covariance") or {}
    by = (f" by {by}" if by else "") + (", written without the grammar" if _is_free(evaluation) else "")

    def told(interval: Sequence[float]) -> str:
        return (
            f"verified{by}, {100 * interval[0]:.1f} – {100 * interval[1]:.1f} % (95 %), {summary['count']:,} questions"
        )

    first = "first answers" if best else "answers"
    entries = [entry("accuracy", summary["accuracy"], f"{first} {told(summary['accuracy_interval'])}")]
    if best:
        n = best["n"]
        how = f"best of {n}: an answer among {n} {told(best['verified_interval'])}"
        entries.append(entry(f"best_of_{n}", best["verified"], how))
    if measured.get("alpha_covariance") is not None:
        how = f"alpha-covariance of {measured['examples']:,} questions"
        entries.append(entry("alpha_covariance", measured["alpha_covariance"], how))
    return entries


def _command(name: str, evaluation: Mapping[str, Any]) -> list[str]:
    """The command that measured this, as far as the evaluation tells."""
    generation, measured = evaluation["generation"], evaluation.get("alpha_covariance") or {}
    count, data = evaluation["groups"][0]["summary"]["count"], public(str(evaluation["data"]))
    parts = ["symbinv", "evaluate", name, "--data", data, "--split", evaluation["split"], "--rows", str(count)]
    for option, key, default in _DECODING:
        if generation.get(key, default) != default:
            parts += [option, str(generation[key])]
    parts += ["--no-grammar"] * _is_free(evaluation)
    parts += ["--novel"] * any(group["label"] == NOVEL for group in evaluation["groups"])
    if "per_symbols" in measured:
        parts += ["--alpha-covariance", str(measured["per_symbols"])]
        if measured.get("renamings") not in (120, None):
            parts += ["--renamings", str(measured["renamings"])]
        if measured.get("alphabet") is not None:
            parts += ["--alphabet", str(measured["alphabet"])]
        parts += ["--every-renaming"] * measured.get("every_renaming", False)
    return parts


def _is_free(evaluation: Mapping[str, Any]) -> bool:
    """Whether a model that may have a grammar was told to write freely."""
    return evaluation["generation"].get("grammar", "") is None


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


def _run(record: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    """Steps, time, hardware and versions, as far as they were recorded."""
    machine, steps, planned = record.get("environment", {}), record.get("step"), record.get("max_steps")
    steps = steps or max((entry.get("step", 0) for entry in record.get("log", [])), default=0)
    if steps:
        yield "steps", f"{steps:,}" + (f" of {planned:,}" if planned and planned > steps else "")
    if record.get("seconds"):
        yield "time", str(timedelta(seconds=round(record["seconds"])))
    if hardware := machine.get("accelerator") or machine.get("cpu"):
        yield "hardware", f"{record.get('processes') or 1} × {hardware}"
    versions = {"Python": machine.get("python"), **machine.get("packages", {})}
    if any(versions.values()):
        yield "versions", ", ".join(f"{name} {version}" for name, version in versions.items() if version)
