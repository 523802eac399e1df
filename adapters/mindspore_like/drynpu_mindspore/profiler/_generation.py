"""Releases of MindSpore whose profilers differ, and in what (mindspore_profiler.md 1)."""

from __future__ import annotations

import enum
from collections.abc import Mapping

from attrs import frozen

from drynpu import OptionError

API_VARIABLE = "DRYNPU_MINDSPORE_API"
"""Environment variable with the release whose profiler a script gets; not set: that of MindSpore 2.7."""

_RELEASES: Mapping[str, tuple[str, ...]] = {
    "V22": ("1.6", "1.7", "1.8", "1.9", "1.10", "2.0", "2.1", "2.2", "2.3"),
    "V24": ("2.4", "2.5"),
    "V27": ("2.6", "2.7"),
}


@frozen(kw_only=True)
class SurfaceBehaviour:
    """
    Behaviour of ``Profiler`` that differs between its generations.

    Attributes
    ----------
    deprecated:
        Constructing one logs that ``profile`` is to be used.
    catches:
        What a method raises is logged, and the method returns ``None``.
    metrics_keyword:
        The keyword for AI Core metrics.
    handler_takes_run:
        ``on_trace_ready`` is called with one argument.
    analyses_first:
        ``analyse`` comes before ``finalize``, and nothing is cleared.
    metadata_indent:
        Spaces that ``profiler_metadata.json`` is indented by; ``None`` for one line.
    offline_simplification:
        Default of ``offline_analyse(data_simplification=)``.
    """

    deprecated: bool
    catches: bool
    metrics_keyword: str
    handler_takes_run: bool
    analyses_first: bool
    metadata_indent: int | None
    offline_simplification: bool


class Generation(enum.Enum):
    """A generation of the surface."""

    V22 = "V22"
    """1.6 to 2.3: keywords such as ``op_time``, one profiler at a time, errors are raised."""
    V24 = "V24"
    """2.4 and 2.5: levels, activities and schedules, errors are raised."""
    V27 = "V27"
    """2.6 and 2.7: ``profile``, errors are logged."""

    @property
    def behaviour(self) -> SurfaceBehaviour:
        """How ``Profiler`` behaves in this generation."""
        newest = self is Generation.V27
        return SurfaceBehaviour(
            deprecated=newest,
            catches=newest,
            metrics_keyword="aic_metrics" if newest else "aicore_metrics",
            handler_takes_run=newest,
            analyses_first=not newest,
            metadata_indent=None if newest else 4,
            offline_simplification=newest,
        )


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
