"""Device tasks joined with what the host knew when it launched them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl
from attrs import evolve

from drynpu.arrays import I64, Bools, Records
from drynpu.layouts.schedulers import MIXED_CONTEXT, SqeType
from drynpu.layouts.tasks import ASYNCHRONOUS_COPY
from drynpu.raw import HostLevel
from drynpu.tables._column_file import Spool
from drynpu.tables._executions import find_executions
from drynpu.tables._schemas import KERNELS, NO_CONTEXT, NO_MODEL, TASKS
from drynpu.tables.columns import in_parts
from drynpu.tables.communication import COLLECTIVE_COLUMNS, communication_ops
from drynpu.tables.device import Counters, DeviceTasks
from drynpu.tables.launches import Launches, launch_key
from drynpu.tables.pmu import Measured, counter_columns
from drynpu.tables.sides import DeviceSide, DeviceWork, HostSide
from drynpu.tables.stored import Gathered, Stored

_COMPUTE_SQE = [
    t.value for t in (SqeType.AI_CORE, SqeType.AI_CPU, SqeType.AICPU_H, SqeType.AICPU_D, SqeType.AIV, SqeType.DSA)
]
_COPY_SQE = [t.value for t in (SqeType.SDMA, SqeType.PCIE_DMA, SqeType.ASYNCDMA, SqeType.UBDMA)]
_BARE = (
    *(SqeType.AI_CORE, SqeType.AI_CPU, SqeType.FUSION, SqeType.AICPU_H, SqeType.AICPU_D, SqeType.UBDMA),
    SqeType.ASYNCDMA,
)
"""Types whose names have no ``_SQE`` behind them (Ascend/msprof analysis/msmodel/sqe_type_map.py)."""
_DROPPED = ["WRITE_BACK", "INVALID", "HCCL_AI_CPU"]
_NO_LAUNCH_TYPE = ["", "FFTS_PLUS", "UNKNOWN"]
"""Host types that do not tell what a task is (Ascend/msprof, task_processor.cpp)."""

_COUNTED = ("device_id", "counters", "block_num", "mix_block_num", "task_type", "duration_ns")
_COUNTER_ROWS = 65_536
_COUNTED_KERNELS = pl.Schema([*KERNELS.items(), ("counters", pl.Int64())])
"""Kernels with the row of their counters on the device, -1 if none."""


def build_tasks(host: HostSide, devices: Sequence[DeviceWork]) -> tuple[Stored, Stored, pl.DataFrame]:
    """
    Return the tables TASKS, KERNELS (with counter columns where measured) and COMMUNICATION_OPS.

    A device task belongs to the task_track record with its device, stream, task id and occurrence, or to the only one
    there is (`find_executions`); the record lies inside a runtime API, that inside a node API ``launch`` whose item is
    the operator (cann_msprof.md 7.5).
    """
    copies = _copies(host)
    tasks, kernels, collectives = Gathered(TASKS), Gathered(_COUNTED_KERNELS), []
    # In parts: with all that is known of them, tasks take ten times the room of their tables.
    for part in _ran_parts(devices):
        known = _classify(_describe(part, host, copies))
        tasks.append(known.select(pl.col(name).cast(dtype) for name, dtype in TASKS.items()))
        kernels.append(_kernels(known))
        collectives.append(known.select(*COLLECTIVE_COLUMNS).filter(pl.col("collective") >= 0))
    counted = kernels.table().ordered("device_id", "start_ns")
    measured = _counter_columns(counted, devices)
    return (
        tasks.table(),
        counted.without("counters").with_made(measured),
        communication_ops(pl.concat(collectives), host),
    )


_RAN = pl.Schema(
    dict.fromkeys(
        (
            *("device_id", "stream_id", "task_id", "batch_id", "context_id", "sqe", "start_ns", "duration_ns"),
            *("launch", "execution", "op_start_ns", "op_duration_ns", "counters"),
        ),
        pl.Int64,
    )
)


def _ran_parts(devices: Sequence[DeviceWork]) -> Iterator[pl.DataFrame]:
    """Yield what ran in parts, in order of device and start; at least one."""
    if not devices:
        yield pl.DataFrame(schema=_RAN)
    for work in sorted(devices, key=lambda each: each.side.device_id):
        yield from work.ran.ordered("start_ns").slices()


def device_work(
    side: DeviceSide, tasks: DeviceTasks, counters: Counters, launched: Launches, flips: Callable[[], Records]
) -> DeviceWork:
    """
    Return what ran on a device, with the row of each task's launch; the arrays of tasks are not kept.

    *flips* returns the ts_track_flip records of the device.
    """
    ran = _ran(side, tasks, counters, launched, flips)
    nothing = np.zeros(0, np.int64)
    return DeviceWork(side=side, ran=ran, counters=evolve(counters, start_tick=nothing, end_tick=nothing))


def _ran(
    side: DeviceSide, tasks: DeviceTasks, counters: Counters, launched: Launches, flips: Callable[[], Records]
) -> Stored:
    count = len(tasks.start_tick)
    to_unix = side.clock.tick_to_unix
    start = in_parts(lambda rows: to_unix(tasks.start_tick[rows]), count)
    end = in_parts(lambda rows: to_unix(tasks.end_tick[rows]), count)
    op_start_tick, op_end_tick = counters.start_tick, counters.end_tick
    context = np.full(len(start), NO_CONTEXT, np.int64)
    if tasks.mixed_start is not None and tasks.mixed_end is not None:
        mixed = tasks.mixed_end > 0
        context[mixed] = MIXED_CONTEXT
        op_start_tick = np.where(mixed, tasks.mixed_start, op_start_tick)
        op_end_tick = np.where(mixed, tasks.mixed_end, op_end_tick)
    device_id = np.full(count, side.device_id, np.int64)
    key = launch_key(device_id, tasks.stream_id, tasks.task_id)
    del device_id
    executions = find_executions(launched, tasks, key, side.facts.platform, flips)
    del key

    def op(ticks: I64, otherwise_ns: I64, rows: slice) -> I64:
        timed = op_end_tick[rows] > 0
        at = otherwise_ns[rows].copy()
        at[timed] = to_unix(ticks[rows][timed])
        return at

    def op_start(rows: slice) -> I64:
        return op(op_start_tick, start, rows)

    def op_duration(rows: slice) -> I64:
        return op(op_end_tick, end, rows) - op_start(rows)

    makers: dict[str, Callable[[], object]] = {
        "device_id": lambda: side.device_id,
        "stream_id": lambda: tasks.stream_id,
        "task_id": lambda: tasks.task_id,
        "batch_id": lambda: executions.batch_id,
        "context_id": lambda: context,
        "sqe": lambda: tasks.sqe_type,
        "start_ns": lambda: start,
        "duration_ns": lambda: end - start,
        "launch": lambda: executions.launch,
        "execution": lambda: executions.execution,
        "op_start_ns": lambda: in_parts(op_start, count),
        "op_duration_ns": lambda: in_parts(op_duration, count),
        "counters": lambda: np.where(counters.measured, np.arange(count, dtype=np.int64), -1),
    }
    return Stored.from_makers(_RAN, makers, count)


def _copies(host: HostSide) -> pl.DataFrame:
    """Return size and direction of the copy each runtime API asked for."""
    rows = host.copies
    runtime = host.around(HostLevel.RUNTIME, rows)
    table = pl.DataFrame(
        {
            "runtime": runtime,
            "copy_bytes": rows["size_bytes"].astype(np.int64),
            "copy_kind": rows["copy_kind"].astype(np.int64),
        }
    )
    return table.filter(pl.col("runtime") >= 0).unique("runtime", keep="first", maintain_order=True)


def _describe(ran: pl.DataFrame, host: HostSide, copies: pl.DataFrame) -> pl.DataFrame:
    """Add the launch, operator information and connection ids to tasks."""
    calls = host.calls
    launched = host.launches.table.gather(_rows(ran["launch"].to_numpy()))
    launched = launched.with_columns(
        pl.col("node", "runtime", "collective").fill_null(-1), pl.col("model_id").fill_null(NO_MODEL)
    ).join(copies, on="runtime", how="left", maintain_order="left")
    node, runtime = launched["node"].to_numpy(), launched["runtime"].to_numpy()
    known = calls.table.gather(_rows(node), "item", "start_ns", "tid")
    known = known.rename({"start_ns": "node_start_ns", "tid": "node_tid"})
    return pl.concat(
        [ran.drop("launch"), launched, host.operators.gather(_rows(_places(host.operators, node))).drop("node")],
        how="horizontal",
    ).with_columns(
        *known,
        pl.Series("connection_id", calls.connection_id(np.where(node >= 0, node, runtime))),
    )


def _places(operators: Stored, node: I64) -> I64:
    """Return the row of *operators*, which are in the order of nodes, that describes each node, -1 if none."""
    known = operators.column("node").to_numpy()
    if not len(known):
        return np.full(len(node), -1, np.int64)
    place = np.minimum(np.searchsorted(known, node), len(known) - 1)
    return np.where(known[place] == node, place, -1)


def _rows(rows: I64) -> pl.Series:
    """Return rows to gather: none where there is a negative number."""
    return pl.select(pl.when(pl.Series(rows) >= 0).then(pl.Series(rows))).to_series()


def _classify(tasks: pl.DataFrame) -> pl.DataFrame:
    """Tell computing tasks and copies from the rest, and give every task its names and type."""
    host_type = pl.col("host_type").fill_null("")
    # What an operator is known of computes, on whatever engine: a scheduler may not know that engine.
    described = ~pl.col("task_type").fill_null("").is_in(["", "HCCL", "COMMUNICATION", *_DROPPED])
    is_compute = pl.col("sqe").is_in(_COMPUTE_SQE) | host_type.str.starts_with("KERNEL_") | (host_type == "FFTS_PLUS")
    is_compute |= described
    is_copy = pl.col("sqe").is_in(_COPY_SQE) | host_type.str.starts_with("MEMCPY")
    hardware = pl.col("sqe").replace_strict(
        {kind.value: _sqe_name(kind) for kind in SqeType}, default="", return_dtype=pl.String
    )
    compute_name = pl.coalesce(_known("kernel"), pl.col("name"))
    compute_type = pl.when("compute").then(_known("task_type"))
    launched = pl.when(~host_type.is_in(_NO_LAUNCH_TYPE)).then("host_type")
    return tasks.with_columns(
        pl.max_horizontal(pl.col("batch_id"), pl.col("host_batch").fill_null(0)).alias("batch_id"),
        is_compute.alias("compute"),
        pl.coalesce(_known("op_name"), _known("item"), _known("kernel"), pl.lit("")).alias("name"),
        # The API that copies may put other tasks on the stream as well.
        pl.when(is_copy & ~is_compute).then(pl.col("copy_bytes", "copy_kind")),
    ).with_columns(
        pl.col("connection_id").fill_null(-1),
        pl.when("compute").then(compute_name).otherwise(pl.lit("")).alias("kernel_name"),
        pl.coalesce(compute_type, _known("host_type"), hardware).alias("kernel_type"),
        pl.coalesce(launched, hardware).alias("launch_type"),
        pl.when(~pl.col("compute") & (host_type == ASYNCHRONOUS_COPY))
        .then(hardware)
        .otherwise(pl.lit(""))
        .alias("copy_engine"),
    )


def _known(column: str) -> pl.Expr:
    return pl.when(pl.col(column) != "").then(pl.col(column))


def _sqe_name(kind: SqeType) -> str:
    return kind.name if kind in _BARE else f"{kind.name}_SQE"


def _kernels(known: pl.DataFrame) -> pl.DataFrame:
    """Return compute tasks that have a name; rules of cann_msprof.md 4.2 for what op_summary leaves out."""
    kind = pl.col("task_type").fill_null("")
    needed = {*_COUNTED_KERNELS, "compute", "collective", "dynamic", "op_start_ns", "op_duration_ns"}
    rows = (
        known.select(name for name in known.columns if name in needed)
        .filter(
            pl.col("compute")
            & (pl.col("name") != "")
            & (pl.col("collective") < 0)
            & ~kind.is_in(_DROPPED)
            & ((kind != "COMMUNICATION") | pl.col("name").str.ends_with("AivKernel"))
        )
        .with_columns(
            pl.col("op_start_ns").alias("start_ns"),
            pl.col("op_duration_ns").alias("duration_ns"),
            pl.col("block_num").fill_null(0),
            pl.col("node_start_ns", "node_tid").fill_null(-1),
            # Without operator information (level0) nothing tells whether shapes were fixed.
            pl.when(pl.col("op_type").is_null())
            .then(pl.lit(""))
            .when("dynamic")
            .then(pl.lit("dynamic"))
            .otherwise(pl.lit("static"))
            .alias("op_state"),
        )
    )
    return rows.select(
        pl.col(name).cast(dtype).fill_null("") if dtype == pl.String else pl.col(name).cast(dtype)
        for name, dtype in _COUNTED_KERNELS.items()
    )


def _counter_columns(kernels: Stored, devices: Sequence[DeviceWork]) -> dict[str, Callable[[], pl.Series]]:
    """Return what gives counter columns, null where a kernel was not measured; none at all where nothing was."""
    spool, dtypes = Spool(), dict[str, pl.DataType]()
    # In parts: the arithmetic of a part takes several times the room of its columns.
    for offset in range(0, kernels.height, _COUNTER_ROWS):
        part = kernels.slice(offset, _COUNTER_ROWS, *_COUNTED).with_row_index("row")
        columns = pl.DataFrame({"row": part["row"]})
        for work in devices:
            counted = part.filter((pl.col("device_id") == work.side.device_id) & (pl.col("counters") >= 0))
            if work.side.metrics and counted.height:
                columns = _with_counters(columns, counted, work)
        dtypes |= {name: dtype for name, dtype in columns.drop("row").schema.items() if name not in dtypes}
        spool.append(columns.drop("row") if columns.width > 1 else columns)
    return {name: functools.partial(spool.column, name, dtype) for name, dtype in dtypes.items()}


def _with_counters(columns: pl.DataFrame, counted: pl.DataFrame, work: DeviceWork) -> pl.DataFrame:
    """Return *columns* with the counters of some of its rows."""
    place = counted["row"].to_numpy()
    added = []
    for name, values in counter_columns(work.side.metrics, _measured(counted, work), work.side.facts).items():
        known = np.zeros(columns.height, bool)
        known[place] = ~np.isnan(values) if values.dtype.kind == "f" else True
        whole = np.zeros(columns.height, values.dtype)
        whole[place] = values
        series = _where_known(whole, known).alias(name)
        added.append(
            series if name not in columns.columns else columns[name].zip_with(columns[name].is_not_null(), series)
        )
    return columns.with_columns(added)


def _where_known(values: npt.NDArray[np.generic], known: Bools) -> pl.Series:
    series = pl.Series(values)
    return series if known.all() else series.scatter(np.flatnonzero(~known), None)


def _measured(kernels: pl.DataFrame, work: DeviceWork) -> Measured:
    counters = work.counters
    row = kernels["counters"].to_numpy()
    main, mix = kernels["block_num"].to_numpy(), kernels["mix_block_num"].fill_null(0).to_numpy()
    # The second engine of a mixed kernel runs the mix blocks; a kernel that names none runs equally many.
    second = np.where(mix > 0, mix, main)
    vector_first = kernels["task_type"].fill_null("").is_in(["MIX_AIV", "AI_VECTOR_CORE"]).to_numpy()
    blocks = np.where(vector_first[:, None], np.stack([second, main], 1), np.stack([main, second], 1))
    core_ticks = counters.core_ticks
    cycles, pmu = counters.sums(row)
    return Measured(
        cycles=cycles,
        pmu=pmu,
        blocks=blocks,
        duration_us=kernels["duration_ns"].to_numpy() / 1000.0,
        core_us=None if core_ticks is None else core_ticks[row] / work.side.clock.device_hz * 1e6,
    )
