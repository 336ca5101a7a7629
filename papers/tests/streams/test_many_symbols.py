"""Formulas have the number of symbols that was asked for, and a witness that Spot confirms."""

import pytest

from hf_symbinv.tasks import LTL
from papers.streams.many_symbols import main


def test_pairs_have_so_many_symbols_and_spot_confirms_them(tmp_path):
    main([str(tmp_path / "pairs.txt"), *["--symbols", "2", "5", "--nodes", "11", "15", "--each", "3"]])
    lines = (tmp_path / "pairs.txt").read_text(encoding="utf-8").splitlines()
    pairs = list(zip(lines[::2], lines[1::2], strict=True))
    assert [len(LTL.symbols(question)) for question, _ in pairs] == [2, 2, 2, 5, 5, 5]
    assert all(11 <= len(question) <= 15 for question, _ in pairs)
    with LTL.checker(timeout=5.0) as checker:
        verdicts = checker.check([(" ".join(question), " ".join(answer)) for question, answer in pairs])
    assert [verdict.verdict for verdict in verdicts] == ["correct"] * 6


def test_more_symbols_than_leaves_are_refused_and_the_remedy_works(tmp_path, capsys):
    file = tmp_path / "pairs.txt"
    with pytest.raises(SystemExit):
        main([str(file), *["--symbols", "7", "--nodes", "8", "11", "--each", "1"]])
    assert "--symbols 7: a formula of 11 nodes has 6 leaves at most; raise --nodes" in capsys.readouterr().err
    main([str(file), *["--symbols", "7", "--nodes", "18", "25", "--each", "1"]])
    assert file.exists()
