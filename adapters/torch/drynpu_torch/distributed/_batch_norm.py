"""
``SyncBatchNorm`` on a device whose tensors say cpu.

PyTorch's module refuses tensors that say cpu, consists of five operators that only devices have, and gathers into a
tensor of a shape that gloo does not accept. Here the operators are computed from smaller ones. Their order and the
communication (an allGather forward, an allReduce backward) are PyTorch's.
"""

from __future__ import annotations

import functools
from typing import Any

import torch
import torch.distributed as dist
from torch.nn import SyncBatchNorm
from torch.nn.parallel import DistributedDataParallel

from drynpu_torch.distributed._groups import is_of_device

Tensor = torch.Tensor


@functools.cache
def register_batch_norm() -> torch.library.Library:
    """Register the operators of the module for the CPU; the cache keeps the registrations."""
    library = torch.library.Library("aten", "IMPL")  # type: ignore[no-untyped-call]
    for name, kernel in _KERNELS.items():
        library.impl(name, kernel, "CPU")  # type: ignore[no-untyped-call]
    return library


# N22, docs/tricks.md
@functools.cache
def patch_batch_norm() -> None:
    """Let the module accept tensors that were moved to the npu, once."""
    original = SyncBatchNorm.forward

    @functools.wraps(original)
    def forward(self: SyncBatchNorm, input: Tensor) -> Tensor:  # noqa: A002 - PyTorch's name
        group = self.process_group or (dist.group.WORLD if dist.is_initialized() else None)
        if not self.training or group is None or not is_of_device(group):
            return original(self, input)
        return _forward(self, input, group)

    handle = DistributedDataParallel._passing_sync_batchnorm_handle

    @functools.wraps(handle)
    def passing(self: DistributedDataParallel, module: torch.nn.Module) -> None:
        if not is_of_device(self.process_group):  # the check would refuse tensors that say cpu
            handle(self, module)  # type: ignore[no-untyped-call]

    SyncBatchNorm.forward = forward  # type: ignore[method-assign]
    DistributedDataParallel._passing_sync_batchnorm_handle = passing  # type: ignore[method-assign]


def _forward(module: SyncBatchNorm, x: Tensor, group: Any) -> Tensor:
    """Do the same as the module in training, without the check of the tensor's device."""
    module._check_input_dim(x)
    module._check_non_zero_input_channels(x)
    momentum = 0.0 if module.momentum is None else module.momentum
    if module.track_running_stats and module.num_batches_tracked is not None:
        module.num_batches_tracked.add_(1)
        if module.momentum is None:
            momentum = 1.0 / float(module.num_batches_tracked.item())
    running = (module.running_mean, module.running_var) if module.track_running_stats else (None, None)
    ranks = dist.get_world_size(group)
    if ranks == 1:
        return torch.nn.functional.batch_norm(
            x, *running, module.weight, module.bias, training=True, momentum=momentum, eps=module.eps
        )
    result: Tensor = _Synchronised.apply(  # type: ignore[no-untyped-call]
        x, module.weight, module.bias, *running, module.eps, momentum, group
    )
    return result


class _Synchronised(torch.autograd.Function):
    """Normalisation by the statistics of all ranks; a rank without samples communicates too and counts nothing."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        running_mean: Tensor | None,
        running_var: Tensor | None,
        eps: float,
        momentum: float,
        group: Any,
    ) -> Tensor:
        x = x.contiguous()
        channels = x.shape[1]
        # Means, inverse deviations and the number of samples; all 0 for a rank without samples.
        stats = _wide(x).new_zeros(2 * channels + 1)
        if x.numel():
            stats = torch.cat([*torch.batch_norm_stats(x, eps), stats.new_full((1,), x.numel() // channels)])
        gathered = stats.new_empty(dist.get_world_size(group) * len(stats))
        # PyTorch warns about the older name where it has the newer one.
        gather = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor
        gather(gathered, stats, group)
        rows = gathered.reshape(-1, len(stats))
        means, invstds, counts = rows[rows[:, -1] >= 1].split([channels, channels, 1], 1)  # type: ignore[no-untyped-call]
        mean, invstd = torch.batch_norm_gather_stats_with_counts(
            x, means, invstds, running_mean, running_var, momentum, eps, counts.reshape(-1)
        )
        ctx.save_for_backward(x, weight, mean, invstd, counts.to(torch.int32))
        ctx.group = group
        return torch.batch_norm_elemt(x, weight, bias, mean, invstd, eps) if x.numel() else torch.empty_like(x)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """Return the gradients of the input, the weight and the bias; the latter two are this rank's."""
        x, weight, mean, invstd, counts = ctx.saved_tensors
        sums, grad_weight, grad_bias = mean.new_zeros(2 * len(mean)), None, None
        if x.numel():
            grad = grads[0].contiguous()
            *both, grad_weight, grad_bias = torch.batch_norm_backward_reduce(
                grad, x, mean, invstd, weight, *ctx.needs_input_grad[:3]
            )
            sums = torch.cat(both)
        if not ctx.needs_input_grad[0]:
            return None, grad_weight, grad_bias, *[None] * 5
        dist.all_reduce(sums, group=ctx.group)
        if not x.numel():
            return torch.zeros_like(x), grad_weight, grad_bias, *[None] * 5
        wide = None if weight is None else weight.to(mean.dtype)
        first, second = sums.chunk(2)
        result = torch.batch_norm_backward_elemt(grad, x, mean, invstd, wide, first, second, counts)
        return result, grad_weight, grad_bias, *[None] * 5


