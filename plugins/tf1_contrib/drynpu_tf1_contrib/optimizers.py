"""
Optimizers of ``tf.contrib.opt``: LARS, lazy Adam, Nadam, decoupled weight decay, and moving averages of the weights.

Updates of dense gradients are the operators that TensorFlow 1.15 ran (``ApplyMomentum``, ``ApplyAdam``), so they are
one kernel on a device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from drynpu_tf.foreign import DType, GradientPair, Operation, Optimizer, Tensor, TensorLike, Variable
from drynpu_tf.inside import gen_training_ops


class LARSOptimizer(tf.train.MomentumOptimizer):
    """
    Momentum whose learning rate is scaled by layer: ``eeta * |w| / (|g| + weight_decay * |w| + epsilon)``.

    Parameters
    ----------
    learning_rate, momentum, use_nesterov:
        As of ``tf.train.MomentumOptimizer``.
    weight_decay, eeta, epsilon:
        Of the scale above. It is 1 where the norm of the weights or of the gradient is 0. Weights do not decay.
    name:
        Of the operators and of the slot's variables.
    skip_list:
        Variables whose name contains one of these texts keep the learning rate, and so do sparse gradients.

    Raises
    ------
    ValueError
        Momentum or weight decay is negative.
    """

    def __init__(
        self,
        learning_rate: TensorLike,
        momentum: float = 0.9,
        weight_decay: float = 0.0001,
        eeta: float = 0.001,
        epsilon: float = 0.0,
        name: str = "LARSOptimizer",
        skip_list: Sequence[str] | None = None,
        use_nesterov: bool = False,
    ) -> None:
        for word, value in (("momentum", momentum), ("weight_decay", weight_decay)):
            if value < 0.0:
                raise ValueError(f"{word} should be positive: {value}")
        super().__init__(learning_rate, momentum, name=name, use_nesterov=use_nesterov)
        self._weight_decay = weight_decay
        self._eeta = eeta
        self._epsilon = epsilon
        self._skip_list = tuple(skip_list or ())

    def compute_lr(self, grad: Tensor, var: Variable) -> Tensor:
        """Return the learning rate of a variable, a scalar of float32."""
        rate = self._learning_rate_tensor
        if any(text in var.name for text in self._skip_list):
            return rate
        weights, gradients = tf.norm(var, ord=2), tf.norm(grad, ord=2)
        scale = self._eeta * weights / (gradients + self._weight_decay * weights + self._epsilon)
        scale = tf.where(tf.greater(weights, 0), tf.where(tf.greater(gradients, 0), scale, 1.0), 1.0)
        return rate * scale

    def _apply_dense(self, grad: Tensor, var: Variable) -> Operation:
        slot = self.get_slot(var, "momentum")
        rate = tf.cast(self.compute_lr(grad, var), var.dtype.base_dtype)
        momentum = tf.cast(self._momentum_tensor, var.dtype.base_dtype)
        return gen_training_ops.apply_momentum(var, slot, rate, grad, momentum, use_nesterov=self._use_nesterov).op

    def _resource_apply_dense(self, grad: Tensor, var: Variable) -> Operation:
        slot = self.get_slot(var, "momentum")
        rate = tf.cast(self.compute_lr(grad, var), grad.dtype)
        momentum = tf.cast(self._momentum_tensor, grad.dtype)
        return gen_training_ops.resource_apply_momentum(
            var.handle, slot.handle, rate, grad, momentum, use_nesterov=self._use_nesterov
        )


class _SparseAdam(tf.train.AdamOptimizer):
    """Adam with an update of its own for sparse gradients, the same for both kinds of variables."""

    def _apply_sparse(self, grad: Tensor, var: Variable) -> Operation:
        return self._apply_rows(grad.values, var, grad.indices)

    def _resource_apply_sparse(self, grad: Tensor, var: Variable, indices: TensorLike) -> Operation:
        return self._apply_rows(grad, var, indices)

    def _apply_rows(self, grad: Tensor, var: Variable, indices: TensorLike) -> Operation:
        raise NotImplementedError

    def _numbers(self, dtype: DType) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return the learning rate with Adam's correction, both decays and epsilon, as tensors of *dtype*."""
        first_power, second_power = (tf.cast(power, dtype) for power in self._get_beta_accumulators())
        rate, first, second, epsilon = (
            tf.cast(value, dtype) for value in (self._lr_t, self._beta1_t, self._beta2_t, self._epsilon_t)
        )
        return rate * tf.sqrt(1 - second_power) / (1 - first_power), first, second, epsilon


