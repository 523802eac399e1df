"""What a platform has, in words of the option model."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from drynpu.options._values import LlcMode, MetricGroup
from drynpu.options.profiling_options._names import METRIC_NAMES
from drynpu.platforms import Platform, known_series


def series_among(
    platforms: Collection[Any] | None = None, not_platforms: Collection[Any] | None = None
) -> frozenset[str]:
    """Return the series of chips among *platforms*, or all but *not_platforms*; without either, all."""
    # YAML reads 310 as a number.
    if platforms is not None:
        return frozenset(map(str, platforms))
    return frozenset(known_series()) - set(map(str, not_platforms or ()))


def default_metric_group(platform: Platform) -> MetricGroup:
    """Return the group that acl.json and the msprof command collect when none is named (cann_msprof.md 1.6)."""
    return next(group for group, name in METRIC_NAMES.items() if name == platform.default_metric_group)


def metric_groups(platform: Platform) -> tuple[MetricGroup, ...]:
    """Return the counter groups that *platform* has, in the order of cann_msprof.md 1.8, without ``NONE``."""
    groups = {name: group for group, name in METRIC_NAMES.items()}
    return tuple(groups[name] for name in platform.counter_groups)


def llc_modes(platform: Platform) -> dict[str, LlcMode]:
    """Return what *platform* can count of the last-level cache, by its text (cann_msprof.md 1.3)."""
    return {name: LlcMode(name) for name in platform.llc_modes}
