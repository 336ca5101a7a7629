"""Files as other tools write them, in `tests/cases`: read rightly, or refused with a remedy that works."""

import gzip
import json
import lzma
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_symbinv.answers import Portfolio, read_dimacs_file, read_specification, read_specification_file, read_tlsf_file
from hf_symbinv.answers.recorded import verify_recording
from hf_symbinv.answers.traces import read_recording
from hf_symbinv.datasets_scripts.pair_files import read_pairs
from hf_symbinv.datasets_scripts.pairs import load_pairs
from hf_symbinv.errors import UserError

CASES = Path(__file__).parent.parent / "cases"
SOLVED = {
    "strong_next.tlsf": "!a, and ends",
    "weak_next.tlsf": "1, and ends",
    "req.ltlf": "!a, and ends",
    "a.LTL": "p; cycle{q}",
    "q.CNF": "1 2 3",
    "gz.cnf.gz": "1 2 3",
    "cnoblank.cnf": "-1 2",
    "indented.cnf": "1 2",
    "zeros.cnf": "1 2 3",
}
VERIFIED = {
    "F b": ("array", "attr", "dots", "genscope", "ghdl", "ghdl_lower", "iface", "logic", "struct", "weak"),
    "a <-> b; X(a <-> b); X X(a <-> b)": ("sametime",),
}
TABLES = {"saleae": "10 01", "time": "10 01", "pandas": "10 01", "sigrok": "10 01", "semicolon": "10 01", "U": "?0 01"}


def test_questions_in_files_are_answered(symbinv):
    pytest.importorskip("spot")
    result = symbinv("solve", *(CASES / name for name in SOLVED))
    assert result.code == 0 and result.err == ""
    told = [" ".join(line.split()[1:]) for line in result.out.splitlines()]
    assert told[1::3] == [*SOLVED.values()] and {*told[2::3]} == {"correct"}


def test_lines_that_begin_with_an_operator_are_formulas_of_their_own(symbinv):
    pytest.importorskip("spot")
    result = symbinv("solve", "--json", "--file", CASES / "spin.ltl")
    assert [json.loads(line)["specification"] for line in result.out.splitlines()] == [
        "[] (p -> <> q)", "<> r", "[] ! (p && r)",
    ]  # fmt: skip
    assert len(read_specification_file(CASES / "spin.ltl").properties) == 3


@pytest.mark.parametrize("question", VERIFIED)
def test_waveforms_are_checked(question):
    pytest.importorskip("spot")
    specification = read_specification(question)
    with Portfolio(["spot"]) as portfolio:
        for name in VERIFIED[question]:
            recording = read_recording(CASES / f"{name}.vcd", specification.symbols())
            found = verify_recording(specification, recording, portfolio)
            assert {one.verdict for one in found} == {"correct"}, name


def test_two_signals_of_one_name_are_refused(symbinv):
    result = symbinv("verify", "F a", CASES / "dupname.vcd")
    assert result.code == 2 and result.err.endswith("2 signals are called tb.a; give each its own name\n")


@pytest.mark.parametrize("name", TABLES)
def test_of_a_table_the_named_columns_are_read(name):
    steps = read_recording(CASES / f"{name}.csv", ("req", "grant")).steps
    shown = ("".join("?" if name not in step else str(int(step[name])) for name in ("req", "grant")) for step in steps)
    assert " ".join(shown) == TABLES[name]


def test_numbers_are_digits(symbinv):
    result = symbinv("solve", "--dimacs", CASES / "underscore.cnf")
    assert result.code == 2 and "underscore.cnf:2: '1_0': no literal" in result.err
    assert (
        "'1_0': must be an integer of at least 1" in symbinv("solve", "--model", "ltl-small", "--beams", "1_0", "a").err
    )
    assert "'1_0': must be a positive number of seconds" in symbinv("solve", "--timeout", "1_0", "a").err


