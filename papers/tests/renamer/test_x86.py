"""Basic blocks: what is written was read, and renaming changes names and nothing else."""

import re
import shutil
import subprocess
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from papers.renamer.x86 import (
    BASE_TOKENS,
    IDS,
    REFERENTS,
    AssemblyError,
    Block,
    ImplicitOperandsError,
    canonical_renaming,
    interchangeable,
    random_renaming,
    read_ids,
    rename_ids,
)
from papers.renamer.x86_mnemonics import FORMS, MNEMONICS
from papers.renamer.x86_tokens import FIXED_REGISTERS, GENERAL, VIEWS

WIDE = [*(f"%r{n}x" for n in "abcd"), "%rsi", "%rdi", "%rbp", *(f"%r{n}" for n in range(8, 16))]
DOUBLE = ["%eax", "%ebx", "%ecx", "%edx", "%esi", "%edi", "%ebp", *(f"%r{n}d" for n in range(8, 16))]
HIGH = ["%ah", "%bh", "%ch", "%dh"]
wide, double, high = (st.sampled_from(names) for names in (WIDE, DOUBLE, HIGH))
xmm, ymm = (st.builds(f"%{kind}mm{{}}".format, st.integers(0, 15)) for kind in "xy")
number = st.integers(-(2**31), 2**31 - 1).map(str)
memory = st.one_of(
    st.builds("{}({})".format, st.one_of(st.just(""), number), st.one_of(wide, st.just("%rsp"), st.just("%rip"))),
    st.builds("{}({},{},{})".format, st.one_of(st.just(""), number), st.one_of(st.just(""), wide), wide,
              st.sampled_from("1248")),
    st.builds("%fs:{}".format, number),
)  # fmt: skip
instruction = st.one_of(
    st.builds("movq {}, {}".format, st.one_of(wide, memory, number.map("${}".format)), wide),
    st.builds("addl {}, {}".format, st.one_of(double, memory), double),
    *(st.builds("vaddps {}, {}, {}".format, st.one_of(vector, memory), vector, vector) for vector in (xmm, ymm)),
    st.builds("movb {}, {}".format, high, st.sampled_from(["%al", "%dl", "(%rsi)"])),
    st.builds("pushq {}".format, wide),
    st.sampled_from(["lock", "fxch %st(1)", "paddw %mm1, %mm0", "addq $8, %rsp"]),
)
blocks = st.lists(instruction, min_size=1, max_size=8).map(";".join)


@given(blocks)
def test_what_is_written_is_what_was_read(text):
    assert str(Block.parse(text)) == text


@given(blocks, st.randoms(use_true_random=False))
def test_token_ids_of_a_renamed_block_are_the_renamed_token_ids(text, generator):
    block = Block.parse(text)
    renaming = random_renaming(block.ids(), generator)
    assert block.renamed(renaming).ids() == rename_ids(block.ids(), renaming)


@given(blocks, st.randoms(use_true_random=False))
def test_renaming_keeps_views_base_tokens_and_who_corefers_with_whom(text, generator):
    ids = Block.parse(text).ids()
    renamed = rename_ids(ids, random_renaming(ids, generator))
    base = len(BASE_TOKENS)
    assert [n if n < base else (n - base) % len(VIEWS) for n in ids] == [
        n if n < base else (n - base) % len(VIEWS) for n in renamed
    ]
    for (a, b), (c, d) in product(zip(ids, renamed, strict=True), repeat=2):
        if min(a, c) >= base:
            assert ((a - base) // len(VIEWS) == (c - base) // len(VIEWS)) == (
                (b - base) // len(VIEWS) == (d - base) // len(VIEWS)
            )


@given(blocks, st.randoms(use_true_random=False))
def test_a_renaming_is_a_permutation_within_each_class(text, generator):
    ids = Block.parse(text).ids()
    for renaming in (random_renaming(ids, generator), canonical_renaming(ids)):
        assert sorted(renaming) == list(range(len(REFERENTS)))
        assert all((old < len(GENERAL)) == (new < len(GENERAL)) for old, new in enumerate(renaming))


def test_a_block_that_names_a_high_byte_trades_names_only_where_the_result_can_be_encoded():
    ids = Block.parse("movb %ah, 3(%rsi)").ids()
    assert [list(group) for group in interchangeable(ids)[:3]] == [[0, 1, 2, 3], [4, 5, 6], list(range(7, 15))]
    assert len(interchangeable(Block.parse("movb %al, 3(%rsi)").ids())) == 2


def test_coreferent_registers_have_one_referent_and_different_views():
    names = ["%rax", "%eax", "%ax", "%al", "%ah"]
    ids = [Block.parse(f"{op} {name}, (%rbx)").ids()[1] for op, name in
           zip(["movq", "movl", "movw", "movb", "movb"], names, strict=True)]  # fmt: skip
    assert ids == [IDS.symbol(0, view) for view in range(5)]
    assert Block.parse("vaddps %ymm3, %ymm3, %ymm3").ids()[1] == IDS.symbol(REFERENTS.index("v3"), VIEWS.index("ymm"))


