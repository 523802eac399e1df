"""The value tables of ``torch_npu.profiler``: attribute name -> string (torch_npu_profiler.md 1.2)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from drynpu.options._values import ExportType, HostSystem, Level, MetricGroup

__all__ = [
    "AIC_METRICS",
    "EXPORTS",
    "EXPORT_TYPES",
    "HOST_SYSTEMS",
    "HOST_SYSTEM_VALUES",
    "LEVELS",
    "METRIC_GROUPS",
    "PROFILER_LEVELS",
]

PROFILER_LEVELS: Mapping[str, str] = MappingProxyType(
    {"Level0": "Level0", "Level1": "Level1", "Level2": "Level2", "Level_none": "Level_none"}
)
"""``ProfilerLevel``."""

AIC_METRICS: Mapping[str, str] = MappingProxyType(
    {
        "PipeUtilization": "ACL_AICORE_PIPE_UTILIZATION",
        "ArithmeticUtilization": "ACL_AICORE_ARITHMETIC_UTILIZATION",
        "Memory": "ACL_AICORE_MEMORY_BANDWIDTH",
        "MemoryL0": "ACL_AICORE_L0B_AND_WIDTH",
        "MemoryUB": "ACL_AICORE_MEMORY_UB",
        "ResourceConflictRatio": "ACL_AICORE_RESOURCE_CONFLICT_RATIO",
        "L2Cache": "ACL_AICORE_L2_CACHE",
        "MemoryAccess": "ACL_AICORE_MEMORY_ACCESS",
        "AiCoreNone": "ACL_AICORE_NONE",
    }
)
"""``AiCMetrics``."""

EXPORT_TYPES: Mapping[str, str] = MappingProxyType({"Db": "db", "Text": "text"})
"""``ExportType``."""

HOST_SYSTEMS: Mapping[str, str] = MappingProxyType(
    {"CPU": "cpu", "MEM": "mem", "DISK": "disk", "NETWORK": "network", "OSRT": "osrt", "NUMA": "numa"}
)
"""``HostSystem``."""

LEVELS: Mapping[str, Level] = MappingProxyType(
    {"Level_none": Level.NONE, "Level0": Level.L0, "Level1": Level.L1, "Level2": Level.L2}
)
"""Value of ``ProfilerLevel`` -> neutral level."""

METRIC_GROUPS: Mapping[str, MetricGroup] = MappingProxyType(
    {
        "ACL_AICORE_PIPE_UTILIZATION": MetricGroup.PIPE_UTILIZATION,
        "ACL_AICORE_ARITHMETIC_UTILIZATION": MetricGroup.ARITHMETIC_UTILIZATION,
        "ACL_AICORE_MEMORY_BANDWIDTH": MetricGroup.MEMORY,
        "ACL_AICORE_L0B_AND_WIDTH": MetricGroup.MEMORY_L0,
        "ACL_AICORE_MEMORY_UB": MetricGroup.MEMORY_UB,
        "ACL_AICORE_RESOURCE_CONFLICT_RATIO": MetricGroup.RESOURCE_CONFLICT_RATIO,
        "ACL_AICORE_L2_CACHE": MetricGroup.L2_CACHE,
        "ACL_AICORE_MEMORY_ACCESS": MetricGroup.MEMORY_ACCESS,
        "ACL_AICORE_NONE": MetricGroup.NONE,
    }
)
"""Value of ``AiCMetrics`` -> neutral group."""

EXPORTS: Mapping[str, ExportType] = MappingProxyType({"db": ExportType.DB, "text": ExportType.TEXT})
"""Value of ``ExportType`` -> neutral form."""

HOST_SYSTEM_VALUES: Mapping[str, HostSystem] = MappingProxyType(
    {
        "cpu": HostSystem.CPU,
        "mem": HostSystem.MEMORY,
        "disk": HostSystem.DISK,
        "network": HostSystem.NETWORK,
        "osrt": HostSystem.OS_RUNTIME,
        "numa": HostSystem.NUMA,
    }
)
"""Value of ``HostSystem`` -> neutral host metric."""
