"""Tables of MindSpore's ``FRAMEWORK`` files that no other framework has (mindspore_profiler.md 11)."""

from __future__ import annotations

import polars as pl

FRAMEWORK_EVENTS = pl.Schema(
    {
        "name": pl.String,  # as shown: module::event::name, or what stands for it
        "module": pl.String,  # of events from the graph executor's own words, "" otherwise
        "start_ns": pl.Int64,
        "end_ns": pl.Int64,  # the start itself: an instant
        "pid": pl.Int64,
        "tid": pl.Int64,
        "step": pl.Int64,
        "flow_id": pl.Int64,  # null: none
        "is_flow": pl.Boolean,  # begins the flow; else an event that ends it
        "is_stack": pl.Boolean,
        "custom_info": pl.String,
        "position": pl.Int64,  # in the file, which is not ordered by start; null in results without it
    }
)
"""mindspore.op_range: one row per event, in order of start."""

HOST_CPU_OPS = pl.Schema(
    {
        "name": pl.String,
        "op_type": pl.String,
        "start_ns": pl.Int64,
        "duration_ns": pl.Int64,
        "tid": pl.Int64,
    }
)
"""cpu_op_execute_timestamp: one row per run of an operator on the host."""

OPERATOR_SHAPES = pl.Schema({"name": pl.String, "input_shapes": pl.String, "input_dtypes": pl.String})
"""mindspore.record_shapes: one row per operator, in the order of the calls."""

FRAMEWORK_MEMORY = pl.Schema(
    {
        "name": pl.String,  # operator
        "device_id": pl.Int64,
        "tid": pl.Int64,
        "pid": pl.Int64,
        "time_ns": pl.Int64,
        "address": pl.UInt64,
        "size_bytes": pl.Int64,  # null: released
        "used_bytes": pl.Int64,
        "reserved_bytes": pl.Int64,
        "stream_ptr": pl.UInt64,
    }
)
"""mindspore.memory_usage: one row per event of the allocator, in order of time."""

MEMORY_TOTALS = pl.Schema(
    {"time_ns": pl.Int64, "allocated_bytes": pl.Int64, "reserved_bytes": pl.Int64, "active_bytes": pl.Int64}
)
"""cpu_ms_memory_record: what the framework held after each event of the allocator."""

PIPELINE_OPS = pl.Schema(
    [
        ("op_id", pl.Int64),
        ("op_type", pl.String),  # BatchOp
        ("num_workers", pl.Int64),
        ("children", pl.List(pl.Int64)),  # null where the file names none
        ("queue_sizes", pl.List(pl.Int64)),  # null: no output queue
        ("queue_length", pl.Int64),
        ("sample_interval", pl.Int64),  # ms
        ("cpu_pct", pl.List(pl.Float64)),  # user and system time per sample; null where the file has none
    ]
)
"""pipeline_profiling and minddata_cpu_utilization: one row per operator of the data pipeline."""

PIPELINE_TIMES = pl.Schema(
    {
        "record": pl.Int64,  # 0 time, 1 size of the connector
        "part": pl.Int64,  # of a time: 0 pipeline, 1 push to the device, 2 whole batch
        "batch": pl.Int64,
        "value": pl.Int64,  # ms, or entries
        "time_ms": pl.Int64,
        "is_device_queue": pl.Boolean,  # else the iterator of the host
    }
)
"""device_queue_profiling or dataset_iterator_profiling, in the order of the file."""

PIPELINE_CPU = pl.Schema(
    [
        ("owner", pl.String),  # machine or process
        ("measure", pl.String),  # of the file: user_utilization (percent), runnable_process, context_switch_count
        ("values", pl.List(pl.Float64)),  # one for each sample
        ("cores", pl.Int64),
        ("sample_interval", pl.Int64),  # ms
    ]
)
"""minddata_cpu_utilization: what the processors did while the data pipeline ran, a row for each measure."""

SCHEMAS = {
    "framework_events": FRAMEWORK_EVENTS,
    "host_cpu_ops": HOST_CPU_OPS,
    "operator_shapes": OPERATOR_SHAPES,
    "framework_memory": FRAMEWORK_MEMORY,
    "memory_totals": MEMORY_TOTALS,
    "pipeline_ops": PIPELINE_OPS,
    "pipeline_times": PIPELINE_TIMES,
    "pipeline_cpu": PIPELINE_CPU,
}
