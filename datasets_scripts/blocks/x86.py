"""Basic blocks of x86-64 assembly: read, written, renamed, and as token ids.

    >>> block = Block.parse("movq 64(%rsp), %rax;subl $1, 56(%rbp);movl 16(%rax), %eax")
    >>> str(block.renamed(canonical_renaming(block.ids())))
    'movq 64(%rsp), %rax;subl $1, 56(%rbx);movl 16(%rax), %eax'

A basic block is instructions without jumps in AT&T syntax as LLVM prints them, one a line or separated by `;`.
Mnemonics are those of `x86_mnemonics`, and operands such as they take.

Registers are symbols: the **referent** is the base register (`%rax`, `%eax` and `%al` corefer), the **view** is width
and class. A symbol's id is V_n + referent · number of views + view. Everything else is a base token: mnemonics,
punctuation, and the registers that cannot be renamed, because instructions use them without naming them (`%rsp`,
`%rip`, segments) or by their place (`%st(1)`, and `%mm0` that shares its bits).

Constants become three tokens, by their role: immediate, displacement, scale. What llvm-mca says of a block depends on
whether there is a displacement, and hardly ever on its value.

Source: Renamer, section 2 (views, referents) and 5.1 (other tokens have a view of their own). What becomes of constants
is our choice.
"""

from __future__ import annotations

import difflib
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hf_symbinv.datasets_scripts.blocks.x86_mnemonics import MNEMONICS
from hf_symbinv.datasets_scripts.blocks.x86_operands import wrong_operands
from hf_symbinv.errors import UserError
from hf_symbinv.logic import referents
from hf_symbinv.logic.referents import SymbolIds

VIEWS = ("gp64", "gp32", "gp16", "gp8", "gp8-high", "xmm", "ymm")
GENERAL = ("a", "b", "c", "d", "si", "di", "bp", *map(str, range(8, 16)))
VECTORS = tuple(f"v{number}" for number in range(16))
REFERENTS = (*GENERAL, *VECTORS)
FIXED_REGISTERS = (
    "%rsp", "%esp", "%sp", "%spl", "%rip", "%eip", "%riz", "%eiz", "%cs", "%ds", "%es", "%fs", "%gs", "%ss", "%st",
    *(f"%st({number})" for number in range(8)), *(f"%mm{number}" for number in range(8)),
)  # fmt: skip
PUNCTUATION = (",", "(", ")", ":", "*")
BASE_TOKENS = (
    "<s>", "<pad>", "</s>", "<immediate>", "<displacement>", "<scale>", *PUNCTUATION, *FIXED_REGISTERS, *MNEMONICS,
)  # fmt: skip
IDS = SymbolIds(len(BASE_TOKENS), len(VIEWS))
PAD = BASE_TOKENS.index("<pad>")
_KNOWN = frozenset(MNEMONICS)
_BASE_IDS = {token: number for number, token in enumerate(BASE_TOKENS)}

# The one with a high byte cannot stand beside a register that needs a REX prefix, so that registers trade names only
# with those of their set where a block names a high byte: the four that have one, the three that need REX for their low
# byte, the eight that always need it.
_SETS_WITH_HIGH_BYTES = (range(0, 4), range(4, 7), range(7, 15))
_VECTOR_SET = range(15, 31)
_HIGH = VIEWS.index("gp8-high")

# Instructions that read or write a general or vector register which their text does not name, or which must be this
# very one. Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2.
_IMPLICIT_LISTED = """
    cbtw cltd cltq cmpxchg16b cmpxchg8b cmpxchgb cmpxchgl cmpxchgq cmpxchgw cpuid cqto cwtd cwtl enter inb     inl
insb insl insw inw lahf leave lodsb lodsl lodsq lodsw loop maskmovdqu maskmovq monitor movsb movsl movsq movsw
mulxl mulxq mwait outb outl outsb outsl outsw outw pcmpestri pcmpestrm pcmpistri pcmpistrm rdmsr rdpmc rdtsc rdtscp
sahf scasb scasl scasq scasw stosb stosl stosq stosw cmpsb cmpsl cmpsq cmpsw syscall sysenter sysexit sysret
vmaskmovdqu vpcmpestri vpcmpestrm vpcmpistri vpcmpistrm vzeroall vzeroupper wrmsr xgetbv xlatb xrstor xsave xsavec
xsaveopt xsetbv blendvpd blendvps pblendvb
"""
_IMPLICIT = frozenset(_IMPLICIT_LISTED.split())
_ONE_OPERAND = re.compile(r"(i?mul|i?div)[bwlq]")
_SHIFT = re.compile(r"(sh[lr]|sa[lr]|ro[lr]|rc[lr]|sh[lr]d)[bwlq]")

