"""Rows of a table become tracks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from drynpu.analysis.timeline._lanes import nest
from drynpu.analysis.timeline._tracks import Track, TrackKind, TrackNames
from drynpu.arrays import I32

TRACK_ROWS = ("start_ns", "end_ns", "name", "kind", "group")
"""
Columns of events; texts may be categories.

``row`` comes with them where places in the table are not those here, ``item`` where an event is for something that has
a name of its own.
"""


def tracks_of(
    rows: pl.DataFrame, kind: TrackKind, source: str, title: str, device_id: int | None = None
) -> Iterator[Track]:
    """
    Yield a track for each ``group`` of events, in the order of groups.

    Parameters
    ----------
    rows:
        Columns :data:`TRACK_ROWS`.
    title:
        Names the track of a group, which stands in place of ``{}``.
    """
    if rows.is_empty():
        return
    codes, names = _names(rows)
    groups = rows["group"].unique().sort()
    start, end = rows["start_ns"].to_numpy(), rows["end_ns"].to_numpy()
    end = np.maximum(start, end)
    places = rows["row"].to_numpy() if "row" in rows.columns else np.arange(len(start))
    places = places.astype(np.int32)
    if len(groups) == 1:
        yield Track(kind, title.format(groups[0]), source, names, nest(start, end, codes, places), device_id)
        return
    number = _places(rows.select("group"), groups.to_frame("group"))
    order = np.argsort(number, kind="stable")
    bounds = np.searchsorted(number[order], np.arange(len(groups) + 1))
    for group, first, last in zip(groups.to_list(), bounds[:-1], bounds[1:], strict=True):
        part = order[first:last]
        yield Track(
            kind, title.format(group), source, names, nest(start[part], end[part], codes[part], places[part]), device_id
        )


def _names(rows: pl.DataFrame) -> tuple[I32, TrackNames]:
    """Return the number of each event's name and kind, and what the numbers mean, the most frequent first."""
    keys = ["name", "kind", *(["item"] if "item" in rows.columns else [])]
    counts = rows.group_by(keys).len()
    # Categories sort by their numbers, which differ from run to run.
    texts = counts.with_columns(pl.col(keys).cast(pl.String).fill_null(""))
    order = texts.select(pl.arg_sort_by("len", *keys, descending=[True, *(False for _ in keys)])).to_series()
    name = pl.when(pl.col("name") == "").then("kind").otherwise("name")
    if "item" in keys:
        name = pl.when(pl.col("item") == "").then(name).otherwise(pl.format("{} {}", name, "item"))
    shown = texts[order].select(name.alias("name"), "kind")
    return _places(rows.select(keys), counts[order].select(keys)), TrackNames(
        shown["name"].to_list(), shown["kind"].to_list()
    )


def _places(values: pl.DataFrame, distinct: pl.DataFrame) -> I32:
    """Return for each row its place among the distinct ones."""
    numbered = distinct.with_row_index("place")
    found = values.join(numbered, on=values.columns, how="left", maintain_order="left", nulls_equal=True)
    places: I32 = found["place"].to_numpy().astype(np.int32)
    return places
