"""The tokens of basic blocks: which registers are symbols, and which constants have a token of their own.

    >>> for vocabulary in (Vocabulary(), Vocabulary(constants=("$8",))):
    ...     print(vocabulary.read_ids(vocabulary.ids(["addq", "$8", ",", "%rax"])))
    addq <immediate> , %rax
    addq $8 , %rax

Registers are symbols: the **referent** is the base register (`%rax`, `%eax` and `%al` corefer), the **view** is width
and class. A symbol's id is V_n + referent · number of views + view. Everything else is a base token: mnemonics,
punctuation, constants, and the registers that cannot be renamed, because instructions use them without naming them
(`%rip`, segments) or by their place (`%st(1)`, and `%mm0` that shares its bits).

Source: Renamer, section 2 (views, referents) and 5.1 (all other tokens have singleton views).
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from hf_symbinv.errors import UserError
from hf_symbinv.logic import referents
from hf_symbinv.logic.referents import SymbolIds
from papers.renamer.x86_mnemonics import MNEMONICS

VIEWS = ("gp64", "gp32", "gp16", "gp8", "gp8-high", "xmm", "ymm")
GENERAL = ("a", "b", "c", "d", "si", "di", "bp", *map(str, range(8, 16)))
VECTORS = tuple(f"v{number}" for number in range(16))
STACK_POINTER = ("%rsp", "%esp", "%sp", "%spl")
FIXED_REGISTERS = (
    *STACK_POINTER, "%rip", "%eip", "%riz", "%eiz", "%cs", "%ds", "%es", "%fs", "%gs", "%ss", "%st",
    *(f"%st({number})" for number in range(8)), *(f"%mm{number}" for number in range(8)),
)  # fmt: skip
PUNCTUATION = (",", "(", ")", ":", "*")
NUMBER = r"-?(?:0x[0-9a-f]+|\d+)"

# The one with a high byte cannot stand beside a register that needs a REX prefix, so that registers trade names only
# with those of their set where a block names a high byte: the four that have one, the three that need REX for their low
# byte (as %rsp does), the eight that always need it.
_WITH_HIGH_BYTES = (range(0, 4), range(4, 7), range(7, 15))
_VECTOR_SET = range(15, 31)
_RSP = 31
_HIGH = VIEWS.index("gp8-high")
_CONSTANT = re.compile(rf"\$?{NUMBER}")


class VocabularyError(UserError):
    """A vocabulary that no blocks can have."""


@dataclass(frozen=True)
class Vocabulary:
    """Ids for the words of basic blocks.

    Attributes:
        rename_rsp: Whether `%rsp` and its parts are symbols, with a referent after all others, and trade names with
            general registers. Instructions such as push use it without naming it, so blocks with them have no place
            in such data; see `Block.uses_rsp`. Where a block has an index register, which `%rsp` cannot be, it keeps
            its name. By default it is a base token.
        constants: Those with a token of their own, written as in blocks: `$8` or `64`. All others are one of three
            tokens, by their role: immediate, displacement, scale.

    Raises:
        VocabularyError: For what is no constant, or one that is listed twice.

    Source: Renamer, section 2 (`%rsp` is a register as others) and 5.1 (each constant has a view of its own). The
    three roles are our choice: what llvm-mca says of a block hardly ever depends on the value of a constant.
    """

    rename_rsp: bool = False
    constants: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for constant in self.constants:
            if not _CONSTANT.fullmatch(constant):
                raise VocabularyError(f"constants: {constant!r} is no constant; write it as in blocks, $8 or 64")
        if len(set(self.constants)) < len(self.constants):
            raise VocabularyError("constants: one is listed twice; list each once, as own_constants does")

    @cached_property
    def base_tokens(self) -> tuple[str, ...]:
        """The words that are no symbols, in the order of their ids."""
        return (
            "<s>", "<pad>", "</s>", "<immediate>", "<displacement>", "<scale>", *PUNCTUATION,
            *(name for name in FIXED_REGISTERS if not (self.rename_rsp and name in STACK_POINTER)), *MNEMONICS,
            *self.constants,
        )  # fmt: skip

    @cached_property
    def symbol_ids(self) -> SymbolIds:
        """The arithmetic of its ids."""
        return SymbolIds(len(self.base_tokens), len(VIEWS))

    @cached_property
    def referents(self) -> tuple[str, ...]:
        """The base registers that are symbols."""
        return (*GENERAL, *VECTORS, *(["sp"] if self.rename_rsp else []))

    @cached_property
    def symbols(self) -> dict[str, int]:
        """Every register that can be renamed → its id."""
        symbol, found = self.symbol_ids.symbol, dict[str, int]()
        for referent, base in enumerate(GENERAL):
            if base.isdigit():
                names = [f"r{base}", f"r{base}d", f"r{base}w", f"r{base}b"]
            elif len(base) == 1:
                names = [f"r{base}x", f"e{base}x", f"{base}x", f"{base}l", f"{base}h"]
            else:
                names = [f"r{base}", f"e{base}", base, f"{base}l"]
            found |= {f"%{name}": symbol(referent, view) for view, name in enumerate(names)}
        for number in range(len(VECTORS)):
            for kind in ("xmm", "ymm"):
                found[f"%{kind}{number}"] = symbol(len(GENERAL) + number, VIEWS.index(kind))
        if self.rename_rsp:
            found |= {name: symbol(_RSP, view) for view, name in enumerate(STACK_POINTER)}
        return found

    @cached_property
    def names(self) -> dict[int, str]:
        """Id of a symbol → its name."""
        return {number: name for name, number in self.symbols.items()}

    @cached_property
    def _base_ids(self) -> dict[str, int]:
        return {token: number for number, token in enumerate(self.base_tokens)}

    def ids(self, words: Sequence[str]) -> list[int]:
        """The ids of the words of one instruction."""
        return [self._id(words, place) for place in range(len(words))]

    def _id(self, words: Sequence[str], place: int) -> int:
        word = words[place]
        if word in self.symbols:
            return self.symbols[word]
        if word in self._base_ids:
            return self._base_ids[word]
        if word.startswith("$"):
            return self._base_ids["<immediate>"]
        # Of numbers, only a scale stands behind a comma and before a bracket.
        is_scale = words[place - 1] == "," and words[place + 1 : place + 2] == (")",)
        return self._base_ids["<scale>" if is_scale else "<displacement>"]

    def words(self) -> dict[str, Any]:
        """What makes a `SymbolInvariantWordTokenizer` that gives texts the ids of `Block.ids`.

        It refuses registers and mnemonics that are not known, and nothing else: what it is given should be blocks.
        """
        listed = "|".join(map(re.escape, self.constants))
        return {
            "base_tokens": self.base_tokens,
            "symbols": {name: self.symbol_ids.parts(number) for name, number in self.symbols.items()},
            "num_views": len(VIEWS),
            "patterns": [
                [r"%st\(\d\)|%\w+|[,():*]|[a-z]\w*", None],
                *([[rf"(?:{listed})(?!\w)", None]] if listed else []),
                [rf"\${NUMBER}", "<immediate>"],
                [r"(?<=,)[1248](?=\))", "<scale>"],
                [NUMBER, "<displacement>"],
            ],
            "separators": r"[\s;]+",
        }

    def read_ids(self, ids: Sequence[int]) -> str:
        """What token ids say, for people: words with a blank between them, constants without a token as their role."""
        base = self.base_tokens
        return " ".join(base[number] if number < len(base) else self.names[number] for number in ids)

    def interchangeable(self, ids: Sequence[int]) -> tuple[Sequence[int], ...]:
        """The sets of referents that may trade names in a block without changing what it means or whether it exists."""
        high = any(self.symbol_ids.parts(number)[1] == _HIGH for number in ids)
        general = [list(group) for group in (_WITH_HIGH_BYTES if high else (range(len(GENERAL)),))]
        if self.rename_rsp and self._has_index(ids):
            general.append([_RSP])
        elif self.rename_rsp:
            general[1 if high else 0].append(_RSP)
        return (*general, _VECTOR_SET)

    def _has_index(self, ids: Sequence[int]) -> bool:
        comma, opening, closing = (self._base_ids[word] for word in ",()")
        inside = False
        for place, number in enumerate(ids):
            inside = number == opening or (inside and number != closing)
            if inside and number >= self.symbol_ids.base and ids[place - 1] == comma:
                return True
        return False

    def random_renaming(self, ids: Sequence[int], generator: random.Random) -> list[int]:
        """A permutation of the referents, uniform among those that keep the meaning of a block."""
        return referents.random_renaming(self.interchangeable(ids), generator)

    def canonical_renaming(self, ids: Sequence[int]) -> list[int]:
        """The permutation after which referents first appear in their own order, in each interchangeable set.

        Blocks that are renamings of each other have the same canonical form.
        """
        return self.symbol_ids.canonical_renaming(ids, self.interchangeable(ids))

    def rename_ids(self, ids: Sequence[int], renaming: Sequence[int]) -> list[int]:
        """Token ids with every referent replaced; the ids of a renamed block."""
        return self.symbol_ids.rename(ids, renaming)

    def canonical_ids(self, ids: Sequence[int]) -> list[int]:
        """The ids of the canonical form of a block."""
        return self.rename_ids(ids, self.canonical_renaming(ids))


def is_constant(word: str) -> bool:
    """Whether a word of a block is a constant: an immediate, a displacement or a scale."""
    return _CONSTANT.fullmatch(word) is not None


STANDARD = Vocabulary()