def test_registers_that_cannot_be_renamed_are_base_tokens():
    assert {"%rsp", "%rip", "%fs", "%st(1)", "%mm0"} < set(FIXED_REGISTERS)
    assert all(number < len(BASE_TOKENS) for number in Block.parse("movq %fs:40, %rsp").ids())


def test_constants_are_tokens_of_their_role():
    ids = Block.parse("leaq -8(%rax,%rbx,4), %rcx;movl $0x10, 3;movl (,%rax,8), %eax").ids()
    assert read_ids(ids) == (
        "leaq <displacement> ( %rax , %rbx , <scale> ) , %rcx movl <immediate> , <displacement> "
        "movl ( , %rax , <scale> ) , %eax"
    )


@pytest.mark.parametrize(
    "text",
    ["mulq %rbx", "imull %ecx", "idivl (%rax)", "shlq %cl, %rax", "cltq", "outb %al, %dx", "cpuid", "fnstsw %ax"],
)
def test_instructions_that_use_registers_without_naming_them_are_known(text):
    assert Block.parse(f"addl $1, %eax;{text}").implicit == (text,)


@pytest.mark.parametrize("text", ["imulq %rax, %rbx", "shrb %cl", "pushq %rax", "fnstsw (%rax)", "movsd %xmm0, %xmm1"])
def test_instructions_that_name_what_they_use_are_not_implicit(text):
    assert Block.parse(text).implicit == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (" ;\n", r"holds no instruction; write some, such as 'movq 64\(%rsp\), %rax'"),
        ("def f(x):", "'def f(x):': def: not among the 549 mnemonics that are known; "),
        ("addd %rax, %rbx", "'addd %rax, %rbx': addd: not among the 549 mnemonics that are known; did you mean"),
        ("mov %rax, %rbx", "mov: no size; write movb or movw or movl or movq"),
        ("jne 12", "'jne 12': jne is a jump, which ends a basic block; leave it out"),
        ("movq %rqx, %rbx", "%rqx: unknown register; did you mean %r"),
        ("vmovups %zmm0, (%rax)", "%zmm0: a register of AVX-512, which is not supported, as no block of BHive has one"),
        ("vaddps %xmm17, %xmm1, %xmm1", "%xmm17: a register of AVX-512"),
        ("movq %cr0, %rax", "%cr0: unknown register; did you mean %"),
        ("movq %foobar, %rax", "%foobar: unknown register; use general registers, xmm, ymm, mm or st"),
        ("movq rax, %rbx", "'rax' is no operand in AT&T syntax; write a register"),
        ("movq 8(%rax, %rbx", "is no operand in AT&T syntax"),
        ("movq %rax,, %rbx", "'' is no operand in AT&T syntax"),
        ("movq (), %rbx", "'()' is no operand in AT&T syntax"),
        ("movq *%rax, %rbx", "'*%rax' is no operand in AT&T syntax"),
        ("mov rax, [rbx]", "mov: no size"),
    ],
)  # fmt: skip
def test_what_is_no_basic_block_is_refused_with_the_place_and_the_reason(text, message):
    with pytest.raises(AssemblyError) as caught:
        Block.parse(text)
    assert message.replace("\\", "") in str(caught.value)


TAKES = "takes {} here; change it or the mnemonic"
WIDE_OR_NOT = "no such address; write registers of 64 bits, or of 32 bits, the second other than %rsp, or %rip alone"
REX = "no instruction names both, as only one of them goes with a REX prefix; use a low byte or another register"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("movq %rax", "1 operand; movq takes 2; write as many"),
        ("movq $1", "1 operand; movq takes 2; write as many"),
        ("movq %rax, %rbx, %rcx, %rdx", "4 operands; movq takes 2; write as many"),
        ("imulq", "0 operands; imulq takes 1, 2 or 3; write as many"),
        ("addl %rax, %ebx", f"%rax: addl {TAKES.format('a constant, memory or a general register of 32 bits')}"),
        ("addl %ebx, %rax", f"%rax: addl {TAKES.format('a general register of 32 bits')}"),
        ("movzbl %ax, %eax", f"%ax: movzbl {TAKES.format('a general register of 8 bits or memory')}"),
        ("movq (%rax), (%rbx)", f"(%rbx): movq {TAKES.format('a general register of 64 bits')}"),
        ("movl %eax, $1", f"$1: movl {TAKES.format('a general register of 32 bits')}"),
        ("shlq %bl, %rax", f"%bl: shlq {TAKES.format('a constant or %cl')}"),
        ("leaq %rax, %rbx", f"%rax: leaq {TAKES.format('memory')}"),
        ("addps %rax, %xmm0", f"%rax: addps {TAKES.format('memory or xmm')}"),
        ("vaddps %xmm0, %ymm0, %ymm0", f"%xmm0: vaddps {TAKES.format('memory or ymm')}"),
        ("fadd %st(1), %st(2)", f"%st(1): fadd {TAKES.format('%st')}"),
        ("movl %rip, %eax", "%rip: movl takes"),
        ("movb %ah, %r8b", f"%ah, %r8b: {REX}"),
        ("movb %ah, 8(%rax,%r9)", f"%ah, %r9: {REX}"),
        ("movb %ah, %sil", f"%ah, %sil: {REX}"),
        ("movzbq %ah, %rax", f"%ah, %rax: {REX}"),
        ("movl (%ax), %eax", f"(%ax): {WIDE_OR_NOT}"),
        ("movl (%rax,%ebx), %eax", f"(%rax,%ebx): {WIDE_OR_NOT}"),
        ("movl 8(%rax,%rsp,2), %eax", f"8(%rax,%rsp,2): {WIDE_OR_NOT}"),
        ("movl (%rip,%rax), %eax", f"(%rip,%rax): {WIDE_OR_NOT}"),
        ("movl %rax:8, %eax", "%rax:8: %rax is no segment register; write one such as %fs before the colon, or none"),
    ],
)
def test_operands_that_a_mnemonic_does_not_take_are_refused_with_the_rule(text, message):
    with pytest.raises(AssemblyError) as caught:
        Block.parse(f"nop;{text}")
    assert str(caught.value).startswith(f"{text!r}: {message}")


