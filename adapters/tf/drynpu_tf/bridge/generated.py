"""
The vendor's generated operators (``gen_npu_ops``, ``npu_aicore_ops``), as far as the CPU can compute them.

They are composed of TensorFlow's own operators, which is what the profile shows of them. Those of which the CPU has
nothing (registers of the device, memory of other devices) are refused by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import tensorflow.compat.v2 as tf

from drynpu.kernels.ops import drop_mask
from drynpu_tf.bridge.operators import FAST_GELU_FACTOR, LARSV2, dropout
from drynpu_tf.bridge.operators import fast_gelu as fast_gelu
from drynpu_tf.bridge.operators import gelu as gelu
from drynpu_tf.bridge.optimizer_steps import adam_apply_one_assign as adam_apply_one_assign
from drynpu_tf.bridge.optimizer_steps import adam_apply_one_with_decay_assign as adam_apply_one_with_decay_assign
from drynpu_tf.bridge.optimizer_steps import lamb_apply_optimizer_assign as lamb_apply_optimizer_assign
from drynpu_tf.bridge.optimizer_steps import lamb_apply_weight_assign as lamb_apply_weight_assign

_BYTE = 8
_GROUP = drop_mask(1).elements * _BYTE
"""A mask has a bit for each element, in multiples of so many."""
lars_v2 = LARSV2


def __getattr__(name: str) -> NoReturn:
    raise AttributeError(f"gen_npu_ops.{name}: the vendor's own operators that need a device are not in drynpu")


def embeddingrankid(addr_tensor: Any, index: Any, row_memory: int = 320, mode: str = "mod") -> NoReturn:
    """Raise ``UnimplementedError``: the rows are in the memory of other devices."""
    del addr_tensor, index, row_memory, mode
    raise tf.errors.UnimplementedError(
        None, None, "embeddingrankid: it finds rows in the memory of other devices, of which there is none here"
    )


def deformable_conv2d(*arguments: Any, **keywords: Any) -> NoReturn:
    """Raise ``UnimplementedError``: TensorFlow has no deformable convolution."""
    del arguments, keywords
    raise tf.errors.UnimplementedError(
        None, None, "deformable_conv2d: TensorFlow has no operator that computes it on the CPU"
    )


def fast_gelu_grad(dy: Any, x: Any, name: str | None = None) -> tf.Tensor:
    """Return the gradient of ``x * sigmoid(1.702 x)``, given that of the result."""
    with tf.name_scope(name or "FastGeluGrad"):
        x = tf.convert_to_tensor(x)
        factor = tf.cast(FAST_GELU_FACTOR, x.dtype)
        gate = tf.sigmoid(factor * x)
        return dy * (gate + factor * x * gate * (1 - gate))


def gelu_grad(dy: Any, x: Any, y: Any = None, name: str | None = None) -> tf.Tensor:
    """Return the gradient of GELU in its tanh form, given that of the result; *y* is not needed."""
    del y
    with tf.name_scope(name or "GeluGrad"):
        x = tf.convert_to_tensor(x)
        root, cubic = (tf.cast(value, x.dtype) for value in (0.7978845608028654, 0.044715))
        tanh = tf.tanh(root * (x + cubic * x * x * x))
        return dy * (0.5 * (1 + tanh) + 0.5 * x * (1 - tanh * tanh) * root * (1 + 3 * cubic * x * x))


def p_relu(x: Any, weight: Any, name: str | None = None) -> tf.Tensor:
    """Return *x* where it is positive, else *weight* times *x*."""
    with tf.name_scope(name or "PRelu"):
        return tf.where(x > 0, x, weight * x)


def p_relu_grad(grads: Any, features: Any, weights: Any, name: str | None = None) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the gradients of *features* and of *weights*."""
    with tf.name_scope(name or "PReluGrad"):
        below = tf.where(features > 0, tf.zeros_like(features), features) * grads
        lead = len(below.shape) - len(tf.convert_to_tensor(weights).shape)
        axes = [axis for axis in range(len(below.shape)) if axis < lead or weights.shape[axis - lead] == 1]
        dx = tf.where(features > 0, grads, weights * grads)
        return dx, tf.reshape(tf.reduce_sum(below, axis=axes), tf.shape(weights))


def centralization(x: Any, axes: Sequence[int], name: str | None = None) -> tf.Tensor:
    """Return *x* less its mean over *axes*."""
    with tf.name_scope(name or "Centralization"):
        return x - tf.reduce_mean(x, axis=list(axes), keepdims=True)


