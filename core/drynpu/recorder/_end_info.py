"""When a recording ended, in ``profiler_info*.json``."""

from __future__ import annotations

from collections.abc import Mapping

from drynpu.raw import ClockAnchors

_BEFORE = ("config", "start_info")
"""Keys before ``end_info`` in genuine ``profiler_info*.json`` files; all others follow it."""


def with_end_info(document: Mapping[str, object], end_ns: int, anchors: ClockAnchors) -> dict[str, object]:
    """
    Return the document with ``end_info`` at its place.

    Parameters
    ----------
    end_ns:
        When collection ended, Unix ns.
    """
    before = {name: value for name, value in document.items() if name in _BEFORE}
    after = {name: value for name, value in document.items() if name not in _BEFORE}
    end = {"collectionTimeEnd": end_ns, "MonotonicTimeEnd": end_ns - anchors.offset_ns}
    return {**before, "end_info": end, **after}
