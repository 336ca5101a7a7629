"""Commands with addresses of a bucket, on a real S3 server: the same bytes as here, also after a kill."""

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hf_symbinv import LTL, load_data
from hf_symbinv.training.start import start_config

from ..s3_server import bucket, s3
from ..training.runs import RECIPE

__all__ = ["bucket", "s3"]
TASK = """
import os, time
from hf_symbinv.tasks.copying import CopyTask


class LoggedTask(CopyTask):
    name = "logged"
    shard = 20

    def solve(self, question):
        time.sleep(0.01)
        with open(os.environ["SOLVED"], "a") as file:
            file.write(question + "\\n")
        return question


TASK = LoggedTask()
"""
SIZES = ["--num-symbols", "4", "--min-size", "4", "--max-size", "8", "--rows", "300", "--workers", "1"]
TINY = ["--num-symbols", "3", "--max-size", "6", "--rows", "400", "--workers", "1"]


def files_of(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.name.startswith(".")
    }


def killed(bucket, arguments, is_time) -> None:
    """Runs a command until `is_time()`, and kills it there."""
    command = [sys.executable, "-m", "symbinv", *arguments]
    with subprocess.Popen(
        command, env=bucket.environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        until = time.monotonic() + 240
        while not is_time() and process.poll() is None and time.monotonic() < until:
            time.sleep(0.01)
        came = is_time()
        process.send_signal(signal.SIGKILL)
        assert came, process.stderr.read().decode()


@pytest.mark.slow
def test_data_that_were_killed_go_on_with_the_shards_that_are_up_and_get_the_bytes_of_a_run_here(
    symbinv, bucket, tmp_path, monkeypatch
):
    log = tmp_path / "solved.txt"
    monkeypatch.setenv("SOLVED", str(log))
    bucket.environment["SOLVED"] = str(log)
    (tmp_path / "logged.py").write_text(TASK)
    options = ["--task", str(tmp_path / "logged.py"), *SIZES]
    assert symbinv("data", "--output", tmp_path / "here", *options).code == 0

    url = bucket.url("data/logged")
    killed(bucket, ["data", "--output", url, *options], lambda: len(bucket.keys("data/logged/.work/")) >= 3)
    there = bucket.files("data/logged")
    assert "README.md" not in there and "generation.json" in there
    shards = [json.loads(content) for name, content in there.items() if name.startswith(".work/")]
    solved = {question for shard in shards for question, _, _ in shard}
    shutil.rmtree(tmp_path / "assets")
    log.unlink()

    done = symbinv("data", "--output", url, *options)
    assert (done.code, done.out) == (0, f"{url}: 240 train\n{url}: 30 validation\n{url}: 30 test\n")
    assert len(solved) >= 60 and not solved & set(log.read_text().split())
    assert bucket.files("data/logged") == files_of(tmp_path / "here")

    log.unlink()
    assert symbinv("data", "--output", url, *options).out == done.out and not log.exists()
    other = symbinv("data", "--output", url, *options[:-4], "--rows", "20")
    assert (other.code, other.out) == (2, "") and other.err.startswith(
        f"error: {url}: holds a data set made in another"
    )
    assert bucket.files("data/logged") == files_of(tmp_path / "here")


def test_a_data_set_is_changed_from_one_bucket_into_another(symbinv, bucket, tmp_path):
    sizes = ["--task", "copy", "--num-symbols", "3", "--max-size", "6", "--rows", "60", "--workers", "1"]
    assert symbinv("data", "--output", bucket.url("copy"), *sizes).code == 0
    assert symbinv("data", "--output", tmp_path / "copy", *sizes).code == 0
    assert symbinv("data", "--from", tmp_path / "copy", "--output", tmp_path / "few", "--reduce", "9").code == 0
    assert symbinv("data", "--from", bucket.url("copy"), "--output", bucket.url("few"), "--reduce", "9").code == 0
    assert bucket.files("few") == files_of(tmp_path / "few")


def test_what_fails_before_there_is_a_shard_leaves_nothing(symbinv, bucket):
    few = ["--num-symbols", "1", "--max-size", "1", "--rows", "10", "--task", "copy", "--workers", "1"]
    result = symbinv("data", "--output", bucket.url("data"), *few)
    assert result.code == 2 and "only 1 different questions" in result.err, result.err
    assert bucket.files() == {}


def test_texts_and_pairs_are_read_from_a_bucket(symbinv, bucket):
    bucket.put("pairs.txt", b"a U b\tcycle{b}\n")
    read = symbinv("verify", "--file", bucket.url("pairs.txt"))
    assert (read.code, read.err) == (0, "") and "correct" in read.out
    rows = [{"question": f"copy {name} {name}", "answer": name} for name in "abcdefghijklmnopqrstuvwxyz"]
    rows += [{"question": f"last {name} b", "answer": "b"} for name in "acdefghijklmnopqrstuvwxyz"]
    rows += [{"question": f"{'twice ' * number} x y", "answer": "x"} for number in range(1, 12)]
    bucket.put("own/pairs.jsonl", "\n".join(map(json.dumps, rows)).encode())
    url = bucket.url("own/pairs.jsonl")
    data = load_data("pairs", {"pairs": url, "symbols": "[a-z]"})
    assert data.source == url and data.task.name == "pairs"


@pytest.mark.slow
def test_a_run_that_was_killed_goes_on_from_the_bucket_to_the_same_weights_and_is_measured_there(
    symbinv, bucket, tmp_path
):
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    data, url = bucket.url("data/ltl"), bucket.url("runs/own")
    assert symbinv("data", "--output", data, *TINY).code == 0
    assert symbinv("data", "--output", tmp_path / "ltl", *TINY).code == 0
    quick = ["trainer.max_steps=15", "trainer.save_total_limit=2", "trainer.eval_strategy=no"]
    recipe = ["train", tmp_path / "recipe.yaml", *quick]
    assert symbinv(*recipe, "--data", tmp_path / "ltl", "--output", tmp_path / "own").code == 0

    command = [*map(str, recipe), "--data", data, "--output", url]
    killed(bucket, command, lambda: bucket.keys("runs/own/checkpoint-3/trainer_state.json"))
    assert "run.json" not in bucket.files("runs/own")
    shutil.rmtree(tmp_path / "assets")

    done = symbinv(*command)
    assert done.code == 0 and f"{url}: goes on from step" in done.err and "mtime" not in done.err
    here, there = files_of(tmp_path / "own"), bucket.files("runs/own")
    assert there["model.safetensors"] == here["model.safetensors"]
    assert there["checkpoint-15/optimizer.pt"] == here["checkpoint-15/optimizer.pt"]
    assert {name.partition("/")[0] for name in there} == {name.partition("/")[0] for name in here}
    record = json.loads(there["run.json"])
    results = json.loads(here["run.json"])["results"]
    assert record["data"]["source"] == data and "test_accuracy" in results
    assert all(record["results"][name] == value for name, value in results.items() if name.startswith("test_"))
    assert symbinv(*command).out == done.out  # a finished run is only read

    arguments = ["--rows", "20", "--beams", "1", "--json"]
    one = json.loads(symbinv("evaluate", tmp_path / "own", "--data", tmp_path / "ltl", *arguments).out)
    result = symbinv("evaluate", url, "--data", data, *arguments)
    assert (result.code, result.err) == (0, "")
    other = json.loads(result.out)
    assert (other["model"], other["data"]) == (url, data)
    assert other["groups"] == one["groups"]
    assert start_config(url, {}, LTL).d_model == 16


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["data", "--output", "s3://no-such-bucket/x", *TINY], "s3://no-such-bucket/x: no such bucket or folder (The"),
        (["data", "--output", "s5://b/x", *TINY], "s5://b/x: unknown protocol s5; use one that fsspec knows"),
        (
            ["data", "--from", "BUCKET/none", "--output", "new", "--renamed"],
            "BUCKET/none: no such file or folder; correct",
        ),
        (
            ["evaluate", "ltl-small", "--data", "BUCKET/none"],
            "BUCKET/none: no such file or folder; correct the address",
        ),
        (
            ["evaluate", "BUCKET/none", "--data", "BUCKET/none"],
            "BUCKET/none: no such file or folder; correct the address",
        ),
        (["evaluate", "BUCKET/pairs", "--data", "x"], "BUCKET/pairs: has no config.json; pass the folder that"),
        (
            ["train", "ltl-smoke", "--output", "gs://b/x"],
            "gs://b/x: the library for gs:// is not installed; run pip install",
        ),
        (["train", "ltl-smoke", "--output", "new", "--data", "BUCKET/none"], "BUCKET/none: no such file or folder"),
        (["verify", "BUCKET/none.json"], "BUCKET/none.json: no such file or folder; correct the address"),
        (
            ["convert", "BUCKET/x", "--output", "BUCKET/y"],
            "--output: BUCKET/y: must be a path of this machine; copy it",
        ),
        (
            ["push", "BUCKET/x", "alice/x"],
            "argument FOLDER: BUCKET/x: must be a path of this machine; copy it from there",
        ),
        (["info", "BUCKET/none"], "BUCKET/none: no such file or folder; correct the address"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_sentence(arguments, message, symbinv, bucket, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bucket.put("pairs/pairs.jsonl", b"{}")
    address = f"s3://{bucket.name}"
    result = symbinv(*[argument.replace("BUCKET", address) for argument in arguments])
    assert (result.code, result.out) == (2, "")
    said = result.err.splitlines()[-1]
    assert message.replace("BUCKET", address) in said and "Traceback" not in result.err
    assert {path.name for path in tmp_path.iterdir()} <= {"assets"}


ADDRESS = "s3://bucket/folder"


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (["convert", "x", "--output", ADDRESS], "--output"),
        (["evaluate", "--data", "x", "--output", ADDRESS], "--output"),
        (["solve", "a", "--output", ADDRESS], "--output"),
        (["card", ADDRESS], "FOLDER"),
        (["card", "x", "--results", ADDRESS], "--results"),
        (["card", "x", "--output", ADDRESS], "--output"),
        (["push", ADDRESS, "alice/x"], "FOLDER"),
        (["plot", "heatmap", ADDRESS], "INPUT"),
        (["plot", "alpha-covariance", "x", ADDRESS], "INPUT"),
        (["plot", "heatmap", "x", "--output", f"{ADDRESS}/x.png"], "--output"),
        (["task", "new", f"{ADDRESS}/x.py"], "FILE.py"),
    ],
)
def test_commands_for_paths_of_this_machine_make_no_folder_of_an_address(
    arguments, option, symbinv, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    said = symbinv(*arguments).err
    assert said.splitlines()[-1].endswith(": must be a path of this machine; copy it from there or to there")
    assert f" argument {option}: {ADDRESS}" in said
    assert not any(tmp_path.iterdir())
