"""The parts of a recording put together."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
from attrs import evolve, fields

from drynpu.arrays import I64
from drynpu.kernels import Allocations, concatenate, merge_equal
from drynpu.simulate import AclCalls, FrameworkEvents, GraphRun, HostSamples, PythonFrames, Recording


def join_recordings(parts: Sequence[Recording]) -> Recording:
    """
    Return one recording of what *parts* hold, at least one, which are in the order of time.

    Values without parts, such as the memory held at the beginning, come from the first.
    """
    lists: dict[str, Any] = {
        name: tuple(chain.from_iterable(getattr(part, name) for part in parts))
        for name in ("host_calls", "streams", "collectives", "marks", "dataset", "garbage_ns")
    }
    samples = [part.host_samples for part in parts if part.host_samples is not None]
    totals = [part.memory_totals for part in parts if part.memory_totals is not None]
    waits = [part.processor_waits for part in parts if part.processor_waits is not None]
    events = [part.framework_events for part in parts if part.framework_events is not None]
    return evolve(
        parts[0],
        operators=merge_equal(concatenate([part.operators for part in parts])),
        allocations=_allocations([part.allocations for part in parts]),
        begin_ns=min(part.begin_ns for part in parts),
        end_ns=max(part.end_ns for part in parts),
        host_samples=HostSamples.join(samples),
        python_frames=_frames([part.python_frames for part in parts if part.python_frames is not None]),
        memory_totals=np.concatenate(totals) if totals else None,
        processor_waits=np.concatenate(waits) if waits else None,
        framework_events=FrameworkEvents.join(events) if events else None,
        graphs=join_graphs([graph for part in parts for graph in part.graphs]),
        calls=_calls([part.calls for part in parts if part.calls is not None]),
        modelled=tuple(dict.fromkeys(name for part in parts for name in part.modelled)),
        notes=tuple(dict.fromkeys(note for part in parts for note in part.notes)),
        **lists,
    )


def join_graphs(runs: Sequence[GraphRun]) -> tuple[GraphRun, ...]:
    """Return each graph once with the iterations of all its runs, counted on where a run began anew."""
    graphs: dict[int, GraphRun] = {}
    for run in runs:
        known = graphs.get(run.model_id)
        if known is None:
            graphs[run.model_id] = run
            continue
        last = max((iteration.index for iteration in known.iterations), default=0)
        behind = last if any(iteration.index <= last for iteration in run.iterations) else 0
        later = (evolve(iteration, index=iteration.index + behind) for iteration in run.iterations)
        graphs[run.model_id] = evolve(known, iterations=(*known.iterations, *later))
    return tuple(graphs.values())


def _allocations(parts: Sequence[Allocations]) -> Allocations:
    columns = {each.name: np.concatenate([getattr(part, each.name) for part in parts]) for each in fields(Allocations)}
    order = np.argsort(columns["time_ns"], kind="stable")
    return Allocations(**{name: column[order] for name, column in columns.items()})


def _pooled(names: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], list[I64]]:
    """Return the distinct names of several tables, and for each table the number of each of its names."""
    numbers = {name: number for number, name in enumerate(dict.fromkeys(chain.from_iterable(names)))}
    return tuple(numbers), [np.array([numbers[name] for name in part] or [0], np.int64) for part in names]


def _frames(parts: Sequence[PythonFrames]) -> PythonFrames | None:
    if not parts:
        return None
    names, moved = _pooled([part.names for part in parts])
    name = np.concatenate([at[part.name] for part, at in zip(parts, moved, strict=True)])
    start, end, thread = (
        np.concatenate([getattr(part, column) for part in parts]) for column in ("start_ns", "end_ns", "thread")
    )
    order = np.lexsort((-end, start))
    return PythonFrames(names=names, name=name[order], start_ns=start[order], end_ns=end[order], thread=thread[order])


def _calls(parts: Sequence[AclCalls]) -> AclCalls | None:
    if not parts:
        return None
    names, moved = _pooled([part.names for part in parts])
    columns = {
        column: np.concatenate([getattr(part, column) for part in parts]) for column in ("start_ns", "end_ns", "thread")
    }
    name = np.concatenate([at[part.name] for part, at in zip(parts, moved, strict=True)]).astype(np.int32)
    return AclCalls(names=names, name=name, **columns)
