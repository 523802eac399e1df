"""
Operators of ``npu_bridge.estimator.npu_ops``, composed of TensorFlow's own.

In graphs the profile shows them as the operators of the device that they are (:mod:`.vendor_operator`).
"""

from __future__ import annotations

import numbers
from collections.abc import Sequence

import tensorflow.compat.v2 as tf

from drynpu import say_once
from drynpu.kernels.ops.gelu import FAST_FACTOR
from drynpu_tf.bridge.masks import drop
from drynpu_tf.bridge.vendor_operator import vendor_operator
from drynpu_tf.foreign import DType, Shape, Tensor, TensorLike, WithGradient

_QUEUE_LENGTH = 1024
"""Elements that a channel to the host holds; a script that never reads one waits when it is full."""


def _graph_only(name: str) -> None:
    if tf.executing_eagerly():
        raise RuntimeError(f"tf.{name}() is not compatible with eager execution.")


def NPUInit(name: str | None = None) -> tf.Operation:  # noqa: N802 - the vendor's name
    """Return an operator that does nothing: there is no system to open. Raises ``RuntimeError`` when eager."""
    _graph_only("NPUInit")
    return tf.no_op(name=name or "NPUInit")


def NPUShutdown(name: str | None = None) -> tf.Operation:  # noqa: N802 - the vendor's name
    """Return an operator that does nothing: there is no system to close. Raises ``RuntimeError`` when eager."""
    _graph_only("NPUShutdown")
    return tf.no_op(name=name or "NPUShutdown")


initialize_system = NPUInit
shutdown_system = NPUShutdown


def dropout(
    x: TensorLike, keep_prob: TensorLike, noise_shape: Shape = None, seed: int | None = None, name: str | None = None
) -> tf.Tensor:
    """
    Return *x* with elements set to zero and the others scaled by ``1 / keep_prob``.

    Raises
    ------
    RuntimeError
        When eager.
    ValueError
        *x* is not floating point; *keep_prob* is a number outside (0, 1].
    """
    _graph_only("dropout")
    x = tf.convert_to_tensor(x, name="x")
    if not x.dtype.is_floating:
        raise ValueError(
            f"x has to be a floating point tensor since it's going to be scaled. Got a {x.dtype} tensor instead."
        )
    if isinstance(keep_prob, numbers.Real):
        if not 0 < float(keep_prob) <= 1:
            raise ValueError(f"keep_prob must be a scalar tensor or a float in the range (0, 1], got {keep_prob:g}")
        if keep_prob == 1:
            return x
    return drop(x, keep_prob, noise_shape, seed, name=name)


def gelu(x: TensorLike, name: str | None = None) -> tf.Tensor:
    """Return the Gaussian error linear unit of *x* in its tanh form, which is the device's."""

    @tf.custom_gradient  # type: ignore[untyped-decorator]
    def layer(x: Tensor) -> WithGradient:
        y = vendor_operator("Gelu", [x], lambda x: tf.nn.gelu(x, approximate=True), name=name)
        return y, lambda slope: gelu_grad(slope, x, y)

    return layer(tf.convert_to_tensor(x))


def gelu_grad(dy: TensorLike, x: TensorLike, y: TensorLike = None, name: str | None = None) -> tf.Tensor:
    """Return the gradient of GELU in its tanh form from the result's gradient; the numbers do not need *y*."""

    def compute(dy: Tensor, x: Tensor, *_: Tensor) -> tf.Tensor:
        root, cubic = (tf.cast(value, x.dtype) for value in (0.7978845608028654, 0.044715))
        tanh = tf.tanh(root * (x + cubic * x * x * x))
        return dy * (0.5 * (1 + tanh) + 0.5 * x * (1 - tanh * tanh) * root * (1 + 3 * cubic * x * x))

    return vendor_operator("GeluGrad", [dy, x] if y is None else [dy, x, y], compute, name=name)


def fast_gelu(x: TensorLike, name: str | None = None) -> tf.Tensor:
    """Return ``x * sigmoid(1.702 x)``."""

    def compute(x: Tensor) -> tf.Tensor:
        return x * tf.sigmoid(tf.cast(FAST_FACTOR, x.dtype) * x)

    @tf.custom_gradient  # type: ignore[untyped-decorator]
    def layer(x: Tensor) -> WithGradient:
        return vendor_operator("FastGelu", [x], compute, name=name), lambda slope: fast_gelu_grad(slope, x)

    return layer(tf.convert_to_tensor(x))


