"""Blocks with their labels survive the way into a data set, what is left out is counted, and LLVM is asked politely."""

import json
import lzma
import random
import shutil

import pytest

from papers.renamer import llvm
from papers.renamer.basic_blocks import (
    SHOWN,
    BlocksError,
    LabelledBlock,
    assign,
    canonical_text,
    label,
    load_blocks,
    main,
    prepare,
    read_blocks,
    sample_file,
    select,
    twins,
)
from papers.renamer.random_blocks import draw_block
from papers.renamer.x86 import Block, random_renaming
from papers.renamer.x86_tokens import Vocabulary

needs_llvm = pytest.mark.skipif(shutil.which("llvm-mca") is None, reason="llvm-mca is not installed: apt install llvm")
FIGURE_1 = {
    "movq 64(%rsp), %rax;subl $1, 56(%rbp);movl 16(%rax), %eax": 1.68,
    "movq 64(%rsp), %rbx;subl $1, 56(%rbp);movl 16(%rbx), %ebx": 1.68,
    "movq 64(%rax), %rax;subl $1, 56(%ebp);movl 16(%rax), %eax": 10.03,
}
TABLE = """\
#split\tsource\timplicit(0 none,1 rsp only,2 other)\tcycles_per_iter\tasm(;-separated AT&T)
train\ta\t0\t1.5\taddq %rax, %rbx
valid\ta\t1\t2\tpushq %rax
test\tb\t2\t3\tcltq
train\tb\t0\t1.5\taddq %rax, %rbx
train\tb\t0\t4\tmulq %rcx
train\tb\t0\t4\tjmp 12
test\tb\t0\t0\taddq %rax, %rcx
test\tb\t0\t1\taddq %rsi, %rcx
"""


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "blocks.tsv"
    path.write_text(TABLE)
    return path


class TestTables:
    def test_the_sample_has_the_form_of_a_table_and_all_of_it_is_usable(self):
        blocks = list(read_blocks(sample_file()))
        assert len(blocks) == 400
        assert len(select(blocks).rows) == 400

    def test_blocks_are_read_with_their_split_and_source(self, table, tmp_path):
        blocks = list(read_blocks(table))
        assert blocks[1] == LabelledBlock("pushq %rax", 2.0, "a", "validation", False)
        assert blocks[2].implicit
        packed = tmp_path / "blocks.tsv.xz"
        packed.write_bytes(lzma.compress(TABLE.encode()))
        assert list(read_blocks(packed)) == blocks

    def test_what_is_left_out_is_counted_by_its_reason(self, table):
        selection = select(read_blocks(table))
        assert [row["text"] for row in selection.rows] == ["addq %rax, %rbx", "pushq %rax", "addq %rsi, %rcx"]
        assert selection.left_out == {
            "implicit operands": 2, "no basic block": 1, "same text as another": 1, "no positive cycles": 1
        }  # fmt: skip
        assert select(read_blocks(table), max_tokens=3).left_out["over 3 tokens"] == 4

    def test_blocks_with_operands_that_no_instruction_takes_are_no_blocks(self):
        texts = ["movq %rax", "movq $1", "addl %rax, %ebx", "movb %ah, %r8b", "movq %rax, %rbx, %rcx, %rdx"]
        selection = select([LabelledBlock(text, 1.0) for text in [*texts, "movq %rax, %rbx"]])
        assert [row["text"] for row in selection.rows] == ["movq %rax, %rbx"]
        assert selection.left_out == {"no basic block": 5} and len(selection.refused) == 5

    def test_string_instructions_are_left_out_for_their_implicit_operands(self):
        texts = ["rep;stosq %rax, %es:(%rdi)", "movsb (%rsi), %es:(%rdi)", "nop"]
        selection = select([LabelledBlock(text, 1.0) for text in texts])
        assert selection.left_out == {"implicit operands": 2} and not selection.refused

    def test_the_first_texts_that_are_no_blocks_are_shown_with_the_reason(self, tmp_path, capsys):
        good = [LabelledBlock(f"addq ${number}, %rax", 1.0) for number in range(200)]
        bad = [LabelledBlock(f"movq %rq{number}, %rbx", 1.0) for number in range(SHOWN + 5)]
        assert f"{SHOWN + 5} no basic block" in prepare([*good, *bad], tmp_path / "data", origin="here")
        lines = capsys.readouterr().err.splitlines()
        assert len(lines) == SHOWN
        assert lines[0].startswith("left out: 'movq %rq0, %rbx': %rq0: unknown register; did you mean %r")

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("a\tb\n", r"blocks.tsv, line 1: \['a', 'b'\] has no text and cycles; name the columns"),
            ("text\tcycles\nnop\n", "blocks.tsv, line 2: 1 columns; the head has 2"),
            ("text\tcycles\nnop\tfast\n", "blocks.tsv, line 2: cycles='fast' is no number"),
            (b"text\tcycles\n\xff\t1\n", "blocks.tsv: not readable as text"),
        ],
    )
    def test_a_wrong_line_is_named(self, tmp_path, text, message):
        path = tmp_path / "blocks.tsv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        with pytest.raises(BlocksError, match=message):
            list(read_blocks(path))


