"""Drop values on the CPU and on the native device; print which cases differ, for test_dropout.py."""

from __future__ import annotations

import itertools
import json

import torch
import torch_npu  # noqa: F401 - registers the device
from torch.nn import functional

DTYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
# For 0.15 and 0.45 the factor depends on the type in which it is computed.
SHARES = (0.0, 0.05, 0.1, 0.15, 0.3, 0.45, 0.5, 0.9, 1.0)
SHAPES = ((7,), (33, 65), (4, 17, 9))


def bits(tensor: torch.Tensor) -> list[float]:
    return torch.nan_to_num(tensor.detach().cpu().double(), nan=0.125, posinf=0.25).flatten().tolist()


def drop(device: str, dtype: torch.dtype, share: float, shape: tuple[int, ...], *, turned: bool) -> list[object]:
    """Return the values, the gradient and the strides of dropout of a tensor, whose axes may be turned."""
    torch.manual_seed(1)
    values, gradient = torch.randn(shape).to(dtype), torch.randn(shape).to(dtype)
    values.view(-1)[:2] = torch.tensor([float("nan"), float("inf")])
    leaf = values.to(device).requires_grad_()
    argument, gradient = leaf, gradient.to(device)
    if turned:
        argument, gradient = leaf.transpose(0, -1), gradient.transpose(0, -1)[:1].expand_as(leaf.transpose(0, -1))
    torch.manual_seed(3)
    out = functional.dropout(argument, share)
    out.backward(gradient)
    functional.dropout(argument, share).sum().backward()
    return [bits(out), bits(leaf.grad), list(out.stride())]


found = {}
for dtype, share, shape, turned in itertools.product(DTYPES, SHARES, SHAPES, (False, True)):
    here, there = (drop(device, dtype, share, shape, turned=turned) for device in ("cpu", "npu"))
    found[f"{dtype} {share} {shape} {turned}"] = here == there


def masked(device: str, shape: tuple[int, ...], mask: torch.Tensor) -> list[float]:
    """Return what the operator makes of a mask of any shape and type, as a script may call it."""
    torch.manual_seed(2)
    return bits(torch.ops.aten.native_dropout_backward(torch.randn(shape).to(device), mask.to(device), 1.25))


for shape, mask in (
    ((3, 4), torch.ones(1) > 0),
    ((4,), torch.tensor([True])),
    ((3, 4), torch.tensor([[True], [False], [True]])),
    ((3, 4), torch.arange(12).view(3, 4) % 3),
):
    here, there = (masked(device, shape, mask) for device in ("cpu", "npu"))
    found[f"{shape} by {tuple(mask.shape)} {mask.dtype}"] = here == there
print(json.dumps(found))
