"""Damaged runs, lost data, impossible numbers, tasks that end the program: exit code 0 says that the work is done."""

import contextlib
import json
import shutil

import pytest
from safetensors.numpy import load_file

from hf_symbinv.cli import main

from . import homes

RECIPE = homes.RECIPE.replace("max_steps: 6", "max_steps: 4")
DATA = ["data", "--task", "copy", "--num-symbols", "2", "--min-size", "2", "--max-size", "5", "--rows", "20"]
TASK = """
import sys

from hf_symbinv.tasks.copying import CopyTask

{top}

class Leaving(CopyTask):
    name = "leaving"

{method}

TASK = Leaving()
"""


def done(command):
    """Whether a command ended with exit code 0."""
    try:
        return main([str(word) for word in command]) == 0
    except SystemExit as exit_:
        return exit_.code in (0, None)
    except Exception:  # no sentence, but no success either
        return False


@pytest.fixture(scope="session")
def rows(tmp_path_factory):
    folder = tmp_path_factory.mktemp("silent") / "rows"
    assert done([*DATA, "--output", folder, "--workers", "1"])
    return folder


@pytest.fixture(scope="session")
def run(rows, tmp_path_factory):
    """A finished run, and the recipe that made it beside it."""
    home = tmp_path_factory.mktemp("silent-run")
    (home / "recipe.yaml").write_text(RECIPE)
    with contextlib.chdir(home):
        assert done(["train", "recipe.yaml", "--data", rows, "--output", "run"])
    return home


METHODS = [
    "draw", "solve", "judge", "prepare", "solver_version", "size", "symbols", "rename", "alpha_class", "words",
    "tokenizer", "checker", "normalized", "write_words",
]  # fmt: skip
EXITS = [
    "sys.exit(0)", "sys.exit()", "raise SystemExit", "sys.exit(None)", "exit(0)", "sys.exit(1)", "sys.exit('ok')",
    "__import__('os')._exit(0)",
]  # fmt: skip
TASK_COMMANDS = [
    [*DATA[:1], *DATA[3:], "--workers", "1", "--output", "made", "--task"],
    ["verify", "ab", "ab", "--task"],
]


@pytest.fixture
def printed(monkeypatch, capsys):
    """`printed(home, name, command, top="", method="")`: what a command with a file of a task prints, or None."""

    def run(home, name, command, top="", method=""):
        home.mkdir()
        with monkeypatch.context() as patch:
            patch.chdir(home)
            (home / f"{name}.py").write_text(TASK.format(top=top, method=method))
            capsys.readouterr()
            return capsys.readouterr().out if done([*command, f"{name}.py"]) else None

    return run


def test_a_task_that_ends_the_program_ends_no_command_well(attack, printed, tmp_path):
    intact = [printed(tmp_path / f"intact{n}", f"intact{n}", command) for n, command in enumerate(TASK_COMMANDS)]
    assert all(intact)
    for attempt in attack.tries(3):
        draw = attempt.random
        number, exit_, method = draw.randrange(len(TASK_COMMANDS)), draw.choice(EXITS), draw.choice(["top", *METHODS])
        name = f"leaving_{draw.randrange(10**12)}"  # a module is imported once
        if method == "top":
            body = {"top": exit_}
        else:
            body = {"method": f"    def {method}(self, *args, **kwargs):\n        {exit_}\n"}
        found = printed(attempt.folder / "home", name, TASK_COMMANDS[number], **body)
        assert found in (None, intact[number]), (TASK_COMMANDS[number], method, exit_)


STATES = [
    "", "{", "{}", "[]", "null", "3", '"text"', '{"global_step": 4}', '{"max_steps": 4}', '{"global_step": 0}',
    '{"global_step": 4, "max_steps": 4}', '{"global_step": 2, "max_steps": 2}', '{"global_step": null}',
]  # fmt: skip


def damage_run(draw, folder):
    """Undo a part of a run, and damage what its folder says of it; what was done."""
    damages = []
    if draw.random() < 0.8:
        (folder / "run.json").unlink()
        damages.append("no record")
    if draw.random() < 0.5:
        (folder / "model.safetensors").unlink()
        damages.append("no weights")
    if draw.random() < 0.6:
        shutil.rmtree(folder / "checkpoint-4")
        damages.append("no second checkpoint")
    if draw.random() < 0.3:
        (folder / "checkpoint-2").rename(folder / draw.choice(["checkpoint-1", "checkpoint-4x", "checkpoint-last"]))
        damages.append("another name")
    for path in sorted(folder.glob("checkpoint-*/trainer_state.json")):
        if draw.random() < 0.7:
            text = path.read_text()
            state = {
                **json.loads(text),
                draw.choice(["global_step", "max_steps"]): draw.choice([0, 1, 2, 3, 4, -1, None]),
            }
            text = draw.choice([draw.choice(STATES), text[: draw.randrange(len(text))], json.dumps(state)])
            path.write_text(text)
            damages.append(f"{path.parent.name}: {text[:80]}")
    return damages


