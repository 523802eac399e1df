"""Host records that report something besides an operator: communication tasks, memory, user marks."""

from __future__ import annotations

from drynpu.raw.layouts._base import behind_header

__all__ = [
    "HCCL_INFO",
    "MSPROFTX",
    "STATIC_OP_MEM",
    "TASK_MEMORY_INFO",
    "TX_MESSAGE_BYTES",
]

TX_MESSAGE_BYTES = 156
"""Bytes of a msproftx message, the terminating zero byte among them."""

HCCL_INFO = behind_header(
    256,
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

TASK_MEMORY_INFO = behind_header(
    256,
    ("address", "<u8", 24),
    ("size_bytes", "<i8", 32),  # negative when released
    ("node_id", "<u8", 40),  # text id
    ("total_allocated_bytes", "<u8", 48),
    ("total_reserved_bytes", "<u8", 56),
    ("device_id", "<u4", 64),
    ("device_type", "<u4", 68),
)
"""One allocation or release for an operator."""

STATIC_OP_MEM = behind_header(
    256,
    ("size_bytes", "<i8", 24),
    ("op_name", "<u8", 32),  # text id; 0 is the graph as a whole
    ("life_start", "<u8", 40),
    ("life_end", "<u8", 48),
    ("total_allocated_bytes", "<u8", 56),
    ("dynamic_op_name", "<u8", 64),  # text id
    ("graph_id", "<u4", 72),
)
"""Memory of an operator of a static graph; its life counts nodes, not time (cann_msprof.md 7.3)."""

MSPROFTX = behind_header(
    256,
    ("info_type", "<u2", 24),  # 0 mark or range, 1 extended mark
    ("segment", "<u2", 26),  # extended marks: which part of a long message
    ("stamp_magic", "<u2", 32),
    ("data_tag", "<u2", 34),
    ("pid", "<u4", 36),
    ("tid", "<u4", 40),
    ("category", "<u4", 44),
    ("event_type", "<u4", 48),  # TxEvent
    ("payload_type", "<i4", 52),
    ("payload", "<u8", 56),
    ("start", "<u8", 64),
    ("end", "<u8", 72),
    ("mark_id", "<u8", 80),
    ("domain", "<u8", 88),  # text id
    ("message_type", "<i4", 96),
    ("message", f"S{TX_MESSAGE_BYTES}", 100),  # UTF-8, ended by a zero byte
)
"""
One mark or range of the user (cann_msprof.md 7.3). Times are raw host times; a mark on a stream has as its
``mark_id`` the ``index_id`` of the ts_track_step record that the device leaves.
"""
