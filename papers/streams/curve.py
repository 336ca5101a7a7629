"""Right answers by the number of symbols of a question, and by its size: in training models see few symbols.

Three ways to cope with symbols that training never had stand beside each other: models that are made for it, canonical
names, which number symbols in the order of their first appearance, and the wrapper `hf_symbinv.invariant`, which does
that to a model from outside. The baseline `canonical names, random rows` learns a row for every number: the symbols of
a training question get an increasing choice of all rows, another one each time.

Sizes and numbers of symbols are two axes here, where random formulas with many symbols are long. Formulas are drawn
with a symbol of its own in nearly every leaf, and then leaves share symbols until there are as many as are asked for.
Strings to copy are made in the same way.
"""

from __future__ import annotations

import functools
import itertools
import json
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_symbinv.files import write_atomically
from papers.harness.experiments import Experiment, Family, Findings, Job, OutOfTimeError, Result, Setting
from papers.harness.measures import Measure, Named

if TYPE_CHECKING:
    import datasets

    from hf_symbinv.evaluation.checkpoints import Checkpoint
    from hf_symbinv.logic import Formula, Trace
    from hf_symbinv.tasks import SymbolTask

FAMILY = Family("symbols-curve", Path(__file__).parent / "curve.yaml")
MOST = 20
# Our choice: more than any drawn formula has leaves.
LEAVES = tuple(f"leaf{place}" for place in range(60))
# Numbers of positions of a lasso, and the position behind the last.
LASSOS = ((1, 0), (3, 2), (4, 1), (6, 3), (8, 4))
BATCH, SECONDS = 400, 60.0
# The questions are the same for all models and seeds.
SEED = 1

RANGES = ((2, 5), (6, 8), (9, 12), (13, 20))
BY_RANGE = {ends: Named(f"{ends[0]} - {ends[1]} symbols") for ends in RANGES}
CHANGED, MILLISECONDS = Named("changed"), Named("ms an answer")
# Only drawn: right answers and questions, by number of symbols and by size.
BY_SYMBOLS, BY_SIZE = Named("right by symbols"), Named("right by size")

Texts = Callable[[list[str]], list[str]]


def lasso(formula: Formula, positions: int, loop: int) -> Formula:
    """What must hold of the symbols at the positions of a lasso for a formula in base operators to hold at the first.

    Args:
        formula: Of 0 1 & | ! X U and symbols.
        positions: Of the lasso, at least one.
        loop: The position behind the last.

    Returns:
        A propositional formula; symbol `a` at position 3 is `a@3`.
    """
    from hf_symbinv.logic import Formula

    values: dict[int, list[Formula]] = {}
    for node in formula.distinct_nodes():
        parts = [values[id(operand)] for operand in node.operands]
        if node.name is not None:
            found = [Formula.ap(f"{node.name}@{place}") for place in range(positions)]
        elif node.operator == "X":
            found = [*parts[0][1:], parts[0][loop]]
        elif node.operator == "U":
            left, right = parts
            found = [Formula.false()] * positions
            for place in [*reversed(range(positions))] * 2:  # the second time what comes after the cycle's end is known
                behind = found[place + 1 if place + 1 < positions else loop]
                found[place] = right[place] | (left[place] & behind)
        else:
            found = [Formula(node.operator, operands) for operands in zip(*parts, strict=True)] or [node] * positions
        values[id(node)] = found
    return values[id(formula)][0]


