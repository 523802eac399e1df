"""Functions of ``tf.contrib.data`` that ``tf.data.experimental`` no longer has; each is for ``Dataset.apply``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow.compat.v1 as tf

from drynpu_tf.foreign import Shape


def batch_and_drop_remainder(batch_size: object) -> Callable[[Any], Any]:
    """Return the function that batches and leaves out a last batch that is not full."""
    return lambda dataset: dataset.batch(batch_size, drop_remainder=True)


def padded_batch_and_drop_remainder(
    batch_size: object, padded_shapes: Shape, padding_values: object = None
) -> Callable[[Any], Any]:
    """Return the function that does so with elements of several shapes, filled up to *padded_shapes*."""
    return lambda dataset: dataset.padded_batch(batch_size, padded_shapes, padding_values, drop_remainder=True)


def sloppy_interleave(map_func: Callable[..., Any], cycle_length: int, block_length: int = 1) -> Callable[[Any], Any]:
    """Return the function that interleaves datasets in the order in which their elements come."""
    interleave: Callable[[Any], Any] = tf.data.experimental.parallel_interleave(
        map_func, cycle_length, block_length, sloppy=True
    )
    return interleave


def assert_element_shape(expected_shapes: Shape) -> Callable[[Any], Any]:
    """Return the function that gives elements static shapes, and fails for elements of others."""

    def checked(*elements: object) -> Any:
        values = elements[0] if len(elements) == 1 else elements
        flat = tf.nest.flatten(values)
        shapes = [tf.TensorShape(shape) for shape in tf.nest.flatten(expected_shapes)]
        return tf.nest.pack_sequence_as(
            values, [tf.ensure_shape(value, shape) for value, shape in zip(flat, shapes, strict=True)]
        )

    return lambda dataset: dataset.map(checked)
