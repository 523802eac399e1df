"""What a reader does with the timeline: each movement leads from one look to another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import evolve, frozen

from drynpu import DrynpuError
from drynpu.views.runs import Rank
from drynpu_pages.dashboard._address import Address, query_of, read_address
from drynpu_pages.library import Library
from drynpu_pages.timeline import LEVELS, Look
from drynpu_pages.tracks import Hits, Spot, TimelineIndex, TrackKind, find_events, timeline_index


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
        hits: Hits = self.rank.keep(key, lambda: find_events(index, shown, look.find))
        return hits


def find_place(library: Library, address: Address) -> TimelinePlace | None:
    """Return the place of an address; ``None`` if there is no such run or rank."""
    try:
        rank = library.open(address.run).rank(address.rank)
        index = timeline_index(rank.profile)
    except DrynpuError:
        return None
    return TimelinePlace(rank, index, Look.from_choices(address.look), address.step)


def moved_query(library: Library, path: str, query: str | None, cause: str, value: Any) -> str | None:
    """Return the query after something that the reader did on the timeline; the same if it means nothing."""
    address = read_address(path, query)
    place = find_place(library, address)
    if place is None:
        return query
    look = next_look(place, cause, value)
    return query if look == place.look else query_of(address.rank, address.step, {**address.choices, **look.choices})


def next_look(place: TimelinePlace, cause: str, value: Any = None) -> Look:
    """
    Return the look after something that the reader did; the same if it means nothing.

    Parameters
    ----------
    cause:
        What was used: the figure (``range``, ``point``), ``find``, a button, or a toggle and its value
        (``kind:streams``).
    value:
        What the figure or the field says.
    """
    look, index, step = place.look, place.index, place.step
    name, _, toggled = cause.partition(":")
    if name == "range":
        return _ranged(place, value if isinstance(value, dict) else {})
    if name == "point":
        return _clicked(place, str(value))
    if name == "find":
        return _searched(place, str(value or ""))
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


def _ranged(place: TimelinePlace, data: Mapping[str, Any]) -> Look:
    """Return the look with the window that the axes of the figure say, in units of ``unit_ns``."""
    look, index = place.look, place.index
    if any(key.endswith(".autorange") for key in data):
        return evolve(look, start_ns=None, end_ns=None)
    ends = _range(data, "xaxis2") or _range(data, "xaxis")
    unit_ns = data.get("unit_ns")
    if ends is None or not isinstance(unit_ns, int):
        return look
    start, end = (int(each * unit_ns) for each in sorted(ends))
    return look.moved(index.start_ns + start, end - start, index)


def _range(data: Mapping[str, Any], axis: str) -> tuple[float, float] | None:
    whole = data.get(f"{axis}.range")
    ends = whole if isinstance(whole, list) else [data.get(f"{axis}.range[{place}]") for place in (0, 1)]
    numbers = [float(each) for each in ends if isinstance(each, int | float)]
    return (numbers[0], numbers[1]) if len(numbers) == 2 else None


def _clicked(place: TimelinePlace, text: str) -> Look:
    """Return the look after a click: an event is described, a run is looked into."""
    index, look = place.index, place.look
    parts = text.split(".")
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
