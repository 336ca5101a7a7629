"""Random basic blocks from templates of instructions, for a sample that anybody may use.

    >>> draw_block(random.Random(7))
    'movq %rcx, 64(%rbp);shrq $2, %rcx;addl %ecx, %eax;movl 8(%rsp,%r11,4), %ebp'

The templates are of kinds that compilers often emit. A block uses few registers, so that its instructions depend on
each other.
"""

from __future__ import annotations

import random
import re

from papers.renamer.x86_tokens import GENERAL

# Our choice. {q}, {l}, {b}: a register of 64, 32, 8 bits; {x}, {y}: of 128, 256; {m}: memory; {i}: a constant; {s}: a
# small one.
_SCALAR = """
movq {q}, {q}|movq {m}, {q}|movq {q}, {m}|movl {m}, {l}|movl {l}, {m}|movl ${i}, {l}|movl {l}, {l}
movzbl {m}, {l}|movslq {l}, {q}|movb ${s}, {m}|leaq {m}, {q}|leal {m}, {l}|addq {q}, {q}|addq ${i}, {q}
addl {l}, {l}|addl ${i}, {l}|addq {m}, {q}|subq {q}, {q}|subl ${i}, {l}|subq ${s}, {m}|imulq {q}, {q}
imull ${i}, {l}, {l}|xorl {l}, {l}|andl ${i}, {l}|orq {q}, {q}|shlq ${s}, {q}|sarl ${s}, {l}|shrq ${s}, {q}
negl {l}|incq {q}|cmpq {q}, {q}|cmpl ${i}, {l}|cmpb ${s}, {m}|testq {q}, {q}|testb {b}, {b}|sete {b}
cmovneq {q}, {q}|cmovlel {l}, {l}|pushq {q}|popq {q}|addq ${i}, %rsp
"""
_VECTOR = """
movaps {x}, {x}|movups {m}, {x}|movss {m}, {x}|movsd {x}, {m}|addps {x}, {x}|mulps {x}, {x}|mulsd {m}, {x}
subss {x}, {x}|divss {x}, {x}|sqrtsd {x}, {x}|pxor {x}, {x}|paddd {x}, {x}|cvtsi2sd {l}, {x}|ucomisd {x}, {x}
shufps ${s}, {x}, {x}|vmovups {m}, {y}|vaddps {y}, {y}, {y}|vmulps {m}, {y}, {y}|vfmadd231ps {y}, {y}, {y}
vxorps {x}, {x}, {x}|vbroadcastss {m}, {y}|vmaxps {y}, {y}, {y}|vmovups {y}, {m}|vsubsd {x}, {x}, {x}
"""
SCALAR, VECTOR = (tuple(text.strip().replace("\n", "|").split("|")) for text in (_SCALAR, _VECTOR))
_HOLE = re.compile(r"\{(\w)\}")


def draw_block(generator: random.Random) -> str:
    """A block of 1 to 8 instructions in AT&T syntax over 2 to 5 general and 2 to 4 vector registers."""
    general = generator.sample(GENERAL, generator.randint(2, 5))
    vectors = generator.sample(range(16), generator.randint(2, 4))
    templates = SCALAR if generator.random() < 0.6 else SCALAR + VECTOR
    return ";".join(
        _HOLE.sub(lambda hole: _fill(hole[1], generator, general, vectors), generator.choice(templates))
        for _ in range(generator.randint(1, 8))
    )


def _fill(hole: str, generator: random.Random, general: list[str], vectors: list[int]) -> str:
    if hole == "i":
        return str(generator.choice([1, -1, 2, 8, 16, 255, 1024, -64]))
    if hole == "s":
        return str(generator.randint(2, 7))
    if hole in "xy":
        return f"%{hole}mm{generator.choice(vectors)}"
    if hole == "m":
        return _memory(generator, general)
    return register(generator.choice(general), hole)


def _memory(generator: random.Random, general: list[str]) -> str:
    offset = generator.choice(["", "8", "-16", "64", "120"])
    base = "%rsp" if generator.random() < 0.2 else register(generator.choice(general), "q")
    if generator.random() < 0.7:
        return f"{offset}({base})"
    return f"{offset}({base},{register(generator.choice(general), 'q')}{generator.choice(['', ',4', ',8'])})"


def register(base: str, size: str) -> str:
    """The part of a general register: `q`, `l` or `b` for 64, 32 or 8 bits."""
    if base.isdigit():
        return f"%r{base}" + {"q": "", "l": "d", "b": "b"}[size]
    name = f"{base}x" if len(base) == 1 else base
    return {"q": f"%r{name}", "l": f"%e{name}", "b": f"%{base}l"}[size]
