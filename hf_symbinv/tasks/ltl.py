"""Linear temporal logic: given a formula, find a lasso trace that satisfies it.

`LTL` is the one object other rooms need: `LTL.tokenizer()`, `LTL.parse(text, "infix")`, `LTL.checker()`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hf_symbinv.logic import (
    Formula,
    Trace,
    parse_infix,
    parse_lbt,
    parse_prefix,
    parse_trace,
    to_infix,
    to_lbt,
    to_prefix,
    trace_to_infix,
    trace_to_prefix,
)

if TYPE_CHECKING:
    from hf_symbinv.modeling.tokenization_symbinv import SymbolInvariantTokenizer
    from hf_symbinv.solvers import Checker

_PARSERS = {"infix": parse_infix, "lbt": parse_lbt, "prefix": parse_prefix}
_WRITERS = {"infix": to_infix, "lbt": to_lbt, "prefix": to_prefix}


@dataclass(frozen=True)
class LTLTask:
    """What distinguishes the LTL task.

    Attributes:
        name: Name in commands, recipes and data sets.
        metric: Name of the `evaluate` module that scores answers.
        base_tokens: Tokens of fixed identity, in the order of their ids: 13 with the three special ones. SIT Table 6's
            parameter counts imply the number; the order is our choice, with a padding id other than 0 because
            `generate` fills finished beams with `pad_token_id or eos_token_id`.
        arities: Number of children of each base token in formulas; None for special tokens and those that join steps.
        notations: Names of the notations that formulas are read and written in.
    """

    name: str = "ltl"
    metric: str = "ltl_witness"
    base_tokens: tuple[str, ...] = ("<s>", "<pad>", "</s>", "0", "1", "&", "|", "!", ";", "{", "}", "U", "X")
    arities: tuple[int | None, ...] = (None, None, None, 0, 0, 2, 2, 1, None, None, None, 2, 1)
    notations: tuple[str, ...] = tuple(_PARSERS)

    @property
    def token_arity(self) -> dict[str, int]:
        """Base token → number of children, as `SymbolInvariantTokenizer` takes it."""
        return {token: n for token, n in zip(self.base_tokens, self.arities, strict=True) if n is not None}

    def tokenizer(self) -> SymbolInvariantTokenizer:
        """A new tokenizer for formulas and traces in prefix notation."""
        from hf_symbinv.modeling.tokenization_symbinv import SymbolInvariantTokenizer  # torch only where it is needed

        return SymbolInvariantTokenizer(list(self.base_tokens), self.token_arity)

    def token_arity_by_id(self) -> dict[int, int]:
        """Base id → number of children, as `SymbolInvariantConfig.token_arity` takes it."""
        return {index: n for index, n in enumerate(self.arities) if n is not None}

    def parse(self, text: str, notation: str) -> Formula:
        """Read a formula.

        Raises:
            FormulaSyntaxError: If `text` is no formula in this notation.
            ValueError: If `notation` is unknown.
        """
        return _PARSERS[self._known(notation)](text)

    def write(self, formula: Formula, notation: str) -> str:
        """Write a formula.

        Raises:
            ValueError: If `notation` is unknown.
        """
        return _WRITERS[self._known(notation)](formula)

    def parse_answer(self, text: str) -> Trace:
        """Read a witness in prefix notation, as models write it.

        Raises:
            FormulaSyntaxError: If `text` is no trace.
        """
        return parse_trace(text)

    def write_answer(self, trace: Trace, notation: str) -> str:
        """Write a witness: in prefix notation for `prefix` and `lbt`, which has no traces, else in Spot's word syntax.

        Raises:
            ValueError: If `notation` is unknown.
        """
        return trace_to_infix(trace) if self._known(notation) == "infix" else trace_to_prefix(trace)

    def checker(self, **options: Any) -> Checker:
        """A checker of (formula, witness) pairs in prefix notation; `options` are those of `Checker`."""
        from hf_symbinv.solvers import Checker

        return Checker(**options)

    def _known(self, notation: str) -> str:
        if notation not in _PARSERS:
            raise ValueError(f"notation={notation!r}: unknown; use one of {', '.join(self.notations)}")
        return notation


LTL = LTLTask()

__all__ = ["LTL", "LTLTask"]
