"""One command makes data sets in four ways, and refuses options that belong to another way."""

import pytest

from hf_symbinv.datasets_scripts.command import main

COPIES = ["--task=copy", "--num-symbols=3", "--min-size=2", "--max-size=6", "--rows=100", "--workers=1"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "copy"
    assert main([f"--output={folder}", *COPIES]) == 0
    return folder


def test_it_prints_the_splits_of_every_way(folder, tmp_path, capsys):
    made = tmp_path / "made"
    assert main([f"--output={made}", f"--from={folder}", "--reduce=9", "--renamed", "--max-symbols=2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[-1] for line in lines] == ["train", "validation", "test"] and lines[0] == f"{made}: 9 train"
    cells = ["--task=copy", "--grid", "--min-symbols=2", "--num-symbols=3", "--min-size=4", "--max-size=5"]
    assert main([f"--output={tmp_path / 'grid'}", *cells, "--per-cell=5", "--workers=1"]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'grid'}: 20 test\n"
    (tmp_path / "pairs.txt").write_text("".join(f"{'ab' * n}\n{'ab' * n}\n" for n in range(1, 11)))
    assert main([f"--output={tmp_path / 'text'}", "--task=copy", f"--from-text={tmp_path / 'pairs.txt'}"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == f"{tmp_path / 'text'}: 8 train"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--renamed"], "--renamed: only with --from"),
        (["--per-cell=3"], "--per-cell: only with --grid"),
        (["--novel=x"], "--novel: only with --grid"),
        (["--min-symbols=3"], "--min-symbols: only with --grid or --from"),
        (["--grid", "--rows=3"], "--rows: not together with --grid"),
        (["--from=x", "--num-symbols=3"], "--num-symbols: not together with --from"),
        (["--from=x", "--from-text=y"], "--from-text: not together with --from"),
        (["--from=x", "--grid"], "--from: not together with --grid"),
        (["--task=sat"], "task='sat': unknown; use one of ltl, ltl-operators, prop, copy, tseitin"),
        (["--task=nowhere.py"], "task='nowhere.py': no such file"),
        (["--from=nowhere"], "nowhere: holds no data set"),
        (["--from=FOLDER", "--task=ltl", "--renamed"], "task ltl needs formula, witness too: is it of another task?"),
        (["--from=FOLDER", "--reduce=1000"], "reduce=1000: must be between 1 and the 80 rows of split train"),
        (
            ["--from=FOLDER", "--seed=3"],
            "nothing to change; choose rows, or --supplement, --reduce, --extend, --ordered, --complete or --renamed",
        ),
        (["--from=FOLDER", "--min-symbols=9"], "split train: no row has 9 or more symbols"),
        (["--task=copy", "--num-symbols=0"], "task copy cannot draw sizes 1 to 35 with 0 symbols"),
    ],
)
def test_bad_usage_is_refused_with_a_sentence(arguments, message, folder, tmp_path, capsys):
    arguments = [argument.replace("FOLDER", str(folder)) for argument in arguments]
    assert main([f"--output={tmp_path / 'made'}", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and "error: " in captured.err and message in captured.err
    assert not (tmp_path / "made").exists()


def test_fewer_rows_than_asked_for_are_said_in_a_sentence(tmp_path, capsys):
    arguments = ["--num-symbols=3", "--max-size=2", "--rows=20", "--workers=1"]
    assert main([f"--output={tmp_path / 'made'}", *arguments]) == 0
    assert "\nwarning: rows=20: only 10 different questions" in f"\n{capsys.readouterr().err}"
