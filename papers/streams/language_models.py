"""Language models that were trained on text, asked by a prompt: the rows of Llama 3.2 and GPT-5.2 in SIT and ITE.

python -m papers.streams.language_models --task ltl --data data/ltl --model llama3.2:3b \
    --endpoint http://localhost:11434/v1 --output runs/llama

asks a server that speaks the usual protocol for chats. Without `--endpoint` the model is one of transformers, a folder
or a name on the Hub. The prompts, with four examples each, are those of the papers; `prompts/` has them. Answers go to
a file at once, so a command that was stopped goes on, and every answer is checked by the task's solver. A model is
asked in infix notation. No grammar constrains its answers; in propositional logic a server is told the form of JSON.
The results have what the papers say of their models beside what was found.

Source: SIT Appendix H; ITE Appendix I (seed 42 for each question, the server's own way of sampling).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from http.client import HTTPException
from pathlib import Path
from typing import Any

from hf_symbinv.errors import UserError, explain, first_line
from hf_symbinv.evaluation.answers import Question
from hf_symbinv.evaluation.report import first_of_each, load_questions
from hf_symbinv.files import path_here, write_atomically
from hf_symbinv.metrics.alpha_covariance import measure_alpha_covariance
from hf_symbinv.metrics.intervals import mean_interval
from hf_symbinv.tasks import LTL, PROP, SymbolTask
from hf_symbinv.training.scoring import score_answers

PROMPTS = Path(__file__).with_name("prompts")
TASKS: dict[str, SymbolTask] = {"ltl": LTL, "prop": PROP}
# The form of propositional answers (ITE, Appendix I).
SCHEMA = {
    "type": "json_schema",
    "json_schema": {
        "name": "assignment",
        "schema": {"type": "object", "additionalProperties": {"type": "boolean"}},
    },
}
SEED = 42  # ITE, Appendix I
# What Ollama does by default, which ITE kept (Appendix I).
SAMPLING = {"do_sample": True, "top_k": 40, "top_p": 0.9, "temperature": 0.8}
# Our choice: tokens of an answer, at least twice the longest of the papers' data in any tokenizer. A model that thinks
# before it answers needs more.
TOKENS = 512
# Our choice: seconds for one answer. GPT-5.2 took 10 to 90 (SIT, Appendix H).
PATIENCE = 300.0
# Our choice: what a server says that can answer later, and seconds until it is asked again.
BUSY, PAUSES = (429, 500, 502, 503, 504), (1.0, 5.0, 20.0)
# What the papers say of their models, in percent: SIT Table 1 and Section 5.6, ITE Tables 2 and 8 and Figure 6. The
# heat maps of GPT-5.2 have at most 10 questions a cell.
QUOTED = {
    "ltl": (
        {"model": "GPT-5.2", "source": "SIT", "correct": 86.83, "exact": 35.93, "heat map": 81.45,
         "alpha-covariance": {3: 81.76, 4: 82.97, 5: 77.56}},
        {"model": "Llama 3.2 3B", "source": "ITE", "correct": 24.33, "exact": 0.34, "heat map": 21.70,
         "alpha-covariance": {3: 68.17, 4: 63.27, 5: 62.34}},
    ),
    "prop": (
        {"model": "GPT-5.2", "source": "SIT", "correct": 99.73, "exact": 25.60, "heat map": 99.49,
         "alpha-covariance": {3: 42.97, 4: 29.87, 5: 1.03}},
        {"model": "Llama 3.2 3B", "source": "ITE", "correct": 29.03, "exact": 1.56, "heat map": 30.92,
         "alpha-covariance": {3: 50.75, 4: 27.96, 5: 11.25}},
    ),
}  # fmt: skip
ANSWERS = "answers.jsonl"
RESULTS = "results.json"
_FENCE = re.compile(r"```[a-z]*\n(.*?)```", re.DOTALL)


class LanguageModelError(UserError):
    """A model or a server that cannot be asked."""


def prompt_for(task: SymbolTask, question: str) -> str:
    """What a model is asked: the paper's prompt with a formula, given in prefix notation, in infix."""
    formula = task.write_question(question, "infix").replace("^", "xor")
    return (PROMPTS / f"{task.name}.txt").read_text(encoding="utf-8").replace("{formula}", formula)


def read_reply(task: SymbolTask, reply: str) -> str:
    """The answer in a model's reply, in prefix notation; a reply without one stays as it is.

    A reply may stand in a fence of Markdown, or begin with the word before the answers of the prompt. All else than an
    answer is none, as in the papers.
    """
    text = reply.strip()
    if fenced := _FENCE.search(text):
        text = fenced[1].strip()
    text = re.sub(r"^(Trace|Assignment):\s*", "", text)
    try:
        return task.read_answer(_pairs(text) if task is PROP else text)
    except (ValueError, RecursionError):
        return text


