"""
Kernels of one call, and how they are told to a recording.

Only an operator that runs knows its texts, the types in its lists of tensors and how many rows each expert gets. It
calls one operator without effect for every kernel; drynpu_torch.rules reads those calls.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import torch
from attrs import astuple, frozen

from drynpu.kernels import TaskType, element_operations, output_tiles
from drynpu_torch.rules import NAMESPACE, TENSOR_SLOTS, KernelWork, operator_of_kernel
from drynpu_torch_operators.operators._call import Call

_TASKS: Final = tuple(TaskType)
_SLOTS: Final = ", ".join(f"Tensor? t{slot}" for slot in range(TENSOR_SLOTS))


@frozen(kw_only=True)
class Launch:
    """
    One kernel of a call.

    Attributes
    ----------
    kernel:
        GE's type.
    inputs, outputs:
        Tensors of the kernel.
    api:
        ACL API that launches it; by default the generated one that has the kernel's name.
    cost:
        Element operations per element of *over*, by default of the largest tensor.
    read, written:
        Bytes, by default of all inputs and of all outputs.
    flops, tiles:
        Operations of the matrix unit, and how many output tiles share them.
    """

    kernel: str
    inputs: Sequence[torch.Tensor]
    outputs: Sequence[torch.Tensor]
    api: str = ""
    task: TaskType = TaskType.AI_VECTOR_CORE
    cost: float | None = None
    over: int | None = None
    read: int | None = None
    written: int | None = None
    flops: int = 0
    tiles: int = 0

    def emit(self) -> None:
        """Call the operator that stands for the kernel."""
        over = self.over if self.over is not None else max(map(torch.numel, (*self.inputs, *self.outputs)), default=0)
        cost = element_operations(self.kernel) if self.cost is None else self.cost
        inputs, outputs = list(self.inputs)[:TENSOR_SLOTS], list(self.outputs)
        shown = [*inputs, *outputs][:TENSOR_SLOTS]
        work = KernelWork(
            inputs=len(inputs),
            outputs=len(outputs),
            task=_TASKS.index(self.task),
            vector_ops=round(over * cost),
            read=_size_bytes(self.inputs) if self.read is None else self.read,
            written=_size_bytes(self.outputs) if self.written is None else self.written,
            flops=self.flops,
            tiles=self.tiles,
        )
        padding = [None] * (TENSOR_SLOTS - len(shown))
        _stand_in(self.api, self.kernel)(*shown, *padding, list(astuple(work)))


def vector(
    kernel: str, api: str = "", cost: float | None = None, *, written: Sequence[str] = (), mixed: bool = False
) -> Callable[[Call], Iterable[Launch]]:
    """
    Return the statement of one vector kernel: it reads all tensors of the call and writes its results.

    *written* are arguments that it writes besides, or instead where the operator returns them; a *mixed* kernel shows
    as MIX_AIV.
    """
    task = TaskType.MIX_AIV if mixed else TaskType.AI_VECTOR_CORE

    def kernels(call: Call) -> Iterable[Launch]:
        changed = call.tensors(*written)
        fresh = [t for t in call.outputs if not any(t is other for other in changed)]
        yield Launch(kernel=kernel, inputs=call.inputs, outputs=[*changed, *fresh], api=api, cost=cost, task=task)

    return kernels


def product(
    kernel: str,
    inputs: Sequence[torch.Tensor],
    outputs: Sequence[torch.Tensor],
    sides: Iterable[tuple[int, int, int]],
    *,
    api: str = "",
    task: TaskType = TaskType.MIX_AIC,
    read: int | None = None,
) -> Launch:
    """Return the kernel of matrix products of [rows, inner] by [inner, columns], for every one of *sides*."""
    edges = list(sides)
    return Launch(
        kernel=kernel,
        inputs=inputs,
        outputs=outputs,
        api=api,
        task=task,
        cost=1,
        over=0 if task is TaskType.AI_CORE else sum(rows * columns for rows, _, columns in edges),
        read=read,
        flops=sum(2 * rows * inner * columns for rows, inner, columns in edges),
        tiles=sum(output_tiles(rows, columns) for rows, _, columns in edges),
    )


def no_kernels(call: Call) -> Iterable[Launch]:
    """State that nothing is launched: the call works on the host or changes no value."""
    del call
    return ()


def _size_bytes(tensors: Iterable[torch.Tensor]) -> int:
    return sum(t.numel() * t.element_size() for t in tensors)


@functools.cache
def _stand_in(api: str, kernel: str) -> Callable[..., None]:
    """Return the operator that stands for a kernel; it is registered when it is launched first."""
    name = operator_of_kernel(api, kernel)
    library = _library()
    library.define(f"{name}({_SLOTS}, int[] work) -> ()")  # type: ignore[no-untyped-call]
    library.impl(name, _nothing, "CompositeExplicitAutograd")  # type: ignore[no-untyped-call]
    return getattr(getattr(torch.ops, NAMESPACE), name).default  # type: ignore[no-any-return]


@functools.cache
def _library() -> torch.library.Library:
    return torch.library.Library(NAMESPACE, "FRAGMENT")  # type: ignore[no-untyped-call]


def _nothing(*arguments: object) -> None:
    del arguments