@pytest.fixture(scope="module")
def rows():
    """The sample, and of every third block a renaming with the same label."""
    generator, blocks = random.Random(0), list(read_blocks(sample_file()))
    for known in blocks[::3]:
        block = Block.parse(known.text)
        renamed = str(block.renamed(random_renaming(block.ids(), generator)))
        blocks.append(LabelledBlock(renamed, known.cycles, known.source))
    return select(blocks).rows


class TestSplits:
    def test_no_block_of_one_split_is_a_renaming_of_one_in_another_if_they_are_disjoint(self, rows):
        disjoint, shuffled = (assign(rows, splitting, seed=0) for splitting in ("disjoint", "random"))
        assert twins(disjoint) == {"renaming": 0.0, "renaming and constants": 0.0}
        assert twins(shuffled)["renaming and constants"] >= twins(shuffled)["renaming"] > 0
        forms = {split: {canonical_text(row["text"]) for row in found} for split, found in disjoint.items()}
        assert not forms["validation"] & (forms["train"] | forms["test"])

    @pytest.mark.parametrize("splitting", ["random", "disjoint"])
    def test_a_blocks_split_depends_on_no_other_block(self, rows, splitting):
        def places(part):
            return {row["text"]: split for split, found in assign(part, splitting, 1).items() for row in found}

        whole, half = places(rows), places(rows[::2])
        assert all(whole[text] == split for text, split in half.items())

    def test_the_split_of_a_table_is_kept(self, table):
        found = assign(select(read_blocks(table)).rows, "random", 0)
        assert {split: [row["text"] for row in part] for split, part in found.items()} == {
            "train": ["addq %rax, %rbx"], "validation": ["pushq %rax"], "test": ["addq %rsi, %rcx"]
        }  # fmt: skip

    def test_an_unknown_or_empty_split_is_refused(self, table):
        rows = select(read_blocks(table)).rows
        with pytest.raises(BlocksError, match="split='extra': unknown; use train, validation and test"):
            assign([{**rows[0], "split": "extra"}], "random", 0)
        with pytest.raises(BlocksError, match="1 usable blocks leave validation and test empty; give more blocks"):
            assign(rows[:1], "random", 0)


