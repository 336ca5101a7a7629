"""The laws that a task keeps, tried on questions that it draws: `check_task`.

    from hf_symbinv.tasks import check_task, load_task

    for law in check_task(load_task("graph_colouring.py")):
        print("ok" if law.ok else "failed", law.name, law.message)

`draw`, `solve` and `judge` run in processes of their own with a limit, as they do for data sets. No number of tries
proves a law; a counterexample disproves it.
"""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import zip_longest
from typing import Any

from hf_symbinv.errors import cut
from hf_symbinv.solvers import CheckResult, Outcome, ProcessPool
from hf_symbinv.solvers.pool import MEMORY
from hf_symbinv.tasks.base import SymbolTask, symbol_names
from hf_symbinv.values import is_text

# Questions to try for each one that is wanted: draws of other sizes are thrown away.
TRIES = 25
# Names that are no letters, as users write them and as data sets with many symbols have them.
LONG_NAMES = ("request", "p30", "next state", "grant_1", "p31", "Ready", "x.y", "p1000", "ack", 'say "a"')
# No task's answers, nor anything that a judge may stumble over.
JUNK = ("", " ", "\n", "?", '"', '"a', "a", "ab", "p30", "request grant", "é", "((((", "a" * 500, "a " * 200, "1", "-1")
# Seconds for drawing some hundred questions, at least. Our choice: the package's tasks take one.
DRAW_SECONDS = 60.0
SPECIAL = ("<s>", "<pad>", "</s>")


@dataclass(frozen=True, slots=True)
class Law:
    """What became of one law: whether it held in all tries, and what was tried, or a counterexample."""

    name: str
    statement: str
    ok: bool
    message: str


class _Broken(Exception):
    """A counterexample to the law that is being tried."""


def check_task(
    task: SymbolTask,
    *,
    num_symbols: int = 4,
    min_size: int = 1,
    max_size: int = 10,
    questions: int = 40,
    seed: int = 0,
    timeout: float = 10.0,
    memory: float = MEMORY,
) -> list[Law]:
    """Try every law of a task.

    Args:
        task: Defined in a module that other processes can import, as `load_task` leaves it.
        num_symbols: Symbols to draw with, 2 to 10.
        min_size, max_size: Sizes to draw, in the task's measure.
        questions: Different questions to try the laws on, at most.
        seed: Of the questions and of the wrong answers.
        timeout, memory: Limits for one call of `solve` or `judge`, in seconds and GB.

    Raises:
        ValueError: If a number is out of range.
        PoolError: If processes cannot import the task.
        ImportError: If a solver is not installed.
    """
    if not 2 <= num_symbols <= len(LONG_NAMES):
        raise ValueError(f"num_symbols={num_symbols}: try 2 to {len(LONG_NAMES)}")
    if not 1 <= min_size <= max_size or questions < 1:
        raise ValueError(
            f"min_size={min_size}, max_size={max_size}, questions={questions}: all are at least 1, the smaller size "
            "first"
        )
    with _Trial(task, num_symbols, range(min_size, max_size + 1), questions, seed, timeout, memory) as trial:
        laws = []
        for name, attempt in LAWS.items():
            ok = False
            try:
                message, ok = attempt(trial), True
            except _Broken as broken:
                message = str(broken)
            except ImportError:
                raise
            except Exception as error:  # whatever a user's task raises
                message = f"{_where(error)}raised {type(error).__name__}: {error}"
            laws.append(Law(name, attempt.__doc__ or "", ok, cut(message)))
    return laws


