"""Batches of task ids, and where launches were when work began, worked out by hand."""

from __future__ import annotations

import numpy as np
import polars as pl

from drynpu.analysis._launches import _launch_at
from drynpu.tables._device import _batches, task_key


def test_batches_are_counted_for_each_stream_alone() -> None:
    # Stream 3 begins its ids anew twice, stream 5, whose tasks lie between, once.
    tasks = [(3, 65_534), (5, 9), (3, 0), (3, 7), (5, 10), (3, 2), (5, 1), (5, 4)]
    key = task_key(*np.array(tasks, np.int64).T)
    assert _batches(key).tolist() == [0, 0, 1, 1, 0, 2, 1, 1]
    assert _batches(key[:0]).tolist() == []


def test_a_launch_holds_the_moments_of_its_start_and_end() -> None:
    launches = pl.DataFrame({"start_ns": [100, 150, 300], "end_ns": [140, 250, 310], "tid": [7, 8, 7]})
    times = np.array([99, 100, 140, 141, 300, 311, 150], np.int64)
    threads = np.array([7, 7, 7, 7, 7, 7, 8], np.int64)
    assert _launch_at(launches, threads, times).tolist() == [-1, 0, 0, -1, 2, -1, 1]
    assert _launch_at(launches, np.array([9]), np.array([120])).tolist() == [-1]
