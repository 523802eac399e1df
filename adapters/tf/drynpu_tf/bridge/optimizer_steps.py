"""
Steps of optimizers that are one operator of the device: Adam and LAMB, which write back what they change.

Their inputs have the vendor's names; *input1*, *input2* and the weight are variables.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import tensorflow.compat.v2 as tf

from drynpu_tf.bridge.vendor_operator import vendor_operator
from drynpu_tf.foreign import GradientPair, Operation, Tensor, TensorLike, Variable


def adam_apply_one_assign(
    input0: TensorLike,
    input1: TensorLike,
    input2: TensorLike,
    input3: TensorLike,
    input4: TensorLike,
    mul0_x: TensorLike,
    mul1_x: TensorLike,
    mul2_x: TensorLike,
    mul3_x: TensorLike,
    add2_y: TensorLike,
    name: str | None = None,
) -> Tensor:
    """Make one step of Adam without decay; see :func:`adam_apply_one_with_decay_assign`."""
    factors = (mul0_x, mul1_x, mul2_x, mul3_x, 0.0, add2_y)
    return _adam("AdamApplyOneAssign", name, input0, input1, input2, input3, input4, *factors)


def adam_apply_one_with_decay_assign(
    input0: TensorLike,
    input1: TensorLike,
    input2: TensorLike,
    input3: TensorLike,
    input4: TensorLike,
    mul0_x: TensorLike,
    mul1_x: TensorLike,
    mul2_x: TensorLike,
    mul3_x: TensorLike,
    mul4_x: TensorLike,
    add2_y: TensorLike,
    name: str | None = None,
) -> Tensor:
    """
    Make one step of Adam with decoupled decay, and return the operator that does.

    With gradient ``g`` (*input0*), second moment ``v`` (*input1*), first moment ``m`` (*input2*), weight ``w``
    (*input3*), learning rate *input4*: ``v <- mul2_x v + mul3_x g^2``, ``m <- mul0_x m + mul1_x g``,
    ``w <- w - input4 (m / (sqrt(v) + add2_y) + mul4_x w)``. Raises ``TypeError`` where one is no variable.
    """
    factors = (mul0_x, mul1_x, mul2_x, mul3_x, mul4_x, add2_y)
    return _adam("AdamApplyOneWithDecayAssign", name, input0, input1, input2, input3, input4, *factors)


def _adam(
    kind: str,
    name: str | None,
    g: TensorLike,
    v: TensorLike,
    m: TensorLike,
    w: TensorLike,
    rate: TensorLike,
    *factors: TensorLike,
) -> Tensor:
    """Make the step of :func:`adam_apply_one_with_decay_assign` by an operator of that kind."""

    def compute(*tensors: Tensor) -> Sequence[Tensor]:
        g, v, m, w, rate, mul0, mul1, mul2, mul3, mul4, add2 = tensors
        second, first = mul2 * v + mul3 * tf.square(g), mul0 * m + mul1 * g
        return second, first, w - rate * (first / (tf.sqrt(second) + add2) + mul4 * w)

    assigned = _written(kind, [v, m, w], compute, [g, v, m, w, rate, *factors], name)
    return tf.group(*(operator for _, operator in assigned))


def lamb_apply_optimizer_assign(
    input0: TensorLike,
    input1: TensorLike,
    input2: TensorLike,
    input3: TensorLike,
    mul0_x: TensorLike,
    mul1_x: TensorLike,
    mul2_x: TensorLike,
    mul3_x: TensorLike,
    add2_y: TensorLike,
    steps: TensorLike,
    do_use_weight: TensorLike,
    weight_decay_rate: TensorLike,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """
    Return the update of LAMB before its trust ratio, and the moments ``v`` and ``m``, which it writes back.

    Inputs as for Adam; moments are corrected by ``1 - beta^steps``, and ``do_use_weight weight_decay_rate w`` is
    added.
    """

    def compute(*tensors: Tensor) -> Sequence[Tensor]:
        g, v, m, w, mul0, mul1, mul2, mul3, add2, step, use, decay = tensors
        second, first = mul2 * v + mul3 * tf.square(g), mul0 * m + mul1 * g
        hat, mean = second / (1.0 - tf.pow(mul2, step)), first / (1.0 - tf.pow(mul0, step))
        return second, first, mean / (tf.sqrt(hat) + add2) + use * decay * w

    inputs = [input0, input1, input2, input3, mul0_x, mul1_x, mul2_x, mul3_x, add2_y]
    inputs += [steps, do_use_weight, weight_decay_rate]
    written = _written("LambApplyOptimizerAssign", [input1, input2], compute, inputs, name)
    with tf.control_dependencies([operator for _, operator in written if operator is not None]):
        second, first, update = (tf.identity(value) for value, _ in written)
    return update, second, first


def lamb_apply_weight_assign(
    input0: TensorLike,
    input1: TensorLike,
    input2: TensorLike,
    input3: TensorLike,
    input4: TensorLike,
    name: str | None = None,
) -> Tensor:
    """
    Return the weight after LAMB's update, which it writes back to *input4*.

    The learning rate *input2* is multiplied by the trust ratio *input0* / *input1* (the norms of weight and update), 1
    where one of them is 0.
    """

    def compute(*tensors: Tensor) -> Sequence[Tensor]:
        weight_norm, update_norm, rate, update, weight = tensors
        one = tf.ones_like(weight_norm)
        ratio = tf.where(weight_norm > 0, tf.where(update_norm > 0, weight_norm / update_norm, one), one)
        return (weight - ratio * rate * update,)

    inputs = [input0, input1, input2, input3, input4]
    ((value, operator),) = _written("LambApplyWeightAssign", [input4], compute, inputs, name)
    with tf.control_dependencies([operator]):
        return tf.identity(value)


def _written(
    kind: str,
    variables: Sequence[Variable],
    compute: Callable[..., Sequence[TensorLike]],
    inputs: Sequence[TensorLike],
    name: str | None,
) -> list[GradientPair]:
    """
    Return the results of an operator, each with what writes it to its variable; further results have None.

    Nothing is written before all results are computed. Raises ``TypeError`` where a variable is none.
    """
    for variable in variables:
        if not hasattr(variable, "assign"):
            function = re.sub("(?<!^)(?=[A-Z])", "_", kind).lower()
            kind_name = type(variable).__name__
            raise TypeError(f"{function}: writes to its inputs, which have to be variables; got {kind_name}")
    dtype = variables[0].dtype.base_dtype
    writes: list[Operation] = []

    def compute_and_write(*tensors: Tensor) -> Sequence[Tensor]:
        values = compute(*tensors)
        with tf.control_dependencies(values):
            writes.extend(variable.assign(value) for variable, value in zip(variables, values, strict=False))
        return values

    tensors = [tf.convert_to_tensor(each, dtype=None if tf.is_tensor(each) else dtype) for each in inputs]
    values = vendor_operator(kind, tensors, compute_and_write, name=name)
    return [(value, writes[number] if number < len(writes) else None) for number, value in enumerate(values)]
