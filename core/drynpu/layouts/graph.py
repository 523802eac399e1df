"""Facts of compiled graphs: their models, fused operators and iterations."""

from __future__ import annotations

from drynpu.layouts.tasks import NodeType, RuntimeType
from drynpu.raw import HostLevel, RecordKind, additional_info, compact_info, ts_track_record

FUSION_OPS_PER_RECORD = 8
"""Fused operators that one fusion_op_info record can name."""

FUSION_OP_INFO = additional_info(
    "fusion_op_info",
    HostLevel.NODE,
    NodeType.FUSION_OP_INFO,
    116,
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

GRAPH_ID_MAP = additional_info(
    "graph_id_map",
    HostLevel.MODEL,
    0,
    16,
    ("model_name", "<u8", 24),  # text id
    ("graph_id", "<u4", 32),
    ("model_id", "<u4", 36),
)
"""Which graph a loaded model came from (cann_msprof.md 7.3)."""

CAPTURE_STREAM_INFO = compact_info(
    "capture_stream_info",
    HostLevel.RUNTIME,
    RuntimeType.CAPTURE_STREAM_INFO,
    10,
    ("status", "<u2", 24),  # 0 captured, 1 destroyed
    ("model_stream", "<u2", 26),  # on which the graph runs
    ("original_stream", "<u2", 28),  # on which the script issued
    ("model_id", "<u2", 30),
    ("device_id", "<u2", 32),
)
"""
Which stream runs what was captured from another. The runtime reports it, and the tasks of the graph with the times of
their capture, when the graph is launched for the first time in a recording (hicann/runtime
src/runtime/feature/aclgraph/capture_model.cc).
"""

TS_TRACK_STEP = ts_track_record(
    "ts_track_step",
    0x0A,
    ("index_id", "<u8", 16),
    ("model_id", "<u8", 24),
    ("stream_id", "<u2", 32),
    ("task_id", "<u2", 34),
    ("tag_id", "<u2", 36),
)
"""One record of the step trace."""

TS_TRACK_STEP_V6 = ts_track_record(
    "ts_track_step_v6",
    0x0A,
    ("index_id", "<u8", 16),
    ("model_id", "<u8", 24),
    ("tag_id", "<u2", 32),
    ("stream_id", "<u2", 34),
    ("task_id", "<u4", 36),
)
"""The same on the 950 (``BBHLQQQHHI`` of Ascend/msprof analysis/msparser/data_struct_size_constant.py)."""

STEP_RECORDS = {kind.name: kind for kind in (TS_TRACK_STEP, TS_TRACK_STEP_V6)}

# cann_msprof.md 5: the tag of a step trace record says which key point of an iteration it is. Reductions and readers of
# the data queue are numbered from these on, two tags each: begin and end.
REDUCE_TAG, GET_NEXT_TAG = 10_000, 20_000
STEP_START_TAG, STEP_END_TAG = 60_000, 60_001

GET_NEXT = "GetNext"
"""Operator type that takes data from the queue (cann_msprof.md 5)."""

KINDS: tuple[RecordKind, ...] = (FUSION_OP_INFO, GRAPH_ID_MAP, CAPTURE_STREAM_INFO, TS_TRACK_STEP, TS_TRACK_STEP_V6)
