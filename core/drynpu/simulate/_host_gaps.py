"""
What the host needs between two dispatches beside an NPU, on the clock ``modelled``.

How long this machine took there says more about its load than about the host of an NPU: the same gap lasts 20 us or
20 ms. So each call and each operator in a gap takes what it takes on that host (`HostCosts`). A gap that lasts longer
by far holds something else: a file is read, the script sleeps, host tensors are worked on. Such a gap lasts as long as
the shortest of its like, for a busy machine delays some of them and hardly all. Only one that is longer still than any
such delay lasts as measured: a checkpoint is saved in one step of many, a batch comes late. Where the recorder knows
how long threads were ready and waited for a processor, or collected garbage, a gap is measured without that.

Recording itself takes its time beside an NPU: keeping the stack of an operator costs more than the operator does, the
more the deeper it is.
"""

from __future__ import annotations

import numpy as np

from drynpu.arrays import I64, Bools
from drynpu.device import Dispatches, HostCosts
from drynpu.simulate._graph_nodes import ANNOTATION, continues_graph
from drynpu.simulate._lower import LoweredLaunches
from drynpu.simulate._meet import PlannedWork
from drynpu.simulate._recording import Recording
from drynpu.simulate.launch_calls import allocates

_DELAYS_NS = (50_000_000, 10_000_000, 1_000_000)
"""
How long a gap that was seen once, twice or more often has to be for something else than calls to lie in it. Beside four
busy processes on two cores single gaps of calls were delayed by 1 to 25 ms, a few by more than 50 ms.
"""
_STALL_NS = 100_000_000
"""How much longer than the shortest of its like a gap has to be for something of its own to lie in it."""
_TIMES = 8
"""Nor is it anything else if it is shorter than so many times its modelled length: a laptop may be as slow."""
_RAMP = 2.0
"""How fast a longer gap comes to count as measured: from twice the limit on it does so altogether."""
_STEP_NS = 5_000
"""A gap without calls lasts so long, or as long as it did here if that is less: a script marks ranges in such gaps."""
_NEAR, _FAR = (-1,), (-2, -1, 0, 1)
"""Dispatches around a gap by which its like are recognised: by more of them, unless that leaves it alone."""


def model_gaps(work: PlannedWork, costs: HostCosts) -> I64:
    """
    Return how long the host's gaps would last beside an NPU, in ns.

    Shape ``[n + 1]``: before each of ``n`` dispatches, the first since the recording began, and after the last one.
    """
    lowered, dispatches = work.ordered.lowered, work.dispatches
    recording = lowered.recording
    measured = np.append(dispatches.start_ns, recording.end_ns) - np.append(recording.begin_ns, dispatches.end_ns)
    measured = np.maximum(measured - _processor_waits(recording, dispatches), 0)
    calls, nested = _count(lowered, dispatches)
    # A collective is a call of the script, whether or not the framework shows an operator for it.
    calls[:-1] = np.maximum(calls[:-1], _begins(work.ordered.collective))
    calls += _count_in_gaps(_replays(recording), dispatches)
    called = costs.call_ns * calls
    frames = recording.python_frames
    if frames is not None and len(frames.start_ns):
        # Functions of threads that dispatch nothing keep no operator waiting.
        threads = np.unique(recording.operators.thread[lowered.dispatch_op])
        called = costs.frame_ns * _count_in_gaps(frames.start_ns[np.isin(frames.thread, threads)], dispatches)
    kept = costs.stack_ns * _count_kept_calls(lowered, dispatches)
    modelled = np.maximum(called + kept + costs.nested_ns * nested, np.minimum(measured, _STEP_NS))
    inside = np.append(continues_graph(work), False)
    plan = np.full(len(dispatches.start_ns), -1, np.int64)
    plan[work.ordered.operator_rows] = lowered.dispatch_plan
    usual, count = _shortest(measured, _sites(plan, calls, nested, _FAR))
    near, near_count = _shortest(measured, _sites(plan, calls, nested, _NEAR))
    alone = count == 1
    usual, count = np.where(alone, near, usual), np.where(alone, near_count, count)
    delay = np.array(_DELAYS_NS)[np.minimum(count, len(_DELAYS_NS)) - 1]
    limit = np.maximum(_TIMES * modelled, delay)
    more = _beyond(usual - modelled, limit - modelled) + _beyond(measured - usual, _STALL_NS)
    return np.where(inside, np.minimum(_data_waits(recording, dispatches), measured), modelled + more)


def _data_waits(recording: Recording, dispatches: Dispatches) -> I64:
    """Return how long data was waited for in each gap: the device, too, goes on in a graph when it has its data."""
    waits = np.zeros(len(dispatches.start_ns) + 1, np.int64)
    events = [(event.time_ns, event.duration_ns) for event in recording.dataset if event.duration_ns]
    begin, length = np.array(events, np.int64).reshape(-1, 2).T
    # A wait ends in the gap before what uses the data; what begins it takes no time.
    gap = np.searchsorted(dispatches.start_ns, begin + length, side="left")
    since = np.maximum(begin, np.concatenate(([recording.begin_ns], dispatches.end_ns))[gap])
    np.add.at(waits, gap, np.maximum(begin + length - since, 0))
    return waits