@pytest.mark.parametrize("text", ["rep", "rep stosq %rax, %es:(%rdi)", "repne", "stosq %rax, %es:(%rdi)", "movsb"])
def test_string_instructions_are_refused_as_having_implicit_operands(text):
    mnemonic = text.split()[0]
    reason = f"{mnemonic} uses registers that it does not name, or can name no others; leave the block out, as all with"
    with pytest.raises(ImplicitOperandsError, match=f"{re.escape(repr(text))}: {reason} implicit operands are"):
        Block.parse(f"nop;{text}")


OPERANDS = {
    "i": "$3", "m": "8(%rbx)", "q": "%rsi", "l": "%esi", "w": "%si", "b": "%bl", "a": "%ax", "A": "%al", "c": "%cl",
    "d": "%dx", "x": "%xmm1", "y": "%ymm1", "t": "%mm1", "S": "%st", "s": "%st(1)", "g": "%fs",
}  # fmt: skip


def assembled(texts):
    """What LLVM prints for each that it takes and that needs no AVX-512 (prefix 62) and no XOP (8f): text → text."""
    done = subprocess.run(
        ["llvm-mc", "--triple=x86_64-linux-gnu", "--show-encoding"],
        input="\n".join(texts) + "\n", capture_output=True, text=True, check=False,
    )  # fmt: skip
    refused = {int(number) for number in re.findall(r"^<stdin>:(\d+):\d+: error", done.stderr, re.MULTILINE)}
    printed = re.findall(r"^\t(.*?)\s+# encoding: \[0x(..)", done.stdout, re.MULTILINE)
    taken = [text for number, text in enumerate(texts, start=1) if number not in refused]
    assert len(taken) == len(printed)
    pairs = zip(taken, printed, strict=True)
    return {
        text: " ".join(shown.split())
        for text, (shown, first) in pairs
        if first != "62" and (first, text[0]) != ("8f", "v")
    }


def is_block(text):
    try:
        return bool(Block.parse(text))
    except AssemblyError:
        return False


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("llvm-mc") is None, reason="llvm-mc is not installed: apt install llvm")
@pytest.mark.parametrize(("count", "letters"), [(0, ""), (1, OPERANDS), (2, OPERANDS), (3, "imqlcxyt"), (4, "imqxy")])
def test_operands_are_taken_as_llvm_s_assembler_takes_them(count, letters):
    operands = [", ".join(map(OPERANDS.__getitem__, kinds)) for kinds in product(letters, repeat=count)]
    tried = [name for name in MNEMONICS if count < 3 or count in map(len, FORMS[name])]
    texts = [f"{mnemonic} {listed}".strip() for mnemonic in tried for listed in operands]
    found = assembled(texts)
    ours = {text for text in texts if is_block(text)}
    # Of movabsq's memory there is only an absolute address, and only with %rax.
    assert [text for text in ours - found.keys() if not re.fullmatch("movabsq.*8.*", text)] == []
    assert [shown for shown in set(found.values()) if shown.split()[0] in FORMS and not is_block(shown)] == []


@given(st.text(alphabet="movqadl %()$,;:*-0123456789\n", max_size=30))
def test_any_text_is_read_or_refused(text):
    try:
        block = Block.parse(text)
    except AssemblyError:
        return
    assert Block.parse(str(block)) == block


def test_a_renaming_that_a_block_cannot_have_is_refused():
    swapped = [4, 1, 2, 3, 0, *range(5, len(REFERENTS))]
    with pytest.raises(AssemblyError, match="%ah: cannot become si, which has no gp8-high; use a renaming that"):
        Block.parse("movb %ah, %bl").renamed(swapped)
