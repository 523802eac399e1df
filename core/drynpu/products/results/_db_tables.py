"""Databases to tables: tasks, kernels, collectives, calls, samples (cann_msprof.md 4.6)."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from drynpu.analysis import MEMORY_RECORD, OVERLAP, OVERLAP_KINDS, STEP_TRACE
from drynpu.deliverables.bandwidth.tables import ALL_UNITS, LLC_SAMPLES, MEMORY_BANDWIDTH
from drynpu.deliverables.frequency.tables import FREQUENCIES
from drynpu.deliverables.monitors.tables import ACC_PMU_SAMPLES, QOS_SAMPLES, SOC_LEVELS
from drynpu.deliverables.npu_memory.tables import NPU_MEM, NPU_MODULE_MEM
from drynpu.deliverables.operator_memory.tables import CANN_ALLOCATIONS
from drynpu.deliverables.units import MB
from drynpu.layouts.operator_memory import RELEASE
from drynpu.platforms import known_platforms
from drynpu.products.results._database import Database
from drynpu.products.results._db_framework import framework_tables
from drynpu.products.results._spellings import spellings, typed
from drynpu.products.results._tables import ResultTables
from drynpu.products.results._text_tables import memory_event, operator_memory
from drynpu.products.results._trace_device import finished_parts, ordered_overlap
from drynpu.products.torch._db_api import TID_BITS
from drynpu.products.torch._db_run import TOOLKIT_NAME
from drynpu.tables import API, COMMUNICATION_OPS, KERNELS, NO_CONTEXT, NO_MODEL, TASKS

_ID = "global_id"
_NS_PER_US, _GIB = 1000.0, 2.0**30
_MOST_GIB = 1e6
"""No core is as fast: larger values are bytes/s, as releases have them whose Python path computed the counters."""
_CORE_TIMES = {"aic_total_time": "aicore_time(us)", "total_time": "aicore_time(us)", "aiv_total_time": "aiv_time(us)"}
_ABSENT_IN_CORE = ("aic_vec", "aic_mte3", "aiv_mac", "aiv_mte1", "aiv_fixpipe")
"""Counters that older databases have with 0 though the core has no such unit, and that csv files leave out."""


def read_database(database: Database, schemas: Mapping[str, pl.Schema]) -> ResultTables:
    """Return what a database of the toolkit or of a framework's profiler holds."""
    tasks = database.frame("TASK")
    tables: dict[str, pl.DataFrame] = {}
    kernels = _kernels(database, tasks) if tasks.height else pl.DataFrame()
    if tasks.height:
        tables["tasks"] = _tasks(database, tasks, kernels)
        tables["kernels"] = kernels.drop(_ID)
        operations = database.frame("COMMUNICATION_OP")
        if operations.height:
            tables["communication_ops"] = _operations(operations, tasks)
            parts = database.frame("COMMUNICATION_TASK_INFO")
            if parts.height:
                tables["communication_tasks"] = _parts(parts, operations, tasks, schemas["communication_tasks"])
    tables |= _samples(database) | framework_tables(database)
    calls = database.frame("CANN_API")
    if calls.height:
        tables["api"] = _api(calls)
    return ResultTables(
        tables=tables, derived=_derived(database), others=database.others(), facts=_facts(database, tasks)
    )


def read_analysis(database: Database) -> ResultTables:
    """Return what ``analysis.db`` or ``communication_analyzer.db`` states."""
    steps = database.frame("StepTraceTime")
    if steps.is_empty():
        return ResultTables()
    device = pl.col("device_id").fill_null(0) if "device_id" in steps.columns else pl.lit(0, pl.Int64)
    return ResultTables(derived={"step_trace": typed(steps, STEP_TRACE, device_id=device)})


def _tasks(database: Database, tasks: pl.DataFrame, kernels: pl.DataFrame) -> pl.DataFrame:
    named = kernels.select(_ID, pl.col("name").alias("kernel_name"), pl.col("task_type").alias("kernel_type"))
    copies = database.frame("MEMCPY_INFO")
    rows = _without_wholes(tasks).join(named, on=_ID, how="left", maintain_order="left")
    if copies.height:
        rows = rows.join(copies, on=_ID, how="left", maintain_order="left")
    return typed(
        rows.sort("device_id", "start_ns", maintain_order=True),
        TASKS,
        batch_id=pl.lit(0),
        duration_ns=pl.col("end_ns") - pl.col("start_ns"),
        kernel_type=pl.coalesce("kernel_type", "launch_type"),
        connection_id=pl.col("connection_id").fill_null(-1),
    )