def _pairs(text: str) -> str:
    """An assignment in JSON in infix notation, `a=1, b=0`."""
    values = json.loads(text)
    if not isinstance(values, dict) or not all(isinstance(value, bool) for value in values.values()):
        raise ValueError("no assignment")
    return ", ".join(f"{json.dumps(name)}={int(value)}" for name, value in values.items())


def endpoint(address: str, model: str, task: SymbolTask) -> Callable[[str], str]:
    """A model behind a server that speaks the usual protocol for chats; `HF_SYMBINV_KEY` may have a key for it.

    A server that is busy is asked again, three times with a pause before.

    Raises:
        LanguageModelError: From what is returned, if the server does not answer.
    """
    headers = {
        "Content-Type": "application/json",
        "Authorization": f"Bearer {os.environ.get('HF_SYMBINV_KEY', 'none')}",
    }
    form: dict[str, Any] = {"response_format": SCHEMA} if task is PROP else {}

    def ask(prompt: str) -> str:
        messages = [{"role": "user", "content": prompt}]
        body = json.dumps({"model": model, "messages": messages, "seed": SEED, "max_tokens": TOKENS, **form})
        try:
            request = urllib.request.Request(f"{address.rstrip('/')}/chat/completions", body.encode(), headers)
            reply = json.loads(_answer_of(request))
            return str(reply["choices"][0]["message"]["content"] or "")
        # Of an address, of a server, of JSON, and of an answer of another form.
        except (OSError, ValueError, HTTPException, LookupError, TypeError) as error:
            raise LanguageModelError(
                f"{address}: no answer of {model!r} ({first_line(error)}); check the address, the model and the key, "
                "and repeat the command"
            ) from error

    return ask


def _answer_of(request: urllib.request.Request) -> bytes:
    """The body of a server's answer."""
    for pause in PAUSES:
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as found:
                return bytes(found.read())
        except urllib.error.HTTPError as error:
            if error.code not in BUSY:
                raise
        time.sleep(pause)
    with urllib.request.urlopen(request, timeout=PATIENCE) as found:
        return bytes(found.read())


def local(name: str) -> Callable[[str], str]:
    """A model of transformers: a folder, or a name on the Hub. It gets the prompt as a chat, if it knows chats.

    Raises:
        LanguageModelError: If it cannot be loaded.
    """
    import torch
    from transformers import pipeline

    try:
        pipe = pipeline("text-generation", model=name)
    except (OSError, ValueError, KeyError) as error:
        raise LanguageModelError(
            f"{name}: no model for text ({first_line(error)}); give a folder or a name on the Hub, or --endpoint"
        ) from error
    chats = bool(getattr(pipe.tokenizer, "chat_template", None))

    def ask(prompt: str) -> str:
        torch.manual_seed(SEED)
        asked: Any = [{"role": "user", "content": prompt}] if chats else prompt
        (reply,) = pipe(asked, return_full_text=False, max_new_tokens=TOKENS, **SAMPLING)
        return str(reply["generated_text"])

    return ask


class Asking:
    """A model that is asked each prompt once: replies are kept in a file.

    Args:
        ask: The model.
        name: Its name; in one file may be the replies of several models.
        path: Of the file, with a JSON object a line: the checksum of name and prompt, and the reply.

    Raises:
        LanguageModelError: If the file is damaged.
    """

    def __init__(self, ask: Callable[[str], str], name: str, path: Path) -> None:
        self.ask, self.name, self.path = ask, name, path
        self.known = dict(self._lines())

    def _lines(self) -> Iterator[tuple[str, str]]:
        if not self.path.exists():
            return
        lines = self.path.read_bytes().splitlines(keepends=True)
        for number, line in enumerate(lines, 1):
            if number == len(lines) and not line.endswith(b"\n"):  # the process was ended while it wrote
                write_atomically(self.path, b"".join(lines[:-1]))
                return
            try:
                content = json.loads(line)
                yield content["asked"], content["reply"]
            except (ValueError, KeyError, TypeError) as error:
                raise LanguageModelError(f"{self.path}, line {number}: damaged; remove this line") from error

    def __call__(self, prompt: str) -> str:
        """The reply to a prompt."""
        key = hashlib.sha256(f"{self.name}\n{prompt}".encode()).hexdigest()
        if key not in self.known:
            reply = self.ask(prompt)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"asked": key, "reply": reply}) + "\n")
            self.known[key] = reply
        return self.known[key]


