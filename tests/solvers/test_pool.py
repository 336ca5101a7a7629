"""The pool keeps its promises whatever its workers do: order, limits, isolation, and nothing left behind."""

import math
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from itertools import count, islice
from pathlib import Path

import pytest

from hf_symbinv.solvers import PoolError, ProcessPool

HERE = Path(__file__).parent


@pytest.fixture
def pool(functions):
    with ProcessPool(functions.behave, workers=2, timeout=0.5) as pool:
        yield pool


@pytest.fixture
def run_script():
    """Start a script in another process, which does not outlive the test."""
    scripts = []

    def run(text: str) -> subprocess.Popen:
        given = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), *sys.path]), "HF_SYMBINV_LIGHT": "1"}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        script = subprocess.Popen([sys.executable, "-c", textwrap.dedent(text)], env=given, **pipes)
        scripts.append(script)
        return script

    yield run
    for script in scripts:
        with script:
            script.kill()


def wait_for_end(pids: list[int], seconds: float = 20.0) -> bool:
    """Whether all these processes end (a zombie has ended)."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not any(is_running(pid) for pid in pids):
            return True
        time.sleep(0.01)
    return False


def status(pid: int) -> tuple[str, int] | None:
    """State and parent of a process, None if it is gone."""
    try:
        state, parent = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[:2]
    except (FileNotFoundError, ProcessLookupError):
        return None
    return state, int(parent)


def is_running(pid: int) -> bool:
    found = status(pid)
    return found is not None and found[0] != "Z"


def children(parent: int) -> list[int]:
    pids = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]
    return [pid for pid in pids if (found := status(pid)) and found[1] == parent]


def test_results_come_in_order_and_complete(functions):
    values = list(range(20_000))
    with ProcessPool(functions.behave, workers=2, timeout=60.0) as pool:
        outcomes = list(pool.map(("return", value) for value in values))
    assert [outcome.value for outcome in outcomes] == values
    assert {outcome.status for outcome in outcomes} == {"done"}


def test_an_exception_comes_with_its_traceback_down_to_the_function_and_nothing_else_has_one(pool):
    orders = [("return", 0), ("raise", "too bad"), ("hang", None), ("die", signal.SIGKILL), ("unpicklable", 1)]
    outcomes = list(pool.map([*orders, ("return", 5)]))
    assert [bool(outcome.traceback) for outcome in outcomes] == [False, True, False, False, False, False]
    raised, unpicklable = outcomes[1], outcomes[4]
    assert unpicklable.status == "error" and unpicklable.value.startswith("the result cannot be sent back: ")
    assert outcomes[0].value == 0 and outcomes[5].value == 5
    assert (raised.status, raised.value) == ("error", "ValueError: too bad")
    head, *frames, message = raised.traceback.splitlines()
    assert head == "Traceback (most recent call last):" and message == "ValueError: too bad"
    assert "worker.py" not in raised.traceback and frames[0].endswith(", in behave")


def test_an_item_that_hangs_in_c_is_stopped_at_the_limit_and_the_others_are_unaffected(pool):
    orders = [("return", value) for value in range(200)]
    orders[50] = orders[120] = ("hang", None)
    start = time.monotonic()
    outcomes = list(pool.map(orders))
    assert time.monotonic() - start < 30  # the hanging items would take for ever
    for place, outcome in enumerate(outcomes):
        if place in (50, 120):
            assert outcome.status == "timeout"
            assert outcome.value == "stopped at the limit of 0.5 s"
            assert outcome.seconds >= 0.5
        else:
            assert outcome[:2] == ("done", place)


def test_a_limit_also_holds_for_items_that_end_while_nobody_looks(pool):
    outcomes = pool.map([("return", 0), ("return", 1), ("sleep", 0.7), ("return", 3)])
    next(outcomes)
    time.sleep(1.2)
    assert [outcome.status for outcome in outcomes] == ["done", "timeout", "done"]


def test_a_slow_consumer_of_large_results_causes_no_timeouts(functions):
    with ProcessPool(functions.behave, workers=1, timeout=0.3) as pool:
        outcomes = pool.map(("return", f"{place:02}" * 50_000) for place in range(100))
        next(outcomes)
        time.sleep(0.6)
        assert [outcome[:2] for outcome in outcomes] == [("done", f"{place:02}" * 50_000) for place in range(1, 100)]


@pytest.mark.parametrize(
    ("order", "message"),
    [
        (("raise", "no such thing"), "ValueError: no such thing"),
        (("die", signal.SIGSEGV), "died of SIGSEGV"),
        (("die", signal.SIGKILL), "died of SIGKILL"),
        (("die", signal.SIGABRT), "died of SIGABRT, as programs in C++ do that get no more memory"),
        (("die", 40), "died of signal 40"),
        (("exit", 3), "ended with exit code 3"),
        (("exit", 0), "ended with exit code 0"),
    ],
)
@pytest.mark.parametrize("isolate", [None, 4])
def test_a_failing_item_is_an_error_with_a_message_and_the_others_are_done(functions, order, message, isolate):
    orders = [("return", 0), ("return", 1), order, *[("return", value) for value in range(3, 9)]]
    with ProcessPool(functions.behave, workers=1, timeout=5.0, isolate=isolate) as pool:
        outcomes = list(pool.map(orders))
    assert outcomes[2][:2] == ("error", message)
    assert [outcome.value for place, outcome in enumerate(outcomes) if place != 2] == [0, 1, 3, 4, 5, 6, 7, 8]


def test_items_are_read_lazily_within_the_window(pool):
    read = []

    def orders():
        for value in count():
            read.append(value)
            yield "return", value

    outcomes = pool.map(orders(), window=10)
    assert [outcome.value for outcome in islice(outcomes, 1000)] == list(range(1000))
    assert len(read) <= 1010
    outcomes.close()


def test_while_one_item_takes_long_the_others_go_on(functions):
    read = []

    def orders():
        yield "sleep", 1.0
        for value in range(500):
            read.append(value)
            yield "return", value

    with ProcessPool(functions.behave, workers=2, timeout=60.0) as pool:
        outcomes = pool.map(orders())
        next(outcomes)
        assert len(read) == 500
        assert [outcome.value for outcome in outcomes] == list(range(500))


def test_warming_up_does_not_count_against_the_limit(functions):
    with ProcessPool(functions.behave, workers=1, timeout=0.3, initializer=functions.warm_up_slowly) as pool:
        assert [outcome.status for outcome in pool.map([("return", 1), ("hang", None), ("return", 2)])] == [
            "done",
            "timeout",
            "done",
        ]


def test_a_worker_that_cannot_start_is_reported_in_a_sentence_below_its_traceback(functions, caplog):
    with (
        ProcessPool(functions.behave, workers=1, timeout=1.0, initializer=functions.warm_up_and_fail) as pool,
        pytest.raises(PoolError, match=r"a worker could not start: RuntimeError: no solver here; mend `prepare`"),
    ):
        list(pool.map([("return", 1)]))
    assert ", in warm_up_and_fail" in caplog.text


def test_a_library_that_a_worker_misses_is_missed_here_too(functions, caplog):
    with (
        ProcessPool(functions.behave, timeout=1.0, initializer=functions.warm_up_without_a_library) as pool,
        pytest.raises(ImportError, match=r"^needs a library; install it$"),
    ):
        pool.warm_up()
    assert not caplog.text


def test_a_pool_that_was_started_computes_in_the_worker_that_is_ready(functions):
    with ProcessPool(functions.behave, workers=1, timeout=5.0) as pool:
        pool.warm_up()
        [worker] = pool._team
        pool.warm_up()
        assert [outcome.value for outcome in pool.map([("pid", None)])] == [worker.process.pid]


def test_what_takes_memory_without_end_before_it_is_ready_is_stopped(functions):
    start = time.monotonic()
    with (
        ProcessPool(functions.behave, timeout=1.0, initializer=functions.warm_up_and_eat, memory=0.5) as pool,
        pytest.raises(PoolError, match=r"a worker took more than 0\.5 GB of memory before it was ready; load in `prep"),
    ):
        pool.warm_up()
    assert time.monotonic() - start < 60 and not pool._team


def test_workers_that_always_die_are_not_restarted_for_ever(functions):
    with (
        ProcessPool(functions.behave, workers=1, timeout=1.0, initializer=functions.warm_up_and_die) as pool,
        pytest.raises(PoolError, match="3 workers in a row died of SIGKILL before they computed anything"),
    ):
        list(pool.map([("return", 1)]))


def test_a_run_starts_from_the_same_state_whatever_was_computed_before(functions):
    with ProcessPool(functions.count_calls, workers=2, timeout=5.0, isolate=3) as pool:
        for _ in range(2):
            assert [outcome.value for outcome in pool.map(range(8))] == [1, 2, 3, 1, 2, 3, 1, 2]


def test_a_run_with_an_item_at_the_limit_is_as_if_the_item_were_not_there(functions):
    hang = [False, True, False, False, False, False, True, True]
    with ProcessPool(functions.count_calls_or_hang, workers=2, timeout=0.4, isolate=4) as pool:
        outcomes = list(pool.map(hang))
    assert [outcome.status for outcome in outcomes] == ["timeout" if item else "done" for item in hang]
    assert [outcome.value for outcome in outcomes if outcome.status == "done"] == [1, 2, 3, 1, 2]


def test_a_dropped_iterator_leaves_no_work_behind_and_the_pool_usable(pool):
    outcomes = pool.map([("return", 0), *[("hang", None)] * 5])
    next(outcomes)
    busy = [worker.process.pid for worker in pool._team if worker.chunks]
    assert busy
    outcomes.close()
    assert not any(map(is_running, busy))
    assert [outcome.value for outcome in pool.map([("return", 1)])] == [1]


def test_an_error_in_the_items_reaches_the_caller(pool):
    def orders():
        yield "return", 1
        raise KeyError("no more")

    with pytest.raises(KeyError, match="no more"):
        list(pool.map(orders()))
    assert [outcome.value for outcome in pool.map([("return", 1)])] == [1]


def test_a_pool_has_one_map_at_a_time(pool):
    first = pool.map([("return", 1), ("return", 2)])
    next(first)
    with pytest.raises(RuntimeError, match="this pool is busy: exhaust or close the iterator of its other map first"):
        next(pool.map([("return", 1)]))
    first.close()


def test_workers_load_nothing_but_what_the_function_needs_and_tell_nobody(functions):
    with ProcessPool(functions.loaded_modules, workers=1, timeout=5.0) as pool:
        (outcome,) = pool.map([None])
    modules, environment = outcome.value
    assert "hf_symbinv" in modules and not modules & {"torch", "transformers", "multiprocessing", "spot"}
    assert environment["PATH"] == os.environ["PATH"] and "HF_SYMBINV_LIGHT" not in environment


def test_what_a_function_prints_does_not_reach_the_standard_output(run_script):
    script = run_script("""
        import pool_functions
        from hf_symbinv.solvers import ProcessPool
        with ProcessPool(pool_functions.behave, workers=1, timeout=5.0) as pool:
            list(pool.map([("print", "noise")]))
        print("result")
    """)
    out, err = script.communicate(timeout=60)
    assert (out, err) == ("result\n", "noise\n")


SCRIPT_THAT_HANGS = """
    import signal, sys, threading
    import pool_functions
    signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs of a shell start with it ignored
    from hf_symbinv.solvers import ProcessPool
    threading.Thread(target=threading.Event().wait, daemon=True).start()
    pool = ProcessPool(pool_functions.behave, workers=2, timeout=60.0, isolate={isolate})
    outcomes = pool.map([("pid", None)] * 2 + [("hang", None)] * 6)
    next(outcomes)
    print(*[worker.process.pid for worker in pool._team], flush=True)
    try:
        list(outcomes)
    except KeyboardInterrupt:
        sys.exit(7)
