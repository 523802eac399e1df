"""
Schemas of the columnar tables that everything after the raw records works on.

One row type per table; times are Unix nanoseconds (``_ns``, Int64), durations nanoseconds, sizes bytes.
Unknown text is the empty string in the table and becomes ``N/A`` (or an empty cell) where it is written.
"""

from __future__ import annotations

import polars as pl

NO_CONTEXT = 4294967295
"""Context id of a whole task (``N/A`` in op_summary)."""

NO_MODEL = 4294967295
"""Model id of an operator launched on its own, outside any graph."""

STEP_PREFIX = "ProfilerStep#"
"""Begins the name of the annotation that marks a step; its number follows (torch_npu_profiler.md 5.2)."""

HOST_OPS = pl.Schema(
    {
        "op_id": pl.Int64,  # row number in start order
        "name": pl.String,
        "start_ns": pl.Int64,
        "end_ns": pl.Int64,
        "sequence": pl.Int64,
        "pid": pl.Int64,
        "tid": pl.Int64,
        "fwd_tid": pl.Int64,
        "scope": pl.Int64,
        "is_async": pl.Boolean,
        "input_dtypes": pl.String,  # framework spelling, ';' between arguments
        "input_shapes": pl.String,
        "call_stack": pl.String,
        "module_hierarchy": pl.String,
    }
)
"""torch.op_range: one row per framework operator or annotation."""

QUEUE = pl.Schema(
    {
        "correlation_id": pl.Int64,
        "side": pl.String,  # "enqueue" or "dequeue"
        "name": pl.String,
        "start_ns": pl.Int64,
        "end_ns": pl.Int64,
        "pid": pl.Int64,
        "tid": pl.Int64,
    }
)
"""torch.op_mark: the task queue between the framework's thread and the launching thread."""

ALLOCATIONS = pl.Schema(
    {
        "pointer": pl.Int64,
        "time_ns": pl.Int64,
        "size_bytes": pl.Int64,  # negative when released
        "total_allocated_bytes": pl.Int64,
        "total_reserved_bytes": pl.Int64,
        "total_active_bytes": pl.Int64,
        "stream": pl.Int64,
        "device_type": pl.Int64,  # 20 = NPU, 0 = CPU
        "device_id": pl.Int64,
        "component": pl.Int64,  # 0 caching allocator, 1 workspace
        "action": pl.Int64,  # 0 malloc, 1 free, 2 block free
        "tid": pl.Int64,
        "pid": pl.Int64,
    }
)
"""torch.memory_usage: one row per allocator event."""

API = pl.Schema(
    {
        "connection_id": pl.Int64,  # counted over all rows in time order, first = 1
        "level": pl.String,  # acl, model, node, communication, runtime
        "name": pl.String,
        "item": pl.String,  # operator the call is for, "" if none
        "pid": pl.Int64,
        "tid": pl.Int64,
        "start_ns": pl.Int64,
        "end_ns": pl.Int64,
    }
)
"""host api_event: one row per CANN API call."""


def call_name() -> pl.Expr:
    """
    Return the name under which files show a row of `API`.

    The name of its type; at the communication level the name of the operator it works for, as in the toolkit's
    ``analysis/csrc/domain/data_process/ai_task/api_processor.cpp``.
    """
    of_operator = (pl.col("level") == "communication") & (pl.col("item") != "")
    return pl.when(of_operator).then(pl.col("item")).otherwise(pl.col("name")).alias("name")


