"""Counters of a profile over time: memory by component, and every rate that the toolkit samples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import polars as pl
from attrs import evolve, field, frozen

from drynpu.analysis import component_memory
from drynpu.arrays import F64, I64
from drynpu.deliverables.record_group import iter_layers
from drynpu.deliverables.registry import registered_groups
from drynpu.tables import Profile
from drynpu.writers.number_text import toolkit_writer
from drynpu.writers.trace_json import SPACED, Events, constant

_TOTALS = ("reserved", "active", "allocated")


@frozen(eq=False)
class Counter:
    """
    A number over time.

    Attributes
    ----------
    unit:
        As it is recorded; ``""`` if unknown.
    """

    name: str
    unit: str
    is_memory: bool
    time_ns: I64 = field(repr=False)
    value: F64 = field(repr=False)

    def within(self, start_ns: int, end_ns: int) -> tuple[I64, F64]:
        """Return what it is in a window, beginning with the value that it has where the window begins."""
        first = max(int(np.searchsorted(self.time_ns, start_ns, side="right")) - 1, 0)
        last = int(np.searchsorted(self.time_ns, end_ns, side="left"))
        return np.maximum(self.time_ns[first:last], start_ns), self.value[first:last]


def counters_of(profile: Profile) -> tuple[Counter, ...]:
    """Return all counters of a profile, memory first; made once."""
    counters: tuple[Counter, ...] = profile.keep("perfetto_counters", lambda: (*_memory(profile), *_sampled(profile)))
    return counters


def _memory(profile: Profile) -> Iterator[Counter]:
    totals = component_memory(profile).sort("time_ns", maintain_order=True)
    several = totals["device_id"].n_unique() > 1
    for (component, device), rows in totals.group_by("component", "device_id", maintain_order=True):
        where = f", device {device}" if several else ""
        for total in _TOTALS:
            known = rows.select("time_ns", f"{total}_bytes").drop_nulls()
            if known.height:
                yield _counter(f"{component} {total}{where}", "bytes", known, is_memory=True)


def _sampled(profile: Profile) -> Iterator[Counter]:
    """
    Yield the counters of the toolkit's layers.

    The templates of these layers state name, unit and value of each sample; other layers have no event of this form.
    """
    groups = [group for group in registered_groups() if group.read_tables]
    for _, blocks in iter_layers(groups, profile, SPACED, toolkit_writer(profile.platform)):
        for block in blocks:
            if isinstance(block, Events) and block.members.get("ph") == constant("C") and block.rows.height:
                yield from _of_block(block, several=len(profile.device_ids) > 1)


def _of_block(block: Events, *, several: bool) -> Iterator[Counter]:
    values = block.members["args"]
    units = tuple(values) if isinstance(values, Mapping) else ()
    members = {name: block.members[name] for name in ("name", "pid", "ts", "args")}
    texts = evolve(block, members=members).render(SPACED, 0, block.rows.height)
    form = pl.Struct(
        {"name": pl.String, "pid": pl.Int64, "ts": pl.String, "args": pl.Struct(dict.fromkeys(units, pl.Float64))}
    )
    samples = texts.str.json_decode(form).struct.unnest().unnest("args")
    samples = samples.with_columns(
        time_ns=pl.col("ts").str.replace(".", "", literal=True).str.strip_chars().cast(pl.Int64)
    )
    devices = {pid: number for number, pid in enumerate(samples["pid"].unique().sort())}
    for (name, pid), rows in samples.sort("time_ns").group_by("name", "pid", maintain_order=True):
        where = f", device {devices[pid]}" if several and len(devices) > 1 else ""
        for unit in units:
            known = rows.select("time_ns", unit).drop_nulls()
            title = f"{name}{where}" if len(units) == 1 else f"{name} {unit}{where}"
            if known.height:
                yield _counter(title, unit, known, is_memory=unit in ("KB", "MB"))


def _counter(name: str, unit: str, rows: pl.DataFrame, *, is_memory: bool) -> Counter:
    return Counter(name, unit, is_memory, rows["time_ns"].to_numpy(), rows.to_series(1).cast(pl.Float64).to_numpy())
