"""Every remedy that a reader's message names is tried: with it, the same input is read."""

import pytest

from hf_symbinv.answers import read_dimacs_file, read_specification_file, read_tlsf_file
from hf_symbinv.answers.traces import read_recording
from hf_symbinv.datasets_scripts.pair_files import read_pairs
from hf_symbinv.datasets_scripts.pairs import load_pairs
from hf_symbinv.errors import UserError

TLSF = "INFO {{ SEMANTICS: Mealy }} MAIN {{ INPUTS {{ a; }} GUARANTEE {{ {} }} }}"
VCD = "$var wire 1 ! a $end {} $enddefinitions $end #0 {}"
PAIR = '{{"question": "{}", "answer": "{}"}}\n'
MANY = "".join(PAIR.format(" + ".join("abcdefgh"[:count]), "a") for count in range(1, 9))
READERS = {
    ".ltl": read_specification_file,
    ".tlsf": read_tlsf_file,
    ".cnf": read_dimacs_file,
    ".csv": lambda path: read_recording(path, ["a"]),
    ".vcd": lambda path: read_recording(path, ["a"]),
    ".jsonl": lambda path: load_pairs({"pairs": str(path), "symbols": "[a-z]"}),
    ".pairs.csv": lambda path: read_pairs(str(path)),
}
ROWS = "a + b,a\na - b,a\n"


@pytest.mark.parametrize(
    ("ending", "broken", "remedy", "mended"),
    [
        # Specifications
        (".ltl", "G(req[3] -> b)", r'a name with brackets stands in double quotes: "req\[3\]"', 'G("req[3]" -> b)'),
        (".ltl", "next-state U b", "put names that are not identifiers in double quotes", '"next-state" U b'),
        (".ltl", "G(a -> b", r"expected '\)' for the '\(' at", "G(a -> b)"),
        (".ltl", "req ##2 gnt", "`##2` of SystemVerilog is X", "req & X[2] gnt"),
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
        (".csv", "a,b\n1", "give each step all", "a,b\n1,"),
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
        (".pairs.csv", "a|b\nc|d", "a comma, a semicolon or a tab between them", "question;answer\na;b\nc;d"),
        (".pairs.csv", "q,a\na,b,c", "put texts that hold the separator in double", 'q,a\na,"b,c"'),
        (".pairs.csv", 'q,a\n"a" b,c', "mend the quotes", 'q,a\n"a b",c'),
    ],
)  # fmt: skip
def test_the_remedy_works(ending, broken, remedy, mended, tmp_path):
    path = tmp_path / f"x{ending}"
    path.write_bytes(broken if isinstance(broken, bytes) else broken.encode())
    with pytest.raises(UserError, match=remedy):
        READERS[ending](path)
    path.write_text(mended, encoding="utf-8")
    READERS[ending](path)
