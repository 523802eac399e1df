"""The deliverables of MindSpore's profiler: ASCEND_PROFILER_OUTPUT (mindspore_profiler.md 12)."""

from __future__ import annotations

import csv
import io
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import orjson
from attrs import frozen

from drynpu._alone import alone
from drynpu.analysis import mindspore_launches, mindspore_step_trace, mindspore_steps, overlap
from drynpu.deliverables.communication.analyzer_db import export_communication_db
from drynpu.deliverables.communication.files import mindspore_json_files
from drynpu.deliverables.record_group import RecordGroup
from drynpu.deliverables.registry import GROUPS
from drynpu.layouts.communication_files import ANALYSES
from drynpu.layouts.result_files import (
    COMMUNICATION_DATABASE,
    DATA_PREPROCESS_FILE,
    KERNEL_DETAILS_FILE,
    MEMORY_RECORD_FILE,
    NPU_MODULE_MEM_FILE,
    OPERATOR_DETAILS_FILE,
    OPERATOR_MEMORY_FILE,
    STEP_TRACE_TIME_FILE,
    TRACE_VIEW_FILE,
)
from drynpu.options import ExportType
from drynpu.products._product import NO_TASKS, forms_from_words
from drynpu.products.mindspore._memory import mindspore_memory_record, mindspore_operator_memory
from drynpu.products.mindspore._minddata import pipeline_raw_table, pipeline_summary, summary_rows
from drynpu.products.mindspore._tables import (
    dataset_table,
    mindspore_kernel_details,
    mindspore_step_trace_table,
    operator_shapes_table,
)
from drynpu.products.mindspore._trace import mindspore_blocks
from drynpu.products.toolkit._db import export_msprof_db
from drynpu.products.toolkit._msprof import toolkit_tables, whole_op_summary
from drynpu.tables import Profile
from drynpu.writers.files import new_file, replaced_directory, write_csv, write_table
from drynpu.writers.folders import FRAMEWORK_OUTPUT
from drynpu.writers.number_text import toolkit_writer
from drynpu.writers.text_table import Table
from drynpu.writers.trace_json import SPACED, write_trace

# Line end of the tables that MindSpore writes itself; those copied from the toolkit have another.
_CRLF = "\r\n"
# The jit level at which the graph engine runs the whole graph: files have no steps then (mindspore_profiler.md 12.3).
WHOLE_GRAPH = "O2"
_COPIED = ("op_statistic", "api_statistic", "static_op_mem", "l2_cache", "hbm", "nic", "roce", "pcie", "hccs")
"""Tables of the toolkit that are copied under their stem."""


@frozen(kw_only=True)
class _Choice:
    """Parameters in profiler_info_<rank>.json that decide on files; without them every file that has data."""

    host: bool
    device: bool
    schedule: bool
    memory: bool
    shapes: bool
    pipeline: bool
    rank: int

    @classmethod
    def from_profile(cls, profile: Profile) -> _Choice:
        """Read the parameters of a profile."""
        parameters = _parameters(profile)
        activities = parameters.get("activities", ["CPU", "NPU"])
        return cls(
            host="CPU" in activities,
            device="NPU" in activities and profile.with_toolkit,
            schedule=bool(parameters.get("is_set_schedule", True))
            and profile.profiler_info.get("jit_level") != WHOLE_GRAPH,
            memory=bool(parameters.get("profile_memory", True)),
            shapes=bool(parameters.get("record_shapes", True)),
            pipeline=bool(parameters.get("data_process", True)),
            rank=max(profile.rank_id, 0),
        )


def _parameters(profile: Profile) -> Mapping[str, Any]:
    """Return the parameters of the profiler that the recording noted down."""
    parameters: Any = profile.profiler_info.get("profiler_parameters")
    return parameters if isinstance(parameters, Mapping) else {}


def mindspore_forms(profile: Profile) -> tuple[ExportType, ...]:
    """Return the forms of deliverables that the recording was asked for (profiler_info), text by default."""
    return forms_from_words(_parameters(profile).get("export_type"))


def export_mindspore(
    profile: Profile, forms: Collection[ExportType] | None = None, groups: Sequence[RecordGroup] = GROUPS
) -> list[Path]:
    """
    Recreate ASCEND_PROFILER_OUTPUT in the run directory of MindSpore.

    Everything is written beside the directory first and then swapped in. A file exists only if it has a data row;
    which files there are follows the parameters and the data (mindspore_profiler.md 12.1).

    Parameters
    ----------
    forms:
        Text, databases (``ascend_mindspore_profiler_<rank>.db`` and ``communication_analyzer.db``) or both; default
        what the recording was asked for. A database exists only where the device was recorded.

    Returns
    -------
    list[Path]
        The files written.

    Raises
    ------
    OutputError
        A file or the directory cannot be written.
    """
    forms = mindspore_forms(profile) if forms is None else forms
    final = profile.path / FRAMEWORK_OUTPUT
    choice = _Choice.from_profile(profile)
    with replaced_directory(final) as directory:
        names: list[str] = []
        if ExportType.TEXT in forms:
            names += _write_text(profile, directory, choice, groups)
        if ExportType.DB in forms and choice.device:
            names += alone("the databases", lambda: _write_databases(profile, directory, choice.rank, groups), [])
    return [final / name for name in names]


