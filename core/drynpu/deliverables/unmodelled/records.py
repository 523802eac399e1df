"""What options ask for and nothing is simulated for: no records, one readable line each."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from drynpu.deliverables._requested import requested_deliverables, unmodelled
from drynpu.deliverables.record_context import GroupRecords, RecordContext
from drynpu.options import NOT_SIMULATED

_SYSTEM = "the operating system of the device is not simulated"

UNMODELLED: Mapping[str, str] = MappingProxyType(
    {
        **NOT_SIMULATED,
        **dict.fromkeys(("cpu_usage", "sys_mem", "process_cpu_usage", "process_mem"), _SYSTEM),
        **dict.fromkeys(("ccu_mission", "CCU"), NOT_SIMULATED["ccu_channel"]),
        **dict.fromkeys(("os_runtime_statistic", "OS Runtime API"), "calls of the system need perf and ltrace"),
        "Voltage Info": "the voltage of the cores is not simulated",
        "AI Core Freq": "the die that a clock of the 950 belongs to is not simulated",
    }
)
"""
Files and layers that some option leaves on some real device, and no recording of this release there -> why.

Files of the device's operating system have the same names as the host's, which are measured and written.
"""

_OPTIONS = (
    "sampling.device_system_hz",
    "sampling.device_process_hz",
    "sampling.cpu_hz",
    "sampling.host_systems",
    "switches.instructions",
    "switches.task_block",
)


def build(context: RecordContext) -> GroupRecords:
    """Say why what was asked for by name is not there; what only comes along with the tasks is left out silently."""
    names = {name for option in _OPTIONS for name in requested_deliverables(context, option)} - requested_deliverables(
        context, "sampling.host_usage"
    )
    return GroupRecords(notes=unmodelled(names, dict(UNMODELLED)))
