"""Facts of sampled device memory: what the process and the device use, and what each component holds."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from drynpu.raw import RecordKind, device_kind, in_range, layout, reserved_is_zero

APP, DEVICE = 0, 1
"""What a sample is about: the process or the whole device."""

NPU_MEM = RecordKind(
    name="npu_mem",
    side="device",
    stem="npu_mem.data",
    dtype=layout(
        32,
        ("time_us", "<u4", 0),  # since the device's counters were read
        ("event", "<u4", 4),  # APP or DEVICE
        ("ddr_bytes", "<u8", 16),
        ("hbm_bytes", "<u8", 24),
    ),
    plausible=in_range(reserved_is_zero(8, 8), event=(APP, DEVICE)),
    also=("npu_mem.app",),
)
"""A sample of the device memory in use (``IIQQQ`` of Ascend/msprof analysis/msparser/npu_mem/npu_mem_bean.py)."""

NPU_MEM_2 = RecordKind(
    name="npu_mem_2",
    side="device",
    stem="npu_mem.data",
    dtype=layout(
        32,
        ("event", "<u4", 4),
        ("time_us", "<u8", 8),
        ("ddr_bytes", "<u8", 16),
        ("hbm_bytes", "<u8", 24),
    ),
    plausible=in_range(reserved_is_zero(0), event=(APP, DEVICE)),
    also=("npu_mem.app",),
)
"""The same in a recording whose info.json has version 2.0."""

NPU_MEM_BY_VERSION: Mapping[str, RecordKind] = MappingProxyType({"2.0": NPU_MEM_2})
"""By ``version`` of info.json; any other has `NPU_MEM`."""

NPU_MODULE_MEM = device_kind(
    "npu_module_mem",
    "npu_module_mem.data",
    layout(24, ("module_id", "<u4", 0), ("host_time", "<u8", 8), ("reserved_bytes", "<u8", 16)),
    reserved_is_zero(4),
)
"""
A sample of the memory a component holds, at a raw time of the host (Ascend/msprof
analysis/viewer/npu_mem/npu_module_mem_viewer.py).
"""

KINDS: tuple[RecordKind, ...] = (NPU_MEM, NPU_MEM_2, NPU_MODULE_MEM)

# The numbers of ENUM_MODULE have gaps; the page lists a part, the rest is Ascend/msprof db_constant.h.
_MODULES = {
    0: "SLOG IDEDD SCC HCCL FMK CCU DVPP RUNTIME CCE HDC DRV NET",
    22: "DEVMM KERNEL LIBMEDIA CCECPU",
    27: "ROS HCCP ROCE TEFUSION PROFILING DP APP TS TSDUMP AICPU LP TDT FE MD MB ME IMU IMP GE",
    47: "CAMERA ASCENDCL TEEOS ISP SIS HSM DSS PROCMGR BBOX AIVECTOR TBE FV",
    60: "TUNE HSS FFTS OP UDF HICAID TSYNC AUDIO TPRT ASCENDCKERNEL ASYS ATRACE RTC SYSMONITOR AMP ADETECT MBUFF",
    77: "CUSTOM",
}
MODULE_NAMES: Mapping[int, str] = MappingProxyType(
    {number: name for first, text in _MODULES.items() for number, name in enumerate(text.split(), start=first)}
)
"""Components of npu_module_mem (cann_msprof.md 4.6, ENUM_MODULE)."""
