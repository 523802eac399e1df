"""Host records: API calls and what compact and additional information says about operators and tasks."""

from __future__ import annotations

from drynpu.raw.layouts._base import behind_header, layout

__all__ = [
    "API_EVENT",
    "CONTEXT_IDS_PER_RECORD",
    "CONTEXT_ID_INFO",
    "FUSION_OPS_PER_RECORD",
    "FUSION_OP_INFO",
    "GRAPH_ID_MAP",
    "HCCL_OP_INFO",
    "MEMCPY_INFO",
    "NODE_ATTR_INFO",
    "NODE_BASIC_INFO",
    "TASK_TRACK",
    "TENSOR",
    "TENSORS_PER_RECORD",
    "TENSOR_INFO",
]

TENSORS_PER_RECORD = 5
"""Tensors that fit in one tensor_info record; an operator with more of them has several records."""

CONTEXT_IDS_PER_RECORD = 55
"""Context ids that fit in one context_id_info record."""

FUSION_OPS_PER_RECORD = 8
"""Fused operators that one fusion_op_info record can name."""

API_EVENT = layout(
    40,
    ("magic", "<u2", 0),
    ("level", "<u2", 2),
    ("type", "<u4", 4),
    ("thread_id", "<u4", 8),
    ("request_id", "<u4", 12),
    ("begin", "<u8", 16),
    ("end", "<u8", 24),
    ("item_id", "<u8", 32),
)
"""
One host API call, or one half of a call: a record whose ``end`` is all ones is an event whose time is ``begin``,
and two events with equal (level, type, thread_id, request_id, item_id) make one call. Times are raw host times.
"""

NODE_BASIC_INFO = behind_header(
    64,
    ("op_name", "<u8", 24),  # text id
    ("task_type", "<u4", 32),  # GE task type
    ("op_type", "<u8", 36),  # text id
    ("block_dim", "<u4", 44),  # low 16 bits blocks, high 16 bits mix blocks
    ("op_flag", "<u4", 48),  # bit 0 HF32
)
"""What an operator is, reported inside its node API call."""

NODE_ATTR_INFO = behind_header(
    64,
    ("op_name", "<u8", 24),  # text id
    ("attr_type", "<u4", 32),  # 0 operator attributes
    ("hash_id", "<u8", 36),  # text id of the attributes
)
"""Attributes of an operator as one text (packed; hicann/runtime MsprofAttrInfo, Ascend/msprof NODE_ATTR_INFO_FMT)."""

TASK_TRACK = behind_header(
    64,
    ("device_id", "<u2", 24),  # low 12 bits; the high four are 0 for an NPU
    ("stream_id", "<u2", 26),
    ("task_id", "<u2", 28),  # with batch_id one u32: the unique task id of the newer layout
    ("batch_id", "<u2", 30),
    ("task_type", "<u8", 32),  # type id of the runtime level
    ("kernel_name", "<u8", 40),  # text id
    ("num_blocks", "<u2", 48),
    ("args_size", "<u2", 50),
)
"""One task handed to a stream, reported inside the runtime API call that launched it."""

MEMCPY_INFO = behind_header(
    64,
    ("size_bytes", "<u8", 24),
    ("copy_kind", "<u2", 32),
    ("device_id", "<u2", 34),
    ("stream_id", "<u4", 36),
)
"""One memory copy."""

HCCL_OP_INFO = behind_header(
    64,
    ("flags", "u1", 24),  # bit 0 relay, bit 1 retry
    ("data_type", "u1", 25),
    ("alg_type", "<u8", 26),  # text id
    ("count", "<u8", 34),  # elements
    ("group_name", "<u8", 42),  # text id
)
"""One whole communication operator."""

TENSOR = layout(
    44,
    ("direction", "<u4", 0),  # 0 input, 1 output
    ("format", "<u4", 4),
    ("data_type", "<u4", 8),
    ("shape", ("<u4", (8,)), 12),  # unused dimensions are 0
)

TENSOR_INFO = behind_header(
    256,
    ("op_name", "<u8", 24),  # text id
    ("tensor_num", "<u4", 32),
    ("tensors", (TENSOR, (TENSORS_PER_RECORD,)), 36),
)
"""Up to five tensors of an operator, reported inside its node API call."""

CONTEXT_ID_INFO = behind_header(
    256,
    ("op_name", "<u8", 24),  # text id
    ("count", "<u4", 32),
    ("ids", ("<u4", (CONTEXT_IDS_PER_RECORD,)), 36),  # the first ``count`` are meant
)
"""The FFTS+ contexts (sub-task ids) that belong to an operator (cann_msprof.md 7.3)."""

FUSION_OP_INFO = behind_header(
    256,
    ("op_name", "<u8", 24),  # text id
    ("count", "<u4", 32),
    ("input_bytes", "<u8", 36),
    ("output_bytes", "<u8", 44),
    ("weight_bytes", "<u8", 52),
    ("workspace_bytes", "<u8", 60),
    ("total_bytes", "<u8", 68),
    ("fusion_op_names", ("<u8", (FUSION_OPS_PER_RECORD,)), 76),  # text ids; the first ``count`` are meant
)
"""The operators a fused operator was made of, and its memory (packed; cann_msprof.md 7.3)."""

GRAPH_ID_MAP = behind_header(
    256,
    ("model_name", "<u8", 24),  # text id
    ("graph_id", "<u4", 32),
    ("model_id", "<u4", 36),
)
"""Which graph a loaded model came from (cann_msprof.md 7.3)."""
