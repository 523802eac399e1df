"""Tracks of the devices: overlap, streams, communication, and the scopes of a network."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from drynpu.analysis import scope_bars
from drynpu.analysis.launches import mindspore_launches
from drynpu.analysis.overlaps import OVERLAP_KINDS, overlap
from drynpu.tables import Profile
from drynpu_pages.tracks._rows import tracks_of
from drynpu_pages.tracks._tracks import Track, TrackKind

_END = (pl.col("start_ns") + pl.col("duration_ns")).alias("end_ns")


def device_tracks(profile: Profile) -> Iterator[Track]:
    """Yield a track for each kind of overlap, stream, group and plane of each device, and for each depth of scopes."""
    tasks = profile.compact("tasks", "device_id", "stream_id", "start_ns", "duration_ns", "kernel_name", "kernel_type")
    several = len(profile.device_ids) > 1
    for device in profile.device_ids:
        prefix = f"device {device}, " if several else ""
        yield from _overlap(profile, device, prefix)
        yield from _streams(tasks, device, prefix)
        yield from _communication(profile, device, prefix)
    yield from _scopes(profile)


def _scopes(profile: Profile) -> Iterator[Track]:
    """Yield the depths of the scopes of a network, which MindSpore alone puts before the names of its operators."""
    if profile.frame("framework_events").is_empty():
        return
    bars = scope_bars(profile, mindspore_launches(profile)).with_row_index("row")
    rows = bars.with_columns(kind=pl.lit("scope"), group=pl.col("depth") + 1)
    yield from tracks_of(rows, TrackKind.SCOPES, "scope_bars", "scope level {}")


def _overlap(profile: Profile, device: int, prefix: str) -> Iterator[Track]:
    on_device = overlap(profile).with_row_index("row").filter(pl.col("device_id") == device)
    for kind in OVERLAP_KINDS:
        rows = on_device.filter(pl.col("kind") == kind).with_columns(name=pl.col("kind"), group=pl.col("kind"))
        yield from tracks_of(rows, TrackKind.OVERLAP, "overlap", prefix + "{}", device)


def _streams(tasks: pl.DataFrame, device: int, prefix: str) -> Iterator[Track]:
    rows = tasks.with_row_index("row")
    if len(prefix):
        rows = rows.filter(pl.col("device_id") == device)
    rows = rows.rename({"kernel_name": "name", "kernel_type": "kind", "stream_id": "group"}).with_columns(_END)
    yield from tracks_of(rows, TrackKind.STREAMS, "tasks", prefix + "stream {}", device)


def _communication(profile: Profile, device: int, prefix: str) -> Iterator[Track]:
    on_device = pl.col("device_id") == device
    operations = profile.communication_ops.with_row_index("row").filter(on_device)
    kind = pl.lit("COMMUNICATION").alias("kind")
    rows = operations.with_columns(_END, kind, pl.col("group").fill_null(""))
    parts = profile.frame("communication_tasks").with_row_index("row").filter(on_device)
    parts = parts.with_columns(_END, pl.col("name").alias("kind"), pl.col("group").fill_null(""))
    for group in sorted({*rows["group"].unique(), *parts["group"].unique()}):
        title = prefix + "group {}" if group else f"{prefix}communication"
        of_group = pl.col("group") == group
        yield from tracks_of(rows.filter(of_group), TrackKind.COMMUNICATION, "communication_ops", title, device)
        planes = parts.filter(of_group).with_columns(pl.col("plane_id").alias("group"))
        yield from tracks_of(planes, TrackKind.COMMUNICATION, "communication_tasks", prefix + "plane {}", device)
