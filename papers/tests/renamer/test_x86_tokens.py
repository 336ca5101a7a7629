"""Vocabularies of basic blocks: %rsp as a register like others, and constants with a token of their own."""

import random
import shutil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_symbinv import SymbolInvariantWordTokenizer
from papers.renamer import llvm, x86
from papers.renamer.basic_blocks import LabelledBlock, select
from papers.renamer.random_blocks import draw_block
from papers.renamer.x86 import Block, own_constants
from papers.renamer.x86_tokens import STANDARD, Vocabulary, VocabularyError

FIGURE_1 = "movq 64(%rsp), %rax;subl $1, 56(%rbp);movl 16(%rax), %eax"
PAPERS = Vocabulary(rename_rsp=True, constants=("$1", "$8", "4", "64"))

wide = st.sampled_from([name for name in PAPERS.symbols if PAPERS.symbol_ids.parts(PAPERS.symbols[name])[1] == 0])
high = st.sampled_from(["%ah", "%bh", "%ch", "%dh"])
number = st.sampled_from(["", "8", "-8", "64", "0x40", "4"])
instruction = st.one_of(
    st.builds("movq {}({}), {}".format, number, wide, wide),
    st.builds("addq ${}, {}".format, st.sampled_from(["1", "8", "-8", "64"]), wide),
    st.builds("leaq {}({},{},{}), {}".format, number, wide, wide.filter(lambda name: name != "%rsp"),
              st.sampled_from("1248"), wide),
    st.builds("movb {}, 64({})".format, high, wide.filter(lambda name: not name[2:].isdigit())),
    st.sampled_from(["movb %spl, %dl", "addl %esp, %esi", "vaddps %ymm1, %ymm2, %ymm1", "movq %fs:40, %rax"]),
)  # fmt: skip
blocks = st.lists(instruction, min_size=1, max_size=6).map(";".join)


def is_block(text):
    """Whether high bytes stand beside registers that they can stand beside."""
    try:
        return bool(Block.parse(text))
    except x86.AssemblyError:
        return False


class TestStackPointer:
    @given(blocks.filter(is_block), st.randoms(use_true_random=False))
    def test_a_renamed_block_exists_and_its_ids_are_the_renamed_ids(self, text, generator):
        block = Block.parse(text)
        renaming = PAPERS.random_renaming(block.ids(PAPERS), generator)
        assert sorted(renaming) == list(range(len(PAPERS.referents)))
        renamed = Block.parse(str(block.renamed(renaming, PAPERS)))
        assert renamed.ids(PAPERS) == PAPERS.rename_ids(block.ids(PAPERS), renaming)
        assert PAPERS.canonical_ids(renamed.ids(PAPERS)) == PAPERS.canonical_ids(block.ids(PAPERS))

    def test_it_trades_names_and_so_do_its_parts(self):
        block = Block.parse("movq 64(%rsp), %rax;movl %esp, %eax;movb %spl, %al")
        renaming = list(range(len(PAPERS.referents)))
        one, other = PAPERS.referents.index("sp"), PAPERS.referents.index("b")
        renaming[one], renaming[other] = other, one
        assert str(block.renamed(renaming, PAPERS)) == "movq 64(%rbx), %rax;movl %ebx, %eax;movb %bl, %al"

    def test_the_block_of_figure_1_has_a_renaming_for_every_choice_of_three_registers(self):
        ids, generator = Block.parse(FIGURE_1).ids(PAPERS), random.Random(0)
        drawn = {tuple(PAPERS.rename_ids(ids, PAPERS.random_renaming(ids, generator))) for _ in range(60_000)}
        assert len(drawn) == 16 * 15 * 14

    def test_beside_an_index_register_it_keeps_its_name_since_it_can_be_none(self):
        sp = PAPERS.referents.index("sp")
        with_index = Block.parse("movq (%rsp,%rbx,8), %rax").ids(PAPERS)
        without = Block.parse("movq 8(%rsp), %rax;addq %rbx, %rax").ids(PAPERS)
        assert [sp] in PAPERS.interchangeable(with_index)
        assert [sp] not in PAPERS.interchangeable(without) and sp in PAPERS.interchangeable(without)[0]

    def test_beside_a_high_byte_it_trades_names_with_those_that_need_a_prefix_as_it_does(self):
        groups = PAPERS.interchangeable(Block.parse("movb %ah, 3(%rsp)").ids(PAPERS))
        names = [[PAPERS.referents[referent] for referent in group] for group in groups[:2]]
        assert names == [["a", "b", "c", "d"], ["si", "di", "bp", "sp"]]

    @pytest.mark.parametrize("text", ["pushq %rbp", "popq %rbx", "pushfq", "pushq $3"])
    def test_blocks_that_use_it_without_naming_it_are_left_out(self, text):
        assert Block.parse(f"nop;{text}").uses_rsp == (text,)
        found = select([LabelledBlock(f"nop;{text}", 1.0), LabelledBlock("addq $8, %rsp", 1.0)], vocabulary=PAPERS)
        assert [row["text"] for row in found.rows] == ["addq $8, %rsp"]
        assert found.left_out == {"implicit operands": 1}
        assert not select([LabelledBlock(f"nop;{text}", 1.0)]).left_out

    def test_instructions_that_name_it_do_not_use_it_unnamed(self):
        assert Block.parse("subq $8, %rsp;popcntq %rax, %rbx;movq 8(%rsp), %rax").uses_rsp == ()

    @pytest.mark.skipif(shutil.which("llvm-mca") is None, reason="llvm-mca is not installed: apt install llvm")
    def test_llvm_mca_says_the_same_of_renamed_blocks(self):
        generator, found = random.Random(3), []
        while len(found) < 40:
            block = Block.parse(draw_block(generator))
            if "%rsp" in str(block) and not block.uses_rsp:
                found.append(block)
        renamed = [str(block.renamed(PAPERS.random_renaming(block.ids(PAPERS), generator), PAPERS)) for block in found]
        assert sum("%rsp" not in text for text in renamed) > 10
        assert llvm.throughputs(renamed) == llvm.throughputs(list(map(str, found)))


