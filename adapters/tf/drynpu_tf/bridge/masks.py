"""Masks of dropout as a device has them: drawn by one operator, applied by another, forward and backward."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v2 as tf

from drynpu.kernels.ops import drop_mask
from drynpu_tf.bridge.vendor_operator import vendor_operator
from drynpu_tf.foreign import Shape, Tensor, TensorLike, WithGradient

_BYTE = 8
_GROUP = drop_mask(1).elements * _BYTE
"""A mask has a bit for each element, in multiples of so many."""


def drop(
    x: TensorLike,
    keep_prob: TensorLike,
    noise_shape: Shape,
    seed: int | None,
    *,
    suffix: str = "",
    name: str | None = None,
) -> tf.Tensor:
    """
    Return *x* with elements set to zero and the others divided by *keep_prob*.

    The mask has *noise_shape*, by default the shape of *x*; it is drawn and applied by the operators whose types end in
    *suffix*.
    """
    x, probability = tf.convert_to_tensor(x), _probability(keep_prob)
    shape = tf.shape(x) if noise_shape is None else tf.cast(noise_shape, tf.int32)

    def draw(probability: Tensor) -> tf.Tensor:
        return tf.compat.v1.random_uniform(shape, dtype=probability.dtype, seed=seed) < probability

    mask = vendor_operator(f"DropOutGenMask{suffix}", [probability], draw, name=name)
    return _applied(f"DropOutDoMask{suffix}", x, mask, probability, name)


def drop_out_gen_mask(
    shape: Shape, prob: TensorLike, seed: int = 0, seed2: int = 0, name: str | None = None
) -> tf.Tensor:
    """Return a mask of a bit for each element of *shape*, set with probability *prob*: uint8, the lowest bit first."""

    def compute(prob: Tensor) -> tf.Tensor:
        groups = -(-tf.reduce_prod(tf.cast(shape, tf.int32)) // _GROUP)
        drawn = tf.compat.v1.random_uniform([groups * _GROUP // _BYTE, _BYTE], seed=seed or seed2 or None)
        bits = tf.cast(drawn < tf.cast(prob, drawn.dtype), tf.int32)
        return tf.cast(tf.reduce_sum(bits * (2 ** tf.range(_BYTE)), axis=1), tf.uint8)

    return vendor_operator("DropOutGenMask", [_probability(prob)], compute, name=name)


def drop_out_do_mask(x: TensorLike, mask: TensorLike, keep_prob: TensorLike, name: str | None = None) -> tf.Tensor:
    """Return *x* divided by *keep_prob* where the bit of *mask* is set, else 0."""
    return _applied("DropOutDoMask", x, mask, keep_prob, name, kept=_bits)


def drop_out_gen_mask_v3(
    shape: Shape, prob: TensorLike, seed: int = 0, seed2: int = 0, name: str | None = None
) -> tf.Tensor:
    """Return a mask of one byte for each element of *shape*, 1 with probability *prob*, else 0."""

    def compute(prob: Tensor) -> tf.Tensor:
        drawn = tf.compat.v1.random_uniform(tf.cast(shape, tf.int32), seed=seed or seed2 or None)
        return tf.cast(drawn < tf.cast(prob, drawn.dtype), tf.uint8)

    return vendor_operator("DropOutGenMaskV3", [_probability(prob)], compute, name=name)


def drop_out_do_mask_v3(x: TensorLike, mask: TensorLike, keep_prob: TensorLike, name: str | None = None) -> tf.Tensor:
    """Return *x* divided by *keep_prob* where *mask* is 1, else 0."""
    return _applied("DropOutDoMaskV3", x, mask, keep_prob, name, kept=_flat)


def _probability(value: TensorLike) -> tf.Tensor:
    return tf.convert_to_tensor(value, dtype=None if tf.is_tensor(value) else tf.float32)


def _bits(mask: TensorLike, x: TensorLike) -> tf.Tensor:
    """Return which elements of *x* a mask of bits keeps."""
    return _flat(tf.reshape(tf.cast(mask, tf.int32)[:, None] // (2 ** tf.range(_BYTE)) % 2, [-1]), x)


def _flat(mask: TensorLike, x: TensorLike) -> tf.Tensor:
    """Return which elements of *x* a mask of a number for each element keeps."""
    return tf.reshape(tf.reshape(mask, [-1])[: tf.size(x)], tf.shape(x))


def _applied(
    kind: str,
    x: TensorLike,
    mask: TensorLike,
    keep_prob: TensorLike,
    name: str | None,
    kept: Any = lambda mask, _: mask,
) -> Tensor:
    """Return *x* with a mask applied by an operator of that *kind*, which its gradient applies as well."""
    mask, probability = tf.convert_to_tensor(mask), _probability(keep_prob)

    def compute(x: Tensor, mask: Tensor, probability: Tensor) -> tf.Tensor:
        scaled = x / tf.cast(probability, x.dtype)
        return tf.ensure_shape(tf.where(tf.cast(kept(mask, x), tf.bool), scaled, tf.zeros([], x.dtype)), x.shape)

    @tf.custom_gradient  # type: ignore[untyped-decorator]
    def layer(x: Tensor) -> WithGradient:
        y = vendor_operator(kind, [x, mask, probability], compute, name=name)
        return y, lambda slope: vendor_operator(kind, [slope, mask, probability], compute)

    return layer(tf.convert_to_tensor(x))
