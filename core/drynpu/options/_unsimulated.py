"""What the toolchain leaves on a device and a simulated device has no honest source for, on any chip."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from drynpu.options._deliverable_rows import DELIVERABLES
from drynpu.options._deliverables import files_of_option, is_left
from drynpu.options._request import ProfilingRequest
from drynpu.options.profiling_options import resolve_class

__all__ = ["NOT_SIMULATED", "unsimulated_of_option"]

NOT_SIMULATED: Mapping[str, str] = MappingProxyType(
    {
        "Acc PMU": "the load of the accelerators beside the AI cores is not simulated",
        "Stars Soc Info": "how the chip turns a bus load into its levels is not public",
        "QoS": "the names of the memory partitions come from the driver",
        "soc_pmu": "translation buffers and page sizes are not simulated",
        "Stars Chip Trans": "how the chip turns traffic into its coarse levels is not public",
        "Ub": "the ports of the UB link are not simulated",
        "ub": "the ports of the UB link are not simulated",
        "ccu_channel": "the collective communication unit is not simulated",
        "dvpp": "no work of the image engines is simulated, and how many a chip has is not public",
        **{
            f"{cpu}_cpu_{what}": "the programs on the CPUs of the device are not simulated"
            for cpu in ("ai", "ctrl", "ts")
            for what in ("top_function", "pmu_events")
        },
        **dict.fromkeys(
            ("biu_group", "aic_core_group", "aiv_core_group", "Biu Perf"),
            "instructions inside a kernel are not simulated",
        ),
        "Block Detail": "blocks of a kernel have no times of their own in the model",
    }
)
"""
Names of deliverables that an option asks for by name, with why drynpu writes no records of them.

What comes along with every recording of tasks, and what lacks tools on the host, is in
``drynpu.deliverables.unmodelled.records.UNMODELLED``.
"""


def unsimulated_of_option(
    request: ProfilingRequest, path: str, *, torch: bool, chip: str | None = None
) -> dict[str, str]:
    """
    Return the files and layers that the option at *path* leaves on a real device only, with the reason.

    They are among those of `files_of_option`, to which the arguments belong; layers are named beside files.

    Raises
    ------
    OptionError
        For an unknown chip.
    """
    if torch:
        files = files_of_option(request, path, torch=True)
        return {file: NOT_SIMULATED[stem] for file in files if (stem := file.split(".")[0]) in NOT_SIMULATED}
    here = None if chip is None else resolve_class(chip)
    rows = (row for row in DELIVERABLES if row.option == path and is_left(row, request, here))
    return {row.title: NOT_SIMULATED[row.name] for row in rows if row.name in NOT_SIMULATED}
