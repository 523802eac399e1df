"""What a reader looks at: a window of time, an event, a text to find, what is left out."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve, frozen

from drynpu_pages.tracks import Spot, TimelineIndex, TrackKind

LOOK_KEYS = ("from", "to", "event", "find", "hide", "levels")
"""Keys of an address that say where on a page a reader is, not which page."""

LEVELS = (4, 8, 16, 64)
"""How many lanes of a track may be shown."""
_MARGIN = 0.01
_SHARE_OF_EVENT = 0.1
"""Part of the window that an event fills after a jump to it, if it was too short to be seen."""
_VISIBLE = 0.004
_SHORTEST_NS = 20
"""One tick of a device's clock: there is nothing between two of them."""


@frozen
class Look:
    """
    The shown part of a timeline.

    Attributes
    ----------
    start_ns, end_ns:
        The window, Unix time; ``None`` for the selected step or everything.
    event:
        The event whose details are shown.
    find:
        Text that is searched for in names.
    hidden:
        Kinds of tracks that are left out.
    levels:
        Lanes of a track that are shown.
    """

    start_ns: int | None = None
    end_ns: int | None = None
    event: Spot | None = None
    find: str = ""
    hidden: frozenset[TrackKind] = frozenset()
    levels: int = LEVELS[1]

    @classmethod
    def from_choices(cls, choices: Mapping[str, str]) -> Look:
        """Return what an address says; what makes no sense there is left out."""
        start, end = (_whole(choices.get(key)) for key in ("from", "to"))
        if start is None or end is None or end - start < 1:
            start = end = None
        levels = _whole(choices.get("levels"))
        values = {kind.value: kind for kind in TrackKind}
        hidden = frozenset(values[name] for name in choices.get("hide", "").split(".") if name in values)
        return cls(
            start,
            end,
            _spot(choices.get("event", "")),
            choices.get("find", ""),
            hidden,
            levels if levels in LEVELS else LEVELS[1],
        )

    @property
    def choices(self) -> dict[str, str]:
        """What an address says of it; defaults are left out."""
        spot = self.event
        values = {
            "from": "" if self.start_ns is None else str(self.start_ns),
            "to": "" if self.end_ns is None else str(self.end_ns),
            "event": "" if spot is None else f"{spot.track}.{spot.lane}.{spot.place}",
            "find": self.find,
            "hide": ".".join(kind.value for kind in TrackKind if kind in self.hidden),
            "levels": "" if self.levels == LEVELS[1] else str(self.levels),
        }
        return {key: value for key, value in values.items() if value}

    def window(self, index: TimelineIndex, step: str) -> tuple[int, int]:
        """Return begin and end of the window, ns: as chosen, else the step's or everything with a margin."""
        if self.start_ns is not None and self.end_ns is not None:
            return self.start_ns, self.end_ns
        start, end = index.steps.get(step, (index.start_ns, index.end_ns))
        margin = max(1, int((end - start) * _MARGIN))
        return start - margin, end + margin

    def moved(self, start_ns: int, length_ns: int, index: TimelineIndex) -> Look:
        """Return the same with another window, as far as there is something to see there."""
        first, last = Look().window(index, "")
        length = min(max(length_ns, _SHORTEST_NS), last - first)
        start = min(max(start_ns, first), last - length)
        return evolve(self, start_ns=start, end_ns=start + length)

    def at(self, spot: Spot, index: TimelineIndex, step: str) -> Look:
        """Return the same with an event in the middle, so close that it can be seen."""
        start, end = index.times(spot)
        now = self.window(index, step)
        length = now[1] - now[0]
        if not length * _VISIBLE <= end - start <= length:
            length = max(int((end - start) / _SHARE_OF_EVENT), _SHORTEST_NS)
        return evolve(self, event=spot).moved((start + end - length) // 2, length, index)

    def zoomed(self, factor: float, index: TimelineIndex, step: str) -> Look:
        """Return the same with a window *factor* times as long around the same middle."""
        start, end = self.window(index, step)
        # Unix times in ns have more digits than a float.
        length = int((end - start) * factor)
        return self.moved((start + end - length) // 2, length, index)

    def panned(self, share: float, index: TimelineIndex, step: str) -> Look:
        """Return the same with the window moved by a share of its length."""
        start, end = self.window(index, step)
        return self.moved(start + int((end - start) * share), end - start, index)


def _whole(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) <= 19 else None


def _spot(text: str) -> Spot | None:
    numbers = [_whole(part) for part in text.split(".")]
    if len(numbers) != 3 or None in numbers:
        return None
    track, lane, place = (number or 0 for number in numbers)
    return Spot(track, lane, place)
