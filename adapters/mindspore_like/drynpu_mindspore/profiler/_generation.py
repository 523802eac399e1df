"""The generations of MindSpore's profiler, and the releases that have them (mindspore_profiler.md 1)."""

from __future__ import annotations

import enum
from collections.abc import Mapping

from drynpu import OptionError
from drynpu_mindspore._variables import API_VARIABLE

_RELEASES: Mapping[str, tuple[str, ...]] = {
    "V22": ("1.6", "1.7", "1.8", "1.9", "1.10", "2.0", "2.1", "2.2", "2.3"),
    "V24": ("2.4", "2.5"),
    "V27": ("2.6", "2.7"),
}


class Generation(enum.Enum):
    """A generation of the surface."""

    V22 = "V22"
    """1.6 to 2.3: keywords such as ``op_time``, one profiler at a time, errors are raised."""
    V24 = "V24"
    """2.4 and 2.5: levels, activities and schedules, errors are raised."""
    V27 = "V27"
    """2.6 and 2.7: ``profile``, errors are logged."""

    @property
    def is_current(self) -> bool:
        """
        Whether the profiler is the one of 2.6 and later.

        There ``Profiler`` is deprecated in favour of ``profile``; what a method raises is logged, and the method
        returns ``None``; ``on_trace_ready`` is called with the recording; and ``analyse`` comes after ``finalize``.
        """
        return self is Generation.V27


def generation_of(release: str) -> Generation:
    """
    Return the generation of a release such as ``2.4`` or ``2.4.1``; empty for the newest.

    Raises
    ------
    OptionError
        The text is no release with a known profiler.
    """
    wanted = ".".join(release.strip().split(".")[:2])
    if not wanted:
        return Generation.V27
    for name, releases in _RELEASES.items():
        if wanted in releases:
            return Generation[name]
    allowed = ", ".join(each for releases in _RELEASES.values() for each in releases)
    raise OptionError([f"{API_VARIABLE}: {release!r} is no release with a known profiler. Allowed: {allowed}."])
