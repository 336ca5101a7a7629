"""`symbinv solve` and `symbinv verify` with the portfolio: specifications in, checked answers and their files out."""

import json
import re
import subprocess
import sys

import pytest

from hf_symbinv.answers.traces import read_recording
from hf_symbinv.logic import told_of_names

pytest.importorskip("spot")


@pytest.fixture
def solve(symbinv):
    return lambda *arguments, stdin=b"": symbinv("solve", *arguments, stdin=stdin)


def test_a_witness_and_a_proof_are_shown_as_such(solve):
    result = solve("G(request -> F grant) & F request & G !(grant & busy)", "a & X b & !a", "x: G r; y: F !r; z: s")
    first, second, third = result.out.split("\n  verdict  ")[0], *result.out.split("\n  verdict  ")[2:]
    assert (result.code, result.err) == (0, "")
    assert first.startswith("G(request -> F grant) & F request & G !(grant & busy)\n  witness  ")
    assert "a & X b & !a\n  witness  there is none\n  verdict  unsatisfiable, as spot proves\n" in result.out
    assert second.startswith("unsatisfiable") and third == "unsatisfiable, as spot proves: x, y (and each is needed)\n"


def test_a_file_is_one_question_and_says_where_it_is_wrong(solve, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "arbiter.ltl").write_text("# two clients\nassume G F r\nguarantee\n  G(r -> F[1:2] g)\n")
    assert solve("arbiter.ltl").out.startswith("arbiter.ltl\n  witness  ")
    (tmp_path / "arbiter.ltl").write_text("assume G F r\nguarantee x: G(r[0] -> g)\n")
    result = solve("arbiter.ltl")
    assert result.code == 2 and result.err.startswith("symbinv solve: arbiter.ltl:2:17: unexpected '['")
    assert solve("nowhere.ltl").err == (
        "symbinv solve: nowhere.ltl: No such file or directory; check the path and its permissions\n"
    )


def test_a_word_that_is_read_as_an_operator_before_a_name_is_told(solve, symbinv, tmp_path):
    told = '{0} is read as {1} before {2}, as in Spot; a name stands in double quotes: "{0}"\n'
    for words in ([], ["FULL", "G", "FIFO_1", "Xmit"]):
        names = ["GFa", "Fp0", "GFready", "X1", '"FULL"', 'F"ull"', "False", "a.FULL", *words]
        path = tmp_path / "spec.ltl"
        path.write_text(f"# FULL\nGRANT: {' | '.join(names).replace('G |', 'G')}\n")
        lines = [f"symbinv: {{}}: {told.format(word, word[0], word[1:])}" for word in words if len(word) > 1]
        assert solve(str(path)).err == "".join(line.format("formula 1") for line in lines)
        witness = "cycle{a & ready}"
        assert symbinv("verify", str(path), witness).err == "".join(line.format("formula") for line in lines)


def test_a_pair_of_letters_is_told_where_names_are_words_and_operators_stand_apart():
    for text in ("G GO", "GO -> F stop", "!GO U READY", "GO & STOP", "G(GO -> F GO)"):
        assert [told.split()[0] for told in told_of_names(text)] == ["GO"]
    for text in ("GF a", "FG a", "XX a", "G Ga", "G Fp0", "F GFP", 'G "GO"', "GP", "F P -> GQ"):
        assert not told_of_names(text)


def test_lines_of_standard_input_are_questions(solve):
    result = solve("-", stdin=b"G a\nG(b\n\nX c & X !c\n")
    assert (result.code, result.err) == (
        2, "symbinv solve: line 2 of standard input:1:4: expected ')' for the '(' at 1:2\n",
    )  # fmt: skip
    assert result.out.count("verdict") == 2


def test_each_line_is_answered_before_the_next_one_is_written():
    """Also after a line that is wrong."""
    command = [sys.executable, "-m", "symbinv", "solve", "--json", "-"]
    lines = ["G(request -> F grant)", "G(", "", "nowhere.ltl &", "X a & X !a", "F a"]
    expected = [
        "satisfiable", "1:3: expected a formula", None, "1:14: expected a formula", "unsatisfiable", "satisfiable",
    ]  # fmt: skip
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        for line, told in zip(lines, expected, strict=True):
            process.stdin.write(f"{line}\n")
            process.stdin.flush()
            if told is not None:
                content = json.loads(process.stdout.readline())
                assert content.get("result") == told or told in content["error"]
        assert process.communicate() == ("", None)
    assert process.returncode == 2


def test_propositional_formulas_get_assignments(solve, tmp_path):
    result = solve("--task", "prop", "(request | !grant) & busy & !grant", "x: a -> b; y: a & !b", "a | !a")
    assert (result.code, result.err) == (0, "")
    assert result.out == (
        "(request | !grant) & busy & !grant\n  assignment  grant=0, busy=1\n  verdict     correct\n"
        "x: a -> b; y: a & !b\n  assignment  there is none\n"
        "  verdict     unsatisfiable, as bounded proves: x, y (and each is needed)\n"
        "a | !a\n  assignment  a=0\n  verdict     correct\n"
    )
    assert "operator F: belongs to linear temporal logic" in solve("--task", "prop", "F a").err
    assert solve("--task", "prop", "--notation", "prefix", "&a!b").out.startswith("&a!b\n  assignment  a=1, b=0\n")


DIMACS = "c two of three\np cnf 3 4\n1 2 0\n-1 -2 0\n3 0\n2 -3 0\n"


