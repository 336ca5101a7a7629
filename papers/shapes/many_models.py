"""Questions with many symbols, the models that answer them, and what an answer costs.

Questions and answers are ids: <s>, <pad>, </s>, three colours, the separator of edges, and then symbols.
"""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch
from transformers import CONFIG_MAPPING, AutoModelForSeq2SeqLM, PreTrainedModel, set_seed

from hf_symbinv.evaluation.cost import peak, reset_peak
from papers.harness.experiments import Job

PAD, EOS, COLOURS, SEPARATOR, BASE = 1, 2, (3, 4, 5), 6, 7
KINDS: dict[str, dict[str, Any]] = {
    "streams": {"symbol_embedding": "streams", "components": ["EP", "EA", "DP", "CP"]},
    "canonical": {"symbol_embedding": "canonical"},
    "renamed": {"symbol_embedding": "renamed"},
    "learned": {"symbol_embedding": "learned"},
}


@dataclass(frozen=True)
class Question:
    """Ids of a question, which end with EOS, and of an answer, which end so too."""

    ids: list[int]
    answer: list[int]


def questions(task: str, sizes: Mapping[str, Any], symbols: Sequence[int], rows: int, seed: int) -> list[Question]:
    """Random questions, whose symbols are drawn from those of the models.

    Args:
        task: `copy` or `colouring`.
        sizes: `names`, how many names there are; of strings `shortest` and `longest`, their lengths, and of graphs
            `edges`, for each vertex.
        symbols: Of a question, the fewest and the most.
        rows: How many.
        seed: Of the draws.
    """
    generator, found = random.Random(seed), []
    for _ in range(rows):
        drawn = generator.sample(range(BASE, BASE + sizes["names"]), generator.randint(*symbols))
        found.append(_copy(generator, drawn, sizes) if task == "copy" else _graph(generator, drawn, sizes))
    return found


def _copy(generator: random.Random, symbols: list[int], sizes: Mapping[str, Any]) -> Question:
    """A string in which each symbol occurs, which is its own answer."""
    length = generator.randint(max(sizes["shortest"], len(symbols)), sizes["longest"])
    string = symbols + generator.choices(symbols, k=length - len(symbols))
    generator.shuffle(string)
    return Question([*string, EOS], [*string, EOS])