class LazyAdamOptimizer(_SparseAdam):
    """Adam that for a sparse gradient changes only the rows that it has, in the moments as well."""

    def _apply_rows(self, grad: Tensor, var: Variable, indices: TensorLike) -> Operation:
        rate, first, second, epsilon = self._numbers(var.dtype.base_dtype)
        moment, square = self.get_slot(var, "m"), self.get_slot(var, "v")
        moment_rows = first * tf.gather(moment, indices) + (1 - first) * grad
        square_rows = second * tf.gather(square, indices) + (1 - second) * tf.square(grad)
        return tf.group(
            tf.scatter_update(moment, indices, moment_rows, use_locking=self._use_locking),
            tf.scatter_update(square, indices, square_rows, use_locking=self._use_locking),
            tf.scatter_sub(
                var, indices, rate * moment_rows / (tf.sqrt(square_rows) + epsilon), use_locking=self._use_locking
            ),
        )


class NadamOptimizer(_SparseAdam):
    """Adam with Nesterov's momentum: the step goes along ``beta1 * m + (1 - beta1) * gradient``."""

    def _apply_dense(self, grad: Tensor, var: Variable) -> Operation:
        return self._apply_whole(gen_training_ops.apply_adam, grad, var, lambda variable: variable)

    def _resource_apply_dense(self, grad: Tensor, var: Variable) -> Operation:
        return self._apply_whole(gen_training_ops.resource_apply_adam, grad, var, lambda variable: variable.handle)

    def _apply_whole(
        self, apply: Callable[..., Any], grad: Tensor, var: Variable, place: Callable[[Any], Any]
    ) -> Operation:
        numbers = (*self._get_beta_accumulators(), self._lr_t, self._beta1_t, self._beta2_t, self._epsilon_t)
        variables = (var, self.get_slot(var, "m"), self.get_slot(var, "v"))
        return apply(
            *map(place, variables),
            *(tf.cast(number, grad.dtype.base_dtype) for number in numbers),
            grad,
            use_locking=self._use_locking,
            use_nesterov=True,
        )

    def _apply_rows(self, grad: Tensor, var: Variable, indices: TensorLike) -> Operation:
        rate, first, second, epsilon = self._numbers(var.dtype.base_dtype)
        moment, square = self.get_slot(var, "m"), self.get_slot(var, "v")
        share = (1 - first) * grad
        with tf.control_dependencies([tf.assign(moment, moment * first), tf.assign(square, square * second)]):
            moments = tf.group(
                tf.scatter_add(moment, indices, share),
                tf.scatter_add(square, indices, (1 - second) * tf.square(grad)),
            )
        with tf.control_dependencies([moments]):
            ahead = share + first * tf.gather(moment, indices)
            length = tf.sqrt(tf.gather(square, indices)) + epsilon
            return tf.group(tf.scatter_sub(var, indices, rate * ahead / length), moments)


class DecoupledWeightDecayExtension:
    """
    Let an optimizer shrink its variables by ``weight_decay`` before each step.

    It stands before the optimizer among the bases of a class. ``minimize`` and ``apply_gradients`` then also take
    ``decay_var_list``, the variables that decay; without it all do.
    """

    def __init__(self, weight_decay: TensorLike, **kwargs: Any) -> None:
        self._decaying: tuple[Any, ...] | None = None
        self._weight_decay = weight_decay
        self._weight_decay_tensor: Any = None
        super().__init__(**kwargs)

    def minimize(self, *args: object, decay_var_list: Iterable[Variable] | None = None, **kwargs: object) -> Operation:
        """Return the operator of the optimizer that minimizes, with decay before each step."""
        self._choose(decay_var_list)
        operator: Any = super()
        return operator.minimize(*args, **kwargs)

    def apply_gradients(
        self, *args: object, decay_var_list: Iterable[Variable] | None = None, **kwargs: object
    ) -> Operation:
        """Return the operator of the optimizer that applies gradients, with decay before each step."""
        if decay_var_list is not None:
            self._choose(decay_var_list)
        operator: Any = super()
        return operator.apply_gradients(*args, **kwargs)

    def _choose(self, variables: Iterable[Variable] | None) -> None:
        self._decaying = tuple(variables) if variables else None

    def _prepare(self) -> None:
        decay = self._weight_decay() if callable(self._weight_decay) else self._weight_decay
        self._weight_decay_tensor = tf.convert_to_tensor(decay, name="weight_decay")
        parent: Any = super()
        parent._prepare()

    def _decays(self, var: Variable) -> bool:
        return self._decaying is None or any(var is each for each in self._decaying)

    def _decay(self, var: Variable) -> list[Operation]:
        if not self._decays(var):
            return []
        return [tf.assign_sub(var, tf.cast(self._weight_decay_tensor, var.dtype.base_dtype) * var)]

    def _decay_rows(self, var: Variable, indices: TensorLike) -> list[Operation]:
        if not self._decays(var):
            return []
        decay = tf.cast(self._weight_decay_tensor, var.dtype.base_dtype)
        return [tf.scatter_sub(var, indices, decay * tf.gather(var, indices))]

    def _apply_dense(self, grad: Tensor, var: Variable) -> Operation:
        parent: Any = super()
        with tf.control_dependencies(self._decay(var)):
            return parent._apply_dense(grad, var)

    def _resource_apply_dense(self, grad: Tensor, var: Variable) -> Operation:
        parent: Any = super()
        with tf.control_dependencies(self._decay(var)):
            return parent._resource_apply_dense(grad, var)

    def _apply_sparse(self, grad: Tensor, var: Variable) -> Operation:
        parent: Any = super()
        with tf.control_dependencies(self._decay_rows(var, grad.indices)):
            return parent._apply_sparse(grad, var)

    def _resource_apply_sparse(self, grad: Tensor, var: Variable, indices: TensorLike) -> Operation:
        parent: Any = super()
        with tf.control_dependencies(self._decay_rows(var, indices)):
            return parent._resource_apply_sparse(grad, var, indices)


