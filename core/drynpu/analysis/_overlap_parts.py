"""Sets of intervals part by part: a canonical set as blocks that follow each other in time (`intervals`)."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import polars as pl

from drynpu.arrays import I64
from drynpu.tables import intervals


def pairs_of(rows: pl.DataFrame) -> I64:
    """Return the intervals of rows with ``start_ns`` and ``duration_ns``."""
    ends = pl.col("start_ns") + pl.col("duration_ns")
    return rows.select("start_ns", ends.alias("end_ns")).to_numpy().astype(np.int64).reshape(-1, 2)


def union_blocks(parts: Iterable[I64]) -> list[I64]:
    """
    Return the union of *parts* (``[n, 2]``, in any form) in blocks, none empty.

    Parts in order of their starts are joined as they come; others are sorted together at the end.
    """
    blocks: list[I64] = []
    in_order = True
    for part in parts:
        members = intervals.union(part)
        if not len(members):
            continue
        last = blocks[-1][-1] if blocks else None
        if last is not None and members[0, 0] < last[0]:
            in_order = False
        elif last is not None and members[0, 0] <= last[1]:
            # What came last reaches into this part, and only that can.
            members = intervals.union(last.reshape(1, 2), members)
            blocks[-1] = blocks[-1][:-1]
        blocks.append(members)
    if not in_order:
        return [intervals.union(*blocks)]
    return [block for block in blocks if len(block)]


def merged_blocks(blocks: Iterable[I64], others: I64) -> Iterator[I64]:
    """Yield the union of canonical *blocks* and a canonical set in blocks, one at a time."""
    used, open_end = 0, np.empty((0, 2), np.int64)
    for block in itertools.chain(blocks, [None]):
        upto = len(others) if block is None else int(np.searchsorted(others[:, 0], block[-1, 0], side="right"))
        members = intervals.union(open_end, others[used:upto], *([] if block is None else [block]))
        used = upto
        # The last one may reach into what follows.
        open_end, whole = (members[:0], members) if block is None else (members[-1:], members[:-1])
        if len(whole):
            yield whole


def subtracted_blocks(minuend: I64, blocks: Sequence[I64]) -> Iterator[I64]:
    """Yield in blocks what a canonical set covers and canonical *blocks* do not."""
    if not len(minuend):
        return
    begin = int(minuend[0, 0])
    for block in (*blocks, np.empty((0, 2), np.int64)):
        # Each block answers for the time up to its end. There it covers something, so that no piece reaches further.
        end = int(block[-1, 1]) if len(block) else int(minuend[-1, 1])
        low, high = np.searchsorted(minuend[:, 1], begin, side="right"), np.searchsorted(minuend[:, 0], end)
        if low < high:
            yield intervals.subtract(np.clip(minuend[low:high], begin, end), block)
        begin = max(begin, end)


def gaps_between(blocks: Iterable[I64], begin: int, end: int) -> Iterator[I64]:
    """Yield in blocks what canonical *blocks* leave of the time from *begin* to *end*, which holds them."""
    for block in itertools.chain(blocks, [np.array([[end, end]], np.int64)]):
        begins, ends = np.append(begin, block[:-1, 1]), block[:, 0]
        yield np.stack([begins, ends], axis=1)[begins < ends]
        begin = int(block[-1, 1])
