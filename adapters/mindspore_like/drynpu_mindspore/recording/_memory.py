"""The memory of a recording: what is modelled of it, from the graphs, and what is not known."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve

from drynpu.kernels import Allocations, Operators
from drynpu.products.mindspore import WHOLE_GRAPH
from drynpu_mindspore.capture import GraphMemory, MemoryModel, MemoryProgress
from drynpu_mindspore.profiler import RunRequest
from drynpu_mindspore.target import ASCEND

MODELLED = "device memory: allocations and releases, from the graphs"
"""The name of the model in the metadata."""
_PLANNED = "MindSpore's memory is not known: at jit level O2 the graph engine plans it, which is not modelled"
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
