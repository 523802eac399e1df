"""What a reader does with the timeline: each movement leads from one look to another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import evolve, frozen

from drynpu.analysis.timeline import Hits, Spot, TimelineIndex, TrackKind, find_events
from drynpu.views.runs import Rank
from drynpu.views.timeline import LEVELS, Look, time_unit


@frozen
class TimelinePlace:
    """What an address leads to."""

    rank: Rank
    index: TimelineIndex
    look: Look
    step: str

    @property
    def window(self) -> tuple[int, int]:
        """Begin and end of what is shown, ns."""
        return self.look.window(self.index, self.step)

    @property
    def hits(self) -> Hits:
        """What is searched for, on the tracks that are shown."""
        index, look = self.index, self.look
        shown = [number for number, track in enumerate(index.tracks) if track.kind not in look.hidden]
        key = ("timeline-hits", look.find, look.hidden)
        found: Hits = self.rank.keep(key, lambda: find_events(index, shown, look.find))
        return found


def next_look(place: TimelinePlace, cause: str, value: Any) -> Look:
    """
    Return the look after something that the reader did; the same if it means nothing.

    Parameters
    ----------
    cause:
        What was used: ``graph``, ``find``, a button, or a toggle with its value (``kind:streams``).
    value:
        What the graph or the field says; how often a button was pressed.
    """
    look, index, step = place.look, place.index, place.step
    name, _, toggled = cause.partition(":")
    if name == "graph":
        return _on_figure(place, value if isinstance(value, dict) else {})
    if name == "find":
        return _searched(place, value or "")
    if not value:
        return look
    if name == "kind":
        kinds = {kind for kind in TrackKind if kind.value == toggled}
        return evolve(look, hidden=look.hidden ^ kinds)
    if name == "levels":
        return evolve(look, levels=int(toggled)) if toggled in map(str, LEVELS) else look
    if name in ("previous", "next"):
        return _to_hit(place, 1 if name == "next" else -1)
    actions: Mapping[str, Callable[[], Look]] = {
        "in": lambda: look.zoomed(0.5, index, step),
        "out": lambda: look.zoomed(2.0, index, step),
        "left": lambda: look.panned(-0.4, index, step),
        "right": lambda: look.panned(0.4, index, step),
        "all": lambda: evolve(look, start_ns=None, end_ns=None),
    }
    return actions[name]() if name in actions else look


def _on_figure(place: TimelinePlace, data: Mapping[str, Any]) -> Look:
    look, index = place.look, place.index
    if "points" in data:
        return _clicked(place, data["points"])
    if any(key.endswith(".autorange") for key in data):
        return evolve(look, start_ns=None, end_ns=None)
    ends = _range(data, "xaxis2") or _range(data, "xaxis")
    if ends is None:
        return look
    unit, _ = time_unit(place.window)
    start, end = (int(each * unit) for each in sorted(ends))
    return look.moved(index.start_ns + start, end - start, index)


def _range(data: Mapping[str, Any], axis: str) -> tuple[float, float] | None:
    whole = data.get(f"{axis}.range")
    ends = whole if isinstance(whole, list) else [data.get(f"{axis}.range[{place}]") for place in (0, 1)]
    numbers = [float(each) for each in ends if isinstance(each, int | float)]
    return (numbers[0], numbers[1]) if len(numbers) == 2 else None


def _clicked(place: TimelinePlace, points: Sequence[Mapping[str, Any]]) -> Look:
    """Return the look after a click: an event is described, a run is looked into."""
    index, look = place.index, place.look
    parts = str(points[0].get("customdata", "") if points else "").split(".")
    if len(parts) != 4 or not all(part.isdigit() for part in parts):
        return look
    track, lane, first, count = map(int, parts)
    spot, last = Spot(track, lane, first), Spot(track, lane, first + count - 1)
    if not index.holds(spot) or not index.holds(last):
        return look
    if count == 1:
        return evolve(look, event=spot)
    start, end = index.times(spot)[0], index.times(last)[1]
    return look.moved(2 * start - end, 3 * (end - start), index)


def _searched(place: TimelinePlace, text: str) -> Look:
    """Return the look with a text to find, at its first hit in the window or after it."""
    look = place.look
    if text == look.find:
        return look
    return _to_hit(evolve(place, look=evolve(look, find=text, event=None)), 1) if text else evolve(look, find="")


def _to_hit(place: TimelinePlace, direction: int) -> Look:
    look, hits = place.look, place.hits
    if not len(hits):
        return look
    here = hits.number_of(look.event) if look.event else None
    if here is None:
        before = int(hits.start_ns.searchsorted(place.window[0]))
        number = before if direction > 0 else before - 1
    else:
        number = here + direction
    return look.at(hits.spot(number % len(hits)), place.index, place.step)
