"""The whole command at toy size: packed, measured, read; killed anywhere and run again, it ends with the same."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from .conftest import FOLDER
from .test_packed import random_rows

# What the machine with the GPU has not.
ABSENT = ("datasets", "evaluate", "spot", "accelerate", "pyarrow", "aiger", "pysat", "scipy", "jinja2")
WITHOUT = f"""
import socket, sys

class Without:  # a finder of modules that does not find some
    def __init__(self, finder):
        self.finder = finder
    def find_spec(self, name, path=None, target=None):
        return None if name.partition(".")[0] in {ABSENT} else self.finder.find_spec(name, path, target)
    def __getattr__(self, name):
        return getattr(self.finder, name)

def no_network(*arguments, **options):
    raise OSError("there is no network")

sys.meta_path[:] = map(Without, sys.meta_path)
socket.socket.connect = socket.getaddrinfo = no_network
sys.argv = sys.argv[1:]
sys.path[0] = {str(FOLDER)!r}
import run, time, torch
from pathlib import Path
torch.set_num_threads(1)
folder = Path(sys.argv[1])
setting = run.Setting(run.Store(folder / "results"), folder / "packs", run.REHEARSED, "cpu", time.monotonic() + 3600)
run.measure(setting)
assert not set({ABSENT}) & set(sys.modules)
"""
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(FOLDER.parents[1])}


def start(*command):
    return subprocess.Popen(
        [sys.executable, *map(str, command)], env=ENVIRONMENT, text=True, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


@pytest.fixture(scope="module")
def rehearsed(tmp_path_factory):
    """The folder of a rehearsal that nothing stopped, and what it printed."""
    folder = tmp_path_factory.mktemp("rehearsal")
    process = start(FOLDER / "run.py", "--rehearse", "--out", folder)
    printed, _ = process.communicate()
    assert process.returncode == 0, printed[-3000:]
    return folder, printed


def results_of(folder):
    return json.loads((folder / "results" / "results.json").read_text(encoding="utf-8"))


def learned(folder):
    """What does not depend on how fast the machine was: all tensors, the law, and what trainings and steps came to."""
    found = {path.name: load_file(path) for path in sorted((folder / "results").glob("*.safetensors"))}
    results = results_of(folder)
    told = {
        name: result["values"] for name, result in results.items() if name.startswith(("law-", "answers-", "resumed"))
    }
    told |= {name: result["values"]["loss"] for name, result in results.items() if "loss" in result["values"]}
    for name, result in results.items():
        if name.startswith("run-"):
            told[name] = {key: value for key, value in result["values"].items() if key != "seconds"}
    return set(results), found, told


def assert_same(one, other):
    assert one[0] == other[0] and one[2] == other[2] and one[1].keys() == other[1].keys()
    for file, tensors in one[1].items():
        assert tensors.keys() == other[1][file].keys()
        assert not [name for name, value in tensors.items() if not torch.equal(value, other[1][file][name])], file


@pytest.mark.slow
def test_a_rehearsal_measures_everything_on_the_list_and_reads_it(rehearsed):
    from setting import REHEARSED
    from steps import COMPILED, WAYS

    folder, printed = rehearsed
    results = results_of(folder)
    ways = [*(way for way in WAYS if way.runs_on("cpu")), *COMPILED[: REHEARSED.compiled]]
    names = {"law-float32", "law-bfloat16", "step-transcription", "step-bart", "step-symbols", "resumed"}
    names |= {f"step-{way.name}" for way in ways}
    names |= {f"beams-{task}-{beams}" for task in ("prop", "ltl") for beams in (3, REHEARSED.beams)}
    names |= {f"{what}-{run}" for what in ("run", "answers") for run in ("ltl", "streams-base", "prop")}
    assert set(results) == names
    assert not [result for result in results.values() if "error" in result]
    for name in ("law-float32", "law-bfloat16"):
        law = results[name]["values"]
        assert law["logits_equal"] == law["logits"] > 0
        assert all(one["renamings"] == one["answers"] > 0 for one in law.values() if isinstance(one, dict))
    assert results["law-float32"]["values"]["beam-as-cpu"] == 1
    assert results["resumed"]["values"]["different"] == [] and results["resumed"]["values"]["compared"] > 100
    for result in results.values():
        assert set(result["machine"]) == {"card", "driver", "versions", "commit"}
    read = folder / "read"
    kept = json.loads((read / "benchmarks/results/gpu.json").read_text(encoding="utf-8"))
    assert sum(kept["run-ltl"]["values"]["verdicts"]["valid"].values()) == 8
    table = (read / "benchmarks/results/gpu.md").read_text(encoding="utf-8")
    assert table in (read / "docs/gpu.md").read_text(encoding="utf-8") and table in printed
    assert len([line for line in table.splitlines() if line.startswith("| training ")]) == 3


@pytest.mark.slow
def test_what_comes_back_is_few_and_small_files(rehearsed):
    files = list((rehearsed[0] / "results").iterdir())
    assert len(files) <= 8 and all(path.is_file() for path in files)


@pytest.mark.slow
def test_a_checkpoint_of_a_training_answers(rehearsed):
    from hf_symbinv import LTL, SymbolInvariantForConditionalGeneration

    folder = rehearsed[0] / "checkpoints" / "ltl"
    model = SymbolInvariantForConditionalGeneration.from_pretrained(folder)
    batch = LTL.tokenizer()(["Uab"], return_tensors="pt")
    assert model.generate(**batch, max_new_tokens=5).shape[1] <= 6


@pytest.mark.slow
def test_killed_at_random_times_and_run_again_it_ends_with_the_same_results(rehearsed, tmp_path):
    """Without what the machine with the GPU has not: no datasets, no solver, no network."""
    from store import Store

    (tmp_path / "packs").symlink_to(rehearsed[0] / "packs")
    seed, kills, printed = random.randrange(2**32), 0, ""
    print(f"seed {seed}")
    generator = random.Random(seed)
    program = tmp_path / "program.py"
    program.write_text(WITHOUT, encoding="utf-8")
    names = results_of(rehearsed[0])
    for _ in range(3):
        wanted = generator.randrange(len(names))
        process = start(program, program, tmp_path)
        # Killed some time after it has as many results as were drawn, so that loading torch is not all that is hit.
        while process.poll() is None:
            path = tmp_path / "results" / "results.json"
            if path.is_file() and len(json.loads(path.read_text(encoding="utf-8"))) >= wanted:
                time.sleep(generator.random() * 0.3)
                break
            time.sleep(0.02)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            kills += 1
        printed += process.communicate()[0]
        left = Store(tmp_path / "results").folder.iterdir() if (tmp_path / "results").is_dir() else []
        assert len(list(left)) <= 8
    assert kills, printed[-3000:]
    process = start(program, program, tmp_path)
    printed, _ = process.communicate()
    assert process.returncode == 0, printed[-3000:]
    assert_same(learned(tmp_path), learned(rehearsed[0]))
    again = start(program, program, tmp_path)
    printed, _ = again.communicate()
    assert again.returncode == 0 and "done" not in printed  # there is nothing left to do


@pytest.fixture
def setting(tmp_path):
    from setting import REHEARSED, Setting
    from store import Store

    return Setting(Store(tmp_path / "results"), tmp_path / "packs", REHEARSED, "cpu", time.monotonic() + 600)


def test_a_measurement_that_fails_is_told_and_takes_no_other_with_it(setting, monkeypatch):
    import run
    import setting as module

    calls = []

    def fails(_):
        calls.append("fails")
        raise RuntimeError("out of order")

    job = module.Job("broken", fails, 1)
    for _ in range(2):
        run.attempt(setting, job, 10)
    run.attempt(setting, module.Job("whole", lambda _: {"value": 7}, 1), 10)
    assert calls == ["fails"]
    assert setting.store.results["broken"]["error"] == "RuntimeError: out of order"
    assert setting.store.results["whole"]["values"] == {"value": 7}
    monkeypatch.setattr(module, "_machine", lambda *_: {"commit": "another"})
    run.attempt(setting, job, 10)  # mended perhaps, so it is tried again
    assert calls == ["fails", "fails"]


def test_a_measurement_that_takes_three_times_as_long_as_it_should_is_ended(setting):
    from dataclasses import replace

    import run
    import setting as module

    setting.sizes = replace(setting.sizes, patience=3)
    begin = time.monotonic()
    run.attempt(setting, module.Job("stuck", lambda _: time.sleep(60) or {}, 0.1), 10)
    assert setting.store.results["stuck"]["error"] == "TimeoutError: took more than 0.3 s"
    assert time.monotonic() - begin < 30
    run.attempt(setting, module.Job("next", lambda _: time.sleep(0.5) or {}, 10), 10)
    assert "error" not in setting.store.results["next"]


def test_nothing_is_begun_that_would_not_end_in_time(setting, capsys):
    import run
    import setting as module

    job = module.Job("long", lambda _: {}, 100)
    setting.deadline = time.monotonic() + 60
    run.attempt(setting, job, 1000)
    run.attempt(setting, module.Job("late", lambda _: {}, 1), 0)
    assert setting.store.results == {}
    assert capsys.readouterr().err == "long: left for another time\nlate: left for another time\n"


def test_a_process_ends_when_its_time_is_up():
    program = f"import sys, time; sys.path.insert(0, {str(FOLDER)!r}); import setting; begin = time.monotonic(); "
    program += "setting.stop_at(begin + 0.2); time.sleep(60)"
    begin = time.monotonic()
    done = subprocess.run([sys.executable, "-c", program], env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 0 and "the time is up" in done.stderr and time.monotonic() - begin < 55


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "--minutes is missing; say how long the command may take, such as --minutes 6.5"),
        (("--minutes", "1"), "there is no GPU; --rehearse runs everything at toy size on a CPU"),
    ],
)
def test_what_cannot_run_is_refused(arguments, message):
    done = subprocess.run(
        [sys.executable, FOLDER / "run.py", *arguments], env=ENVIRONMENT, capture_output=True, text=True
    )
    assert done.returncode == 2 and message in done.stderr


def test_the_fastest_way_that_learned_the_same_is_taken(setting):
    from steps import fastest
    from ways import Way

    assert fastest(setting) == Way("float32", graphs=True)  # in a rehearsal, whatever was measured
    setting.device = "cuda"
    assert fastest(setting) == Way()
    for name, seconds, loss in (("eager-float32", 9, 2.0), ("graphs-float32", 3, 2.01), ("graphs-bfloat16", 1, 2.5)):
        setting.store.results[f"step-{name}"] = {"values": {"seconds": seconds, "loss": loss}}
    setting.store.results["step-compiled-bfloat16"] = {"values": {"error": "no"}, "error": "no"}
    assert fastest(setting) == Way("float32", graphs=True)


def packed_rows(folder):
    import packed

    questions, answers = random_rows(60)
    answers = [[token if token < 13 else 3 for token in answer] for answer in answers]
    arrays = {f"train_{part}_{what}": array for part, rows in (("question", questions), ("answer", answers))
              for what, array in packed.flat(rows).items()}  # fmt: skip
    folder.mkdir()
    packed.save_pack(folder / "ltl.npz", arrays, {"base_vocab_size": 13, "pad_token_id": 1})


def test_a_training_ends_when_the_time_is_up_and_goes_on_bit_for_bit(setting, tmp_path, monkeypatch):
    from dataclasses import replace

    import runs
    from store import Store

    packed_rows(setting.packs)
    whole = replace(setting, store=Store(tmp_path / "whole"))
    assert runs.go_on(whole, runs.RUNS[0])
    monkeypatch.setattr(runs, "wait", lambda _: setattr(setting, "deadline", 0))  # behind the first steps
    reached = []
    while not runs.go_on(setting, runs.RUNS[0]):
        reached.append(setting.store.results["run-ltl"]["values"]["step"])
        assert sorted(path.name for path in setting.store.folder.iterdir()) == [
            "ltl-first.safetensors", "ltl-second.safetensors", "ltl.safetensors", "results.json",
        ]  # fmt: skip
        setting.deadline = time.monotonic() + 600
    assert reached == [4, 8, 12, 16, 20]
    one, other = setting.store.read("ltl"), whole.store.read("ltl")
    assert not [name for name, value in one.items() if not torch.equal(value, other[name])]
    curves = [store.results["run-ltl"]["values"]["curve"] for store in (setting.store, whole.store)]
    assert curves[0] == curves[1] and len(curves[0]) == 24


def test_a_training_that_cannot_begin_in_the_fastest_way_takes_the_next(setting, monkeypatch):
    import run
    import runs

    for name, seconds in (("eager-float32", 9), ("graphs-float32", 3), ("graphs-bfloat16", 1)):
        setting.store.write(f"step-{name}", {"values": {"seconds": seconds, "loss": 2.0}})
    setting.device, tried = "cuda", []

    def go_on(setting, run):
        tried.append(runs.fastest(setting).name)
        if len(tried) < 3:
            raise RuntimeError("out of memory")
        return True

    monkeypatch.setattr(runs, "go_on", go_on)
    monkeypatch.setattr(runs, "machine", lambda _: {"commit": "this"})
    monkeypatch.setattr(run, "revive", lambda _: None)
    assert run.trained(setting, runs.RUNS[0])
    assert tried == ["graphs-bfloat16", "graphs-float32", "eager-float32"]
    assert setting.store.results["step-graphs-float32"]["error"] == "training ltl: out of memory"
    tried.clear()
    with pytest.raises(RuntimeError, match="out of memory"):  # there is no other way
        run.trained(setting, runs.RUNS[0])


def test_the_page_has_a_place_for_what_was_measured():
    from report import BEGIN, END, put_into

    page = (Path(FOLDER).parents[1] / "docs/gpu.md").read_text(encoding="utf-8")
    written = put_into(put_into(page, "old"), "| new |")
    assert f"{BEGIN}\n\n| new |\n{END}" in written and "old\n" + END not in written
    with pytest.raises(ValueError, match=r"docs/gpu\.md has no lines"):
        put_into("# A page", "| new |")


def test_the_model_of_the_paper_has_its_number_of_parameters(setting):
    from dataclasses import replace

    from setting import PAPER

    from hf_symbinv import SymbolInvariantForConditionalGeneration

    config = replace(setting, sizes=PAPER).config("ltl")
    assert sum(value.numel() for value in SymbolInvariantForConditionalGeneration(config).parameters()) == 2_654_144
    assert PAPER.batches["ltl"] == 768 and PAPER.steps["ltl"] == 52_000


def test_a_state_of_the_papers_size_is_in_files_that_come_back(setting):
    from dataclasses import replace

    from packed import Rows
    from runs import RUNS, tensors_of
    from setting import PAPER
    from ways import Training, Way

    rows = Rows(
        torch.full((1, 3), 2, dtype=torch.uint8), torch.full((1, 2), 2, dtype=torch.uint8), torch.ones(1, 3).long()
    )
    for run in RUNS:
        config = replace(setting, sizes=PAPER).config(run.task, **run.fields)
        steps = PAPER.steps[run.task]
        parts = tensors_of(Training(config, rows, torch.tensor([[1, 3, 2]]), 1, steps, Way()), run)
        sizes = [sum(value.numel() * value.element_size() for value in tensors.values()) for tensors in parts.values()]
        assert len(sizes) == 3 and max(sizes) < 16e6 - 100_000


def test_imported_it_changes_nothing_for_other_code_of_the_process():
    assert "HF_SYMBINV_LIGHT" not in os.environ and "CUBLAS_WORKSPACE_CONFIG" not in os.environ
