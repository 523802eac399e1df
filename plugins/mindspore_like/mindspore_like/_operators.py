"""Operators on NumPy arrays: NumPy computes, and the call is reported under MindSpore's primitive."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from attrs import define, field

from drynpu.arrays import Array
from mindspore_like._call_capture import TensorKey
from mindspore_like._runtime import RUNTIME

_RECORDER = RUNTIME.recorder

scope = _RECORDER.scope


def run(
    primitive: str,
    compute: Callable[..., Any],
    *inputs: Array,
    attrs: tuple[tuple[str, object], ...] = (),
    arguments: tuple[object, ...] = (),
) -> Array:
    """Compute, report the call with its begin and end, and return the result as an array."""
    start_ns = time.time_ns()
    result = np.asarray(compute(*inputs))
    end_ns = time.time_ns()
    if _RECORDER.running:
        operands = tuple((x.shape, x.dtype) for x in inputs)
        _RECORDER.add((primitive, operands, ((result.shape, result.dtype),), attrs, arguments), start_ns, end_ns)
    return result


def matmul(a: Array, b: Array, turn_a: bool = False, turn_b: bool = False) -> Array:
    """
    Return a product of matrices, or of stacks of them that broadcast; a vector is a matrix of one row or column.

    ``MatMul`` for two matrices, ``BatchMatMul`` for stacks.
    """
    left = a[None, :] if a.ndim == 1 else a
    right = b[:, None] if b.ndim == 1 else b
    name = "MatMul" if left.ndim == right.ndim == 2 else "BatchMatMul"

    def compute(x: Array, y: Array) -> Array:
        values: Array = np.matmul(x.swapaxes(-1, -2) if turn_a else x, y.swapaxes(-1, -2) if turn_b else y)
        return values

    product = run(name, compute, left, right, arguments=(None, None, turn_a, turn_b))
    product = product[..., 0, :] if a.ndim == 1 else product
    return product[..., 0] if b.ndim == 1 else product


def reduce(
    primitive: str, compute: Callable[..., Any], x: Array, axis: int | Sequence[int] | None, keep_dims: bool
) -> Array:
    """Return a reduction over some axes, all of them for none given."""
    axes = tuple(range(x.ndim)) if axis is None or axis == () else tuple(np.atleast_1d(axis).tolist())
    return run(
        primitive, lambda each: compute(each, axis=axes, keepdims=keep_dims), x, arguments=(None, axes, keep_dims)
    )


def record_operator(
    primitive: str,
    inputs: Sequence[object],
    outputs: Sequence[object] = (),
    *,
    start_ns: int,
    end_ns: int,
    attrs: Mapping[str, object] | None = None,
    arguments: Sequence[object] = (),
) -> None:
    """
    Report an operator that the script computed itself; nothing happens while no profiler records.

    Parameters
    ----------
    primitive:
        MindSpore's name: ``MatMul``, ``LayerNorm``, ``Conv2DBackpropFilter``. It decides on the kernels.
    inputs, outputs:
        Tensors or arrays by position; in *inputs* ``None`` for an argument that is neither. Without *outputs* some
        primitives are shown without work.
    start_ns, end_ns:
        Unix time, as of ``time.time_ns()``.
    attrs:
        Attributes of the primitive by name: numbers, texts, tuples.
    arguments:
        By position the value of an argument that is no tensor, else ``None``.

    Raises
    ------
    ValueError
        The end is before the start.
    """
    if end_ns < start_ns:
        raise ValueError(f"record_operator({primitive!r}): end_ns {end_ns} is before start_ns {start_ns}.")
    if _RECORDER.running:
        operands = tuple(None if each is None else _key(each) for each in inputs)
        named = tuple(sorted((attrs or {}).items()))
        _RECORDER.add((primitive, operands, tuple(map(_key, outputs)), named, tuple(arguments)), start_ns, end_ns)


@define
class TimedOperator:
    """An operator under way; set ``outputs`` before it ends."""

    outputs: list[Any] = field(factory=list)


@contextlib.contextmanager
def timed_operator(
    primitive: str,
    inputs: Sequence[object],
    *,
    attrs: Mapping[str, object] | None = None,
    arguments: Sequence[object] = (),
) -> Iterator[TimedOperator]:
    """Report what the block computes as one operator; tensors' own operators inside are its parts, not kernels."""
    call = TimedOperator()
    start_ns = time.time_ns()
    yield call
    end_ns = time.time_ns()
    record_operator(primitive, inputs, call.outputs, start_ns=start_ns, end_ns=end_ns, attrs=attrs, arguments=arguments)


def _key(value: object) -> TensorKey:
    array = np.asarray(value)
    return array.shape, array.dtype
