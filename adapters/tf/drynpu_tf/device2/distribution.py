"""``npu_device.distribute``: collectives of one worker, which return their arguments (tf_adapters.md 2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import tensorflow as tf

from drynpu_tf.bridge.ranks import WORLD_GROUP
from drynpu_tf.device2._device import DEVICES


def all_reduce(
    values: Any, reduction: str = "mean", fusion: int = 1, fusion_id: int = -1, group: str = WORLD_GROUP
) -> Any:
    """Return *values*; the mean, sum, minimum and maximum of one worker are its own."""
    return values


def broadcast(values: Any, root_rank: int = 0, fusion: int = 2, fusion_id: int = 0, group: str = WORLD_GROUP) -> None:
    """Leave variables as they are."""


def npu_distributed_keras_optimizer_wrapper(
    optimizer: Any, reduce_reduction: str = "mean", fusion: int = 1, fusion_id: int = -1, group: str = WORLD_GROUP
) -> Any:
    """Return the Keras optimizer (given as one, or by name); its gradients are already those of all workers."""
    return tf.keras.optimizers.get(optimizer)


def shard_and_rebatch_dataset(dataset: Any, global_bs: int) -> tuple[Any, int]:
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
    apply_func: Callable[..., Any], grads_and_vars: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """Apply all gradients: one worker updates every variable."""
    return apply_func(grads_and_vars, *args, **kwargs)


def grouping_broadcast(variables: Any) -> Any:
    """Return *variables*, which one worker has already."""
    return variables
