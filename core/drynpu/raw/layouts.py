"""
The record layouts of a profile, one declaration each, used by the writer and the reader alike.

Every dtype is packed and little-endian; bytes that the reference calls reserved have no field and stay zero.
Offsets are those of cann_msprof.md 7.3 and 7.4 for ``PROF_XXX`` and of torch_npu_profiler.md 3.7 for ``FRAMEWORK``.
"""

from __future__ import annotations

import numpy as np

__all__ = [
    "API_EVENT",
    "FFTS_PROFILE",
    "FREQ_POINT",
    "FREQ_POINTS",
    "GC_RECORD",
    "HASH_KEY",
    "HCCL_OP_INFO",
    "LPM_FREQ",
    "MEMCPY_INFO",
    "MEMORY_USAGE",
    "NODE_BASIC_INFO",
    "NPU_MEM",
    "NPU_MODULE_MEM",
    "OP_MARK",
    "OP_RANGE",
    "PYTHON_TRACER_FUNC",
    "STARS_SOC",
    "TASK_MEMORY_INFO",
    "TASK_TRACK",
    "TENSOR",
    "TENSORS_PER_RECORD",
    "TENSOR_INFO",
    "TS_TRACK_FLIP",
    "TS_TRACK_STEP",
]

TENSORS_PER_RECORD = 5
"""Tensors that fit in one tensor_info record; an operator with more of them has several records."""

FREQ_POINTS = 55
"""Frequency changes that fit in one lpmFreqConv record."""

_Spec = tuple[str, object, int]


def _layout(size: int, *fields: _Spec) -> np.dtype[np.void]:
    """Describe a packed record of ``size`` bytes by (name, format, offset) triples."""
    names, formats, offsets = zip(*fields, strict=True)
    return np.dtype({"names": list(names), "formats": list(formats), "offsets": list(offsets), "itemsize": size})


def _compact(size: int, *fields: _Spec) -> np.dtype[np.void]:
    """Describe a record behind the 24-byte header that compact (64 B) and additional (256 B) information share."""
    header: tuple[_Spec, ...] = (
        ("magic", "<u2", 0),
        ("level", "<u2", 2),
        ("type", "<u4", 4),
        ("thread_id", "<u4", 8),
        ("data_len", "<u4", 12),
        ("timestamp", "<u8", 16),
    )
    return _layout(size, *header, *fields)


