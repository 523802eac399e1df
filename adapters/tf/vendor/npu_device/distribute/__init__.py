"""``npu_device.distribute``: collectives; one worker gets back what it gives."""

from __future__ import annotations

from drynpu_tf.device2.distribution import (
    all_reduce,
    broadcast,
    grouping_broadcast,
    grouping_gradients_apply,
    npu_distributed_keras_optimizer_wrapper,
    shard_and_rebatch_dataset,
)

__all__ = [
    "all_reduce",
    "broadcast",
    "grouping_broadcast",
    "grouping_gradients_apply",
    "npu_distributed_keras_optimizer_wrapper",
    "shard_and_rebatch_dataset",
]
