"""One event in words: all fields of its row, and the events that it hangs together with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl
from attrs import frozen

from drynpu.tables import NO_CONTEXT, Profile
from drynpu.views.theme import size_text, time_text
from drynpu.writers.number_text import UNKNOWN
from drynpu_pages.tracks import Launches, Spot, TimelineIndex, launches_of

_LONG = ("tasks", "host_ops", "queue", "api")
_KERNEL_KEY = ("device_id", "stream_id", "task_id", "start_ns")
_INTERNAL = ("op_id", "node_start_ns", "node_tid", "row")
_ABSENT = ("", NO_CONTEXT)


@frozen
class Detail:
    """
    What is said of an event.

    Attributes
    ----------
    fields:
        Names with their values as texts.
    launches:
        What led to it and what it launched.
    """

    name: str
    track: str
    fields: Sequence[tuple[str, str]]
    launches: Launches


def describe(profile: Profile, index: TimelineIndex, spot: Spot) -> Detail | None:
    """Return what is known of an event, ``None`` if there is no such event."""
    if not index.holds(spot):
        return None
    track = index.tracks[spot.track]
    start, end = index.times(spot)
    times = [
        ("start", f"{time_text((start - index.start_ns) / 1000)} after the first event"),
        ("duration", f"{time_text((end - start) / 1000)} ({end - start} ns)"),
        ("start (Unix time)", f"{start} ns"),
    ]
    row = _row(profile, track.source, int(index.lane(spot).row[spot.place]))
    fields = [*times, *_fields(row)]
    return Detail(index.name(spot), track.title, fields, launches_of(profile, index, spot))


def _row(profile: Profile, source: str, place: int) -> pl.DataFrame:
    if source in _LONG:
        row = profile.rows(source, pl.Series([place]))
        return _with_kernel(profile, row) if source == "tasks" else row
    if source == "communication_ops":
        return profile.communication_ops[place]
    return profile.frame(source)[place] if source in profile.schemas else pl.DataFrame()


def _with_kernel(profile: Profile, task: pl.DataFrame) -> pl.DataFrame:
    """Return a task with the columns that the table of kernels has of it: shapes, types, counters."""
    here = pl.all_horizontal(pl.col(name) == task[name][0] for name in _KERNEL_KEY)
    keys = profile.compact("kernels", *_KERNEL_KEY).with_row_index("row").filter(here)
    if keys.is_empty():
        return task
    kernel = profile.rows("kernels", keys["row"].head(1))
    return pl.concat([task, kernel.select(set(kernel.columns) - set(task.columns))], how="horizontal").select(
        *task.columns, *(name for name in kernel.columns if name not in task.columns)
    )


def _fields(row: pl.DataFrame) -> Iterator[tuple[str, str]]:
    for name, value in row.row(0, named=True).items() if row.height else ():
        if name in _INTERNAL or name in ("start_ns", "end_ns", "duration_ns") or value in _ABSENT or value is None:
            continue
        yield _named(name, value)


def _named(name: str, value: object) -> tuple[str, str]:
    if name.endswith("_ns") and isinstance(value, int):
        return name.removesuffix("_ns").replace("_", " "), f"{value} ns"
    if name.endswith("_bytes") and isinstance(value, int):
        return name.removesuffix("_bytes").replace("_", " "), f"{size_text(value)} ({value} B)"
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return name.replace("_", " "), text or UNKNOWN