class TestFolders:
    def test_a_data_set_has_a_card_and_comes_back_as_it_was_written(self, tmp_path):
        assert main(["--blocks", str(sample_file()), "--output", str(tmp_path / "a"), "--license", "apache-2.0"]) == 0
        data = load_blocks(tmp_path / "a")
        assert sum(map(len, data.values())) == 400 and set(data) == {"train", "validation", "test"}
        for row in data["test"]:
            assert Block.parse(row["text"]).ids() == row["input_ids"] and row["cycles"] > 0
        card = (tmp_path / "a/README.md").read_text()
        assert "license: apache-2.0" in card and "Left out: none." in card
        assert "0.0% of the test blocks are renamings of a block in train" in card
        again = [(block.text, block.cycles) for block in read_blocks(tmp_path / "a")]
        assert sorted(again) == sorted((block.text, block.cycles) for block in read_blocks(sample_file()))

    @pytest.mark.parametrize("splitting", ["random", "disjoint"])
    def test_with_rsp_renamed_a_data_set_has_other_ids_and_no_push_or_pop(self, tmp_path, capsys, splitting):
        options = ["--blocks", str(sample_file()), "--output", str(tmp_path / "a"), "--split", splitting]
        assert main([*options, "--rename-rsp"]) == 0
        left = sum("pushq" in block.text or "popq" in block.text for block in read_blocks(sample_file()))
        assert f"left out: {left} implicit operands" in capsys.readouterr().out and left > 10
        vocabulary, data = Vocabulary(rename_rsp=True), load_blocks(tmp_path / "a")
        for row in (row for rows in data.values() for row in rows):
            assert Block.parse(row["text"]).ids(vocabulary) == row["input_ids"]
        if splitting == "disjoint":
            assert twins({name: list(rows) for name, rows in data.items()}, vocabulary)["renaming"] == 0
        assert f"--split {splitting} --seed 0 --max-tokens 128 --rename-rsp" in (tmp_path / "a/README.md").read_text()
        assert main(options) == 2
        assert "holds a data set made in another way" in capsys.readouterr().err

    def test_without_options_the_recipe_is_that_of_folders_that_were_made_before(self, tmp_path):
        prepare(read_blocks(sample_file()), tmp_path / "a", origin="here")
        assert json.loads((tmp_path / "a/generation.json").read_text()) == {
            "builder": "basic blocks 1.0.0", "origin": "here", "split": "random", "max_tokens": 128, "seed": 0
        }  # fmt: skip

    def test_impossible_options_are_refused(self, tmp_path, capsys):
        with pytest.raises(BlocksError, match="split='own': unknown; use one of random, disjoint"):
            prepare([], tmp_path / "a", origin="nowhere", splitting="own")
        assert main(["--blocks", str(sample_file()), "--output", str(tmp_path / "a"), "--max-tokens", "0"]) == 2
        assert "max_tokens=0: must be at least 1" in capsys.readouterr().err
        assert main(["--draw", "0", "--output", str(tmp_path / "a")]) == 2
        assert "--draw 0: ask for at least 1 block" in capsys.readouterr().err

    def test_if_nothing_is_left_it_is_said_what_became_of_the_blocks(self, tmp_path, capsys):
        (tmp_path / "blocks.tsv").write_text("text\tcycles\nmovq %rax\t1\nrep;stosq %rax, %es:(%rdi)\t2\n")
        assert main(["--blocks", str(tmp_path / "blocks.tsv"), "--output", str(tmp_path / "a")]) == 2
        assert capsys.readouterr().err.splitlines() == [
            "left out: 'movq %rax': 1 operand; movq takes 2; write as many",
            "error: 0 usable blocks leave train and validation and test empty; give more blocks (left out: 1 no basic "
            "block, 1 implicit operands)",
        ]

    @pytest.mark.parametrize("option", ["--assembly", "--hex"])
    def test_a_file_that_cannot_be_read_is_named(self, option, tmp_path, capsys):
        (tmp_path / "binary").write_bytes(b"\xff\xfe")
        for name, reason in (("missing.s", "No such file or directory"), ("binary", "no text in UTF-8")):
            assert main([option, str(tmp_path / name), "--output", str(tmp_path / "a")]) == 2
            said = f"error: {option} {tmp_path / name}: not readable ({reason}); give a text file with a block a line\n"
            assert capsys.readouterr().err == said
        assert not (tmp_path / "a").exists()


