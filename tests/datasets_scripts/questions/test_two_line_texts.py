"""The two-line text format of earlier releases becomes data sets, from a file, a folder or the Hub."""

import datasets

from hf_symbinv.datasets_scripts.command import main
from hf_symbinv.datasets_scripts.questions.transforms import read_folder


def test_the_command_converts_text(tmp_path, capsys):
    source = tmp_path / "old.txt"
    formulas = [f"{'X' * n}{symbol}" for n in range(10) for symbol in "ab"]
    source.write_text(
        "".join(f"{formula}\n{'1;' * (len(formula) - 1)}{formula[-1]};{{1}}\n" for formula in formulas * 2)
    )
    folder = tmp_path / "new"
    assert main([f"--output={folder}", f"--from-text={source}"]) == 0
    assert capsys.readouterr().out == f"{folder}: 16 train\n{folder}: 2 validation\n{folder}: 2 test\n"
    loaded = datasets.load_dataset("parquet", data_dir=str(folder), cache_dir=str(tmp_path / "cache"))
    rows = [row for split in loaded.values() for row in split]
    assert sorted(row["formula"] for row in rows) == sorted(formulas)
    assert all(row["length"] == len(row["formula"]) and row["symbols"] == [row["formula"][-1]] for row in rows)
    assert str(tmp_path) not in (folder / "README.md").read_text()


def test_text_of_too_few_pairs_for_three_splits_is_refused(tmp_path, capsys):
    source = tmp_path / "old.txt"
    source.write_text("a\n{a}\n" * 10)
    assert main([f"--output={tmp_path / 'new'}", f"--from-text={source}"]) == 2
    assert f"error: {source}: holds 1 different questions; give at least 10, so that every" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_the_splits_of_a_folder_stay_as_they_are_and_no_question_is_in_two(tmp_path, capsys):
    source = tmp_path / "ltl-35"
    source.mkdir()
    for name, numbers in (("train", range(8)), ("val", range(6, 10)), ("test", range(9, 12))):
        lines = [f"{'X' * number}a\n{'1;' * number}a;{{1}}\n" for number in numbers]
        (source / f"{name}.txt").write_text("".join(lines) + "\n")
    assert main([f"--output={tmp_path / 'made'}", f"--from-text={source}"]) == 0
    made = read_folder(tmp_path / "made")
    assert {split: rows["length"] for split, rows in made.items()} == {
        "train": list(range(1, 9)),
        "validation": [9, 10],
        "test": [11, 12],
    }


def test_a_folder_without_a_split_is_refused(tmp_path, capsys):
    (tmp_path / "train.txt").write_text("a\n{a}\n" * 10)
    assert main([f"--output={tmp_path / 'made'}", f"--from-text={tmp_path}"]) == 2
    assert "has no val.txt; a folder of texts has train.txt, val.txt and test.txt" in capsys.readouterr().err
    assert not (tmp_path / "made").exists()
