"""
Runs that a device makes several times over: training loops that are sunk to it.

The graph engine repeats a graph that holds an operator called ``IterationOp`` (tf_adapter geop_npu.cc AddNodeAttrs), as
often as the variables of the session say (``iterations_per_loop``). It needs its data from a queue for that, and stops
at a one-shot iterator (om_partition_subgraphs_pass.cc ProcessGraph).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from drynpu import say_once

__all__ = ["loops_on_device"]

_LOOP = "IterationOp"
_ONE_SHOT = "OneShotIterator"


def loops_on_device(graph: Any, fetched: Iterable[str], *, sinks_data: bool) -> bool:
    """
    Return whether a device repeats a run of *graph* that fetches what is called so; say why not where it should.

    Parameters
    ----------
    fetched:
        Names of tensors and operations; those that are neither count for nothing.
    sinks_data:
        Whether graphs take their data from a queue on the device (``enable_data_pre_proc``).
    """
    try:
        graph.get_operation_by_name(_LOOP)
    except KeyError:
        return False
    reached = _reached(graph, fetched)
    if not any(operation.name == _LOOP for operation in reached):
        return False
    if any(operation.type == _ONE_SHOT for operation in reached):
        say_once(
            "iterations_per_loop: with a one-shot iterator an NPU takes 1 only (make_initializable_iterator serves "
            "more); a run makes one training step."
        )
        return False
    if not sinks_data:
        say_once(
            "iterations_per_loop: several training steps in a run need enable_data_pre_proc, which is not set; a run "
            "makes one training step."
        )
    return sinks_data


def _reached(graph: Any, fetched: Iterable[str]) -> set[Any]:
    """Return every operation that a run executes for what it fetches, whatever is fed."""
    todo = [operation for name in fetched for operation in _operations(graph, name)]
    seen = set(todo)
    while todo:
        operation = todo.pop()
        for before in (*(tensor.op for tensor in operation.inputs), *operation.control_inputs):
            if before not in seen:
                seen.add(before)
                todo.append(before)
    return seen


def _operations(graph: Any, name: str) -> list[Any]:
    try:
        element = graph.as_graph_element(name)
    except (KeyError, ValueError):
        return []
    return [getattr(element, "op", element)]