"""


@pytest.mark.parametrize("isolate", [None, 2])
def test_workers_die_with_a_parent_that_is_killed_even_while_they_hang_in_c(run_script, isolate):
    script = run_script(SCRIPT_THAT_HANGS.format(isolate=isolate))
    pids = [int(pid) for pid in script.stdout.readline().split()]
    time.sleep(0.5)
    forks = [child for pid in pids for child in children(pid)]
    assert all(map(is_running, pids + forks))
    assert bool(forks) == bool(isolate)
    script.kill()
    assert wait_for_end(pids + forks)


def test_an_interrupt_ends_parent_and_workers_without_noise(run_script):
    script = run_script(SCRIPT_THAT_HANGS.format(isolate=None))
    pids = [int(pid) for pid in script.stdout.readline().split()]
    time.sleep(0.3)
    script.send_signal(signal.SIGINT)
    assert script.communicate(timeout=60) == ("", "")
    assert script.returncode == 7
    assert wait_for_end(pids)


def test_a_script_that_forgets_to_close_its_pool_leaves_no_workers(run_script):
    script = run_script("""
        import pool_functions
        from hf_symbinv.solvers import ProcessPool
        pool = ProcessPool(pool_functions.behave, workers=1, timeout=60.0)
        print(next(pool.map([("pid", None)])).value)
    """)
    out, err = script.communicate(timeout=60)
    assert err == ""
    assert wait_for_end([int(out)])


def test_a_fork_of_the_owner_does_not_end_the_workers(run_script):
    script = run_script("""
        import os, sys
        import pool_functions
        from hf_symbinv.solvers import ProcessPool
        with ProcessPool(pool_functions.behave, workers=1, timeout=60.0) as pool:
            before = next(pool.map([("pid", None)])).value
            if os.fork() == 0:
                sys.exit()
            os.wait()
            print(next(pool.map([("pid", None)])).value == before)
    """)
    assert script.communicate(timeout=60) == ("True\n", "")


def test_the_end_of_the_thread_that_started_the_workers_is_not_the_end_of_the_workers(pool):
    pids = []
    thread = threading.Thread(target=lambda: pids.append(next(pool.map([("pid", None)])).value))
    thread.start()
    thread.join()
    time.sleep(0.1)
    assert is_running(pids[0])
    assert next(pool.map([("pid", None)])).value == pids[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"workers": 0}, "workers=0: a pool needs at least one worker; use None for one per core"),
        ({"timeout": 0}, "timeout=0: the limit must be positive seconds; use math.inf for no limit"),
        ({"timeout": math.nan}, "timeout=nan: the limit must be positive seconds"),
        ({"isolate": 0}, "isolate=0: a run has at least one item; use None to do without runs"),
        ({"function": lambda item: item}, "<lambda>.*: use a function at the top level of a module"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        ProcessPool(**{"function": math.sqrt, "timeout": 1.0, **arguments})


def test_a_function_of_the_main_script_is_refused(run_script):
    script = run_script("""
        from hf_symbinv.solvers import ProcessPool
        def square(number):
            return number * number
        ProcessPool(square, timeout=1.0)
    """)
    _, err = script.communicate(timeout=60)
    assert (
        "ValueError: square: what the main script defines cannot be imported by other processes; move it into a module"
        in err
    )


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux limits address space")
@pytest.mark.parametrize("isolate", [None, 1])
def test_an_item_that_takes_too_much_memory_is_an_error_and_the_next_is_computed(functions, isolate):
    with ProcessPool(functions.behave, workers=1, timeout=20.0, memory=0.5, isolate=isolate) as pool:
        orders = [("allocate", 10**8), ("allocate", 10**9), ("return", "next")]
        small, large, following = pool.map(orders)
    assert (small.status, small.value) == ("done", 10**8)
    assert (large.status, large.value, large.traceback) == ("error", "stopped at the limit of 0.5 GB of memory", "")
    assert (following.status, following.value) == ("done", "next")


def test_without_a_limit_there_is_memory_for_more(functions):
    with ProcessPool(functions.behave, workers=1, timeout=math.inf, memory=math.inf) as pool:
        (outcome,) = pool.map([("allocate", 10**9)])
    assert outcome.status == "done"
    with pytest.raises(ValueError, match="memory=0: the limit must be positive gigabytes"):
        ProcessPool(functions.behave, timeout=1.0, memory=0)


def test_a_worker_that_is_never_ready_is_no_endless_wait(functions, monkeypatch):
    monkeypatch.setattr("hf_symbinv.solvers.pool.PREPARE_SECONDS", 0.1)
    with (
        ProcessPool(functions.behave, workers=1, timeout=20.0, initializer=functions.warm_up_slowly) as pool,
        pytest.raises(PoolError, match=r"a worker was not ready after 0\.1 s; load in `prepare` only"),
    ):
        list(pool.map([("return", 1)]))


@pytest.mark.parametrize("isolate", [None, 4])
def test_the_limit_is_of_cpu_time_where_there_is_more_by_the_clock(functions, isolate):
    orders = [("sleep", 1.0), ("work", 0.05), ("work", 60.0), ("return", 3)]
    with ProcessPool(functions.behave, workers=1, timeout=0.5, wall=600.0, isolate=isolate) as pool:
        assert [outcome.status for outcome in pool.map(orders)] == ["done", "done", "timeout", "done"]
