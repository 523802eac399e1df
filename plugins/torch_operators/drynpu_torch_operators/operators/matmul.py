"""Matrix products: grouped, quantised, with quantised weights, transposing, and the plain ones of older ports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import torch
from torch import Tensor

from drynpu.kernels import TaskType, ops
from drynpu.kernels.ops.matmul import BATCHED
from drynpu_torch_operators.operators import errors
from drynpu_torch_operators.operators._call import Call
from drynpu_torch_operators.operators._launch import Launch, product
from drynpu_torch_operators.operators._lowbits import mx_factors, mx_row_factors, unpacked_int4
from drynpu_torch_operators.operators._numbers import saturated, torch_dtype, wide
from drynpu_torch_operators.operators._operator import Gradient, Launches, NpuOperator

SCHEMAS = """
npu_quant_matmul(Tensor x1, Tensor x2, Tensor scale, *, Tensor? offset=None, Tensor? pertoken_scale=None,
    Tensor? bias=None, int? output_dtype=None, int? x1_dtype=None, int? x2_dtype=None,
    int? pertoken_scale_dtype=None, int? scale_dtype=None, int[]? group_sizes=None, Tensor? y_scale=None) -> Tensor
npu_weight_quant_batchmatmul(Tensor x, Tensor weight, Tensor antiquant_scale, Tensor? antiquant_offset=None,
    Tensor? quant_scale=None, Tensor? quant_offset=None, Tensor? bias=None, int antiquant_group_size=0,
    int inner_precise=0, int? weight_dtype=None) -> Tensor
npu_transpose_batchmatmul(Tensor input, Tensor weight, *, Tensor? bias=None, Tensor? scale=None,
    int[]? perm_x1=None, int[]? perm_x2=None, int[]? perm_y=None, int? batch_split_factor=1) -> Tensor
