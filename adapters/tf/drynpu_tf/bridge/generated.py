"""
The vendor's generated operators (``gen_npu_ops``, ``npu_aicore_ops``), as far as the CPU can compute them.

They are composed of TensorFlow's own operators, and in graphs shown as the device's. Operators of which the CPU has
nothing (registers of the device, memory of other devices) are refused by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

import tensorflow.compat.v2 as tf

from drynpu_tf.bridge.masks import drop
from drynpu_tf.bridge.masks import drop_out_do_mask as drop_out_do_mask
from drynpu_tf.bridge.masks import drop_out_do_mask_v3 as drop_out_do_mask_v3
from drynpu_tf.bridge.masks import drop_out_gen_mask as drop_out_gen_mask
from drynpu_tf.bridge.masks import drop_out_gen_mask_v3 as drop_out_gen_mask_v3
from drynpu_tf.bridge.operators import LARSV2
from drynpu_tf.bridge.operators import fast_gelu as fast_gelu
from drynpu_tf.bridge.operators import fast_gelu_grad as fast_gelu_grad
from drynpu_tf.bridge.operators import gelu as gelu
from drynpu_tf.bridge.operators import gelu_grad as gelu_grad
from drynpu_tf.bridge.optimizer_steps import adam_apply_one_assign as adam_apply_one_assign
from drynpu_tf.bridge.optimizer_steps import adam_apply_one_with_decay_assign as adam_apply_one_with_decay_assign
from drynpu_tf.bridge.optimizer_steps import lamb_apply_optimizer_assign as lamb_apply_optimizer_assign
from drynpu_tf.bridge.optimizer_steps import lamb_apply_weight_assign as lamb_apply_weight_assign
from drynpu_tf.bridge.vendor_operator import vendor_operator
from drynpu_tf.foreign import Shape, Tensor, TensorLike, WithGradient

lars_v2 = LARSV2


def __getattr__(name: str) -> NoReturn:
    raise AttributeError(f"gen_npu_ops.{name}: the vendor's own operators that need a device are not in drynpu")


def embeddingrankid(addr_tensor: TensorLike, index: TensorLike, row_memory: int = 320, mode: str = "mod") -> NoReturn:
    """Raise ``UnimplementedError``: the rows are in the memory of other devices."""
    del addr_tensor, index, row_memory, mode
    raise tf.errors.UnimplementedError(
        None, None, "embeddingrankid: it finds rows in the memory of other devices, of which there is none here"
    )


def deformable_conv2d(*arguments: object, **keywords: object) -> NoReturn:
    """Raise ``UnimplementedError``: TensorFlow has no deformable convolution."""
    del arguments, keywords
    raise tf.errors.UnimplementedError(
        None, None, "deformable_conv2d: TensorFlow has no operator that computes it on the CPU"
    )


def p_relu(x: TensorLike, weight: TensorLike, name: str | None = None) -> tf.Tensor:
    """Return *x* where it is positive, else *weight* times *x*."""

    @tf.custom_gradient  # type: ignore[untyped-decorator]
    def layer(x: Tensor, weight: Tensor) -> WithGradient:
        y = vendor_operator("PRelu", [x, weight], lambda x, weight: tf.where(x > 0, x, weight * x), name=name)
        return y, lambda slope: p_relu_grad(slope, x, weight)

    return layer(tf.convert_to_tensor(x), tf.convert_to_tensor(weight))


def p_relu_grad(
    grads: Tensor, features: TensorLike, weights: TensorLike, name: str | None = None
) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the gradients of *features* and of *weights*."""

    def compute(grads: Tensor, features: Tensor, weights: Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        below = tf.where(features > 0, tf.zeros_like(features), features) * grads
        lead = len(below.shape) - len(weights.shape)
        axes = [axis for axis in range(len(below.shape)) if axis < lead or weights.shape[axis - lead] == 1]
        dx = tf.where(features > 0, grads, weights * grads)
        return dx, tf.reshape(tf.reduce_sum(below, axis=axes), tf.shape(weights))

    dx, dw = vendor_operator("PReluGrad", [grads, features, weights], compute, name=name)
    return dx, dw


def centralization(x: TensorLike, axes: Sequence[int], name: str | None = None) -> tf.Tensor:
    """Return *x* less its mean over *axes*."""

    def compute(x: Tensor) -> tf.Tensor:
        return x - tf.reduce_mean(x, axis=list(axes), keepdims=True)

    return vendor_operator("Centralization", [x], compute, name=name)


def lars(
    inputs_w: Sequence[TensorLike],
    inputs_g: Sequence[TensorLike],
    weight_decay: TensorLike,
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


def dropout_v3(x: TensorLike, keep_prob: TensorLike, noise_shape: Shape = None, seed: int | None = None) -> tf.Tensor:
    """Return *x* with elements set to zero and the others scaled by ``1 / keep_prob``; a mask of *noise_shape*."""
    return drop(x, keep_prob, noise_shape, seed, suffix="V3")


def basic_lstm_cell(
    x: TensorLike,
    h: TensorLike,
    c: TensorLike,
    w: TensorLike,
    b: TensorLike,
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
