"""One communication operator in a graph of TensorFlow's, or one by one."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import numpy as np
import tensorflow.compat.v2 as tf

from drynpu.arrays import Array
from drynpu_tf.foreign import DType, Operation, Shape, Tensor, TensorLike
from drynpu_tf.ranks import MARK, NAMES, RANKS, Hcom


def communicate(
    hcom: Hcom,
    tensors: Sequence[TensorLike],
    outputs: Sequence[tuple[DType, Shape]] | None = None,
    counts: TensorLike = None,
) -> list[Tensor]:
    """
    Return what a communication operator leaves on this rank.

    Parameters
    ----------
    outputs:
        Types and shapes of the results, None to take the types of *tensors*; without any the result is the operator.
    counts:
        Of all-to-all: a tensor with the number of elements for each rank.
    """
    converted = [tf.convert_to_tensor(tensor) for tensor in tensors]
    results = [(tensor.dtype, tensor.shape) for tensor in converted] if outputs is None else list(outputs)
    if tf.executing_eagerly():
        types = tuple(dtype for dtype, _ in results)
        shapes = tuple(None if shape.rank is None else tuple(shape) for _, shape in results)
        return _function(hcom, types, shapes)(converted, *([] if counts is None else [counts]))
    return _node(hcom, converted, results, counts)


@functools.cache
def _function(hcom: Hcom, types: tuple[DType, ...], shapes: tuple[Shape, ...]) -> Callable[..., list[Tensor]]:
    """Return the operator as a function of its own, which is how the vendor's package runs it one by one."""
    results = [(dtype, tf.TensorShape(shape)) for dtype, shape in zip(types, shapes, strict=True)]

    def communicated(tensors: Sequence[Tensor], counts: Tensor = None) -> Sequence[Tensor]:
        result = _node(hcom, list(tensors), results, counts)
        return result if results else ()

    function: Callable[..., list[Tensor]] = tf.function(communicated, autograph=False)
    return function


def _node(
    hcom: Hcom, tensors: Sequence[TensorLike], outputs: Sequence[tuple[DType, Shape]], counts: TensorLike
) -> list[Tensor]:
    name = NAMES.next(tf.compat.v1.get_default_graph())

    def exchange(*arrays: Array) -> list[Array]:
        values, numbers = (arrays, ()) if counts is None else (arrays[:-1], arrays[-1].reshape(-1).tolist())
        return RANKS.exchange(hcom, name, [np.asarray(value) for value in values], numbers)

    inputs = [*tensors, *([] if counts is None else [counts])]
    result: list[Tensor] = tf.numpy_function(exchange, inputs, [dtype for dtype, _ in outputs], name=hcom.op_type)
    operation = result[0].op if outputs else result
    _mark(operation, hcom)
    for tensor, (_, shape) in zip(result if outputs else (), outputs, strict=True):
        tensor.set_shape(shape)
    return result


def _mark(operation: Operation, hcom: Hcom) -> None:
    from tensorflow.core.framework import attr_value_pb2

    operation._set_attr(MARK, attr_value_pb2.AttrValue(s=hcom.text()))
