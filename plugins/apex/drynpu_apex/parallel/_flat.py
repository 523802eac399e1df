"""Collectives on tensors that are laid one after another, by type."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import distributed, nn
from torch._utils import _flatten_dense_tensors, _unflatten_dense_tensors


def by_type(tensors: Iterable[torch.Tensor]) -> list[list[torch.Tensor]]:
    """Return *tensors* in lists of one type each, in the order in which the types come."""
    lists: dict[torch.dtype, list[torch.Tensor]] = {}
    for tensor in tensors:
        lists.setdefault(tensor.dtype, []).append(tensor)
    return list(lists.values())


@torch.no_grad()
def flat_call(
    tensors: Iterable[torch.Tensor], call: Callable[..., Any], extra_args: Sequence[object] | None = None
) -> None:
    """
    Apply a collective to *tensors* in place, one call for each type.

    Parameters
    ----------
    tensors:
        Dense tensors of any shapes.
    call:
        A function of ``torch.distributed`` that works in place; the results of ``all_reduce`` are averaged.
    extra_args:
        Its arguments after the tensor.
    """
    for same in by_type(tensors):
        flat = _flatten_dense_tensors(same)  # type: ignore[no-untyped-call]
        call(flat, *(extra_args or ()))
        if call is distributed.all_reduce:
            flat /= distributed.get_world_size()
        parts = _unflatten_dense_tensors(flat, same)  # type: ignore[no-untyped-call]
        for tensor, part in zip(same, parts, strict=True):
            tensor.copy_(part)


@torch.no_grad()
def reduced_flat(
    gradients: Sequence[torch.Tensor],
    *,
    divisor_before: float,
    factor_after: float,
    in_full: bool,
    group: object = None,
) -> torch.Tensor:
    """
    Sum gradients of one type over the ranks.

    Parameters
    ----------
    gradients:
        The gradients of this rank.
    divisor_before, factor_after:
        What they are divided by before, and multiplied with after the sum; 1 does nothing.
    in_full:
        Whether float16 is summed in float32.
    group:
        The process group, the default one if ``None``.

    Returns
    -------
    torch.Tensor
        The results one after another, in the type of the gradients.
    """
    flat: torch.Tensor = _flatten_dense_tensors(list(gradients))  # type: ignore[no-untyped-call]
    summed = flat.float() if in_full else flat
    if divisor_before != 1.0:
        summed.mul_(1.0 / divisor_before)
    distributed.all_reduce(summed, group=group)
    if factor_after != 1.0:
        summed.mul_(factor_after)
    if summed is not flat:
        flat.copy_(summed)
    return flat


class Reducer:
    """
    Averages the gradients of a module, or a list of gradients, when it is told to.

    A module starts with the parameters of rank 0.
    """

    def __init__(self, module_or_grads_list: nn.Module | Iterable[torch.Tensor]) -> None:
        self.module = module_or_grads_list if isinstance(module_or_grads_list, nn.Module) else None
        self.grads: list[torch.Tensor] = []
        if self.module is not None:
            flat_call([each.data for each in self.module.parameters()], distributed.broadcast, (0,))
        elif not isinstance(module_or_grads_list, nn.Module):
            self.grads = list(module_or_grads_list)

    def reduce(self) -> None:
        """Average the gradients over the ranks, in place."""
        grads = self.grads
        if self.module is not None:
            grads = [each.grad for each in self.module.parameters() if each.grad is not None]
        flat_call(grads, distributed.all_reduce)
