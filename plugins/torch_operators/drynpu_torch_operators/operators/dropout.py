"""Dropout with masks of bits, and softmax that drops."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import torch
from torch import Tensor

from drynpu.kernels import TaskType, ops
from drynpu_torch_operators.operators import errors
from drynpu_torch_operators.operators._call import Call
from drynpu_torch_operators.operators._launch import Launch, vector
from drynpu_torch_operators.operators._numbers import wide
from drynpu_torch_operators.operators._operator import Gradient, NpuOperator

SCHEMAS = """
_npu_dropout(Tensor self, float p) -> (Tensor, Tensor)
npu_dropout_backward(Tensor grad_output, Tensor mask, float p) -> Tensor
npu_dropout_do_mask(Tensor self, Tensor mask, float p) -> (Tensor, Tensor)
_npu_dropout_gen_mask.Tensor(Tensor self, int[] size, float p, int seed, int offset, *, bool? parallel=True,
    bool? sync=None) -> Tensor
_dropout_with_byte_mask(Tensor self, float p) -> (Tensor, Tensor)
_dropout_with_byte_mask_backward(Tensor grad_output, Tensor mask, float p) -> Tensor
npu_dropout_with_add_softmax(Tensor self, Tensor x1, Scalar alpha, float prob, int dim) -> (Tensor, Tensor, Tensor)
npu_dropout_with_add_softmax_backward(Tensor grad, Tensor mask, Tensor softmax_out, Scalar alpha, float prob,
    int dim) -> (Tensor, Tensor)
"""


def _packed(kept: Tensor) -> Tensor:
    """Return flags as bits, the first in the lowest bit of a byte, in as many bytes as the vendor's masks have."""
    size = ops.drop_mask(kept.numel()).shape[0]
    bits = torch.zeros(size * 8, dtype=torch.uint8)
    bits[: kept.numel()] = kept.flatten()
    places = 2 ** torch.arange(8, dtype=torch.uint8)
    return (bits.reshape(-1, 8) * places).sum(-1, dtype=torch.uint8)


def drop_factors(mask: Tensor, like: Tensor, p: float) -> Tensor:
    """Return what numbers are multiplied with: 0, or 1 / (1 - p)."""
    bits = mask.flatten().unsqueeze(-1).bitwise_right_shift(torch.arange(8, dtype=torch.uint8)) & 1
    kept = wide(bits.flatten()[: like.numel()]).reshape(like.shape)
    return kept / (1 - p) if p < 1 else torch.zeros_like(kept)


def _check(p: float) -> None:
    errors.require(0 <= p <= 1, f"dropout probability has to be between 0 and 1, but got {p}")


def drop_mask(count: int, p: float, seed: int | None = None) -> Tensor:
    """Return random bits, 1 with the probability 1 - p."""
    _check(p)
    generator = None if seed is None else torch.Generator(device="cpu").manual_seed(seed)
    return _packed(torch.rand(count, generator=generator, device="cpu") >= p)


def _empty_mask(like: Tensor, count: int) -> Tensor:
    return like.new_empty(ops.drop_mask(count).shape, dtype=torch.uint8)


def _dropped(x: Tensor, mask: Tensor, p: float) -> Tensor:
    return (wide(x) * drop_factors(mask, x, p)).to(x.dtype)


def _dropout(self: Tensor, p: float) -> tuple[Tensor, Tensor]:
    mask = drop_mask(self.numel(), p)
    return _dropped(self, mask, p), mask


def _dropout_shapes(self: Tensor) -> tuple[Tensor, Tensor]:
    return torch.empty_like(self), _empty_mask(self, self.numel())


def _backward(grad_output: Tensor, mask: Tensor, p: float) -> Tensor:
    return _dropped(grad_output, mask, p)


