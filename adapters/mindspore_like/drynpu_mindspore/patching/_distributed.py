"""``mint.distributed``: the CPU build moves its data without a launch, so its calls are noted where they are made."""

from __future__ import annotations

import functools
import inspect
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, Final

from drynpu.kernels import Call, TensorDesc
from drynpu.kernels.ops import ge_dtype
from drynpu_mindspore.patching._ranks import replace_everywhere
from drynpu_mindspore.recording import UNMODELLED, RecordingBackend
from drynpu_mindspore.rules import signature

_MODULE: Final = "mindspore.mint.distributed.distributed"
_DATA: Final = {
    "all_reduce": ("DistCommAllReduce", "tensor"),
    "broadcast": ("DistCommBroadcast", "tensor"),
    "reduce": ("DistCommReduce", "tensor"),
    "all_gather": ("DistCommAllGather", "tensor"),
    "all_gather_into_tensor": ("DistCommAllGatherIntoTensor", "input_tensor"),
    "reduce_scatter_tensor": ("DistCommReduceScatterTensor", "input"),
}
"""By function the primitive, and the parameter with the data that goes to the others."""


def note_distributed(backend: RecordingBackend) -> None:
    """Have the collectives of ``mint.distributed`` noted in recordings, and its groups."""
    module = sys.modules.get(_MODULE)
    for name, (primitive, parameter) in _DATA.items():
        if (genuine := getattr(module, name, None)) is not None:
            replace_everywhere(name, genuine, _noted(genuine, backend, primitive, parameter))
    for name, primitive in UNMODELLED.items():
        if (genuine := getattr(module, name, None)) is not None:
            replace_everywhere(name, genuine, _noted(genuine, backend, primitive, ""))
    if (genuine := getattr(module, "new_group", None)) is not None:
        replace_everywhere("new_group", genuine, _named(genuine, backend))


def _noted(
    genuine: Callable[..., Any], backend: RecordingBackend, primitive: str, parameter: str
) -> Callable[..., Any]:
    parameters = inspect.signature(genuine)

    @functools.wraps(genuine)
    def collective(*arguments: Any, **keywords: Any) -> Any:
        start_ns = time.time_ns()
        result = genuine(*arguments, **keywords)
        given = parameters.bind(*arguments, **keywords).arguments
        tensor, root = given.get(parameter), given.get("src", given.get("dst"))
        inputs = [] if tensor is None else [TensorDesc(tuple(tensor.shape), ge_dtype(str(tensor.dtype)))]
        called = signature(primitive, inputs, [], {"group": given.get("group") or "", "root_rank": root})
        backend.note(Call(called, start_ns, time.time_ns(), threading.get_native_id()))
        return result

    return collective


def _named(genuine: Callable[..., Any], backend: RecordingBackend) -> Callable[..., Any]:
    @functools.wraps(genuine)
    def new_group(*arguments: Any, **keywords: Any) -> Any:
        group = genuine(*arguments, **keywords)
        ranks = inspect.signature(genuine).bind(*arguments, **keywords).arguments.get("ranks")
        if group and ranks is not None:
            backend.ranks.name_group(str(group), ranks)
        return group

    return new_group
