"""Batch normalisation over the samples of all ranks."""

from __future__ import annotations

from typing import Any

import torch
from torch import distributed, nn
from torch.autograd.function import Function
from torch.nn import functional
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.instancenorm import _InstanceNorm


class _Normalise(Function):
    """Normalise by statistics that all ranks share; the gradients meet in two sums over the ranks."""

    @staticmethod
    def forward(
        ctx: Any, input: torch.Tensor, weight: Any, bias: Any, mean: torch.Tensor, variance: torch.Tensor, *rest: Any
    ) -> torch.Tensor:
        ctx.eps, ctx.group, ctx.ranks = rest
        last = input.transpose(1, -1).contiguous()
        ctx.save_for_backward(last, weight, mean, variance)
        result = (last - mean) / torch.sqrt(variance + ctx.eps)
        if weight is not None:
            result = result * weight
        if bias is not None:
            result = result + bias
        return result.transpose(1, -1).contiguous()

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        last, weight, mean, variance = ctx.saved_tensors
        gradient = grad_outputs[0].transpose(1, -1).contiguous()
        rows = (-1, mean.numel())
        centred = last - mean
        deviation = torch.sqrt(variance + ctx.eps)
        to_input = to_weight = to_bias = None
        if ctx.needs_input_grad[0]:
            of_gradient = _mean_of_ranks(gradient.reshape(rows).mean(0), ctx.group, ctx.ranks)
            of_product = _mean_of_ranks((gradient * centred).reshape(rows).mean(0), ctx.group, ctx.ranks)
            to_last = (gradient - of_gradient - centred / (variance + ctx.eps) * of_product) / deviation
            to_last = to_last if weight is None else to_last * weight
            to_input = to_last.transpose(1, -1).contiguous()
        if ctx.needs_input_grad[1]:
            to_weight = (centred / deviation * gradient).reshape(rows).sum(0)
        if ctx.needs_input_grad[2]:
            to_bias = gradient.reshape(rows).sum(0)
        return to_input, to_weight, to_bias, None, None, None, None, None


def _mean_of_ranks(value: torch.Tensor, group: object, ranks: int) -> torch.Tensor:
    if not distributed.is_initialized():
        return value
    distributed.all_reduce(value, distributed.ReduceOp.SUM, group)
    return value / ranks


class SyncBatchNorm(_BatchNorm):
    """
    Batch normalisation with statistics over the samples of all ranks, in training.

    Made of operators of PyTorch, as apex is where it was built without its CUDA extensions.

    Parameters
    ----------
    num_features, eps, momentum, affine, track_running_stats:
        As for ``torch.nn.BatchNorm2d``; inputs are of shape (batch, features, ...).
    process_group:
        The ranks, all if ``None``.
    channel_last:
        Must be false.

    Raises
    ------
    AttributeError
        *channel_last* is true.
    """

    warned = False

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        channel_last: bool = False,
    ) -> None:
        if channel_last:
            raise AttributeError(
                "channel_last is not supported by primitive SyncBatchNorm implementation. Try install apex with "
                "`--cuda_ext` if channel_last is desired."
            )
        if not SyncBatchNorm.warned:
            print("Warning:  using Python fallback for SyncBatchNorm")
            SyncBatchNorm.warned = True
        super().__init__(num_features, eps, momentum, affine, track_running_stats)
        self.process_group = process_group

    def _check_input_dim(self, input: torch.Tensor) -> None:
        """Inputs of any number of dimensions are taken."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """Return *input* normalised, in the type of the statistics."""
        kept = self.running_mean if self.running_mean is not None else self.weight
        if kept is not None and kept.dtype != input.dtype:
            input = input.to(kept.dtype)
        if not self.training and self.track_running_stats:
            return functional.batch_norm(
                input, self.running_mean, self.running_var, self.weight, self.bias, False, 0.0, self.eps
            )
        ranks = distributed.get_world_size(self.process_group) if distributed.is_initialized() else 1
        with torch.no_grad():
            rows = input.transpose(0, 1).reshape(input.shape[1], -1)
            mean = _mean_of_ranks(rows.mean(1), self.process_group, ranks)
            square = _mean_of_ranks(rows.pow(2).mean(1), self.process_group, ranks)
            variance = square - mean.pow(2)
            self._keep(mean, variance, rows.shape[1] * ranks)
        result: torch.Tensor = _Normalise.apply(  # type: ignore[no-untyped-call]
            input, self.weight, self.bias, mean, variance, self.eps, self.process_group, ranks
        )
        return result

    def _keep(self, mean: torch.Tensor, variance: torch.Tensor, samples: int) -> None:
        """Move the running statistics, the variance without bias."""
        if self.num_batches_tracked is not None:
            self.num_batches_tracked += 1
        momentum = 0.0 if self.momentum is None else self.momentum
        if self.running_mean is not None:
            self.running_mean = momentum * mean + (1 - momentum) * self.running_mean
        if self.running_var is not None:
            self.running_var = samples / (samples - 1) * momentum * variance + (1 - momentum) * self.running_var


def convert_syncbn_model(module: nn.Module, process_group: object = None, channel_last: bool = False) -> nn.Module:
    """Return *module* with every batch norm below it replaced by :class:`SyncBatchNorm`, with its values."""
    if isinstance(module, _InstanceNorm):
        return module
    result = module
    if isinstance(module, _BatchNorm):
        momentum = 0.1 if module.momentum is None else module.momentum
        norm = SyncBatchNorm(
            module.num_features,
            module.eps,
            momentum,
            module.affine,
            module.track_running_stats,
            process_group,
            channel_last=channel_last,
        )
        norm.running_mean = module.running_mean
        norm.running_var = module.running_var
        norm.num_batches_tracked = module.num_batches_tracked
        if module.affine:
            norm.weight.data = module.weight.data.clone()
            norm.bias.data = module.bias.data.clone()
        result = norm
    for name, child in module.named_children():
        result.add_module(name, convert_syncbn_model(child, process_group, channel_last))
    return result


def create_syncbn_process_group(group_size: int) -> Any:
    """
    Return the process group of *group_size* ranks that this rank is in, ``None`` for 0, which means all.

    Raises
    ------
    ValueError
        *group_size* does not divide the number of ranks.
    """
    if group_size == 0:
        return None
    ranks = distributed.get_world_size()
    if group_size < 0 or ranks % group_size:
        raise ValueError(f"group_size has to divide the {ranks} ranks, but it is {group_size}")
    groups = [
        distributed.new_group(ranks=list(range(first, first + group_size))) for first in range(0, ranks, group_size)
    ]
    return groups[distributed.get_rank() // group_size]