def witness(question: str) -> str | None:
    """A short lasso that satisfies a formula, with what it needs alone; None if the formula has no such lasso.

    A SAT solver finds it. What it needs is the UNSAT core of the formula's negation with the lasso as assumptions, as
    `find_assignment` has it for propositional formulas. What the core leaves open may change from round to round of the
    cycle, so where that matters, the lasso keeps all its values.

    Args:
        question: In base operators and prefix notation.

    Returns:
        The trace in prefix notation, with the literals of a step in the order in which the question names its symbols.
    """
    from hf_symbinv.logic import parse_prefix, trace_to_prefix
    from hf_symbinv.solvers.lasso import truth
    from hf_symbinv.solvers.prop import TRUTH, formula_solver

    formula = parse_prefix(question)
    for positions, loop in LASSOS:
        with formula_solver(needed := lasso(formula, positions, loop)) as solver:
            if not solver.is_sat({TRUTH: True}):
                continue
            model, names = solver.get_model(), needed.symbols()
            assumed: dict[str | None, bool] = {TRUTH: False}
            if solver.is_sat(assumed | {name: model[name] for name in names}):
                raise RuntimeError(f"{question}: the SAT solver's model makes the formula false")
            core = solver.get_unsat_core()
        for chosen in (core, model):
            trace = _trace(positions, loop, {name: chosen[name] for name in names if name in chosen})
            if truth(formula, trace) == "true":
                return trace_to_prefix(trace.in_order(formula.symbols()))
    return None


def _trace(positions: int, loop: int, values: Mapping[str, bool]) -> Trace:
    """The lasso of values as `lasso` names them."""
    from hf_symbinv.logic import Formula, Trace

    steps = [Formula.true()] * positions
    for name, value in values.items():
        symbol, place = name.split("@")
        literal, before = Formula.ap(symbol) if value else ~Formula.ap(symbol), steps[int(place)]
        steps[int(place)] = literal if before == Formula.true() else before & literal
    return Trace(tuple(steps[:loop]), tuple(steps[loop:]))


def drawn(task: SymbolTask, symbols: int, smallest: int, largest: int, count: int, seed: object) -> dict[str, str]:
    """Different random questions of exactly so many symbols, the first ones of the alphabet, and the answer of each."""
    found, every = dict[str, str](), pairs(task, (symbols,), smallest, largest, f"{seed} {symbols}")
    while len(found) < count:
        found.setdefault(*next(every))
    return found


def pairs(
    task: SymbolTask, numbers: Sequence[int], smallest: int, largest: int, seed: str
) -> Iterator[tuple[str, str]]:
    """Random questions and their answers without end; the number of symbols of each is one of `numbers`."""
    from hf_symbinv.solvers import ProcessPool
    from hf_symbinv.tasks.base import solve_ordered

    solve = witness if task.name == "ltl" else functools.partial(solve_ordered, task)
    for batch in itertools.count():
        generator = random.Random(f"{seed} {batch}")
        with ProcessPool(_draw, workers=1, timeout=SECONDS, initializer=task.prepare, isolate=1) as pool:
            [outcome] = pool.map([(task, smallest, largest, generator.randrange(2**31))])
        if outcome.status != "done":
            raise RuntimeError(f"questions of {smallest} to {largest} tokens: {outcome.status}")
        for drawn_question in outcome.value:
            question = merged(drawn_question, generator.choice(numbers), generator)
            answer = None if question is None else solve(question)
            if question is not None and answer:
                yield question, answer


def _draw(order: tuple[SymbolTask, int, int, int]) -> list[str]:
    """A batch, in a process of its own, as the task asks for it."""
    task, smallest, largest, seed = order
    return task.draw(LEAVES, smallest, largest, seed, BATCH)


def merged(question: str, symbols: int, generator: random.Random) -> str | None:
    """The question with so many symbols in its leaves, each at least once; None if it has fewer leaves."""
    from hf_symbinv.tasks import symbol_names

    tokens, names = question.split(), symbol_names(symbols)
    leaves = [place for place, token in enumerate(tokens) if token in LEAVES]
    if len(leaves) < symbols:
        return None
    given = [*names, *generator.choices(names, k=len(leaves) - symbols)]
    generator.shuffle(given)
    for place, name in zip(leaves, given, strict=True):
        tokens[place] = name
    return " ".join(tokens)


