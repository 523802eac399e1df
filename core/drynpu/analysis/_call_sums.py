"""Sums over the calls of a profile, taken part by part: whole numbers, so that no order of parts changes a digit."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl
from attrs import define

from drynpu.tables import call_name
from drynpu.tables.stored import Stored, gathered, with_codes

_LOW_BITS = 20
_WIDE_NS = 1 << 42
"""
Squares of shorter durations are added in three parts, of which none leaves 64 bits within a part of a table. Longer
calls (above an hour) are added one by one.
"""


@define
class CallSums:
    """Of the calls of one level and name: their number, the sum, least and most of their durations, and squares."""

    count: int = 0
    total_ns: int = 0
    least_ns: int = 2**63
    most_ns: int = 0
    squares: int = 0

    @property
    def variance(self) -> float:
        """Variance of all durations, in ns^2; correctly rounded."""
        return (self.count * self.squares - self.total_ns**2) / self.count**2


def sum_calls(api: Stored) -> dict[tuple[str, str], CallSums]:
    """Return the sums of calls by level and the name that files show."""
    by_name: dict[tuple[str, str], CallSums] = {}
    for level, name, count, total_ns, least_ns, most_ns, squares in _part_sums(api):
        sums = by_name.setdefault((level, name), CallSums())
        sums.count += count
        sums.total_ns += total_ns
        sums.least_ns, sums.most_ns = min(sums.least_ns, least_ns), max(sums.most_ns, most_ns)
        sums.squares += squares
    return by_name


def _part_sums(api: Stored) -> Iterator[tuple[str, str, int, int, int, int, int]]:
    api = with_codes(api)
    words = {name: api.words[name][1] for name in ("level", "name", "item")}
    levels = words["level"].to_list()
    named_by_item = [code for code, level in enumerate(levels) if level == "communication"]
    duration, codes = pl.col("end_ns").cast(pl.Int64) - pl.col("start_ns").cast(pl.Int64), ("level", "name", "item")
    high, low = pl.col("ns") // (1 << _LOW_BITS), pl.col("ns") % (1 << _LOW_BITS)
    short = pl.col("ns") < _WIDE_NS
    for part in api.kept_slices(*codes, "start_ns", "end_ns"):
        # Only there does the item say what a call is shown as; elsewhere there are as many as operators.
        item = pl.when(pl.col("level").is_in(named_by_item)).then(pl.col("item").cast(pl.Int64)).alias("item")
        rows = part.select("level", "name", item, duration.alias("ns"))
        grouped = rows.group_by(codes, maintain_order=True).agg(
            pl.len().alias("count"),
            pl.col("ns").sum().alias("total_ns"),
            pl.col("ns").min().alias("least_ns"),
            pl.col("ns").max().alias("most_ns"),
            *(
                (one * other).filter(short).sum().alias(name)
                for name, one, other in (("hh", high, high), ("hl", high, low), ("ll", low, low))
            ),
            pl.col("ns").filter(~short).alias("long"),
        )
        texts = pl.DataFrame([gathered(words[name], grouped[name]).fill_null("").alias(name) for name in codes])
        shown = texts.select("level", call_name())
        values = grouped.select("count", "total_ns", "least_ns", "most_ns", "hh", "hl", "ll", "long")
        for key, (count, total_ns, least_ns, most_ns, hh, hl, ll, long) in zip(
            shown.iter_rows(), values.iter_rows(), strict=True
        ):
            squares = (hh << 2 * _LOW_BITS) + (hl << _LOW_BITS + 1) + ll + sum(ns**2 for ns in long)
            yield (*key, count, total_ns, least_ns, most_ns, squares)
