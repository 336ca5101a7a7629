"""An attempt is one item that is computed while its caller does something else."""

import time

import pytest

from hf_symbinv.solvers import ProcessPool


def outcome_of(attempt):
    while attempt.poll() is None:
        time.sleep(0.001)
    return attempt.poll()


def test_it_ends_with_the_result_and_the_pool_takes_the_next():
    with ProcessPool(abs, workers=1, timeout=30) as pool:
        for item in (-3, -4):
            attempt = pool.start(item)
            assert pool.busy
            with pytest.raises(RuntimeError, match="this pool is busy"):
                pool.start(item)
            outcome = outcome_of(attempt)
            assert (outcome.status, outcome.value, pool.busy) == ("done", -item, False)
            assert attempt.seconds() == outcome.seconds
        assert [outcome.value for outcome in pool.map([-5])] == [5]


def test_it_is_stopped_at_the_limit_or_when_it_is_cancelled():
    with ProcessPool(time.sleep, workers=1, timeout=0.3) as pool:
        assert outcome_of(pool.start(60)).status == "timeout"
        attempt = pool.start(60)
        while not attempt.seconds():
            attempt.poll()
        attempt.cancel()
        assert not pool.busy and not pool._team
        assert outcome_of(pool.start(0)).status == "done"
