"""Grammars of answers: what may follow what is written, so that an answer is always one and ends before the limit.

A grammar reads an answer token by token: `start`, then `follow`; `allowed` says what may come next. The search keeps a
state per beam, so no text is read twice.

Letters: R rows (beams of questions), K slots, V_n base tokens.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import torch
from torch import Tensor


class Grammar(ABC):
    """A grammar of answers, of the token ids of `config.grammar`, as the subclass says."""

    name: str  # of the grammar
    noun: str  # what an answer is
    shortest: tuple[str, ...]  # the tokens of the shortest answer

    def __init__(self, tokens: dict[str, Any], base_vocab_size: int, eos_token_id: int):
        self.tokens, self.base_vocab_size, self.eos_token_id = tokens, base_vocab_size, eos_token_id

    @abstractmethod
    def start(self, symbols: int) -> Any:
        """The state before an answer to a question with so many symbols."""

    @abstractmethod
    def follow(self, state: Any, token: int) -> Any:
        """The state behind a token, a slot id."""

    @abstractmethod
    def allowed(self, state: Any, left: int, columns: int) -> Sequence[bool]:
        """Which slot ids 0 … columns - 1 may come next, with at most `left` tokens behind; a base token always may."""

    @abstractmethod
    def needs(self, state: Any) -> int:
        """More tokens left than these make no difference to what is allowed."""


class _Trace(NamedTuple):
    """Where the reader of a trace is: operands that its state still awaits, and what it has seen."""

    awaited: int = 1
    at_start: bool = True
    in_cycle: bool = False
    closed: bool = False


class LassoGrammar(Grammar):
    """Lasso traces in prefix notation.

        trace → (state `;`)* `{` state (`;` state)* `}` EOS
        state → operand | unary state | binary state state

    `tokens` holds ids: `"operand"` (constants; every symbol is one too), `"unary"`, `"binary"` lists of ids;
    `"separator"`, `"cycle_start"`, `"cycle_end"`.
    """

    name = "lasso"
    noun = "trace"
    shortest = ("cycle start", "a state", "cycle end", "EOS")

    def __init__(self, tokens: dict[str, Any], base_vocab_size: int, eos_token_id: int):
        super().__init__(tokens, base_vocab_size, eos_token_id)
        self._roles = dict.fromkeys(range(base_vocab_size), "other")
        for role in ("operand", "unary", "binary", "separator", "cycle_start", "cycle_end"):
            ids = tokens[role] if isinstance(tokens[role], list) else [tokens[role]]
            self._roles |= dict.fromkeys(ids, role)
        self._roles[eos_token_id] = "eos"

    def start(self, symbols: int) -> _Trace:
        return _Trace()

    def follow(self, state: _Trace, token: int) -> _Trace:
        role = self._roles.get(token, "operand")
        if role in ("operand", "unary", "binary"):
            awaited = state.awaited + {"operand": -1, "unary": 0, "binary": 1}[role]
            return state._replace(awaited=awaited, at_start=False)
        if role in ("separator", "cycle_start"):
            return state._replace(awaited=1, at_start=True, in_cycle=state.in_cycle or role == "cycle_start")
        return state._replace(closed=state.closed or role == "cycle_end")

    def allowed(self, state: _Trace, left: int, columns: int) -> Sequence[bool]:
        awaited, at_start, in_cycle, closed = state
        in_state, after_state = not closed and awaited > 0, not closed and awaited == 0
        to_close = 2 if in_cycle else 5  # `} EOS`, or `; { operand } EOS`
        may = {
            "operand": in_state and awaited - 1 + to_close <= left,
            "unary": in_state and awaited + to_close <= left,
            "binary": in_state and awaited + 1 + to_close <= left,
            "separator": after_state and (3 if in_cycle else 4) <= left,
            "cycle_start": not in_cycle and at_start and left >= 3,
            "cycle_end": in_cycle and after_state and left >= 1,
            "eos": closed,
            "other": False,
        }
        return [may[self._roles.get(token, "operand")] for token in range(columns)]

    def needs(self, state: _Trace) -> int:
        return state.awaited + 6  # the longest way to close the trace behind one more operator


class _Assignment(NamedTuple):
    """What the reader of an assignment has seen: symbols left of the question, those used, and where it is."""

    unused: int
    used: frozenset[int] = frozenset()
    awaits_value: bool = False
    ended: bool = False


class AssignmentGrammar(Grammar):
    """Partial assignments: symbol and value alternate, and no symbol comes twice.

        assignment → symbol value (symbol value)* EOS

    `tokens` holds the ids of the `"values"`. Where there is no symbol to write, the answer is empty.
    """

    name = "assignment"
    noun = "assignment"
    shortest = ("a symbol", "its value", "EOS")

    def start(self, symbols: int) -> _Assignment:
        return _Assignment(symbols)

    def follow(self, state: _Assignment, token: int) -> _Assignment:
        if token == self.eos_token_id:
            return state._replace(ended=True)
        if token < self.base_vocab_size:
            return state._replace(awaits_value=False)
        return _Assignment(state.unused - 1, state.used | {token}, True)

    def allowed(self, state: _Assignment, left: int, columns: int) -> Sequence[bool]:
        if state.awaits_value and not state.ended:
            return [token in self.tokens["values"] for token in range(columns)]
        may_name = not state.ended and left >= 2  # value and EOS follow
        may_end = state.ended or bool(state.used) or not (may_name and state.unused)
        base = [token == self.eos_token_id and may_end for token in range(self.base_vocab_size)]
        return base + [may_name and token not in state.used for token in range(self.base_vocab_size, columns)]

    def needs(self, state: _Assignment) -> int:
        return 2  # a value and EOS


GRAMMARS: dict[str, type[Grammar]] = {grammar.name: grammar for grammar in (LassoGrammar, AssignmentGrammar)}


class GrammarProcessor:
    """Lets only answers of a grammar be written: a logits processor that the search tells what was written.

    The question of each row has so many `symbols`. `max_length` counts prompt and EOS too. `is_first` says that no
    other processor has changed the scores before.
    """

    def __init__(self, grammar: Grammar, symbols: Sequence[int], max_length: int, is_first: bool = False):
        self.grammar, self.max_length, self.length, self.is_first = grammar, max_length, 1, is_first
        self.states = [grammar.start(number) for number in symbols]  # of each row
        # Beams are in few states: what follows each, and what is allowed there, is found out once.
        self._follow = cache(grammar.follow)
        self._places: dict[tuple[Any, int], int] = {}  # of a state and the tokens left, in `_allowed`
        self._allowed = torch.empty(0, 0, dtype=torch.bool)

    def read(self, prompts: Sequence[Sequence[int]]) -> None:
        """Reads the beginnings of the answers, start tokens first; refuses what no answer can begin with or meet."""
        grammar, room = self.grammar, self.max_length - 1
        if len(prompts[0]) == 1 and room < len(grammar.shortest):
            shortest = f"the shortest {grammar.noun} has {len(grammar.shortest)} ({', '.join(grammar.shortest)})"
            raise ValueError(f"at most {room} new tokens: {shortest}; raise max_new_tokens or pass grammar=None")
        for row, prompt in enumerate(prompts):
            for place, token in enumerate(prompt[1:], 1):
                columns = max(token + 1, grammar.base_vocab_size)
                if not grammar.allowed(self.states[row], self.max_length - place - 1, columns)[token]:
                    shown = token if token < grammar.base_vocab_size else "a symbol"
                    why = f"no {grammar.noun} within max_length continues so"
                    where = f"decoder_input_ids[{row}, {place}], {shown}"
                    raise ValueError(f"{where}: {why}; correct the beginning or pass grammar=None")
                self.states[row] = grammar.follow(self.states[row], token)
        self.length = len(prompts[0])

    def follow(self, parents: Sequence[int], tokens: Sequence[int]) -> None:
        """Row i continues row `parents[i]` with `tokens[i]`."""
        states = self.states
        self.states = [self._follow(states[parent], token) for parent, token in zip(parents, tokens, strict=True)]
        self.length += 1

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """Sets `scores (R, V_n + K)` of tokens that cannot follow `input_ids (R, T)` to -inf."""
        left, columns, grammar = self.max_length - self.length - 1, scores.shape[1], self.grammar
        asked = [(state, min(left, grammar.needs(state))) for state in self.states]
        new = [one for one in dict.fromkeys(asked) if one not in self._places]
        if new:
            self._places |= {one: len(self._places) + place for place, one in enumerate(new)}
            rows = torch.tensor([grammar.allowed(*one, columns) for one in new], device=scores.device)
            self._allowed = torch.cat((self._allowed.to(rows.device).view(-1, columns), rows))
        may = self._allowed[torch.tensor([self._places[one] for one in asked], device=scores.device)]
        kept = torch.where(may, scores, -torch.inf)
        if self.is_first:
            return kept
        # Where others, such as a minimal length, forbade all that the grammar allows, the grammar wins. Only base
        # tokens come back, since a column of a symbol may stand for none, and EOS where no other may.
        may[:, grammar.base_vocab_size :] = False
        may[:, grammar.eos_token_id] |= ~may.any(1)
        return kept.masked_fill((kept == -torch.inf).all(1, keepdim=True) & may, 0.0)