def _without_wholes(tasks: pl.DataFrame) -> pl.DataFrame:
    """Leave out the wholes of tasks whose work has a row of its own, in a context; one task is one row here."""
    key = ["device_id", "stream_id", "task_id"]
    context = pl.col("context_id").fill_null(NO_CONTEXT) != NO_CONTEXT
    parts = tasks.filter(context).select(*key, pl.col("start_ns").alias("part_ns")).sort("part_ns")
    if parts.is_empty():
        return tasks
    paired = (
        tasks.with_row_index("row")
        .sort("start_ns")
        .join_asof(parts, left_on="start_ns", right_on="part_ns", by=key, strategy="forward", check_sortedness=False)
        .sort("row")
        .drop("row")
    )
    whole = ~context & (pl.col("part_ns") <= pl.col("end_ns"))
    return paired.filter(~whole.fill_null(value=False)).drop("part_ns")


def _kernels(database: Database, tasks: pl.DataFrame) -> pl.DataFrame:
    """Return kernels with ``global_id`` at the right; those that schedule communication are kernels, too."""
    parts = [database.frame(name) for name in ("COMPUTE_TASK_INFO", "COMMUNICATION_SCHEDULE_TASK_INFO")]
    described = pl.concat([part for part in parts if part.height] or [parts[0]], how="diagonal_relaxed")
    if described.is_empty():
        return pl.DataFrame(schema={**KERNELS, _ID: pl.Int64})
    rows = described.join(tasks, on=_ID, how="inner", maintain_order="left").sort(
        "device_id", "start_ns", maintain_order=True
    )
    columns = rows.columns
    table = typed(
        rows,
        pl.Schema([*KERNELS.items(), (_ID, pl.Int64)]),
        batch_id=pl.lit(0),
        context_id=pl.col("context_id").fill_null(NO_CONTEXT),
        model_id=pl.col("model_id").fill_null(NO_MODEL),
        duration_ns=pl.col("end_ns") - pl.col("start_ns"),
        hf32=pl.col("hf32") == "YES" if "hf32" in columns else pl.lit(False),
        block_num=pl.col("block_num").fill_null(0) if "block_num" in columns else pl.lit(0),
        mix_block_num=pl.col("mix_block_num").fill_null(0) if "mix_block_num" in columns else pl.lit(0),
        connection_id=pl.col("connection_id").fill_null(-1),
        node_start_ns=pl.lit(-1),
        node_tid=pl.lit(-1),
        input_shapes=pl.col("input_shapes").str.strip_chars('"'),
        output_shapes=pl.col("output_shapes").str.strip_chars('"'),
    )
    return _with_counters(table, database.frame("TASK_PMU_INFO"))


def _with_counters(kernels: pl.DataFrame, values: pl.DataFrame) -> pl.DataFrame:
    """Add counters as the columns of op_summary, with times in us and bandwidths in GB/s; here ns, GB/s or bytes/s."""
    if values.is_empty():
        return kernels
    names = values["name"].unique(maintain_order=True).to_list()
    wide = values.pivot(on="name", index=_ID, values="value", aggregate_function="first")
    shown = [_counter(name) for name in names if not name.startswith(_ABSENT_IN_CORE)]
    return kernels.join(wide.select(_ID, *shown), on=_ID, how="left", maintain_order="left")


def _counter(name: str) -> pl.Expr:
    value = pl.col(name)
    if name in _CORE_TIMES:
        return (value / _NS_PER_US).round(3).alias(_CORE_TIMES[name])
    if name.endswith("_time"):
        return (value / _NS_PER_US).round(3).alias(f"{name}(us)")
    if "_bw" in name:
        unit = pl.when(value.max() > _MOST_GIB).then(_GIB).otherwise(1)
        return (value / unit).round(3).alias(f"{name}(GB/s)")
    if name.endswith("cycles"):
        return value.round(0).cast(pl.Int64, strict=False).alias(name)
    return value.round(3).alias(name)