def test_a_run_that_says_that_it_is_done_has_the_weights_of_one_that_was_not_damaged(
    attack, run, rows, monkeypatch, capfd
):
    for attempt in attack.tries(1):
        shutil.copytree(run, attempt.folder / "home")
        monkeypatch.chdir(attempt.folder / "home")
        damages = damage_run(attempt.random, attempt.folder / "home" / "run")
        if done(["train", "recipe.yaml", "--data", rows, "--output", "run"]):
            ours, theirs = (load_file(home / "run" / "model.safetensors") for home in (attempt.folder / "home", run))
            assert all((ours[name] == theirs[name]).all() for name in theirs), damages
            assert json.loads((attempt.folder / "home" / "run" / "run.json").read_text())["finished"], damages
        capfd.readouterr()
        monkeypatch.undo()


NUMBERS = ["0", "-1", "-5", "-0.5", ".inf", "inf", "-inf", ".nan", "nan", "1e400", "'inf'", "-1e-9", "1e999999"]
# Each with what may stand there of the above.
PLACES = {
    "trainer.max_steps": {"-1"},
    "trainer.num_train_epochs": set(),
    "trainer.per_device_train_batch_size": set(),
    "trainer.per_device_eval_batch_size": set(),
    "trainer.gradient_accumulation_steps": set(),
    "trainer.learning_rate": {"0"},
    "trainer.weight_decay": {"0"},
    "trainer.max_grad_norm": {"0"},
    "trainer.warmup_steps": {"0"},
    "trainer.adam_beta1": {"0"},
    "trainer.adam_beta2": {"0"},
    "evaluation_rows": set(),
    "test_rows": set(),
}


def test_impossible_numbers_are_refused_before_anything_is_made(attack, run, monkeypatch, capsys):
    for attempt in attack.tries(35):
        monkeypatch.chdir(attempt.folder)
        place = attempt.random.choice(sorted(PLACES))
        number = attempt.random.choice([number for number in NUMBERS if number not in PLACES[place]])
        code = main(["train", str(run / "recipe.yaml"), "--output", "made", "--data", "nowhere", f"{place}={number}"])
        said = capsys.readouterr()
        assert code == 2 and said.out == "" and said.err.count("\n") == 1, (place, number, said)
        assert said.err.startswith((f"symbinv train: {place}=", "symbinv train: trainer: ")), (place, number, said)
        assert not (attempt.folder / "made").exists()
        monkeypatch.undo()


def files_in(folder):
    found = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != ".lock")
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def test_data_that_are_said_to_be_there_are_there(attack, rows, capsys):
    for attempt in attack.tries(2):
        folder = shutil.copytree(rows, attempt.folder / "rows")
        lost = attempt.random.sample(sorted(files_in(rows)), attempt.random.randint(1, 3))
        for name in lost:
            (folder / name).unlink()
        if attempt.random.random() < 0.3:
            shutil.rmtree(folder / "data")
            lost.append("data/")
        if done([*DATA, "--output", folder, "--workers", "1"]):
            assert files_in(folder) == files_in(rows), lost
        capsys.readouterr()


def harm(draw, folder):
    """A flipped bit, what a kill leaves before the card is there, or a part that is gone; what was done."""
    way, path = draw.choice(["bit", "kill", "part"]), draw.choice(sorted((folder / "data").iterdir()))
    if way == "bit":
        content = bytearray(path.read_bytes())
        content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
        path.write_bytes(content)
        return way
    (folder / "README.md").unlink()
    if way == "kill":
        for lost in draw.sample(sorted((folder / "data").iterdir()), draw.randrange(3)):
            lost.unlink()
        (folder / ".work").mkdir(exist_ok=True)
    else:
        (folder / "generation.json").unlink()
        path.rename(path.with_name(path.name.replace("00000-of-00001", draw.choice(["00000-of-00002", "2-of-4"]))))
    return way, path.name


def test_no_command_takes_data_that_are_not_whole(attack, rows, run, capsys):
    for attempt in attack.tries(4):
        draw, folder = attempt.random, shutil.copytree(rows, attempt.folder / "rows")
        harmed, given = harm(draw, folder), draw.choice([folder, folder / "data"])
        made = ["--output", attempt.folder / "made"]
        command = draw.choice(
            [
                ["evaluate", "--task", "copy", run / "run", "--data", given],
                ["train", run / "recipe.yaml", *made, "--data", given],
                ["data", *made, "--reduce", "2", "--from", given],
            ]
        )
        assert not done(command), (command, harmed)
        assert capsys.readouterr().err.count("\n") == 1 and not (attempt.folder / "made").exists(), (command, harmed)


def test_no_command_mixes_the_data_sets_of_a_folder(attack, rows, run, capsys):
    for attempt in attack.tries(3):
        draw, parent = attempt.random, attempt.folder / "parent"
        homes = draw.sample(["a", "b", "data/a", "data/data", "a/b/c", "x/data", "old", "test"], draw.randint(1, 4))
        if draw.random() < 0.4:
            shutil.copytree(rows, parent)
        for home in homes:
            shutil.copytree(rows, parent / home, dirs_exist_ok=True)
        command = draw.choice(
            [
                ["evaluate", "--task", "copy", run / "run", "--data", parent],
                ["train", run / "recipe.yaml", "--output", attempt.folder / "made", "--data", parent],
            ]
        )
        assert not done(command), (command, homes)
        assert "name one of them" in capsys.readouterr().err, (command, homes)
