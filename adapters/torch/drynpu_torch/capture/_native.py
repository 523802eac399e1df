"""Where operators ran beside the native device, which says what ran on it and which copies crossed to it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from attrs import frozen

from drynpu.arrays import I64, Bools, Records
from drynpu.device import inherit
from drynpu.kernels import Accesses, Placement
from drynpu_torch.capture._chunk import rows_named

_TO_DEVICE, _TO_HOST = "drynpu::to_device", "drynpu::to_host"
COPY_RANGES = (_TO_DEVICE, _TO_HOST)
"""Names of the ranges inside a copy that crosses between host and device (operators.h of the native device)."""
_LAYERS = frozenset({"npu::npu_lstm", "npu::npu_lstm_backward", "npu::npu_gru", "npu::npu_gru_backward"})
"""Names of the ranges that stand for the kernels of recurrent layers (recurrent.h of the native device)."""
_COPY, _CONVERSION = "aten::copy_", "aten::_to_copy"


@frozen(eq=False)
class Marks:
    """When operators ran on the device, shape ``[l]``: time, thread, index of the name."""

    time_ns: I64
    thread: I64
    name: I64


def place_native(
    placement: I64,
    placements: Sequence[Placement],
    names: Sequence[str],
    name: I64,
    start_ns: I64,
    thread: I64,
    parent: I64,
    depth: I64,
    on_device: Bools,
    marks: Marks,
) -> None:
    """
    Change the *placement* of operators, ``[n]`` indices into *placements*, to where they ran.

    An operator is the device's if it says so (*on_device*) or was marked, or lies inside one that was, or around one.
    Ranges that stand for the kernels of recurrent layers are the device's by their names. Copies have the direction of
    the range inside them; what converts and copies at once (``aten::_to_copy``) has the range of its copy.
    """
    marked = on_device | _marked(name, start_ns, thread, marks) | rows_named(names, name, _LAYERS.__contains__)
    placed = marked | inherit(depth, parent, marked) | around(parent, marked)
    placement[~placed] = placements.index(Placement.HOST)
    for range_name, place in ((_TO_DEVICE, Placement.TO_DEVICE), (_TO_HOST, Placement.TO_HOST)):
        copies = parent[np.flatnonzero(rows_named(names, name, range_name.__eq__))]
        copies = copies[copies >= 0]
        outer = parent[copies]
        outer = outer[outer >= 0]
        outer = outer[rows_named(names, name[outer], _CONVERSION.__eq__)]
        placement[copies] = placement[outer] = placements.index(place)


def _marked(name: I64, start_ns: I64, thread: I64, marks: Marks) -> Bools:
    """Return which operators were marked: for each mark the last one of its name and thread that began before it."""
    marked = np.zeros(len(name), bool)
    if not len(marks.name) or not len(name):
        return marked
    threads = np.unique(np.concatenate([thread, marks.thread]))
    most = int(max(name.max(), marks.name.max())) + 1

    def group(threads_of: I64, names_of: I64) -> I64:
        return np.searchsorted(threads, threads_of) * most + names_of

    here, there = group(thread, name), group(marks.thread, marks.name)
    # Operators before marks of the same time; stable, so that both are in the order of time in their group.
    key, time_ns = np.concatenate([here, there]), np.concatenate([start_ns, marks.time_ns])
    is_mark = np.repeat([False, True], [len(here), len(there)])
    order = np.lexsort((is_mark, time_ns, key))
    last = np.maximum.accumulate(np.where(is_mark[order], -1, np.arange(len(order))))
    rows = last[is_mark[order]]
    owner = order[rows[rows >= 0]]
    marked[owner[key[owner] == key[order][is_mark[order]][rows >= 0]]] = True
    return marked


def around(parent: I64, rows: Bools) -> Bools:
    """Return which operators have one of *rows* inside them."""
    outer = np.zeros(len(rows), bool)
    level = np.flatnonzero(rows)
    while len(level):
        level = np.unique(parent[level])
        level = level[level >= 0]
        level = level[~outer[level]]
        outer[level] = True
    return outer


def accesses_of(rows: Records) -> Accesses | None:
    """Return which memory was touched, None where nobody looked."""
    if not len(rows):
        return None
    return Accesses(
        time_ns=rows["time_ns"],
        thread=rows["thread"].astype(np.int64),
        block=rows["block"],
        offset=rows["offset"],
        size_bytes=rows["bytes"],
        block_bytes=rows["block_bytes"],
        written=rows["written"],
    )
