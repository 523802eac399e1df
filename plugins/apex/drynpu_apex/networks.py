"""Networks in half precision, and their float32 masters, as ``apex.fp16_utils`` has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn
from torch._utils import _flatten_dense_tensors, _unflatten_dense_tensors
from torch.nn.modules.batchnorm import _BatchNorm


class ToHalf(nn.Module):
    """A layer that returns its input in float16."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """Return *input* in float16."""
        return input.half()


class HalfModel(nn.Module):
    """A network in float16, its batch norms in float32, that casts its inputs."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = convert_network(network, torch.half)

    def forward(self, *inputs: torch.Tensor) -> Any:
        """Return what the network makes of *inputs* in float16."""
        return self.network(*(each.half() for each in inputs))


def convert_norms_to_full(module: nn.Module) -> nn.Module:
    """Cast the batch norms of *module* that have parameters to float32, and return *module*."""
    for each in module.modules():
        if isinstance(each, _BatchNorm) and each.affine:
            each.float()
    return module


def convert_to_half(network: nn.Module) -> nn.Module:
    """Return *network* in float16 behind a layer that casts its input; batch norms stay float32."""
    return nn.Sequential(ToHalf(), convert_norms_to_full(network.half()))


def convert_module(module: nn.Module, dtype: torch.dtype) -> None:
    """Cast the parameters, gradients and buffers of *module* itself, not of its children, to *dtype*."""
    for parameter in module.parameters(recurse=False):
        if parameter.dtype.is_floating_point:
            parameter.data = parameter.data.to(dtype)
        if parameter.grad is not None and parameter.grad.dtype.is_floating_point:
            parameter.grad.data = parameter.grad.data.to(dtype)
    for buffer in module.buffers(recurse=False):
        if buffer.dtype.is_floating_point:
            buffer.data = buffer.data.to(dtype)


def convert_network(network: nn.Module, dtype: torch.dtype) -> nn.Module:
    """Cast all of *network* to *dtype* but batch norms that have parameters, and return it."""
    for module in network.modules():
        if isinstance(module, _BatchNorm) and module.affine:
            continue
        convert_module(module, dtype)
        if isinstance(module, nn.RNNBase):
            module.flatten_parameters()
    return network


def prepare_masters(model: nn.Module, flat_master: bool = False) -> tuple[list[nn.Parameter], list[torch.Tensor]]:
    """
    Return the parameters of *model* that are trained, and float32 copies of them.

    With *flat_master* the copies are one tensor of one dimension; all parameters are of one type then.
    """
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    if not flat_master:
        return parameters, [each.detach().clone().float().requires_grad_() for each in parameters]
    kinds = {parameter.dtype for parameter in parameters}
    if len(kinds) > 1:
        raise TypeError(
            f"model has parameters of different types ({', '.join(sorted(map(str, kinds)))}); use flat_master=False"
        )
    flat: torch.Tensor = _flatten_dense_tensors([each.data for each in parameters])  # type: ignore[no-untyped-call]
    master = nn.Parameter(flat.float())
    master.grad = torch.zeros_like(master)
    return parameters, [master]


@torch.no_grad()
def copy_gradients_to_masters(
    model_params: Sequence[torch.Tensor], master_params: Sequence[torch.Tensor], flat_master: bool = False
) -> None:
    """Copy the gradients of a model into its masters."""
    if flat_master:
        gradient = master_params[0].grad
        assert gradient is not None, "masters of prep_param_lists have gradients"
        gradients = [parameter.grad for parameter in model_params if parameter.grad is not None]
        gradient.copy_(_flatten_dense_tensors(gradients))  # type: ignore[no-untyped-call]
        return
    for model, master in zip(model_params, master_params, strict=True):
        if model.grad is None:
            master.grad = None
        elif master.grad is None:
            master.grad = model.grad.to(master.dtype, copy=True)
        else:
            master.grad.copy_(model.grad)


@torch.no_grad()
def copy_masters_to_model(
    model_params: Sequence[torch.Tensor], master_params: Sequence[torch.Tensor], flat_master: bool = False
) -> None:
    """Copy masters into their model."""
    masters = master_params
    if flat_master:
        masters = _unflatten_dense_tensors(master_params[0], model_params)  # type: ignore[no-untyped-call]
    for model, master in zip(model_params, masters, strict=True):
        model.copy_(master)


def to_python_float(t: Any) -> Any:
    """Return the number in a tensor of one element, or the first of a sequence."""
    return t.item() if hasattr(t, "item") else t[0]
