"""Minimum risk training: a model answers its training questions, a judge says which answers are right, and the model
learns to give the wrong ones less of its probability.

A model that has learned from known answers often has a right answer among its beams, and not always in the first place.
A known answer is one of many right ones, and no loss on it says that another answer is wrong; the judge does. For each
question with right and wrong candidates the loss is the probability of the wrong ones, as the model shares it among the
candidates. Where all candidates are wrong, the known answer joins them. A little of the cross-entropy of the shortest
right candidates comes on top, or answers would become longer and longer: what is long is seldom wrong. Where all
candidates are right and none is shorter than the most likely one, there is nothing to learn.

Source: Shen et al. 2016, Minimum Risk Training for Neural Machine Translation, equations 4 to 6, with the risk 1 of a
wrong answer and 0 of a right one, alpha = 1, and beams in the place of samples.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from hf_symbinv.errors import UserError
from hf_symbinv.solvers import Checker
from hf_symbinv.tasks import PAIRS
from hf_symbinv.tasks.base import SymbolTask, symbol_names
from hf_symbinv.training.decoding import without_dropout

# Names under which answers are judged, more than a question has.
NAMES = symbol_names(1000)
# Our choice: what keeps right answers likely beside all answers that are no candidates, and short.
CROSS_ENTROPY = 0.3
RIGHT, WRONG = ("exact", "correct"), ("incorrect", "invalid")


class Told(NamedTuple):
    """What a batch taught.

    Attributes:
        loss: Scalar, to be minimised.
        risk: The mean probability of wrong answers, of the questions that have answers of both kinds.
        right: The share of the batch's questions whose most likely answer is right.
        states: Outputs `(B, S, L, D)` of the encoder's embedding and of each layer, for the batch's questions.
    """

    loss: torch.Tensor
    risk: float
    right: float
    states: tuple[torch.Tensor, ...]


class _Lesson(NamedTuple):
    """A candidate answer to the question at this place in the batch."""

    question: int
    tokens: torch.Tensor
    is_wrong: bool
    is_shortest_right: bool


def require_judge(task: str, candidates: int) -> None:
    """Makes sure that a task, by its name, has a judge of answers, and that there are several to compare."""
    if candidates < 2:
        raise UserError(f"risk_candidates={candidates}: must be at least 2, for answers to be compared; correct it")
    if task == PAIRS:
        raise UserError(f"risk_candidates: task {PAIRS} knows no right answers but the given ones; leave the line out")


class Judged:
    """The loss of a batch by the verdicts on the model's own answers.

    Args:
        task: What is asked. Its judge takes what the model reads, `task.prompt`, for the question.
        tokenizer: Of the model.
        checker: As `task.checker()` makes it.
        candidates: Beams, all of which are judged.
    """

    def __init__(self, task: SymbolTask, tokenizer: Any, checker: Checker, candidates: int):
        self.task, self.tokenizer, self.checker, self.candidates = task, tokenizer, checker, candidates

    def told(self, model: Any, inputs: dict[str, torch.Tensor]) -> Told:
        """The loss of a batch.

        Args:
            model: In training mode; it answers without dropout.
            inputs: `input_ids` and `attention_mask` `(B, L)`, and `labels` `(B, T)`, the known answers.

        The scale of AdaCos, which follows labels, stays as it is.
        """
        written = self._answers(model, inputs)
        lessons, right = self._lessons(written, inputs)
        # Each question is read once, however many candidates it has, with the known answer's symbols beside its own.
        known = model.prepare_decoder_input_ids_from_labels(inputs["labels"])
        read = model.get_encoder()(inputs["input_ids"], inputs["attention_mask"], known, output_hidden_states=True)
        if not lessons:  # a step without a lesson
            return Told(0.0 * sum(weight.sum() for weight in model.parameters()), 0.0, right, read.hidden_states)
        device = inputs["input_ids"].device
        row = torch.tensor([one.question for one in lessons], device=device)
        answers = [one.tokens for one in lessons]
        targets = torch.nn.utils.rnn.pad_sequence(answers, batch_first=True, padding_value=-100).to(device)
        wrong = torch.tensor([one.is_wrong for one in lessons], device=device)
        is_shortest = torch.tensor([one.is_shortest_right for one in lessons], device=device)
        logits = model(
            encoder_outputs=read.of_questions(row.tolist()),
            decoder_input_ids=model.prepare_decoder_input_ids_from_labels(targets),
            return_id_logits=True,
        ).logits.float()  # (candidates, T, ids)
        is_token = targets != -100
        chosen = logits.log_softmax(-1).gather(-1, targets.clamp(min=0).unsqueeze(-1)).squeeze(-1)
        likely = chosen.masked_fill(~is_token, 0.0).sum(-1)  # (candidates,): log-probabilities of whole answers
        mixed = row[wrong].unique()  # a question with a wrong candidate has a right one too
        each = [likely[row == question].softmax(0)[wrong[row == question]].sum() for question in mixed]
        mean_risk = torch.stack(each).mean() if each else likely.new_zeros(())
        cross_entropy = -likely[is_shortest].sum() / is_token[is_shortest].sum()
        loss = mean_risk + CROSS_ENTROPY * cross_entropy
        return Told(loss, float(mean_risk.detach()), right, read.hidden_states)

    @torch.no_grad()
    def _answers(self, model: Any, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
        """The model's answers `(B, candidates, T)`, the most likely first, padded."""
        with without_dropout(model):
            written = model.generate(
                input_ids=inputs["input_ids"],
                attention_mask=inputs["attention_mask"],
                num_beams=self.candidates,
                num_return_sequences=self.candidates,
            )
        return written[:, 1:].view(len(inputs["input_ids"]), self.candidates, -1)  # without the start token

    def _lessons(self, written: torch.Tensor, inputs: dict[str, torch.Tensor]) -> tuple[list[_Lesson], float]:
        """The candidates of all questions that teach something, and the share of questions that the model answers
        right.
        """
        # A verdict is the same under any names.
        names = self.tokenizer.fixed_names or NAMES
        read = {"symbols": names, "skip_special_tokens": True}
        questions = self.tokenizer.batch_decode(inputs["input_ids"], **read)
        answers = [self.tokenizer.batch_decode(beams, **read) for beams in written]
        pairs = [(question, text) for question, texts in zip(questions, answers, strict=True) for text in texts]
        known = [self.task.quick_verdict(*pair) for pair in pairs]
        asked = iter(self.checker.check([pair for pair, verdict in zip(pairs, known, strict=True) if verdict is None]))
        verdicts = [next(asked).verdict if verdict is None else verdict for verdict in known]
        lessons: list[_Lesson] = []
        first = 0
        for place, texts in enumerate(answers):
            own = verdicts[place * self.candidates : (place + 1) * self.candidates]
            first += own[0] in RIGHT
            # Repeats fill up where there are fewer answers than beams, and a judge may be out of time.
            found = {
                text: (self._target(tokens), verdict in WRONG)
                for text, tokens, verdict in zip(texts, written[place], own, strict=True)
                if verdict in (*RIGHT, *WRONG)
            }
            judged = list(found.values())
            if judged and all(wrong for _, wrong in judged):
                judged.append((self._target(inputs["labels"][place]), False))
            right = [tokens for tokens, wrong in judged if not wrong]
            shortest = min(map(len, right), default=0)
            taught = [_Lesson(place, tokens, False, True) for tokens in right if len(tokens) == shortest]
            if len(right) < len(judged):
                longer = [_Lesson(place, tokens, False, False) for tokens in right if len(tokens) > shortest]
                lessons += taught + longer + [_Lesson(place, tokens, True, False) for tokens, wrong in judged if wrong]
            elif right and len(right[0]) > shortest:
                lessons += taught
        return lessons, first / len(questions)

    def _target(self, tokens: torch.Tensor) -> torch.Tensor:
        """The tokens of an answer without padding."""
        return tokens[(tokens >= 0) & (tokens != self.tokenizer.pad_token_id)]