npu_linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor
npu_linear_backward(Tensor grad, Tensor input, Tensor weight) -> (Tensor, Tensor)
npu_bmmV2(Tensor self, Tensor mat2, int[] output_sizes) -> Tensor
npu_bmm_v2_mat1_backward(Tensor grad, Tensor mat1, Tensor mat2, SymInt[] size) -> Tensor
npu_bmm_v2_mat2_backward(Tensor grad, Tensor mat1, Tensor mat2, SymInt[] size) -> Tensor
npu_matmul_add_fp32(Tensor x, Tensor weight, Tensor(a!) C) -> ()
_npu_matmul_add_fp32(Tensor x, Tensor weight, Tensor(a!) C) -> ()
"""

_SCALE_BITS = 0xFFFFFFFF
"""Bits of an FP32 scale in an INT64."""


def scale_numbers(scale: Tensor) -> Tensor:
    """Return scales as FP32; npu_trans_quant_param packs the bits of one into an INT64."""
    if scale.dtype is not torch.int64:
        return scale.float()
    bits = scale & _SCALE_BITS
    return torch.where(bits >= 2**31, bits - 2**32, bits).int().view(torch.float32)


def exact_product(x: Tensor, weight: Tensor) -> Tensor:
    """Return a product as the matrix unit makes it: INT8 into INT32 without error, floating numbers into FP32."""
    if not x.dtype.is_floating_point:
        return x.double() @ weight.double()
    return wide(x) @ wide(weight)


def _int4_operands(x1: Tensor, x2: Tensor) -> tuple[Tensor, Tensor]:
    """Return operands whose INT32 words hold eight integers; a word of a transposed weight holds rows."""
    first = unpacked_int4(x1) if x1.dtype is torch.int32 else x1
    if x2.dtype is not torch.int32:
        return first, x2
    if x2.shape[-2] * 8 == first.shape[-1]:
        return first, unpacked_int4(x2.transpose(-1, -2)).transpose(-1, -2)
    return first, unpacked_int4(x2)


def _quant_matmul(
    x1: Tensor,
    x2: Tensor,
    scale: Tensor,
    offset: Tensor | None,
    pertoken_scale: Tensor | None,
    bias: Tensor | None,
    output_dtype: int | None,
    group_sizes: Sequence[int] | None,
) -> Tensor:
    x, weight = _int4_operands(x1, x2)
    if x.shape[-1] != weight.shape[-2]:
        errors.reject("aclnnQuantMatmulV5", f"the k of x1 {list(x1.shape)} and x2 {list(x2.shape)} should be equal.")
    if scale.dtype is torch.uint8 or (group_sizes and scale.dim() > 1):
        if pertoken_scale is None:
            errors.reject("aclnnQuantMatmulV5", "pertoken_scale is needed where x2 has a scale for each block.")
        output = _by_block(x, weight, scale, pertoken_scale, group_sizes or ())
    else:
        accumulated = exact_product(x, weight)
        if bias is not None and bias.dtype is torch.int32:
            accumulated, bias = accumulated + bias, None
        output = accumulated * scale_numbers(scale)
        output = output if pertoken_scale is None else output * pertoken_scale.float().unsqueeze(-1)
    output = output if offset is None else output + offset.float()
    output = output if bias is None else output + bias.float()
    dtype = torch_dtype(output_dtype, torch.int8)
    return output.to(dtype) if dtype.is_floating_point else saturated(output, dtype)


def _by_block(x: Tensor, weight: Tensor, scale: Tensor, rows: Tensor, sizes: Sequence[int]) -> Tensor:
    """Return a product with a scale for each block of numbers of both operands."""
    inner, columns = weight.shape[-2:]
    if scale.dtype is torch.uint8:
        return (wide(x) * mx_row_factors(rows, inner)) @ (wide(weight) * mx_factors(scale, inner))
    size_m, size_n, size_k = sizes
    left = rows.float().repeat_interleave(size_m, 0)[: x.shape[0]].repeat_interleave(size_k, 1)[:, :inner]
    right = scale.float().repeat_interleave(size_k, 0)[:inner].repeat_interleave(size_n, 1)[:, :columns]
    return (wide(x) * left) @ (wide(weight) * right)


def _quant_kernels(call: Call) -> Iterable[Launch]:
    (out,) = call.outputs
    inner = call["x1"].shape[-1] * (8 if call["x1"].dtype is torch.int32 else 1)
    sides = [(out.numel() // out.shape[-1], inner, out.shape[-1])]
    plain = call["pertoken_scale"] is None and call["scale"].dtype is torch.int64
    task = TaskType.AI_CORE if plain else TaskType.MIX_AIC
    yield product("QuantBatchMatmulV3", call.inputs, [out], sides, api="aclnnQuantMatmulV5", task=task)


def weights(weight: Tensor, scale: Tensor, offset: Tensor | None, dtype: torch.dtype, rows: int) -> Tensor:
    """
    Return quantised weights [.., rows, columns] in a floating type: (weight + offset) * scale, rounded to it.

    Scales are for each column, or for each group of rows and column; INT32 words hold eight weights.
    """
    if weight.dtype is torch.int32:
        packed_rows = weight.shape[-2] * 8 == rows
        turned = weight.transpose(-1, -2) if packed_rows else weight
        weight = unpacked_int4(turned)
        weight = weight.transpose(-1, -2) if packed_rows else weight
    parts = []
    for part in (scale, offset):
        if part is not None and part.dim() >= weight.dim() and part.shape[-2] > 1:
            part = part.repeat_interleave(rows // part.shape[-2], -2)
        elif part is not None and part.dim() == weight.dim() - 1 and part.dim() > 1:
            part = part.unsqueeze(-2)
        parts.append(None if part is None else part.float())
    factor, shift = parts
    assert factor is not None
    shifted = weight.float() if shift is None else weight.float() + shift
    if dtype is torch.float16:
        shifted = shifted.half().float()  # the vector unit computes in FP16 here, and rounds behind each step
    return (shifted * factor).to(dtype)


def _weight_quant_batchmatmul(
    x: Tensor,
    weight: Tensor,
    antiquant_scale: Tensor,
    antiquant_offset: Tensor | None,
    quant_scale: Tensor | None,
    quant_offset: Tensor | None,
    bias: Tensor | None,
) -> Tensor:
    output = wide(x) @ wide(weights(weight, antiquant_scale, antiquant_offset, x.dtype, x.shape[-1]))
    output = output if bias is None else output + bias.float()
    if quant_scale is None:
        return output.to(x.dtype)
    scaled = output * scale_numbers(quant_scale)
    return saturated(scaled if quant_offset is None else scaled + quant_offset.float(), torch.int8)


def _plain_kernels(kernel: str, api: str, first: str, task: TaskType = TaskType.MIX_AIC) -> Launches:
    """State one product whose inner edge is the last axis of the argument *first*."""

    def kernels(call: Call) -> Iterable[Launch]:
        (out,) = call.outputs
        sides = [(out.numel() // max(out.shape[-1], 1), call[first].shape[-1], out.shape[-1])]
        yield product(kernel, call.inputs, [out], sides, api=api, task=task)

    return kernels


def _transpose_batchmatmul(
    input_: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    scale: Tensor | None,
    perm_x1: Sequence[int] | None,
    perm_x2: Sequence[int] | None,
    perm_y: Sequence[int] | None,
    batch_split_factor: int | None,
) -> Tensor:
    first, second, result = (list(p or default) for p, default in zip((perm_x1, perm_x2, perm_y), _PERMS, strict=True))
    errors.require(first in ([0, 1, 2], [1, 0, 2]), "perm_x1 should be [0, 1, 2] or [1, 0, 2]")
    errors.require(second in ([0, 1, 2], [0, 2, 1]), "perm_x2 should be [0, 1, 2] or [0, 2, 1]")
    errors.require(result == [1, 0, 2], "perm_y should be [1, 0, 2]")
    errors.require(bias is None, "The bias is not supported in TransposeBatchMatMul")
    dtype = str(input_.dtype).removeprefix("torch.")
    text = f"input's type supported for float16, float32 and bfloat16, but now is {dtype}"
    errors.require(input_.dtype in (torch.float16, torch.float32, torch.bfloat16), text)
    out = (wide(input_).permute(first) @ wide(weight).permute(second)).permute(result)
    rows, batch, columns = out.shape
    factor = batch_split_factor or 1
    if scale is not None:
        return saturated(out.reshape(rows, batch * columns) * scale_numbers(scale), torch.int8)
    if factor > 1:
        out = out.reshape(rows, factor, batch * columns // factor).transpose(0, 1)
    return out.to(input_.dtype).contiguous()


_PERMS = ((0, 1, 2), (0, 1, 2), (1, 0, 2))


def _transpose_kernels(call: Call) -> Iterable[Launch]:
    first = call["input"].permute(call["perm_x1"] or _PERMS[0])
    weight = call["weight"].permute(call["perm_x2"] or _PERMS[1])
    sides = [(first.shape[1], first.shape[2], weight.shape[2])] * first.shape[0]
    yield product("TransposeBatchMatMul", call.inputs, call.outputs, sides)


def _linear(input_: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    output = wide(input_) @ wide(weight).t()
    return (output if bias is None else output + wide(bias)).to(input_.dtype)


def _linear_kernels(call: Call) -> Iterable[Launch]:
    x, (out,) = call["input"], call.outputs
    sides = (out.numel() // out.shape[-1], x.shape[-1], out.shape[-1])
    api = "aclnnMm" if call["bias"] is None else "aclnnAddmm"
    yield product(_kernel_of(sides), call.inputs, [out], [sides], api=api, task=TaskType.AI_CORE)


def _kernel_of(sides: tuple[int, int, int]) -> str:
    return ops.Sides(*sides).kernel_type


def _linear_backward(grad: Tensor, input_: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    rows, x = wide(grad).reshape(-1, grad.shape[-1]), wide(input_).reshape(-1, input_.shape[-1])
    dx = (rows @ wide(weight)).reshape(input_.shape)
    return dx.to(input_.dtype), (rows.t() @ x).to(weight.dtype)


def _linear_backward_kernels(call: Call) -> Iterable[Launch]:
    (grad, x, weight), (dx, dweight) = call.tensors("grad", "input", "weight"), call.outputs
    rows = grad.numel() // grad.shape[-1]
    back, over = (rows, weight.shape[0], weight.shape[1]), (weight.shape[0], rows, weight.shape[1])
    yield product(_kernel_of(back), [grad, weight], [dx], [back], api="aclnnMm", task=TaskType.AI_CORE)
    yield product(_kernel_of(over), [grad, x], [dweight], [over], api="aclnnMm", task=TaskType.AI_CORE)


def _linear_gradient(call: Call, grad: Tensor) -> Mapping[str, Tensor | None]:
    dx, dweight = torch.ops.npu.npu_linear_backward(grad, call["input"], call["weight"])
    dbias = grad.reshape(-1, grad.shape[-1]).sum(0) if "bias" in call.needed else None
    return {"input": dx, "weight": dweight, "bias": dbias}


def _bmm(self: Tensor, mat2: Tensor, output_sizes: Sequence[int]) -> Tensor:
    output = wide(self) @ wide(mat2)
    return (output.sum_to_size(tuple(output_sizes)) if output_sizes else output).to(self.dtype)


def _bmm_first_backward(grad: Tensor, mat1: Tensor, mat2: Tensor, size: Sequence[int]) -> Tensor:
    return (wide(grad) @ wide(mat2).transpose(-1, -2)).sum_to_size(tuple(size)).to(mat1.dtype)


def _bmm_second_backward(grad: Tensor, mat1: Tensor, mat2: Tensor, size: Sequence[int]) -> Tensor:
    return (wide(mat1).transpose(-1, -2) @ wide(grad)).sum_to_size(tuple(size)).to(mat2.dtype)


def _bmm_gradient(call: Call, grad: Tensor) -> Mapping[str, Tensor | None]:
    first, second = call["self"], call["mat2"]
    whole = torch.broadcast_shapes(first.shape[:-2], second.shape[:-2])  # type: ignore[no-untyped-call]
    grad = grad.expand(*whole, *grad.shape[-2:])
    return {
        "self": torch.ops.npu.npu_bmm_v2_mat1_backward(grad, first, second, first.shape),
        "mat2": torch.ops.npu.npu_bmm_v2_mat2_backward(grad, first, second, second.shape),
    }


def _matmul_add_fp32(x: Tensor, weight: Tensor, C: Tensor) -> None:  # noqa: N803 - the vendor's name
    C.add_((wide(x).t() @ wide(weight)).reshape(C.shape))


def _matmul_add_kernels(call: Call) -> Iterable[Launch]:
    x, weight, total = call.tensors("x", "weight", "C")
    sides = [(x.shape[-1], x.shape[0], weight.shape[-1])]
    yield product("MatmulAddFp32", call.inputs, [total], sides)


_ADD = NpuOperator(compute=_matmul_add_fp32, kernels=_matmul_add_kernels, dtypes="float16, bfloat16 into float32")

OPERATORS: Mapping[str, NpuOperator] = {
    "npu_quant_matmul": NpuOperator(
        compute=_quant_matmul,
        kernels=_quant_kernels,
        dtypes="int8, int4 in int32, float8_e4m3fn, float8_e5m2",
        left_out=("x1_dtype", "x2_dtype", "y_scale"),
    ),
    "npu_weight_quant_batchmatmul": NpuOperator(
        compute=_weight_quant_batchmatmul,
        kernels=_plain_kernels("WeightQuantBatchMatmulV2", "aclnnWeightQuantBatchMatmulV2", "x"),
        dtypes="float16, bfloat16 with int8 or int4 in int32",
    ),
    "npu_transpose_batchmatmul": NpuOperator(compute=_transpose_batchmatmul, kernels=_transpose_kernels),
    "npu_linear": NpuOperator(
        compute=_linear,
        kernels=_linear_kernels,
        gradient=Gradient(compute=_linear_gradient, keeps=("input", "weight")),
    ),
    "npu_linear_backward": NpuOperator(compute=_linear_backward, kernels=_linear_backward_kernels),
    "npu_bmmV2": NpuOperator(
        compute=_bmm,
        kernels=_plain_kernels(BATCHED, "aclnnBatchMatMul", "self", TaskType.AI_CORE),
        gradient=Gradient(compute=_bmm_gradient, keeps=("self", "mat2")),
    ),
    "npu_bmm_v2_mat1_backward": NpuOperator(
        compute=_bmm_first_backward, kernels=_plain_kernels(BATCHED, "aclnnBatchMatMul", "grad", TaskType.AI_CORE)
    ),
    "npu_bmm_v2_mat2_backward": NpuOperator(
        compute=_bmm_second_backward, kernels=_plain_kernels(BATCHED, "aclnnBatchMatMul", "grad", TaskType.AI_CORE)
    ),
    "npu_matmul_add_fp32": _ADD,
    "_npu_matmul_add_fp32": _ADD,
}
