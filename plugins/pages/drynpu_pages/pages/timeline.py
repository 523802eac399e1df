"""The timeline: steps, streams, communication, operators of the host, calls, marks, from the run down to a kernel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from drynpu.views.content import EMPTY, Block, Fact, Facts, Note, TimelineChart
from drynpu.views.page import Page
from drynpu.views.runs import View
from drynpu.views.theme import count_text, time_text
from drynpu_pages.timeline import KIND_TITLES, Look, draw_timeline, figure_height
from drynpu_pages.tracks import TimelineIndex, TrackKind, timeline_index

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
    return [_facts(view, index), *_missing(index), _chart(view, index)]


def _facts(view: View, index: TimelineIndex) -> Facts:
    on_device = sum(track.events for track in index.tracks if track.kind is TrackKind.STREAMS)
    streams = sum(track.kind is TrackKind.STREAMS for track in index.tracks)
    span = time_text((index.end_ns - index.start_ns) / 1000)
    return Facts(
        (
            Fact("From first to last event", span, "over host and devices", view.modelled),
            Fact("Events", count_text(index.events), f"in {len(index.tracks)} tracks"),
            Fact(
                "Tasks of the devices",
                count_text(on_device),
                f"on {streams} stream{'' if streams == 1 else 's'}",
                view.modelled,
            ),
        )
    )


def _missing(index: TimelineIndex) -> Iterator[Note]:
    kinds = {track.kind for track in index.tracks}
    if TrackKind.STREAMS not in kinds:
        yield Note(_NO_DEVICE)
    if not kinds & {TrackKind.OPERATORS, TrackKind.CALLS}:
        yield Note(_NO_HOST)


def _chart(view: View, index: TimelineIndex) -> TimelineChart:
    look = Look()
    kinds = dict.fromkeys(KIND_TITLES[track.kind].lower() for track in index.tracks)
    start, end = look.window(index, view.step)
    what = f"step {view.step}" if view.step in index.steps else "the whole run"
    return TimelineChart(
        "timeline",
        "Timeline",
        lambda: draw_timeline(index, look, view.step, most_boxes=_MOST_BOXES),
        f"Timeline of {what}, {time_text((end - start) / 1000)}: {', '.join(kinds)}; {index.events} events.",
        detail="events shorter than a pixel are drawn as runs, the paler the less happens in them",
        modelled=view.modelled,
        height_px=figure_height(index, look),
    )


PAGE = Page("timeline", "Timeline", "What happened when, on the host and on the devices.", _build, with_step=True)
