"""The enumerations of the surface, whose values are what JSON files show, and its config (mindspore_profiler.md 2)."""

from __future__ import annotations

import enum
from typing import Any

from attrs import define, fields_dict

from drynpu.options import Action


class ProfilerLevel(enum.Enum):
    """How much is collected."""

    LevelNone = "LevelNone"
    Level0 = "Level0"
    Level1 = "Level1"
    Level2 = "Level2"


class ProfilerActivity(enum.Enum):
    """The sides that are profiled."""

    NPU = "NPU"
    GPU = "GPU"
    CPU = "CPU"


class AicoreMetrics(enum.Enum):
    """Which counters of the AI Core are collected."""

    PipeUtilization = "PipeUtilization"
    ArithmeticUtilization = "ArithmeticUtilization"
    Memory = "Memory"
    MemoryL0 = "MemoryL0"
    MemoryUB = "MemoryUB"
    ResourceConflictRatio = "ResourceConflictRatio"
    L2Cache = "L2Cache"
    MemoryAccess = "MemoryAccess"
    AiCoreNone = "None"


class ExportType(enum.Enum):
    """Form of the deliverables."""

    Db = "db"
    Text = "text"


class HostSystem(enum.Enum):
    """The parts of the host that are sampled."""

    CPU = "cpu"
    MEM = "mem"
    DISK = "disk"
    NETWORK = "network"
    OSRT = "osrt"


class ProfilerAction(enum.Enum):
    """What happens during a step."""

    NONE = 0
    WARM_UP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3

    @staticmethod
    def get_by_value(value: int) -> ProfilerAction | None:
        """Return the action with that number, ``None`` if there is none."""
        return next((action for action in ProfilerAction if action.value == value), None)


class DeviceTarget(enum.Enum):
    """Devices that a profiler can be made for."""

    CPU = "CPU"
    GPU = "GPU"
    NPU = "Ascend"


class AnalysisMode(enum.Enum):
    """Whether ``analyse`` waits."""

    SYNC_MODE = "sync"
    ASYNC_MODE = "async"


class JitLevel(enum.Enum):
    """How graphs are run: kernel by kernel, or whole."""

    O0 = "O0"
    O1 = "O1"
    O2 = "O2"


ACTION_OF: dict[ProfilerAction, Action] = {
    ProfilerAction.NONE: Action.NONE,
    ProfilerAction.WARM_UP: Action.WARMUP,
    ProfilerAction.RECORD: Action.RECORD,
    ProfilerAction.RECORD_AND_SAVE: Action.RECORD_AND_SAVE,
}
"""The surface's actions in the core's words."""


# Compared, shown and extended by scripts like the vendor's, which is a plain class.
@define(eq=False, repr=False, slots=False)
class _ExperimentalConfig:
    """Options of ``profile(experimental_config=...)``; nothing is checked here."""

    profiler_level: ProfilerLevel = ProfilerLevel.Level0
    aic_metrics: AicoreMetrics = AicoreMetrics.AiCoreNone
    l2_cache: bool = False
    mstx: bool = False
    data_simplification: bool = True
    export_type: list[ExportType] | None = None
    mstx_domain_include: list[str] | None = None
    mstx_domain_exclude: list[str] | None = None
    sys_io: bool = False
    sys_interconnection: bool = False
    host_sys: list[HostSystem] | None = None

    def describe(self) -> dict[str, Any]:
        """Return the options by name."""
        return {name: getattr(self, name) for name in CONFIG_FIELDS}


CONFIG_FIELDS = tuple(fields_dict(_ExperimentalConfig))
"""The keywords of a profiler that a config overrides."""
