"""How much energy a run took, estimated from its time and its machine.

    energy = hours · (threads · 10 W + accelerators · rated power of one)

It is no measurement: a machine without counters, or a part of a shared one, cannot tell. Cooling, disks and the rest of
the machine are not in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# Our choice: servers' CPUs are rated at 4 to 8 W for each core, and memory adds some; a busy thread counts as a core.
WATTS_OF_THREAD = 10.0
# Rated power of boards in W, from NVIDIA's data sheets; the first name that occurs in the accelerator's own counts.
WATTS_OF_ACCELERATOR = {
    "H200": 700.0, "H100 PCIe": 350.0, "H100 NVL": 400.0, "H100": 700.0, "A100-PCIE": 250.0, "A100 80GB PCIe": 300.0,
    "A100": 400.0, "L40": 300.0, "L4": 72.0, "T4": 70.0, "V100": 300.0, "RTX 4090": 450.0, "RTX 3090": 350.0,
}  # fmt: skip
# Our choice, for boards that are not listed.
WATTS_OF_OTHERS = 300.0


@dataclass(frozen=True, slots=True)
class Energy:
    """An estimate, and the powers that it assumes.

    Attributes:
        kilowatt_hours: For the whole run.
        watts_of_thread: For each busy CPU thread.
        accelerator: Its name; None if there was none.
        watts_of_accelerator: For each accelerator; 0 if there was none.
    """

    kilowatt_hours: float
    watts_of_thread: float
    accelerator: str | None
    watts_of_accelerator: float


def estimate_energy(record: Mapping[str, Any]) -> Energy | None:
    """The energy of a training run.

    Args:
        record: As `run.json` has it; its `seconds`, `processes` and `environment` count.

    Returns:
        The estimate; None if the record does not say how long the run took or how many threads it had.
    """
    machine = record.get("environment") or {}
    seconds, threads = record.get("seconds"), machine.get("threads")
    if not seconds or not threads:
        return None
    accelerator, each = machine.get("accelerator"), 0.0
    if accelerator:
        each = next((watts for name, watts in WATTS_OF_ACCELERATOR.items() if name in accelerator), WATTS_OF_OTHERS)
    watts = (record.get("processes") or 1) * (threads * WATTS_OF_THREAD + each)
    return Energy(watts * seconds / 3.6e6, WATTS_OF_THREAD, accelerator, each)


__all__ = ["Energy", "estimate_energy"]
