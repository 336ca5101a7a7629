"""Whether the operands of an instruction are such as its mnemonic takes, and which are not.

    >>> wrong_operands("movq", ["%rax"])
    '1 operand; movq takes 2; write as many'
    >>> wrong_operands("addl", ["%rax", "%ebx"])
    '%rax: addl takes a constant, memory or a general register of 32 bits here; change it or the mnemonic'

Whether a constant fits into its place is not looked at.

Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2: chapter 2 (prefix REX, addresses).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from papers.renamer.x86_mnemonics import FORMS

_NAMES = {
    "i": "a constant", "m": "memory", "q": "a general register of 64 bits", "l": "a general register of 32 bits",
    "w": "a general register of 16 bits", "b": "a general register of 8 bits", "a": "%ax", "A": "%al", "c": "%cl",
    "d": "%dx", "x": "xmm", "y": "ymm", "t": "mm", "S": "%st", "s": "%st with a number", "g": "a segment register",
}  # fmt: skip
_LETTERS = {"%ax": "aw", "%al": "Ab", "%cl": "cb", "%dx": "dw", "%st": "S"}
_KINDS = {
    "i": r"\$.*",
    "q": r"%r(?:[abcd]x|[sd]i|[sb]p|\d+)",
    "l": r"%(?:e(?:[abcd]x|[sd]i|[sb]p)|r\d+d)",
    "w": r"%(?:[abcd]x|[sd]i|[sb]p|r\d+w)",
    "b": r"%(?:[abcd][lh]|(?:[sd]i|[sb]p)l|r\d+b)",
    "x": r"%xmm\d+",
    "y": r"%ymm\d+",
    "t": r"%mm\d",
    "s": r"%st\(\d\)",
    "g": r"%[c-gs]s",
    "p": r"%[re]i[pz]",
}
_KIND = re.compile("|".join(f"(?P<{letter}>{kind})" for letter, kind in _KINDS.items()))
_SEGMENT = re.compile(_KINDS["g"])
_REGISTER, _HIGH = re.compile(r"%\w+"), re.compile(r"%[abcd]h")
_NEEDS_REX = re.compile(r"%(?:r\d+[bwd]?|[xy]mm(?:[89]|1\d)|[sb]pl|[sd]il)")
_PLACES = re.compile(r"(?:(%\w+):)?[^%(]*(?:\((.*)\))?")
# Base and index of one width; %rsp is no index, %rip stands alone, and %riz is no base.
_ADDRESS = re.compile(
    rf"""%[re]ip
       | (?:{_KINDS["q"]})?(?:,(?!%rsp)(?:{_KINDS["q"]}|%riz)(?:,\d)?)?
       | (?:{_KINDS["l"]})?(?:,(?!%esp)(?:{_KINDS["l"]}|%eiz)(?:,\d)?)?""",
    re.VERBOSE,
)


def wrong_operands(mnemonic: str, operands: Sequence[str]) -> str | None:
    """What is wrong with the operands of an instruction, and what to do; None if nothing is.

    Args:
        mnemonic: One of `x86_mnemonics`.
        operands: Each well-formed, without blanks, and with registers that exist.
    """
    forms = [form for form in FORMS[mnemonic] if len(form) == len(operands)]
    if not forms:
        counts = sorted({len(form) for form in FORMS[mnemonic]})
        found = "1 operand" if len(operands) == 1 else f"{len(operands)} operands"
        return f"{found}; {mnemonic} takes {_either(list(map(str, counts)))}; write as many"
    letters = [_letters(operand) for operand in operands]
    misfits = [
        [place for place, (may, has) in enumerate(zip(form, letters, strict=True)) if not set(may) & set(has)]
        for form in forms
    ]
    fewest = min(misfits, key=len)
    if fewest:
        may = forms[misfits.index(fewest)][fewest[0]]
        names = _either([_NAMES[letter] for letter in may])
        return f"{operands[fewest[0]]}: {mnemonic} takes {names} here; change it or the mnemonic"
    for operand, has in zip(operands, letters, strict=True):
        if has == "m" and (wrong := _wrong_address(operand)):
            return wrong
    return _wrong_high_byte(operands, letters)


def _either(names: Sequence[str]) -> str:
    return " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _letters(operand: str) -> str:
    """What an operand is, in the letters of `x86_mnemonics`; another one for %rip and %riz."""
    if operand in _LETTERS:
        return _LETTERS[operand]
    found = _KIND.fullmatch(operand)
    return (found and found.lastgroup) or "m"


def _wrong_address(operand: str) -> str | None:
    found = _PLACES.fullmatch(operand)
    segment, address = found.groups() if found else (None, None)
    if segment and not _SEGMENT.fullmatch(segment):
        return f"{operand}: {segment} is no segment register; write one such as %fs before the colon, or none"
    if address and not _ADDRESS.fullmatch(address):
        return (
            f"{operand}: no such address; write registers of 64 bits, or of 32 bits, the second other than %rsp, or "
            "%rip alone"
        )
    return None


def _wrong_high_byte(operands: Sequence[str], letters: Sequence[str]) -> str | None:
    high = next(filter(_HIGH.fullmatch, operands), None)
    registers = [register for operand in operands for register in _REGISTER.findall(operand)]
    prefixed = [*filter(_NEEDS_REX.fullmatch, registers)]
    prefixed += [operand for operand, has in zip(operands, letters, strict=True) if has == "q"]
    if high is None or not prefixed:
        return None
    return (
        f"{high}, {prefixed[0]}: no instruction names both, as only one of them goes with a REX prefix; use a low byte "
        "or another register"
    )