_NUMBER = r"-?(?:0x[0-9a-f]+|\d+)"
_WORD = re.compile(rf"%st\(\d\)|%\w+|\${_NUMBER}|{_NUMBER}|[,():*]|[a-z]\w*")
_OPERAND = re.compile(
    rf"""
        %st\(\d\)|%\w+
      | \${_NUMBER}
      | (?:%\w+:)?(?:{_NUMBER})?\((?:%\w+|(?:%\w+)?,%\w+(?:,[1248])?)\)
      | (?:%\w+:)?{_NUMBER}
    """,
    re.VERBOSE,
)
_AVX_512 = re.compile(r"%(?:zmm\d+|[xy]mm(?:1[6-9]|2\d|3[01])|k[0-7])")
_REPEATED = re.compile(r"rep(?:n?[ez])?")
_JUMP = re.compile(r"j[a-z]+|l?(call|jmp)[lqw]?|l?ret[lqw]?|loopn?e?")


class AssemblyError(UserError):
    """A text that is no basic block of x86-64; the message says where and why."""


class ImplicitOperandsError(AssemblyError):
    """An instruction with implicit operands, other than those that have tokens and of which `Block.implicit` tells."""


def _register_ids() -> dict[str, int]:
    """Every register that can be renamed → its id."""
    ids: dict[str, int] = {}
    for referent, base in enumerate(GENERAL):
        if base.isdigit():
            names = [f"r{base}", f"r{base}d", f"r{base}w", f"r{base}b"]
        elif len(base) == 1:
            names = [f"r{base}x", f"e{base}x", f"{base}x", f"{base}l", f"{base}h"]
        else:
            names = [f"r{base}", f"e{base}", base, f"{base}l"]
        ids |= {f"%{name}": IDS.symbol(referent, view) for view, name in enumerate(names)}
    for number in range(len(VECTORS)):
        for kind in ("xmm", "ymm"):
            ids[f"%{kind}{number}"] = IDS.symbol(len(GENERAL) + number, VIEWS.index(kind))
    return ids


_SYMBOLS = _register_ids()
_NAMES = {number: name for name, number in _SYMBOLS.items()}
_REGISTERS = (*_SYMBOLS, *FIXED_REGISTERS)


@dataclass(frozen=True, slots=True)
class Block:
    """A basic block.

    Attributes:
        instructions: Each the words of one instruction: its mnemonic, then registers, constants and punctuation.
    """

    instructions: tuple[tuple[str, ...], ...]

    @classmethod
    def parse(cls, text: str) -> Block:
        """Reads AT&T syntax as LLVM prints it, instructions separated by lines or `;`.

        Raises:
            ImplicitOperandsError: At an instruction with implicit operands that BHive has not, such as `rep`.
            AssemblyError: If it is no basic block.
        """
        instructions = [part.strip() for part in re.split(r"[;\n]", text)]
        instructions = [part for part in instructions if part]
        if not instructions:
            raise AssemblyError(f"{text!r}: holds no instruction; write some, such as 'movq 64(%rsp), %rax'")
        return cls(tuple(_words(part) for part in instructions))

    def __str__(self) -> str:
        return ";".join(map(_write, self.instructions))

    def ids(self) -> list[int]:
        """The block as token ids; a mnemonic begins an instruction, so nothing stands between two."""
        return [_id(words, place) for words in self.instructions for place in range(len(words))]

    def renamed(self, renaming: Sequence[int]) -> Block:
        """The block with every base register replaced.

        Args:
            renaming: A permutation of the places in `REFERENTS`: the new one of each.

        Raises:
            AssemblyError: If a register would need a part that the new one has not, such as a high byte.
        """
        return Block(tuple(tuple(_rename_word(word, renaming) for word in words) for words in self.instructions))

    @property
    def implicit(self) -> tuple[str, ...]:
        """The instructions that use registers which they do not name, `%rsp` and the flags aside."""
        return tuple(_write(words) for words in self.instructions if _is_implicit(words))


def _words(instruction: str) -> tuple[str, ...]:
    mnemonic, _, rest = instruction.partition(" ")
    if mnemonic not in _KNOWN:
        if mnemonic in _IMPLICIT or _REPEATED.fullmatch(mnemonic):
            raise ImplicitOperandsError(
                f"{instruction!r}: {mnemonic} uses registers that it does not name, or can name no others; leave the "
                "block out, as all with implicit operands are"
            )
        raise AssemblyError(f"{instruction!r}: {_why_unknown(mnemonic)}")
    operands = re.split(r",(?![^()]*\))", rest.replace(" ", "").replace("\t", "")) if rest.strip() else []
    words = [mnemonic]
    for place, operand in enumerate(operands):
        if not _OPERAND.fullmatch(operand):
            raise AssemblyError(
                f"{instruction!r}: {operand!r} is no operand in AT&T syntax; write a register (%rax), a constant ($1) "
                "or memory (8(%rax,%rbx,4))"
            )
        for word in _WORD.findall(operand):
            if word.startswith("%") and word not in _SYMBOLS and word not in _BASE_IDS:
                raise AssemblyError(f"{instruction!r}: {word}: {_why_no_register(word)}")
            words.append(word)
        if place < len(operands) - 1:
            words.append(",")
    wrong = wrong_operands(mnemonic, operands)
    if wrong:
        raise AssemblyError(f"{instruction!r}: {wrong}")
    return tuple(words)


