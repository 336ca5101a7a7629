"""Basic blocks of x86-64 assembly: read, written, renamed, and as token ids.

    >>> block = Block.parse("movq 64(%rsp), %rax;subl $1, 56(%rbp);movl 16(%rax), %eax")
    >>> str(block.renamed(canonical_renaming(block.ids())))
    'movq 64(%rsp), %rax;subl $1, 56(%rbx);movl 16(%rax), %eax'

A basic block is instructions without jumps in AT&T syntax as LLVM prints them, one a line or separated by `;`.
Mnemonics are those of `x86_mnemonics`, operands such as they take, and token ids those of `x86_tokens`. The standard
vocabulary keeps the name of `%rsp`, and its constants are three tokens, by their role.

Source: Renamer, section 2.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hf_symbinv.errors import UserError
from papers.renamer.x86_mnemonics import MNEMONICS
from papers.renamer.x86_operands import wrong_operands
from papers.renamer.x86_tokens import (
    FIXED_REGISTERS,
    NUMBER,
    STANDARD,
    VIEWS,
    Vocabulary,
    is_constant,
)

# The standard vocabulary by shorter names.
BASE_TOKENS, REFERENTS, IDS, words = STANDARD.base_tokens, STANDARD.referents, STANDARD.symbol_ids, STANDARD.words
read_ids, rename_ids, interchangeable = STANDARD.read_ids, STANDARD.rename_ids, STANDARD.interchangeable
random_renaming, canonical_renaming = STANDARD.random_renaming, STANDARD.canonical_renaming
canonical_ids = STANDARD.canonical_ids
PAD = BASE_TOKENS.index("<pad>")
_KNOWN = frozenset(MNEMONICS)
_REGISTERS = frozenset((*STANDARD.symbols, *FIXED_REGISTERS))

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
_STACK = re.compile(r"(push|pop)f?[wlq]")

_WORD = re.compile(rf"%st\(\d\)|%\w+|\${NUMBER}|{NUMBER}|[,():*]|[a-z]\w*")
_OPERAND = re.compile(
    rf"""
        %st\(\d\)|%\w+
      | \${NUMBER}
      | (?:%\w+:)?(?:{NUMBER})?\((?:%\w+|(?:%\w+)?,%\w+(?:,[1248])?)\)
      | (?:%\w+:)?{NUMBER}
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

    def ids(self, vocabulary: Vocabulary = STANDARD) -> list[int]:
        """The block as token ids; a mnemonic begins an instruction, so nothing stands between two."""
        return [number for words in self.instructions for number in vocabulary.ids(words)]

    def renamed(self, renaming: Sequence[int], vocabulary: Vocabulary = STANDARD) -> Block:
        """The block with every base register replaced.

        Args:
            renaming: A permutation of the places in the vocabulary's referents: the new one of each.
            vocabulary: Says which registers are symbols.

        Raises:
            AssemblyError: If a register would need a part that the new one has not, such as a high byte.
        """
        return Block(
            tuple(tuple(_rename_word(word, renaming, vocabulary) for word in words) for words in self.instructions)
        )

    @property
    def implicit(self) -> tuple[str, ...]:
        """The instructions that use registers which they do not name, `%rsp` and the flags aside."""
        return tuple(_write(words) for words in self.instructions if _is_implicit(words))

    @property
    def uses_rsp(self) -> tuple[str, ...]:
        """The instructions that use `%rsp` without naming it, push and pop: with them it cannot be renamed."""
        return tuple(_write(words) for words in self.instructions if _STACK.fullmatch(words[0]))


def own_constants(texts: Iterable[str]) -> tuple[str, ...]:
    """The constants that are in at least two blocks, for a `Vocabulary` in which each has a token of its own.

    Two is our choice: what one block alone has teaches nothing of others, and leaves the tokens of roles something to
    learn, which stand for the constants of new blocks. Of BHive's training blocks they are 98 % of all constants.

    Args:
        texts: Of the training blocks.

    Source: Renamer, section 5.1.
    """
    counts = Counter(
        word
        for text in texts
        for word in {word for words in Block.parse(text).instructions for word in words[1:] if is_constant(word)}
    )
    return tuple(sorted(word for word, count in counts.items() if count > 1))


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
            if word.startswith("%") and word not in _REGISTERS:
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
    near = difflib.get_close_matches(word, sorted(_REGISTERS), n=1)
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


def _rename_word(word: str, renaming: Sequence[int], vocabulary: Vocabulary) -> str:
    if word not in vocabulary.symbols:
        return word
    [number] = vocabulary.rename_ids([vocabulary.symbols[word]], renaming)
    if number not in vocabulary.names:
        referent, view = vocabulary.symbol_ids.parts(number)
        raise AssemblyError(
            f"{word}: cannot become {vocabulary.referents[referent]}, which has no {VIEWS[view]}; use a renaming that "
            "random_renaming or canonical_renaming gives for the block"
        )
    return vocabulary.names[number]


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
