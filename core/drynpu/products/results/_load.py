"""Result files to a profile: the tables that raw records give, as far as results tell them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from drynpu._errors import RawFormatError
from drynpu._progress import at_stage
from drynpu.layouts.result_files import METADATA_FILE
from drynpu.options.experimental_config import AIC_METRICS
from drynpu.products._framework_files import read_json_file
from drynpu.products._product import no_framework
from drynpu.products._profiler_info import info_file, read_rank
from drynpu.products.results._complete import complete, stated_collectives, with_file_times, with_groups
from drynpu.products.results._csv import read_cells
from drynpu.products.results._database import open_database
from drynpu.products.results._db_tables import read_analysis, read_database
from drynpu.products.results._events import Trace, read_trace
from drynpu.products.results._files import ResultFiles
from drynpu.products.results._tables import ResultTables, first_known
from drynpu.products.results._text_tables import read_text
from drynpu.products.results._trace_device import device_tables, stated_overlap
from drynpu.products.results._trace_host import host_tables
from drynpu.products.results._trace_samples import counter_tables
from drynpu.products.toolkit._load import no_toolkit
from drynpu.tables import Profile

_METRIC_NAMES = {spelling: name for name, spelling in AIC_METRICS.items()}


def load_results(files: ResultFiles, product: str, schemas: Mapping[str, pl.Schema]) -> Profile:
    """
    Return the profile that result files hold; *schemas* describe the further tables.

    A damaged file is left out with a note.

    Raises
    ------
    RawFormatError
        None of the files can be read.
    """
    notes: list[str] = []
    info = read_json_file(info_file(files.root), notes)
    metadata = read_json_file(files.root / METADATA_FILE, notes)
    results = read_results(files, schemas)
    notes.extend(results.notes)
    if results.others:
        notes.append(f"no view shows {', '.join(sorted(results.others))}; Profile.results has them as they are")
    if not results.tables and not results.derived:
        raise RawFormatError(f"{files.path}: no result could be read: {'; '.join(notes) or 'the files have no rows'}")
    toolkit, framework = no_toolkit(), no_framework()
    facts = {**toolkit.facts, **_requested(info), **results.facts}
    facts["rank_id"] = read_rank(info, int(facts["rank_id"]))
    known = {**toolkit.tables, **framework.tables}
    return Profile(
        path=files.path,
        prof_path=None,
        framework_path=None,
        **facts,
        **known | {name: table for name, table in results.tables.items() if name in known},
        group_tables={name: table for name, table in results.tables.items() if name not in known},
        schemas=schemas,
        product=product,
        notes=tuple(notes),
        profiler_info=info,
        metadata=metadata,
        results={**results.others, **results.derived},
        result_files=files.all,
    )


def _requested(info: Mapping[str, object]) -> dict[str, object]:
    """Return level and counters that profiler_info.json of torch or MindSpore says were asked for."""
    config = info.get("config")
    config = config.get("experimental_config") if isinstance(config, Mapping) else info.get("profiler_parameters")
    if not isinstance(config, Mapping):
        return {}
    level = str(config.get("_profiler_level", config.get("profiler_level", ""))).rpartition(".")[2].lower()
    metrics = str(config.get("_aic_metrics", config.get("aic_metrics", "")))
    return {"level": level, "aic_metrics": _METRIC_NAMES.get(metrics, metrics)}


def read_results(files: ResultFiles, schemas: Mapping[str, pl.Schema]) -> ResultTables:
    """
    Return what the files hold, each table from the first source that has it.

    Databases come first, since they have most, then timelines, then tables.
    """
    notes: list[str] = []
    at_stage("Reading result files")
    trace = read_trace(files.traces, notes) if files.traces else None
    text = read_text(files.csv, () if trace is None else trace.devices)
    further = ResultTables(others=_further(files.others, notes))
    sources = [*_databases(files, schemas, notes), *_timeline(trace, schemas, text), text, further]
    results = first_known(sources)
    derived = dict(results.derived)
    if "host_ops" in results.tables:
        # The operators tell them with their place on the host.
        derived.pop("step_ranges", None)
    tables = complete(results.tables)
    document = _document(files.documents, notes)
    devices = _devices(tables, derived)
    if "communication_ops" not in tables and document:
        tables["communication_ops"] = stated_collectives(document, devices[0] if devices else 0)
    tables = with_groups(tables, _groups(document))
    facts = {**results.facts, "device_ids": _devices(tables, derived)}
    facts["pid"] = facts.get("pid") or _first(tables, "host_ops", "pid")
    return ResultTables(
        tables=tables, derived=derived, others=results.others, facts=facts, notes=(*notes, *results.notes)
    )


def _databases(files: ResultFiles, schemas: Mapping[str, pl.Schema], notes: list[str]) -> Iterator[ResultTables]:
    for path in (*files.databases, *files.analyses):
        at_stage(f"Reading {path.name}")
        try:
            opened = open_database(path)
            yield read_analysis(opened) if path in files.analyses else read_database(opened, schemas)
            notes.extend(opened.notes)
        except (sqlite3.Error, UnicodeDecodeError, pl.exceptions.PolarsError) as error:
            notes.append(f"{path.name} could not be read and was left out: {error}")


def _further(paths: Sequence[Path], notes: list[str]) -> dict[str, pl.DataFrame]:
    """Return csv files that no reader is for, as text."""
    cells = {path.name: read_cells(path, notes) for path in paths if path.suffix == ".csv"}
    return {name: frame for name, frame in cells.items() if frame is not None and frame.height}


def _timeline(trace: Trace | None, schemas: Mapping[str, pl.Schema], text: ResultTables) -> Iterator[ResultTables]:
    if trace is None:
        return
    tables = {**host_tables(trace, schemas), **device_tables(trace, schemas), **counter_tables(trace)}
    if "communication_ops" in text.tables:
        tables["communication_ops"] = with_file_times(tables["communication_ops"], text.tables["communication_ops"])
    unread = trace.unread
    notes = (f"no view shows the layers {', '.join(unread)} of the timeline",) if unread else ()
    stated = {"overlap": stated_overlap(trace)}
    yield ResultTables(tables=tables, derived=stated, facts={"pid": trace.host_pid}, notes=notes)


def _document(paths: Sequence[Path], notes: list[str]) -> Mapping[str, Mapping[str, Mapping[str, Any]]]:
    """Return communication.json by step and kind; the toolkit's file has neither."""
    document = read_json_file(paths[0], notes) if paths else {}
    if any("@" in key for key in document):
        return {"": {"": document}}
    steps = {name: step for name, step in document.items() if isinstance(step, dict)}
    return {name: {kind: ops for kind, ops in step.items() if isinstance(ops, dict)} for name, step in steps.items()}


def _groups(document: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> dict[str, str]:
    """Return the group of each collective, by its name."""
    keys = (key.partition("@") for step in document.values() for operators in step.values() for key in operators)
    return {name: group for name, separator, group in keys if separator}


def _devices(tables: Mapping[str, pl.DataFrame], derived: Mapping[str, pl.DataFrame]) -> tuple[int, ...]:
    frames = [tables[name] for name in ("tasks", "kernels", "communication_ops") if name in tables]
    frames = frames or [table for table in derived.values() if "device_id" in table.columns]
    known = {device for table in frames for device in table["device_id"].unique().to_list() if device is not None}
    return tuple(sorted(known))


def _first(tables: Mapping[str, pl.DataFrame], table: str, column: str) -> int:
    rows = tables.get(table)
    return int(rows[column][0]) if rows is not None and rows.height else 0
