"""The timeline: steps, streams, communication, operators of the host, calls, marks, from the run down to a kernel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from drynpu.views.content import EMPTY, Block, Note, TimelineChart
from drynpu.views.page import Page
from drynpu.views.runs import View
from drynpu.views.theme import time_text
from drynpu_pages.timeline import draw_timeline, figure_height, window_of_step
from drynpu_pages.tracks import KIND_TITLES, TimelineIndex, TrackKind, timeline_index

_MOST_BOXES = 2000
"""Boxes of the figure that stands still."""
_NO_DEVICE = "Nothing was recorded on a device, so there are no streams: the rows below belong to the host."
_NO_HOST = (
    "Neither operators of the framework nor calls of the toolkit were recorded, so nothing can be followed from the "
    "host to its kernels."
)


def _build(view: View) -> Sequence[Block]:
    index = timeline_index(view.rank.profile)
    if not index.events:
        return [Note("Nothing in this profile has a time, so there is no timeline.", EMPTY)]
    return [*_missing(index), _chart(view, index)]


def _missing(index: TimelineIndex) -> Iterator[Note]:
    kinds = {track.kind for track in index.tracks}
    if TrackKind.STREAMS not in kinds:
        yield Note(_NO_DEVICE)
    if not kinds & {TrackKind.OPERATORS, TrackKind.CALLS}:
        yield Note(_NO_HOST)


def _chart(view: View, index: TimelineIndex) -> TimelineChart:
    kinds = dict.fromkeys(KIND_TITLES[track.kind].lower() for track in index.tracks)
    window = window_of_step(index, view.step)
    what = f"step {view.step}" if view.step in index.steps else "the whole run"
    return TimelineChart(
        "timeline",
        "Timeline",
        lambda: draw_timeline(index, window, most_boxes=_MOST_BOXES),
        f"Timeline of {what}, {time_text((window[1] - window[0]) / 1000)}: {', '.join(kinds)}; {index.events} events.",
        detail="events shorter than a pixel are drawn as runs, the paler the less happens in them",
        modelled=view.modelled,
        height_px=figure_height(index),
    )


PAGE = Page("timeline", "Timeline", "What happened when, on the host and on the devices.", _build, with_step=True)
