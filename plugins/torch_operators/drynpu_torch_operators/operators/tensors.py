"""What older ports do with tensors: parts, padding, order, the largest numbers, signs as bits, flags of overflow."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import torch
from torch import Tensor

from drynpu_torch_operators.operators import errors
from drynpu_torch_operators.operators._call import Call
from drynpu_torch_operators.operators._launch import Launch, no_kernels, vector
from drynpu_torch_operators.operators._numbers import wide
from drynpu_torch_operators.operators._operator import Gradient, NpuOperator

SCHEMAS = """
npu_pad(Tensor input, int[] paddings) -> Tensor
npu_slice(Tensor self, int[] offsets, int[] size) -> Tensor
npu_reshape(Tensor self, int[] shape, bool can_refresh=False) -> Tensor
npu_indexing(Tensor self, int[] begin, int[] end, int[] strides, int begin_mask=0, int end_mask=0,
    int ellipsis_mask=0, int new_axis_mask=0, int shrink_axis_mask=0) -> Tensor
npu_max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
npu_min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
npu_max_backward(Tensor grad, int dim, Tensor indices, SymInt[] sizes, bool keepdim) -> Tensor
npu_min_backward(Tensor grad, int dim, Tensor indices, SymInt[] sizes, bool keepdim) -> Tensor
npu_sort_v2(Tensor self, int dim=-1, bool descending=False) -> Tensor
npu_stride_add(Tensor self, Tensor other, Scalar offset1, Scalar offset2, Scalar c1_len) -> Tensor
reverse(Tensor self, int[] axis) -> Tensor
npu_sign_bits_pack(Tensor self, int size) -> Tensor
npu_sign_bits_unpack(Tensor input, int size, ScalarType dtype) -> Tensor
npu_alloc_float_status(Tensor self) -> Tensor
npu_get_float_status(Tensor self, int mode=0) -> Tensor
npu_clear_float_status(Tensor self, int mode=0) -> Tensor
npu_prefetch(Tensor self, Tensor? dependency, int max_size, int offset=0) -> ()
npu_gather_sparse_index(Tensor input, Tensor index) -> Tensor
npu_dtype_cast_(Tensor(a!) self, Tensor src) -> Tensor(a!)
_npu_dtype_cast(Tensor self, ScalarType dtype) -> Tensor
npu_renorm_backward(Tensor grad, Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor
"""

_BITS, _STATUS_NUMBERS, _BLOCK = 8, 8, 16
"""Signs in a byte, numbers of an overflow flag, and channels of a block of NC1HWC0."""


def _pad(input_: Tensor, paddings: Sequence[int]) -> Tensor:
    """Return the tensor with zeros before and behind each axis, in the order of the axes."""
    dims = input_.dim()
    text = f"paddings should have two numbers for each of the {dims} axes of input, but has {len(paddings)}"
    errors.require(len(paddings) == 2 * dims, text)
    pairs = [paddings[2 * axis : 2 * axis + 2] for axis in reversed(range(dims))]
    return torch.nn.functional.pad(input_, [number for pair in pairs for number in pair])


def _slice(self: Tensor, offsets: Sequence[int], size: Sequence[int]) -> Tensor:
    parts = tuple(slice(first, first + length) for first, length in zip(offsets, size, strict=True))
    return self[parts].contiguous()


def _indexing(call: Call) -> Tensor:
    """Return a strided slice; bit i of a mask speaks of place i, as in TensorFlow's strided_slice."""
    x: Tensor = call["self"]
    text = "drynpu computes npu_indexing without ellipsis_mask and new_axis_mask; use Tensor.__getitem__"
    errors.require(not call["ellipsis_mask"] and not call["new_axis_mask"], text, errors.NOT_SUPPORTED)
    index: list[slice | int] = []
    for place, (begin, end, stride) in enumerate(zip(call["begin"], call["end"], call["strides"], strict=True)):
        first, last = ((call[f"{name}_mask"] >> place) & 1 for name in ("begin", "end"))
        if (call["shrink_axis_mask"] >> place) & 1:
            index.append(begin)
        else:
            index.append(slice(None if first else begin, None if last else end, stride))
    return x[tuple(index)].clone()


def _max(self: Tensor, dim: int, keepdim: bool) -> tuple[Tensor, Tensor]:
    values, indices = self.max(dim, keepdim)
    return values, indices.int()


def _min(self: Tensor, dim: int, keepdim: bool) -> tuple[Tensor, Tensor]:
    values, indices = self.min(dim, keepdim)
    return values, indices.int()


def _extreme_backward(grad: Tensor, dim: int, indices: Tensor, sizes: Sequence[int], keepdim: bool) -> Tensor:
    grads, places = (grad, indices) if keepdim else (grad.unsqueeze(dim), indices.unsqueeze(dim))
    return grad.new_zeros(list(sizes)).scatter_(dim, places.long(), grads)


def _extreme_gradient(name: str) -> Gradient:
    def compute(call: Call, grad: Tensor, *others: Tensor) -> Mapping[str, Tensor | None]:
        del others
        options = (list(call["self"].shape), call["keepdim"])
        return {"self": getattr(torch.ops.npu, name)(grad, call["dim"], call.results[1], *options)}

    return Gradient(compute=compute, keeps=("self", 1))


def _stride_add(self: Tensor, other: Tensor, offset1: int, offset2: int, c1_len: int) -> Tensor:
    """Add *c1_len* blocks of 16 channels of both tensors, from a block of each on."""
    size = int(c1_len) * _BLOCK
    parts = [x[:, int(first) * _BLOCK : int(first) * _BLOCK + size] for x, first in ((self, offset1), (other, offset2))]
    return parts[0] + parts[1]


def _pack_signs(self: Tensor, size: int) -> Tensor:
    """Return one bit for each number, 1 for 0 and more, the first in the lowest bit: [size, bytes / size]."""
    text = f"self should have one dimension, but has {self.dim()}"
    errors.require(self.dim() == 1, text)
    count = -(-self.numel() // _BITS)
    errors.require(count % size == 0, f"the {count} bytes of signs should be divisible by size ({size})")
    padded = torch.nn.functional.pad(self.float(), (0, count * _BITS - self.numel()), value=-1.0)
    bits = (padded.reshape(-1, _BITS) >= 0).to(torch.uint8)
    return (
        (bits * 2 ** torch.arange(_BITS, dtype=torch.uint8, device=bits.device))
        .sum(-1, dtype=torch.uint8)
        .reshape(size, -1)
    )


def _unpack_signs(input_: Tensor, size: int, dtype: torch.dtype) -> Tensor:
    bits = input_.reshape(-1, 1).bitwise_right_shift(torch.arange(_BITS, dtype=torch.uint8, device=input_.device)) & 1
    return (bits.to(torch.float32) * 2 - 1).reshape(size, -1).to(dtype)


def _float_status(self: Tensor) -> Tensor:
    """Return flags without overflow: on A2 and later no operator sets them."""
    del self
    return torch.zeros(_STATUS_NUMBERS)


def _float_status_shapes(self: Tensor) -> Tensor:
    return self.new_empty(_STATUS_NUMBERS, dtype=torch.float32)


def _cast_in_place(self: Tensor, src: Tensor) -> Tensor:
    return self.copy_(src)


def _cast_gradient(call: Call, grad: Tensor) -> Mapping[str, Tensor | None]:
    return {"self": grad.to(call["self"].dtype)}


def _gather_sparse(input_: Tensor, index: Tensor) -> Tensor:
    return input_[index.long()]


def _gather_sparse_gradient(call: Call, grad: Tensor) -> Mapping[str, Tensor | None]:
    x = call["input"]
    rows = wide(grad).reshape(-1, *x.shape[1:])
    gradient = wide(x).new_zeros(x.shape).index_add_(0, call["index"].long().flatten(), rows)
    return {"input": gradient.to(x.dtype)}


def _renorm_backward(grad: Tensor, self: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    """Return the gradient of a tensor whose parts along an axis were shortened to a largest norm."""
    x, outer = wide(self), wide(grad)
    others = [axis for axis in range(x.dim()) if axis != dim % x.dim()]
    norm = torch.linalg.vector_norm(x, p, others, keepdim=True)
    inverse = 1 / (norm + 1e-7)
    if p == math.inf:
        largest = (x.abs() == norm).to(x.dtype)
        slope = x.sign() * largest / largest.sum(others, keepdim=True)
    else:
        slope = (x.sign() * x.abs().pow(p - 1) / norm.pow(p - 1)).masked_fill((norm == 0) | (x == 0), 0)
    shortened = maxnorm * inverse * (outer - inverse * slope * (outer * x).sum(others, keepdim=True))
    return torch.where(norm > maxnorm, shortened, outer).to(self.dtype)


def _renorm_kernels(call: Call) -> Iterable[Launch]:
    """State the steps: norms of the parts, products and their sums, and the choice of the parts that are longer."""
    grad, x = call.inputs
    yield Launch(kernel="LpNormV2", inputs=[x], outputs=[x.select(call["dim"], 0)], cost=2)
    yield Launch(kernel="Mul", inputs=[grad, x], outputs=call.outputs)
    yield Launch(kernel="ReduceSum", inputs=call.outputs, outputs=[x.select(call["dim"], 0)])
    yield Launch(kernel="Mul", inputs=[grad, x], outputs=call.outputs, cost=3)
    yield Launch(kernel="SelectV2", inputs=[grad, x], outputs=call.outputs)


_ANY = "all"

OPERATORS: Mapping[str, NpuOperator] = {
    "npu_pad": NpuOperator(compute=_pad, kernels=vector("PadD", cost=0), dtypes=_ANY),
    "npu_slice": NpuOperator(compute=_slice, kernels=vector("Slice", cost=0), dtypes=_ANY),
    "npu_reshape": NpuOperator(
        compute=lambda self, shape: self.reshape(list(shape)).clone(),
        kernels=no_kernels,
        left_out=("can_refresh",),
        dtypes=_ANY,
    ),
    "npu_indexing": NpuOperator(compute=_indexing, kernels=vector("StridedSlice", cost=0), dtypes=_ANY),
    "npu_max.dim": NpuOperator(
        compute=_max, kernels=vector("ArgMaxWithValue", cost=1), gradient=_extreme_gradient("npu_max_backward")
    ),
    "npu_min.dim": NpuOperator(
        compute=_min, kernels=vector("ArgMinWithValue", cost=1), gradient=_extreme_gradient("npu_min_backward")
    ),
    "npu_max_backward": NpuOperator(compute=_extreme_backward, kernels=vector("ScatterElements", cost=1)),
    "npu_min_backward": NpuOperator(compute=_extreme_backward, kernels=vector("ScatterElements", cost=1)),
    "npu_sort_v2": NpuOperator(
        compute=lambda self, dim, descending: self.sort(dim=dim, descending=descending).values,
        kernels=vector("SortV2", cost=20),
    ),
    "npu_stride_add": NpuOperator(compute=_stride_add, kernels=vector("StrideAdd", cost=1)),
    "reverse": NpuOperator(
        compute=lambda self, axis: self.flip(list(axis)), kernels=vector("ReverseV2", cost=0), dtypes=_ANY
    ),
    "npu_sign_bits_pack": NpuOperator(compute=_pack_signs, kernels=vector("SignBitsPack", cost=2)),
    "npu_sign_bits_unpack": NpuOperator(
        compute=_unpack_signs, kernels=vector("SignBitsUnpack", cost=2), dtypes="uint8"
    ),
    **{
        f"npu_{verb}_float_status": NpuOperator(
            compute=_float_status,
            shapes=_float_status_shapes,
            kernels=vector(f"NPU{verb.capitalize()}FloatStatus", cost=1),
            dtypes="float32",
        )
        for verb in ("alloc", "get", "clear")
    },
    "npu_prefetch": NpuOperator(compute=lambda: None, kernels=no_kernels, dtypes=_ANY),
    "npu_gather_sparse_index": NpuOperator(
        compute=_gather_sparse,
        kernels=vector("GatherSparseIndex", cost=0),
        gradient=Gradient(compute=_gather_sparse_gradient, keeps=("input", "index")),
    ),
    "npu_dtype_cast_": NpuOperator(
        compute=_cast_in_place, shapes=lambda self: self, kernels=vector("Cast", written=("self",)), dtypes=_ANY
    ),
    "npu_renorm_backward": NpuOperator(
        compute=_renorm_backward, shapes=lambda self: torch.empty_like(self), kernels=_renorm_kernels
    ),
    "_npu_dtype_cast": NpuOperator(
        compute=lambda self, dtype: self.to(dtype, copy=True),
        kernels=vector("Cast"),
        gradient=Gradient(compute=_cast_gradient, keeps=("self",)),
        dtypes=_ANY,
    ),
}
