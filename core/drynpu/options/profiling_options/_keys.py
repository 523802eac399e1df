"""
The keys of a collector options document, from the option table.

A surface that has the same keys under other rules (acl.json, ``aclprofSetConfig``) is another `Surface`
value; the keys themselves do not change.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from drynpu.options._table import Kind, LazyTable, OptionRow, option_rows
from drynpu.options._values import Range
from drynpu.options.profiling_options._names import series_among
from drynpu.platforms import Platform, named_platforms


@frozen(kw_only=True)
class Key:
    """
    One name of an option on a surface.

    Attributes
    ----------
    path:
        Where its value goes in the neutral model.
    limits, wide_limits:
        Range of a number, and the range on the chips of ``wide_series``.
    series:
        The chips that have it; ``None`` for all.
    note:
        What the collector prints when it is there.
    surface:
        The only surface that has it; ``""`` for all.
    """

    name: str
    kind: Kind
    path: str
    limits: Range | None = None
    wide_limits: Range | None = None
    wide_series: frozenset[str] | None = None
    series: frozenset[str] | None = None
    note: str = ""
    surface: str = ""

    def is_on(self, platform: Platform) -> bool:
        """Whether *platform* has it."""
        return self.series is None or not self.series.isdisjoint(platform.series)

    @property
    def holders(self) -> str:
        """The chips that have it, as a readable list."""
        return ", ".join(member.label for member in named_platforms() if self.is_on(member))

    def limits_on(self, platform: Platform) -> Range:
        """Return the range of a number on *platform*."""
        wide = self.wide_series is not None and not self.wide_series.isdisjoint(platform.series)
        limits = self.wide_limits if wide else self.limits
        assert limits is not None
        return limits

    def is_wide(self, value: int) -> bool:
        """Whether a number is one of those that only ``wide_series`` take."""
        return self.limits is not None and self.wide_limits is not None and not self.limits.holds(value)


def range_facts(row: OptionRow) -> dict[str, Any]:
    """Return what every name of *row* has in common: the ranges of its number."""
    return {
        "limits": row.range,
        "wide_limits": row.wide_range,
        "wide_series": series_among(row.wide_on),
    }


def _keys() -> Mapping[str, Key]:
    return {
        name: Key(
            name=name,
            kind=row.kind,
            path=row.path,
            series=series_among(**row.platforms_of(entry)),
            note=entry.get("note", ""),
            surface=entry.get("surface", ""),
            **range_facts(row),
        )
        for row in option_rows().values()
        for name, entry in row.json.items()
    }


COLLECTOR_KEYS: Mapping[str, Key] = LazyTable(_keys)
"""The keys of all surfaces by name."""


@frozen(kw_only=True)
class Surface:
    """
    One way in which options reach the collector, and how the collector refuses them there.

    Attributes
    ----------
    unknown_id, unknown_reason:
        Identifier and reason for a key that it does not have.
    value_id:
        Identifier for a bad value.
    empty_reason, syntax_reason:
        For no text and for text that is not JSON.
    byte_limit:
        Longest document, in bytes of UTF-8.
    storage_limit_fails:
        Whether a bad ``storage_limit`` is refused; otherwise it is only warned about.
    empty_rule:
        Whether no options at all mean the enabled-but-empty set of cann_msprof.md 1.2, and the list of 2020 is known.
    length_fails:
        Whether a document that is too long is refused even when reading leniently.
    acl_defaults:
        Whether the defaults of acl.json apply: calls and counters on, communication and the iteration trace
        following the level, the directory of the executable for want of another.
    """

    name: str
    unknown_id: str
    unknown_reason: str
    value_id: str
    empty_reason: str
    syntax_reason: str
    byte_limit: int
    storage_limit_fails: bool
    empty_rule: bool = True
    length_fails: bool = False
    acl_defaults: bool = False

    @property
    def table(self) -> Mapping[str, Key]:
        """The keys it takes, by name, in the order of the option table."""
        return {name: key for name, key in COLLECTOR_KEYS.items() if key.surface in ("", self.name)}


GE_OPTIONS = Surface(
    name="profiling_options",
    unknown_id="EK0001",
    unknown_reason="Ge option is not supported",
    value_id="EK0001",
    empty_reason="Ge option config can not be empty",
    syntax_reason="Ge option config should be a valid json string",
    byte_limit=2048,
    storage_limit_fails=False,
)
"""TensorFlow, GE options and ``PROFILING_OPTIONS`` (cann_msprof.md 1.1, 1.5)."""

KEYS: Mapping[str, Key] = LazyTable(lambda: GE_OPTIONS.table)
"""The keys of ``profiling_options`` by name (cann_msprof.md 1.3)."""

ACL_JSON = Surface(
    name="acl_json",
    unknown_id="EK0005",
    unknown_reason="param not supported",
    value_id="EK0003",
    empty_reason="Acl json config can not be empty",
    syntax_reason="Acl json config should be a valid json string",
    byte_limit=1024 * 1024,
    storage_limit_fails=True,
    empty_rule=False,
    length_fails=True,
    acl_defaults=True,
)
"""The ``profiler`` section of acl.json without its ``switch``, which is no option (cann_msprof.md 1.6)."""
