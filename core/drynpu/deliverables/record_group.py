"""What a record group is: everything that one kind of measurement adds to a profile, from its bytes to its files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeAlias

import polars as pl
from attrs import field, frozen

from drynpu._alone import alone, each_alone
from drynpu.deliverables.load_context import LoadContext
from drynpu.deliverables.record_context import GroupRecords, RecordContext
from drynpu.raw import RecordKind, TextKind
from drynpu.tables import Profile
from drynpu.writers.db import Table as DbTable
from drynpu.writers.number_text import Writer
from drynpu.writers.text_table import Table
from drynpu.writers.trace_json import Events, JsonStyle

Build: TypeAlias = Callable[[RecordContext], GroupRecords]
Load: TypeAlias = Callable[[LoadContext], Mapping[str, pl.DataFrame]]
CsvFiles: TypeAlias = Callable[[Profile, Writer], Mapping[str, pl.DataFrame]]
Blocks: TypeAlias = Iterator[Events | Sequence[str]]
Layers: TypeAlias = Callable[[Profile, JsonStyle, Writer], Blocks]
TraceFiles: TypeAlias = Callable[[Profile, JsonStyle, Writer], Mapping[str, Blocks]]
Documents: TypeAlias = Callable[[Profile], Mapping[str, object]]
DbRows: TypeAlias = Callable[[Profile], Iterator[tuple[str, Table]]]


@frozen(eq=False, kw_only=True)
class RecordGroup:
    """
    The records of one kind of measurement, with their tables, files, layers and database rows.

    Whatever a group lacks stays at its default. ``read_tables`` are the tables that its files, layers and rows are made
    of: a group that names some is only called where one of them has rows.
    """

    name: str
    kinds: tuple[RecordKind | TextKind, ...] = ()
    build: Build | None = None
    """Simulation to raw records; returns nothing for what the request does not ask for."""
    schemas: Mapping[str, pl.Schema] = field(factory=dict)
    load: Load | None = None
    """Raw records to tables; those without rows are left out."""
    read_tables: tuple[str, ...] = ()
    csv_files: CsvFiles | None = None
    """CSV tables of the toolkit, by file stem; a file exists only if its table has rows."""
    torch_csv_files: CsvFiles | None = None
    """CSV tables in ASCEND_PROFILER_OUTPUT (torch_npu_profiler.md 3.6), by file name."""
    json_files: Documents | None = None
    """Documents below the PROF directory, by path without time stamp (``analyze/communication.json``)."""
    torch_json_files: Documents | None = None
    """Documents in ASCEND_PROFILER_OUTPUT, by file name."""
    layers: Layers | None = None
    """Layers of the timeline (cann_msprof.md 4.5)."""
    trace_files: TraceFiles | None = None
    """Further timelines beside ``msprof_*.json``, by file stem."""
    db_rows: DbRows | None = None
    """Database tables with their rows; a table may come several times, and be empty."""
    db_tables: tuple[DbTable, ...] = ()
    readme: Mapping[str, str] = field(factory=dict)
    """Lines of README.txt, by file name without time stamp (``hbm.csv``)."""

    def has_rows(self, profile: Profile) -> bool:
        """Return whether the profile has anything that files, layers and rows of this group are made of."""
        return not self.read_tables or any(name in profile.group_tables for name in self.read_tables)


def csv_tables(groups: Sequence[RecordGroup], profile: Profile, writer: Writer) -> dict[str, pl.DataFrame]:
    """Return the CSV tables of all groups by file stem."""
    tables: dict[str, pl.DataFrame] = {}
    for group in groups:
        if group.csv_files is not None and group.has_rows(profile):
            tables |= alone(f"what {group.name} has of csv", partial(group.csv_files, profile, writer), {})
    return tables


def torch_csv_tables(groups: Sequence[RecordGroup], profile: Profile, writer: Writer) -> dict[str, pl.DataFrame]:
    """Return the CSV tables of all groups for ASCEND_PROFILER_OUTPUT by file name."""
    tables: dict[str, pl.DataFrame] = {}
    for group in groups:
        if group.torch_csv_files is not None and group.has_rows(profile):
            tables |= alone(f"what {group.name} has of csv", partial(group.torch_csv_files, profile, writer), {})
    return tables


def iter_layers(
    groups: Sequence[RecordGroup], profile: Profile, style: JsonStyle, writer: Writer
) -> Iterator[tuple[str, Blocks]]:
    """Yield the name of each group that has layers, with the events of its layers."""
    for group in groups:
        if group.layers is not None and group.has_rows(profile):
            make = partial(group.layers, profile, style, writer)
            yield group.name, each_alone(f"what {group.name} has of layers", make)


def iter_trace_files(
    groups: Sequence[RecordGroup], profile: Profile, style: JsonStyle, writer: Writer
) -> Iterator[tuple[str, Blocks]]:
    """Yield the further timelines of all groups, by file stem."""
    for group in groups:
        if group.trace_files is not None and group.has_rows(profile):
            make = partial(group.trace_files, profile, style, writer)
            yield from alone(f"what {group.name} has of timelines", make, {}).items()


def torch_documents(groups: Sequence[RecordGroup], profile: Profile) -> dict[str, object]:
    """Return the documents of all groups for ASCEND_PROFILER_OUTPUT by file name."""
    documents: dict[str, object] = {}
    for group in groups:
        if group.torch_json_files is not None:
            documents |= alone(f"what {group.name} has of JSON", partial(group.torch_json_files, profile), {})
    return documents


def iter_db_rows(groups: Sequence[RecordGroup], profile: Profile) -> Iterator[tuple[str, Table]]:
    """Yield the database tables of all groups with their rows."""
    for group in groups:
        if group.db_rows is not None and group.has_rows(profile):
            yield from each_alone(f"what {group.name} has of databases", partial(group.db_rows, profile))