def _wide(x: Tensor) -> Tensor:
    """Return float32 for 16-bit types, in which the device's kernels compute."""
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x


def _others(x: Tensor) -> list[int]:
    """Return all dimensions but the channels."""
    return [axis for axis in range(x.dim()) if axis != 1]


def _over_channels(values: Tensor, x: Tensor) -> Tensor:
    return values.reshape([1, -1, *[1] * (x.dim() - 2)])


def _stats(x: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    variance, mean = torch.var_mean(_wide(x), _others(x), correction=0)
    return mean, torch.rsqrt(variance + eps)


def _gather_stats(
    x: Tensor,  # noqa: ARG001 - the operator's signature
    means: Tensor,
    invstds: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    momentum: float,
    eps: float,
    counts: Tensor,
) -> tuple[Tensor, Tensor]:
    share = counts.to(means.dtype).reshape(-1, 1)
    total = share.sum()
    mean = (means * share).sum(0) / total
    variance = ((invstds.pow(-2) - eps + (means - mean).square()) * share).sum(0) / total
    if running_mean is not None:
        running_mean.mul_(1 - momentum).add_(mean.to(running_mean.dtype), alpha=momentum)
    if running_var is not None:
        unbiased = variance * (total / (total - 1).clamp(min=1))
        running_var.mul_(1 - momentum).add_(unbiased.to(running_var.dtype), alpha=momentum)
    return mean, torch.rsqrt(variance + eps)


def _normalise(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    mean: Tensor,
    invstd: Tensor,
    eps: float,  # noqa: ARG001 - the operator's signature
) -> Tensor:
    scale = invstd if weight is None else invstd * weight
    normalised = (_wide(x) - _over_channels(mean, x)) * _over_channels(scale, x)
    return (normalised if bias is None else normalised + _over_channels(bias, x)).to(x.dtype)


def _normalise_into(
    x: Tensor, weight: Tensor | None, bias: Tensor | None, mean: Tensor, invstd: Tensor, eps: float, *, out: Tensor
) -> Tensor:
    return out.resize_(x.shape).copy_(_normalise(x, weight, bias, mean, invstd, eps))


def _backward_reduce(
    grad: Tensor,
    x: Tensor,
    mean: Tensor,
    invstd: Tensor,
    weight: Tensor | None,
    input_g: bool,  # noqa: ARG001 - the operator's signature
    weight_g: bool,
    bias_g: bool,
) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None]:
    wide = _wide(grad)
    sum_dy = wide.sum(_others(x))
    sum_dy_xmu = (wide * (_wide(x) - _over_channels(mean, x))).sum(_others(x))
    kind = mean.dtype if weight is None else weight.dtype
    grad_weight = (sum_dy_xmu * invstd).to(kind) if weight_g else None
    return sum_dy, sum_dy_xmu, grad_weight, sum_dy.to(kind) if bias_g else None


def _backward(
    grad: Tensor,
    x: Tensor,
    mean: Tensor,
    invstd: Tensor,
    weight: Tensor | None,
    sum_dy: Tensor,
    sum_dy_xmu: Tensor,
    count: Tensor,
) -> Tensor:
    total = count.sum()
    shift = _over_channels(sum_dy / total, x)
    slope = _over_channels(invstd.square() * sum_dy_xmu / total, x)
    scale = _over_channels(invstd if weight is None else invstd * weight, x)
    return ((_wide(grad) - shift - (_wide(x) - _over_channels(mean, x)) * slope) * scale).to(x.dtype)


_KERNELS = {
    "batch_norm_stats": _stats,
    "batch_norm_gather_stats_with_counts": _gather_stats,
    "batch_norm_elemt": _normalise,
    "batch_norm_elemt.out": _normalise_into,
    "batch_norm_backward_reduce": _backward_reduce,
    "batch_norm_backward_elemt": _backward,
}
