"""
A launch of a kernel without a formula as a call of one operator, so that graphs capture it and replay it.

An operator takes tensors, numbers and texts. A call's text states the grid and all arguments; tensors and other objects
have numbers in it.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from types import FunctionType
from typing import Final

import torch
from torch import Tensor

from drynpu import CaptureError
from drynpu_vllm_ascend.served import ServedOperator, Work
from drynpu_vllm_ascend.triton_kernels._interpreted import run_interpreted, work_without_values
from drynpu_vllm_ascend.triton_kernels.foreign import Foreign

_TENSOR, _OBJECT, _TUPLE = "tensor", "object", "tuple"
_objects: Final[list[object]] = []
"""Functions, types and other objects that calls name by their place here; each stands here once."""
_done: Final = threading.local()
"""The work of the run that this thread has just done, until the recording has been told of it."""


def launch_interpreted(
    overload: torch._ops.OpOverload, function: FunctionType, grid: Sequence[int], arguments: Mapping[str, object]
) -> None:
    """Launch a kernel by calling the operator `INTERPRETED`."""
    tensors: list[Tensor] = []
    written = {name: _written(value, tensors) for name, value in arguments.items()}
    call = {"function": _place_of(function), "grid": [int(size) for size in grid], "arguments": written}
    overload(tensors, json.dumps(call))


def _written(value: object, tensors: list[Tensor]) -> object:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Tensor):
        tensors.append(value)
        return {_TENSOR: len(tensors) - 1}
    if isinstance(value, (tuple, list)):
        return {_TUPLE: [_written(part, tensors) for part in value]}
    return {_OBJECT: _place_of(value)}


def _read(value: Foreign, tensors: Sequence[Tensor]) -> object:
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == _TENSOR:
        return tensors[content]
    return _objects[content] if kind == _OBJECT else tuple(_read(part, tensors) for part in content)


def _place_of(value: object) -> int:
    for place, known in enumerate(_objects):
        if known is value:
            return place
    _objects.append(value)
    return len(_objects) - 1


def _compute(tensors: list[Tensor], call: str) -> None:
    document = json.loads(call)
    function: Foreign = _objects[document["function"]]
    arguments = {name: _read(value, tensors) for name, value in document["arguments"].items()}
    try:
        _done.work = run_interpreted(function, document["grid"], arguments)
    except Exception as error:
        raise CaptureError(
            f"{function.__module__}.{function.__name__}: Triton's interpreter cannot run this kernel: {error}"
        ) from error


def _type(call: str) -> str:
    function: Foreign = _objects[json.loads(call)["function"]]
    return str(function.__name__)


def _work(tensors: list[Tensor]) -> Work:
    """Return what the interpreter has counted, or what follows from the sizes where it did not run."""
    work = vars(_done).pop("work", None)
    return work if isinstance(work, Work) else work_without_values(tensors)


def _nothing() -> None:
    """Return the result of a kernel whose only effect are values."""


INTERPRETED: Final = ServedOperator(
    schema="interpreted(Tensor(a!)[] tensors, str call) -> ()",
    compute=_compute,
    kernel=_type,
    cost=_work,
    shapes=_nothing,
)
"""Any kernel that the interpreter runs."""
