"""Batches of device tasks rebuilt from flip records."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from drynpu.deliverables.registry import RECORD_KINDS
from drynpu.raw import STREAM_DESTROYED, batches_from_flips, split_task_id


@given(st.lists(st.integers(0, 5 * 65536), min_size=1, unique=True))
def test_batches_of_written_flips(numbers: list[int]) -> None:
    """What split_task_id gave to task_track comes back from flips at the first task of each batch."""
    numbers = sorted(numbers)
    task_id, batch = split_task_id(numbers)
    ticks = np.arange(len(numbers)) * 10 + 1000
    # A batch that no task of the list is in has its flip all the same.
    wanted = np.arange(1, int(batch[-1]) + 1)
    flips = RECORD_KINDS.record("ts_track_flip").new(len(wanted))
    flips["stream_id"], flips["flip_number"] = 7, wanted
    flips["tick"] = [ticks[np.searchsorted(batch, number)] for number in wanted]
    order = np.random.default_rng(0).permutation(len(numbers))
    rebuilt = batches_from_flips(np.full(len(numbers), 7)[order], task_id[order], ticks[order], flips[::-1])
    assert rebuilt.tolist() == batch[order].tolist()


def test_flips_belong_to_their_stream() -> None:
    flips = RECORD_KINDS.record("ts_track_flip").new(1)
    flips["stream_id"], flips["flip_number"], flips["tick"] = 2, 1, 50
    assert batches_from_flips([1, 2, 2], [9, 9, 0], [60, 49, 50], flips).tolist() == [0, 0, 1]


def test_no_flips_no_batches() -> None:
    assert batches_from_flips([1, 1], [0, 1], [5, 6], RECORD_KINDS.record("ts_track_flip").new(0)).tolist() == [0, 0]


def test_overtaken_flip_takes_the_small_ids_before_it() -> None:
    flips = RECORD_KINDS.record("ts_track_flip").new(1)
    flips["stream_id"], flips["flip_number"], flips["tick"], flips["task_id"] = 1, 1, 50, 2
    batches = batches_from_flips([1] * 4, [65535, 0, 1, 2], [10, 20, 30, 50], flips)
    assert batches.tolist() == [0, 1, 1, 1]


def test_destroyed_stream_begins_a_batch() -> None:
    flips = RECORD_KINDS.record("ts_track_flip").new(1)
    flips["stream_id"], flips["flip_number"], flips["tick"], flips["task_id"] = 1, STREAM_DESTROYED, 50, 3
    assert batches_from_flips([1, 1], [2, 3], [49, 51], flips).tolist() == [0, 1]
