"""Tracks of the host: operators of the framework, its task queue, calls of the toolkit, marks, Python."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from drynpu.analysis.python_frames import python_frames
from drynpu.tables import Profile
from drynpu_pages.tracks._rows import tracks_of
from drynpu_pages.tracks._tracks import Track, TrackKind

_THREAD = "thread {}"


def host_tracks(profile: Profile) -> Iterator[Track]:
    """Yield a track for each thread of the host and each kind of what happened on it."""
    if profile.frame("framework_events").is_empty():
        yield from _operators(profile)
        yield from _queue(profile)
    else:
        # The tables of operators and of the queue hold the same events under other names.
        yield from _framework_events(profile)
    yield from _host_kernels(profile)
    yield from _calls(profile)
    yield from _marks(profile)
    yield from _python(profile)


def _operators(profile: Profile) -> Iterator[Track]:
    rows = profile.compact("host_ops", "start_ns", "end_ns", "name", "tid").rename({"tid": "group"})
    yield from tracks_of(rows.with_columns(kind=pl.lit("operator")), TrackKind.OPERATORS, "host_ops", _THREAD)


def _queue(profile: Profile) -> Iterator[Track]:
    queue = profile.compact("queue", "start_ns", "end_ns", "name", "side", "tid").with_row_index("row")
    rows = queue.rename({"tid": "group", "side": "kind"})
    for side in ("enqueue", "dequeue"):
        part = rows.filter(pl.col("kind") == side)
        yield from tracks_of(part, TrackKind.QUEUE, "queue", side + ", thread {}")


def _framework_events(profile: Profile) -> Iterator[Track]:
    """Yield the events of MindSpore; what begins a flow is an arrow, no event (mindspore_profiler.md 12.5)."""
    events = profile.frame("framework_events").with_row_index("row")
    shown = events.filter(~(pl.col("is_flow") & (pl.col("start_ns") < pl.col("end_ns")))).rename({"tid": "group"})
    operators = shown.filter(~pl.col("is_stack")).with_columns(kind=pl.lit("operator"))
    yield from tracks_of(operators, TrackKind.OPERATORS, "framework_events", _THREAD)
    frames = shown.filter("is_stack").with_columns(kind=pl.lit("python"))
    yield from tracks_of(frames, TrackKind.PYTHON, "framework_events", _THREAD)


def _host_kernels(profile: Profile) -> Iterator[Track]:
    ops = profile.frame("host_cpu_ops").with_columns(
        (pl.col("start_ns") + pl.col("duration_ns")).alias("end_ns"), kind=pl.lit("host kernel"), group=pl.col("tid")
    )
    yield from tracks_of(ops, TrackKind.OPERATORS, "host_cpu_ops", "CPU kernels, thread {}")


def _calls(profile: Profile) -> Iterator[Track]:
    calls = profile.compact("api", "start_ns", "end_ns", "name", "item", "level", "tid")
    yield from tracks_of(calls.rename({"tid": "group", "level": "kind"}), TrackKind.CALLS, "api", _THREAD)


def _marks(profile: Profile) -> Iterator[Track]:
    marks = profile.frame("marks").with_row_index("row").rename({"message": "name"}).with_columns(kind=pl.lit("mark"))
    yield from tracks_of(marks.with_columns(group=pl.col("tid")), TrackKind.MARKS, "marks", _THREAD)
    seen = marks.drop_nulls("device_start_ns").with_columns(
        start_ns=pl.col("device_start_ns"), end_ns=pl.col("device_end_ns"), group=pl.col("stream_id")
    )
    for (device,), rows in seen.group_by("device_id", maintain_order=True):
        yield from tracks_of(rows, TrackKind.MARKS, "marks", f"device {device}, stream {{}}", int(str(device)))


def _python(profile: Profile) -> Iterator[Track]:
    if not profile.python_calls.is_empty():
        frames = python_frames(profile.python_calls).with_columns(kind=pl.lit("python"), group=pl.col("tid"))
        yield from tracks_of(frames, TrackKind.PYTHON, "python_calls", _THREAD)
    collections = profile.gc.with_columns(
        name=pl.lit("garbage collection"), kind=pl.lit("garbage collection"), group=pl.col("pid")
    )
    yield from tracks_of(collections, TrackKind.PYTHON, "gc", "garbage collection")
