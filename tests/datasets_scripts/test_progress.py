"""Without a terminal, progress is lines: at most one in ten seconds, and one at the end."""

import io
import sys

import pytest
from tqdm import tqdm

from hf_symbinv.datasets_scripts import progress
from hf_symbinv.datasets_scripts.command import main


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_a_line_comes_every_ten_seconds_and_at_the_end(clock):
    file = io.StringIO()
    with progress.Lines("pairs", 5000, file) as lines:
        for second in range(25):
            clock[0] = float(second)
            lines.update(100)
        lines.set_description("3 symbols")
        lines.update(7)
    assert file.getvalue().splitlines() == [
        "1,100 of 5,000 pairs, 00:10", "2,100 of 5,000 pairs, 00:20", "3 symbols: 2,507 of 5,000 pairs, 00:24"
    ]  # fmt: skip


def test_without_a_total_the_count_is_said_alone(clock):
    file = io.StringIO()
    with progress.Lines("pairs", None, file) as lines:
        lines.update(3)
    assert file.getvalue() == "3 pairs, 00:00\n"


def test_a_terminal_has_a_bar_also_where_other_bars_are_off(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("TQDM_DISABLE", "1")
    with progress.progress_of("pairs", 10) as bar:
        bar.update(10)
    assert isinstance(bar, tqdm) and "10/10" in sys.stderr.getvalue()


def test_nothing_is_shown_where_nothing_is_asked_for(capsys):
    with progress.progress_of("pairs", 10, show=False) as bar:
        bar.update(10)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--num-symbols=3", "--max-size=8", "--rows=100"], "100 of 100 pairs, "),
        (["--grid", "--min-symbols=2", "--num-symbols=2", "--min-size=3", "--max-size=4", "--per-cell=5"],
         "2 symbols: 10 of 10 pairs, "),
    ],
)  # fmt: skip
def test_the_command_tells_how_far_it_is_without_a_terminal(options, line, tmp_path, capsys):
    assert main([f"--output={tmp_path / 'made'}", "--task=copy", "--workers=1", *options]) == 0
    assert capsys.readouterr().err.splitlines()[-1].startswith(line)


def test_a_text_that_is_read_tells_it_too(tmp_path, capsys):
    (tmp_path / "pairs.txt").write_text("".join(f"{'ab' * n}\n{'ab' * n}\n" for n in range(1, 11)))
    assert main([f"--output={tmp_path / 'made'}", "--task=copy", f"--from-text={tmp_path / 'pairs.txt'}"]) == 0
    assert capsys.readouterr().err.startswith("pairs.txt: 10 pairs, ")