def questions(job: Job) -> dict[str, list[str]]:
    """The questions, as `SYMBOLS SMALLEST LARGEST` → texts; those of a task and scale are drawn once."""
    from hf_symbinv.tasks import load_task

    sizes, task = job.sizes, load_task(job.sizes["task"])
    file = job.shared / f"curve-{task.name}-questions.json"
    kinds = [(symbols, *sizes["nodes"]) for symbols in sizes["symbols"]]
    kinds += [(sizes["data"]["num_symbols"], *ends) for ends in sizes["sizes"]]
    if not file.exists():
        job.say("  questions")
        found = {
            f"{symbols} {smallest} {largest}": list(drawn(task, symbols, smallest, largest, sizes["count"], SEED))
            for symbols, smallest, largest in kinds
        }
        job.shared.mkdir(parents=True, exist_ok=True)
        write_atomically(file, json.dumps(found, indent=0) + "\n")
    return dict(json.loads(file.read_text(encoding="utf-8")))


def training_data(job: Job) -> datasets.DatasetDict:
    """Rows to learn from, none of which is a renaming of a question; `more` of them have more symbols than others."""
    import datasets

    sizes, more = job.sizes["data"], job.values.get("more", 0)
    few = rows_of(job, "rows", range(1, sizes["num_symbols"] + 1), sizes["rows"])
    kept = few.train_test_split(sizes["held_out"], shuffle=False)
    train = kept["train"]
    if more:
        many = rows_of(job, "more", sizes["more"]["symbols"], sizes["more"]["rows"]).select(range(more))
        train = datasets.concatenate_datasets([many, train.select(range(more, len(train)))])
    return datasets.DatasetDict({"train": train, "validation": kept["test"], "test": kept["test"]})


def rows_of(job: Job, name: str, numbers: Sequence[int], count: int) -> datasets.Dataset:
    """So many rows whose questions have one of `numbers` of symbols; those of a task and scale are drawn once."""
    import datasets

    from hf_symbinv.tasks import load_task

    sizes, task = job.sizes["data"], load_task(job.sizes["task"])
    file = job.shared / f"curve-{task.name}-{name}.parquet"
    if not file.exists():
        job.say(f"  {count:,} rows to learn from")
        seen = {task.alpha_class(text) for texts in questions(job).values() for text in texts}
        rows: list[dict[str, Any]] = []
        every = pairs(task, numbers, sizes["min_size"], sizes["max_size"], name)
        while len(rows) < count:
            question, answer = next(every)
            if (form := task.alpha_class(question)) not in seen:
                seen.add(form)
                texts = dict(zip(task.columns, (task.rename(question, {}), answer), strict=True))
                rows.append({**texts, "symbols": task.symbols(question), "length": task.size(question)})
        part = file.with_suffix(".part")
        datasets.Dataset.from_list(rows).to_parquet(part)
        part.replace(file)
    return datasets.Dataset.from_parquet(str(file))


def renamed(task: SymbolTask, data: datasets.DatasetDict, seed: int, increasing: bool) -> datasets.DatasetDict:
    """Training rows with a random choice of all names for each; a training sees each row once at most.

    Args:
        task, data: The task, and its splits.
        seed: Of the choice.
        increasing: Whether the first symbol of a question gets the first of the names that are chosen, and so on.
    """
    import datasets

    from hf_symbinv.tasks import symbol_names

    def rename(row: dict[str, Any], place: int) -> dict[str, Any]:
        names = task.symbols(row[task.columns[0]])
        chosen = random.Random(f"{seed} {place}").sample(symbol_names(MOST), len(names))
        renaming = dict(zip(names, sorted(chosen) if increasing else chosen, strict=True))
        texts = {column: task.rename(row[column], renaming) for column in task.columns}
        return {**texts, "symbols": list(task.symbols(texts[task.columns[0]]))}

    return datasets.DatasetDict({**data, "train": data["train"].map(rename, with_indices=True)})