class TestWithoutLlvm:
    def test_what_needs_llvm_says_how_to_install_it(self, tmp_path, capsys, monkeypatch):
        monkeypatch.setenv("PATH", str(tmp_path))
        assert main(["--draw", "10", "--output", str(tmp_path / "a")]) == 2
        assert "llvm-mca is not installed; on Debian and Ubuntu: apt install llvm" in capsys.readouterr().err

    def test_a_program_that_hangs_is_stopped_from_outside(self, tmp_path, monkeypatch):
        for name in ("llvm-mc", "llvm-mca"):
            (tmp_path / name).write_text("#!/bin/sh\ntrap '' TERM\nexec /bin/sleep 60\n")
            (tmp_path / name).chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(llvm.LlvmError, match=r"llvm-mc took over 0.2 s and was stopped; leave the block out"):
            llvm.normalise("nop", timeout=0.2)
        assert "llvm-mca took over 0.2 s" in str(llvm.throughputs(["nop"], timeout=0.2)[0])


@needs_llvm
class TestWithLlvm:
    def test_figure_1_of_the_paper_has_the_papers_labels(self):
        assert llvm.throughputs(list(FIGURE_1)) == list(FIGURE_1.values())

    def test_one_wrong_block_does_not_spoil_the_labels_of_the_others(self):
        texts = ["incq %rax", "incq %rax;foo %rbx", "incq %rbx"]
        blocks, refused = label(texts, "mine")
        assert [block.text for block in blocks] == [texts[0], texts[2]]
        assert refused == ["'foo %rbx': llvm-mca says: invalid instruction mnemonic 'foo'"]

    def test_the_samples_labels_are_what_llvm_mca_says(self):
        blocks = list(read_blocks(sample_file()))[::10]
        found = llvm.throughputs([block.text for block in blocks])
        if llvm.version() == "LLVM 14.0.6":
            assert found == [block.cycles for block in blocks]
        else:  # other versions know other latencies
            assert all(isinstance(cycles, float) for cycles in found)

    def test_drawn_blocks_are_written_as_llvm_writes_them_and_renaming_keeps_their_label(self):
        generator = random.Random(1)
        blocks = [Block.parse(draw_block(generator)) for _ in range(40)]
        texts = [str(block) for block in blocks]
        assert [llvm.normalise(text) for text in texts[:10]] == texts[:10]
        renamed = [str(block.renamed(random_renaming(block.ids(), generator))) for block in blocks]
        assert llvm.throughputs(renamed) == llvm.throughputs(texts)

    def test_assembly_and_bytes_become_data_sets(self, tmp_path, capsys):
        generator = random.Random(2)
        texts = [draw_block(generator) for _ in range(60)]
        (tmp_path / "blocks.s").write_text("\n".join([*texts, "mov %rqx, %rax"]))
        assert main(["--assembly", str(tmp_path / "blocks.s"), "--output", str(tmp_path / "a")]) == 0
        printed = capsys.readouterr()
        assert "1 no label by llvm-mca" in printed.out
        assert "blocks.s, line 61: 'mov %rqx, %rax': llvm-mc says: invalid register name" in printed.err
        (tmp_path / "blocks.hex").write_text("\n".join(["4889de", "0fafc1", "0g", "06"]))
        assert main(["--hex", str(tmp_path / "blocks.hex"), "--output", str(tmp_path / "b")]) == 2
        err = capsys.readouterr().err
        assert "line 3: '0g': no bytes in hexadecimal; write two digits a byte" in err
        assert "line 4: '0x06': llvm-mc says: invalid instruction encoding" in err
        assert "2 usable blocks leave" in err
        assert llvm.disassemble("4889de") == "movq %rbx, %rsi"
        with pytest.raises(llvm.LlvmError, match="holds no instruction"):
            llvm.normalise(" ")
