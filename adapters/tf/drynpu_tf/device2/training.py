"""``npu_device.train`` and ``npu_device.ops``: loss scaling and Gelu (tf_adapters.md 2)."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from typing import Any, cast

import tensorflow as tf

from drynpu_tf.bridge.vendor_operator import vendor_operator
from drynpu_tf.foreign import GradientPair, Optimizer, Tensor, TensorLike, WithGradient

_DENSITY_AT_0 = 1 / math.sqrt(2 * math.pi)
"""The density of N(0, 1) at 0."""


def gelu(x: TensorLike) -> Tensor:
    """Return ``x * P(X <= x)`` with X of N(0, 1); with the type of *x*."""

    def slope_of(slope: Tensor, x: Tensor, _: Tensor) -> Tensor:
        below = 0.5 * (1.0 + tf.math.erf(x * tf.cast(math.sqrt(0.5), x.dtype)))
        return slope * (below + x * tf.cast(_DENSITY_AT_0, x.dtype) * tf.exp(-0.5 * x * x))

    @tf.custom_gradient  # type: ignore[untyped-decorator]
    def layer(x: Tensor) -> WithGradient:
        y = vendor_operator("Gelu", [x], tf.nn.gelu)
        return y, lambda slope: vendor_operator("GeluGrad", [slope, x, y], slope_of)

    return layer(tf.convert_to_tensor(x))


class NpuLossScaleOptimizer:
    """
    Keras' ``LossScaleOptimizer`` with the property ``last_step_finite``.

    A device in saturation mode shows overflows in a register; on the CPU they are infinite, as Keras expects. Calling
    the class returns an instance of Keras' own class for such an *inner_optimizer*.

    Parameters
    ----------
    inner_optimizer, dynamic, initial_scale, dynamic_growth_steps:
        As for ``tf.keras.mixed_precision.LossScaleOptimizer``.
    """

    def __new__(
        cls,
        inner_optimizer: Optimizer,
        dynamic: bool = True,
        initial_scale: float | None = None,
        dynamic_growth_steps: int | None = None,
    ) -> Any:
        """Return an optimizer of Keras' own class, with one property more."""
        # Keras chooses between two classes by the optimizer inside, so the class is extended when it has chosen.
        optimizer = tf.keras.mixed_precision.LossScaleOptimizer(
            inner_optimizer, dynamic, initial_scale, dynamic_growth_steps
        )
        optimizer.__dict__["_last_step_finite"] = tf.Variable(False, trainable=False, name="npu_last_step_finite")
        optimizer.__class__ = _watching(cast("Any", type(optimizer)))
        return optimizer


# N28, docs/tricks.md
@functools.cache
def _watching(base: Any) -> Any:
    """Return a class of loss scale optimizers with ``last_step_finite``; *base* differs between Keras' optimizers."""

    class Watching(base):
        @property
        def last_step_finite(self) -> Any:
            """Variable: whether no gradient of the last step was infinite or not a number."""
            return self.__dict__["_last_step_finite"]

        def apply_gradients(self, grads_and_vars: Iterable[GradientPair], *values: object, **named: object) -> Any:
            """Apply gradients, unless one of them is not finite."""
            pairs = tuple(grads_and_vars)
            finite = [tf.reduce_all(tf.math.is_finite(grad)) for grad, _ in pairs if grad is not None]
            self._last_step_finite.assign(tf.reduce_all(finite))
            return super().apply_gradients(pairs, *values, **named)

    Watching.__name__ = Watching.__qualname__ = NpuLossScaleOptimizer.__name__
    return Watching