def fast_gelu_grad(dy: TensorLike, x: TensorLike, name: str | None = None) -> tf.Tensor:
    """Return the gradient of ``x * sigmoid(1.702 x)`` from the result's gradient."""

    def compute(dy: Tensor, x: Tensor) -> tf.Tensor:
        factor = tf.cast(FAST_FACTOR, x.dtype)
        gate = tf.sigmoid(factor * x)
        return dy * (gate + factor * x * gate * (1 - gate))

    return vendor_operator("FastGeluGrad", [dy, x], compute, name=name)


def LARSV2(  # noqa: N802 - the vendor's name
    input_weight: TensorLike,
    input_grad: TensorLike,
    weight_decay: TensorLike,
    learning_rate: TensorLike,
    hyperpara: float = 0.001,
    epsilon: float = 0.00001,
    use_clip: bool = False,
    name: str | None = None,
) -> tf.Tensor:
    """
    Return a gradient scaled layer by layer (You, Gitman, Ginsburg 2017, arXiv:1708.03888).

    With weight ``w``, gradient ``g`` and weight decay ``d``: ``(g + d w) c`` where
    ``c = hyperpara |w| / (|g| + d |w| + epsilon)``; with *use_clip*, ``c / learning_rate`` clipped to [0, 1].
    Raises ``RuntimeError`` when eager.
    """
    _graph_only("LARSV2")

    def sums(weight: Tensor, grad: Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return tf.reduce_sum(weight * weight), tf.reduce_sum(grad * grad)

    def update(
        weight: Tensor,
        grad: Tensor,
        weight_square: Tensor,
        grad_square: Tensor,
        decay: Tensor,
        rate: Tensor,
    ) -> tf.Tensor:
        weight_norm, grad_norm = tf.sqrt(weight_square), tf.sqrt(grad_square)
        trust = hyperpara * weight_norm / (grad_norm + decay * weight_norm + epsilon)
        if use_clip:
            trust = tf.clip_by_value(trust / rate, 0.0, 1.0)
        return trust * (grad + decay * weight)

    # The engine's pass LarsV2FusionPass makes two kernels of the operator.
    with tf.name_scope(name or "LARSV2"):
        weight, grad = tf.convert_to_tensor(input_weight), tf.convert_to_tensor(input_grad)
        squares = vendor_operator("SquareSumAll", [weight, grad], sums)
        factors = [tf.convert_to_tensor(each, dtype=weight.dtype) for each in (weight_decay, learning_rate)]
        return vendor_operator("LarsV2Update", [weight, grad, *squares, *factors], update)


def npu_clear_float_status(float_status: TensorLike = None, name: str | None = None) -> tf.Tensor:
    """Return eight zeros: the CPU has no register of overflows."""
    say_once("npu_clear_float_status: there is no overflow register here; gradients are looked at instead")
    return tf.zeros([8], name=name)


def _queue(channel_name: str, dtypes: Sequence[DType] | None = None) -> tf.queue.FIFOQueue | None:
    """Return the queue of a channel of the default graph; make it where *dtypes* are given and there is none."""
    collection = f"drynpu_outfeed/{channel_name}"
    graph = tf.compat.v1.get_default_graph()
    there = graph.get_collection_ref(collection)
    if not there and dtypes is not None:
        there.append(tf.queue.FIFOQueue(_QUEUE_LENGTH, list(dtypes), shared_name=f"npu_outfeed_{channel_name}"))
    return there[0] if there else None


def outfeed_enqueue_op(channel_name: str, inputs: Sequence[TensorLike], name: str | None = None) -> tf.Operation:
    """Return an operator that puts *inputs* into a channel to the host: a queue of the graph."""
    tensors = [tf.convert_to_tensor(each) for each in inputs]
    queue = _queue(channel_name, [tensor.dtype for tensor in tensors])
    assert queue is not None
    return queue.enqueue(tensors, name=name)


def outfeed_dequeue_op(
    channel_name: str, output_types: Sequence[DType], output_shapes: Sequence[Shape], name: str | None = None
) -> list[tf.Tensor]:
    """Return the tensors that a channel to the host holds next; reading one that is stopped ends as a dataset does."""
    queue = _queue(channel_name, output_types)
    assert queue is not None
    tensors = queue.dequeue(name=name)
    tensors = tensors if isinstance(tensors, (list, tuple)) else [tensors]
    for tensor, shape in zip(tensors, output_shapes, strict=True):
        tensor.set_shape(shape)
    return list(tensors)


def stop_outfeed_dequeue_op(channel_name: str, name: str | None = None) -> tf.Operation:
    """Return an operator that closes a channel of the graph."""
    queue = _queue(channel_name)
    return tf.no_op(name=name) if queue is None else queue.close(name=name)