def _graph(generator: random.Random, vertices: list[int], sizes: Mapping[str, Any]) -> Question:
    """A graph in which each vertex has an edge; the answer gives each, in their order, the first colour that it can.

    A graph for which three colours do not suffice so is drawn again.
    """
    number = max(round(sizes["edges"] * len(vertices)), (len(vertices) + 1) // 2)
    while True:
        order = generator.sample(vertices, len(vertices))
        edges = [order[at : at + 2] for at in range(0, len(order) - 1, 2)]
        if len(order) % 2:
            edges.append([order[-1], order[0]])
        edges += [generator.sample(vertices, 2) for _ in range(number - len(edges))]
        generator.shuffle(edges)
        colours = _first_fit(edges)
        if colours is not None:
            ids = [token for edge in edges for token in (*edge, SEPARATOR)][:-1]
            return Question([*ids, EOS], [*(token for pair in colours.items() for token in pair), EOS])


def _first_fit(edges: Sequence[Sequence[int]]) -> dict[int, int] | None:
    """For each vertex, in the order of the edges, the first colour that no neighbour has; None if one has none."""
    colours: dict[int, int] = {}
    for vertex in dict.fromkeys(vertex for edge in edges for vertex in edge):
        taken = {colours.get(other) for edge in edges if vertex in edge for other in edge}
        free = [colour for colour in COLOURS if colour not in taken]
        if not free:
            return None
        colours[vertex] = free[0]
    return colours


def right(task: str, question: Question, answer: Sequence[int]) -> tuple[tuple[int, int], bool]:
    """How many parts of an answer are right, of how many, and whether it is as a whole.

    Args:
        task: `copy`, whose parts are tokens, or `colouring`, whose parts are edges.
        question: What was asked.
        answer: Ids, without EOS.
    """
    if task == "copy":
        expected = question.answer[:-1]
        same = sum(one == other for one, other in zip(expected, answer, strict=False))
        return (same, len(expected)), list(answer) == expected
    colouring = dict(zip(answer[::2], answer[1::2], strict=False))
    edges = list(zip(question.ids[::3], question.ids[1::3], strict=True))
    valid = {vertex for vertex, colour in colouring.items() if colour in COLOURS}
    good = sum(one in valid and other in valid and colouring[one] != colouring[other] for one, other in edges)
    vertices = {vertex for edge in edges for vertex in edge}
    complete = len(answer) == 2 * len(vertices) and set(colouring) == vertices == valid
    return (good, len(edges)), complete and good == len(edges)


def padded(rows: Sequence[Sequence[int]], value: int) -> torch.Tensor:
    """Rows of ids as one tensor, (N, longest)."""
    width = max(map(len, rows))
    return torch.tensor([[*row, *[value] * (width - len(row))] for row in rows])


def collate(rows: Sequence[Question]) -> dict[str, torch.Tensor]:
    """Questions with their answers as a model's inputs."""
    ids = padded([row.ids for row in rows], PAD)
    return {
        "input_ids": ids,
        "attention_mask": (ids != PAD).long(),
        "labels": padded([row.answer for row in rows], -100),
    }


def trained(job: Job) -> Path:
    """The folder of the trained model of a row; the rows of a task and a kind share it.

    Raises:
        OutOfTimeError: If there was no time to finish; the next call goes on.
    """
    task, kind = job.values["task"], job.values["model"]
    sizes = job.sizes["tasks"][task]
    own = sizes["streams" if kind == "streams" else "one stream"]
    folder = job.shared / f"{task}-{kind}-seed{job.seed}"
    fields = {**sizes["model"], **KINDS[kind], **own["model"], "num_symbols": sizes["train"]["names"]}
    set_seed(job.seed)
    model = AutoModelForSeq2SeqLM.from_config(CONFIG_MAPPING["symbol_invariant"](base_vocab_size=BASE, **fields))
    arguments = {**sizes["trainer"], **own["trainer"], "seed": job.seed}
    job.time_left()
    job.say(f"model {folder.name}: {arguments['max_steps']} steps, {model.num_parameters():,} parameters")
    rows = arguments["max_steps"] * arguments["per_device_train_batch_size"]
    data = questions(task, sizes["train"], sizes["train"]["symbols"], rows, seed=job.seed)
    job.train(model, folder, arguments, train_dataset=data, data_collator=collate)
    return folder


def loaded(folder: Path, limit: int | None) -> PreTrainedModel:
    """A trained model with a limit of streams, in evaluation mode; None for the limit where it has one stream."""
    return AutoModelForSeq2SeqLM.from_pretrained(folder, max_streams=limit).eval()


def written(model: PreTrainedModel, asked: Sequence[Question]) -> list[list[int]]:
    """Greedy answers, as ids without EOS, at most as long as the longest right one."""
    batch = collate(asked)
    batch.pop("labels")
    longest = max(len(question.answer) for question in asked)
    found = model.generate(**batch, max_new_tokens=longest, do_sample=False)[:, 1:].tolist()
    return [row[: row.index(EOS)] if EOS in row else row for row in found]


def answers(folder: Path, limit: int | None, asked: Sequence[Question], batch: int) -> list[list[int]]:
    """Greedy answers of a trained model, `batch` questions at a time."""
    model = loaded(folder, limit)
    return [row for start in range(0, len(asked), batch) for row in written(model, asked[start : start + batch])]


def cost_of(folder: Path, limit: int | None, asked: Sequence[Question]) -> tuple[list[float], float]:
    """Seconds of each question, and the most MB that one took above the loaded model, in a fresh process."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_cost, folder, limit, asked, torch.get_num_threads()).result()


def _cost(folder: Path, limit: int | None, asked: Sequence[Question], threads: int) -> tuple[list[float], float]:
    torch.set_num_threads(threads)
    model = loaded(folder, limit)
    written(model, [Question([BASE, EOS], [BASE, EOS])])
    held, seconds = reset_peak(), []
    for question in asked:
        start = time.perf_counter()
        written(model, [question])
        seconds.append(time.perf_counter() - start)
    return seconds, (peak() - held) / 2**20
