"""
Operators that drynpu serves as one kernel each: a schema, a formula of PyTorch, the kernel's cost.

They are registered with PyTorch's dispatcher, so that graphs capture them, ``torch.compile`` traces them and runs
without values know their shapes.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias, TypeVar

import torch
from attrs import astuple, frozen
from torch._subclasses.fake_tensor import FakeTensor
from torch.autograd import _enable_record_function, _profiler_enabled

from drynpu.kernels import TaskType, output_tiles
from drynpu_torch.device import state
from drynpu_torch.rules import NAMESPACE, TENSOR_SLOTS, KernelWork, operator_of_kernel

_Result = TypeVar("_Result")
_MIXED, _VECTOR = (tuple(TaskType).index(task) for task in (TaskType.MIX_AIC, TaskType.AI_VECTOR_CORE))
"""Task types by number, as a kernel's work has them."""
_SLOTS: Final = ", ".join(f"Tensor? t{slot}" for slot in range(TENSOR_SLOTS))

Arguments: TypeAlias = Mapping[str, Any]
"""All arguments of the schema by name."""


@frozen(kw_only=True)
class Work:
    """
    The work of one call, as its kernel does it.

    ``vector_ops`` are element operations, ``sides`` the matrix products of [rows, inner] by [inner, columns], ``read``
    the bytes of the arguments that it reads ``written`` what it writes of the results, all of them where ``None``.
    """

    vector_ops: int = 0
    sides: Sequence[tuple[int, int, int]] = ()
    read: int | None = None
    written: int | None = None


@frozen(kw_only=True)
class ServedOperator:
    """
    One operator.

    Attributes
    ----------
    schema:
        Its name, arguments and results.
    compute:
        Computes it on the CPU, and its shapes without values; takes the arguments of the schema that it names, and all
        of them as ``arguments``.
    kernel:
        Type of its kernel in a profile, or a function of the arguments that it names; empty where it launches none.
    cost:
        Element operations for each element of its largest tensor, or a function of the arguments that it names, which
        states the work of a call.
    shapes:
        Makes the results without values where the formula needs values.
    """

    schema: str
    compute: Callable[..., object]
    kernel: str | Callable[..., str] = ""
    cost: float | Callable[..., Work] = 1.0
    shapes: Callable[..., object] | None = None

    @property
    def name(self) -> str:
        """The operator's name without its namespace."""
        return self.schema.partition("(")[0]


def define(library: torch.library.Library, namespace: str, operator: ServedOperator) -> None:
    """Register an operator with the dispatcher."""
    library.define(operator.schema)  # type: ignore[no-untyped-call]
    overload = getattr(getattr(torch.ops, namespace), operator.name).default
    compute = _with_arguments(overload, operator.compute)
    shapes = _with_arguments(overload, operator.shapes) if operator.shapes else compute

    def on_cpu(*args: object, **kwargs: object) -> object:
        return _launched(operator, compute, overload, args, kwargs)

    def without_values(*args: object, **kwargs: object) -> object:
        # PyTorch traces shapes, the npu does nothing: a kernel would fix the sizes that torch.compile leaves open.
        if state().computes or any(isinstance(t, FakeTensor) for t in _tensors([*args, *kwargs.values()])):
            return shapes(*args, **kwargs)
        return _launched(operator, shapes, overload, args, kwargs)

    library.impl(operator.name, on_cpu, "CPU")  # type: ignore[no-untyped-call]
    library.impl(operator.name, without_values, "Meta")  # type: ignore[no-untyped-call]


def _with_arguments(overload: torch._ops.OpOverload, function: Callable[..., object]) -> Callable[..., object]:
    """Return *function* as one that takes all arguments of the schema."""

    def run(*args: object, **kwargs: object) -> object:
        return _call(function, _bound(overload, args, kwargs))

    return run


