"""Boxes of the timeline as traces of a figure."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from drynpu.arrays import F64, I64
from drynpu.views.theme import count_text, share_text, time_text
from drynpu_pages.timeline._scene import PALE, WIDTH, Scene, kind_colour
from drynpu_pages.tracks import Boxes, TrackKind

_MOST_LEGENDS = 9
_TEXT_FROM, _LETTER = 38, 7.1
"""Pixels from which a box has its name on it, and pixels of a letter."""
_READABLE = 0.6
_FAINT_INK = "#7a8590"


def box_traces(scene: Scene) -> list[dict[str, Any]]:
    """Return the boxes, one trace for each kind; each is a pixel wide at least unless the next one is nearer."""
    boxes = scene.boxes
    start = np.clip(boxes.start_ns, *scene.window)
    end = np.clip(boxes.end_ns, *scene.window)
    pixel = (scene.window[1] - scene.window[0]) / WIDTH
    columns = {
        "base": scene.x(start).astype(np.float64),
        "x": np.minimum(np.maximum(end - start, pixel), _room(boxes, start)) / scene.unit_ns,
        "y": np.array([scene.row_of[place] for place in zip(boxes.track.tolist(), boxes.lane.tolist(), strict=True)]),
        "hovertext": _hover(scene),
        "text": _labels(scene, (end - start) / pixel),
    }
    opacity = PALE + (1 - PALE) * boxes.busy_share
    kinds, kind_of = _kinds(scene)
    traces = []
    for number, (kind, in_legend) in enumerate(kinds):
        places = np.flatnonzero(kind_of == number)
        colour = kind_colour(kind)
        traces.append(
            {
                **{name: np.asarray(values)[places].tolist() for name, values in columns.items()},
                "type": "bar",
                "orientation": "h",
                "width": 0.88,
                "marker": {"color": colour, "opacity": opacity[places].round(3).tolist(), "line": {"width": 0}},
                "hovertemplate": "%{hovertext}<extra></extra>",
                "textposition": "inside",
                "textangle": 0,
                "insidetextanchor": "middle",
                "constraintext": "none",
                "insidetextfont": {"size": 11, "color": _inks(colour, opacity[places])},
                "showlegend": in_legend,
                "name": escape(kind),
            }
        )
    return traces


def _room(boxes: Boxes, start: I64) -> I64:
    """Return the time from the start of each box to the start of the next on its lane."""
    room = np.append(start[1:], 2**62) - start
    room[np.append((np.diff(boxes.track) != 0) | (np.diff(boxes.lane) != 0), True)[: len(start)]] = 2**62
    return room[: len(start)]


def _kinds(scene: Scene) -> tuple[list[tuple[str, bool]], I64]:
    """
    Return the kinds of boxes, the busiest first, each with whether the legend explains it; and the kind of each box.

    Rows of the host say by their headings what they show; rows of a device show several kinds.
    """
    boxes, tracks = scene.boxes, scene.index.tracks
    on_device = (TrackKind.STREAMS, TrackKind.COMMUNICATION)
    each = [
        (tracks[track].names.kinds[code], tracks[track].kind in on_device)
        for track, code in zip(boxes.track.tolist(), boxes.code.tolist(), strict=True)
    ]
    busy: dict[tuple[str, bool], int] = {}
    for kind, time in zip(each, boxes.busy_ns.tolist(), strict=True):
        busy[kind] = busy.get(kind, 0) + time
    order = sorted(busy, key=lambda kind: -busy[kind])
    explained = [kind for kind in order if kind[1] and kind[0]][:_MOST_LEGENDS]
    place = {kind: number for number, kind in enumerate(order)}
    return [(name, (name, device) in explained) for name, device in order], np.array(
        [place[kind] for kind in each], np.int64
    )


def _ink(colour: str) -> str:
    """Return black or white, whichever stands out from a colour."""
    red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return "#ffffff" if 0.299 * red + 0.587 * green + 0.114 * blue < 150 else "#10161d"


def _inks(colour: str, opacity: F64) -> list[str]:
    """Return colours of texts on boxes of a colour; a faint box has the background of the page."""
    ink = _ink(colour)
    return [ink if each >= _READABLE else _FAINT_INK for each in opacity.tolist()]


def _labels(scene: Scene, pixels: F64) -> list[str]:
    boxes = scene.boxes
    labels = [""] * len(boxes)
    for box in np.flatnonzero((pixels >= _TEXT_FROM) & (boxes.count == 1)).tolist():
        name = scene.index.tracks[boxes.track[box]].names.texts[boxes.code[box]]
        room = int(pixels[box] / _LETTER) - 1
        labels[box] = escape(name if len(name) <= room else name[: room - 1] + "…")
    return labels


def _hover(scene: Scene) -> list[str]:
    boxes: Boxes = scene.boxes
    texts = []
    busy = boxes.busy_share
    steps = [(name, *times) for name, times in scene.index.steps.items()]
    for box in range(len(boxes)):
        track = scene.index.tracks[boxes.track[box]]
        kind = track.names.kinds[boxes.code[box]]
        start, end, count = int(boxes.start_ns[box]), int(boxes.end_ns[box]), int(boxes.count[box])
        name = escape(track.names.texts[boxes.code[box]])
        lines = [f"<b>{name}</b>"]
        if count > 1:
            lines = [f"<b>{count_text(count)} events</b>, busy {share_text(float(busy[box]))}", f"most are {name}"]
        lines.append(f"{escape(kind)}, {escape(track.title)}")
        lines.append(
            f"start {time_text((start - scene.index.start_ns) / 1000)}, duration {time_text((end - start) / 1000)}"
        )
        step = next((name for name, begin, last in steps if begin <= start < last), "")
        texts.append("<br>".join([*lines, *([f"step {escape(step)}"] if step else [])]))
    return texts
