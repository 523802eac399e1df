"""``npu_optimizer``: distributed optimizers."""

from __future__ import annotations

from drynpu_tf.bridge.collectives import (
    npu_allreduce,
)
from drynpu_tf.bridge.optimizers import (
    KerasDistributeOptimizer,
    NPUDistributedOptimizer,
    NPUOptimizer,
    npu_distributed_optimizer_wrapper,
)
from drynpu_tf.bridge.optimizers import (
    allreduce_gradient as allreduce,
)

__all__ = [
    "KerasDistributeOptimizer",
    "NPUDistributedOptimizer",
    "NPUOptimizer",
    "allreduce",
    "npu_allreduce",
    "npu_distributed_optimizer_wrapper",
]
