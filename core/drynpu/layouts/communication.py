"""Facts of collective communication: its operators and their tasks."""

from __future__ import annotations

from drynpu.layouts.tasks import NodeType
from drynpu.raw import HostLevel, RecordKind, additional_info, compact_info

HCCL_OP_INFO = compact_info(
    "hccl_op_info",
    HostLevel.NODE,
    NodeType.HCCL_OP_INFO,
    26,
    ("flags", "u1", 24),  # bit 0 relay, bit 1 retry
    ("data_type", "u1", 25),
    ("alg_type", "<u8", 26),  # text id
    ("count", "<u8", 34),  # elements
    ("group_name", "<u8", 42),  # text id
)
"""One whole communication operator."""

HCCL_INFO = additional_info(
    "hccl_info",
    HostLevel.COMMUNICATION,
    0,  # the communication library registers its type names in order, this one first
    116,
    ("item_id", "<u8", 24),  # text id of the task's name
    ("ccl_tag", "<u8", 32),  # text id
    ("group_name", "<u8", 40),  # text id
    ("local_rank", "<u4", 48),
    ("remote_rank", "<u4", 52),
    ("rank_size", "<u4", 56),
    ("work_flow_mode", "<u4", 60),
    ("plane_id", "<u4", 64),
    ("context_id", "<u4", 68),
    ("notify_id", "<u8", 72),
    ("stage", "<u4", 80),
    ("role", "<u4", 84),
    ("duration_estimated_us", "<f8", 88),
    ("src_address", "<u8", 96),
    ("dst_address", "<u8", 104),
    ("size_bytes", "<u8", 112),
    ("op_type", "<u4", 120),
    ("data_type", "<u4", 124),
    ("link_type", "<u4", 128),
    ("transport_type", "<u4", 132),
    ("rdma_type", "<u4", 136),
)
"""One task of a communication operator (cann_msprof.md 7.3); numbers that do not apply are all ones."""

KINDS: tuple[RecordKind, ...] = (HCCL_OP_INFO, HCCL_INFO)
