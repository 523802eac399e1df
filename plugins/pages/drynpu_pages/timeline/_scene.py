"""What the parts of one figure of the timeline share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

from drynpu_pages.colours import COLOURS, colour_of
from drynpu_pages.timeline._rows import TimelineRow
from drynpu_pages.tracks import Boxes, TimelineIndex

WIDTH = 880
"""Pixels of the window that boxes are chosen for: what is left beside titles at 1280 pixels."""
PALE = 0.3
"""How solid a run is in which nothing happens."""
PICKED = "#c9457b"


@frozen(eq=False, kw_only=True)
class Scene:
    """What the parts of one figure share."""

    index: TimelineIndex
    window: tuple[int, int]
    rows: Sequence[TimelineRow]
    boxes: Boxes
    unit_ns: int
    row_of: Mapping[tuple[int, int], int]
    """Row of each lane of a track."""

    def x(self, time_ns: Any) -> Any:
        """Return times as places on the axis."""
        return (time_ns - self.index.start_ns) / self.unit_ns


def kind_colour(kind: str) -> str:
    """Return the colour of a kind of events."""
    return COLOURS.get(kind) or COLOURS.get(kind.split("(")[0].lower()) or colour_of(kind)
