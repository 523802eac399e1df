"""Launches that tasks belong to, against a search through all of them."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from drynpu.layouts.graph import CAPTURE_STREAM_INFO
from drynpu.tables import NO_MODEL
from drynpu.tables.launches import Launches, _captured_model, launch_key
from drynpu.tables.stored import stored

IDS = st.tuples(st.sampled_from([0, 1, 5]), st.sampled_from([0, 2, 40_000]), st.sampled_from([0, 1, 65_535, 2**32 - 1]))

FEW = st.sampled_from([(0, 0, 1), (0, 2, 1), (5, 2, 1), (5, 40_000, 65_535)])
"""Ids that repeat each other."""


def launched(ids: list[tuple[int, int, int]]) -> tuple[Launches, list[tuple[int, int]]]:
    """Return launches of tasks by device, stream and id, and the key and ordinal of each."""
    device, stream, task = np.array(ids, np.int64).reshape(-1, 3).T
    key = launch_key(device, stream, task)
    seen: Counter[int] = Counter()
    pairs = []
    for each in key.tolist():
        pairs.append((each, seen[each]))
        seen[each] += 1
    ordinal = np.array([turn for _, turn in pairs], np.int64)
    return Launches(key, ordinal, stored(pl.DataFrame())), pairs


@given(st.lists(IDS, unique=True))
def test_a_key_tells_device_stream_and_task_apart(ids: list[tuple[int, int, int]]) -> None:
    assert len({key for key, _ in launched(ids)[1]}) == len(ids)


@given(st.lists(FEW, max_size=12), st.lists(st.tuples(FEW, st.integers(0, 4)), min_size=1, max_size=12))
def test_a_task_belongs_to_the_launch_of_its_key_and_turn(
    ids: list[tuple[int, int, int]], tasks: list[tuple[tuple[int, int, int], int]]
) -> None:
    known, pairs = launched(ids)
    wanted = launch_key(*np.array([task for task, _ in tasks], np.int64).T)
    turns = np.array([turn for _, turn in tasks], np.int64)
    expected = [
        pairs.index(pair) if pair in pairs else -1 for pair in zip(wanted.tolist(), turns.tolist(), strict=True)
    ]
    assert known.rows(wanted, turns).tolist() == expected


@given(st.lists(FEW, max_size=6), st.lists(FEW, max_size=6))
def test_a_launch_is_alone_where_its_key_occurs_once(
    ids: list[tuple[int, int, int]], tasks: list[tuple[int, int, int]]
) -> None:
    known, pairs = launched(ids)
    keys = [key for key, _ in pairs]
    wanted = launch_key(*np.array(tasks, np.int64).reshape(-1, 3).T)
    expected = [keys.index(key) if keys.count(key) == 1 else -1 for key in wanted.tolist()]
    assert known.alone(wanted).tolist() == expected


@given(st.lists(IDS, max_size=12, unique_by=lambda ids: (ids[0], ids[2])), st.lists(st.integers(0, 3), max_size=6))
def test_a_task_id_that_is_unique_on_a_device_tells_the_stream(
    ids: list[tuple[int, int, int]], places: list[int]
) -> None:
    known, _ = launched(ids)
    wanted = np.array([(0, 1, 65_535, 2**32 - 1)[place] for place in places], np.int64)
    for device in (0, 1, 5, 7):
        streams = {task: stream for on, stream, task in ids if on == device}
        assert known.streams(device, wanted).tolist() == [streams.get(task, 65_535) for task in wanted.tolist()]


CAPTURES = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(2, 4), st.integers(0, 9)), max_size=8)
"""Status, device, stream and time."""


@given(CAPTURES, st.lists(st.tuples(st.integers(0, 1), st.integers(2, 4), st.integers(0, 9)), max_size=12))
def test_a_launch_is_of_the_graph_that_was_captured_on_its_stream_last(
    captures: list[tuple[int, int, int, int]], found: list[tuple[int, int, int]]
) -> None:
    records = CAPTURE_STREAM_INFO.new(len(captures))
    for number, (status, on, stream, time) in enumerate(captures):
        for name, value in (("status", status), ("device_id", on), ("model_stream", stream), ("timestamp", time)):
            records[number][name] = value
        records[number]["model_id"] = number + 1
    expected = []
    for device, stream, time in found:
        before = [
            (when, number + 1)
            for number, (status, on, at, when) in enumerate(captures)
            if not status and (on, at) == (device, stream) and when <= time
        ]
        expected.append(max(before)[1] if before else NO_MODEL)
    columns = np.array(found, np.int64).reshape(-1, 3).T
    assert _captured_model(records, *columns).tolist() == expected
