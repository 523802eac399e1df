"""``npu_device.distribute.hccl``."""

from __future__ import annotations

from drynpu_tf.bridge.init import npu_callbacks_append
from drynpu_tf.device2.distribution import (
    all_reduce,
    broadcast,
    npu_distributed_keras_optimizer_wrapper,
    shard_and_rebatch_dataset,
)

__all__ = [
    "all_reduce",
    "broadcast",
    "npu_callbacks_append",
    "npu_distributed_keras_optimizer_wrapper",
    "shard_and_rebatch_dataset",
]
