"""
Distributed optimizers and the strategy of ``npu_bridge`` (``npu_optimizer``, ``npu_strategy``; tf_adapters.md 1.6).

With one rank they pass everything through. With several, gradients are averaged as `collectives` does it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

import tensorflow.compat.v2 as tf

from drynpu_tf.bridge.collectives import combine_gradients, mean_over_ranks
from drynpu_tf.bridge.loss_scale import (
    LossScaleManager,
    WrappingOptimizer,
    apply_where_finite,
    scaled_down,
    scaled_loss,
)
from drynpu_tf.bridge.ranks import get_rank_size
from drynpu_tf.bridge.shared_updates import reduce_to_owners, update_local
from drynpu_tf.foreign import GradientPair, Operation, Optimizer, TensorLike, Variable

allreduce_gradient = mean_over_ranks
"""``npu_optimizer.allreduce(tensor, average=True)``."""


def _averaged(grads_and_vars: Iterable[GradientPair], name: str) -> list[GradientPair]:
    pairs = list(grads_and_vars)
    if get_rank_size() == 1:
        return pairs
    with tf.name_scope(f"{name}_Allreduce"):
        gradients = combine_gradients([grad for grad, _ in pairs])
    return [(grad, variable) for grad, (_, variable) in zip(gradients, pairs, strict=True)]


class NPUDistributedOptimizer(WrappingOptimizer):
    """
    Averages the gradients of another optimizer over the ranks.

    Parameters
    ----------
    optimizer:
        A ``tf.compat.v1.train.Optimizer``.
    is_weight_update_sharding:
        Whether each rank updates its part of the weights alone and gets the others from their ranks.
    name:
        ``Distributed<type of the optimizer>`` where none is given.
    """

    def __init__(self, optimizer: Optimizer, is_weight_update_sharding: bool = False, name: str | None = None) -> None:
        self._optimizer = optimizer
        self._is_weight_update_sharding = is_weight_update_sharding
        super().__init__(optimizer, name or f"Distributed{type(optimizer).__name__}")

    def compute_gradients(self, *arguments: object, **keywords: object) -> list[GradientPair]:
        """Return the other optimizer's gradients, averaged; shared out, each at its rank alone."""
        pairs = self._optimizer.compute_gradients(*arguments, **keywords)
        return reduce_to_owners(pairs, self._name) if self._shares else _averaged(pairs, self._name)

    def apply_gradients(
        self, grads_and_vars: Iterable[GradientPair], global_step: Variable = None, name: str | None = None
    ) -> Operation:
        """Return the other optimizer's update; shared out, also what sends the new weights to the other ranks."""
        if not self._shares:
            return self._optimizer.apply_gradients(grads_and_vars, global_step, name)

        def apply_local(pairs: list[GradientPair]) -> Operation:
            return self._optimizer.apply_gradients(pairs, global_step, name)

        return update_local(apply_local, list(grads_and_vars), self._name)

    @property
    def _shares(self) -> bool:
        return self._is_weight_update_sharding and get_rank_size() > 1


class NPUOptimizer(WrappingOptimizer):
    """
    Averages gradients over the ranks, or scales the loss, or both.

    Raises
    ------
    ValueError
        *is_loss_scale* without a manager.
    """

    def __init__(
        self,
        opt: Optimizer,
        loss_scale_manager: LossScaleManager | None = None,
        is_distributed: bool = False,
        is_loss_scale: bool = False,
        is_tailing_optimization: bool = False,
        name: str | None = None,
    ) -> None:
        if is_loss_scale and loss_scale_manager is None:
            raise ValueError("is_loss_scale is True, loss_scale_manager can not be None")
        self._opt = opt
        self._scale = loss_scale_manager if is_loss_scale else None
        self._is_distributed = is_distributed
        self._is_tailing_optimization = is_tailing_optimization
        super().__init__(opt, name or f"NPUOptimizer{type(opt).__name__}")

    def compute_gradients(
        self, loss: TensorLike, var_list: Iterable[Variable] | None = None, *arguments: object, **keywords: object
    ) -> list[GradientPair]:
        """Return the gradients, averaged and as of an unscaled loss."""
        if self._scale is not None:
            loss = scaled_loss(loss, self._scale)
        gradients = self._opt.compute_gradients(loss, var_list, *arguments, **keywords)
        if self._is_distributed:
            gradients = _averaged(gradients, self._name)
        return gradients if self._scale is None else scaled_down(gradients, self._scale)

    def apply_gradients(
        self, grads_and_vars: Iterable[GradientPair], global_step: Variable = None, name: str | None = None
    ) -> Operation:
        """Return the update; with a scaled loss it leaves out steps that overflow."""
        pairs = list(grads_and_vars)
        if self._scale is None:
            return self._opt.apply_gradients(pairs, global_step, name)
        return apply_where_finite(self._opt, self._scale, pairs, global_step, name, distributed=self._is_distributed)