class _Trial:
    """A task and what the laws are tried on, each part made when a law first asks for it."""

    def __init__(
        self, task: SymbolTask, symbols: int, sizes: range, count: int, seed: int, timeout: float, memory: float
    ) -> None:
        self.task, self.names, self.sizes, self.count, self.seed = task, symbol_names(symbols), sizes, count, seed
        limits: dict[str, Any] = {"initializer": task.prepare, "memory": memory}
        # A fork for every draw: its result must not depend on what was drawn before.
        drawing = max(10 * timeout, DRAW_SECONDS)
        self._drawing = ProcessPool(partial(_draw, task), workers=1, timeout=drawing, isolate=1, **limits)
        self._drawing.warm_up()
        self._solving = ProcessPool(task.solve, timeout=timeout, **limits)
        self.checker = task.checker(timeout=timeout, memory=memory)

    def __enter__(self) -> _Trial:
        return self

    def __exit__(self, *_: object) -> None:
        for pool in (self._drawing, self._solving, self.checker):
            pool.close()

    def draw(self, names: Sequence[str], smallest: int | None = None, seed: int | None = None) -> list[str]:
        """What `draw` returns in a fresh process, for the sizes and the seed of the trial or others."""
        least, largest, seed = smallest or self.sizes[0], self.sizes[-1], self.seed if seed is None else seed
        order = (tuple(names), least, largest, seed, TRIES * self.count)
        (outcome,) = self._drawing.map([order])
        call = f"draw({order[0]!r}, {least}, {largest}, seed={seed}, count={order[-1]})"
        if outcome.status != "done":
            raise _Broken(f"{call}: {outcome.value}{_line(outcome)}")
        texts: Any = outcome.value
        if not isinstance(texts, list) or not all(map(is_text, texts)):
            raise _Broken(f"{call} returned {_short(texts)}; return a list of texts")
        return texts

    @cached_property
    def drawn(self) -> list[str]:
        """All that was drawn with the first names."""
        return self.draw(self.names)

    @cached_property
    def questions(self) -> list[str]:
        """Different questions of the sizes asked for."""
        sized = [text for text in dict.fromkeys(self.drawn) if self.task.size(text) in self.sizes]
        if not sized:
            raise _Broken(f"draw gave no question of sizes {self.sizes[0]} to {self.sizes[-1]}")
        return random.Random(self.seed).sample(sized, min(self.count, len(sized)))

    def solved(self, questions: Sequence[str]) -> list[Outcome]:
        """What `solve` says about each question."""
        found = []
        with closing(self._solving.map(questions)) as outcomes:  # one counterexample is enough, as each may take long
            for question, outcome in zip(questions, outcomes, strict=True):
                if outcome.status != "done":
                    raise _Broken(f"solve({question!r}): {outcome.value}{_line(outcome)}")
                if outcome.value is not None and not is_text(outcome.value):
                    raise _Broken(f"solve({question!r}) returned {_short(outcome.value)}; return a text or None")
                found.append(outcome)
        return found

    @cached_property
    def outcomes(self) -> list[Outcome]:
        return self.solved(self.questions)

    @cached_property
    def pairs(self) -> list[tuple[str, str]]:
        """Questions with the answers of `solve`."""
        found = [
            (question, outcome.value)
            for question, outcome in zip(self.questions, self.outcomes, strict=True)
            if outcome.value is not None
        ]
        if not found:
            raise _Broken(f"solve has no answer to any of {len(self.questions)} questions")
        return found

    def judged(self, pairs: Sequence[tuple[str, str]]) -> list[CheckResult]:
        """The verdict on each pair."""
        found = []
        with closing(self.checker.check(pairs)) as results:
            for (question, answer), result in zip(pairs, results, strict=True):
                if result.verdict in ("error", "timeout"):
                    raise _Broken(f"judge({question!r}, {answer!r}): {result.message}{_line(result)}")
                found.append(result)
        return found

    @cached_property
    def verdicts(self) -> list[CheckResult]:
        return self.judged(self.pairs)

    @cached_property
    def candidates(self) -> list[tuple[str, str]]:
        """Questions with answers of other questions and with damaged answers of their own; some may still be right."""
        generator, task = random.Random(self.seed), self.task
        tokens = [token for token in task.base_tokens if token not in SPECIAL]
        made: list[tuple[str, str]] = []
        for question, answer in self.pairs:
            words = [name or operator for _, operator, name in task.words(answer)]
            others = tokens + list(dict.fromkeys((*task.symbols(question), *task.symbols(answer))))
            damaged = [words[:-1], words[1:], words + words, words[::-1]]
            if words and others:
                place = generator.randrange(len(words))
                damaged += [[*words[:place], other, *words[place + 1 :]] for other in generator.choices(others, k=3)]
            foreign = [generator.choice(self.pairs)[1] for _ in range(3)]
            texts = ["", *map(task.write_words, damaged), *foreign]
            made += [(question, text) for text in dict.fromkeys(texts) if text != answer]
        return made

    @cached_property
    def candidate_verdicts(self) -> list[CheckResult]:
        return self.judged(self.candidates)


# The laws, as their docstrings say them. Each returns what it tried, or raises _Broken with a counterexample.


