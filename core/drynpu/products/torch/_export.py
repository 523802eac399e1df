"""The deliverables of torch_npu.profiler: ASCEND_PROFILER_OUTPUT (torch_npu_profiler.md 3.6, 4)."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import orjson
import polars as pl
from attrs import frozen

from drynpu._alone import alone
from drynpu.analysis import (
    api_statistic,
    link_operators,
    memory_record,
    op_statistic,
    operator_memory,
    step_ranges,
    step_trace,
    steps_at,
)
from drynpu.analysis.operators import detailed_operators, in_us
from drynpu.analysis.overlaps import overlap_table
from drynpu.deliverables.communication.layer import operation_threads
from drynpu.deliverables.record_group import RecordGroup, iter_layers, torch_csv_tables, torch_documents
from drynpu.deliverables.registry import GROUPS, LAYER_ORDER, in_order
from drynpu.deliverables.tasks.op_summary import kernel_details
from drynpu.deliverables.tasks.statistics import (
    api_statistic_table,
    op_statistic_table,
    task_time_table,
)
from drynpu.deliverables.tasks.timeline import Block, timeline_blocks
from drynpu.layouts.result_files import (
    ANALYSE_DONE_FILE,
    API_STATISTIC_FILE,
    KERNEL_DETAILS_FILE,
    MEMORY_RECORD_FILE,
    OP_STATISTIC_FILE,
    OPERATOR_DETAILS_FILE,
    OPERATOR_MEMORY_FILE,
    STEP_TRACE_TIME_FILE,
    TASK_TIME_FILE,
    TRACE_VIEW_FILE,
)
from drynpu.options import ExportType
from drynpu.options.experimental_config import noted_variables
from drynpu.products._product import NO_TASKS, forms_from_words
from drynpu.products.toolkit._msprof import plain_op_summary, timeline_of
from drynpu.products.torch._db_export import export_torch_db
from drynpu.products.torch._host_trace import ArrowEnds, HostTrace, host_blocks, kernel_arrows
from drynpu.products.torch._tables import (
    memory_record_table,
    operator_details_table,
    operator_memory_table,
    step_trace_table,
)
from drynpu.tables import Profile
from drynpu.tables.stored import Stored
from drynpu.writers.files import new_file, replaced_directory, write_table
from drynpu.writers.folders import FRAMEWORK_OUTPUT
from drynpu.writers.layers import ASCEND_HARDWARE, COMMUNICATION, layer_pids
from drynpu.writers.number_text import toolkit_writer
from drynpu.writers.text_table import Table
from drynpu.writers.trace_json import SPACED, write_trace


def requested_forms(profile: Profile) -> tuple[ExportType, ...]:
    """Return the forms of deliverables that the recording was asked for (profiler_info.json), text by default."""
    info: Any = profile.profiler_info.get("config")
    config: Any = info.get("experimental_config") if isinstance(info, Mapping) else None
    return forms_from_words(config.get("_export_type") if isinstance(config, Mapping) else None)


def export_torch(
    profile: Profile, forms: Collection[ExportType] | None = None, groups: Sequence[RecordGroup] = GROUPS
) -> list[Path]:
    """
    Recreate ASCEND_PROFILER_OUTPUT in the profile directory.

    Everything is written beside the directory first and then swapped in, so that a failure leaves the earlier
    output as it was. A file exists only if it has a data row; which files there are follows the level and the data
    (torch_npu_profiler.md 3.6). ``analyse.done`` is written last.

    Parameters
    ----------
    forms:
        Text, databases (``ascend_pytorch_profiler*.db`` and ``analysis.db``) or both; default what the recording was
        asked for.

    Returns
    -------
    list[Path]
        The files written, ``analyse.done`` last.

    Raises
    ------
    OutputError
        A file or the directory cannot be written.
    """
    forms = requested_forms(profile) if forms is None else forms
    final = profile.path / FRAMEWORK_OUTPUT
    documents = torch_documents(groups, profile)
    with replaced_directory(final) as directory:
        names: list[str] = []
        if ExportType.TEXT in forms:
            names += _write_text(profile, directory, documents, groups)
        if ExportType.DB in forms:
            environment = noted_variables(os.environ)
            make = partial(export_torch_db, profile, directory, environment=environment, groups=groups)
            written = alone("the databases", make, [])
            names += [path.name for path in written]
        with new_file(directory / ANALYSE_DONE_FILE):
            names.append(ANALYSE_DONE_FILE)
    return [final / name for name in names]


def _write_text(
    profile: Profile, directory: Path, documents: Mapping[str, object], groups: Sequence[RecordGroup]
) -> list[str]:
    """Write timeline, tables and *documents* by file name; return the names of the files."""
    names: list[str] = []
    trace = directory / TRACE_VIEW_FILE
    if alone(trace.name, lambda: write_trace(trace, trace_blocks(profile, groups), SPACED), False):
        names.append(TRACE_VIEW_FILE)
    for name, make in _tables(profile, groups):
        if alone(name, partial(write_table, directory / name, make, line_end="\r\n"), False):
            names.append(name)
    for name, document in documents.items():
        with new_file(directory / name) as stream:
            stream.write(orjson.dumps(document))
        names.append(name)
    return names


def trace_blocks(profile: Profile, groups: Sequence[RecordGroup]) -> Iterator[Block]:
    """Yield trace_view.json in blocks: the host's events, the toolkit's layers, the arrows between them."""
    host = HostTrace(
        pid=profile.pid,
        device_ids=profile.device_ids,
        host_ops=profile.table("host_ops"),
        queue=profile.table("queue"),
        python_calls=profile.python_calls,
        gc=profile.gc,
    )
    yield from host_blocks(host, SPACED)
    writer = toolkit_writer(profile.platform)
    yield from timeline_blocks(timeline_of(profile), SPACED, pruned=profile.level == "level0")
    for _, events in iter_layers(in_order(groups, LAYER_ORDER), profile, SPACED, writer):
        yield from events
    yield _arrows_to_work(profile)


def _arrows_to_work(profile: Profile) -> Block:
    """Return the arrow from each framework operator to its device work, in order of its end."""
    links = link_operators(profile)
    threads = operation_threads(profile.communication_ops, profile.frame("communication_tasks"))
    group_tid = threads.rename({"tid": "group_tid"})
    ordered = links.table.ordered("start_ns")
    collective = pl.col("kind") == "communication"

    def ends(offset: int, count: int) -> pl.DataFrame:
        work = ordered.slice(offset, count, "kind", "device_id", "stream_id", "connection_id", "start_ns", "op_id")
        operators = links.operators.gather(work["op_id"], "pid", "tid", "start_ns")
        key = ["device_id", "connection_id", "start_ns"]
        return (
            work.hstack(operators.rename({"start_ns": "start_ns_op"}))
            .join(group_tid, on=key, how="left", maintain_order="left")
            .select(
                "pid",
                "tid",
                pl.col("start_ns_op").alias("start_ns"),
                pl.when(collective)
                .then(layer_pids(profile.pid, COMMUNICATION))
                .otherwise(layer_pids(profile.pid, ASCEND_HARDWARE))
                .alias("pid_to"),
                pl.when(collective).then("group_tid").otherwise("stream_id").alias("tid_to"),
                pl.col("start_ns").alias("start_ns_to"),
            )
        )

    return kernel_arrows(ArrowEnds(ordered.column("start_ns"), ends))


@frozen(eq=False)
class _OperatorRows:
    """The rows of `operator_details`, made part by part."""

    operators: Stored
    chosen: pl.Series

    @classmethod
    def from_profile(cls, profile: Profile) -> pl.DataFrame | _OperatorRows:
        """Return the operators of a profile; what one read from results states of them comes first."""
        stated = profile.results or {}
        return stated["operator_details"] if "operator_details" in stated else cls(*detailed_operators(profile))

    @property
    def height(self) -> int:
        """Number of rows."""
        return self.chosen.len()

    def slice(self, offset: int, count: int, /) -> pl.DataFrame:
        """Return *count* rows from *offset* on, or those that are left."""
        return in_us(self.operators.gather(self.chosen.slice(offset, count)))


def _tables(profile: Profile, groups: Sequence[RecordGroup]) -> Iterator[tuple[str, Callable[[], Table]]]:
    """Yield file names and what makes their rows; a table may be empty."""
    yield OPERATOR_DETAILS_FILE, lambda: operator_details_table(_OperatorRows.from_profile(profile))
    yield OPERATOR_MEMORY_FILE, lambda: operator_memory_table(operator_memory(profile))
    yield MEMORY_RECORD_FILE, lambda: memory_record_table(memory_record(profile))
    if profile.level != NO_TASKS:
        yield from _device_tables(profile, groups)


def _device_tables(profile: Profile, groups: Sequence[RecordGroup]) -> Iterator[tuple[str, Callable[[], Table]]]:
    writer = toolkit_writer(profile.platform)
    ranges = cache(lambda: step_ranges(profile))

    def kernels() -> Table:
        summary = plain_op_summary(profile, writer)
        steps = None if ranges().is_empty() else (lambda starts: steps_at(starts, ranges()).cast(pl.String))
        return kernel_details(summary, steps, level=profile.level)

    yield KERNEL_DETAILS_FILE, kernels
    yield STEP_TRACE_TIME_FILE, lambda: step_trace_table(step_trace(profile, ranges(), overlap_table(profile)))
    yield TASK_TIME_FILE, lambda: task_time_table(profile.table("tasks"), writer)
    if profile.level != "level0":
        yield OP_STATISTIC_FILE, lambda: op_statistic_table(op_statistic(profile), writer)
        yield API_STATISTIC_FILE, lambda: api_statistic_table(api_statistic(profile), writer, profile)
    for name, table in torch_csv_tables(groups, profile, writer).items():
        yield name, partial(_same, table)


def _same(table: Table) -> Table:
    return table
