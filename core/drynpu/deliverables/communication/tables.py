"""Tasks inside communication operators: hccl_info joined with the device tasks it describes (cann_msprof.md 7.3)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from drynpu.arrays import I64, Bools, Records
from drynpu.deliverables.load_context import LoadContext
from drynpu.tables import intervals
from drynpu.tables.columns import gather_text, texts
from drynpu.tables.communication import HCCL_DTYPES, group_texts
from drynpu.tables.launches import launch_records

COMMUNICATION_TASKS = pl.Schema(
    {
        "device_id": pl.Int64,
        "connection_id": pl.Int64,  # of its operator, as in communication_ops
        "group": pl.String,
        "name": pl.String,  # Memcpy, Reduce_Inline, Notify_Wait, ...
        "plane_id": pl.Int64,
        "is_master": pl.Boolean,
        "stream_id": pl.Int64,
        "task_id": pl.Int64,
        "batch_id": pl.Int64,
        "context_id": pl.Int64,
        "start_ns": pl.Int64,
        "duration_ns": pl.Int64,
        "duration_estimated_us": pl.Float64,
        "notify_id": pl.String,
        "src_rank": pl.Int64,
        "dst_rank": pl.Int64,  # 4294967295 = this rank
        "transport": pl.String,
        "link": pl.String,
        "rdma": pl.String,
        "size_bytes": pl.Int64,
        "dtype": pl.String,
        "bandwidth_gbs": pl.Float64,
        "transfer_bytes": pl.Int64,  # null for tasks that begin no transfer
        "transfer_ns": pl.Int64,
        "model_id": pl.Int64,
    }
)
"""One row per task of a communication operator, by device, operator, plane and start."""

SCHEMAS: Mapping[str, pl.Schema] = {"communication_tasks": COMMUNICATION_TASKS}

_INVALID, _RESERVED = 0xFFFF_FFFF, 255
_TRANSPORTS = {0: "SDMA", 1: "RDMA", 2: "LOCAL", 3: "UB"}
_LINKS = {0: "ON_CHIP", 1: "HCCS", 2: "PCIE", 3: "ROCE", 4: "SIO", 5: "HCCS_SW", 6: "STANDARD_ROCE", 7: "UB"}
_RDMA = {0: "RDMA_SEND_NOTIFY", 1: "RDMA_SEND_PAYLOAD"}
_DTYPES = dict(enumerate(HCCL_DTYPES))
_WITH_BARRIER, _WITHOUT_BARRIER = 5, 3
"""Tasks from an RDMA payload to the end of its transfer: collectives add a barrier to it."""


def load(context: LoadContext) -> Mapping[str, pl.DataFrame]:
    """Return ``communication_tasks``; nothing where no task was described (level0, or no communication)."""
    records = context.reader.read("hccl_info")
    if not len(records):
        return {}
    calls = context.calls("communication")
    described = _described(context, records).with_columns(pl.Series("call", _call(context, calls, records)))
    described = described.with_row_index("record")
    launched = _launched(context, calls)
    joined = described.filter(pl.col("call") >= 0).join(launched, on="call", how="inner", maintain_order="left")
    key = ["device_id", "stream_id", "task_id", "batch_id"]
    ran = context.tasks.select(*key, "start_ns", "duration_ns", "connection_id", "model_id")
    tasks = joined.join(ran, on=key, how="inner", maintain_order="left")
    # In a loaded graph a record describes a task for each execution.
    lost = len(records) - tasks["record"].n_unique()
    if lost:
        context.notes.append(f"{lost} of {len(records)} communication tasks have no device task and were left out")
    tasks = tasks.sort("device_id", "connection_id", "plane_id", "start_ns", maintain_order=True)
    kinds = context.api.select("connection_id", pl.col("item").alias("op_type"))
    tasks = tasks.join(kinds, on="connection_id", how="left", maintain_order="left")
    tasks = tasks.with_columns(task_transfers(tasks))
    table = tasks.select(pl.col(name).cast(dtype) for name, dtype in COMMUNICATION_TASKS.items())
    return {"communication_tasks": table} if table.height else {}


def _enumerated(values: Records, names: Mapping[int, str]) -> pl.Series:
    known = {**names, _RESERVED: "RESERVED", _INVALID: "INVALID_TYPE"}
    return texts(values, lambda value: known.get(value, str(value)))


def _described(context: LoadContext, records: Records) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "name": gather_text(context.words.hashes, records["item_id"]),
            "group": group_texts(context.words, records["group_name"]),
            "plane_id": records["plane_id"].astype(np.int64),
            "context_id": records["context_id"].astype(np.int64),
            "duration_estimated_us": records["duration_estimated_us"].astype(np.float64),
            "notify_id": texts(records["notify_id"], str),
            "src_rank": records["local_rank"].astype(np.int64),
            "dst_rank": records["remote_rank"].astype(np.int64),
            "transport": _enumerated(records["transport_type"], _TRANSPORTS),
            "link": _enumerated(records["link_type"], _LINKS),
            "rdma": _enumerated(records["rdma_type"], _RDMA),
            "size_bytes": records["size_bytes"].astype(np.int64),
            "dtype": _enumerated(records["data_type"], _DTYPES),
        }
    )


def _call(context: LoadContext, calls: pl.DataFrame, records: Records) -> I64:
    """Return the row of the innermost communication call around each record, -1 if none."""
    time = context.clock.host_to_unix(records["timestamp"].astype(np.int64))
    starts, ends, threads = (calls[name].to_numpy() for name in ("start_ns", "end_ns", "tid"))
    return intervals.innermost(starts, ends, threads, time, records["thread_id"].astype(np.int64))


def _launched(context: LoadContext, calls: pl.DataFrame) -> pl.DataFrame:
    """Return the task that each communication call launched; calls with several are FFTS+ and not described here."""
    track = launch_records(context.reader.read("task_track"))
    call = _call(context, calls, track)
    launch = track[call >= 0]
    rows = call[call >= 0]
    return pl.DataFrame(
        {
            "call": rows,
            "device_id": (launch["device_id"] & 0xFFF).astype(np.int64),
            "stream_id": launch["stream_id"].astype(np.int64),
            "task_id": launch["task_id"].astype(np.int64),
            "batch_id": launch["batch_id"].astype(np.int64),
            "is_master": (calls["name"].gather(rows) == "master"),
        }
    ).unique("call", keep="first", maintain_order=True)


def task_transfers(tasks: pl.DataFrame) -> list[pl.Series]:
    """
    Return ``bandwidth_gbs`` (10^9 bytes/s, 0 for a task that took no time), ``transfer_bytes`` and ``transfer_ns``.

    A copy or reduction by SDMA is a transfer of its own. An RDMA payload only hands the request over: payloads in a
    row are one transfer, which runs until the tasks that close it have ended (Ascend/msprof, hccl_calculator and
    msparser/cluster/meta_parser).
    """
    size, time = tasks["size_bytes"].to_numpy(), tasks["duration_ns"].to_numpy()
    total, window = size.astype(np.int64), time.astype(np.int64)
    sdma = tasks["name"].is_in(["Memcpy", "Reduce_Inline"]) & (tasks["transport"] == "SDMA")
    begins = sdma.to_numpy().copy()
    payload, run, first, close = _rdma_runs(tasks)
    closed = close >= 0
    sums = np.bincount(run[payload], weights=size[payload], minlength=len(first)).astype(np.int64)
    start = tasks["start_ns"].to_numpy()
    window_of_run = np.where(closed, start[np.maximum(close, 0)] + time[np.maximum(close, 0)] - start[first], 0)
    inside = np.flatnonzero(payload)[closed[run[payload]]]
    total, window = total.copy(), window.copy()
    total[inside], window[inside] = sums[run[inside]], window_of_run[run[inside]]
    begins[first[closed]] = True
    rate = np.divide(total, window, out=np.zeros(len(total)), where=window > 0)
    marked = pl.Series(begins, dtype=pl.Boolean)
    transfers = pl.DataFrame({"bandwidth_gbs": rate, "transfer_bytes": total, "transfer_ns": window})
    moved = pl.col("transfer_bytes", "transfer_ns").cast(pl.Int64)
    return transfers.with_columns(pl.when(marked).then(moved)).get_columns()


def _rdma_runs(tasks: pl.DataFrame) -> tuple[Bools, I64, I64, I64]:
    """
    Find runs of RDMA payloads in one plane of one operator.

    Returns which rows are payloads, the run of each payload row, and per run its first row and the row that closes
    the transfer (-1: it is missing).
    """
    payload = (tasks["rdma"] == "RDMA_SEND_PAYLOAD").to_numpy()
    queue = tasks.select(pl.struct("device_id", "connection_id", "plane_id").rle_id()).to_series().to_numpy()
    two_sided = tasks["op_type"].fill_null("").str.to_lowercase().str.contains("send|receive").to_numpy()
    goes_on = np.zeros(len(payload), bool)
    goes_on[1:] = payload[1:] & payload[:-1] & (queue[1:] == queue[:-1])
    first = np.flatnonzero(payload & ~goes_on)
    run = np.cumsum(payload & ~goes_on).astype(np.int64) - 1
    last = first + np.bincount(run[payload], minlength=len(first)) - 1
    close = last + np.where(two_sided[first], _WITHOUT_BARRIER, _WITH_BARRIER) - 1
    there = close < len(payload)
    there &= queue[np.minimum(close, len(payload) - 1)] == queue[first]
    return payload, run, first, np.where(there, close, -1)
