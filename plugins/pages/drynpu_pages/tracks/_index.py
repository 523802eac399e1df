"""The index of a profile: its tables as tracks."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from drynpu import at_stage
from drynpu.analysis import step_ranges
from drynpu.tables import Profile
from drynpu_pages.tracks._device import device_tracks
from drynpu_pages.tracks._host import host_tracks
from drynpu_pages.tracks._rows import tracks_of
from drynpu_pages.tracks._tracks import TimelineIndex, Track, TrackKind

_ORDER = tuple(TrackKind)


def timeline_index(profile: Profile) -> TimelineIndex:
    """Return all events of a profile as tracks: by kind, then devices, threads and streams in order; made once."""
    index: TimelineIndex = profile.keep("timeline_index", lambda: _index(profile))
    return index


def _index(profile: Profile) -> TimelineIndex:
    at_stage("Arranging the timeline")
    filled = [track for track in (*_steps(profile), *device_tracks(profile), *host_tracks(profile)) if track.events]
    tracks = tuple(sorted(filled, key=lambda track: _ORDER.index(track.kind)))
    lanes = [lane for track in tracks for lane in track.lanes]
    start = min((int(lane.start_ns[0]) for lane in lanes), default=0)
    end = max((int(lane.end_ns[-1]) for lane in lanes), default=start)
    return TimelineIndex(tracks, start, end, _step_windows(profile))


def _steps(profile: Profile) -> Iterator[Track]:
    """Yield steps of the schedule on host and devices, and iterations of graphs."""
    named = (pl.format("step {}", "step_id").alias("name"), pl.lit("step").alias("kind"), pl.lit(0).alias("group"))
    ranges = step_ranges(profile).with_columns(*named).with_row_index("row")
    for side, title in (("host", "steps on the host"), ("device", "steps on the device")):
        times = (pl.col(f"{side}_start_ns").alias("start_ns"), pl.col(f"{side}_end_ns").alias("end_ns"))
        rows = ranges.with_columns(*times).drop_nulls(["start_ns", "end_ns"])
        yield from tracks_of(rows, TrackKind.STEPS, "step_ranges", title)
    iterations = profile.frame("iterations").with_columns(
        pl.format("iteration {}", "iteration").alias("name"),
        pl.lit("iteration").alias("kind"),
        pl.col("model_id").alias("group"),
    )
    yield from tracks_of(iterations, TrackKind.STEPS, "iterations", "iterations of model {}")


def _step_windows(profile: Profile) -> dict[str, tuple[int, int]]:
    ranges = step_ranges(profile).select(
        pl.col("step_id").cast(pl.String),
        pl.min_horizontal("host_start_ns", "device_start_ns").alias("start_ns"),
        pl.max_horizontal("host_end_ns", "device_end_ns").alias("end_ns"),
    )
    return {step: (start, end) for step, start, end in ranges.drop_nulls().iter_rows()}
