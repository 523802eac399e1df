"""
Steps of optimizers that are one operator of the device: Adam and LAMB, which write back what they change.

Their inputs have the vendor's names; *input1*, *input2* and the weight are variables.
"""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v2 as tf


def adam_apply_one_assign(
    input0: Any,
    input1: Any,
    input2: Any,
    input3: Any,
    input4: Any,
    mul0_x: Any,
    mul1_x: Any,
    mul2_x: Any,
    mul3_x: Any,
    add2_y: Any,
    name: str | None = None,
) -> Any:
    """Make one step of Adam without decay; see :func:`adam_apply_one_with_decay_assign`."""
    factors, name = (mul0_x, mul1_x, mul2_x, mul3_x, 0.0, add2_y), name or "AdamApplyOneAssign"
    return adam_apply_one_with_decay_assign(input0, input1, input2, input3, input4, *factors, name)


def adam_apply_one_with_decay_assign(
    input0: Any,
    input1: Any,
    input2: Any,
    input3: Any,
    input4: Any,
    mul0_x: Any,
    mul1_x: Any,
    mul2_x: Any,
    mul3_x: Any,
    mul4_x: Any,
    add2_y: Any,
    name: str | None = None,
) -> Any:
    """
    Make one step of Adam with decoupled decay, and return the operator that does.

    With gradient ``g`` (*input0*), second moment ``v`` (*input1*), first moment ``m`` (*input2*), weight ``w``
    (*input3*), learning rate *input4*: ``v <- mul2_x v + mul3_x g^2``, ``m <- mul0_x m + mul1_x g``,
    ``w <- w - input4 (m / (sqrt(v) + add2_y) + mul4_x w)``. Raises ``TypeError`` where one is no variable.
    """
    with tf.name_scope(name or "AdamApplyOneWithDecayAssign"):
        second = mul2_x * input1 + mul3_x * tf.square(input0)
        first = mul0_x * input2 + mul1_x * input0
        change = first / (tf.sqrt(second) + add2_y) + mul4_x * input3
        values = [(input1, second), (input2, first), (input3, input3 - input4 * change)]
        return tf.group(*_assigned(values, "adam_apply_one_assign"))


def lamb_apply_optimizer_assign(
    input0: Any,
    input1: Any,
    input2: Any,
    input3: Any,
    mul0_x: Any,
    mul1_x: Any,
    mul2_x: Any,
    mul3_x: Any,
    add2_y: Any,
    steps: Any,
    do_use_weight: Any,
    weight_decay_rate: Any,
    name: str | None = None,
) -> tuple[Any, Any, Any]:
    """
    Return the update of LAMB before its trust ratio, and the moments ``v`` and ``m``, which it writes back.

    Inputs as those of Adam; moments are corrected by ``1 - beta^steps``, and ``do_use_weight weight_decay_rate w`` is
    added.
    """
    with tf.name_scope(name or "LambApplyOptimizerAssign"):
        second = mul2_x * input1 + mul3_x * tf.square(input0)
        first = mul0_x * input2 + mul1_x * input0
        second_hat = second / (1.0 - tf.pow(mul2_x, steps))
        first_hat = first / (1.0 - tf.pow(mul0_x, steps))
        update = first_hat / (tf.sqrt(second_hat) + add2_y) + do_use_weight * weight_decay_rate * input3
        with tf.control_dependencies(_assigned([(input1, second), (input2, first)], "lamb_apply_optimizer_assign")):
            return tf.identity(update), tf.identity(second), tf.identity(first)


def lamb_apply_weight_assign(
    input0: Any, input1: Any, input2: Any, input3: Any, input4: Any, name: str | None = None
) -> Any:
    """
    Return the weight after LAMB's update, which it writes back to *input4*.

    The learning rate *input2* is multiplied by the trust ratio *input0* / *input1* (the norms of weight and update), 1
    where one of them is 0.
    """
    with tf.name_scope(name or "LambApplyWeightAssign"):
        one = tf.ones_like(input0)
        ratio = tf.where(input0 > 0, tf.where(input1 > 0, input0 / input1, one), one)
        value = input4 - ratio * input2 * input3
        with tf.control_dependencies(_assigned([(input4, value)], "lamb_apply_weight_assign")):
            return tf.identity(value)


def _assigned(values: list[tuple[Any, Any]], operator: str) -> list[Any]:
    """Return operators that write values to variables once all of them are computed."""
    for variable, _ in values:
        if not hasattr(variable, "assign"):
            kind = type(variable).__name__
            raise TypeError(f"{operator}: writes to its inputs, which have to be variables; got {kind}")
    with tf.control_dependencies([value for _, value in values]):
        return [variable.assign(value) for variable, value in values]
