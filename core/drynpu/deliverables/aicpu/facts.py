"""Facts of the AI CPU: what it says about its kernels and about the data queue (Ascend/msprof AicpuAddInfo beans)."""

from __future__ import annotations

from drynpu.raw import RecordKind, aicpu_record

OPTION = "switches.aicpu"

UNKNOWN_SIZE = 2**32 - 1
"""Our own size of a queue whose elements nobody counted: the toolkit's mark of what is not there (MODEL_ID_NONE)."""

AICPU_NODE = aicpu_record(
    "aicpu_node",
    0,
    119,
    ("stream_id", "<u2", 24),
    ("task_id", "<u2", 26),
    ("run_start_us", "<u8", 32),
    ("run_start_tick", "<u8", 40),
    ("compute_start_us", "<u8", 48),
    ("memcpy_start_us", "<u8", 56),
    ("memcpy_end_us", "<u8", 64),
    ("run_end_us", "<u8", 72),
    ("run_end_tick", "<u8", 80),
    ("kernel_thread_id", "<u4", 88),
    ("device_id", "<u4", 92),
    ("submit_tick", "<u8", 96),
    ("schedule_tick", "<u8", 104),
    ("before_run_tick", "<u8", 112),
    ("after_run_tick", "<u8", 120),
    ("kernel_type", "<u4", 128),
    ("dispatch_us", "<u4", 132),
    ("total_us", "<u4", 136),
    ("ffts_thread_id", "<u2", 140),
    ("version", "u1", 142),
)
"""
One AI CPU kernel. The task lies between the two run ticks, and readers pass over records without them; computing
lies between ``compute_start_us`` and ``memcpy_start_us``, copying between that and ``memcpy_end_us``.
"""

AICPU_DATA_PREPARATION = aicpu_record(
    "aicpu_data_preparation",
    1,
    96,
    ("action", "S16", 24),  # text, zero bytes behind it
    ("source", "S64", 40),  # text, zero bytes behind it
    ("index", "<u8", 104),
    ("size", "<u8", 112),  # elements waiting in the buffer
)
"""
One step of the data preparation queue; the timestamp of the header is ns of the monotonic clock (Ascend/msprof
aicpu_add_info_parser save_aicpu_dp_data).
"""

AICPU_MODEL = aicpu_record(
    "aicpu_model",
    2,
    24,
    ("index_id", "<u8", 24),
    ("model_id", "<u4", 32),
    ("tag_id", "<u2", 36),
    ("event_id", "<u8", 40),
)
"""One event of a model that the AI CPU runs; the timestamp of the header is a device tick."""

AICPU_QUEUE = aicpu_record(
    "aicpu_queue",
    3,
    32,
    ("node_tag", "<u4", 24),  # QUEUE_NODES
    ("queue_size", "<u8", 32),
    ("start_us", "<u8", 40),
    ("end_us", "<u8", 48),
)
"""One wait of a MindSpore queue node."""

QUEUE_NODES = {1: "GetNext_dequeue_wait"}
"""``node_tag`` of aicpu_queue -> the node that waits (Ascend/msprof data_preparation parser)."""

KINDS: tuple[RecordKind, ...] = (AICPU_NODE, AICPU_DATA_PREPARATION, AICPU_MODEL, AICPU_QUEUE)

README = {
    "aicpu.csv": "AI CPU kernels: compute, copy, dispatch.",
    "aicpu_mi.csv": "Waits for the data queue.",
    "dp.csv": "Events of the data preprocessing queue.",
}