def _tokens(trial: _Trial) -> str:
    """every word is a base token or a symbol, the tokenizer loses nothing, and a model can write the answers"""
    task, tokens = trial.task, trial.task.base_tokens
    for token in tokens:
        if not token or any(character.isspace() or character == '"' for character in token):
            raise _Broken(f"base token {token!r}: is empty or has blanks or double quotes")
        if tokens.count(token) > 1:
            raise _Broken(f"base token {token!r}: stands there {tokens.count(token)} times")
    for token in task.token_arity:
        if token not in tokens:
            raise _Broken(f"token_arity has {token!r}, which is no base token")
    tokenizer = task.tokenizer()
    config = task.config(d_model=8, num_attention_heads=2, d_ff=8, encoder_layers=1, decoder_layers=1)
    texts = [("text", task.prompt(question)) for question in trial.questions]
    texts += [("text_target", answer) for _, answer in trial.pairs]
    for role, text in texts:
        for _, word, name in task.words(text):
            if name is None and word not in tokens:
                raise _Broken(f"{text!r}: {word!r} is neither a base token nor a symbol")
        asked: dict[str, Any] = {role: text, "symbols": ()}
        found: Any = tokenizer(**asked)
        again = tokenizer.decode(found["input_ids"], skip_special_tokens=True, symbols=found.symbols)
        if _words(task, again) != _words(task, text):
            raise _Broken(f"the tokenizer reads {text!r} and writes {again!r}")
    _writable(trial, tokenizer, config)
    return f"{len(tokens)} base tokens; the tokenizer writes {len(texts)} prompts and answers as it reads them"


def _writable(trial: _Trial, tokenizer: Any, config: Any) -> None:
    """Makes sure that answers of solve keep to the task's grammar, and are no longer than a model writes."""
    from hf_symbinv.modeling.grammar_symbinv import GRAMMARS, GrammarProcessor  # torch only where it is needed

    task, rules = trial.task, config.grammar
    for question, answer in trial.pairs:
        prompt = task.prompt(question)
        labels = tokenizer(prompt, text_target=answer)["labels"]
        if len(labels) > task.max_new_tokens:
            raise _Broken(
                f"solve({question!r}) is {answer!r}, {len(labels)} tokens with its end; max_new_tokens is "
                f"{task.max_new_tokens}"
            )
        if rules is not None:
            grammar = GRAMMARS[rules["name"]](rules, config.base_vocab_size, config.eos_token_id)
            processor = GrammarProcessor(grammar, [len(task.symbols(prompt))], task.max_new_tokens + 1)
            try:
                processor.read([[config.decoder_start_token_id, *labels]])
            except ValueError:
                raise _Broken(
                    f"solve({question!r}) is {answer!r}, which grammar {rules['name']} does not let a model write"
                ) from None


