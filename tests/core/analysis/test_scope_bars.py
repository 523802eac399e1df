"""Bars of scopes against the rule told step by step (mindspore_profiler.md 12.5)."""

from __future__ import annotations

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from drynpu.analysis._scopes import _bars, _one_at_a_time

EVENTS = st.lists(
    st.tuples(st.integers(0, 30), st.integers(1, 6), st.lists(st.sampled_from("abc"), min_size=1, max_size=3)),
    max_size=12,
)


def told(events: list[tuple[int, int, list[str]]]) -> list[tuple[str, int, int, int]]:
    """Open, go on with and close bars event by event."""
    opened: list[list[object]] = []
    closed = []
    for start, length, names in sorted(events, key=lambda event: event[0]):
        if opened and start < int(str(opened[0][2])):
            continue
        same = True
        for depth, name in enumerate(names):
            if depth == len(opened):
                opened.append([name, start, start + length])
                continue
            if same and opened[depth][0] == name:
                opened[depth][2] = start + length
            else:
                closed.append((opened[depth], depth))
                opened[depth] = [name, start, start + length]
                same = False
    closed += [(bar, depth) for depth, bar in enumerate(opened)]
    return sorted((str(bar[0]), depth, int(str(bar[1])), int(str(bar[2]))) for bar, depth in closed)


@given(EVENTS)
def test_columns_say_what_the_rule_says(events: list[tuple[int, int, list[str]]]) -> None:
    ordered = sorted(events, key=lambda event: event[0])
    schema = {"start_ns": pl.Int64, "end_ns": pl.Int64, "scope": pl.List(pl.String)}
    rows = pl.DataFrame([(s, s + n, names) for s, n, names in ordered], schema=schema, orient="row")
    kept = _one_at_a_time(rows["start_ns"].to_numpy(), rows["end_ns"].to_numpy())
    assert sorted(_bars(rows.filter(pl.Series(kept, dtype=pl.Boolean))).iter_rows()) == told(events)


def test_many_overlapping_events_take_no_time() -> None:
    start = np.arange(200_000, dtype=np.int64)
    kept = _one_at_a_time(start, start + 3)
    assert kept.sum() == len(start) // 3 + 1
    assert (np.diff(np.flatnonzero(kept)) == 3).all()
