"""`python -m papers`: what it refuses, that its example is what it prints, and where it runs."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from papers import __main__ as command
from papers.__main__ import DONE, UNUSABLE
from papers.__main__ import main as papers

ROOT = Path(__file__).parents[2]


def run(*arguments, folder=ROOT, **environment):
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, capture_output=True, text=True, check=False,
        env={**os.environ, **environment},
    )  # fmt: skip


def test_the_example_in_the_help_text_shows_what_the_command_prints(capsys):
    """After a change, REFRESH_EXAMPLES=1 writes what it prints into the help text."""
    line, _, wanted = command.EXAMPLE.partition("\n")
    python, option, package, *arguments = shlex.split(line.removeprefix("$ "))
    assert (python, option, package) == ("python", "-m", "papers")
    assert papers(arguments) == DONE
    printed = capsys.readouterr().out
    if "REFRESH_EXAMPLES" in os.environ:
        source = Path(command.__file__)
        text = source.read_text(encoding="utf-8")
        assert text.count(wanted) == 1
        source.write_text(text.replace(wanted, printed), encoding="utf-8")
    else:
        assert printed == wanted


def test_the_page_on_reproducing_has_the_list(capsys):
    papers(["--list"])
    assert f"$ python -m papers --list\n{capsys.readouterr().out}" in (ROOT / "docs" / "reproduce.md").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "no TABLE: choose from those that `python -m papers --list` prints"),
        (["sit-5"], "table 'sit-5': unknown; choose from "),
        (["sit-1", "ite-4"], "table 'ite-4': unknown; choose from "),
        (["sit-1", "--scale", "huge"], "argument --scale: invalid choice: 'huge'"),
        (["sit-1", "--scale", "gpu"], "table 'sit-1': has no scale gpu; use one of smoke, cpu, paper"),
        (["sit-1", "--seeds", "0"], "--seeds 0: must be an integer of at least 1"),
        (["ite-5"], "table 'ite-5': unknown; Table 5 is in ite-copy; choose from "),
        (["sit1"], "table 'sit1': unknown; Table 1 is in sit-1; choose from "),
        (["SIT-1"], "table 'SIT-1': unknown; Table 1 is in sit-1; choose from "),
        (["table-7"], "table 'table-7': unknown; Table 7 is in sit-1; choose from "),
        (["sit-heatmaps"], "table 'sit-heatmaps': unknown; did you mean sit-heatmap? choose from "),
        (["sit-1", "--seeds", "0,1,2"], "argument --seeds: '0,1,2': must be a number of trainings, such as 3"),
        (["sit-1", "--max-minutes", "nan"], "--max-minutes nan: must be a positive number of minutes"),
        (["sit-1", "--max-minutes", "inf"], "--max-minutes inf: must be a positive number of minutes"),
        (["sit-1", "--max-minutes", "-1"], "--max-minutes -1: must be a positive number of minutes"),
    ],
)
def test_bad_usage_is_refused_with_a_sentence(arguments, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stopped:
        papers(arguments)
    assert stopped.value.code == UNUSABLE
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith(f"python -m papers: error: {message}")
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_is_named(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    with pytest.raises(SystemExit) as stopped:
        papers(["sit-topn", "--output", str(tmp_path / "file")])
    assert stopped.value.code == UNUSABLE
    assert f"{tmp_path / 'file'}" in capsys.readouterr().err.splitlines()[-1]


def test_an_interrupted_table_ends_in_one_sentence(tmp_path, capsys, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt("interrupted; the same command goes on from step 2")

    monkeypatch.setattr("papers.harness.reproduction.reproduce", stop)
    with pytest.raises(SystemExit) as stopped:
        papers(["sit-topn", "--output", str(tmp_path)])
    said = "python -m papers: interrupted; the same command goes on from step 2\n"
    assert (stopped.value.code, capsys.readouterr().err) == (130, said)


def test_a_list_of_which_nobody_reads_the_end_ends_without_a_word():
    with subprocess.Popen(
        [sys.executable, "-m", "papers", "--list"], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.close()
        assert (process.stderr.read(), process.wait()) == (b"", 141)


def test_an_interrupt_before_everything_is_imported_ends_in_one_sentence(tmp_path):
    (tmp_path / "torch.py").write_text("raise KeyboardInterrupt")
    result = run("-m", "papers", "sit-1", PYTHONPATH=str(tmp_path))
    assert (result.returncode, result.stderr) == (130, "python -m papers: interrupted\n")


@pytest.mark.slow
class TestPlaces:
    def test_it_runs_from_a_checkout(self):
        result = run("-m", "papers", "--list", PYTHONPATH="")
        assert result.returncode == DONE and result.stdout == command.EXAMPLE.partition("\n")[2]

    def test_from_elsewhere_it_says_where_to_run_it(self, tmp_path):
        result = run(str(ROOT / "papers"), "--list", folder=tmp_path, PYTHONPATH="")
        assert result.returncode == UNUSABLE
        assert result.stderr == (
            f"python -m papers: error: {tmp_path} is no checkout; run `python -m papers` in {ROOT}\n"
        )

    def test_without_the_packages_it_says_what_to_install(self):
        """-S hides what is installed, but for the standard library."""
        result = run("-S", "-m", "papers", "--list", PYTHONPATH="")
        assert result.returncode == UNUSABLE
        assert result.stderr.endswith(f" is not installed; run `pip install -e '.[train,plot,algebra]'` in {ROOT}\n")
        assert "Traceback" not in result.stderr