def extend_with_decoupled_weight_decay(base_optimizer: type) -> type:
    """Return a class of optimizers like *base_optimizer* whose first argument is the decay of the weights."""

    class OptimizerWithDecoupledWeightDecay(DecoupledWeightDecayExtension, base_optimizer):
        """The optimizer with weights that decay."""

        def __init__(self, weight_decay: Tensor, *args: Any, **kwargs: Any) -> None:
            names = base_optimizer.__init__.__code__.co_varnames[1:]  # type: ignore[misc]
            super().__init__(weight_decay, **dict(zip(names, args, strict=False)), **kwargs)

    return OptimizerWithDecoupledWeightDecay


class AdamWOptimizer(DecoupledWeightDecayExtension, tf.train.AdamOptimizer):
    """Adam with weights that decay apart from the gradient."""

    def __init__(
        self,
        weight_decay: TensorLike,
        learning_rate: TensorLike = 0.001,
        beta1: TensorLike = 0.9,
        beta2: TensorLike = 0.999,
        epsilon: TensorLike = 1e-8,
        use_locking: bool = False,
        name: str = "AdamW",
    ) -> None:
        super().__init__(
            weight_decay,
            learning_rate=learning_rate,
            beta1=beta1,
            beta2=beta2,
            epsilon=epsilon,
            use_locking=use_locking,
            name=name,
        )


class MomentumWOptimizer(DecoupledWeightDecayExtension, tf.train.MomentumOptimizer):
    """Momentum with weights that decay apart from the gradient."""

    def __init__(
        self,
        weight_decay: TensorLike,
        learning_rate: TensorLike,
        momentum: TensorLike,
        use_locking: bool = False,
        name: str = "MomentumW",
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(
            weight_decay,
            learning_rate=learning_rate,
            momentum=momentum,
            use_locking=use_locking,
            name=name,
            use_nesterov=use_nesterov,
        )


class MovingAverageOptimizer(tf.train.Optimizer):
    """
    Another optimizer, and a moving average of the variables that it changes.

    Parameters
    ----------
    opt:
        The optimizer that computes and applies gradients.
    average_decay, num_updates:
        As of ``tf.train.ExponentialMovingAverage``.
    sequential_update:
        Whether the average is updated after the variables, or at the same time.
    """

    def __init__(
        self,
        opt: Optimizer,
        average_decay: float = 0.9999,
        num_updates: TensorLike = None,
        sequential_update: bool = True,
    ) -> None:
        super().__init__(False, "MovingAverageOptimizer")
        self._optimizer = opt
        self._ema = tf.train.ExponentialMovingAverage(average_decay, num_updates=num_updates)
        self._swapped: dict[str, Any] | None = None
        self._sequential_update = sequential_update

    def compute_gradients(self, *args: object, **kwargs: object) -> list[GradientPair]:
        """Return the gradients that the inner optimizer computes."""
        pairs: list[GradientPair] = self._optimizer.compute_gradients(*args, **kwargs)
        return pairs

    def apply_gradients(
        self, grads_and_vars: Iterable[GradientPair], global_step: Variable = None, name: str | None = None
    ) -> Operation:
        """Return the operator that applies gradients and updates the averages."""
        pairs = list(grads_and_vars)
        train = self._optimizer.apply_gradients(pairs, global_step=global_step, name=name)
        variables = [variable for gradient, variable in pairs if gradient is not None]
        with tf.control_dependencies([train] if self._sequential_update else []):
            average = self._ema.apply(variables)
        self._swapped = {}
        for variable in variables:
            mean = self._ema.average(variable)
            self._swapped |= {variable.op.name: mean, mean.op.name: variable}
        return tf.group(train, average, name="train_with_avg")

    def swapping_saver(self, var_list: Any = None, name: str = "swapping_saver", **kwargs: Any) -> Any:
        """
        Return a ``tf.train.Saver`` that saves the averages under the names of the variables, and the other way round.

        Raises
        ------
        RuntimeError
            Neither ``minimize`` nor ``apply_gradients`` was called before.
        """
        if self._swapped is None:
            raise RuntimeError("Must call apply_gradients or minimize before creating the swapping_saver")
        variables = tf.global_variables() if var_list is None else var_list
        if not isinstance(variables, dict):
            variables = {variable.op.name: variable for variable in variables}
        swapped = {key: self._swapped.get(variable.op.name, variable) for key, variable in variables.items()}
        return tf.train.Saver(swapped, name=name, **kwargs)