def _sizes(trial: _Trial) -> str:
    """draw gives questions of the sizes asked for"""
    least, largest = trial.sizes[0], trial.sizes[-1]
    for smallest in {least, (least + largest + 1) // 2}:
        texts = trial.draw(trial.names, smallest)
        if not any(smallest <= trial.task.size(text) <= largest for text in texts):
            raise _Broken(f"of {len(texts)} questions that draw gave, none has a size of {smallest} to {largest}")
    sizes = {trial.task.size(question) for question in trial.questions}
    return f"{len(trial.questions)} different questions of sizes {min(sizes)} to {max(sizes)}"


def _symbols(trial: _Trial) -> str:
    """draw uses the symbols that it gets, whatever their names"""
    task = trial.task
    for names in (trial.names, LONG_NAMES[: len(trial.names)]):
        texts = trial.draw(names)
        for text in texts:
            if foreign := set(task.symbols(text)) - set(names):
                raise _Broken(
                    f"draw got the symbols {', '.join(names)} and gave {text!r} with {', '.join(sorted(foreign))}; "
                    "write_words writes symbols with any name"
                )
        if not any(task.symbols(text) for text in texts):
            raise _Broken(f"draw got the symbols {', '.join(names)} and used none of them in {len(texts)} questions")
    return "letters, and names such as request and next state"


def _seed(trial: _Trial) -> str:
    """draw is a function of its seed"""
    again = trial.draw(trial.names)
    for place, (one, other) in enumerate(zip_longest(trial.drawn, again)):
        if one != other:
            raise _Broken(f"two draws with seed {trial.seed} differ: question {place} is {one!r}, and {other!r}")
    if trial.draw(trial.names, seed=trial.seed + 1) == trial.drawn:
        raise _Broken(f"seeds {trial.seed} and {trial.seed + 1} give the same {len(again)} questions")
    return f"{len(again)} questions twice, and others with another seed"


def _answers(trial: _Trial) -> str:
    """judge calls the answers of solve, ordered and completed correct"""
    task, made = trial.task, [(f"solve({question!r})", question, answer) for question, answer in trial.pairs]
    for question, answer in trial.pairs:
        made.append((f"ordered({question!r}, {answer!r})", question, task.ordered(question, answer)))
        with suppress(ValueError):  # the question has no such answer
            if (found := task.completed(question, random.Random(trial.seed))) is not None:
                made.append((f"completed({question!r}, ...)", question, found))
    more = trial.judged([(question, answer) for _, question, answer in made[len(trial.pairs) :]])
    for (call, _, answer), result in zip(made, [*trial.verdicts, *more], strict=True):
        if result.verdict != "correct":
            raise _Broken(
                f"{call} is {answer!r}, and judge calls it {result.verdict}: {result.message or 'it does not say why'}"
            )
    return f"{len(trial.pairs)} of {len(trial.questions)} questions have an answer"


def _wrong_answers(trial: _Trial) -> str:
    """judge refuses wrong answers and says why, and quick_verdict and normalized agree with it"""
    task, same = trial.task, {question: trial.task.shared_answer(question, answer) for question, answer in trial.pairs}
    refused: dict[str, int] = dict.fromkeys((question for question, _ in trial.pairs), 0)
    foreign, foreign_refused = 0, 0
    answers = {answer for _, answer in trial.pairs}
    for (question, answer), result in zip(trial.candidates, trial.candidate_verdicts, strict=True):
        if result.verdict != "correct" and not result.message.strip():
            raise _Broken(f"judge({question!r}, {answer!r}) is {result.verdict} and does not say why")
        refused[question] += result.verdict != "correct"
        foreign += answer in answers
        foreign_refused += answer in answers and result.verdict != "correct"
        if result.verdict != "correct" and task.shared_answer(question, answer) == same[question]:
            raise _Broken(
                f"judge({question!r}, {answer!r}) is {result.verdict}, and normalized gives it as a right one"
            )
    judged = zip(trial.pairs + trial.candidates, trial.verdicts + trial.candidate_verdicts, strict=True)
    for pair, result in judged:
        if (quick := task.quick_verdict(*pair)) not in (None, result.verdict):
            raise _Broken(f"quick_verdict{pair} is {quick}, and judge calls it {result.verdict}")
    for question, count in refused.items():
        if not count:
            raise _Broken(f"judge calls all answers to {question!r} correct that were tried, the empty one too")
    if foreign and not foreign_refused:
        raise _Broken(f"judge calls every answer to another question correct, in {foreign} tries")
    total = sum(refused.values())
    return f"{total} of {len(trial.candidates)} damaged or foreign answers are refused"


def _same_prompt(task: SymbolTask, question: str, renamed: str, renaming: Mapping[str, str]) -> None:
    """Makes sure that the prompt of a renamed question is the renamed prompt, and that its class stays as it is."""
    prompt, given = task.rename(task.prompt(question), renaming), task.prompt(renamed)
    if _words(task, given) != _words(task, prompt):
        raise _Broken(f"prompt({renamed!r}) is {given!r}, and the prompt of {question!r}, renamed so, is {prompt!r}")
    if (one := task.alpha_class(question)) != (other := task.alpha_class(renamed)):
        raise _Broken(f"alpha_class({question!r}) is {one!r}, and renamed, alpha_class({renamed!r}) is {other!r}")


def _renaming(trial: _Trial) -> str:
    """names do not matter to size, prompt, alpha_class, solve and judge"""
    task, generator = trial.task, random.Random(trial.seed)
    judged = [
        *zip(trial.pairs, trial.verdicts, strict=True),
        *zip(trial.candidates, trial.candidate_verdicts, strict=True),
    ]
    renamed: list[tuple[str, str]] = []
    for (question, answer), _ in judged:
        symbols = list(dict.fromkeys((*task.symbols(question), *task.symbols(answer))))
        others = generator.sample([*LONG_NAMES, *(f"name_{number}" for number in range(len(symbols)))], len(symbols))
        renaming = dict(zip(symbols, generator.choice([others, symbols[1:] + symbols[:1]]), strict=True))
        renamed.append((task.rename(question, renaming), task.rename(answer, renaming)))
        if len(renamed) <= len(trial.pairs):
            _same_prompt(task, question, renamed[-1][0], renaming)
        if task.size(renamed[-1][0]) != task.size(question):
            raise _Broken(
                f"{question!r} has size {task.size(question)}, and renamed, {renamed[-1][0]!r}, "
                f"{task.size(renamed[-1][0])}"
            )
    for (old, result), new_pair, verdict in zip(judged, renamed, trial.judged(renamed), strict=True):
        if result.verdict != verdict.verdict:
            raise _Broken(f"judge{old} is {result.verdict}, and renamed, judge{new_pair} is {verdict.verdict}")
    questions = [question for question, _ in renamed[: len(trial.pairs)]]
    for question, outcome in zip(questions, trial.solved(questions), strict=True):
        if outcome.value is None:
            raise _Broken(f"solve has no answer to {question!r}, and one to the same question with other names")
    return f"{len(renamed)} pairs keep their verdicts, and {len(questions)} questions have answers, under other names"


def _new_symbols(trial: _Trial) -> str:
    """answers have no more new symbols than the task says, and their names do not matter"""
    task, most = trial.task, 0
    renamed = []
    for question, answer in trial.pairs:
        known = task.symbols(question)
        new = [name for name in task.symbols(answer) if name not in known]
        if len(new) > task.num_fresh_symbols:
            raise _Broken(
                f"solve({question!r}) is {answer!r}, with {len(new)} symbols that the question does not have: "
                f"{', '.join(new)}; num_fresh_symbols is {task.num_fresh_symbols}"
            )
        most = max(most, len(new))
        renamed.append((question, task.rename(answer, {name: f"new_{place}" for place, name in enumerate(new)})))
    for pair, result, before in zip(renamed, trial.judged(renamed), trial.verdicts, strict=True):
        if result.verdict != before.verdict:
            raise _Broken(f"judge{pair} is {result.verdict}, and {before.verdict} with other new symbols")
    return f"at most {most} in an answer, of {task.num_fresh_symbols} that it may have"


def _notations(trial: _Trial) -> str:
    """what is written in a notation is read back"""
    task = trial.task
    for question in trial.questions:
        meant = task.read_question(question, "prefix") if "prefix" in task.notations else question
        for notation in task.notations:
            written = task.write_question(question, notation)
            if (read := task.read_question(written, notation)) != meant:
                raise _Broken(f"{meant!r} is written {written!r} in {notation} notation, and read as {read!r}")
    for _, answer in trial.pairs:
        for notation in task.notations:
            written = task.write_answer(answer, notation)
            read = task.read_answer(written)
            if task.normalized(read) != task.normalized(answer):
                raise _Broken(f"answer {answer!r} is written {written!r} in {notation} notation, and read as {read!r}")
    unknown: list[Callable[[str, str], str]] = [task.read_question, task.write_question, task.write_answer]
    for method, text in zip(unknown, (*trial.pairs[0][:1] * 2, trial.pairs[0][1]), strict=True):
        try:
            method(text, "no notation")
        except ValueError:
            continue
        raise _Broken(f"{method.__name__}({text!r}, 'no notation') does not raise ValueError")
    return f"{', '.join(task.notations)}: what is written is read back"


def _junk(trial: _Trial) -> str:
    """judge has a verdict on every text"""
    task, generator = trial.task, random.Random(trial.seed)
    tokens = [*task.base_tokens, *trial.names, *LONG_NAMES[:2]]
    texts = [*JUNK, *task.base_tokens, "".join(task.base_tokens), *trial.questions[:3]]
    texts += [task.write_words(generator.choices(tokens, k=generator.randint(1, 9))) for _ in range(20)]
    questions = trial.questions[:10]
    trial.judged([(question, text) for question in questions for text in texts])
    readers: list[Callable[[str], str]] = [task.read_answer]
    readers += [partial(task.read_question, notation=name) for name in task.notations]
    for text in texts:
        task.normalized(text)
        task.write_answer(text, task.notations[0])
        for read in readers:
            try:
                read(text)
            except ValueError:
                continue
    return f"{len(texts)} texts that are no answers, to {len(questions)} questions"


LAWS: dict[str, Callable[[_Trial], str]] = {
    "tokens": _tokens,
    "sizes": _sizes,
    "symbols": _symbols,
    "seed": _seed,
    "answers": _answers,
    "wrong answers": _wrong_answers,
    "renaming": _renaming,
    "new symbols": _new_symbols,
    "notations": _notations,
    "junk": _junk,
}


def _draw(task: SymbolTask, order: tuple[tuple[str, ...], int, int, int, int]) -> list[str]:
    return task.draw(*order)


def _words(task: SymbolTask, text: str) -> list[tuple[str, str | None]]:
    return [(word, name) for _, word, name in task.words(text)]


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:100]}..."


def _line(result: Outcome | CheckResult) -> str:
    """The place in the task's file where an exception came from."""
    places = [line.strip() for line in result.traceback.splitlines() if line.startswith('  File "')]
    return f" ({places[-1]})" if places else ""


def _where(error: BaseException) -> str:
    """The method of the task, or what else raised."""
    frames = inspect.getinnerframes(error.__traceback__) if error.__traceback__ else []
    for frame in frames:
        if isinstance(frame.frame.f_locals.get("self"), SymbolTask):
            return f"{frame.function} (line {frame.lineno}) "
    return ""


__all__ = ["LAWS", "Law", "check_task"]