def _processor_waits(recording: Recording, dispatches: Dispatches) -> I64:
    """Return how long threads waited for a processor of this machine, or collected garbage, in each gap."""
    waits = np.zeros(len(dispatches.start_ns) + 1, np.int64)
    if recording.processor_waits is None:
        return waits
    time_ns, waited_ns = recording.processor_waits.T
    gap = np.searchsorted(dispatches.start_ns, time_ns, side="left")
    # What was noted while an operator was dispatched, or as it ended, lengthened that and not the gap. A wait may have
    # begun before the gap, in a pause that ends where this begins.
    lasted_ns = time_ns - np.concatenate(([recording.begin_ns], dispatches.end_ns))[gap]
    inside = lasted_ns > 0
    np.add.at(waits, gap[inside], np.minimum(waited_ns, lasted_ns)[inside])
    return waits


def _beyond(length: I64, limit: I64 | int) -> I64:
    """Return how much of a length counts: nothing up to the limit, all from twice the limit on."""
    return np.maximum(np.minimum(length, _RAMP * (length - limit)), 0).astype(np.int64)


def _count(lowered: LoweredLaunches, dispatches: Dispatches) -> tuple[I64, I64]:
    """Return how many calls of the script begin in each gap, and how many operators that launch nothing."""
    operators = lowered.recording.operators
    parent = lowered.parent
    annotation = operators.scope == ANNOTATION
    called: Bools = (operators.signature >= 0) & ((parent < 0) | annotation[np.maximum(parent, 0)])
    quiet = ~(lowered.computing | annotation)
    quiet[lowered.dispatch_op] = False
    return (
        _count_in_gaps(operators.start_ns[called], dispatches),
        _count_in_gaps(operators.start_ns[quiet], dispatches),
    )


def _count_in_gaps(start_ns: I64, dispatches: Dispatches) -> I64:
    """Return how many of what starts at those times does so in each gap."""
    gap = np.searchsorted(dispatches.start_ns, start_ns, side="left")
    ends = np.concatenate(([np.iinfo(np.int64).min], dispatches.end_ns))
    return np.bincount(gap[start_ns >= ends[gap]], minlength=len(ends))


def _replays(recording: Recording) -> I64:
    """Return when the script called captured graphs, whose operators are no calls."""
    captured = (graph.iterations for graph in recording.graphs if graph.is_captured)
    return np.array([run.start_ns for runs in captured for run in runs], np.int64)


def _count_kept_calls(lowered: LoweredLaunches, dispatches: Dispatches) -> I64:
    """
    Return how many calls there are in all stacks of operators that are kept in each gap and in the dispatch after it.

    Where an operator launches, a device has further ones with the same stack: the call by which it enters the queue,
    and the allocation of its result.
    """
    operators = lowered.recording.operators
    kept = np.ones(len(operators), np.int64)
    kept[lowered.dispatch_op] += (
        1 + np.array([allocates(plan) for plan in lowered.plans] or [False])[lowered.dispatch_plan]
    )
    calls = [_functions(text) for text in operators.stacks]
    kept *= np.append(calls, 0).astype(np.int64)[operators.stack]
    seen = ~lowered.computing & (operators.scope != ANNOTATION)
    seen[lowered.dispatch_op] = True
    gap = np.searchsorted(dispatches.start_ns, operators.start_ns[seen], side="left")
    return np.bincount(gap, kept[seen], len(dispatches.start_ns) + 1).astype(np.int64)


def _functions(stack: str) -> int:
    """Return how many functions of Python a stack has: torch_npu keeps no built-in ones, as Kineto does."""
    return sum(bool(call) and not call.startswith("<built-in") for call in stack.split(";"))


def _begins(collective: I64) -> Bools:
    """Return which dispatches are the first of a collective; *collective* numbers the one of each, -1 for none."""
    return np.asarray((collective >= 0) & (collective != np.concatenate(([-1], collective[:-1]))), bool)


def _sites(plan: I64, calls: I64, nested: I64, places: tuple[int, ...]) -> I64:
    """Return a number for each gap, equal where the same code runs: by what lies in it and at *places* around it."""
    with np.errstate(over="ignore"):  # it is a hash
        site = calls * np.int64(1_000_003) + nested
        for place in places:
            around = np.arange(len(plan) + 1) + place
            site = (
                site * np.int64(1_000_003)
                + np.append(plan, -2)[np.where(around < 0, -1, np.minimum(around, len(plan)))]
            )
    # Where a recording ends says nothing of the code that runs there, and a killed one ends earlier.
    site[-1] = np.iinfo(np.int64).min
    return site


def _shortest(measured: I64, site: I64) -> tuple[I64, I64]:
    """Return the length of the shortest gap of each site, and the number of its gaps, for each gap."""
    _, number, count = np.unique(site, return_inverse=True, return_counts=True)
    shortest = np.full(len(count), np.iinfo(np.int64).max)
    np.minimum.at(shortest, number, measured)
    return shortest[number], count[number]