def test_clauses_get_models_and_proofs(solve, symbinv, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.cnf").write_text(DIMACS)
    (tmp_path / "b.cnf").write_text(DIMACS.replace("3 4", "3 5") + "-2 0\n")
    assert solve("a.cnf").out == "a.cnf\n  assignment  -1 2 3\n  verdict     correct\n"
    assert solve("b.cnf", "--output", "b.json").out.endswith(
        "unsatisfiable, as cadical153 proves: clauses 3 to 5 (and each is needed)\n"
    )
    verified = symbinv("verify", "b.json")
    assert verified.code == 0 and verified.out == (
        "b.json\n  unsatisfiable  clauses 3 to 5\n  cadical153     unsatisfiable\n  glucose4       unsatisfiable\n"
        "  verdict        confirmed\n"
    )
    assert json.loads(solve("--json", "a.cnf").out)["model"] == [-1, 2, 3]


def test_a_line_of_a_specification_is_no_question(solve, tmp_path):
    text = "assume asked: G F req\nG !grant\nguarantee served: G(req -> F grant)\n"
    (tmp_path / "spec.ltl").write_text(text)
    assert "unsatisfiable" in solve(tmp_path / "spec.ltl").out
    for told in (solve("--file", tmp_path / "spec.ltl"), solve(stdin=text.encode())):
        assert told.code == 2 and told.err.count("begins a line of a specification") == 2


def test_what_solve_writes_verify_reads(solve, symbinv, tmp_path):
    (tmp_path / "spec.ltl").write_text("asked: G F req\nG(req -> X grant)\n")
    for question in ([tmp_path / "spec.ltl"], ["--finite", "F(a & X[!] b) & G(b -> X[!] !b)"]):
        witness = solve(*question).out.splitlines()[1].removeprefix("  witness  ")
        assert symbinv("verify", *question, witness).code == 0
    told = symbinv("verify", tmp_path / "spec.ltl", "req; cycle{grant & !req}")
    assert told.code == 1 and "asked              incorrect" in told.out and "G(req -> X grant)  correct" in told.out


def test_a_refused_question_is_an_object_for_recordings_too(symbinv):
    told = symbinv("verify", "--json", "G(a -> X b", "run.vcd")
    assert told.code == 2 and "expected ')'" in json.loads(told.out)["error"]


def test_a_recording_of_another_kind_and_one_before_its_formula_are_told(symbinv, tmp_path):
    (tmp_path / "run.tsv").write_text("a\n1\n")
    assert "run.tsv: unknown kind of trace; its name ends in .csv" in symbinv("verify", "F a", tmp_path / "run.tsv").err
    assert "run.vcd: a trace stands after its formula" in symbinv("verify", "run.vcd", "F a", "--clock", "clk").err


def test_a_finite_trace_is_shown_without_what_comes_after_it(solve):
    assert solve("--finite", "F a & X[!] b").out == "F a & X[!] b\n  witness  a; b, and ends\n  verdict  correct\n"


def test_it_explains_who_tried_and_who_checked(solve):
    lines = solve("--explain", "G a").out.splitlines()
    labels = [line[:25].strip() for line in lines[1:]]
    assert labels == ["witness", "verdict", "spot", "bounded", "checked by hf_symbinv", "checked by spot", "in all"]
    assert any("found a witness (" in line for line in lines[3:5])


def test_what_nobody_proves_is_unknown(symbinv):
    result = symbinv("solve", "--without", "spot", "--timeout", "0.3", "F a & G !a")
    assert result.code == 1
    assert "unknown: no solver has an answer within its limits; --timeout and --memory give it more" in result.out


def test_who_waits_is_told_so(symbinv, monkeypatch):
    monkeypatch.setattr("hf_symbinv.cli.solve.PATIENCE", 0.1)
    result = symbinv("solve", "--without", "spot", "--timeout", "0.5", "F a & G !a")
    wanted = r"symbinv solve: F a & G !a: no answer after \d s; --timeout 0\.5 limits the seconds of each solver .*\n"
    assert re.match(wanted, result.err)


def test_a_file_that_cannot_be_written_does_not_cost_the_certificate(solve, tmp_path):
    told = solve("a & !a", "--output", tmp_path / "w.vcd", "--output", tmp_path / "w.json")
    assert told.code == 2 and "there is no witness to write" in told.err and "\n  verdict  unsatisfiable" in told.out
    assert json.loads((tmp_path / "w.json").read_text())["result"] == "unsatisfiable"


def test_files_of_an_answer_are_verified_again(solve, symbinv, tmp_path):
    paths = {suffix: tmp_path / f"answer{suffix}" for suffix in (".json", ".csv", ".vcd")}
    question = "live: G F request; safe: G(request -> X grant); other: G !(grant & cpu.irq)"
    options = [option for path in paths.values() for option in ("--output", path)]
    assert solve(question, *options).code == 0
    certificate = symbinv("verify", paths[".json"])
    assert certificate.code == 0 and certificate.out.endswith("\n  spot         correct\n  verdict      confirmed\n")
    for suffix in (".csv", ".vcd"):
        assert read_recording(paths[suffix], ["request"]).loop is not None
        checked = symbinv("verify", question, paths[suffix])
        assert checked.code == 0 and checked.out.count("  correct\n") == 3
    wrong = symbinv("verify", "no: G !request", paths[".vcd"])
    assert wrong.code == 1 and "  no  incorrect: by step 0, whatever comes after it" in wrong.out
    content = json.loads(paths[".json"].read_text())
    paths[".json"].write_text(json.dumps(content | {"witness": "cycle{!request}"}))
    forged = symbinv("verify", paths[".json"], "--json")
    assert forged.code == 1 and json.loads(forged.out)["confirmed"] is False