def _write_text(profile: Profile, directory: Path, choice: _Choice, groups: Sequence[RecordGroup]) -> list[str]:
    names: list[str] = []
    if not choice.host and not choice.device:
        return names
    trace = directory / TRACE_VIEW_FILE
    if alone(trace.name, lambda: write_trace(trace, mindspore_blocks(profile, SPACED, groups), SPACED), False):
        names.append(TRACE_VIEW_FILE)
    makers = [*_host_tables(profile, choice)]
    if choice.device:
        makers += _device_tables(profile, choice, groups)
    for name, make, line_end in makers:
        if alone(name, partial(write_table, directory / name, make, line_end=line_end), False):
            names.append(name)
    if choice.device:
        names += alone(
            "what is JSON of the communication", lambda: _write_communication(profile, directory, choice), []
        )
    if choice.pipeline:
        names += alone("minddata_pipeline_*", lambda: _write_pipeline(profile, directory, choice.rank), [])
    return names


def _write_communication(profile: Profile, directory: Path, choice: _Choice) -> list[str]:
    steps = mindspore_steps(profile)
    return _write_documents(directory, mindspore_json_files(profile, steps if choice.schedule else steps.clear()))


_Maker = tuple[str, Callable[[], Table], str]
"""Name of a file, what makes its rows, and its line ends; a table may be empty."""


def _host_tables(profile: Profile, choice: _Choice) -> Iterator[_Maker]:
    if choice.host:
        yield "dataset.csv", lambda: dataset_table(profile), _CRLF
        if choice.shapes:
            yield OPERATOR_DETAILS_FILE, lambda: operator_shapes_table(profile), _CRLF


def _device_tables(profile: Profile, choice: _Choice, groups: Sequence[RecordGroup]) -> Iterator[_Maker]:
    writer = toolkit_writer(profile.platform)
    steps, overlaps = cache(lambda: mindspore_steps(profile)), cache(lambda: overlap(profile))
    tables = toolkit_tables(profile, writer, groups)

    def kernels() -> Table:
        shown = steps() if choice.schedule and steps().height else None
        summary = whole_op_summary(profile, writer)
        return mindspore_kernel_details(summary, mindspore_launches(profile), shown, level=profile.level)

    def step_trace() -> Table:
        if not overlaps().height:
            return overlaps()
        return mindspore_step_trace_table(mindspore_step_trace(profile, steps(), overlaps(), with_host=choice.host))

    if profile.level != NO_TASKS:
        yield KERNEL_DETAILS_FILE, kernels, _CRLF
        yield STEP_TRACE_TIME_FILE, step_trace, _CRLF
    # What is copied from the toolkit keeps the toolkit's line ends.
    yield from ((f"{stem}.csv", partial(tables.__getitem__, stem), "\n") for stem in _COPIED if stem in tables)
    if "aicpu" in tables:
        yield DATA_PREPROCESS_FILE, lambda: tables["aicpu"], "\n"
    if choice.memory:
        if choice.host:
            yield OPERATOR_MEMORY_FILE, lambda: mindspore_operator_memory(profile), _CRLF
        yield MEMORY_RECORD_FILE, lambda: mindspore_memory_record(profile, tables), _CRLF
        if "npu_module_mem" in tables:
            yield NPU_MODULE_MEM_FILE, lambda: tables["npu_module_mem"], _CRLF


def _write_documents(directory: Path, documents: Mapping[str, object]) -> list[str]:
    for name, document in documents.items():
        with new_file(directory / name) as stream:
            stream.write(orjson.dumps(document))
    return list(documents)


def _write_pipeline(profile: Profile, directory: Path, rank: int) -> list[str]:
    raw = pipeline_raw_table(profile)
    if raw.is_empty():
        return []
    names = [f"minddata_pipeline_raw_{rank}.csv"]
    write_csv(directory / names[0], raw, line_end=_CRLF)
    summary = pipeline_summary(profile)
    if summary:
        rows = f"minddata_pipeline_summary_{rank}.csv"
        _write_rows(directory / rows, summary_rows(summary))
        names.append(rows)
        names += _write_documents(directory, {f"minddata_pipeline_summary_{rank}.json": summary})
    return names


def _write_rows(path: Path, rows: Iterable[list[str]]) -> None:
    """Write rows of unequal length as csv."""
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    with new_file(path) as stream:
        stream.write(text.getvalue().encode())


def _write_databases(profile: Profile, directory: Path, rank: int, groups: Sequence[RecordGroup]) -> list[str]:
    """Write the toolkit's databases under the names that MindSpore gives them."""
    names: list[str] = []
    with tempfile.TemporaryDirectory(prefix=".database-", dir=directory) as folder:
        communication = None
        if profile.level not in ("level0", NO_TASKS):
            communication = export_communication_db(profile, Path(folder), ANALYSES)
        for database, name in (
            (export_msprof_db(profile, Path(folder), groups=groups), f"ascend_mindspore_profiler_{rank}.db"),
            (communication, COMMUNICATION_DATABASE),
        ):
            if database is not None:
                shutil.move(database, directory / name)
                names.append(name)
    return names