TASKS = pl.Schema(
    {
        "device_id": pl.Int64,
        "stream_id": pl.Int64,
        "task_id": pl.Int64,
        "batch_id": pl.Int64,
        "context_id": pl.Int64,  # 4294967295 = whole task
        "start_ns": pl.Int64,
        "duration_ns": pl.Int64,
        "kernel_name": pl.String,  # "" for non-compute tasks
        "kernel_type": pl.String,  # task type of the operator, else of the hardware/host task
        "connection_id": pl.Int64,  # of the node API, else of the runtime API; -1 unknown
        "model_id": pl.Int64,  # 4294967295 = single operator
        "copy_bytes": pl.Int64,  # memory copies, else null
        "copy_kind": pl.Int64,  # Copy value, else null
        "copy_engine": pl.String,  # the hardware task of an asynchronous copy (PCIE_DMA_SQE), else ""
        "launch_type": pl.String,  # what the host launched (KERNEL_AIVEC); else, and of FFTS+, the hardware task
    }
)
"""Every device task: kernels, copies, events."""

KERNELS = pl.Schema(
    {
        "device_id": pl.Int64,
        "model_id": pl.Int64,
        "task_id": pl.Int64,
        "stream_id": pl.Int64,
        "batch_id": pl.Int64,
        "context_id": pl.Int64,
        "name": pl.String,
        "op_type": pl.String,
        "op_state": pl.String,  # static or dynamic
        "task_type": pl.String,
        "start_ns": pl.Int64,
        "duration_ns": pl.Int64,
        "block_num": pl.Int64,
        "mix_block_num": pl.Int64,
        "hf32": pl.Boolean,
        "input_shapes": pl.String,  # dims ',', tensors ';', no quotes
        "input_dtypes": pl.String,
        "input_formats": pl.String,
        "output_shapes": pl.String,
        "output_dtypes": pl.String,
        "output_formats": pl.String,
        "connection_id": pl.Int64,
        "node_start_ns": pl.Int64,  # start of the node API that launched it
        "node_tid": pl.Int64,
    }
)
"""Compute tasks with operator information; PMU columns follow on the right when they were collected."""

PMU_COLUMNS_SPLIT = {
    "PipeUtilization": (
        "aicore_time(us)",
        "aic_total_cycles",
        "aic_mac_time(us)",
        "aic_mac_ratio",
        "aic_scalar_time(us)",
        "aic_scalar_ratio",
        "aic_mte1_time(us)",
        "aic_mte1_ratio",
        "aic_mte2_time(us)",
        "aic_mte2_ratio",
        "aic_fixpipe_time(us)",
        "aic_fixpipe_ratio",
        "aic_icache_miss_rate",
        "aiv_time(us)",
        "aiv_total_cycles",
        "aiv_vec_time(us)",
        "aiv_vec_ratio",
        "aiv_scalar_time(us)",
        "aiv_scalar_ratio",
        "aiv_mte2_time(us)",
        "aiv_mte2_ratio",
        "aiv_mte3_time(us)",
        "aiv_mte3_ratio",
        "aiv_icache_miss_rate",
        "cube_utilization(%)",
    )
}
"""Counter columns of op_summary on split chips per metric group (cann_msprof.md 4.2)."""

COMMUNICATION_OPS = pl.Schema(
    {
        "device_id": pl.Int64,
        "name": pl.String,
        "group": pl.String,
        "start_ns": pl.Int64,
        "duration_ns": pl.Int64,
        "connection_id": pl.Int64,
        "dtype": pl.String,
        "count": pl.Int64,
        "algorithm": pl.String,
        "rank_size": pl.Int64,  # null at level0
        "op_type": pl.String,  # hcom_allReduce_
        "relay": pl.Boolean,
        "retry": pl.Boolean,
        "model_id": pl.Int64,  # 4294967295 = single operator
    }
)
"""Collectives and point-to-point operations as whole operations."""

PYTHON_CALLS = pl.Schema(
    {
        "time_ns": pl.Int64,
        "pid": pl.Int64,
        "tid": pl.Int64,
        "name": pl.String,
        "tag": pl.Int64,  # 0 Python call, 1 Python return, 2 C call, 3 C return
    }
)
"""torch.python_tracer_func: entries and exits of Python frames."""

GC = pl.Schema({"pid": pl.Int64, "start_ns": pl.Int64, "end_ns": pl.Int64})
"""torch.gc_record: collections of Python's garbage collector."""
