"""The metrics load through `evaluate` by bare name and by path, in fresh processes, and registering them is safe."""

import json
import os
import threading
from pathlib import Path

import pytest

from hf_symbinv.metrics.registration import METRICS, register_metrics, script_path

from .. import forks

ROOT = Path(__file__).resolve().parents[2]
COVARIANCE = "predictions=[['{a}', '{b}'], ['{1}']], renamings=[[{'a': 'a'}, {'a': 'b'}], [{}]]"
DISTANCE = "predictions=['abca', 'p3 p27'], references=['a b c a', 'p3 p27 p3']"
WITNESS = "predictions=['a;{b}', '{b}', '{'], formulas=['&aXb'] * 3"


def run(code: str, home: Path) -> str:
    environment = {**os.environ, "HF_HOME": str(home), "HF_EVALUATE_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    environment.pop("HF_MODULES_CACHE", None)
    command = ["-c", f"import json, os\n{code}"]
    done = forks.run(command, imported=forks.TORCH, folder=home, environment=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """The home of a user who once imported the package."""
    home = tmp_path_factory.mktemp("home")
    run("import hf_symbinv; print('ok')", home)
    return home


@pytest.fixture(scope="module")
def printed(home):
    """What one process prints about several properties, because importing `evaluate` takes it seconds.

    It loads the metrics before it imports the package, as one that only knows `evaluate` does.
    """
    folder = ROOT / "hf_symbinv" / "metrics"
    cards = [str(Path(script_path(name)).with_name("README.md")) for name in METRICS]
    code = f"""
import evaluate, sys
results = {{'package': 'hf_symbinv' in sys.modules, 'loads': []}}
for load in ('{{}}', r'{folder}/{{}}', r'{folder}/{{0}}/{{0}}.py'):
    covariance = evaluate.load(load.format('alpha_covariance')).compute({COVARIANCE})
    witness = evaluate.load(load.format('ltl_witness')).compute({WITNESS}, workers=1, timeout=60)
    distance = evaluate.load(load.format('edit_distance')).compute({DISTANCE})
    results['loads'].append([covariance, witness, distance])

import hf_symbinv, doctest, importlib
covariance, witness = evaluate.load('alpha_covariance'), evaluate.load('ltl_witness')

covariance.add(prediction=['{{a}}', '{{b}}'], renamings=[{{'a': 'a'}}, [['a', 'b']]])
covariance.add_batch(predictions=[['{{1}}']], renamings=[[{{}}]])
witness.add(prediction='a;{{b}}', formulas='&aXb')
witness.add_batch(predictions=['a;{{b}}', 'a;{{b}}'], references=['a;{{b}}', None], formulas=['&aXb', '&aXb'])
results['in parts'] = [covariance.compute(), witness.compute(workers=1, timeout=60)]

references = ['a;{{b}}', None, None]
witness = witness.compute({WITNESS}, references=references, workers=1, timeout=60)
results['at once'] = [covariance.compute({COVARIANCE}), witness]

results['cards'] = [doctest.testfile(card, module_relative=False) for card in {cards}]

from hf_symbinv.metrics.registration import modules_cache
results['caches'] = []
names = ['HF_MODULES_CACHE', 'HF_HOME', 'XDG_CACHE_HOME']
for number in range(8):
    for place, name in enumerate(names):
        os.environ.pop(name, None)
        if number >> place & 1:
            os.environ[name] = f'~/{{name}}'
    results['caches'].append([str(importlib.reload(evaluate.config).HF_MODULES_CACHE), modules_cache()])
print(json.dumps(results))
"""
    return json.loads(run(code, home))


@pytest.mark.slow
def test_metrics_load_by_bare_name_and_by_path_in_a_fresh_process(printed):
    assert not printed["package"]
    results = printed["loads"]
    covariance, witness, distance = results[0]
    assert results[1:] == results[:1] * 2
    counts = {"examples": 1, "excluded": 1, "predictions": 2}
    assert covariance == {"alpha_covariance": 1.0, **counts, "per_example": [1.0, None]}
    assert (witness["count"], witness["correct"], witness["incorrect"], witness["invalid"]) == (3, 1 / 3, 1 / 3, 1 / 3)
    assert (distance["edit_distance"], distance["per_example"]) == (0.5, [0, 1])


@pytest.mark.slow
def test_metrics_take_their_inputs_in_batches_and_one_by_one(printed):
    covariance, witness = printed["in parts"]
    assert covariance == printed["at once"][0]
    assert (witness["exact"], witness["correct"], witness["accuracy"]) == (1 / 3, 2 / 3, 1.0)
    assert (printed["at once"][1]["exact"], printed["at once"][1]["correct"]) == (1 / 3, 0.0)


@pytest.mark.slow
def test_the_examples_of_the_cards_print_what_they_say(printed):
    for failed, attempted in printed["cards"]:
        assert failed == 0
        assert attempted >= 6


@pytest.mark.slow
def test_the_cache_is_where_evaluate_looks(printed):
    assert len(printed["caches"]) == 8
    for theirs, ours in printed["caches"]:
        assert ours == theirs


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_MODULES_CACHE", str(tmp_path / "modules"))
    return tmp_path / "modules" / "evaluate_modules" / "metrics"


def scripts(cache):
    return {path.name: path for path in cache.glob("*/*/*.py") if path.name != "__init__.py"}


def test_registering_puts_every_script_where_the_bare_name_is_looked_up(cache):
    register_metrics()
    assert set(scripts(cache)) == {f"{name}.py" for name in METRICS}
    for name in METRICS:
        path = scripts(cache)[f"{name}.py"]
        assert path.parent.parent.name == f"evaluate-metric--{name}"
        assert len(path.parent.name) == 64
        assert path.read_bytes() == Path(script_path(name)).read_bytes()
        assert (path.parent / "__init__.py").exists()
        assert [folder.name for folder in path.parent.parent.iterdir() if folder.is_dir()] == [path.parent.name]


def test_registering_again_makes_this_version_the_newest(cache):
    register_metrics()
    path = scripts(cache)["alpha_covariance.py"]
    other = path.parent.parent / ("0" * 64) / path.name
    other.parent.mkdir()
    other.write_text("another version")
    os.utime(path, (1, 1))
    register_metrics()
    assert path.stat().st_mtime >= other.stat().st_mtime
    assert other.exists()


def test_a_damaged_script_is_repaired(cache):
    register_metrics()
    path = scripts(cache)["alpha_covariance.py"]
    for damage in (lambda: path.write_text("import"), path.unlink):
        damage()
        register_metrics()
        assert path.read_bytes() == Path(script_path("alpha_covariance")).read_bytes()


def test_many_processes_may_register_at_the_same_time(cache):
    errors = []
    threading.excepthook, hook = errors.append, threading.excepthook
    try:
        threads = [threading.Thread(target=register_metrics) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        threading.excepthook = hook
    assert not errors
    assert set(scripts(cache)) == {f"{name}.py" for name in METRICS}
    assert len(list(cache.glob("*/*/*.py"))) == 2 * len(METRICS)


def test_a_home_that_cannot_be_written_is_logged_and_nothing_more(tmp_path, monkeypatch, caplog):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("HF_MODULES_CACHE", str(tmp_path / "file" / "modules"))
    with caplog.at_level("DEBUG"):
        register_metrics()
    assert f"evaluate.load finds the metrics {', '.join(METRICS)} by path only" in caplog.text
    assert all(record.levelname == "DEBUG" for record in caplog.records)
