"""A recording of operators on the virtual clock: their order counts, and nothing that this machine measured."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from attrs import evolve, frozen

from drynpu.arrays import I64
from drynpu.simulate import Collective, GraphRun, HostCall, Iteration, Recording


@frozen(eq=False)
class _Order:
    """Maps measured times to times in the same order that follow each other in ns, from *begin_ns* on."""

    measured_ns: I64
    begin_ns: int

    def __call__(self, time_ns: I64) -> I64:
        return np.searchsorted(self.measured_ns, time_ns).astype(np.int64) + self.begin_ns

    def one(self, time_ns: int) -> int:
        return int(np.searchsorted(self.measured_ns, time_ns)) + self.begin_ns


def in_virtual_time(recording: Recording, begin_ns: int) -> Recording:
    """Return the recording with every time replaced by its rank, from *begin_ns* on."""
    order = _Order(np.unique(np.concatenate(list(_times(recording)))), begin_ns)
    operators, accesses = recording.operators, recording.accesses
    return evolve(
        recording,
        operators=evolve(operators, start_ns=order(operators.start_ns), end_ns=order(operators.end_ns)),
        begin_ns=begin_ns,
        end_ns=order.one(recording.end_ns) + 1,
        host_calls=tuple(_call(call, order) for call in recording.host_calls),
        streams=tuple((order.one(time_ns), thread, stream) for time_ns, thread, stream in recording.streams),
        graphs=tuple(_graph(graph, order) for graph in recording.graphs),
        collectives=tuple(_collective(each, order) for each in recording.collectives),
        accesses=None if accesses is None else evolve(accesses, time_ns=order(accesses.time_ns)),
        processor_waits=None,
    )


def _times(recording: Recording) -> Iterator[I64]:
    yield np.array([recording.begin_ns, recording.end_ns], np.int64)
    yield recording.operators.start_ns
    yield recording.operators.end_ns
    if recording.accesses is not None:
        yield recording.accesses.time_ns
    single = [call.time_ns for call in recording.host_calls]
    single += [call.until_ns for call in recording.host_calls if call.until_ns]
    single += [time_ns for time_ns, _, _ in recording.streams]
    for graph in recording.graphs:
        single += [] if graph.load is None else graph.load
        single += [time_ns for run in graph.iterations for time_ns in (run.start_ns, run.end_ns)]
    for collective in recording.collectives:
        single += [collective.start_ns, *([] if collective.end_ns is None else [collective.end_ns])]
    yield np.array(single, np.int64)


def _call(call: HostCall, order: _Order) -> HostCall:
    until_ns = order.one(call.until_ns) if call.until_ns else 0
    return evolve(call, time_ns=order.one(call.time_ns), until_ns=until_ns)


def _collective(collective: Collective, order: _Order) -> Collective:
    end_ns = None if collective.end_ns is None else order.one(collective.end_ns)
    return evolve(collective, start_ns=order.one(collective.start_ns), end_ns=end_ns)


def _graph(graph: GraphRun, order: _Order) -> GraphRun:
    load = None if graph.load is None else (order.one(graph.load[0]), order.one(graph.load[1]))
    runs = tuple(_iteration(run, order) for run in graph.iterations)
    return evolve(graph, load=load, iterations=runs)


def _iteration(run: Iteration, order: _Order) -> Iteration:
    return evolve(run, start_ns=order.one(run.start_ns), end_ns=order.one(run.end_ns))
