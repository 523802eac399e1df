"""Facts of sampled device memory: what the process and the device use, and what each component holds."""

from __future__ import annotations

from drynpu.raw import RecordKind, device_kind, in_range, layout, reserved_is_zero

NPU_MEM = RecordKind(
    name="npu_mem",
    side="device",
    stem="npu_mem.data",
    dtype=layout(
        32,
        ("event", "<u4", 0),  # 0 app, 1 device
        ("ddr_bytes", "<u8", 8),
        ("hbm_bytes", "<u8", 16),
        ("tick", "<u8", 24),
    ),
    plausible=in_range(reserved_is_zero(4), event=(0, 1)),
    also=("npu_mem.app",),
)
"""A sample of the device memory in use."""

NPU_MODULE_MEM = device_kind(
    "npu_module_mem",
    "npu_module_mem.data",
    layout(24, ("module_id", "<u4", 0), ("tick", "<u8", 8), ("reserved_bytes", "<u8", 16)),
    reserved_is_zero(4),
)
"""A sample of the memory a component holds."""

KINDS: tuple[RecordKind, ...] = (NPU_MEM, NPU_MODULE_MEM)