class TestConstants:
    def test_each_has_a_token_of_its_own_and_others_that_of_their_role(self):
        ids = Block.parse("leaq -8(%rax,%rbx,4), %rcx;movl $8, 64;movl $9, 4(,%rax,8)").ids(PAPERS)
        assert PAPERS.read_ids(ids) == (
            "leaq <displacement> ( %rax , %rbx , 4 ) , %rcx movl $8 , 64 movl <immediate> , 4 ( , %rax , <scale> )"
        )

    def test_those_of_at_least_two_blocks_get_one(self):
        texts = ["addq $8, %rax;addq $8, %rax", "addq $3, 64(%rax)", "movl $3, 64(%rbx,%rax,2);nop", "pushq $64"]
        assert own_constants(texts) == ("$3", "64")

    @given(blocks.filter(is_block))
    def test_the_tokenizer_of_the_vocabulary_gives_the_ids_of_blocks(self, text):
        for vocabulary in (STANDARD, PAPERS, Vocabulary(constants=("$6", "6", "-8", "0x4"))):
            tokenizer = SymbolInvariantWordTokenizer(**vocabulary.words())
            assert tokenizer(text)["input_ids"] == Block.parse(text).ids(vocabulary)

    @pytest.mark.parametrize(
        ("constants", "message"),
        [
            (("$8", "%rax"), r"constants: '%rax' is no constant; write it as in blocks, \$8 or 64"),
            (("8", "8"), "constants: one is listed twice; list each once, as own_constants does"),
        ],
    )
    def test_what_is_no_table_of_constants_is_refused(self, constants, message):
        with pytest.raises(VocabularyError, match=message):
            Vocabulary(constants=constants)


def test_ids_of_the_standard_vocabulary_are_those_that_saved_data_have():
    assert x86.BASE_TOKENS[:12] == (
        "<s>", "<pad>", "</s>", "<immediate>", "<displacement>", "<scale>", ",", "(", ")", ":", "*", "%rsp"
    )  # fmt: skip
    assert len(x86.BASE_TOKENS) == 591 and x86.REFERENTS[14:16] == ("15", "v0") and len(x86.REFERENTS) == 31
    assert x86.Block.parse("movq 64(%rsp), %rax").ids()[1:] == [4, 7, 11, 8, 6, 591]
