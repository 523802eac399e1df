"""Counter groups of the cores: which events they record, and the columns that follow. See counters.yaml."""

from __future__ import annotations

import enum
import functools
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from attrs import field, frozen

from drynpu.platforms._converter import packaged_document


class Formula(enum.Enum):
    """How a column follows from its events."""

    RATIO = "ratio"
    """Sum per total cycle."""
    TIME = "time"
    """Ratio times core time (us)."""
    QUOTIENT = "quotient"
    """First event per second event."""
    BANDWIDTH = "rate"
    """Bits per time of the cycles, in 2^33 bit/s; cycles are summed over blocks, so it is the rate of one core."""
    SHARED_BANDWIDTH = "shared_rate"
    """Bits per core time, in 2^33 bit/s: the rate of all cores together."""
    TOTAL = "total"
    """Weighted sum."""


@frozen
class MetricColumn:
    """
    A column without its prefix: ``terms`` are event codes with weights (bits per count for a bandwidth).

    Where several codes mean the same thing (older and newer releases) a profile has one of them.
    """

    name: str
    formula: Formula
    terms: tuple[tuple[int, float], ...]


@frozen(kw_only=True)
class CounterGroup:
    """
    One ``aic_metrics`` group of a platform.

    Split chips have columns for the cube and for the vector core, unified chips only ``cube`` ones. ``tail`` are
    the columns that follow all others.
    """

    cube_events: tuple[int, ...]
    vector_events: tuple[int, ...] = ()
    cube: tuple[MetricColumn, ...] = ()
    vector: tuple[MetricColumn, ...] = ()
    tail: tuple[str, ...] = ()
    sampled: tuple[MetricColumn, ...] = ()
    """Columns of samples of single cores, the same for both kinds of core, with the names they have there."""


@frozen(kw_only=True, eq=False)
class CounterSet:
    """The counter groups of a platform, under their names in sample.json."""

    name: str
    numbering: str
    """Which numbers the events have: ``common``, or ``v6`` as on the 950."""
    bits_per_count: Mapping[int, int] = field(repr=False)
    """Bits that one count of a bandwidth register stands for, by event."""
    groups: Mapping[str, CounterGroup] = field(repr=False)


@functools.cache
def counter_set(name: str, *, split: bool) -> CounterSet:
    """Return the counter groups that platforms.yaml calls *name*; groups of *split* cores count on either kind."""
    document = packaged_document("counters.yaml")
    facts = document["sets"][name]
    numbering = document["numbering"][facts["numbering"]]
    bits = _bits(numbering["bits"], facts.get("own_bits", {}))
    texts = numbering["columns"] | facts.get("own_columns", {})
    reader = _GroupReader(texts, facts, bits, document["sampled"])
    groups = {group: reader.read(group, split=split) for group in facts["groups"]}
    return CounterSet(name=name, numbering=facts["numbering"], bits_per_count=bits, groups=MappingProxyType(groups))


def _bits(*tables: Mapping[int, tuple[int, int]]) -> Mapping[int, int]:
    """Return the bits of one count by event; later tables win."""
    return MappingProxyType({code: width * scale for table in tables for code, (width, scale) in table.items()})


@frozen(eq=False)
class _GroupReader:
    """The texts of one set: columns by name, the set's own facts, and the columns of samples by group."""

    columns: Mapping[str, str]
    facts: Mapping[str, Any]
    bits: Mapping[int, int]
    sampled: Mapping[str, str]

    def read(self, name: str, *, split: bool) -> CounterGroup:
        group = self.facts["groups"][name]
        cube = tuple(group.get("cube_events") or group["events"])
        rate = "shared_rate " if self.facts.get("shared_rates") else "rate "
        texts = {name: text.replace("rate ", rate) for name, text in self.columns.items()}
        return CounterGroup(
            cube_events=cube,
            vector_events=tuple(group.get("vector_events", cube)) if split else (),
            cube=_columns(group.get("cube", "").split(), texts, self.bits),
            vector=_columns(group.get("vector", "").split(), texts, self.bits),
            tail=tuple(group.get("tail", "").split()),
            sampled=self._sampled(name, group),
        )

    def _sampled(self, name: str, group: Mapping[str, str]) -> tuple[MetricColumn, ...]:
        """Return the columns in the order and spelling that samples have for them; times are none of them."""
        texts = {**self.columns, **self.facts.get("sampled_columns", {})}
        also = self.facts.get("sampled_also", {}).get(name, "")
        bits = {**self.bits, **_bits(self.facts.get("sampled_bits", {}))}
        known = _columns(f"{group.get('cube', '')} {group.get('vector', '')} {also}".split(), texts, bits)
        by_name = {column.name.lower(): column for column in known if column.formula is not Formula.TIME}
        shown = [shown for shown in self.sampled.get(name, "").split() if shown.lower() in by_name]
        return tuple(MetricColumn(name, by_name[name.lower()].formula, by_name[name.lower()].terms) for name in shown)


def _columns(names: Iterable[str], texts: Mapping[str, str], bits: Mapping[int, int]) -> tuple[MetricColumn, ...]:
    return tuple(column for name in names for column in _parse(name, texts[name], bits))


def _parse(name: str, text: str, bits: Mapping[int, int]) -> tuple[MetricColumn, ...]:
    """Return the columns of one line of ``columns``, such as ``total 0x49*8192 0x4a*16384``."""
    formula, *parts = text.split()
    codes = [(int(code, 16), float(weight or 1)) for code, _, weight in (part.partition("*") for part in parts)]
    if formula == "pipe":
        times = MetricColumn(f"{name}_time(us)", Formula.TIME, tuple(codes))
        return times, MetricColumn(f"{name}_ratio", Formula.RATIO, tuple(codes))
    if formula.endswith("rate"):
        rates = tuple((code, float(bits[code])) for code, _ in codes)
        return (MetricColumn(f"{name}(GB/s)", Formula(formula), rates),)
    return (MetricColumn(name, Formula(formula), tuple(codes)),)
