"""The trace of ranks: what tracks there are, and their events within a window."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import polars as pl
from attrs import define, frozen

from drynpu.tables import Profile
from drynpu_pages.perfetto._arguments import arguments_of
from drynpu_pages.perfetto._arrows import across_ranks, arrows_of, by_rows
from drynpu_pages.perfetto._counters import Counter, counters_of
from drynpu_pages.perfetto._events import Rows, begins, ends, samples
from drynpu_pages.perfetto._window import Window
from drynpu_pages.perfetto._wire import Part, joined, message, number, text
from drynpu_pages.perfetto._words import BEGIN, Words
from drynpu_pages.tracks import KIND_TITLES, Lane, Track, timeline_index

_EXPLICIT = 3
"""child_ordering: by the ranks of siblings."""
_APART = 2
"""sibling_merge_behavior: what has one name may be several threads or planes."""
_BYTES = 3
"""unit of a CounterDescriptor."""
_PREFIX = {"bytes": 1, "KB": 1024, "MB": 1024**2}
_MOST_ROWS = 1 << 16
"""Events that are written at a time."""


@define
class _Tracks:
    """The numbers of tracks."""

    last: int = 0

    def add(self, name: str, parent: int, place: int, *more: Part) -> tuple[int, bytes]:
        """Return the number of a new track, and the packet that describes it."""
        self.last += 1
        parts = [
            *number(1, self.last),
            text(2, name),
            *(number(5, parent) if parent else ()),
            *number(11, _EXPLICIT),
            *number(12, place),
            *number(15, _APART),
            *more,
        ]
        return self.last, joined(1, message(1, joined(1, message(60, joined(1, parts)))))


@frozen(eq=False)
class _Rank:
    """A rank of the trace."""

    profile: Profile
    arrows: Mapping[str, pl.DataFrame]
    parent: int


def perfetto_trace(ranks: Mapping[str, Profile], window: Window) -> Iterator[bytes]:
    """
    Yield the parts of a trace as Perfetto reads it: times are Unix time in ns, names stand there once.

    Parameters
    ----------
    ranks:
        By the names of their sections.
    """
    words, tracks = Words(), _Tracks()
    yield BEGIN
    joint = across_ranks(list(ranks.values())) if len(ranks) > 1 else [None]
    for number_of, ((name, profile), collectives) in enumerate(zip(ranks.items(), joint, strict=True)):
        parent, described = tracks.add(name, 0, number_of)
        yield described
        arrows = _numbered(arrows_of(profile, (window.start_ns, window.end_ns)), number_of, collectives)
        yield from _rank(_Rank(profile, arrows, parent), window, tracks, words)


def _numbered(
    arrows: Mapping[str, pl.DataFrame], rank: int, collectives: pl.DataFrame | None
) -> Mapping[str, pl.DataFrame]:
    """Return arrows with numbers that no other rank has, and with those that connect ranks."""
    numbered = {name: rows.with_columns(pl.col("arrow") + (rank << 40)) for name, rows in arrows.items()}
    if collectives is not None:
        known = numbered.get("communication_ops", collectives.clear())
        numbered["communication_ops"] = pl.concat([known, collectives]).sort("row", "arrow")
    return numbered


def _rank(rank: _Rank, window: Window, tracks: _Tracks, words: Words) -> Iterator[bytes]:
    index = timeline_index(rank.profile)
    place = 0
    for kind, title in KIND_TITLES.items():
        shown = [(track, lanes) for track in index.tracks if track.kind is kind and (lanes := _lanes(track, window))]
        if not shown:
            continue
        section, described = tracks.add(title, rank.parent, place)
        yield described
        place += 1
        for number_of, (track, lanes) in enumerate(shown):
            yield from _track(rank, track, lanes, (section, number_of), tracks, words)
    yield from _counters(rank, window, place, tracks)


def _counters(rank: _Rank, window: Window, place: int, tracks: _Tracks) -> Iterator[bytes]:
    for title, is_memory in (("Memory", True), ("Rates and loads", False)):
        counters = [each for each in counters_of(rank.profile) if each.is_memory is is_memory]
        if not counters:
            continue
        section, described = tracks.add(title, rank.parent, place)
        yield described
        for number_of, counter in enumerate(counters):
            track, described = tracks.add(counter.name, section, number_of, *message(8, *_unit(counter)))
            yield described + samples(track, *counter.within(window.start_ns, window.end_ns))
        place += 1


def _unit(counter: Counter) -> list[Part]:
    if counter.is_memory:
        return [*number(3, _BYTES), *number(4, _PREFIX[counter.unit])]
    return [text(6, counter.unit)]


def _lanes(track: Track, window: Window) -> list[tuple[Lane, int, int]]:
    """Return the lanes that have events in the window, with their first and the one after the last."""
    bounds = ((lane, *lane.within(window.start_ns, window.end_ns)) for lane in track.lanes)
    return [(lane, first, last) for lane, first, last in bounds if last > first]


def _track(
    rank: _Rank,
    track: Track,
    lanes: Sequence[tuple[Lane, int, int]],
    place: tuple[int, int],
    tracks: _Tracks,
    words: Words,
) -> Iterator[bytes]:
    """
    Yield a track and its events.

    The viewer sorts by time and leaves what is equal in the order of the file: what ends at a time stands before what
    begins then, what ends in what lies around it, and the outer begins before the inner. Where events overlap without
    lying in each other, each lane is a track.
    """
    nested = all(_holds(outer, inner) for outer, inner in zip(track.lanes[:-1], track.lanes[1:], strict=True))
    numbers = []
    for depth in range(1 if nested else len(lanes)):
        track_number, described = tracks.add(f"{track.title} ({depth + 1})" if depth else track.title, *place)
        numbers.append(track_number)
        yield described
    numbers = numbers * len(lanes) if nested else numbers
    for (lane, first, last), number_of in zip(reversed(lanes), reversed(numbers), strict=True):
        for begin in range(first, last, _MOST_ROWS):
            yield ends(number_of, _bare(track, lane, begin, min(begin + _MOST_ROWS, last)))
    for (lane, first, last), number_of in zip(lanes, numbers, strict=True):
        for begin in range(first, last, _MOST_ROWS):
            rows = _rows(rank, track, lane, begin, min(begin + _MOST_ROWS, last))
            events = b"".join(begins(number_of, rows, words))
            yield words.new() + events


def _holds(outer: Lane, inner: Lane) -> bool:
    """Return whether each event of a lane lies within one of the lane above it."""
    around = np.searchsorted(outer.start_ns, inner.start_ns, side="right") - 1
    return bool((around >= 0).all() and (outer.end_ns[around] >= inner.end_ns).all())


def _bare(track: Track, lane: Lane, first: int, last: int) -> Rows:
    none = np.empty(0, np.int64)
    times = (lane.start_ns[first:last], lane.end_ns[first:last], lane.code[first:last].astype(np.int64))
    return Rows(*times, track.names, (none, none, none), pl.DataFrame())


def _rows(rank: _Rank, track: Track, lane: Lane, first: int, last: int) -> Rows:
    bare, places = _bare(track, lane, first, last), lane.row[first:last].astype(np.int64)
    arrows = by_rows(rank.arrows.get(track.source), places)
    arguments = arguments_of(rank.profile, track.source, places)
    return Rows(bare.start_ns, bare.end_ns, bare.code, track.names, arrows, arguments)
