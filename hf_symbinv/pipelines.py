"""Pipelines: questions in the user's notation and names in, answers in the same notation out, verified on request.

    import hf_symbinv
    from transformers import pipeline

    solve = pipeline("ltl-witness", model="hf_symbinv/checkpoints/ltl-base")
    solve("G(request -> F grant)", verify=True)["answer"]  # 'cycle{grant}'

`import hf_symbinv` registers them: "ltl-witness", "prop-assignment", and "symbol-task" for every other task. The
metrics `ltl_witness`, `prop_assignment` and `alpha_covariance` take the answers as they are, with the questions that
were asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from torch.utils.data import DataLoader
from transformers.pipelines import TokenClassificationPipeline
from transformers.pipelines.base import Pipeline

from hf_symbinv.evaluation.answers import Answer, Question, answer_questions, read_question
from hf_symbinv.evaluation.checkpoints import MODEL_TYPE, Checkpoint, CheckpointError, checked_task
from hf_symbinv.evaluation.sessions import is_random, start_session
from hf_symbinv.tasks import SymbolTask, load_task

# Defaults of the command line: seconds to check an answer, beams at least for several answers, length of an answer.
TIMEOUT, BEAMS, MAX_NEW_TOKENS = 10.0, 3, 100
# Our choice: questions of a list decoded together, as `symbinv evaluate` does.
BATCH_SIZE = 100


class SymbolPipeline(Pipeline):
    """Answers questions about symbols with a model of this family.

        pipeline("symbol-task", model="runs/graphs", symbol_task="graph_colouring.py")("ab;bc;ca;cd")

    Args:
        model, tokenizer: A model of type `symbol_invariant` and its tokenizer, as `transformers.pipeline` loads them.
        symbol_task: What the model answers: a task, its name, or the file that defines it; None for the task of this
            package that has the model's base tokens. (`task` is the pipeline's own name.)
        embedding_seed: Of a model with random embeddings.
        kwargs: Those of `transformers.Pipeline`, and defaults for the arguments of a call.

    Raises:
        CheckpointError: If the model is of another type, or not for this task.
        TaskError: If there is no such task.
    """

    _load_tokenizer = True
    _load_processor = _load_image_processor = _load_feature_extractor = _load_video_processor = False
    # Names of the tasks that the pipeline is for; none for all.
    default_tasks: tuple[str, ...] = ()

    def __init__(
        self,
        model: Any,
        tokenizer: Any = None,
        *,
        symbol_task: SymbolTask | str | Path | None = None,
        embedding_seed: int = 0,
        **kwargs: Any,
    ):
        name, kind = model.name_or_path or "model", getattr(model.config, "model_type", None)
        if kind != MODEL_TYPE:
            raise CheckpointError(f"{name}: its model type is {kind!r}, not {MODEL_TYPE!r}; use one of that type")
        if symbol_task is None:
            task = self._default_task(tokenizer)
        else:
            task = symbol_task if isinstance(symbol_task, SymbolTask) else load_task(symbol_task)
        self.symbol_task = checked_task(name, tokenizer, model, task)
        super().__init__(model=model, tokenizer=tokenizer, **kwargs)
        self.checkpoint = Checkpoint(name, None, self.model, tokenizer, self.symbol_task)
        if is_random(self.checkpoint):
            start_session(self.checkpoint, embedding_seed)
        self._checker: Any = None
        self._limit = 0.0

    def _default_task(self, tokenizer: Any) -> SymbolTask | None:
        """The task of this pipeline that has the model's base tokens, or else its first; None if it is for all."""
        tasks = [load_task(name) for name in self.default_tasks]
        tokens = tuple(getattr(tokenizer, "base_tokens", ()))
        return next((task for task in tasks if task.base_tokens == tokens), tasks[0] if tasks else None)

    def __call__(
        self, inputs: Any, batch_size: int | None = None, num_workers: int | None = None, **kwargs: Any
    ) -> Any:
        """Answers one question, or many.

        Args:
            inputs: A question, a list of them, or an iterable (a generator, a column of a data set).
            batch_size: Questions decoded together, at most.
            num_workers: Processes that read the questions of a list; by default this one does.
            truncation: True to refuse questions that are longer than the tokenizer's `model_max_length`; what is left
                of one that was cut would be another question.
            notation: Of questions and answers, one of the task's; its first one, infix for formulas, by default.
            verify: Have the task's solver check every answer.
            timeout: Its limit in seconds for one answer, 10 by default.
            num_return_sequences: Answers to each question, at most; repeats are left out.
            kwargs: Further arguments of `generate`, such as `num_beams`.

        Returns:
            For one question a dictionary; with `num_return_sequences` above 1 a list of them, the most likely first:

            - `answer`: in the notation and with the names of the question;
            - `score`: its log-probability divided by its length (see `ScoredAnswer`);
            - `verdict`, `message`: of the solver: `correct`, `incorrect`, `invalid`, `timeout` or `error`, and why;
              `unchecked` without `verify`; `invalid` where the model has no row for a symbol;
            - `checker`: the solver with its version, None without `verify`;
            - `seconds`: to decode (the question's share of its batch) and to check the answer.

            For a list a list of these, for another iterable an iterator, which reads a batch when it is needed.

        Raises:
            TypeError: If a question is no text.
            ValueError: If a question cannot be read (for formulas a FormulaSyntaxError), is too large, or an argument
                is unknown.
        """
        own = self._preprocess_params, self._forward_params, self._postprocess_params
        read, ask, write = (
            {**mine, **given} for mine, given in zip(own, self._sanitize_parameters(**kwargs), strict=True)
        )
        size, workers = batch_size or self._batch_size, num_workers or self._num_workers or 0
        if isinstance(inputs, (list, tuple)):
            return list(self._answered(inputs, size or BATCH_SIZE, read, ask, write, workers))
        if not isinstance(inputs, str) and (isinstance(inputs, Iterable) or hasattr(inputs, "__getitem__")):
            return self._answered(inputs, size or 1, read, ask, write)
        return next(self._answered([inputs], 1, read, ask, write))

    def save_pretrained(self, save_directory: Any, **kwargs: Any) -> None:
        """Save model and tokenizer, and not this file, whose imports are of the installed package.

        Args:
            save_directory: Folder.
            kwargs: As of `PreTrainedModel.save_pretrained`.
        """
        if type(self).__module__ != __name__:  # a class that a user has registered goes along with the model
            super().save_pretrained(save_directory, **kwargs)
            return
        self.model.save_pretrained(save_directory, **kwargs)
        self.tokenizer.save_pretrained(save_directory, **kwargs)

    def _answered(
        self,
        inputs: Iterable[Any],
        size: int,
        read: dict[str, Any],
        ask: dict[str, Any],
        write: dict[str, Any],
        workers: int = 0,
    ) -> Iterator[Any]:
        """What a call returns for each question, batch by batch."""
        reader = partial(self.preprocess, **read)
        if workers:
            asked: Iterator[Any] = iter(DataLoader(inputs, None, num_workers=workers, collate_fn=reader))
        else:
            asked = map(reader, inputs)
        while questions := list(islice(asked, size)):
            for answer in self.forward(questions, **ask):
                yield self.postprocess(answer, **write)

    def _sanitize_parameters(
        self,
        notation: str | None = None,
        num_return_sequences: int | None = None,
        truncation: bool | None = None,
        **others: Any,
    ) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        """What each of the three steps gets of the arguments of a call."""
        written: dict[str, Any] = {} if notation is None else {"notation": notation}
        read = {} if truncation is None else {"truncation": truncation}
        number = {} if num_return_sequences is None else {"num_return_sequences": num_return_sequences}
        return written | read, {**others, **number}, {**written, **number, **_of(others, "verify")}

    def preprocess(self, text: Any, notation: str | None = None, truncation: bool = False) -> Question:
        """The question that a text asks."""
        if not isinstance(text, str):
            raise TypeError(f"{text!r}: a question is a text; give a string, or a list of strings")
        question = read_question(self.symbol_task, text, notation or self.symbol_task.notations[0])
        if truncation:
            self.tokenizer(question.prompt, truncation=True)  # which refuses what is too long
        return question

    def _forward(
        self,
        questions: Sequence[Question],
        verify: bool = False,
        timeout: float = TIMEOUT,
        num_return_sequences: int = 1,
        **generation: Any,
    ) -> list[Answer]:
        """Answers to a batch of questions."""
        default = self.model.generation_config
        if verify and not self.symbol_task.judges:
            self.symbol_task.judge("", "")  # says why it cannot
        generation.setdefault("num_beams", max(default.num_beams or BEAMS, num_return_sequences))
        generation.setdefault("max_new_tokens", default.max_new_tokens or MAX_NEW_TOKENS)
        return answer_questions(
            self.checkpoint,
            questions,
            self._checker_for(timeout) if verify else None,
            num_candidates=num_return_sequences,
            batch_size=len(questions),
            **generation,
        )

    def postprocess(
        self, answer: Answer, notation: str | None = None, num_return_sequences: int = 1, verify: bool = False
    ) -> dict[str, Any] | list[dict[str, Any]]:
        """The answer to one question as a user gets it."""
        written = notation or self.symbol_task.notations[0]
        results = [
            {
                "answer": self.symbol_task.write_answer(candidate.text, written),
                "score": candidate.score,
                "verdict": candidate.verdict,
                "message": candidate.message,
                "checker": self.symbol_task.solver_version() if verify else None,
                "seconds": answer.decode_seconds + candidate.check_seconds,
            }
            for candidate in answer.candidates
        ]
        return results if num_return_sequences > 1 else results[0]

    def _checker_for(self, timeout: float) -> Any:
        """A checker with this limit, whose processes are kept for the next call; they end with the pipeline."""
        if self._checker is None or self._limit != timeout:
            if self._checker is not None:
                self._checker.close()
            self._checker, self._limit = self.symbol_task.checker(timeout=timeout), timeout
        return self._checker


