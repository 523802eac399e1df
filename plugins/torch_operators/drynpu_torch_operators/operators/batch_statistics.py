"""Statistics of batch norms over several ranks: sums of one rank, and results from the sums of all."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from drynpu_torch_operators.operators import errors
from drynpu_torch_operators.operators._launch import vector
from drynpu_torch_operators.operators._numbers import wide, wide_dtype
from drynpu_torch_operators.operators._operator import NpuOperator

SCHEMAS = """
batch_norm_reduce(Tensor input, float eps) -> (Tensor, Tensor)
batch_norm_gather_stats_update(Tensor input, Tensor mean, Tensor invstd, Tensor? running_mean, Tensor? running_var,
    float momentum, float eps, Tensor counts) -> (Tensor, Tensor)
"""

_SUMS, _GATHERED = 3, 8
"""Element operations: a product and two sums; means, variance, root and both running values."""


def _check(x: Tensor) -> None:
    errors.require(x.dim() > 1, "The dim input tensor [self] must more than 1.")


def _reduce(input_: Tensor) -> tuple[Tensor, Tensor]:
    """Return sum and sum of squares of each channel, in FP32."""
    _check(input_)
    x, others = wide(input_), [axis for axis in range(input_.dim()) if axis != 1]
    return x.sum(others), x.square().sum(others)


def _gather(
    input_: Tensor,
    mean: Tensor,
    invstd: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    momentum: float,
    eps: float,
    counts: Tensor,
) -> tuple[Tensor, Tensor]:
    """Return mean and 1 / deviation of all ranks; *mean* and *invstd* hold sums, and of squares, [ranks, channels]."""
    _check(input_)
    count = counts.to(wide_dtype(mean)).sum()
    joint = wide(mean).sum(0) / count
    variance = wide(invstd).sum(0) / count - joint.square()
    for running, seen in ((running_mean, joint), (running_var, variance)):
        if running is not None:
            running.copy_(momentum * seen + (1 - momentum) * wide(running))
    return joint.to(mean.dtype), (variance + eps).rsqrt().to(mean.dtype)


def _gather_shapes(input_: Tensor, mean: Tensor) -> tuple[Tensor, Tensor]:
    first, second = (mean.new_empty(input_.shape[1]) for _ in range(2))
    return first, second


OPERATORS: Mapping[str, NpuOperator] = {
    "batch_norm_reduce": NpuOperator(
        compute=_reduce, kernels=vector("BNTrainingReduce", "aclnnBatchNormReduce", cost=_SUMS)
    ),
    "batch_norm_gather_stats_update": NpuOperator(
        compute=_gather,
        shapes=_gather_shapes,
        kernels=vector(
            "SyncBatchNormGatherStats",
            "aclnnSyncBatchNormGatherStats",
            cost=_GATHERED,
            written=("running_mean", "running_var"),
        ),
    ),
}
