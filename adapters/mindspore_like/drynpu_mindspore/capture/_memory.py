"""
Allocations of a device's runtime, modelled from the graphs, because MindSpore's CPU build records none.

Times come from the measured launches, sizes follow from the shapes in the graphs. Addresses tell buffers
apart and say nothing of where a pool would have put them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from attrs import define, field, frozen

from drynpu.arrays import I64
from drynpu.device import block_bytes
from drynpu.kernels import Allocations, Operators
from drynpu_mindspore.capture._lives import Buffer, Lives, lives_of
from drynpu_mindspore.capture._runs import find_runs
from drynpu_mindspore.capture._wiring import KernelGraph
from drynpu_mindspore.rules import NOTHING

# Far from the addresses of hosts, so that a modelled buffer is not taken for a real one.
_FIRST_ADDRESS = 1 << 44
_ON_CPU = "totals of memory come from MindSpore's pool on the CPU"
_NO_GRAPHS = f"{_ON_CPU}: no launch belongs to a graph that was saved with its shapes"
_PYNATIVE = f"{_ON_CPU}: PyNative tells nothing of the lives of its tensors"


@frozen(eq=False, kw_only=True)
class MemoryModel:
    """
    The allocations that the runtime of a device would have made; requested bytes, times in Unix ns.

    ``live_before_bytes`` is the size of the pool's blocks that parameters and constants of the graphs occupy all the
    time. ``notes`` are readable lines on what the model leaves out.
    """

    allocations: Allocations
    live_before_bytes: int = 0
    notes: tuple[str, ...] = ()


@define(eq=False)
class MemoryProgress:
    """
    What the parts of a recording before one leave to it.

    Attributes
    ----------
    next_address:
        Behind the buffers that have an address.
    addresses:
        Of the first buffer of each graph.
    runs:
        How often each graph ran.
    held:
        Addresses of results that are held until their graph has run again, by graph and number of the buffer.
    """

    next_address: int = _FIRST_ADDRESS
    addresses: dict[int, int] = field(factory=dict)
    runs: dict[int, int] = field(factory=dict)
    held: dict[tuple[int, int], int] = field(factory=dict)

    def address_of(self, graph: int, buffers: Sequence[Buffer]) -> int:
        """Return the address of the first of the *buffers* of a graph; two of each lie one behind the other."""
        if graph not in self.addresses:
            self.addresses[graph] = self.next_address
            sizes = block_bytes(np.array([buffer.size_bytes for buffer in buffers], np.int64))
            self.next_address += 2 * int(sizes.sum())
        return self.addresses[graph]


@frozen(eq=False, kw_only=True)
class GraphMemory:
    """
    The graphs of kernels that memory is modelled from, in the order in which they were compiled.

    ``gradients`` says that PyNative computed gradients: it then holds activations in ways that no graph shows.
    """

    graphs: tuple[KernelGraph, ...]
    gradients: bool = False

    def model(self, operators: Operators, progress: MemoryProgress | None = None) -> MemoryModel:
        """
        Return the allocations and releases for the launches among *operators*.

        Where these are a part of a recording, *progress* is what the parts before left, and is brought up to date.

        The results of a node are allocated when it is launched, and released when the last node that reads them was.
        The inputs of a run are there from its first launch on, as copied to the device; what a run gives back is held
        until the next run of the same graph has ended. Launches outside of graphs have no memory here.
        """
        if self.gradients:
            return MemoryModel(allocations=Allocations.empty(), notes=(_PYNATIVE,))
        runs = find_runs(self.graphs, operators)
        if not runs:
            launched = bool((operators.signature >= 0).any())
            return MemoryModel(allocations=Allocations.empty(), notes=(_NO_GRAPHS,) if launched else ())
        lives = {graph: lives_of(self.graphs[graph]) for graph in runs}
        lasting = {key: size for life in lives.values() for key, size in life.lasting}
        blocks = block_bytes(np.array([*lasting.values()], np.int64))
        return MemoryModel(
            allocations=_allocations(runs, lives, operators, progress or MemoryProgress()),
            live_before_bytes=int(blocks.sum()),
            notes=_notes(runs, lives, operators),
        )


@frozen(eq=False)
class _Events:
    """Allocations of one buffer, a row for each: rows of operators (-1: not in this part), and what was allocated."""

    begin: I64
    end: I64
    address: I64
    size_bytes: int


def _allocations(
    runs: Mapping[int, I64], lives: Mapping[int, Lives], operators: Operators, progress: MemoryProgress
) -> Allocations:
    events = []
    for graph, rows in runs.items():
        # Rows are ordered by time, so that the last of some launches is the one with the highest.
        first = np.where(rows >= 0, rows, len(operators)).min(axis=1)
        last = rows.max(axis=1)
        address = progress.address_of(graph, lives[graph].buffers)
        for number, buffer in enumerate(lives[graph].buffers):
            begin, end = _rows(buffer, rows, first, last)
            block = int(block_bytes(np.array([buffer.size_bytes], np.int64))[0])
            place = np.full(len(rows), address, np.int64)
            there = begin >= 0
            if buffer.kept:
                # Two runs hold one at the same time.
                place += (progress.runs.get(graph, 0) + np.arange(len(rows))) % 2 * block
                held = progress.held.pop((graph, number), None)
                if held is not None:
                    begin, end, place = np.append(-1, begin), np.append(last[0], end), np.append(held, place)
                    there = np.append(True, there)
                if there[-1]:
                    progress.held[graph, number] = int(place[-1])
            events.append(_Events(begin[there], end[there], place[there], buffer.size_bytes))
            address += 2 * block
        progress.runs[graph] = progress.runs.get(graph, 0) + len(rows)
    return _in_time(events, operators)


def _rows(buffer: Buffer, rows: I64, first: I64, last: I64) -> tuple[I64, I64]:
    """Return the rows of the operators at which a buffer is allocated and released in each run, -1 where it is not."""
    readers = rows[:, buffer.readers]
    if buffer.producer >= 0:
        begin = rows[:, buffer.producer]
    else:
        begin = np.where((readers >= 0).any(axis=1), first, -1)
    if buffer.kept:
        return begin, np.append(np.maximum(last[1:], begin[:-1]), -1)
    # Where a run broke off, everything is freed at its end.
    end = np.where((readers < 0).any(axis=1), last, readers.max(axis=1, initial=-1))
    return begin, np.maximum(end, begin)


def _in_time(events: Sequence[_Events], operators: Operators) -> Allocations:
    """Return allocations and releases in the order of time."""
    columns = [_joined([getattr(event, name) for event in events]) for name in ("begin", "end", "address")]
    size = np.repeat(np.array([event.size_bytes for event in events], np.int64), [len(event.begin) for event in events])
    begin, end, place = columns
    begun, freed = np.flatnonzero(begin >= 0), np.flatnonzero(end >= 0)
    time = np.concatenate([operators.start_ns[begin[begun]], _after(operators, end[freed])])
    # What is released at an instant is so before something else is allocated.
    order = np.lexsort((np.arange(len(time)) < len(begun), time))
    return Allocations(
        time_ns=time[order],
        thread=np.concatenate([operators.thread[begin[begun]], operators.thread[end[freed]]])[order],
        address=np.concatenate([place[begun], place[freed]])[order].astype(np.uint64),
        size_bytes=np.concatenate([size[begun], -size[freed]])[order],
    )


def _joined(columns: Sequence[I64]) -> I64:
    return np.concatenate(columns) if columns else np.empty(0, np.int64)


def _after(operators: Operators, rows: I64) -> I64:
    """Return when a launch is over: a nanosecond after its end, if the next launch leaves that."""
    end = operators.end_ns[rows]
    following = np.append(operators.start_ns, np.iinfo(np.int64).max)[np.searchsorted(operators.start_ns, end)]
    return np.minimum(end + 1, following)


def _notes(runs: Mapping[int, I64], lives: Mapping[int, Lives], operators: Operators) -> tuple[str, ...]:
    notes = []
    placed = np.zeros(len(operators), bool)
    for rows in runs.values():
        placed[rows[rows >= 0]] = True
    launching = np.array([*(known.name not in NOTHING for known in operators.signatures), False])[operators.signature]
    outside = np.unique(operators.signature[launching & ~placed], return_counts=True)
    counts: Counter[str] = Counter()
    for signature, count in zip(*(column.tolist() for column in outside), strict=True):
        counts[operators.signatures[signature].name] += count
    if counts:
        counted = ", ".join(f"{name} ({count})" for name, count in sorted(counts.items()))
        notes.append(f"the memory of launches outside of saved graphs is not in the totals: {counted}")
    unknown = sorted(frozenset[str]().union(*(known.unknown for known in lives.values())))
    if unknown:
        notes.append(f"the memory of results of unknown shape is not in the totals: {', '.join(unknown)}")
    return tuple(notes)
