"""The estimate is the formula of its module, and says what it assumes."""

import pytest

from hf_symbinv.hub.cards.energy import estimate_energy


def record(**machine):
    return {"seconds": 7200, "processes": 2, "environment": {"threads": 4, "accelerator": None, **machine}}


@pytest.mark.parametrize(
    ("machine", "kilowatt_hours", "part"),
    [
        ({}, 2 * 2 * 4 * 0.01, "10 W for each busy CPU thread for the whole time"),
        ({"accelerator": "NVIDIA H200"}, 2 * 2 * (4 * 0.01 + 0.7), "700 W for each NVIDIA H200"),
        ({"accelerator": "NVIDIA H100 PCIe"}, 2 * 2 * (4 * 0.01 + 0.35), "350 W for each"),
        ({"accelerator": "Another"}, 2 * 2 * (4 * 0.01 + 0.3), "300 W for each Another"),
    ],
)
def test_power_times_time(machine, kilowatt_hours, part):
    energy = estimate_energy(record(**machine))
    assert energy.kilowatt_hours == pytest.approx(kilowatt_hours) and part in energy.assumption
    assert "not measured" in energy.assumption


@pytest.mark.parametrize("unknown", [{}, {"seconds": 5.0}, {"environment": {"threads": 2}}])
def test_without_time_or_machine_there_is_none(unknown):
    assert estimate_energy(unknown) is None
