"""
The result directory of a profiler of our own: ``*_acme`` with the operators in ``ACME/operators.csv``.

The toolkit's ``PROF_*`` stands beside it, as in the directories of other frameworks, and is drynpu's to write and read.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from drynpu.options import ExportType
from drynpu.products import FrameworkTables, Product, ToUnix, no_framework
from drynpu.tables import HOST_OPS, Profile

if TYPE_CHECKING:
    from drynpu.deliverables.record_context import RecordContext
    from drynpu.deliverables.record_group import RecordGroup
    from drynpu.raw import ClockAnchors

_OPERATORS = "operators.csv"
_REPORT = "acme_report.csv"


def _recognise(directory: Path, info: Mapping[str, object]) -> bool:
    del info
    return directory.name.endswith("_acme")


def _write(folder: Path, context: RecordContext, keep_computing: bool) -> None:
    """Write one row for each operator: its name, its thread, start and end in Unix ns."""
    del keep_computing
    operators, to_device_time = context.recording.operators, context.simulation.time_map
    folder.mkdir(parents=True, exist_ok=True)
    rows = {
        "name": [operators.names[index] for index in operators.name],
        "thread": operators.thread,
        "start_ns": to_device_time(operators.start_ns),
        "end_ns": to_device_time(operators.end_ns),
    }
    pl.DataFrame(rows).write_csv(folder / _OPERATORS)


def _read(folder: Path, to_unix: ToUnix) -> FrameworkTables:
    path = folder / _OPERATORS
    if not path.is_file():
        return no_framework()
    rows = pl.read_csv(path).sort("start_ns").with_row_index("op_id")
    known = {
        "op_id": rows["op_id"],
        "name": rows["name"],
        "start_ns": to_unix(rows["start_ns"].to_numpy()),
        "end_ns": to_unix(rows["end_ns"].to_numpy()),
        "tid": rows["thread"],
    }
    missing = {pl.String: "", pl.Boolean: False, pl.Int64: 0}
    columns = [
        (pl.Series(name, known[name]) if name in known else pl.repeat(missing[dtype], rows.height, eager=True))
        .cast(dtype)
        .alias(name)
        for name, dtype in HOST_OPS.items()
    ]
    return FrameworkTables(tables={**no_framework().tables, "host_ops": pl.DataFrame(columns)})


def _clock(info: Mapping[str, Any], anchors: ClockAnchors | None, notes: list[str]) -> ToUnix:
    """Return times as they are: they are Unix ns already."""
    del info, anchors, notes
    return lambda raw: raw


def _export(profile: Profile, forms: Collection[ExportType] | None, groups: Sequence[RecordGroup]) -> list[Path]:
    """Write how often each operator ran, and for how long."""
    del forms, groups
    length = (pl.col("end_ns") - pl.col("start_ns")).sum()
    report = profile.host_ops.group_by("name").agg(pl.len().alias("calls"), length.alias("host_ns")).sort("name")
    path = profile.path / _REPORT
    report.write_csv(path)
    return [path]


PRODUCT = Product(
    name="acme",
    recognise=_recognise,
    holds_profile=lambda directory: (directory / "ACME").is_dir(),
    folder="ACME",
    read=_read,
    clock=_clock,
    write=_write,
    forms=lambda _: (ExportType.TEXT,),
    export=_export,
)
"""What the hook ``drynpu_products`` returns."""
