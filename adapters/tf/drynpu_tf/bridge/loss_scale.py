"""
Loss scaling: the managers and the optimizer of ``npu_bridge``, whose bases TensorFlow removed with contrib.

A device shows overflows in a register; here the gradients are looked at, as TensorFlow's own managers did.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import tensorflow.compat.v2 as tf

from drynpu_tf.bridge.collectives import allreduce
from drynpu_tf.foreign import GradientPair, Operation, Optimizer, Tensor, TensorLike, Variable

_LARGEST_FLOAT = 3.4e38
"""A scale that would grow beyond float32 stays."""


class LossScaleManager(Protocol):
    """What scales a loss: one of the classes below, or what has their methods."""

    def get_loss_scale(self) -> Tensor:
        """Return the scale, float32."""

    def update_loss_scale(self, finite_grads: Tensor) -> Operation:
        """Return an operator that changes the scale by whether the gradients of a step are finite."""


class FixedLossScaleManager:
    """
    A loss scale that never changes.

    Parameters
    ----------
    loss_scale:
        At least 1, else ``ValueError``.
    enable_overflow_check:
        Whether steps whose gradients overflow are left out.
    """

    def __init__(self, loss_scale: float, enable_overflow_check: bool = True) -> None:
        if loss_scale < 1:
            raise ValueError("loss scale must be at least 1.")
        self._loss_scale = tf.convert_to_tensor(loss_scale, dtype=tf.float32, name="loss_scale")
        self._enable_overflow_check = enable_overflow_check

    def get_loss_scale(self) -> Tensor:
        """Return the scale, float32."""
        return self._loss_scale

    def get_enable_overflow_check(self) -> bool:
        """Return whether overflows are looked for."""
        return self._enable_overflow_check

    def update_loss_scale(self, finite_grads: Tensor) -> tf.Operation:
        """Return an operator that does nothing."""
        return tf.no_op()


class ExponentialUpdateLossScaleManager:
    """
    A loss scale that grows after good steps and shrinks after bad ones.

    Parameters
    ----------
    init_loss_scale:
        The first scale.
    incr_every_n_steps, incr_ratio:
        It is multiplied by the ratio after that many finite steps.
    decr_every_n_nan_or_inf, decr_ratio:
        It is multiplied by the ratio after that many steps that were not, never below 1.
    """

    def __init__(
        self,
        init_loss_scale: float,
        incr_every_n_steps: int,
        decr_every_n_nan_or_inf: int = 2,
        incr_ratio: float = 2,
        decr_ratio: float = 0.8,
    ) -> None:
        self._incr_every_n_steps = incr_every_n_steps
        self._decr_every_n_nan_or_inf = decr_every_n_nan_or_inf
        self._incr_ratio = incr_ratio
        self._decr_ratio = decr_ratio
        self._loss_scale = _variable("loss_scale", float(init_loss_scale), tf.float32)
        self._num_good_steps = _variable("good_steps", 0, tf.int32)
        self._num_bad_steps = _variable("bad_steps", 0, tf.int32)

    def get_loss_scale(self) -> Tensor:
        """Return the variable of the scale, float32."""
        return self._loss_scale

    def update_loss_scale(self, finite_grads: Tensor) -> tf.Operation:
        """Return an operator that counts the step and changes the scale where it is time to."""
        good = tf.where(finite_grads, self._num_good_steps + 1, 0)
        bad = tf.where(finite_grads, self._num_bad_steps, self._num_bad_steps + 1)
        grows = good >= self._incr_every_n_steps
        shrinks = tf.logical_and(tf.logical_not(finite_grads), bad >= self._decr_every_n_nan_or_inf)
        larger = tf.where(
            self._loss_scale < _LARGEST_FLOAT / self._incr_ratio, self._loss_scale * self._incr_ratio, self._loss_scale
        )
        smaller = tf.maximum(1.0, self._loss_scale * self._decr_ratio)
        scale = tf.where(grows, larger, tf.where(shrinks, smaller, self._loss_scale))
        starts_again = tf.logical_or(grows, shrinks)
        with tf.control_dependencies([scale, good, bad]):
            return tf.group(
                tf.compat.v1.assign(self._loss_scale, scale),
                tf.compat.v1.assign(self._num_good_steps, tf.where(starts_again, 0, good)),
                tf.compat.v1.assign(self._num_bad_steps, tf.where(starts_again, 0, bad)),
            )


def _variable(name: str, value: float, dtype: tf.DType) -> Variable:
    # A number and no tensor: TensorFlow makes the tensor outside of control dependencies that the script has open. A
    # tensor would wait for them, so for moving averages of a batch norm that are not initialized either.
    return tf.compat.v1.Variable(value, trainable=False, name=name, dtype=dtype)


def scaled_loss(loss: TensorLike, manager: LossScaleManager) -> Tensor:
    """Return the loss (a tensor, or a function of none) times the manager's scale, in the loss's dtype."""
    value = loss() if callable(loss) else loss
    return value * tf.cast(manager.get_loss_scale(), value.dtype)


def scaled_down(grads_and_vars: Sequence[GradientPair], manager: LossScaleManager) -> list[GradientPair]:
    """Return the gradients divided by the manager's scale; ``None`` stays."""
    factor = 1.0 / tf.cast(manager.get_loss_scale(), tf.float32)
    return [(_times(grad, factor), variable) for grad, variable in grads_and_vars]


