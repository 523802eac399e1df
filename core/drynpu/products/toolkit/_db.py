"""``msprof_<time>.db`` of a PROF directory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

import polars as pl

from drynpu._errors import OutputError
from drynpu.deliverables.db_columns import Rows
from drynpu.deliverables.db_enums import ENUMS, enum_rows
from drynpu.deliverables.record_group import RecordGroup, iter_db_rows
from drynpu.deliverables.registry import DB_ORDER, GROUPS, in_order
from drynpu.tables import Profile
from drynpu.writers.db import SCHEMA_VERSION, TABLES, new_database, tables_by_name
from drynpu.writers.db import Table as DbTable
from drynpu.writers.files import free_stamp, make_directory

NO_HOST_UID = "0"
"""The toolkit's host number where info.json has none (Ascend/msprof, context.cpp)."""
_NO_DEVICE, _NO_RANK = -1, -1
_NO_NAME = "UNKNOWN"


def export_msprof_db(
    profile: Profile,
    out_dir: Path | None = None,
    now: datetime | None = None,
    groups: Sequence[RecordGroup] = GROUPS,
) -> Path | None:
    """
    Write the toolkit's database, schema 1.2.0 (cann_msprof.md 4.6): times in ns, sizes in bytes, rates per second.

    A table exists only if it has rows, except STRING_IDS, NPU_INFO, RANK_DEVICE_MAP, HOST_INFO, META_DATA and the
    ENUM tables. Its rows equal the csv and json files of the same profile. An earlier export stays: the name
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


def toolkit_rows(profile: Profile, groups: Sequence[RecordGroup]) -> Rows:
    """Yield table names with their rows; a table may come several times, and be empty."""
    yield from _run_rows(profile)
    yield from iter_db_rows(in_order(groups, DB_ORDER), profile)


def _run_rows(profile: Profile) -> Rows:
    """Yield the tables that every database has, and the time of the session if it is known."""
    devices = list(profile.device_ids) or [_NO_DEVICE]
    name = profile.platform.npu_info_name if profile.device_ids else _NO_NAME
    yield "NPU_INFO", pl.DataFrame({"id": devices, "name": [name] * len(devices)})
    # The toolkit does not know ranks; torch's profiler puts them in when it takes the file over.
    yield "RANK_DEVICE_MAP", pl.DataFrame({"rankId": [_NO_RANK] * len(devices), "deviceId": devices})
    yield "HOST_INFO", pl.DataFrame({"hostUid": [NO_HOST_UID], "hostName": [profile.hostname]})
    version = dict(zip(("MAJOR", "MINOR", "MICRO"), map(str, SCHEMA_VERSION), strict=True))
    names = ["SCHEMA_VERSION", *(f"SCHEMA_VERSION_{part}" for part in version)]
    yield "META_DATA", pl.DataFrame({"name": names, "value": [".".join(version.values()), *version.values()]})
    for enum in ENUMS:
        yield enum, enum_rows(enum)
    if profile.begin_ns:
        times = {"startTimeNs": [profile.begin_ns], "endTimeNs": [profile.end_ns or None]}
        yield "SESSION_TIME_INFO", pl.DataFrame(times, schema=dict.fromkeys(times, pl.Int64))


def has_toolkit_data(profile: Profile) -> bool:
    """Tell whether the toolkit recorded anything."""
    tables = (profile.communication_ops, *profile.group_tables.values())
    long = (profile.table("api"), profile.table("tasks"))
    return any(table.height for table in tables) or any(table.height for table in long)
