"""The value classes of the surface: plain classes of strings where the vendor has those, enums elsewhere."""

from __future__ import annotations

import enum

from drynpu.options import Action
from drynpu.options.experimental_config import AIC_METRICS, EXPORT_TYPES, HOST_SYSTEMS, PROFILER_LEVELS


class ProfilerActivity(enum.Enum):
    """Which side is recorded. ``str()`` gives ``ProfilerActivity.CPU``, which profiler_info.json shows."""

    CPU = 0
    NPU = 1

    def __str__(self) -> str:
        return f"ProfilerActivity.{self.name}"


class ProfilerAction(enum.Enum):
    """What the profiler does during one step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


FACADE_ACTIONS = {action: ProfilerAction(action.value) for action in Action}
NEUTRAL_ACTIONS = {ProfilerAction(action.value): action for action in Action}


class ProfilerLevel:
    """How much is recorded; attributes are strings, as in the vendor's class."""

    Level0 = PROFILER_LEVELS["Level0"]
    Level1 = PROFILER_LEVELS["Level1"]
    Level2 = PROFILER_LEVELS["Level2"]
    Level_none = PROFILER_LEVELS["Level_none"]


class AiCMetrics:
    """Groups of AI Core counters; attributes are strings, as in the vendor's class."""

    PipeUtilization = AIC_METRICS["PipeUtilization"]
    ArithmeticUtilization = AIC_METRICS["ArithmeticUtilization"]
    Memory = AIC_METRICS["Memory"]
    MemoryL0 = AIC_METRICS["MemoryL0"]
    MemoryUB = AIC_METRICS["MemoryUB"]
    ResourceConflictRatio = AIC_METRICS["ResourceConflictRatio"]
    L2Cache = AIC_METRICS["L2Cache"]
    MemoryAccess = AIC_METRICS["MemoryAccess"]
    AiCoreNone = AIC_METRICS["AiCoreNone"]


class ExportType:
    """Form of the deliverables; attributes are strings, as in the vendor's class."""

    Db = EXPORT_TYPES["Db"]
    Text = EXPORT_TYPES["Text"]


class HostSystem:
    """Host metrics; attributes are strings, as in the vendor's class."""

    CPU = HOST_SYSTEMS["CPU"]
    MEM = HOST_SYSTEMS["MEM"]
    DISK = HOST_SYSTEMS["DISK"]
    NETWORK = HOST_SYSTEMS["NETWORK"]
    OSRT = HOST_SYSTEMS["OSRT"]
    NUMA = HOST_SYSTEMS["NUMA"]


def supported_activities() -> set[ProfilerActivity]:
    """Return the activities that can be recorded."""
    return set(ProfilerActivity)


def supported_profiler_level() -> set[str]:
    """Return the values of :class:`ProfilerLevel`."""
    return set(PROFILER_LEVELS.values())


def supported_ai_core_metrics() -> set[str]:
    """Return the values of :class:`AiCMetrics`."""
    return set(AIC_METRICS.values())


def supported_export_type() -> set[str]:
    """Return the values of :class:`ExportType`."""
    return set(EXPORT_TYPES.values())
