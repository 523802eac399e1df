"""The toolkit's own deliverables: PROF_*/mindstudio_profiler_output (cann_msprof.md 4)."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import chain
from pathlib import Path

import orjson

from drynpu._alone import alone
from drynpu._errors import OutputError
from drynpu._staging import sweep_staged
from drynpu.analysis import api_statistic, op_statistic
from drynpu.deliverables.graph.files import per_graph_op_statistic, with_graph_columns
from drynpu.deliverables.record_group import RecordGroup, csv_tables, iter_layers, iter_trace_files
from drynpu.deliverables.registry import GROUPS, LAYER_ORDER, in_order
from drynpu.deliverables.tasks.op_summary import STARTS, op_summary
from drynpu.deliverables.tasks.statistics import (
    api_statistic_table,
    op_statistic_table,
    task_time_table,
)
from drynpu.deliverables.tasks.timeline import Timeline, timeline_blocks
from drynpu.layouts.result_files import API_STATISTIC_FILE, OP_STATISTIC_FILE, TASK_TIME_FILE
from drynpu.products.toolkit._reports import Reports
from drynpu.tables import Profile
from drynpu.writers.files import free_stamp, make_directory, new_file, write_csv_slices
from drynpu.writers.folders import TOOLKIT_OUTPUT
from drynpu.writers.number_text import Writer, toolkit_writer
from drynpu.writers.summary_json import by_device, write_json_table
from drynpu.writers.text_table import Table, TextTable
from drynpu.writers.trace_json import COMPACT, write_trace

# README.txt names a file once, without slices and time stamps.
_STAMPED = re.compile(r"(_slice_\d+)?_\d{14}\.(csv|json)$")


def export_msprof(
    profile: Profile,
    out_dir: Path | None = None,
    now: datetime | None = None,
    *,
    reports: Reports | None = None,
    json_tables: bool = False,
    groups: Sequence[RecordGroup] = GROUPS,
) -> list[Path]:
    """
    Write op_summary, op_statistic, api_statistic, task_time, memory samples, the timeline and README.txt.

    A file exists only if it has data. Names carry one second (``_<YYYYMMDDhhmmss>``, local time): the first free
    one from *now* on, so that earlier exports stay. Number formats follow the writer that the toolkit uses
    for the chip (cann_msprof.md 4.1).

    Parameters
    ----------
    out_dir:
        Where to write; default ``mindstudio_profiler_output`` in the PROF directory.
    reports:
        The layers of the timeline that are wanted; default all.
    groups:
        The record groups whose files and layers are written.
    json_tables:
        Tables as JSON, one file per device, each device with a second of its own, instead of CSV.

    Returns
    -------
    list[Path]
        The files written; empty if the profile has no device or API data (README.txt is there all the same).

    Raises
    ------
    OutputError
        The profile has no PROF directory and no *out_dir* was given, or a file cannot be written.
    """
    directory = out_dir if out_dir is not None else _default_directory(profile)
    sweep_staged(directory)
    stamp = free_stamp(directory, now)
    writer = toolkit_writer(profile.platform)
    tables = toolkit_tables(profile, writer, groups)
    make_directory(directory)
    # The timeline before any table: torch_npu's analysis reads on as soon as there is a csv file (cann_msprof.md 10).
    timelines = _timelines(profile, directory, stamp, writer, Reports() if reports is None else reports, groups)
    if json_tables:
        written = [*timelines, *_json_tables(directory, now, tables)]
    else:
        written = [*_csv_tables(directory, stamp, tables), *timelines]
    return _with_readme(directory, written, profile, groups) + export_documents(
        profile, directory.parent, groups=groups
    )


def _csv_tables(directory: Path, stamp: str, tables: Mapping[str, Table]) -> list[Path]:
    return [
        path
        for stem, table in tables.items()
        for path in alone(
            f"{stem}_{stamp}.csv", partial(write_csv_slices, directory, stem, stamp, table, line_end="\n"), []
        )
    ]


def _json_tables(directory: Path, now: datetime | None, tables: Mapping[str, Table]) -> list[Path]:
    written = []
    whole = {stem: table.frame() if isinstance(table, TextTable) else table for stem, table in tables.items()}
    for parts in by_device(whole):
        stamp = free_stamp(directory, now)
        written += [write_json_table(directory / f"{stem}_{stamp}.json", part) for stem, part in parts.items()]
    return written


def _timelines(
    profile: Profile,
    directory: Path,
    stamp: str,
    writer: Writer,
    reports: Reports,
    groups: Sequence[RecordGroup],
) -> list[Path]:
    """Write msprof_*.json, and the timelines of their own."""
    written = []
    pid = profile.pid
    trace = directory / f"msprof_{stamp}.json"
    blocks = reports.only(timeline_blocks(timeline_of(profile), COMPACT), pid)
    further = (
        block
        for name, events in iter_layers(in_order(groups, LAYER_ORDER), profile, COMPACT, writer)
        for block in reports.only(events, pid, name)
    )
    if alone(trace.name, lambda: write_trace(trace, chain(blocks, further), COMPACT), False):
        written.append(trace)
    for stem, events in iter_trace_files(groups, profile, COMPACT, writer):
        path = directory / f"{stem}_{stamp}.json"
        if reports.wants_file(stem) and alone(path.name, partial(write_trace, path, events, COMPACT), False):
            written.append(path)
    return written


def export_documents(
    profile: Profile,
    directory: Path,
    names: Container[str] | None = None,
    *,
    groups: Sequence[RecordGroup] = GROUPS,
) -> list[Path]:
    """
    Write the analyses that have no time stamp (``analyze/communication.json``) below *directory*.

    Parameters
    ----------
    names:
        Those that are wanted, by path; default all that have data.

    Raises
    ------
    OutputError
        A file cannot be written.
    """
    written = []
    makers = {group.name: group.json_files for group in groups if group.json_files is not None}
    for group, documents in makers.items():
        for name, document in alone(f"what {group} has of JSON", partial(documents, profile), {}).items():
            if names is None or name in names:
                path = directory / name
                make_directory(path.parent)
                with new_file(path) as stream:
                    stream.write(orjson.dumps(document))
                written.append(path)
    return written


def _default_directory(profile: Profile) -> Path:
    if profile.prof_path is None:
        raise OutputError(f"{profile.path}: holds no PROF directory, so there is nowhere to write {TOOLKIT_OUTPUT}")
    return profile.prof_path / TOOLKIT_OUTPUT


def plain_op_summary(profile: Profile, writer: Writer) -> TextTable:
    """Return op_summary with its column ``STARTS``."""
    return op_summary(
        profile.table("kernels"),
        profile.communication_ops,
        level=profile.level,
        platform=profile.platform,
        writer=writer,
    )


def whole_op_summary(profile: Profile, writer: Writer) -> TextTable:
    """Return op_summary with the columns that graphs add, and with its column ``STARTS``."""
    return with_graph_columns(profile, plain_op_summary(profile, writer), writer)


def toolkit_tables(profile: Profile, writer: Writer, groups: Sequence[RecordGroup]) -> dict[str, Table]:
    """Return the toolkit's csv tables by the stem of their files; a table may be empty."""
    # Statistics read whole tables and leave little, so they come before the tables that stay in memory until written.
    makers: dict[str, Callable[[], Table]] = {
        "api_statistic": lambda: api_statistic_table(api_statistic(profile), writer, profile),
        "op_statistic": lambda: _op_statistic(profile, writer),
        "task_time": lambda: task_time_table(profile.table("tasks"), writer),
        "op_summary": lambda: whole_op_summary(profile, writer).drop(STARTS),
    }
    if profile.level == "level0":
        del makers["op_statistic"]
    tables = {stem: table for stem, make in makers.items() if (table := alone(f"{stem}.csv", make, None)) is not None}
    in_files = ("op_summary", "api_statistic", "task_time", "op_statistic")
    return {stem: tables[stem] for stem in in_files if stem in tables} | csv_tables(groups, profile, writer)


