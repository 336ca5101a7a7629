"""What a model of a user's own pairs is worth, measured when its training ends: exact matches and alpha-covariance."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from hf_symbinv.evaluation.checkpoints import load_checkpoint
from hf_symbinv.evaluation.report import evaluate_checkpoint, load_questions, training_classes
from hf_symbinv.files import write_atomically
from hf_symbinv.hub.cards.facts import RECORD, RESULTS, add_results, read_facts, read_recorded, read_results
from hf_symbinv.hub.cards.model import NOVEL, write_model_card
from hf_symbinv.hub.cards.records import Record

# Our choice: questions with each number of symbols whose renamings are answered.
RENAMED_QUESTIONS = 5
SHARE = ("count", "accuracy", "accuracy_interval")


def measure_pairs(folder: Path) -> dict[str, Any]:
    """Measures a model on the test questions of its data; the folder gets the evaluation, and its card is written anew.

    What was measured before is only read. Returned are `test_alpha_covariance` with its interval and, if training has
    test questions under other names, the share of exact answers to the rest as `test_novel_accuracy`.
    """
    record = read_recorded(folder / RECORD, Record)
    source, counts = str(record["data"]["source"]), record["data"]["builder"]
    found = [one for one in _known(folder) if (one["data"], one["split"]) == (source, "test")]
    evaluation = found[-1] if found else _measured(folder, source, record["recipe"]["test_rows"], counts)
    novel = [group["summary"] for group in evaluation["groups"] if group["label"] == NOVEL]
    measured = evaluation["alpha_covariance"]
    return {
        **{f"test_novel_{name}": summary[name] for summary in novel for name in SHARE},
        "test_alpha_covariance": measured["alpha_covariance"],
        "test_alpha_covariance_interval": measured["interval"],
    }


def _known(folder: Path) -> list[dict[str, Any]]:
    path = folder / RESULTS
    return read_results([path] if path.is_file() else [])


def _measured(folder: Path, source: str, rows: int, counts: dict[str, Any]) -> dict[str, Any]:
    checkpoint = load_checkpoint(str(folder))
    task, generation = checkpoint.task, checkpoint.model.generation_config
    has_twins = bool(counts["test_questions_with_a_twin_in_train"])
    with task.checker() as checker:
        evaluation = evaluate_checkpoint(
            replace(checkpoint, name=folder.name),
            load_questions(task, source, "test", rows),
            checker,
            data=source,
            split="test",
            trained_on=training_classes(task, source) if has_twins else frozenset(),
            alpha_covariance_questions=RENAMED_QUESTIONS,
            progress=sys.stderr.isatty(),
            num_beams=generation.num_beams,
            max_new_tokens=generation.max_new_tokens,
        ).to_dict()
    facts = read_facts(folder, task=task)
    facts = replace(facts, results=add_results(facts.results, [evaluation]))
    write_atomically(folder / RESULTS, json.dumps(facts.results, indent=1, ensure_ascii=False) + "\n")
    write_model_card(folder, facts)
    return evaluation


__all__ = ["measure_pairs"]
