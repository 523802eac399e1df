"""The device's memory of a recording, of all its starts and stops together."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve

from drynpu.kernels import Allocations, Operators
from drynpu_mindspore.capture import GraphMemory, MemoryModel
from drynpu_mindspore.profiler import RunRequest
from drynpu_mindspore.recording._request import WHOLE_GRAPH
from drynpu_mindspore.target import ASCEND

__all__ = ["MODELLED", "model_memory"]

MODELLED = "device memory: allocations and releases, from the graphs"
"""How the metadata names the model."""
_PLANNED = "MindSpore's memory is not known: at jit level O2 the graph engine plans it, which is not modelled"
_NOTHING_KNOWN = "the memory of operators is not known: there are no graphs to tell of it"


def model_memory(run: RunRequest, parts: Sequence[GraphMemory | None], operators: Operators) -> MemoryModel:
    """
    Return the allocations of the *operators* of a recording, none where they were not asked for or are not known.

    *parts* are what each stop told; graphs that were known at one are known at the next.
    """
    nothing = MemoryModel(allocations=Allocations.empty())
    if not run.parameters.profile_memory or run.device_target != ASCEND:
        return nothing
    if run.jit_level == WHOLE_GRAPH:
        return evolve(nothing, notes=(_PLANNED,))
    known = [part for part in parts if part is not None]
    if not known:
        return evolve(nothing, notes=(_NOTHING_KNOWN,))
    whole = evolve(known[-1], gradients=any(part.gradients for part in known))
    return whole.model(operators)