def _op_statistic(profile: Profile, writer: Writer) -> Table:
    by_graph = per_graph_op_statistic(profile, writer)
    return op_statistic_table(op_statistic(profile), writer) if by_graph is None else by_graph


def timeline_of(profile: Profile) -> Timeline:
    """Return what the toolkit's timeline shows of a profile."""
    return Timeline(
        pid=profile.pid,
        api=profile.table("api"),
        tasks=profile.table("tasks"),
        communication_ops=profile.communication_ops,
        communication_tasks=profile.frame("communication_tasks"),
        writer=toolkit_writer(profile.platform),
    )


def _with_readme(
    directory: Path, written: Sequence[Path], profile: Profile, groups: Sequence[RecordGroup]
) -> list[Path]:
    """Write README.txt; in a PROF directory as the toolkit does, also where there is nothing to describe."""
    readme = directory / "README.txt"
    if written or (profile.prof_path is not None and not readme.exists()):
        lines = README | {name: line for group in groups for name, line in group.readme.items()}
        text = readme_text((_STAMPED.sub(r".\2", path.name) for path in written), lines)
        with new_file(readme) as stream:
            stream.write(text.encode())
    return [*written, readme] if written else []


README = {
    "msprof.json": "All layers on one time axis: host calls, device tasks, communication, memory, overlap analysis.",
    API_STATISTIC_FILE: "Time spent in the calls of the CANN interfaces, by level and name.",
    OP_STATISTIC_FILE: "Number and time of kernels by operator type and core type.",
    "op_summary.csv": "One row per kernel and collective: task, time, shapes, counters.",
    TASK_TIME_FILE: "One row per device task with start and end.",
}
"""Lines about the files that are of no record group."""
_NO_DESCRIPTION = "Here is no description about this file: {name}, please check in 'Profiling Instructions'!"


def readme_text(names: Iterable[str], lines: Mapping[str, str]) -> str:
    """
    Return the text that describes files by their names without time stamp (``op_summary.csv``, ``msprof.json``).

    *lines* describes files by those names. A name without a suffix is a timeline if one of that name is known, else a
    table.
    """
    files = {name if "." in name else f"{name}.{'json' if f'{name}.json' in lines else 'csv'}" for name in names}
    blocks: dict[str, list[tuple[str, str, str]]] = {"json": [], "csv": []}
    for stem, suffix in sorted((file.rsplit(".", 1)[0], file.rsplit(".", 1)[1]) for file in files):
        # A table may be JSON, too.
        kind = "csv" if f"{stem}.csv" in lines and f"{stem}.json" not in lines else suffix
        blocks[kind].append((stem, suffix, lines.get(f"{stem}.{kind}", _NO_DESCRIPTION.format(name=stem))))
    return "\n".join([*_block("Timeline", blocks["json"]), "", *_block("Summary", blocks["csv"])]) + "\n"


def _block(title: str, entries: list[tuple[str, str, str]]) -> list[str]:
    lines = [f"{number}.{name}.{suffix}:{text}" for number, (name, suffix, text) in enumerate(entries, start=1)]
    return [f"{title} file description:", *lines]
