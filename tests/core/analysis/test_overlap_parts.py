"""Sets of intervals part by part equal those made at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from drynpu.analysis._overlap_parts import gaps_between, merged_blocks, subtracted_blocks, union_blocks
from drynpu.arrays import I64
from drynpu.tables import intervals

_PAIRS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 9)), max_size=30)
_SIZE = st.integers(1, 5)


def pairs(found: list[tuple[int, int]]) -> I64:
    return np.array([(start, start + length) for start, length in found], np.int64).reshape(-1, 2)


def parts(members: I64, size: int) -> list[I64]:
    return [members[at : at + size] for at in range(0, len(members), size)]


def joined(blocks: Sequence[I64]) -> list[list[int]]:
    found: list[list[int]] = np.concatenate([np.empty((0, 2), np.int64), *blocks]).tolist()
    return found


@given(_PAIRS, _SIZE)
def test_the_union_of_parts_in_any_order(found: list[tuple[int, int]], size: int) -> None:
    blocks = union_blocks(parts(pairs(found), size))
    assert joined(blocks) == intervals.union(pairs(found)).tolist()
    assert all(len(block) for block in blocks)


@given(_PAIRS, _PAIRS, _SIZE)
def test_sets_of_blocks(found: list[tuple[int, int]], other: list[tuple[int, int]], size: int) -> None:
    whole, others = intervals.union(pairs(found)), intervals.union(pairs(other))
    blocks = union_blocks(parts(pairs(sorted(found)), size))
    assert joined(list(merged_blocks(blocks, others))) == intervals.union(whole, others).tolist()
    assert joined(list(subtracted_blocks(others, blocks))) == intervals.subtract(others, whole).tolist()
    gaps = joined(list(gaps_between(blocks, -3, 80)))
    assert gaps == intervals.subtract(np.array([[-3, 80]]), whole).tolist()


def test_what_reaches_over_several_parts_is_one() -> None:
    ordered = pairs([(0, 30), (5, 1), (10, 25), (34, 1), (35, 5), (50, 1)])
    assert joined(union_blocks(parts(ordered, 2))) == [[0, 40], [50, 51]]
    late = pairs([(40, 5), (0, 2), (44, 3), (1, 1)])
    assert joined(union_blocks(parts(late, 1))) == [[0, 2], [40, 47]]