def _gradient(mask: int | str) -> Gradient:
    """Return the gradient that applies the mask, a result or an argument, once more."""

    def compute(call: Call, grad: Tensor, *others: Tensor) -> Mapping[str, Tensor | None]:
        del others
        bits = call.results[mask] if isinstance(mask, int) else call[mask]
        return {"self": torch.ops.npu.npu_dropout_backward(grad, bits, call["p"])}

    return Gradient(compute=compute, keeps=(mask,))


def _do_mask(self: Tensor, mask: Tensor, p: float) -> tuple[Tensor, Tensor]:
    return _dropped(self, mask, p), mask


def _gen_mask_from_seed(self: Tensor, size: Sequence[int], p: float, seed: int, offset: int) -> Tensor:
    return drop_mask(math.prod(size), p, seed + offset).to(self.device)


def _byte_dropout(self: Tensor, p: float) -> tuple[Tensor, Tensor]:
    """Return what stays and one byte for each number, 1 for those."""
    _check(p)
    mask = (torch.rand(self.shape, device="cpu") >= p).to(torch.uint8)
    return _byte_dropped(self, mask, p), mask.flatten()


def _byte_dropped(grad_output: Tensor, mask: Tensor, p: float) -> Tensor:
    kept = wide(mask).reshape(grad_output.shape)
    return (wide(grad_output) * (kept / (1 - p) if p < 1 else torch.zeros_like(kept))).to(grad_output.dtype)


def _byte_shapes(self: Tensor) -> tuple[Tensor, Tensor]:
    return torch.empty_like(self), self.new_empty(self.numel(), dtype=torch.uint8)


def _byte_gradient(call: Call, grad: Tensor, *others: Tensor) -> Mapping[str, Tensor | None]:
    del others
    return {"self": torch.ops.npu._dropout_with_byte_mask_backward(grad, call.results[1], call["p"])}


def _byte_kernels(call: Call) -> Iterable[Launch]:
    out, mask = call.outputs
    yield Launch(kernel="DropOutGenMaskV3", inputs=[], outputs=[mask], cost=4)
    yield Launch(kernel="DropOutDoMaskV3", inputs=[call["self"], mask], outputs=[out], cost=3)


def dropout_with_byte_mask(self: Tensor, p: float, train: bool) -> Tensor:
    """Return what dropout leaves of a tensor of the device; without *train* all of it."""
    if p == 0 or not train or not self.numel():
        return self
    if p == 1:
        return self * torch.zeros_like(self)
    return torch.ops.npu._dropout_with_byte_mask(self, p)[0]  # type: ignore[no-any-return]


def npu_dropout_gen_mask(
    size: Sequence[int],
    p: float,
    *,
    dtype: torch.dtype | None = None,
    layout: torch.layout | None = None,
    device: torch.device | str | None = None,
    pin_memory: bool | None = None,
) -> Tensor:
    """Return random bits for a tensor of *size*, 1 with the probability 1 - p, padded as the device pads them."""
    like = torch.empty(0, dtype=dtype, layout=layout, device=device or "npu", pin_memory=bool(pin_memory))
    seed = int(torch.randint(2**31, (), device="cpu"))
    return torch.ops.npu._npu_dropout_gen_mask.Tensor(like, list(size), p, seed, 0)  # type: ignore[no-any-return]


def _bits(call: Call, mask: Tensor) -> Launch:
    """State the kernel that draws the bits of a mask."""
    del call
    return Launch(
        kernel="DSAGenBitMask", inputs=[], outputs=[mask], api="aclnnDropoutGenMaskV2", task=TaskType.DSA, cost=0
    )


def _drawing(call: Call) -> Iterable[Launch]:
    yield _bits(call, call.outputs[-1])


def _dropout_kernels(call: Call) -> Iterable[Launch]:
    out, mask = call.outputs
    yield _bits(call, mask)
    yield Launch(kernel="DropOutDoMask", inputs=[call["self"], mask], outputs=[out], api="aclnnDropoutDoMask", cost=3)