def _operations(operations: pl.DataFrame, tasks: pl.DataFrame) -> pl.DataFrame:
    only = tasks["device_id"].unique().sort()
    device = pl.col("device_id") if "device_id" in operations.columns else pl.lit(only[0] if only.len() else 0)
    return typed(
        operations.sort("start_ns", maintain_order=True),
        COMMUNICATION_OPS,
        device_id=device.fill_null(0),
        duration_ns=pl.col("end_ns") - pl.col("start_ns"),
        connection_id=pl.col("connection_id").fill_null(-1),
        model_id=pl.lit(NO_MODEL),
        relay=pl.col("relay") == 1,
        retry=pl.col("retry") == 1,
    ).sort("device_id", "start_ns", maintain_order=True)


def _parts(parts: pl.DataFrame, operations: pl.DataFrame, tasks: pl.DataFrame, schema: pl.Schema) -> pl.DataFrame:
    """Return the tasks of collectives; older databases do not name the main plane."""
    around = operations.select("op_number", pl.col("connection_id"), "op_type")
    ran = tasks.select(_ID, "device_id", "stream_id", "task_id", "context_id", "start_ns", "end_ns", "model_id")
    rows = parts.join(around, on="op_number", how="inner", maintain_order="left").join(
        ran, on=_ID, how="inner", maintain_order="left"
    )
    is_master = pl.col("is_master") == 1 if "is_master" in rows.columns else pl.lit(None, pl.Boolean)
    table = typed(
        rows,
        pl.Schema([*schema.items(), ("op_type", pl.String)]),
        is_master=is_master,
        batch_id=pl.lit(0),
        duration_ns=pl.col("end_ns") - pl.col("start_ns"),
    )
    return finished_parts(table).select(schema.names())


def _api(calls: pl.DataFrame) -> pl.DataFrame:
    return typed(
        calls.sort("start_ns", maintain_order=True),
        API,
        connection_id=pl.col("connection_id").fill_null(-1),
        level=pl.col("level").replace(spellings()["levels"]),
        pid=pl.col("global_tid") // TID_BITS,
        tid=pl.col("global_tid") % TID_BITS,
    )


def _samples(database: Database) -> dict[str, pl.DataFrame]:
    tables = {}
    memory = database.frame("NPU_MEM")
    if memory.height:
        tables["npu_mem"] = typed(memory, NPU_MEM, event=memory_event())
    modules = database.frame("NPU_MODULE_MEM")
    if modules.height:
        tables["npu_module_mem"] = typed(modules, NPU_MODULE_MEM)
    frequencies = database.frame("AICORE_FREQ")
    if frequencies.height:
        # The database has the clock at both ends as well, where nothing changes.
        rows = typed(frequencies, FREQUENCIES).sort("device_id", "time_ns", maintain_order=True)
        changed = pl.struct("device_id", "mhz") != pl.struct("device_id", "mhz").shift()
        tables["frequencies"] = rows.filter(changed.fill_null(value=True))
    return tables | _bandwidths(database) | _monitors(database) | _toolkit_memory(database)


def _bandwidths(database: Database) -> dict[str, pl.DataFrame]:
    """Return samples of memory and caches; a database has rates and no numbers of bytes."""
    hbm, ddr, llc = (database.frame(name) for name in ("HBM", "DDR", "LLC"))
    memory = []
    if hbm.height:
        memory.append(typed(hbm, MEMORY_BANDWIDTH, kind=pl.lit("hbm"), mb_s=pl.col("rate") / MB))
    if ddr.height:
        ways = ddr.unpivot(["read", "write"], index=["device_id", "time_ns"], variable_name="event", value_name="rate")
        whole = {"kind": pl.lit("ddr"), "unit_id": pl.lit(ALL_UNITS), "mb_s": pl.col("rate") / MB}
        memory.append(typed(ways.sort("device_id", "time_ns", maintain_order=True), MEMORY_BANDWIDTH, **whole))
    tables = {"memory_bandwidth": pl.concat(memory)} if memory else {}
    if llc.height:
        rates = {"hit_rate": pl.col("hit_percent") / 100, "mb_s": pl.col("rate") / MB}
        tables["llc_samples"] = typed(llc, LLC_SAMPLES, **rates)
    return tables


