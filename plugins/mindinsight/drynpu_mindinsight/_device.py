"""What all files of one device share: its profile, its number in file names, the zero of its times."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

import orjson
import polars as pl
from attrs import field, frozen

from drynpu.tables import Profile

COUNT_NS = 10
"""Nanoseconds of one count of the step trace (mindinsight_dashboard.md 4)."""
NS_PER_MS = 1_000_000
AVERAGE = "-"
"""Number of the row with the means of all steps."""


@frozen(eq=False)
class Device:
    """
    One device of a profile.

    Attributes
    ----------
    rank:
        Number in the names of its files: the rank, of a run that was not distributed the device.
    zero_ns:
        Unix time from which counts and time stamps begin: MindInsight computes with them as floats, which of the
        time since 1970 would keep no nanoseconds.
    """

    profile: Profile = field(repr=False)
    device_id: int
    rank: int
    zero_ns: int

    def rows(self, table: pl.DataFrame) -> pl.DataFrame:
        """Return the rows of this device."""
        return table.filter(pl.col("device_id") == self.device_id)

    def counts(self, time: pl.Expr) -> pl.Expr:
        """Return Unix times as counts of the step trace since `zero_ns`."""
        return (time - self.zero_ns) // COUNT_NS


def devices_of(profile: Profile) -> list[Device]:
    """Return the devices of a profile."""
    times = [
        profile.compact("tasks", "start_ns")["start_ns"].min(),
        profile.compact("kernels", "start_ns")["start_ns"].min(),
    ]
    first = min((int(time) for time in times if isinstance(time, int)), default=profile.begin_ns)
    # Of a time of 0 MindInsight thinks that it is missing, so nothing begins there.
    zero = profile.begin_ns if 0 < profile.begin_ns < first else first - COUNT_NS
    alone = profile.rank_id < 0 or len(profile.device_ids) > 1
    return [Device(profile, each, each if alone else profile.rank_id, zero) for each in profile.device_ids]


def csv_bytes(header: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    """Return a csv file as Python's csv module writes it."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue().encode()


def json_bytes(document: object) -> bytes:
    """Return a JSON document."""
    return orjson.dumps(document)
