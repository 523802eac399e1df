"""Facts of the memory of operators: what they allocate and release, and what a static graph plans for them."""

from __future__ import annotations

from drynpu.layouts.tasks import NodeType
from drynpu.raw import HostLevel, RecordKind, additional_info

NPU_DEVICE_TYPE = 20
"""``device_type`` of an NPU, as torch numbers its kinds of device (torch_npu_profiler.md 3.7)."""
COMPONENT = "GE"
"""Who allocates: the graph engine, as the toolkit names it."""
ALLOCATE, RELEASE = "allocate", "release"
"""Types of NPU_OP_MEM (Ascend/msprof npu_op_mem_processor.cpp)."""

TASK_MEMORY_INFO = additional_info(
    "task_memory_info",
    HostLevel.NODE,
    NodeType.TASK_MEMORY_INFO,
    48,
    ("address", "<u8", 24),
    ("size_bytes", "<i8", 32),  # negative when released
    ("node_id", "<u8", 40),  # text id
    ("total_allocated_bytes", "<u8", 48),
    ("total_reserved_bytes", "<u8", 56),
    ("device_id", "<u4", 64),
    ("device_type", "<u4", 68),
)
"""One allocation or release for an operator."""

STATIC_OP_MEM = additional_info(
    "static_op_mem",
    HostLevel.NODE,
    NodeType.STATIC_OP_MEM,
    52,
    ("size_bytes", "<i8", 24),
    ("op_name", "<u8", 32),  # text id; 0 is the graph as a whole
    ("life_start", "<u8", 40),
    ("life_end", "<u8", 48),
    ("total_allocated_bytes", "<u8", 56),
    ("dynamic_op_name", "<u8", 64),  # text id
    ("graph_id", "<u4", 72),
)
"""Memory of an operator of a static graph; its life counts nodes, not time (cann_msprof.md 7.3)."""

LIFE_TO_THE_END = 4294967294
"""Last node of memory that lives as long as the graph; shown as 4294967295 (Ascend/msprof static_op_mem_bean)."""

KINDS: tuple[RecordKind, ...] = (TASK_MEMORY_INFO, STATIC_OP_MEM)
