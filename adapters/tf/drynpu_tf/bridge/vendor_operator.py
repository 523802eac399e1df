"""Calls of the vendor's operators that TensorFlow computes by several of its own, marked as the one that they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v2 as tf
from tensorflow.core.framework import attr_value_pb2

from drynpu_tf.bridge.scopes import marked
from drynpu_tf.foreign import Tensor, TensorLike
from drynpu_tf.rules import PART, RESULTS, Part, result_text


def vendor_operator(
    kind: str, inputs: Sequence[TensorLike], compute: Callable[..., Any], *, name: str | None = None
) -> Tensor:
    """
    Return what *compute* makes of the inputs, as one operator of the device's graph.

    Eager operators are not marked: the profile shows those that TensorFlow computes with.

    Parameters
    ----------
    kind:
        Type of the operator in the device's graph, for which there is a rule.
    inputs:
        What *compute* takes and the operator's kernel reads, in the vendor's order: tensors, or what becomes one.
    compute:
        Called with the inputs as tensors; returns a tensor or several, which are the operator's results.
    name:
        Name of the operator; its type if there is none.
    """
    tensors = [tf.convert_to_tensor(each) for each in inputs]
    if tf.executing_eagerly():
        return compute(*tensors)
    with tf.name_scope(name or kind) as scope:
        part = Part(kind, scope, tuple(tensor.name for tensor in tensors))
        with marked(**{PART: part.text}):
            results = compute(*tensors)
    slots: dict[Any, list[tuple[int, int]]] = {}
    for number, result in enumerate(results if isinstance(results, (list, tuple)) else [results]):
        slots.setdefault(result.op, []).append((result.value_index, number))
    for operator, places in slots.items():
        operator._set_attr(RESULTS, attr_value_pb2.AttrValue(s=result_text(places).encode()))
    return results
