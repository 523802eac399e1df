"""The memory of a recording: what is modelled of it, from the graphs, and what is not known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import evolve

from drynpu.kernels import Allocations, Operators
from drynpu.products.mindspore import WHOLE_GRAPH
from drynpu.simulate import StaticMemory
from drynpu_mindspore.capture import GraphMemory, KernelGraph, MemoryModel, MemoryProgress, lives_of
from drynpu_mindspore.profiler import RunRequest
from drynpu_mindspore.target import ASCEND

MODELLED = "device memory: allocations and releases, from the graphs"
"""The name of the model in the metadata."""
_PLANNED = "memory of operators at jit level O2 is what the graph engine plans ahead (static_op_mem)"
_NOTHING_KNOWN = "the memory of operators is not known: there are no graphs to tell of it"


def model_memory(
    run: RunRequest,
    parts: Sequence[GraphMemory | None],
    operators: Operators,
    progress: MemoryProgress | None = None,
) -> MemoryModel:
    """
    Return the allocations of the *operators* of a recording, none where they were not asked for or are not known.

    *parts* are what its parts know of memory; graphs that were known at one are known at the next. Where *operators*
    are one part alone, *progress* is what those before left.
    """
    nothing = MemoryModel(allocations=Allocations.empty())
    if not run.parameters.profile_memory or run.device_target != ASCEND:
        return nothing
    if run.jit_level == WHOLE_GRAPH:
        return evolve(nothing, notes=(_PLANNED,))
    known = [part for part in parts if part is not None]
    if not known:
        return evolve(nothing, notes=(_NOTHING_KNOWN,))
    memory = evolve(known[-1], gradients=any(part.gradients for part in known))
    return memory.model(operators, progress)


def planned_memory(run: RunRequest, graphs: Sequence[KernelGraph]) -> dict[int, tuple[StaticMemory, ...]]:
    """Return what the graph engine plans for the results of operators, by graph; nothing below jit level O2."""
    if not run.parameters.profile_memory or run.jit_level != WHOLE_GRAPH:
        return {}
    return {number: tuple(_planned(graph)) for number, graph in enumerate(graphs)}


def _planned(graph: KernelGraph) -> Iterator[StaticMemory]:
    for buffer in lives_of(graph).buffers:
        if buffer.producer >= 0:
            last = None if buffer.kept else max(buffer.readers, default=buffer.producer)
            name = graph.nodes[buffer.producer].name
            yield StaticMemory(op_name=name, size_bytes=buffer.size_bytes, first_node=buffer.producer, last_node=last)