API_EVENT = _layout(
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

NODE_BASIC_INFO = _compact(
    64,
    ("op_name", "<u8", 24),  # text id
    ("task_type", "<u4", 32),  # GE task type
    ("op_type", "<u8", 36),  # text id
    ("block_dim", "<u4", 44),  # low 16 bits blocks, high 16 bits mix blocks
    ("op_flag", "<u4", 48),  # bit 0 HF32
)
"""What an operator is, reported inside its node API call."""

TASK_TRACK = _compact(
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

MEMCPY_INFO = _compact(
    64,
    ("size_bytes", "<u8", 24),
    ("copy_kind", "<u2", 32),
    ("device_id", "<u2", 34),
    ("stream_id", "<u4", 36),
)
"""One memory copy."""

HCCL_OP_INFO = _compact(
    64,
    ("flags", "u1", 24),  # bit 0 relay, bit 1 retry
    ("data_type", "u1", 25),
    ("alg_type", "<u8", 26),  # text id
    ("count", "<u8", 34),  # elements
    ("group_name", "<u8", 42),  # text id
)
"""One whole communication operator."""

TENSOR = _layout(
    44,
    ("direction", "<u4", 0),  # 0 input, 1 output
    ("format", "<u4", 4),
    ("data_type", "<u4", 8),
    ("shape", ("<u4", (8,)), 12),  # unused dimensions are 0
)

TENSOR_INFO = _compact(
    256,
    ("op_name", "<u8", 24),  # text id
    ("tensor_num", "<u4", 32),
    ("tensors", (TENSOR, (TENSORS_PER_RECORD,)), 36),
)
"""Up to five tensors of an operator, reported inside its node API call."""

TASK_MEMORY_INFO = _compact(
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

STARS_SOC = _layout(
    64,
    ("header", "<u2", 0),  # pack_stars_header
    ("magic", "<u2", 2),
    ("stream_id", "<u2", 4),
    ("task_id", "<u2", 6),
    ("tick", "<u8", 8),
    ("sub_task_type", "u1", 16),  # 16..23 are for FFTS+ sub-tasks
    ("sub_task_id", "<u2", 18),
    ("ffts", "<u2", 20),  # 13 bits reserved, then 3 bits type
    ("thread_id", "<u2", 22),
)
"""Start or end of a task (functions 0 and 1) or of an FFTS+ sub-task (0x22 and 0x23)."""

FFTS_PROFILE = _layout(
    128,
    ("header", "<u2", 0),
    ("magic", "<u2", 2),
    ("stream_id", "<u2", 4),
    ("task_id", "<u2", 6),
    ("sub_task", "<u2", 16),  # low 8 bits type, bit 10 overflow
    ("sub_task_id", "<u2", 18),
    ("ffts", "<u2", 20),  # 13 bits reserved, then 3 bits type
    ("total_cycles", "<u8", 32),
    ("pmu", ("<u8", (8,)), 48),  # in the order of the events in sample.json
    ("start_tick", "<u8", 112),
    ("end_tick", "<u8", 120),
)
"""Counters of one task (function 0x28) or of one block (0x29)."""

TS_TRACK_STEP = _layout(
    40,
    ("mode", "u1", 0),
    ("function", "u1", 1),
    ("size", "<u2", 2),
    ("tick", "<u8", 8),
    ("index_id", "<u8", 16),
    ("model_id", "<u8", 24),
    ("stream_id", "<u2", 32),
    ("task_id", "<u2", 34),
    ("tag_id", "<u2", 36),
)
"""One mark of the step trace (function 0x0a)."""

TS_TRACK_FLIP = _layout(
    40,
    ("mode", "u1", 0),
    ("function", "u1", 1),
    ("size", "<u2", 2),
    ("tick", "<u8", 8),
    ("stream_id", "<u2", 16),
    ("flip_number", "<u2", 18),
    ("task_id", "<u2", 22),
)
"""
A stream's 16-bit task ids begin again at ``task_id`` (function 0x0e); 65535 says that the stream was destroyed.
Tasks at or after ``tick`` on that stream belong to the next batch.
"""

NPU_MEM = _layout(
    32,
    ("event", "<u4", 0),  # 0 app, 1 device
    ("ddr_bytes", "<u8", 8),
    ("hbm_bytes", "<u8", 16),
    ("tick", "<u8", 24),
)
"""A sample of the device memory in use."""

NPU_MODULE_MEM = _layout(
    24,
    ("module_id", "<u4", 0),
    ("tick", "<u8", 8),
    ("reserved_bytes", "<u8", 16),
)
"""A sample of the memory a component holds."""

FREQ_POINT = _layout(16, ("tick", "<u8", 0), ("mhz", "<u4", 8))

LPM_FREQ = _layout(888, ("count", "<u4", 0), ("points", (FREQ_POINT, (FREQ_POINTS,)), 8))
"""Up to 55 changes of the AI core frequency; the first ``count`` are meant."""

OP_RANGE = _layout(
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

OP_MARK = _layout(
    40,
    ("time", "<i8", 0),
    ("category", "<u8", 8),  # 0/1 enqueue start/end, 2/3 dequeue start/end
    ("correlation_id", "<u8", 16),
    ("tid", "<u8", 24),
    ("pid", "<u8", 32),
)
"""Fixed part of a torch.op_mark record: one side of the task queue."""

MEMORY_USAGE = _layout(
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
    ("action", "u1", 59),  # 0 malloc, 1 free, 2 block free
    ("allocator", "u1", 60),  # 0 inner
    ("tid", "<u8", 61),
    ("pid", "<u8", 69),
)
"""Fixed part of a torch.memory_usage record: one allocator event."""

HASH_KEY = _layout(8, ("key", "<u8", 0))
"""Fixed part of torch.python_tracer_hash and torch.param_tensor_info records."""

PYTHON_TRACER_FUNC = _layout(
    33,
    ("time", "<u8", 0),
    ("tid", "<u8", 8),
    ("pid", "<u8", 16),
    ("key", "<u8", 24),
    ("tag", "u1", 32),  # 0 Python call, 1 Python return, 2 C call, 3 C return
)
"""One record of the flat file torch.python_tracer_func."""

GC_RECORD = _layout(24, ("pid", "<u8", 0), ("start", "<u8", 8), ("end", "<u8", 16))
"""One record of the flat file torch.gc_record."""
