"""Colours of things, the same on every page."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from types import MappingProxyType

COLOURS: Mapping[str, str] = MappingProxyType(
    {
        "computing": "#2f7ed8",
        "communication": "#e08214",
        "overlapped": "#8c6bb1",
        "free": "#9aa5b1",
        "kernels": "#2f7ed8",
        "other ranks": "#d95f5f",
        "host": "#8c6bb1",
        "between": "#9aa5b1",
        "AI_CORE": "#2f7ed8",
        "AI_VECTOR_CORE": "#1b9e77",
        "MIX_AIC": "#5b5fc7",
        "MIX_AIV": "#66a61e",
        "AI_CPU": "#d95f5f",
        "HCCL": "#e08214",
        "COMMUNICATION": "#e08214",
        "interval": "#9aa5b1",
        "forward_backward": "#2f7ed8",
        "tail": "#c9457b",
        "allocated": "#2f7ed8",
        "reserved": "#9aa5b1",
        "active": "#1b9e77",
        "available": "#a6761d",
        "mark": "#c9457b",
        "step": "#7f8fa0",
        "iteration": "#7f8fa0",
        "operator": "#5b87b5",
        "python": "#a6761d",
        "scope": "#0f9ba8",
        "enqueue": "#b39ad6",
        "dequeue": "#8c6bb1",
        "acl": "#56bcc6",
        "model": "#0f9ba8",
        "node": "#4aa3df",
        "runtime": "#7f8fa0",
        "position": "#e08214",
        "forward": "#1b9e77",
        "backward": "#c9457b",
        "data wait": "#d95f5f",
        "queue filled": "#2f7ed8",
        "queue empty": "#d95f5f",
        "cpu user": "#2f7ed8",
        "cpu system": "#e08214",
        "cpu iowait": "#c9457b",
        "cpu idle": "#9aa5b1",
        "activation": "#2f7ed8",
        "gradient": "#c9457b",
        "optimizer state": "#8c6bb1",
        "temporary": "#66a61e",
        "outside of steps": "#0f9ba8",
        "before the recording": "#b8bfc7",
        "smaller blocks": "#7f8fa0",
        "other": "#b8bfc7",
    }
)
"""One colour for one thing. Each stands out from white and from the dark ground by 3 : 1 or by an outline."""

_CYCLE = (
    "#2f7ed8",
    "#1b9e77",
    "#e08214",
    "#8c6bb1",
    "#d95f5f",
    "#66a61e",
    "#c9457b",
    "#0f9ba8",
    "#a6761d",
    "#5b5fc7",
    "#7f8fa0",
    "#b15928",
    "#4aa3df",
    "#5fbf9f",
    "#f0a860",
    "#b39ad6",
    "#e89393",
    "#94c95c",
    "#de86ab",
    "#56bcc6",
)
"""Colours of names that are nobody's: operator types, groups, ranks."""


def colour_of(name: str) -> str:
    """Return the colour of a name: from `COLOURS`, else one that is the same in every run and on every page."""
    return COLOURS.get(name) or _CYCLE[zlib.crc32(name.encode()) % len(_CYCLE)]


def colours_of(names: Iterable[str]) -> list[str]:
    """
    Return colours of names that stand beside each other, the most important first.

    A name keeps its own colour unless one before it has it already; it then takes the next that is free, if any is.
    """
    used: set[str] = set()
    colours = []
    for name in names:
        colour = colour_of(name)
        if colour in used and name not in COLOURS:
            start = _CYCLE.index(colour)
            order = (*_CYCLE[start:], *_CYCLE[:start])
            colour = next((other for other in order if other not in used), colour)
        used.add(colour)
        colours.append(colour)
    return colours