def _times(grad: Tensor, factor: Tensor) -> Tensor:
    if grad is None:
        return None
    if isinstance(grad, tf.IndexedSlices):
        return tf.IndexedSlices(_times(grad.values, factor), grad.indices, dense_shape=grad.dense_shape)
    return grad * tf.cast(factor, grad.dtype)


def all_finite(grads: Sequence[Tensor]) -> Tensor:
    """Return a bool tensor: no gradient has an infinity or is no number. ``None`` is passed over."""
    values = [grad.values if isinstance(grad, tf.IndexedSlices) else grad for grad in grads if grad is not None]
    if not values:
        return tf.constant(True)
    return tf.reduce_all(tf.stack([tf.reduce_all(tf.math.is_finite(value)) for value in values]))


def apply_where_finite(
    optimizer: Optimizer,
    manager: LossScaleManager,
    pairs: Sequence[GradientPair],
    *arguments: object,
    distributed: bool,
    checks: bool = True,
) -> tf.Operation:
    """
    Return an operator that applies gradients if all are finite, and updates the scale.

    Parameters
    ----------
    pairs:
        Gradients with their variables; *arguments* follow them in the call of ``optimizer.apply_gradients``.
    distributed:
        Whether the gradients of all ranks have to be finite.
    checks:
        Whether gradients are looked at; if not, they count as finite.
    """
    finite = all_finite([grad for grad, _ in pairs]) if checks else tf.constant(True)
    if checks and distributed:
        # hccl reduces no bool.
        finite = tf.equal(allreduce(tf.cast(finite, tf.float32), "min"), 1.0)
    update = tf.cond(
        finite,
        lambda: tf.group(optimizer.apply_gradients(pairs, *arguments)),
        lambda: tf.no_op(),
    )
    return tf.group(update, manager.update_loss_scale(finite))


class WrappingOptimizer(tf.compat.v1.train.Optimizer):
    """An optimizer around another one, whose slots and variables it shows as its own."""

    def __init__(self, inner: Optimizer, name: str) -> None:
        self._inner = inner
        super().__init__(use_locking=False, name=name)

    def get_slot(self, *arguments: object, **keywords: object) -> Variable:
        """Return a slot of the optimizer inside."""
        return self._inner.get_slot(*arguments, **keywords)

    def get_slot_names(self, *arguments: object, **keywords: object) -> Any:
        """Return the slot names of the optimizer inside."""
        return self._inner.get_slot_names(*arguments, **keywords)

    def variables(self, *arguments: object, **keywords: object) -> Any:
        """Return the variables of the optimizer inside."""
        return self._inner.variables(*arguments, **keywords)


class NPULossScaleOptimizer(WrappingOptimizer):
    """
    An optimizer whose loss is scaled, and that leaves out steps whose gradients overflow.

    Parameters
    ----------
    opt:
        The ``tf.compat.v1.train.Optimizer`` that computes and applies the gradients.
    loss_scale_manager:
        `FixedLossScaleManager`, `ExponentialUpdateLossScaleManager`, or what has their methods.
    is_distributed:
        Whether a step counts as finite only if it is on all ranks.
    """

    def __init__(self, opt: Optimizer, loss_scale_manager: LossScaleManager, is_distributed: bool = False) -> None:
        self._opt = opt
        self._loss_scale_manager = loss_scale_manager
        self._is_distributed = is_distributed
        super().__init__(opt, f"NPULossScaleOptimizer{type(opt).__name__}")

    def __getattr__(self, name: str) -> Any:
        if name == "_opt":  # not set yet, as while a copy is made
            raise AttributeError(name)
        return getattr(self._opt, name)

    def compute_gradients(
        self, loss: TensorLike, var_list: Iterable[Variable] | None = None, *arguments: object, **keywords: object
    ) -> list[GradientPair]:
        """Return the gradients of *loss*, as of an unscaled one."""
        gradients = self._opt.compute_gradients(
            scaled_loss(loss, self._loss_scale_manager), var_list, *arguments, **keywords
        )
        return scaled_down(gradients, self._loss_scale_manager)

    def apply_gradients(
        self, grads_and_vars: Iterable[GradientPair], global_step: Variable = None, name: str | None = None
    ) -> tf.Operation:
        """Return an operator that applies finite gradients and updates the scale."""
        manager = self._loss_scale_manager
        checks = getattr(manager, "get_enable_overflow_check", lambda: True)()
        return apply_where_finite(
            self._opt,
            manager,
            list(grads_and_vars),
            global_step,
            name,
            distributed=self._is_distributed,
            checks=checks,
        )
