"""Bad usage of a command is refused in a sentence that names value, rule and remedy, and nothing is made."""

import os
from pathlib import Path

import pytest

from hf_symbinv.datasets_scripts.storage import Pair, write_split
from hf_symbinv.tasks import LTL

MODEL, RUN = ("--model", "MODEL"), ("--output", "run")
# Arguments, and what is said of them. MODEL and DATA are whole; all other names are those of files that `folder` has.
REFUSED = {
    "solve": [
        (["a", "--n-best", "3"], "--n-best 3: only a model takes it; name one, as --model ltl-base"),
        (["a", "--model", "ltl-small", "--explain"], "--explain: a model that answers alone does not take it"),
        (["a", "--output", "x.txt"], "unknown kind of file; end it in .json, .csv, .vcd, .png, .svg, .pdf"),
        (["a", "b", "--output", "x.json"], "the answer to one question is written; give one as an argument"),
        (["a", "--task", "prop", "--finite"], "--finite: a propositional formula has no traces; leave out --task"),
        (["a", "--task", "prop", "--output", "x.csv"], "--output x.csv: an assignment is written as .json only"),
        (["a", "--task", "copy", "--finite"], "--finite: a model that answers alone does not take it"),
        (["a", *(f"--without={name}" for name in ("spot", "bounded"))], "no member of the portfolio is left"),
        (["--file", "/no/such/file"], "/no/such/file: No such file or directory; check the path"),
        (["a", "--file", "x"], "--file x: leave it out, or leave out the formula before it"),
        ([], "standard input: holds no formula; write one per line"),
        (["a", *MODEL, "--n-best", "4", "--beams", "2"], "--n-best 4: more candidates than beams; use --beams 4 or"),
        (["a", *MODEL, "--n-best", "0"], "'0': must be an integer of at least 1"),
        (["a", *MODEL, "--max-new-tokens", "3"], "'3': must be an integer of at least 4"),
        (["a", *MODEL, "--device", "abacus"], "device 'abacus': not usable here"),
        (["a", "--model", "no-such-model"], "no-such-model: no such folder; bundled checkpoints: "),
    ],
    "verify": [
        (["a"], "1 arguments: give one formula and one witness, each in quotes"),
        (["a", "b", "--file", "x"], "--file x: leave it out, or leave out the pair before it"),
        (["--file", "/no/such/file"], "/no/such/file: No such file or directory; check the path and its permissions"),
        (["a", "b", "--timeout", "0"], "'0': must be a positive number of seconds"),
        (["a", "b", "--notation", "polish"], "--notation polish: task ltl does not have it; use one of infix, lbt"),
        ([], "standard input: holds no pair; write one per line"),
        (["--task", "no.py", "a", "a"], "task='no.py': no such file"),
        (["nowhere.json"], "nowhere.json: No such file or directory"),
        (["--finite"], "--finite: only with one formula and one trace"),
        (["--finite", "G a", "cycle{a}"], "cycle{a}: is no finite trace; end it with `, and ends`"),
        (["spec.ltl", "a, and ends"], "a, and ends: is no infinite trace; add --finite, or give it a cycle{...}"),
        (["spec.ltl", "cycle{a | b}"], "step a | b: no conjunction of literals that agree; write each step as"),
        (["G a", "cycle{a}", "--clock", "clk"], "--clock: only with a recorded trace"),
        (["--task", "pairs", "a", "b"], "task='pairs': its base words come from data; train with"),
    ],
    "task": [
        (["check", "no_such_file.py"], "task='no_such_file.py': no such file"),
        (["check", "chess"], "task='chess': unknown; use one of ltl, ltl-operators, prop, copy, tseitin, or a file"),
        (["check", "copy", "--num-symbols", "11"], "num_symbols=11: try 2 to 10"),
        (["check", "copy", "--min-size", "9", "--max-size", "3"], "min_size=9, max_size=3, questions=40: all are at"),
        (["new", "my-task.py"], "my-task.py: is no name of a module; use letters, digits and _, and end it in .py"),
        (["new", "x.py", "--seed", "1"], "--seed: only with check"),
        (["new", "there.py"], "there.py: there is such a file; choose another name"),
        (["new", "no/folder/x.py"], "no/folder/x.py: No such file or directory; check the path and its permissions"),
        (["check", "there.py"], "task='there.py': the file cannot be imported (line 2, NameError: name 'nothing'"),
    ],
    "train": [
        ([], "no RECIPE: give a YAML file or one of "),
        (["ltl-smoke"], "no --output: name a folder for the model"),
        ([*RUN, "ltl-huge"], "ltl-huge: no such file, and no recipe of this name; recipes: "),
        ([*RUN, "ltl-smoke", "trainer"], "trainer: must be SECTION.KEY=VALUE with a YAML value"),
        ([*RUN, "ltl-smoke", "colour=red"], "colour=red: unknown key; use task, data.OPTION"),
        ([*RUN, "ltl-smoke", "trainer.colour=1"], "trainer.colour: unknown argument; transformers."),
        ([*RUN, "ltl-smoke", "start=ltl-tiny"], "or one of ltl-base, ltl-canonical, ltl-patterns"),
        ([*RUN, "ltl-smoke", "data.rows=5"], "rows=5: ask for at least 10"),
        ([*RUN, "ltl-smoke", "--data", "/nowhere"], "/nowhere"),
        ([*RUN, "ltl-smoke", "--max-minutes", "0"], "'0': must be a positive number of minutes"),
        ([*RUN, "--pairs", "FILE.csv"], "data.symbols=None: task pairs needs a text; give --symbols"),
        ([*RUN, "pairs-small"], "data.pairs=None: task pairs needs a text; give --pairs"),
        ([*RUN, "ltl-smoke", "--pairs", "FILE.csv"], "--pairs: recipe ltl-smoke is of task ltl; leave it out"),
        ([*RUN, "--pairs", "FILE.csv", "--symbols", "[a-z", "trainer.max_steps=1"], "'[a-z' is no regular expression"),
        ([*RUN, "--pairs", "FILE.csv", "--symbols", r"\b[ab]\b", "model.d_modle=1"], "d_modle=1: unknown field"),
        ([*RUN, "--pairs", "none.csv", "--symbols", "[a-z]+"], "none.csv: no such file"),
        ([*RUN, "ltl-smoke", "task=pairs"], "data.num_symbols: unknown for task pairs"),
    ],
    "evaluate": [
        (["MODEL", "--data", "nowhere"], "nowhere: no such folder; make a data set with `symbinv data`"),
        (["MODEL", "--data", "EMPTY"], "EMPTY, split test: cannot be loaded ("),
        (["MODEL", "--data", "DATA", "--split", "exam"], "split exam: cannot be loaded (Bad split: exam"),
        (["MODEL", "--data", "DATA", "--output", "/no/file"], "/no/file: No such file or directory; check the path"),
        (["MODEL", "--data", "DATA", "--every-renaming"], "--every-renaming: only with --alpha-covariance N"),
    ],
}  # fmt: skip


@pytest.fixture
def folder(tmp_path, monkeypatch, checkpoint):
    """The current folder, with what the arguments name."""
    monkeypatch.chdir(tmp_path)
    Path("MODEL").symlink_to(checkpoint)
    Path("DATA", "data").mkdir(parents=True)
    write_split(LTL, Path("DATA"), "test", [Pair("Xa", "1;a;{1}")], "spot")
    Path("EMPTY").mkdir()
    Path("FILE.csv").write_text("question,answer\n" + "".join(f"swap {'a ' * n}b,done b\n" for n in range(1, 20)))
    Path("spec.ltl").write_text("G F a")
    Path("there.py").write_text("import sys\nnothing\n")
    return tmp_path


@pytest.mark.parametrize(
    ("command", "arguments", "message"), [(command, *row) for command, rows in REFUSED.items() for row in rows]
)
def test_bad_usage_is_refused_with_a_sentence(command, arguments, message, symbinv, folder):
    before = {*os.listdir()}
    result = symbinv(command, *arguments)
    assert result.code == 2 and result.out == "" and message in result.err and "Traceback" not in result.err
    assert {*os.listdir()} - {"__pycache__"} == before