class LtlWitnessPipeline(SymbolPipeline):
    """Finds lasso traces that satisfy formulas of linear temporal logic: `pipeline("ltl-witness", model=...)`.

    A formula has any operators of LTL and any names; the answer is a trace in Spot's syntax, `request; cycle{grant}`.
    All else is as for `SymbolPipeline`.
    """

    default_tasks = ("ltl", "ltl-operators")


class PropAssignmentPipeline(SymbolPipeline):
    """Finds assignments that make propositional formulas true: `pipeline("prop-assignment", model=...)`.

    The answer assigns some symbols, `request=1, grant=0`, and the formula is true whatever the others are. All else is
    as for `SymbolPipeline`.
    """

    default_tasks = ("prop",)


class SymbolTokensPipeline(TokenClassificationPipeline):
    """Identical to TokenClassificationPipeline except: a symbol is a word of its own, and `word` has its name.

    transformers asks the tokenizer, which keeps no names, and takes a token of another length for a part of a word.
    """

    def gather_pre_entities(self, sentence: str, input_ids: Any, *args: Any, **kwargs: Any) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = super().gather_pre_entities(sentence, input_ids, *args, **kwargs)
        if self.tokenizer.is_fast and hasattr(self.tokenizer, "symbol_pattern"):  # a SymbolInvariantSubwordTokenizer
            for one in found:
                if input_ids[one["index"]] >= self.tokenizer.vocab_size:
                    one |= {"word": sentence[one["start"] : one["end"]], "is_subword": False}
        return found


def _of(options: dict[str, Any], name: str) -> dict[str, Any]:
    return {name: options[name]} if name in options else {}


__all__ = ["LtlWitnessPipeline", "PropAssignmentPipeline", "SymbolPipeline", "SymbolTokensPipeline"]
