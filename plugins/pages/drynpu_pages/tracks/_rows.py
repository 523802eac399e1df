"""Rows of a table become tracks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from drynpu.arrays import I32, I64
from drynpu_pages.tracks._lanes import nest
from drynpu_pages.tracks._tracks import Track, TrackKind, TrackNames

_FEW_KEYS = 1 << 20
"""Numbers up to which a table of all of them is faster than searching."""
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
    number = np.searchsorted(groups.to_numpy(), rows["group"].to_numpy()).astype(np.int16)
    order = np.argsort(number, kind="stable")
    bounds = np.searchsorted(number[order], np.arange(len(groups) + 1))
    for group, first, last in zip(groups.to_list(), bounds[:-1], bounds[1:], strict=True):
        part = order[first:last]
        yield Track(
            kind, title.format(group), source, names, nest(start[part], end[part], codes[part], places[part]), device_id
        )


def _names(rows: pl.DataFrame) -> tuple[I32, TrackNames]:
    """Return the number of each event's name and kind, and what the numbers mean, the most frequent first."""
    texts = ["name", "kind", *(["item"] if "item" in rows.columns else [])]
    parts = [_coded(rows[text]) for text in texts]
    code, words = parts[0][0], pl.DataFrame({texts[0]: parts[0][1]})
    for text, (each, distinct) in zip(texts[1:], parts[1:], strict=True):
        code, pairs = _joined(code * len(distinct) + each)
        words = words[pairs // len(distinct)].with_columns(distinct.gather(pairs % len(distinct)).alias(text))
    counts = pl.Series("count", np.bincount(code, minlength=words.height))
    order = words.with_columns(counts).select(
        pl.arg_sort_by("count", *texts, descending=[True, *(False for _ in texts)])
    )
    place = np.empty(words.height, np.int32)
    place[order.to_series().to_numpy()] = np.arange(words.height)
    shown = words[order.to_series()].select(_shown_name(texts).alias("name"), "kind")
    return place[code], TrackNames(shown["name"].to_list(), shown["kind"].to_list())


def _shown_name(texts: list[str]) -> pl.Expr:
    name = pl.when(pl.col("name") == "").then("kind").otherwise("name")
    if "item" not in texts:
        return name
    return pl.when(pl.col("item") == "").then(name).otherwise(pl.format("{} {}", name, "item"))


def _coded(texts: pl.Series) -> tuple[I64, pl.Series]:
    """Return which of the distinct texts each one is, and these."""
    if texts.null_count():
        texts = texts.cast(pl.String).fill_null("")
    # What categories are numbered by has gaps: other tables have texts, too.
    categories = texts.cast(pl.Categorical)
    distinct = categories.unique()
    number = np.zeros(int(distinct.to_physical().max() or 0) + 1, np.int64)
    number[distinct.to_physical().to_numpy()] = np.arange(len(distinct))
    return number[categories.to_physical().to_numpy()], distinct.cast(pl.String)


def _joined(keys: I64) -> tuple[I64, I64]:
    """Return which of the distinct keys each one is, and these in order."""
    largest = int(keys.max())
    if largest >= max(len(keys), _FEW_KEYS):
        distinct = np.sort(pl.Series(keys).unique().to_numpy())
        return np.searchsorted(distinct, keys), distinct
    is_there = np.zeros(largest + 1, bool)
    is_there[keys] = True
    return (np.cumsum(is_there) - 1)[keys], np.flatnonzero(is_there)