class _AveragingKeras:
    """Averages the gradients before a Keras optimizer applies them, whichever generation it is of."""

    npu_name = "NpuKerasOptimizer"

    def apply_gradients(self, grads_and_vars: Iterable[GradientPair], *arguments: object, **keywords: object) -> Any:
        """Average, then apply."""
        averaged = _averaged(grads_and_vars, self.npu_name)
        return super().apply_gradients(averaged, *arguments, **keywords)  # type: ignore[misc]

    def get_gradients(self, loss: TensorLike, params: Sequence[Variable]) -> Any:
        """Return averaged gradients (Keras of TensorFlow 1)."""
        grads = super().get_gradients(loss, params)  # type: ignore[misc]
        return [grad for grad, _ in _averaged(list(zip(grads, params, strict=True)), self.npu_name)]


class KerasDistributeOptimizer:
    """
    A Keras optimizer whose gradients are averaged over the ranks.

    The result is *optimizer* itself, whose class becomes one that derives from its own class and from this one: Keras
    looks at the class of optimizers, there are two generations of them, and only eager ones can be copied.
    """

    def __new__(cls, optimizer: Optimizer, name: str = "NpuKerasOptimizer", **keywords: object) -> Optimizer:
        """Return the optimizer; other keywords go to Keras's base class, which it has already."""
        if not isinstance(optimizer, KerasDistributeOptimizer):
            kind = type(optimizer)
            members = {"__new__": _make_new(kind), "__init__": _make_init(kind), "npu_name": name}
            # N28, docs/tricks.md
            optimizer.__class__ = type(kind.__name__, (_AveragingKeras, KerasDistributeOptimizer, kind), members)
        return optimizer


def _make_new(kind: type) -> Any:
    """Return the ``__new__`` of a class as one that takes the arguments of its ``__init__``."""

    def new(cls: Any, *arguments: object, **keywords: object) -> Any:
        plain = kind.__new__ is cast("Any", object.__new__)
        return object.__new__(cls) if plain else kind.__new__(cls, *arguments, **keywords)

    return new


def _make_init(kind: type) -> Any:
    """Return the ``__init__`` of a class as one that ignores a call with the object itself as first argument."""

    def init(self: Any, *arguments: object, **keywords: object) -> None:
        if not arguments or arguments[0] is not self:
            kind.__init__(self, *arguments, **keywords)  # type: ignore[misc]

    return init


def npu_distributed_optimizer_wrapper(optimizer: Optimizer) -> Optimizer:
    """
    Let an optimizer (``tf.compat.v1.train``, Keras, or the name of a Keras one) average its gradients over the ranks.

    It is changed in place and returned; with one rank it stays as it is.
    """
    if isinstance(optimizer, str):
        optimizer = tf.keras.optimizers.get(optimizer)
    if get_rank_size() == 1:
        return optimizer
    scope = "Npu_Distributed_optimizer"
    method = next((name for name in ("compute_gradients", "_compute_gradients") if hasattr(optimizer, name)), None)
    if method is not None:
        compute = getattr(optimizer, method)
        setattr(optimizer, method, lambda *rest, **named: _averaged(compute(*rest, **named), scope))
    # Optimizers of Keras 3 have neither method: their gradients are averaged when they are applied.
    elif hasattr(optimizer, "apply_gradients"):
        apply = optimizer.apply_gradients
        optimizer.apply_gradients = lambda pairs, *rest, **named: apply(_averaged(pairs, scope), *rest, **named)
    return optimizer


class NPUStrategy(tf.compat.v1.distribute.OneDeviceStrategy):
    """TensorFlow's one-device strategy: a rank has one replica; its optimizer joins the ranks, as on a device."""

    def __init__(self, device: str = "/cpu:0") -> None:
        super().__init__(device)
