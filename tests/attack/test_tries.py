"""The tries of an attack repeat with its seed, and each by itself."""

import pytest


@pytest.fixture(autouse=True)
def every_try(monkeypatch):
    monkeypatch.delenv("ATTACK_TRY", raising=False)


def test_each_try_draws_its_own_numbers_which_the_seed_repeats(new_attack, monkeypatch):
    drawn = [attempt.random.random() for attempt in new_attack(None).tries(3)]
    assert len(set(drawn)) == 3
    assert [attempt.random.random() for attempt in new_attack(None).tries(3)] == drawn
    monkeypatch.setenv("ATTACK_TRY", "2")
    assert [attempt.random.random() for attempt in new_attack(None).tries(3)] == drawn[2:]


def test_a_try_has_an_empty_folder_that_goes_with_it(new_attack, tmp_path):
    for attempt in new_attack(None).tries(2):
        assert not list(attempt.folder.iterdir())
        (attempt.folder / "file").touch()
    assert not list(tmp_path.iterdir())


def test_an_attack_with_seconds_tries_until_they_are_over(new_attack):
    assert sum(1 for _ in new_attack(0.05).tries(1)) > 1
