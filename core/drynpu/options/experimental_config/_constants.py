"""Constants of ``torch_npu.profiler``: attribute name -> string (torch_npu_profiler.md 1.2), and what it notes down."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from drynpu.options._values import ExportType, Level, MetricGroup
from drynpu.options.profiling_options import METRIC_NAMES

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
        **{AIC_METRICS[name]: group for group, name in METRIC_NAMES.items() if name in AIC_METRICS},
        AIC_METRICS["AiCoreNone"]: MetricGroup.NONE,
    }
)
"""Value of ``AiCMetrics`` -> neutral group; the attribute names are the collector's."""

EXPORTS: Mapping[str, ExportType] = MappingProxyType({form.value: form for form in ExportType})
"""Value of ``ExportType`` -> neutral form."""


NOTED_VARIABLES = (
    "ASCEND_GLOBAL_LOG_LEVEL",
    "HCCL_RDMA_TC",
    "HCCL_RDMA_SL",
    "ACLNN_CACHE_LIMIT",
    "HOST_CACHE_CAPACITY",
    "ASCEND_ENHANCE_ENABLE",
    "PYTORCH_NPU_ALLOC_CONF",
    "ASCEND_LAUNCH_BLOCKING",
    "HCCL_ALGO",
)
"""Variables of the environment under ``ENV_VARIABLES`` of profiler_metadata.json (torch_npu_profiler.md 3.4)."""


def noted_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that the vendor notes down; unset ones are empty."""
    return {name: environ.get(name, "") for name in NOTED_VARIABLES}
