"""The estimate is the formula of its module, and has the powers that it assumes."""

import pytest

from hf_symbinv.hub.cards.energy import estimate_energy


def record(**machine):
    return {"seconds": 7200, "processes": 2, "environment": {"threads": 4, "accelerator": None, **machine}}


@pytest.mark.parametrize(
    ("machine", "kilowatt_hours", "accelerator", "watts"),
    [
        ({}, 2 * 2 * 4 * 0.01, None, 0.0),
        ({"accelerator": "NVIDIA H200"}, 2 * 2 * (4 * 0.01 + 0.7), "NVIDIA H200", 700.0),
        ({"accelerator": "NVIDIA H100 PCIe"}, 2 * 2 * (4 * 0.01 + 0.35), "NVIDIA H100 PCIe", 350.0),
        ({"accelerator": "Another"}, 2 * 2 * (4 * 0.01 + 0.3), "Another", 300.0),
    ],
)
def test_power_times_time(machine, kilowatt_hours, accelerator, watts):
    energy = estimate_energy(record(**machine))
    assert energy.kilowatt_hours == pytest.approx(kilowatt_hours) and energy.watts_of_thread == 10.0
    assert (energy.accelerator, energy.watts_of_accelerator) == (accelerator, watts)


@pytest.mark.parametrize("unknown", [{}, {"seconds": 5.0}, {"environment": {"threads": 2}}])
def test_without_time_or_machine_there_is_none(unknown):
    assert estimate_energy(unknown) is None
