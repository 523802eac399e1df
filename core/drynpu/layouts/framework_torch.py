"""Facts of torch's host events: the records of the ``FRAMEWORK`` files (torch_npu_profiler.md 3.7)."""

from __future__ import annotations

import enum

from drynpu.raw import layout


class FrameworkRecord(enum.IntEnum):
    """Record type of the TLV files in ``FRAMEWORK`` (torch_npu_profiler.md 3.7)."""

    OP_RANGE = 1
    OP_MARK = 2
    MEMORY_USAGE = 3
    PYTHON_HASH = 4
    PARAM_INFO = 5


class OpRangeField(enum.IntEnum):
    """Text fields of torch.op_range (torch_npu_profiler.md 3.7)."""

    NAME = 2
    INPUT_DTYPES = 3
    INPUT_SHAPES = 4
    INPUT_TENSORS = 5
    TENSOR_LISTS = 6
    SCALARS = 7
    CALL_STACK = 8
    MODULE_HIERARCHY = 9
    EXTRA_ARGS = 10


OP_RANGE = layout(
    58,
    ("start", "<i8", 0),
    ("end", "<i8", 8),
    ("sequence", "<i8", 16),
    ("pid", "<u8", 24),
    ("start_tid", "<u8", 32),
    ("end_tid", "<u8", 40),
    ("forward_tid", "<u8", 48),
    ("scope", "u1", 56),
    ("is_async", "?", 57),
)
"""Fixed part of a torch.op_range record: one framework operator. Times are raw host times."""

OP_MARK = layout(
    40,
    ("time", "<i8", 0),
    ("category", "<u8", 8),  # 0/1 enqueue start/end, 2/3 dequeue start/end
    ("correlation_id", "<u8", 16),
    ("tid", "<u8", 24),
    ("pid", "<u8", 32),
)
"""Fixed part of a torch.op_mark record: one side of the task queue."""

MEMORY_USAGE = layout(
    77,
    ("pointer", "<i8", 0),
    ("time", "<i8", 8),
    ("size_bytes", "<i8", 16),  # negative when released
    ("total_allocated_bytes", "<i8", 24),
    ("total_reserved_bytes", "<i8", 32),
    ("total_active_bytes", "<i8", 40),
    ("stream", "<i8", 48),
    ("device_type", "i1", 56),  # 20 NPU, 0 CPU
    ("device_index", "i1", 57),
    ("component", "u1", 58),  # 0 caching allocator, 1 workspace
    ("action", "u1", 59),  # MALLOC, FREE, BLOCK_FREE
    ("allocator", "u1", 60),  # 0 inner
    ("tid", "<u8", 61),
    ("pid", "<u8", 69),
)
"""Fixed part of a torch.memory_usage record: one allocator event."""

MALLOC, FREE, BLOCK_FREE = 0, 1, 2
"""Actions of the allocator: a block is taken, its tensor is freed, the block goes back to the pool."""

HASH_KEY = layout(8, ("key", "<u8", 0))
"""Fixed part of torch.python_tracer_hash and torch.param_tensor_info records."""

MARK_NAME, HASH_VALUE = 1, 1
"""Number of the one text of a record of torch.op_mark, and of torch.python_tracer_hash."""

PYTHON_TRACER_FUNC = layout(
    33,
    ("time", "<u8", 0),
    ("tid", "<u8", 8),
    ("pid", "<u8", 16),
    ("key", "<u8", 24),
    ("tag", "u1", 32),  # 0 Python call, 1 Python return, 2 C call, 3 C return
)
"""One record of the flat file torch.python_tracer_func."""

GC_RECORD = layout(24, ("pid", "<u8", 0), ("start", "<u8", 8), ("end", "<u8", 16))
"""One record of the flat file torch.gc_record."""

MODULE_PREFIX, MODULE_MARK = "nn.Module: ", "######"
"""A call of a module in a call stack: what its frame begins with, and what stands between its class and its object."""

MARK_OPERATOR = "mstx_"
"""Begins the name of an operator that sets a mark; the vendor's tables have these last (torch_npu_profiler.md 4.16)."""