def trained(job: Job) -> Checkpoint:
    """The model of a row; rows that differ in how they are asked share it.

    Raises:
        OutOfTimeError: If there was no time to finish; the next call goes on.
    """
    from hf_symbinv.evaluation.checkpoints import load_checkpoint
    from hf_symbinv.tasks import load_task
    from hf_symbinv.training import Recipe, train
    from papers.harness.scales import Scale

    kind, sizes, task = job.values["model"], job.sizes, load_task(job.sizes["task"])
    more = "-{more}".format_map(job.values) if job.values.get("more") else ""
    folder = job.shared / f"curve-{task.name}-{kind}{more}-seed{job.seed}"
    data = training_data(job)
    if kind == "spread":
        kind, data = "learned", renamed(task, data, job.seed, increasing=True)
    elif kind == "learned":
        data = renamed(task, data, job.seed, increasing=False)
    settings = Scale.load(Path(__file__).parent / "scales", sizes["scale"]).tasks[task.name]
    model = {**settings["models"][kind], "num_symbols": MOST}
    trainer = {**settings["trainer"], **model.pop("trainer", {}), **sizes["trainer"], "seed": job.seed}
    recipe = Recipe(task=task.name, data={}, model=model, trainer=trainer, evaluation_rows=100, test_rows=1)
    job.say(f"  {trainer['max_steps']} steps")
    record = train(recipe, data, folder, max_seconds=job.time_left())
    if not record["finished"]:
        raise OutOfTimeError
    return load_checkpoint(str(folder))


def speaker(checkpoint: Checkpoint, beams: int) -> Texts:
    """The model as a function from questions to answers, in prefix notation with blanks between tokens.

    All tokens of answers are single characters. Blanks make words of symbols, which a wrapper needs.
    """
    from hf_symbinv.evaluation.answers import answer_questions, read_question

    def say(texts: list[str]) -> list[str]:
        asked = [read_question(checkpoint.task, text) for text in texts]
        limit = checkpoint.task.max_new_tokens
        answers = answer_questions(checkpoint, asked, None, num_beams=beams, max_new_tokens=limit)
        return [" ".join(answer.candidates[0].text) for answer in answers]

    return say


def asked(say: Texts, votes: int) -> Texts:
    """A model as it is asked: questions as they are, without votes, or under so many renamings from outside."""
    from hf_symbinv import invariant
    from hf_symbinv.tasks import symbol_names

    if not votes:
        return say
    wrapped: Texts = invariant(say, symbols="[a-z]", names=symbol_names(MOST), votes=votes)
    return wrapped


def measure(job: Job) -> dict[Measure, Result]:
    """Trains a model, asks it all questions, and has its answers judged.

    Raises:
        OutOfTimeError: If there was no time to finish; the next call goes on.
    """
    from hf_symbinv.evaluation.invariance_report import measure_invariance
    from hf_symbinv.tasks import load_task, symbol_names

    sizes = job.sizes
    say = asked(speaker(trained(job), sizes["beams"]), job.values["votes"])
    started, answers = time.process_time(), dict[str, list[str]]()
    every = questions(job)
    for kind, texts in every.items():
        job.say(f"  answers to questions of {kind}")
        answers[kind] = say(texts)
    spent = time.process_time() - started
    right: dict[str, int] = {}
    with load_task(sizes["task"]).checker(timeout=sizes["timeout"]) as checker:
        for kind, texts in every.items():
            verdicts = checker.check(list(zip(texts, answers[kind], strict=True)))
            right[kind] = sum(verdict.verdict == "correct" for verdict in verdicts)
    count, nodes = sizes["count"], " ".join(map(str, sizes["nodes"]))
    by_symbols = [[number, right[f"{number} {nodes}"], count] for number in sizes["symbols"]]
    few = sizes["data"]["num_symbols"]
    by_size = [[sum(ends) / 2, right[f"{few} {ends[0]} {ends[1]}"], count] for ends in sizes["sizes"]]
    found: dict[Measure, Result] = {}
    for (fewest, most), column in BY_RANGE.items():
        part = [entry for entry in by_symbols if fewest <= entry[0] <= most]
        if part:
            found[column] = {"correct": sum(entry[1] for entry in part), "count": sum(entry[2] for entry in part)}
    texts = every[f"{few} {nodes}"][: sizes["renamed"]]
    report = measure_invariance(say, texts, "[a-z]", names=symbol_names(MOST), renamings=sizes["renamings"])
    found[CHANGED] = {"correct": round(report["changed"] * len(texts)), "count": len(texts)}
    found[MILLISECONDS] = {"values": [1000 * spent / (count * len(every))]}
    return {**found, BY_SYMBOLS: {"right": by_symbols}, BY_SIZE: {"right": by_size}}