class TestNamesOfFiles:
    """What has the form of a file's name, or is one, is no proposition."""

    @pytest.mark.parametrize("way", [["solve"], ["solve", "--model", "ltl-small"], ["solve", "--task", "prop"]])
    def test_it_is_refused(self, way, symbinv, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        for name in ("spec", "p"):
            Path(name).write_text("a")
        texts = ["spec.txt", "./spec.txt", "dir/spec", "C:\\spec.ltl.bak", "top.irq", "spec", "p"]
        result = symbinv(*way, *texts)
        assert result.code == 2
        for text in texts:
            assert f"{text}: is the name of a file; a specification stands in a file that ends" in result.err

    def test_each_of_its_remedies_works(self, symbinv, tmp_path, monkeypatch):
        pytest.importorskip("spot")
        monkeypatch.chdir(tmp_path)
        Path("spec.txt").write_text("<> p\n[] (p -> X q)\n")
        told = symbinv("solve", "spec.txt").err
        assert "--file spec.txt takes each line as a question; a proposition of this name stands in" in told
        assert symbinv("solve", "--file", "spec.txt").code == 0
        assert "cycle{spec.txt}" in symbinv("solve", "(spec.txt) & G spec.txt").out
        assert symbinv("solve", "(spec.txt)").code == 0
        Path("spec.txt").rename("spec.ltl")
        assert symbinv("solve", "spec.ltl").code == 0

    def test_formulas_are_none(self, symbinv):
        pytest.importorskip("spot")
        assert symbinv("solve", "a /\\ b", "a/\\b", "G !top.irq", "F top.irq", "a->b", "a|b", "p1").code == 0


@pytest.mark.parametrize("ending", [".xz", ".GZ"])
def test_compressed_files_of_every_kind_are_read(ending, symbinv, tmp_path):
    pytest.importorskip("spot")
    compress = {".gz": gzip.compress, ".xz": lzma.compress}[ending.lower()]

    def packed(name, content):
        path = tmp_path / f"{name}{ending}"
        path.write_bytes(compress(content if isinstance(content, bytes) else content.encode()))
        return path

    for name in ("a.LTL", "q.CNF", "strong_next.tlsf"):
        assert symbinv("solve", packed(name, (CASES / name).read_bytes())).code == 0
    for name in ("ghdl.vcd", "semicolon.csv"):
        question = "F b" if name == "ghdl.vcd" else "req; X grant"
        assert symbinv("verify", question, packed(name, (CASES / name).read_bytes())).code == 0
    assert symbinv("solve", "--file", packed("lines", "G a\nF b\n")).code == 0
    assert len(read_pairs(str(packed("p.jsonl", '{"question": "a", "answer": "b"}')))[0]["train"]) == 1
    broken = packed("broken.ltl", "G a & F b" * 50)
    broken.write_bytes(broken.read_bytes()[:-9])
    result = symbinv("solve", broken)
    assert result.code == 2 and "damaged (" in result.err and "compress it again" in result.err
    assert symbinv("solve", tmp_path / f"none.ltl{ending}").err.endswith(
        "directory; check the path and its permissions\n"
    )


class TestCertificates:
    @pytest.fixture
    def written(self, symbinv, tmp_path):
        pytest.importorskip("spot")
        assert symbinv("solve", "G a", "--output", tmp_path / "a.json").code == 0
        assert symbinv("solve", CASES / "q.CNF", "--output", tmp_path / "c.json").code == 0
        return tmp_path

    @pytest.mark.parametrize("name", ["a.json", "c.json"])
    def test_one_that_lacks_a_key_or_has_another_type_is_refused_in_a_sentence(self, name, written, symbinv):
        whole = json.loads((written / name).read_text())
        told = {key for key in whole if key not in ("checks", "tried", "versions", "seconds", "found_by")}
        path = written / "wrong.json"
        for key in told:
            for value in ("missing", None, 7, [7], {}, "x" if not isinstance(whole[key], str) else 3.5):
                content = {**whole, key: value}
                if value == "missing":
                    del content[key]
                path.write_text(json.dumps(content))
                result = symbinv("verify", path)
                assert result.code in (1, 2) and result.err.count("\n") <= 1, (key, value)
                assert result.code == 2 or key == "model" or value is None, (key, value, result)

    def test_one_of_a_later_version_is_refused_whatever_it_has(self, tmp_path, symbinv):
        path = tmp_path / "later.json"
        path.write_text('\ufeff{"certificate": 9, "proof": {}}', encoding="utf-8")
        result = symbinv("verify", path)
        assert result.code == 2
        assert "a certificate of format 9, and this version reads 1; write it again with" in result.err


class TestPairs:
    @pytest.mark.parametrize("begin", ["", "sep=;\n", "\ufeff"])
    def test_another_separator_is_found(self, begin, tmp_path):
        path = tmp_path / "semi.csv"
        path.write_text(begin + (CASES / "semi.csv").read_text(), encoding="utf-8")
        splits, columns = read_pairs(str(path))
        assert columns == ("question", "answer") and splits["train"][0].question == "n36 + n4 - n16"

    def test_a_mark_of_the_encoding_is_no_token(self):
        from hf_symbinv import LTL
        from hf_symbinv.datasets_scripts.storage import read_pairs as read_texts

        assert [pair.question for pair in read_texts(LTL, CASES / "bom_pairs.txt")] == ["&ab", "Uab"]


# What readers look for, so that random bytes get beyond their first lines.
PIECES = [
    b"\n", b" ", b"a", b"0", b"1", b"-1 ", b"#", b"#5\n", b"1!", b"b1 !", b";", b",", b"\t", b'"', b"{", b"}", b"(",
    b"\xff", b"\xef\xbb\xbf", b"\xff\xfe", b"\x00", b"$", b"$end ", b"$var wire 1 ! a $end\n",
    b"$enddefinitions $end\n", b"$scope module t $end\n", b"$upscope $end\n", b"p cnf 2 1\n", b"c x\n", b"%\n",
    b"INFO {", b"SEMANTICS: Finite }", b"MAIN {", b"INPUTS { a; }", b"GUARANTEE { ", b"G ", b"X[!]", b"<>", b"U",
    b"assume x:", b"a,b\n", b"sep=;\n", b"question,answer\n", b'{"question": "a", "answer": "b"}\n', b"[", b"]",
    b"9" * 30, b"_", b"\xe2\x96\xa1",
]  # fmt: skip
READERS = {
    ".ltl": read_specification_file,
    ".tlsf": read_tlsf_file,
    ".cnf": read_dimacs_file,
    ".csv": lambda path: read_recording(path, ["a"]),
    ".vcd": lambda path: read_recording(path, ["a"]),
    ".gz": read_specification_file,
    ".pairs.csv": lambda path: read_pairs(str(path)),
    ".jsonl": lambda path: load_pairs({"pairs": str(path), "symbols": "[a-z]"}),
}


@pytest.mark.parametrize("ending", READERS)
@settings(max_examples=200)
@given(content=st.lists(st.sampled_from(PIECES) | st.binary(max_size=4), max_size=30).map(b"".join))
def test_any_bytes_are_read_or_refused_in_a_sentence(ending, content, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / f"any{ending}"
    path.write_bytes(content)
    try:
        READERS[ending](path)
    except UserError as error:
        assert 0 < len(str(error)) <= 2_100 and "\n" not in str(error)


TLSF = "INFO {{ SEMANTICS: Mealy }} MAIN {{ INPUTS {{ a; }} GUARANTEE {{ {} }} }}"
VCD = "$var wire 1 ! a $end {} $enddefinitions $end #0 {}"
PAIR = '{{"question": "{}", "answer": "{}"}}\n'
MANY = "".join(PAIR.format(" + ".join("abcdefgh"[:count]), "a") for count in range(1, 9))
ROWS = "a + b,a\na - b,a\n"


@pytest.mark.parametrize(
    ("ending", "broken", "remedy", "mended"),
    [
        # Specifications
        (".ltl", "G(req[3] -> b)", r'a name with brackets stands in double quotes: "req\[3\]"', 'G("req[3]" -> b)'),
        (".ltl", "next-state U b", "put names that are not identifiers in double quotes", '"next-state" U b'),
        (".ltl", "G(a -> b", r"expected '\)' for the '\(' at", "G(a -> b)"),
        (".ltl", "req ##2 gnt", "`##2` of SystemVerilog is X", "req & X[2] gnt # a comment"),
        (".ltl", "a #2 b", "unexpected '#'", "a #b"),
        (".ltl", "a##", "unexpected '#'", "a"),
        (".ltl", "a /* open", r"write \*/ where it ends", "a /* open */"),
        (".ltl", "x: a\nx: b", "give each its own", "x: a\ny: b"),
        (".ltl", "traces some\na", "write `traces finite` or `traces infinite`", "traces finite\na"),
        (".ltl", b"G caf\xe9", "save it as UTF-8", 'G "café"'),
        (".ltl", "F(a = 1)", "write a, without a value", "F a"),
        (".ltl", "F[3 a", "bounds are written", "F[2:] a"),
        (".tlsf", TLSF.format("b"), "declare it before the formulas", TLSF.format("b").replace("a;", "a; b;")),
        (".tlsf", TLSF.format("Y a"), "only X F G U R W are read", TLSF.format("X a")),
        (".tlsf", TLSF.format(""), "write one into a section such as GUARANTEE", TLSF.format("G a;")),
        (".tlsf", TLSF.format("G (a"), r"expected '\)'", TLSF.format("G (a)")),
        # Clauses
        (".cnf", "1 2 0", "expected one line `p cnf VARIABLES CLAUSES` before", "p cnf 2 1\n1 2 0"),
        (".cnf", "p cnf 2 1\n1 2", "write 0 after it", "p cnf 2 1\n1 2 0"),
        (".cnf", "p cnf 2 1\n1 x 0", "write numbers of variables, and 0 after", "p cnf 2 1\n1 2 0"),
        (".cnf", "p cnf 2 1\n1 3 0", "correct it, or the line with p", "p cnf 3 1\n1 3 0"),
        (".cnf", "p cnf 2 1\n1 0\n2 0", "correct one of them", "p cnf 2 2\n1 0\n2 0"),
        # Recordings
        (".csv", "1\n0", "write a line of names before it", "a\n1\n0"),
        (".csv", "a\nhi", "write 1, 0, or nothing where it is unknown", "a,b\n1,\n,"),
        (".csv", "a,b\n1", "give each name one", "a,b\n1,"),
        (".csv", "a,a\n1,1", "give each its own name", "a,b\n1,1"),
        (".csv", "x.a,y.a\n1,1", "write its full name", "a,y.a\n1,1"),
        (".csv", "a", "has no step; give at least one", "a\n1"),
        (".csv", "a,symbinv.cycle\n1,1\n1,0", "the cycle is the end of the trace", "a,symbinv.cycle\n1,0\n1,1"),
        (".vcd", VCD.format("$var wire 1 # a $end", "1!"), "give each its own name", VCD.format("", "1!")),
        (".vcd", VCD.format("", ""), "has no step; give at least one", VCD.format("", "1!")),
        (".vcd", "#0 1!", "give a VCD as simulators write it", VCD.format("", "1!")),
        # Pairs
        (".jsonl", "a\n", "write one object on each line", MANY),
        (".jsonl", '["a"]', r'write \{"question": "…", "answer": "…"\}', f"[{MANY.strip().replace(chr(10), ',')}]"),
        (".jsonl", '{"question": "a"}', "give each row a question and an answer", MANY),
        (".jsonl", MANY + '{"question": "a"}', "give a text, or remove the row", MANY),
        (".jsonl", '{"question": 3, "answer": "b"}', "put it in quotes", '{"question": "3", "answer": "3"}\n' + MANY),
        (".jsonl", PAIR.format("a", "a"), "give more such questions", MANY),
        (".pairs.csv", ROWS, "write the line question,answer before it", f"question,answer\n{ROWS}a,b"),
        (
            ".pairs.csv", (CASES / "noheader.csv").read_bytes(),
            r"its first line should name the columns, and 'n36 \+ n4 - n16' looks.*the line question,answer before it",
            f"question,answer\n{(CASES / 'noheader.csv').read_text()}",
        ),
        (".pairs.csv", "a|b\nc|d", "a comma, a semicolon or a tab between them", "question;answer\na;b\nc;d"),
        (".pairs.csv", "q,a\na,b,c", "put texts that hold the separator in double", 'q,a\na,"b,c"'),
        (".pairs.csv", 'q,a\n"a" b,c', "mend the quotes", 'q,a\n"a b",c'),
    ],
)  # fmt: skip
def test_each_remedy_that_a_message_names_works(ending, broken, remedy, mended, tmp_path):
    path = tmp_path / f"x{ending}"
    path.write_bytes(broken if isinstance(broken, bytes) else broken.encode())
    with pytest.raises(UserError, match=remedy):
        READERS[ending](path)
    path.write_text(mended, encoding="utf-8")
    READERS[ending](path)
