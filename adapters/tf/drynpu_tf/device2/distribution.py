"""``npu_device.distribute``: collectives of the workers; one worker gets its arguments back (tf_adapters.md 2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import tensorflow as tf

from drynpu.device.collectives import WORLD_GROUP
from drynpu_tf.bridge.collectives import broadcast as hccl_broadcast
from drynpu_tf.bridge.collectives import npu_allreduce
from drynpu_tf.device2._device import DEVICES
from drynpu_tf.foreign import Dataset, GradientPair, Optimizer, TensorLike, Variable


def all_reduce(
    values: TensorLike, reduction: str = "mean", fusion: int = 1, fusion_id: int = -1, group: str = WORLD_GROUP
) -> Any:
    """Return a tensor or a list of them as the mean, sum, product, minimum or maximum over the workers."""
    return npu_allreduce(values, reduction, fusion, fusion_id, group) if _is_worker() else values


def broadcast(
    values: TensorLike, root_rank: int = 0, fusion: int = 2, fusion_id: int = 0, group: str = WORLD_GROUP
) -> None:
    """Give a variable, or a list of them, the values of the root worker."""
    if not _is_worker():
        return
    variables = list(values) if isinstance(values, (list, tuple)) else [values]
    for variable, value in zip(variables, hccl_broadcast(variables, root_rank, group=group), strict=True):
        variable.assign(value)


def _is_worker() -> bool:
    handle = DEVICES.default
    return handle is not None and handle.is_cluster_worker()


def npu_distributed_keras_optimizer_wrapper(
    optimizer: Optimizer, reduce_reduction: str = "mean", fusion: int = 1, fusion_id: int = -1, group: str = WORLD_GROUP
) -> Any:
    """Return the Keras optimizer (given as one, or by name), which reduces its gradients over the workers."""
    wrapped = tf.keras.optimizers.get(optimizer)
    if not _is_worker():
        return wrapped
    apply = wrapped.apply_gradients

    def apply_gradients(grads_and_vars: Iterable[GradientPair], *arguments: object, **keywords: object) -> Any:
        pairs = list(grads_and_vars)
        gradients = all_reduce([grad for grad, _ in pairs], reduce_reduction, fusion, fusion_id, group)
        reduced = [(grad, variable) for grad, (_, variable) in zip(gradients, pairs, strict=True)]
        return apply(reduced, *arguments, **keywords)

    wrapped.apply_gradients = apply_gradients
    return wrapped


def shard_and_rebatch_dataset(dataset: Dataset, global_bs: int) -> tuple[Dataset, int]:
    """
    Return this worker's part of a dataset and of a batch.

    Raises
    ------
    ValueError
        The batch cannot be shared out among the workers.
    """
    handle = DEVICES.default
    if handle is None or handle.workers_num <= 1:
        return dataset, global_bs
    if global_bs % handle.workers_num:
        raise ValueError(f"Batch size must be divisible by num npus: {handle.workers_num}")
    return dataset.shard(handle.workers_num, handle.worker_id), global_bs // handle.workers_num


def grouping_gradients_apply(
    apply_func: Callable[..., Any], grads_and_vars: Iterable[GradientPair], *args: object, **kwargs: object
) -> Any:
    """Apply all gradients: every worker updates all variables, which gives what sharing them out does."""
    return apply_func(grads_and_vars, *args, **kwargs)


def grouping_broadcast(variables: Iterable[Variable]) -> Any:
    """Return *variables*: every worker has updated all of them."""
    return variables