def _why_no_register(word: str) -> str:
    if _AVX_512.fullmatch(word):
        return "a register of AVX-512, which is not supported, as no block of BHive has one; leave the block out"
    near = difflib.get_close_matches(word, _REGISTERS, n=1)
    hint = f"did you mean {near[0]}?" if near else "use general registers, xmm, ymm, mm or st"
    return f"unknown register; {hint}"


def _why_unknown(mnemonic: str) -> str:
    if _JUMP.fullmatch(mnemonic):
        return f"{mnemonic} is a jump, which ends a basic block; leave it out"
    with_suffix = [mnemonic + suffix for suffix in "bwlq" if mnemonic + suffix in _KNOWN]
    if with_suffix:
        return f"{mnemonic}: no size; write {' or '.join(with_suffix)}, as llvm-mc prints it"
    near = difflib.get_close_matches(mnemonic, MNEMONICS, n=1)
    hint = f"did you mean {near[0]}?" if near else "is it AT&T syntax of x86-64?"
    return f"{mnemonic}: not among the {len(MNEMONICS)} mnemonics that are known; {hint}"


def _write(words: Sequence[str]) -> str:
    text, depth = [words[0], " "], 0
    for word in words[1:]:
        depth += (word == "(") - (word == ")")
        text.append(", " if word == "," and not depth else word)
    return "".join(text).rstrip()


def _id(words: Sequence[str], place: int) -> int:
    word = words[place]
    if word in _SYMBOLS:
        return _SYMBOLS[word]
    if place == 0 or word in _BASE_IDS:
        return _BASE_IDS[word]
    if word.startswith("$"):
        return _BASE_IDS["<immediate>"]
    # Of numbers, only a scale stands behind a comma and before a bracket.
    return _BASE_IDS["<scale>" if words[place - 1] == "," and words[place + 1 : place + 2] == (")",) else
                     "<displacement>"]  # fmt: skip


def _rename_word(word: str, renaming: Sequence[int]) -> str:
    if word not in _SYMBOLS:
        return word
    [number] = IDS.rename([_SYMBOLS[word]], renaming)
    if number not in _NAMES:
        referent, view = IDS.parts(number)
        raise AssemblyError(
            f"{word}: cannot become {REFERENTS[referent]}, which has no {VIEWS[view]}; use a renaming that "
            "random_renaming or canonical_renaming gives for the block"
        )
    return _NAMES[number]


def _is_implicit(words: Sequence[str]) -> bool:
    mnemonic = words[0]
    return (
        mnemonic in _IMPLICIT
        or (mnemonic in ("fnstsw", "fstsw") and tuple(words[1:]) == ("%ax",))
        or (_ONE_OPERAND.fullmatch(mnemonic) is not None and _operands(words) == 1)
        or (_SHIFT.fullmatch(mnemonic) is not None and tuple(words[1:3]) == ("%cl", ","))
    )


def _operands(words: Sequence[str]) -> int:
    return len(re.findall(r", ", _write(words))) + (len(words) > 1)


def words() -> dict[str, Any]:
    """What makes a `SymbolInvariantWordTokenizer` that gives texts the ids of `Block.ids`.

    It refuses registers and mnemonics that are not known, and nothing else: what it is given should be blocks.
    """
    return {
        "base_tokens": BASE_TOKENS,
        "symbols": {name: IDS.parts(number) for name, number in _SYMBOLS.items()},
        "num_views": len(VIEWS),
        "patterns": [
            [r"%st\(\d\)|%\w+|[,():*]|[a-z]\w*", None],
            [rf"\${_NUMBER}", "<immediate>"],
            [r"(?<=,)[1248](?=\))", "<scale>"],
            [_NUMBER, "<displacement>"],
        ],
        "separators": r"[\s;]+",
    }


def read_ids(ids: Sequence[int]) -> str:
    """What token ids say, for people: words with a blank between them, constants as their role."""
    return " ".join(BASE_TOKENS[number] if number < len(BASE_TOKENS) else _NAMES[number] for number in ids)


def interchangeable(ids: Sequence[int]) -> tuple[range, ...]:
    """The sets of referents that may trade names in a block without changing what it means or whether it exists."""
    high = any(IDS.parts(number)[1] == _HIGH for number in ids)
    return (*(_SETS_WITH_HIGH_BYTES if high else (range(0, len(GENERAL)),)), _VECTOR_SET)


def random_renaming(ids: Sequence[int], generator: random.Random) -> list[int]:
    """A permutation of the referents, uniform among those that keep the meaning of a block."""
    return referents.random_renaming(interchangeable(ids), generator)


def canonical_renaming(ids: Sequence[int]) -> list[int]:
    """The permutation after which referents first appear in the order of `REFERENTS`, in each interchangeable set.

    Blocks that are renamings of each other have the same canonical form.
    """
    return IDS.canonical_renaming(ids, interchangeable(ids))


def rename_ids(ids: Sequence[int], renaming: Sequence[int]) -> list[int]:
    """Token ids with every referent replaced; the ids of a renamed block."""
    return IDS.rename(ids, renaming)


def canonical_ids(ids: Sequence[int]) -> list[int]:
    """The ids of the canonical form of a block."""
    return rename_ids(ids, canonical_renaming(ids))