def draw(name: str, found: Sequence[tuple[Setting, Findings]], folder: Path) -> None:
    """Two pictures side by side, `NAME.png` and `.svg`: by number of symbols, and by size."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    from hf_symbinv.metrics import wilson_interval
    from hf_symbinv.plotting.figures import LINES
    from papers.harness.pictures import finish

    figure = Figure(figsize=(8.4, 4.2), layout="constrained")
    both = figure.subplots(1, 2, sharey=True)
    labels = dict.fromkeys(row.labels[-1] for row, _ in found)
    for axes, measure, title in zip(
        both, (BY_SYMBOLS, BY_SIZE), ("symbols of the question", "its tokens"), strict=True
    ):
        for label, (colour, dashes, marker) in zip(labels, LINES, strict=False):
            right, count = Counter[float](), Counter[float]()
            for row, content in found:
                for place, solved, number in content[measure.heading]["right"] if row.labels[-1] == label else ():
                    right[place] += solved
                    count[place] += number
            places = sorted(count)
            low, high = zip(*(wilson_interval(right[place], count[place]) for place in places), strict=True)
            style: dict[str, Any] = {"color": colour, "linestyle": dashes, "marker": marker, "markersize": 4}
            style["label"] = label if axes is both[0] else None
            axes.plot(places, [100 * right[place] / count[place] for place in places], linewidth=1.4, **style)
            axes.fill_between(places, [100 * end for end in low], [100 * end for end in high], color=colour, alpha=0.1)
        axes.set_xlabel(title, fontsize=9)
        axes.set_ylim(-3, 103)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    both[0].set_ylabel("right, %", fontsize=9)
    finish(figure, both, folder, name)


def _rows() -> Iterator[Setting]:
    labels = {
        "streams": "streams", "canonical": "canonical names", "spread": "canonical names, random rows",
        "renamed": "alpha-renaming", "random": "random embeddings", "learned": "learned rows",
    }  # fmt: skip
    for model, label in labels.items():
        yield Setting((label,), {"model": model, "votes": 1 if model == "spread" else 0})
    yield Setting(("learned rows, invariant",), {"model": "learned", "votes": 1})
    yield Setting(("learned rows, invariant, 5 votes",), {"model": "learned", "votes": 5})


def _catch_up_rows() -> Iterator[Setting]:
    for more in (0, 100, 1_000, 10_000):
        yield Setting((f"canonical names, {more:,} rows",), {"model": "canonical", "votes": 0, "more": more})
    yield Setting(("streams, 0 rows",), {"model": "streams", "votes": 0})


EXPERIMENTS: tuple[Experiment, ...] = tuple(
    Experiment(
        name=name,
        family=FAMILY,
        measures=(*BY_RANGE.values(), CHANGED, MILLISECONDS),
        rows=tuple(rows()),
        measure=measure,
        compared=tuple(BY_RANGE.values()),
        best="highest",
        draw=functools.partial(draw, name),
    )
    for name, rows in {
        "symbols-curve": _rows,
        "symbols-curve-prop": _rows,
        "symbols-curve-copy": _rows,
        "symbols-catch-up": _catch_up_rows,
    }.items()
)
