"""
What differs between the releases of PyTorch that drynpu runs with, 2.6.0 to the newest.

A difference is recognised by what a release has, not by its version, so that a release which nobody has tried is
served, too. In C++ the same is ``adapters/torch/native/compat.h``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import torch
from attrs import frozen

from drynpu.arrays import I64, U64

__all__ = [
    "Allocations",
    "PythonFrames",
    "allocations_of_tree",
    "frames_beside_events",
    "shapes_getter",
    "with_fx_traces",
]


def with_fx_traces(snapshot: dict[str, Any]) -> dict[str, Any]:
    """Return a snapshot of memory whose stacks lead to places in FX graphs, where PyTorch adds these (from 2.11)."""
    augment = getattr(torch._utils, "_augment_memory_snapshot_stack_traces", None)
    return snapshot if augment is None else augment(snapshot)


@frozen
class PythonFrames:
    """Calls of Python functions: their names, times (Unix ns) and the system's numbers of their threads."""

    names: list[str]
    start_ns: I64
    end_ns: I64
    thread: I64


def frames_beside_events(result: Any, events: list[Any]) -> PythonFrames | None:
    """
    Return the calls of Python functions of a result of Kineto, ``None`` where its *events* have them (from 2.13).

    Before, they stand in the tree of events alone, with PyTorch's own number of the thread.
    """
    if hasattr(torch._C._autograd._KinetoEvent, "is_python_function"):
        return None
    threads = {event.start_thread_id(): event.device_resource_id() for event in events}
    calls = [each for each in _nested(result.experimental_event_tree()) if each.tag.name in _PYTHON_CALLS]

    def column(values: Iterable[int]) -> I64:
        return np.fromiter(values, np.int64, len(calls))

    return PythonFrames(
        names=[call.name for call in calls],
        start_ns=column(call.start_time_ns for call in calls),
        end_ns=column(call.end_time_ns for call in calls),
        thread=column(threads.get(call.start_tid, call.start_tid) for call in calls),
    )


@frozen
class Allocations:
    """What allocators reported: times (Unix ns), bytes, negative where they are given back, and addresses."""

    time_ns: I64
    size: I64
    address: U64


def allocations_of_tree(result: Any) -> Allocations | None:
    """Return the allocators' events in the tree of a result of Kineto, ``None`` where its own list has them (2.13)."""
    if hasattr(result, "trace_activities"):
        return None
    events = [each for each in _nested(result.experimental_event_tree()) if each.tag.name == "Allocation"]
    fields = [event.extra_fields for event in events]
    return Allocations(
        time_ns=np.array([event.start_time_ns for event in events], np.int64),
        size=np.array([each.alloc_size for each in fields], np.int64),
        address=np.array([each.ptr or 0 for each in fields], np.uint64),
    )


_PYTHON_CALLS = ("PyCall", "PyCCall")
"""The kinds of events of the tree that become Kineto's activity ``python_function``."""


def _nested(roots: Iterable[Any]) -> Iterator[Any]:
    waiting = list(roots)
    while waiting:
        event = waiting.pop()
        yield event
        waiting.extend(event.children)


def shapes_getter(kind: Any) -> Callable[[Any], Any]:
    """Return the getter of the shapes of an event's inputs; before 2.13 it shows lists of tensors as empty."""
    getter: Callable[[Any], Any] = getattr(kind, "structured_input_shapes", None) or kind.shapes
    return getter
