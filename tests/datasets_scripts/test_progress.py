"""Progress is a bar on a terminal, and its state now and then elsewhere."""

import io
import sys

import pytest

from hf_symbinv.datasets_scripts.command import main
from hf_symbinv.datasets_scripts.progress import progress_of


def test_a_terminal_has_a_bar_also_where_other_bars_are_off(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("TQDM_DISABLE", "1")
    with progress_of("pairs", 10) as bar:
        bar.update(10)
    assert "10/10" in sys.stderr.getvalue()


def test_elsewhere_little_is_written_and_the_end(capsys):
    with progress_of("pairs", 5000) as bar:
        for _ in range(5000):
            bar.update(1)
    assert "5000/5000 [" in capsys.readouterr().err.splitlines()[-1] and bar.mininterval == 10
    with progress_of("pairs", 10, show=False) as bar:
        bar.update(10)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--num-symbols=3", "--max-size=8", "--rows=100"], "100/100"),
        (["--grid", "--min-symbols=2", "--num-symbols=2", "--min-size=3", "--max-size=4", "--per-cell=5"], "10/10"),
    ],
)
def test_the_command_tells_how_far_it_is_without_a_terminal(options, told, tmp_path, capsys):
    assert main([f"--output={tmp_path / 'made'}", "--task=copy", "--workers=1", *options]) == 0
    assert told in capsys.readouterr().err