def _add_softmax(self: Tensor, x1: Tensor, alpha: float, prob: float, dim: int) -> tuple[Tensor, Tensor, Tensor]:
    softmax = (wide(self) * alpha + wide(x1)).softmax(dim)
    mask = drop_mask(softmax.numel(), prob)
    return mask, softmax.to(self.dtype), (softmax * drop_factors(mask, softmax, prob)).to(self.dtype)


def _add_softmax_shapes(self: Tensor, x1: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    out = torch.empty_like(self + x1, dtype=self.dtype)
    return _empty_mask(self, out.numel()), out, torch.empty_like(out)


def _add_softmax_kernels(call: Call) -> Iterable[Launch]:
    mask, softmax, out = call.outputs
    yield _bits(call, mask)
    inputs = [*call.tensors("self", "x1"), mask]
    kernel = "AxpyWithSoftmaxAndDropOutDoMask"
    yield Launch(kernel=kernel, inputs=inputs, outputs=[softmax, out], cost=11)


def _add_softmax_backward(
    grad: Tensor, mask: Tensor, softmax_out: Tensor, alpha: float, prob: float, dim: int
) -> tuple[Tensor, Tensor]:
    shares = wide(softmax_out)
    dsoftmax = wide(grad) * drop_factors(mask, grad, prob)
    dscores = shares * (dsoftmax - (dsoftmax * shares).sum(dim, keepdim=True))
    return (dscores * alpha).to(grad.dtype), dscores.to(grad.dtype)


def _add_softmax_gradient(call: Call, *grads: Tensor) -> Mapping[str, Tensor | None]:
    mask, softmax, _ = call.results
    options = (call["alpha"], call["prob"], call["dim"])
    dself, dx1 = torch.ops.npu.npu_dropout_with_add_softmax_backward(grads[2], mask, softmax, *options)
    return {"self": dself.sum_to_size(call["self"].shape), "x1": dx1.sum_to_size(call["x1"].shape)}


OPERATORS: Mapping[str, NpuOperator] = {
    "_npu_dropout": NpuOperator(
        compute=_dropout, shapes=_dropout_shapes, kernels=_dropout_kernels, gradient=_gradient(1)
    ),
    "npu_dropout_backward": NpuOperator(
        compute=_backward,
        shapes=lambda grad_output: torch.empty_like(grad_output),
        kernels=vector("DropOutDoMask", "aclnnDropoutDoMask", cost=3),
    ),
    "npu_dropout_do_mask": NpuOperator(
        compute=_do_mask,
        shapes=lambda self, mask: (torch.empty_like(self), mask),
        kernels=vector("DropOutDoMask", "aclnnDropoutDoMask", cost=3),
        gradient=_gradient("mask"),
    ),
    "_npu_dropout_gen_mask.Tensor": NpuOperator(
        compute=_gen_mask_from_seed,
        shapes=lambda self, size: _empty_mask(self, math.prod(size)),
        kernels=_drawing,
        dtypes="uint8",
    ),
    "_dropout_with_byte_mask": NpuOperator(
        compute=_byte_dropout,
        shapes=_byte_shapes,
        kernels=_byte_kernels,
        gradient=Gradient(compute=_byte_gradient, keeps=(1,)),
    ),
    "_dropout_with_byte_mask_backward": NpuOperator(
        compute=_byte_dropped,
        shapes=lambda grad_output: torch.empty_like(grad_output),
        kernels=vector("DropOutDoMaskV3", cost=3),
    ),
    "npu_dropout_with_add_softmax": NpuOperator(
        compute=_add_softmax,
        shapes=_add_softmax_shapes,
        kernels=_add_softmax_kernels,
        gradient=Gradient(compute=_add_softmax_gradient, keeps=("self", "x1", 0, 1), outputs=(2,)),
    ),
    "npu_dropout_with_add_softmax_backward": NpuOperator(
        compute=_add_softmax_backward,
        shapes=lambda grad: (torch.empty_like(grad), torch.empty_like(grad)),
        kernels=vector("DropoutWithMulsAndSoftmaxGrad", cost=8),
    ),
}
