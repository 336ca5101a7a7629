"""No command runs code that a folder names, unless the person names the file."""

import json
import shutil

import pytest


@pytest.fixture
def foreign(checkpoint, tmp_path, monkeypatch):
    """A model whose base tokens no task has, and whose record names the file of one, which makes `ran` if run."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "foreign"
    shutil.copytree(checkpoint, folder)
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    settings["base_tokens"] = list(reversed(settings["base_tokens"]))
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    (folder / "evil_task.py").write_text('from pathlib import Path\nPath("ran").touch()\n')
    (folder / "run.json").write_text(json.dumps({"recipe": {"task": "foreign/evil_task.py"}}))
    return folder


def test_the_card_of_a_folder_that_names_a_task_file_is_refused_and_says_how_to_name_it(symbinv, foreign, tmp_path):
    result = symbinv("card", foreign)
    assert (result.code, result.out) == (2, "")
    assert result.err == (
        f"symbinv card: {foreign / 'run.json'}: names foreign/evil_task.py as the file of its task, and no code that a "
        "folder names is run; if you trust this file, name it: --task foreign/evil_task.py\n"
    )
    assert not (tmp_path / "ran").exists()
    assert symbinv("card", foreign, "--task", "foreign/evil_task.py").code == 2  # it defines no task
    assert (tmp_path / "ran").exists()


def test_a_folder_that_names_a_file_that_is_not_there_gets_its_card(symbinv, foreign, tmp_path):
    (foreign / "evil_task.py").unlink()
    assert symbinv("card", foreign).code == 0


RECIPE = """
task: {task}
data: {{}}
model: {{}}
trainer: {{}}
"""


def test_a_recipe_runs_no_task_file_that_the_command_line_does_not_name(symbinv, tmp_path, monkeypatch):
    command = ["train", "sent.yaml"]
    monkeypatch.chdir(tmp_path)
    file = "task_sent_to_train.py"
    (tmp_path / file).write_text('from pathlib import Path\nPath("ran").touch()\n')
    for task in (file, f"{file}:TASK"):
        (tmp_path / "sent.yaml").write_text(RECIPE.format(task=task))
        result = symbinv(*command, "--output", "run")
        assert (result.code, result.out) == (2, "")
        assert result.err == (
            f"symbinv train: sent.yaml: names {task} as the file of its task, and no code that a recipe "
            f"names is run; if you trust this file, name it: task={task}\n"
        )
    assert not (tmp_path / "ran").exists()
    named = symbinv(*command, f"task={file}", "--output", "run")
    assert named.code == 2 and f"task={file!r}: the file defines no task" in named.err
    assert (tmp_path / "ran").exists()
