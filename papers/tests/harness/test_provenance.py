"""Records say how long something took, at which commit and with which versions; a line says it of a whole table."""

import json
import os
import shutil
import subprocess

import pytest

from papers.harness import provenance
from papers.harness.provenance import commit, duration, line, read_record, summary, timed

MACHINE = {"python": "3.12.1", "cpu": "Abacus", "accelerator": None, "packages": {"torch": "2.9.0", "spottl": None}}


def record(seconds, **changes):
    return {"seconds": seconds, "environment": {**MACHINE, **changes}}


def test_seconds_add_up_over_calls_that_were_stopped(tmp_path, monkeypatch):
    path, now = tmp_path / "made.json", iter([10.0, 14.0, 100.0, 103.5])
    monkeypatch.setattr(provenance.time, "monotonic", lambda: next(now))
    with pytest.raises(KeyboardInterrupt), timed(path):
        raise KeyboardInterrupt
    assert read_record(path)["seconds"] == 4.0
    with timed(path):
        pass
    found = read_record(path)
    assert found["seconds"] == 7.5
    assert found["environment"]["packages"]["torch"]


def test_a_record_is_replaced_and_not_written_over(tmp_path):
    with timed(tmp_path / "made.json"):
        pass
    os.link(tmp_path / "made.json", tmp_path / "kept.json")
    before = (tmp_path / "kept.json").read_text()
    with timed(tmp_path / "made.json"):
        pass
    assert (tmp_path / "kept.json").read_text() == before
    assert not (tmp_path / "made.json").samefile(tmp_path / "kept.json")


@pytest.mark.parametrize("text", [None, "", "[1]", "{"])
def test_a_file_that_says_nothing_gives_no_record(text, tmp_path):
    if text is not None:
        (tmp_path / "run.json").write_text(text)
    assert read_record(tmp_path / "run.json") == {}


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_the_commit_is_that_of_the_repository_that_tracks_the_package(tmp_path, monkeypatch):
    def git(*arguments):
        who = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
        return subprocess.run(["git", "-C", tmp_path, *who, *arguments], check=True, capture_output=True, text=True)

    code = tmp_path / "package" / "__init__.py"
    code.parent.mkdir()
    code.write_text("")
    monkeypatch.setattr(provenance, "__file__", str(code.parent / "provenance.py"))
    assert commit() is None
    git("init")
    git("commit", "--allow-empty", "-m", "without the package")
    assert commit() is None
    git("add", ".")
    git("commit", "-m", "with it")
    assert commit() == git("rev-parse", "--short", "HEAD").stdout.strip()
    code.write_text("changed = True\n")
    assert commit() == git("rev-parse", "--short", "HEAD").stdout.strip() + "+"


def test_a_table_is_made_with_the_versions_and_machines_of_its_records(monkeypatch):
    monkeypatch.setattr(provenance, "commit", lambda: "abc123+")
    measured = [{**record(60.0, packages={"torch": "2.8.0"}), "commit": "abc"}, {}]
    made = summary({"training": [record(3000.0), record(6000.0, accelerator="Loom")], "measuring": measured, "c": []})
    assert json.loads(json.dumps(made)) == made
    assert (made["commit"], made["measured_at"]) == ("abc123+", ["abc"])
    assert made["seconds"] == {"training": 9000.0, "measuring": 60.0}
    versions, times = "torch 2.9.0 and 2.8.0, Python 3.12.1", "training 2.5 h, measuring at least 60 s"
    assert line(made) == f"{versions}; Abacus and Loom; commit abc123+; {times}."


def test_without_records_the_versions_are_those_of_now(monkeypatch):
    monkeypatch.setattr(provenance, "commit", lambda: None)
    made = summary({"training": [], "measuring": [{}]})
    assert len(made["environments"]) == 1
    shown = line(made)
    assert "hf_symbinv " in shown and shown.endswith("; commit not known.") and "measuring" not in shown


def test_durations_are_short():
    shown = {0.4: "0 s", 119: "119 s", 130: "2 min", 7000: "117 min", 9000: "2.5 h"}
    assert {seconds: duration(seconds) for seconds in shown} == shown