def lars(
    inputs_w: Sequence[Any],
    inputs_g: Sequence[Any],
    weight_decay: Any,
    hyperpara: float = 0.001,
    epsilon: float = 0.00001,
    name: str | None = None,
) -> list[tf.Tensor]:
    """Return the gradients scaled layer by layer, as :func:`LARSV2` does one; raises ``ValueError`` if they differ."""
    if len(inputs_w) != len(inputs_g):
        raise ValueError(f"LARS: {len(inputs_w)} weights and {len(inputs_g)} gradients")
    pairs = zip(inputs_w, inputs_g, strict=True)
    with tf.name_scope(name or "LARS"):
        return [LARSV2(weight, grad, weight_decay, 1.0, hyperpara, epsilon) for weight, grad in pairs]


def drop_out_gen_mask(shape: Any, prob: Any, seed: int = 0, seed2: int = 0, name: str | None = None) -> tf.Tensor:
    """Return a mask of a bit for each element of *shape*, set with probability *prob*: uint8, the lowest bit first."""
    with tf.name_scope(name or "DropOutGenMask"):
        groups = -(-tf.reduce_prod(tf.cast(shape, tf.int32)) // _GROUP)
        drawn = tf.compat.v1.random_uniform([groups * _GROUP // _BYTE, _BYTE], seed=seed or seed2 or None)
        bits = tf.cast(drawn < tf.cast(prob, drawn.dtype), tf.int32)
        return tf.cast(tf.reduce_sum(bits * (2 ** tf.range(_BYTE)), axis=1), tf.uint8)


def drop_out_do_mask(x: Any, mask: Any, keep_prob: Any, name: str | None = None) -> tf.Tensor:
    """Return *x* divided by *keep_prob* where the bit of *mask* is set, else 0."""
    with tf.name_scope(name or "DropOutDoMask"):
        bits = tf.cast(mask, tf.int32)[:, None] // (2 ** tf.range(_BYTE)) % 2
        return _masked(tf.convert_to_tensor(x), tf.reshape(bits, [-1]), keep_prob)


def drop_out_gen_mask_v3(shape: Any, prob: Any, seed: int = 0, seed2: int = 0, name: str | None = None) -> tf.Tensor:
    """Return a mask of one byte for each element of *shape*, 1 with probability *prob*, else 0."""
    with tf.name_scope(name or "DropOutGenMaskV3"):
        drawn = tf.compat.v1.random_uniform(tf.cast(shape, tf.int32), seed=seed or seed2 or None)
        return tf.cast(drawn < tf.cast(prob, drawn.dtype), tf.uint8)


def drop_out_do_mask_v3(x: Any, mask: Any, keep_prob: Any, name: str | None = None) -> tf.Tensor:
    """Return *x* divided by *keep_prob* where *mask* is 1, else 0."""
    with tf.name_scope(name or "DropOutDoMaskV3"):
        return _masked(tf.convert_to_tensor(x), tf.reshape(mask, [-1]), keep_prob)


def dropout_v3(x: Any, keep_prob: Any, noise_shape: Any = None, seed: int | None = None) -> tf.Tensor:
    """Return what :func:`drynpu_tf.bridge.operators.dropout` does."""
    return dropout(x, keep_prob, noise_shape, seed)


def _masked(x: Any, kept: Any, keep_prob: Any) -> tf.Tensor:
    kept = tf.reshape(kept[: tf.size(x)], tf.shape(x))
    return tf.ensure_shape(tf.cast(kept, x.dtype) * x / tf.cast(keep_prob, x.dtype), x.shape)


def basic_lstm_cell(
    x: Any,
    h: Any,
    c: Any,
    w: Any,
    b: Any,
    keep_prob: float = 1.0,
    forget_bias: float = 1.0,
    state_is_tuple: bool = True,
    activation: str = "tanh",
    name: str | None = None,
) -> tuple[tf.Tensor, ...]:
    """
    Return one step of an LSTM: ct, ht, it, jt, ft, ot, tanhct, each [batch, hidden].

    *w* is [features + hidden, 4 hidden], its gates in the order i, j, f, o; *state_is_tuple* changes nothing. Raises
    ``ValueError`` for another *activation* than tanh, and for a *keep_prob* below 1, which drops nothing here.
    """
    del state_is_tuple
    if keep_prob != 1:
        raise ValueError(f"basic_lstm_cell: keep_prob has to be 1, got {keep_prob!r}: drop h before the call instead")
    if activation != "tanh":
        raise ValueError(f"basic_lstm_cell: activation has to be 'tanh', got {activation!r}")
    with tf.name_scope(name or "BasicLSTMCell"):
        i, j, f, o = tf.split(tf.concat([x, h], axis=1) @ w + tf.reshape(b, [-1]), 4, axis=1)
        i, j, f, o = tf.sigmoid(i), tf.tanh(j), tf.sigmoid(f + forget_bias), tf.sigmoid(o)
        ct = c * f + i * j
        tanhct = tf.tanh(ct)
        return ct, tanhct * o, i, j, f, o, tanhct
