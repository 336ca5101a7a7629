"""Progress is a bar on a terminal, and its state now and then elsewhere."""

import io
import sys

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