def _call(function: Callable[..., _Result], arguments: Arguments) -> _Result:
    """Call a function with the arguments that it names."""
    arguments = {**arguments, "arguments": arguments}
    return function(**{name: arguments[name] for name in inspect.signature(function).parameters})


def _bound(overload: torch._ops.OpOverload, args: Sequence[object], kwargs: Mapping[str, object]) -> Arguments:
    arguments = overload._schema.arguments
    defaults = {argument.name: argument.default_value for argument in arguments}
    return {**defaults, **dict(zip(defaults, args, strict=False)), **kwargs}


def _launched(
    operator: ServedOperator,
    compute: Callable[..., object],
    overload: torch._ops.OpOverload,
    args: Sequence[object],
    kwargs: Mapping[str, object],
) -> object:
    """Return the results; a recording sees the kernel instead of what computes them here."""
    with torch._C._AutoDispatchBelowAutograd():
        if not (_profiler_enabled() or state().recorder is not None):
            return compute(*args, **kwargs)
        with _unrecorded():
            results = compute(*args, **kwargs)
        if operator.kernel:
            arguments = _bound(overload, args, kwargs)
            written = [arguments[each.name] for each in overload._schema.arguments if each.alias_info is not None]
            outputs = {id(each): each for each in _tensors([*written, results])}
            _emit(operator, arguments, list(outputs.values()))
    return results


@contextlib.contextmanager
def _unrecorded() -> Iterator[None]:
    _enable_record_function(False)
    try:
        yield
    finally:
        _enable_record_function(True)


def _emit(operator: ServedOperator, arguments: Arguments, outputs: list[torch.Tensor]) -> None:
    """Tell the recording of the kernel."""
    inputs = list(_tensors(arguments.values()))
    if callable(operator.cost):
        work = _call(operator.cost, arguments)
    else:
        largest = max((t.numel() for t in (*inputs, *outputs)), default=0)
        work = Work(vector_ops=round(largest * operator.cost))
    shown_inputs = inputs[:TENSOR_SLOTS]
    shown = [*shown_inputs, *outputs][:TENSOR_SLOTS]
    numbers = KernelWork(
        inputs=len(shown_inputs),
        outputs=len(outputs),
        task=_MIXED if work.sides else _VECTOR,
        vector_ops=work.vector_ops,
        read=_size_bytes(inputs) if work.read is None else work.read,
        written=_size_bytes(outputs) if work.written is None else work.written,
        flops=sum(2 * rows * inner * columns for rows, inner, columns in work.sides),
        tiles=sum(output_tiles(rows, columns) for rows, _, columns in work.sides),
    )
    padding = [None] * (TENSOR_SLOTS - len(shown))
    kernel = _call(operator.kernel, arguments) if callable(operator.kernel) else operator.kernel
    _stand_in(kernel)(*shown, *padding, list(astuple(numbers)))


def _tensors(values: Iterable[object]) -> Iterator[torch.Tensor]:
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors(value)


def _size_bytes(tensors: Iterable[torch.Tensor]) -> int:
    return sum(t.numel() * t.element_size() for t in tensors)


@functools.cache
def _stand_in(kernel: str) -> Callable[..., None]:
    """Return the operator without effect that tells a recording of a kernel; the first launch registers it."""
    name = operator_of_kernel("", kernel)
    overloads = getattr(torch.ops, NAMESPACE)
    if not hasattr(overloads, name):
        library = _stand_in_library()
        library.define(f"{name}({_SLOTS}, int[] work) -> ()")  # type: ignore[no-untyped-call]
        library.impl(name, _nothing, "CompositeExplicitAutograd")  # type: ignore[no-untyped-call]
    return getattr(overloads, name).default  # type: ignore[no-any-return]


@functools.cache
def _stand_in_library() -> torch.library.Library:
    return torch.library.Library(NAMESPACE, "FRAGMENT")  # type: ignore[no-untyped-call]


def _nothing(*arguments: object) -> None:
    del arguments
