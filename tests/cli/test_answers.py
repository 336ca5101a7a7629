"""`symbinv solve` and `symbinv verify` with the portfolio: specifications in, checked answers and their files out."""

import json

import pytest

from hf_symbinv.answers.traces import read_recording

pytest.importorskip("spot")

FAST = ["--without", "model"]


@pytest.fixture
def solve(symbinv):
    return lambda *arguments, stdin=b"": symbinv("solve", *FAST, *arguments, stdin=stdin)


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


def test_lines_of_standard_input_are_questions(solve):
    result = solve("-", stdin=b"G a\nG(b\n\nX c & X !c\n")
    assert (result.code, result.err) == (
        2, "symbinv solve: line 2 of standard input:1:4: expected ')' for the '(' at 1:2\n",
    )  # fmt: skip
    assert result.out.count("verdict") == 2


def test_a_finite_trace_is_shown_without_what_comes_after_it(solve):
    assert solve("--finite", "F a & X[!] b").out == "F a & X[!] b\n  witness  a; b, and ends\n  verdict  correct\n"


def test_it_explains_who_tried_and_who_checked(solve):
    lines = solve("--explain", "G a").out.splitlines()
    labels = [line[:25].strip() for line in lines[1:]]
    assert labels == ["witness", "verdict", "spot", "bounded", "checked by hf_symbinv", "checked by spot", "in all"]
    assert any("found a witness (" in line for line in lines[3:5])


def test_what_nobody_proves_is_unknown(symbinv):
    result = symbinv("solve", *FAST, "--without", "spot", "--timeout", "0.3", "F a & G !a")
    assert result.code == 1
    assert "unknown: no member of the portfolio has an answer within its limits" in result.out


@pytest.mark.parametrize(("notation", "formula"), [("prefix", "G request"), ("lbt", 'G "request"')])
def test_formulas_come_in_other_notations(notation, formula, solve):
    assert solve("--notation", notation, formula).out.endswith("  witness  cycle{request}\n  verdict  correct\n")


def test_files_of_an_answer_are_verified_again(solve, symbinv, tmp_path):
    paths = {suffix: tmp_path / f"answer{suffix}" for suffix in (".json", ".csv", ".vcd")}
    question = "live: G F request; safe: G(request -> X grant); other: G !(grant & cpu.irq)"
    options = [option for path in paths.values() for option in ("--output", path)]
    assert solve(question, *options).code == 0
    certificate = symbinv("verify", paths[".json"])
    assert certificate.code == 0 and certificate.out.endswith("\n  spot         correct\n  verdict      confirmed\n")
    for suffix in (".csv", ".vcd"):
        assert read_recording(paths[suffix]).loop is not None
        checked = symbinv("verify", question, paths[suffix])
        assert checked.code == 0 and checked.out.count("  correct\n") == 3
    wrong = symbinv("verify", "no: G !request", paths[".vcd"])
    assert wrong.code == 1 and "  no  incorrect: whatever comes after step" in wrong.out
    content = json.loads(paths[".json"].read_text())
    paths[".json"].write_text(json.dumps(content | {"witness": "cycle{!request}"}))
    forged = symbinv("verify", paths[".json"], "--json")
    assert forged.code == 1 and json.loads(forged.out)["confirmed"] is False


def test_json_gives_certificates(solve):
    result = solve("--json", "G a", "G(", "X a & X !a")
    found = [json.loads(line) for line in result.out.splitlines()]
    assert [content.get("result") for content in found] == ["satisfiable", None, "unsatisfiable"]
    assert found[1] == {"specification": "G(", "error": "formula 2:1:3: expected a formula, the text ends here"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a", "--n-best", "3"], "--n-best 3: only a model takes it; name one, as --model ltl-small"),
        (["a", "--model", "ltl-small", "--explain"], "--explain: a model that answers alone does not take it"),
        (["a", "--output", "x.txt"], "unknown kind of file; end it in .json, .csv, .vcd, .png, .svg, .pdf"),
        (["a", "b", "--output", "x.json"], "the answer to one question is written; give one as an argument"),
        (["a", "--without", "magic"], "invalid choice: 'magic'"),
        (["a", "--without", "spot", "--without", "bounded"], "no member of the portfolio is left"),
    ],
)
def test_bad_usage_is_refused_with_a_sentence(arguments, message, solve):
    result = solve(*arguments)
    assert result.code == 2 and result.out == "" and message in result.err and "Traceback" not in result.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.json"], "nowhere.json: No such file or directory"),
        (["G a", "nowhere.csv"], "nowhere.csv: No such file or directory"),
        (["G a", "cycle{a}", "--finite"], "--finite: only with a recorded trace, a TRACE.vcd or TRACE.csv"),
        (["G a", "cycle{a}", "--clock", "clk"], "--clock: only with a recorded trace"),
    ],
)
def test_bad_evidence_is_refused_with_a_sentence(arguments, message, symbinv):
    result = symbinv("verify", *arguments)
    assert result.code == 2 and message in result.err and "Traceback" not in result.err