def measure(
    task: SymbolTask, ask: Callable[[str], str], questions: Sequence[Question], checker: Any, covariance_rows: int = 0
) -> dict[str, Any]:
    """Asks a model and checks its answers.

    Args:
        task: What is asked.
        ask: Prompt → reply.
        questions: At least one.
        checker: As `task.checker()` makes it.
        covariance_rows: Questions of each number of symbols for alpha-covariance, over 120 renamings; 0 for none.

    Returns:
        As `score_answers`; with `alpha_covariance` a list with an object for each number of symbols: `symbols`,
        `examples`, the mean `alpha_covariance` and its `interval`.
    """
    answers = []
    for number, question in enumerate(questions, 1):
        answers.append(read_reply(task, ask(prompt_for(task, question.text))))
        print(f"\rquestion {number} of {len(questions)}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    pairs = [(question.text, answer) for question, answer in zip(questions, answers, strict=True)]
    references = [question.reference for question in questions]
    verdicts = [result.verdict for result in checker.check(pairs, references)]
    found = score_answers(task, verdicts, answers, references)
    if covariance_rows:
        found["alpha_covariance"] = list(_covariances(task, ask, first_of_each(questions, covariance_rows)))
    return found


def _covariances(
    task: SymbolTask, ask: Callable[[str], str], questions: Sequence[Question]
) -> Iterator[dict[str, Any]]:
    alphabet = sorted({name for question in questions for name in task.symbols(question.text)})

    def predict(renamed: list[str]) -> list[str]:
        replies = [read_reply(task, ask(prompt_for(task, one))) for one in renamed]
        return [reply if _is_answer(task, reply) else "" for reply in replies]  # text that is none has no symbols

    for count in sorted({question.symbols for question in questions}):
        asked = [question.text for question in questions if question.symbols == count]
        measured = measure_alpha_covariance(predict, asked, alphabet=alphabet, base_tokens=task.base_tokens)
        values = [value for value in measured["per_example"] if value is not None]
        if values:
            mean = sum(values) / len(values)
            interval = mean_interval(values)
            yield {"symbols": count, "examples": len(values), "alpha_covariance": mean, "interval": interval}


def _is_answer(task: SymbolTask, text: str) -> bool:
    try:
        task.read_answer(text)
    except (ValueError, RecursionError):
        return False
    return True


def parser() -> argparse.ArgumentParser:
    about = "Ask a language model that was trained on text, by the papers' prompts, and check its answers."
    command = argparse.ArgumentParser("python -m papers.streams.language_models", description=about)
    command.add_argument("--task", choices=sorted(TASKS), required=True, help="what is asked")
    command.add_argument("--data", required=True, help="a folder that `symbinv data` wrote, or a data set on the Hub")
    command.add_argument("--split", default="test", help="of the data (default: %(default)s)")
    command.add_argument("--rows", type=int, default=100, help="the first so many questions (default: %(default)s)")
    command.add_argument("--model", required=True, help="its name at the endpoint, on the Hub, or a folder")
    command.add_argument("--endpoint", metavar="URL", help="of a server for chats, such as http://localhost:11434/v1")
    command.add_argument(
        "--alpha-covariance", type=int, default=0, metavar="N", help="of N questions of each number of symbols too"
    )
    command.add_argument(
        "--output", type=path_here, required=True, metavar="FOLDER", help="for answers and results.json"
    )
    return command


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with `arguments`, those of the process by default; its exit code."""
    command = parser()
    options = command.parse_args(arguments)
    for name, least in (("rows", 1), ("alpha_covariance", 0)):
        if getattr(options, name) < least:
            command.error(f"--{name.replace('_', '-')} {getattr(options, name)}: must be at least {least}")
    task = TASKS[options.task]
    try:
        questions = load_questions(task, options.data, options.split, options.rows)
        ask = endpoint(options.endpoint, options.model, task) if options.endpoint else local(options.model)
        options.output.mkdir(parents=True, exist_ok=True)
        kept = Asking(ask, options.model, options.output / ANSWERS)
        with task.checker() as checker:
            found = measure(task, kept, questions, checker, options.alpha_covariance)
        found["papers_percent"] = QUOTED[task.name]
        asked = {name: getattr(options, name) for name in ("task", "data", "split", "model", "endpoint")}
        write_atomically(options.output / RESULTS, json.dumps(asked | found, indent=2) + "\n")
    except Exception as error:
        message = explain(error)
        if message is None:
            raise
        command.error(message)
    print(json.dumps(asked | found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
