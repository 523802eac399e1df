"""What a platform has, in words of the option model."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from drynpu.options._table import Kind
from drynpu.options._values import Level, LlcMode, MetricGroup
from drynpu.options.profiling_options._names import (
    BLOCK_WORDS,
    GRAPH_API_WORDS,
    HOST_SYSTEM_WORDS,
    HOST_USAGE_WORDS,
    LEVEL_WORDS,
    METRIC_NAMES,
    SWITCH_WORDS,
)
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


def words_on(platform: Platform, kind: Kind) -> dict[str, Any]:
    """Return the texts that *platform* takes for an option of a *kind* that has words, in the order of messages."""
    if kind is Kind.LLC:
        return {name: LlcMode(name) for name in platform.llc_modes}
    lacking = None if platform.level_l3 else Level.L3
    return {text: value for text, value in _WORDS[kind].items() if value is not lacking}


_WORDS: Mapping[Kind, Mapping[str, Any]] = {
    Kind.SWITCH: SWITCH_WORDS,
    Kind.LEVEL: LEVEL_WORDS,
    Kind.GRAPH_API: GRAPH_API_WORDS,
    Kind.BLOCK: BLOCK_WORDS,
    Kind.HOST_SYSTEMS: HOST_SYSTEM_WORDS,
    Kind.HOST_USAGE: HOST_USAGE_WORDS,
}