def _monitors(database: Database) -> dict[str, pl.DataFrame]:
    """Return the load of accelerators, buses and partitions; chips of one die have -1 as its number."""
    loads, levels, partitions = (database.frame(name) for name in ("ACC_PMU", "SOC_BANDWIDTH_LEVEL", "QOS"))
    tables = {}
    if loads.height:
        tables["acc_pmu_samples"] = typed(loads, ACC_PMU_SAMPLES)
    if levels.height:
        tables["soc_levels"] = typed(levels, SOC_LEVELS)
    if partitions.height:
        die = pl.when(pl.col("die") >= 0).then("die") if "die" in partitions.columns else pl.lit(None, pl.Int64)
        tables["qos_samples"] = typed(partitions, QOS_SAMPLES, die=die)
    return tables


def _toolkit_memory(database: Database) -> dict[str, pl.DataFrame]:
    """Return what operators took of the toolkit's own memory; a number of a thread has the process above it."""
    events = database.frame("NPU_OP_MEM")
    if events.is_empty():
        return {}
    size = pl.when(pl.col("event") == RELEASE).then(-pl.col("bytes")).otherwise("bytes")
    thread = pl.col("thread") % TID_BITS
    table = typed(events, CANN_ALLOCATIONS, size_bytes=size, tid=thread)
    return {"cann_allocations": table.sort("time_ns", maintain_order=True)}


def _derived(database: Database) -> dict[str, pl.DataFrame]:
    derived = {}
    overlap = database.frame("OVERLAP_ANALYSIS")
    if overlap.height:
        kind = pl.col("kind").replace_strict(dict(enumerate(OVERLAP_KINDS)), default=None, return_dtype=pl.String)
        table = typed(overlap, OVERLAP, kind=kind)
        derived["overlap"] = ordered_overlap(table.filter(pl.col("kind").is_in(OVERLAP_KINDS)))
    records = database.frame("MEMORY_RECORD")
    if records.height:
        derived["memory_record"] = pl.concat([_application(database), typed(records, MEMORY_RECORD)])
    memory = database.frame("OP_MEMORY")
    if memory.height:
        # Rows of the toolkit have no stream, and here not the prefix that files give them.
        prefix = pl.when(pl.col("stream").is_null()).then(pl.lit(TOOLKIT_NAME)).otherwise(pl.lit(""))
        derived["operator_memory"] = operator_memory(memory.with_columns((prefix + pl.col("name")).alias("name")))
    return derived


def _application(database: Database) -> pl.DataFrame:
    """Return the samples of the process as rows of memory_record.csv, which the database keeps in another table."""
    samples = database.frame("NPU_MEM")
    if samples.is_empty():
        return pl.DataFrame(schema=MEMORY_RECORD)
    reserved = pl.col("ddr_bytes") + pl.col("hbm_bytes")
    of_process = samples.filter(memory_event() == 0)
    return typed(of_process, MEMORY_RECORD, component=pl.lit("APP"), reserved_bytes=reserved)


def _facts(database: Database, tasks: pl.DataFrame) -> dict[str, object]:
    facts: dict[str, object] = {}
    if tasks.height and "pid" in tasks.columns:
        pids = tasks["pid"].drop_nulls().to_list()
        facts["pid"] = pids[0] if pids else 0
    names = {str(row[0]) for row in database.rows("NPU_INFO", "name")}
    versions = [platform.version for platform in known_platforms() if platform.npu_info_name in names]
    facts["platform_version"] = versions[0] if len(versions) == 1 else ""
    facts["hostname"] = next((str(row[0]) for row in database.rows("HOST_INFO", "hostName")), "")
    ranks = [int(row[0]) for row in database.rows("RANK_DEVICE_MAP", "rankId") if row[0] is not None]
    facts["rank_id"] = max(ranks, default=-1)
    session = next(iter(database.rows("SESSION_TIME_INFO", "startTimeNs", "endTimeNs")), (0, 0))
    facts["begin_ns"], facts["end_ns"] = int(session[0] or 0), int(session[1] or 0)
    return facts
