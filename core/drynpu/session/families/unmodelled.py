"""What options ask for and nothing is simulated for: no records, one readable line each."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from drynpu.session.families._asked import asked, unmodelled
from drynpu.session.families._context import FamilyRecords, RecordContext

__all__ = ["UNMODELLED", "build"]

_CCU = "the collective communication unit is not simulated"
_SYSTEM = "the operating system of the device is not simulated"
_CPU = "the programs on the CPUs of the device are not simulated"
_INSTRUCTIONS = "instructions inside a kernel are not simulated"
_SAMPLED_CORES = "counters of AI cores are recorded by task, not by time"
_SYSTEM_CALLS = "calls of the system need perf and ltrace"

UNMODELLED: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("ccu_mission", "CCU"), _CCU),
        **dict.fromkeys(("cpu_usage", "sys_mem", "process_cpu_usage", "process_mem"), _SYSTEM),
        **{f"{cpu}_cpu_{what}": _CPU for cpu in ("ai", "ctrl", "ts") for what in ("top_function", "pmu_events")},
        **dict.fromkeys(("biu_group", "aic_core_group", "aiv_core_group", "Biu Perf"), _INSTRUCTIONS),
        **dict.fromkeys(("ai_core_utilization", "ai_vector_core_utilization", "AI Core Utilization"), _SAMPLED_CORES),
        "Block Detail": "blocks of a kernel have no times of their own in the model",
        "OS Runtime API": _SYSTEM_CALLS,
        "Voltage Info": "the voltage of the cores is not simulated",
        "AI Core Freq": "the die that a clock of the 950 belongs to is not simulated",
    }
)
"""Files and layers of the toolkit that no recording of this release leaves -> why; some only on some chips."""

_OPTIONS = (
    "sampling.device_system_hz",
    "sampling.device_process_hz",
    "sampling.cpu_hz",
    "sampling.ai_core_hz",
    "sampling.host_systems",
    "switches.instructions",
    "switches.task_block",
)


def build(context: RecordContext) -> FamilyRecords:
    """Say why what was asked for by name is not there; what only comes along with the tasks is left out silently."""
    names = {name for option in _OPTIONS for name in asked(context, option)}
    return FamilyRecords(notes=unmodelled(names, dict(UNMODELLED)))
