"""Reads the results of `run.py` where solvers are: has answers checked, keeps everything, and writes the tables.

    python benchmarks/gpu/report.py build/gpu/results

Writes `benchmarks/results/gpu.json` and `gpu.md`, the measured rows of `docs/gpu.md`, and trained models as checkpoints
beside the results.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from pack import TASKS
from packed import NONE
from runs import RUNS, SPLITS, Run, trained
from setting import PAPER, REHEARSED, ROOT, Setting
from steps import COMPILED, WAYS
from store import Store

from hf_symbinv.files import write_atomically
from hf_symbinv.tasks import symbol_names

# The measured rows of the page stand between these.
BEGIN = "<!-- measured rows, written by benchmarks/gpu/report.py -->"
END = "<!-- end of the measured rows -->"
# The papers' correct answers in percent, to held-out formulas of at most 5 symbols and on the grid: SIT Tables 1 to 3.
PAPERS = {"ltl": (98.24, 90.47), "streams-base": (98.24, 90.47), "prop": (98.03, 95.05)}
GOALS = {"times": 10, "ms": 20, "symbols": 1.3, "beam_ms": 0.5, "minutes": 15}


def texts(task: str, rows: torch.Tensor) -> list[str]:
    """Token ids `(Q, T)` as text in prefix notation, with the symbols called a, b, ...; special tokens are left out."""
    tokenizer, names = TASKS[task].tokenizer(), symbol_names(256)
    return [
        tokenizer.decode([token for token in row if token != NONE], skip_special_tokens=True, symbols=names)
        for row in rows.tolist()
    ]


def verified(setting: Setting, run: Run) -> dict[str, Any] | None:
    """The verdicts on the answers to each split, as numbers; None if there are no answers yet."""
    if "questions" not in setting.store.results.get(f"answers-{run.name}", {}).get("values", {}):
        return None
    answers, pack, found = setting.store.read(f"answers-{run.name}"), setting.pack(run.task), {}
    for split in SPLITS:
        rows = pack.rows(split)
        questions, references = texts(run.task, rows.questions), texts(run.task, rows.answers)
        with TASKS[run.task].checker() as checker:
            pairs = list(zip(questions, texts(run.task, answers[split]), strict=True))
            verdicts = [result.verdict for result in checker.check(pairs, references)]
        found[split] = {verdict: verdicts.count(verdict) for verdict in sorted(set(verdicts))}
    return found


def share(verdicts: dict[str, int]) -> float:
    """Percent of correct answers."""
    return 100 * (verdicts.get("correct", 0) + verdicts.get("exact", 0)) / sum(verdicts.values())


def lines(results: dict[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    """What was measured, the value, the goal, and what stands beside it."""
    values = {name: result["values"] for name, result in results.items()}
    for name, result in results.items():
        if "error" in result:
            yield name, f"failed: {result['error'][:80]}", "", ""
    good = {name: one for name, one in values.items() if "error" not in one}
    for precision in ("float32", "bfloat16"):
        if law := good.get(f"law-{precision}"):
            searches = [one for one in law.values() if isinstance(one, dict)]
            told = f"{sum(one['renamings'] for one in searches)} of {sum(one['answers'] for one in searches)} answers"
            same = ", ".join(f"{search} {law[f'{search}-as-cpu']:.1%}" for search in ("greedy", "beam"))
            told += f", {law['logits_equal']:,} of {law['logits']:,} logits bit for bit"
            yield f"renaming law, {precision}", told, "all", f"answers that are the CPU's: {same}"
    peer = good.get("step-transcription")
    if peer:
        yield "a step, transcription of the paper, eager float32", rate(peer), "", memory(peer)
    if bart := good.get("step-bart"):
        for precision in ("float32", "bfloat16"):
            yield (
                f"a step, BART of the same size, eager {precision}",
                rate(bart[precision]),
                "",
                memory(bart[precision]),
            )
    for way in (*WAYS, *COMPILED):
        if step := good.get(f"step-{way.name}"):
            told, goal = rate(step), f"≤ {GOALS['ms']} ms"
            if peer:
                told += f", {step['rows_per_second'] / peer['rows_per_second']:.1f} times the transcription"
                goal += f", ≥ {GOALS['times']} times"
            yield f"a step, {way.name}", told, goal, f"{memory(step)}; {step['seconds_to_start']:.0f} s to begin"
    if symbols := good.get("step-symbols"):
        ratio = symbols["10"]["seconds"] / symbols["1"]["seconds"]
        yield f"a step with 10 symbols beside 1, {symbols['way']}", f"{ratio:.2f} times", f"≤ {GOALS['symbols']}", ""
    for name, beams in good.items():
        if name.startswith("beams-"):
            _, task, width = name.split("-")
            told = ", ".join(f"{ms:.2f} ms with {count} symbols" for count, ms in beams["ms_per_question"].items())
            beside = "the paper on an L40S: 3.38 to 5.13 ms" if (task, width) == ("prop", "3") else ""
            yield (
                f"beam-{width} of {task}, a question",
                told,
                f"≤ {GOALS['beam_ms']} ms" if width == "3" else "",
                beside,
            )
    if resumed := good.get("resumed"):
        told = "bit for bit" if not resumed["different"] else f"{len(resumed['different'])} tensors differ"
        yield f"a training stopped and resumed, {resumed['way']}", told, "bit for bit", ""
    for run in RUNS:
        if reached := good.get(f"run-{run.name}"):
            told = f"{reached['step']:,} of {reached['steps']:,} steps in {reached['seconds'] / 60:.1f} min"
            beside = ""
            if verdicts := reached.get("verdicts"):
                told += "; " + ", ".join(f"{split} {share(verdicts[split]):.2f} %" for split in SPLITS)
                beside = "the paper: {} %, {} %".format(*PAPERS[run.name])
            yield f"training {run.name}, {reached['way']}", told, f"{GOALS['minutes']} min", beside


def rate(step: dict[str, Any]) -> str:
    """Milliseconds and rows a second."""
    return f"{1000 * step['seconds']:.1f} ms, {step['rows_per_second']:,.0f} rows/s"


def memory(step: dict[str, Any]) -> str:
    """Peak memory."""
    return "memory not measured" if step["memory_GB"] is None else f"{step['memory_GB']:.1f} GB"


def table(results: dict[str, Any]) -> str:
    """The results as Markdown: machines, then a row for each."""
    machines = {json.dumps(result["machine"], sort_keys=True): result["machine"] for result in results.values()}
    heads = []
    for one in machines.values():
        versions = ", ".join(f"{name} {version}" for name, version in one["versions"].items() if version)
        heads.append(f"{one['card']}, driver {one['driver'] or 'none'}; {versions}; commit {one['commit']}")
    rows = [f"| {' | '.join(line)} |" for line in lines(results)]
    return "\n".join([*heads, "", "| what | measured | goal | beside |", "|---|---|---|---|", *rows, ""])


def put_into(page: str, written: str) -> str:
    """A page with other measured rows.

    Raises:
        ValueError: If it has no place for them.
    """
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"docs/gpu.md has no lines {BEGIN} and {END}; put them where the measured rows belong")
    return f"{before}{BEGIN}\n\n{written}\n{END}{after}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; its exit code."""
    command = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    command.add_argument("results", type=Path, help="the folder that run.py wrote")
    command.add_argument("--packs", type=Path, help="what pack.py wrote (default: packs, beside the results)")
    command.add_argument("--rehearse", action="store_true", help="toy models; everything is written beside the results")
    options = command.parse_args(arguments)
    beside = options.results.parent
    sizes, into = (REHEARSED, beside / "read") if options.rehearse else (PAPER, ROOT)
    setting = Setting(Store(options.results), options.packs or beside / "packs", sizes, "cpu", float("inf"))
    results = setting.store.results
    for run in RUNS:
        if verdicts := verified(setting, run):
            results[f"run-{run.name}"]["values"]["verdicts"] = verdicts
            folder = beside / "checkpoints" / run.name
            trained(setting, run).save_pretrained(folder)
            TASKS[run.task].tokenizer().save_pretrained(folder)
    folder, page = into / "benchmarks/results", into / "docs/gpu.md"
    if options.rehearse:
        folder.mkdir(parents=True, exist_ok=True)
        page.parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / "docs/gpu.md", page)
    written = table(results)
    write_atomically(folder / "gpu.json", json.dumps(results, indent=1) + "\n")
    write_atomically(folder / "gpu.md", written)
    write_atomically(page, put_into(page.read_text(encoding="utf-8"), written))
    print(written)
    return 0


if __name__ == "__main__":
    sys.exit(main())
