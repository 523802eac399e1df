"""``ascend_pytorch_profiler*.db`` and ``analysis.db`` of a result directory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from drynpu._alone import each_alone
from drynpu.deliverables.communication.files import torch_db_documents
from drynpu.deliverables.record_group import RecordGroup
from drynpu.layouts.result_files import ANALYSIS_DATABASE, torch_database_file
from drynpu.products._product import NO_TASKS
from drynpu.products.toolkit._db import database_tables, has_toolkit_data, toolkit_rows
from drynpu.products.torch._db_api import api_rows
from drynpu.products.torch._db_run import (
    collection_rows,
    component_texts,
    host_row,
    memory_rows,
    own_rows,
    rank_of,
    step_rows,
    toolkit_memory_rows,
)
from drynpu.products.torch.db_analysis import communication_rows, step_trace_rows
from drynpu.tables import Profile
from drynpu.writers.db import ANALYSIS_TABLES, TORCH_TABLES, new_database, tables_by_name, without_keys

# Ranges of STRING_IDS, so that torch's texts get no number of the toolkit's (torch_npu_profiler.md 4.16).
_FIRST_STRING, _FIRST_MEMORY_STRING = 1 << 28, 2 << 28
# Torch's table of that name knows the rank of the job, the toolkit's may not.
_REPLACED = "RANK_DEVICE_MAP"


def export_torch_db(
    profile: Profile,
    directory: Path,
    *,
    environment: Mapping[str, str],
    groups: Sequence[RecordGroup],
) -> list[Path]:
    """
    Write the databases of torch's profiler into *directory* (torch_npu_profiler.md 4.16, 4.17).

    ``ascend_pytorch_profiler_<rank>.db`` (without ``_<rank>`` where there is none) is the toolkit's database with
    torch's tables added. ``analysis.db`` exists where the device was recorded at some level and it has a row.

    Parameters
    ----------
    environment:
        Variables for META_DATA where the recording's metadata do not have them.

    Returns
    -------
    list[Path]
        The files (mode 0640). Raises ``OutputError`` if one cannot be written.
    """
    rank = rank_of(profile)
    path = directory / torch_database_file(rank)
    _write_profile(profile, path, environment, groups)
    if not _has_steps(profile):
        return [path]
    tables = dict(communication_rows(torch_db_documents(profile)))
    tables["StepTraceTime"] = step_trace_rows(profile)
    if all(rows.is_empty() for rows in tables.values()):
        return [path]
    analysis = directory / ANALYSIS_DATABASE
    with new_database(analysis, ANALYSIS_TABLES) as database:
        for name, rows in tables.items():
            database.write(name, rows)
    return [path, analysis]


def _has_steps(profile: Profile) -> bool:
    return profile.with_toolkit and profile.level != NO_TASKS


def _write_profile(profile: Profile, path: Path, environment: Mapping[str, str], groups: Sequence[RecordGroup]) -> None:
    toolkit = profile.with_toolkit and has_toolkit_data(profile)
    tables = tables_by_name((*database_tables(groups).values(), *TORCH_TABLES))
    with new_database(path, tables if toolkit else without_keys(tables)) as database:
        if toolkit:
            for name, rows in toolkit_rows(profile, groups):
                if name != _REPLACED:
                    database.write(name, rows)
        else:
            database.write("HOST_INFO", host_row())
        for name, rows in each_alone("what torch states in databases", partial(own_rows, profile, environment)):
            database.write(name, rows)
        for name, rows in each_alone("what torch calls in databases", partial(api_rows, profile)):
            database.write(name, rows, first_string=_FIRST_STRING)
        if _has_steps(profile):
            database.write("STEP_TIME", step_rows(profile))
        records, operators = memory_rows(profile)
        database.number_texts(component_texts(records), _FIRST_MEMORY_STRING)
        database.write("MEMORY_RECORD", records, first_string=_FIRST_MEMORY_STRING)
        database.write("OP_MEMORY", operators, first_string=_FIRST_MEMORY_STRING)
        database.write("OP_MEMORY", toolkit_memory_rows(profile))
        database.write("GC_RECORD", collection_rows(profile))
