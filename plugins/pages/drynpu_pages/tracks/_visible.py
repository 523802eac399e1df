"""The part of a timeline that is visible in a window: events of at least a pixel, and runs of smaller ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from attrs import frozen

from drynpu.arrays import F64, I32, I64
from drynpu_pages.tracks._lanes import Lane
from drynpu_pages.tracks._tracks import TimelineIndex

_RUN_PIXELS = 2
"""How long a run may be: long enough to be seen, short enough to show where nothing happens."""
_MOST_CELLS = 1 << 22
"""Counts of names per run that are held at a time; beyond it names are sorted."""


@frozen(eq=False, kw_only=True)
class Boxes:
    """
    What is drawn, one element of each array per box, by track, lane and start. No two boxes of a lane overlap.

    Attributes
    ----------
    track, lane:
        Where it lies: numbers of the index.
    place:
        Of the first event on its lane; the others of a run follow it.
    count:
        Events in the box; 1 is an event as it is.
    start_ns, end_ns:
        From the start of the first event to the end of the last, also where these lie outside the window.
    busy_ns:
        What the events take within the window.
    code:
        The most frequent name of the events in the box; an index into the names of the track.
    pixel_ns:
        Duration from which events are drawn as they are.
    """

    track: I32
    lane: I32
    place: I64
    count: I64
    start_ns: I64
    end_ns: I64
    busy_ns: I64
    code: I64
    pixel_ns: float

    def __len__(self) -> int:
        return len(self.track)

    @property
    def busy_share(self) -> F64:
        """Part of the box within which something happens, 0 to 1; 1 for single events."""
        length = np.maximum(self.end_ns - self.start_ns, 1)
        share: F64 = np.where(self.count == 1, 1.0, np.clip(self.busy_ns / length, 0.0, 1.0))
        return share


@frozen(eq=False)
class _Part:
    """The boxes of one lane: one for the events from each bound to the next."""

    track: int
    depth: int
    lane: Lane
    bounds: I64


def visible(
    index: TimelineIndex,
    tracks: Sequence[int],
    start_ns: int,
    end_ns: int,
    *,
    pixels: int,
    most_lanes: int = 8,
    most_boxes: int = 3000,
) -> Boxes:
    """
    Return the boxes of tracks within ``[start_ns, end_ns)``.

    Events of at least a pixel are boxes of their own. Smaller ones that follow each other make runs, which end where
    such an event stands or after two pixels. Where that makes too many boxes, pixels are taken twice as large.

    Parameters
    ----------
    pixels:
        Width of the window.
    most_lanes:
        Lanes of a track that are shown.
    most_boxes:
        How many there may be in all, unless there are more lanes with something to see.
    """
    pixel = max(1.0, (end_ns - start_ns) / max(pixels, 1))
    shown = [
        (number, depth, lane) for number in tracks for depth, lane in enumerate(index.tracks[number].lanes[:most_lanes])
    ]
    while True:
        parts = [_part(number, depth, lane, (start_ns, end_ns), pixel) for number, depth, lane in shown]
        parts = [part for part in parts if len(part.bounds) > 1]
        count = sum(len(part.bounds) - 1 for part in parts)
        if count <= max(most_boxes, len(parts)) or pixel > end_ns - start_ns:
            break
        pixel *= 2
    return _boxes(index, parts, (start_ns, end_ns), pixel)


def _part(number: int, depth: int, lane: Lane, window: tuple[int, int], pixel: float) -> _Part:
    first, last = lane.within(*window)
    if first == last:
        return _Part(number, depth, lane, np.empty(0, np.int64))
    starts = lane.start_ns[first:last]
    large = np.flatnonzero(lane.end_ns[first:last] - starts >= pixel)
    # Runs begin at multiples of their length, so that they stay the same while the window moves.
    length = max(1, int(pixel * _RUN_PIXELS))
    edges = np.arange(window[0] // length + 1, window[1] // length + 1, dtype=np.int64) * length
    cuts = np.searchsorted(starts, edges, side="left")
    inner = np.concatenate([cuts, large, large + 1])
    bounds = np.unique(np.concatenate([[0, last - first], inner])) + first
    return _Part(number, depth, lane, bounds.astype(np.int64))


def _boxes(index: TimelineIndex, parts: Sequence[_Part], window: tuple[int, int], pixel: float) -> Boxes:
    def joined(arrays: Sequence[I64]) -> I64:
        return np.concatenate(arrays) if arrays else np.empty(0, np.int64)

    sizes = [len(part.bounds) - 1 for part in parts]
    return Boxes(
        track=np.repeat(np.array([part.track for part in parts], np.int32), sizes),
        lane=np.repeat(np.array([part.depth for part in parts], np.int32), sizes),
        place=joined([part.bounds[:-1] for part in parts]),
        count=joined([np.diff(part.bounds) for part in parts]),
        start_ns=joined([part.lane.start_ns[part.bounds[:-1]] for part in parts]),
        end_ns=joined([part.lane.end_ns[part.bounds[1:] - 1] for part in parts]),
        busy_ns=joined([_busy(part, *window) for part in parts]),
        code=joined([_most_frequent(part, len(index.tracks[part.track].names.texts)) for part in parts]),
        pixel_ns=pixel,
    )


def _busy(part: _Part, start_ns: int, end_ns: int) -> I64:
    lane, bounds = part.lane, part.bounds
    busy: I64 = lane.busy_ns[bounds[1:]] - lane.busy_ns[bounds[:-1]]
    # Only the first event and the last can reach out of the window.
    busy[0] -= max(0, start_ns - int(lane.start_ns[bounds[0]]))
    busy[-1] -= max(0, int(lane.end_ns[bounds[-1] - 1]) - end_ns)
    return busy


def _most_frequent(part: _Part, names: int) -> I64:
    """Return the name that most events of each box have; of several the first."""
    bounds = part.bounds
    codes = part.lane.code[bounds[0] : bounds[-1]].astype(np.int64)
    boxes = len(bounds) - 1
    if boxes == len(codes):
        return codes
    keys = np.repeat(np.arange(boxes, dtype=np.int64), np.diff(bounds)) * names + codes
    if boxes * names <= _MOST_CELLS:
        counts = np.bincount(keys, minlength=boxes * names).reshape(boxes, names)
        most: I64 = counts.argmax(axis=1).astype(np.int64)
        return most
    keys.sort()
    first = np.flatnonzero(np.concatenate([[True], np.diff(keys) > 0]))
    count = np.diff(np.append(first, len(keys)))
    box, code = np.divmod(keys[first], names)
    order = np.lexsort((code, -count, box))
    chosen: I64 = code[order][np.searchsorted(box[order], np.arange(boxes))]
    return chosen
