"""``msprof_<time>.db`` of a PROF directory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from drynpu._errors import OutputError
from drynpu.deliverables.record_group import RecordGroup, iter_db_rows
from drynpu.deliverables.registry import DB_ORDER, GROUPS, in_order
from drynpu.deliverables.tasks._db_host import call_rows, run_rows
from drynpu.tables import Profile
from drynpu.writers._files import free_stamp, make_directory
from drynpu.writers._text_table import Table
from drynpu.writers.db._schema import TABLES, tables_by_name
from drynpu.writers.db._schema import Table as DbTable
from drynpu.writers.db._writer import new_database


def export_msprof_db(
    profile: Profile,
    out_dir: Path | None = None,
    now: datetime | None = None,
    groups: Sequence[RecordGroup] = GROUPS,
) -> Path | None:
    """
    Write the toolkit's database, schema 1.2.0 (cann_msprof.md 4.6): times in ns, sizes in bytes, rates per second.

    A table exists only if it has rows, except STRING_IDS, NPU_INFO, RANK_DEVICE_MAP, HOST_INFO, META_DATA and the
    ENUM tables. Its rows are those of the csv and json files of the same profile. An earlier export stays: the name
    carries the first free second from *now* on (local time).

    Parameters
    ----------
    out_dir:
        Where to write; default the PROF directory itself.

    Returns
    -------
    Path | None
        The file (mode 0640); ``None`` if the profile has nothing that the toolkit records.

    Raises
    ------
    OutputError
        The profile has no PROF directory and no *out_dir* was given, or the file cannot be written.
    """
    directory = out_dir if out_dir is not None else profile.prof_path
    if directory is None:
        raise OutputError(f"{profile.path}: holds no PROF directory, so there is nowhere to write a database")
    if not has_toolkit_data(profile):
        return None
    make_directory(directory)
    path = directory / f"msprof_{free_stamp(directory, now)}.db"
    with new_database(path, database_tables(groups)) as database:
        for name, rows in toolkit_rows(profile, groups):
            database.write(name, rows)
    return path


def database_tables(groups: Sequence[RecordGroup]) -> Mapping[str, DbTable]:
    """Return every table of the toolkit by name; a database has those that have rows."""
    return tables_by_name((*TABLES, *(table for group in groups for table in group.db_tables)))


def toolkit_rows(profile: Profile, groups: Sequence[RecordGroup]) -> Iterator[tuple[str, Table]]:
    """Yield table names with their rows; a table may come several times, and be empty."""
    yield from run_rows(profile)
    yield from call_rows(profile)
    yield from iter_db_rows(in_order(groups, DB_ORDER), profile)


def has_toolkit_data(profile: Profile) -> bool:
    """Tell whether the toolkit recorded anything."""
    recorded = (
        profile.compact("api", "connection_id"),
        profile.compact("tasks", "connection_id"),
        profile.communication_ops,
        profile.npu_mem,
        profile.npu_module_mem,
        profile.cann_allocations,
        *profile.group_tables.values(),
    )
    return any(not table.is_empty() for table in recorded)
