"""Basic blocks: what is written was read, and renaming changes names and nothing else."""

import random
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_symbinv.logic.x86 import (
    BASE_TOKENS,
    FIXED_REGISTERS,
    GENERAL,
    IDS,
    REFERENTS,
    VIEWS,
    AssemblyError,
    Block,
    canonical_ids,
    canonical_renaming,
    interchangeable,
    random_renaming,
    read_ids,
    rename_ids,
)

FIGURE_1 = "movq 64(%rsp), %rax;subl $1, 56(%rbp);movl 16(%rax), %eax"

WIDE = [*(f"%r{n}x" for n in "abcd"), "%rsi", "%rdi", "%rbp", *(f"%r{n}" for n in range(8, 16))]
DOUBLE = ["%eax", "%ebx", "%ecx", "%edx", "%esi", "%edi", "%ebp", *(f"%r{n}d" for n in range(8, 16))]
HIGH = ["%ah", "%bh", "%ch", "%dh"]
wide, double, high = (st.sampled_from(names) for names in (WIDE, DOUBLE, HIGH))
vector = st.builds("%{}{}".format, st.sampled_from(["xmm", "ymm"]), st.integers(0, 15))
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
    st.builds("vaddps {}, {}, {}".format, st.one_of(vector, memory), vector, vector),
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
def test_renamings_of_a_block_have_one_canonical_form(text, generator):
    block = Block.parse(text)
    other = block.renamed(random_renaming(block.ids(), generator))
    forms = [str(each.renamed(canonical_renaming(each.ids()))) for each in (block, other)]
    assert forms[0] == forms[1]
    assert canonical_ids(block.ids()) == canonical_ids(other.ids()) == Block.parse(forms[0]).ids()


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


def test_figure_1_of_the_paper_has_the_paper_s_renaming():
    block = Block.parse(FIGURE_1)
    b = [REFERENTS.index("b"), REFERENTS.index("a"), *range(2, len(REFERENTS))]
    assert str(block.renamed(b)) == "movq 64(%rsp), %rbx;subl $1, 56(%rbp);movl 16(%rbx), %ebx"


def test_a_uniform_renaming_reaches_every_register():
    ids, generator = Block.parse("incq %rax").ids(), random.Random(0)
    reached = {read_ids(rename_ids(ids, random_renaming(ids, generator))) for _ in range(300)}
    assert len(reached) == 15


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
        ("movq %zmm0, %rbx", "%zmm0: unknown register; did you mean %"),
        ("movq rax, %rbx", "'rax' is no operand in AT&T syntax; write a register"),
        ("movq 8(%rax, %rbx", "is no operand in AT&T syntax"),
        ("movq %rax,, %rbx", "'' is no operand in AT&T syntax"),
        ("mov rax, [rbx]", "mov: no size"),
    ],
)  # fmt: skip
def test_what_is_no_basic_block_is_refused_with_the_place_and_the_reason(text, message):
    with pytest.raises(AssemblyError) as caught:
        Block.parse(text)
    assert message.replace("\\", "") in str(caught.value)


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
