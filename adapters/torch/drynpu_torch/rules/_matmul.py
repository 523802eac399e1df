"""
Matrix products.

MatMulV3 is taken from a thousand million multiply-adds on, MatMulV2 below: that separates the measured ND cases
(V2 at [32,4096]x[4096,4096] and [1000,32]x[32,4096], V3 at [4096,32]x[32,9216] and above).
HF32 is off: ``torch.npu.matmul.allow_hf32`` is False by default, and the measured FP32 products show NO.
"""

from __future__ import annotations

from drynpu.kernels import KernelPlan, KernelSpec, Signature, TensorDesc
from drynpu_torch.rules._shapes import broadcast, flag, product
from drynpu_torch.rules._work import Rule, cube_kernel, kernel, like, output_tiles, plan, tensor

__all__ = ["matmul_rules"]

_V3_FROM_MULTIPLY_ADDS = 10**9


def _nd(source: TensorDesc) -> TensorDesc:
    return like(source, layout="ND")


def _product(api: str, a: TensorDesc, b: TensorDesc, bias: TensorDesc | None, *, batched: bool) -> KernelSpec:
    *batch, rows, inner = a.shape
    columns = b.shape[-1]
    count = product(batch)
    v3 = rows * columns * inner >= _V3_FROM_MULTIPLY_ADDS
    if batched:
        function, op_type = "BatchMatMulNd", "BatchMatMulV2"
    else:
        function, op_type = ("MatMulV3Common", "MatMulV3") if v3 else ("MatMulCommon", "MatMulV2")
    inputs = [_nd(a), _nd(b)] + ([_nd(bias)] if bias is not None else [])
    return cube_kernel(
        f"{api}_{function}_{op_type}",
        op_type,
        inputs,
        [tensor((*batch, rows, columns), a.dtype, "ND")],
        flops=2 * count * rows * columns * inner,
        tiles=count * output_tiles(rows, columns),
    )


def _fits(a: TensorDesc | None, b: TensorDesc | None, rank: int) -> bool:
    return (
        a is not None
        and b is not None
        and len(a.shape) == len(b.shape) == rank
        and a.shape[-1] == b.shape[-2]
        and a.shape[:-2] == b.shape[:-2]
    )


def _matrix_rule(api: str, rank: int, first: int) -> Rule:
    """Product of the tensors at *first* and *first* + 1, onto the tensor at 0 when *first* is 1."""

    def rule(signature: Signature) -> KernelPlan | None:
        a, b = signature.tensor(first), signature.tensor(first + 1)
        if a is None or b is None or not _fits(a, b, rank):
            return None
        bias = signature.tensor(0) if first else None
        return plan(api, _product(api, a, b, bias, batched=rank == 3))

    return rule


def _addmm_activation(signature: Signature) -> KernelPlan | None:
    """CPU fusion of a feed-forward layer; an NPU runs the product, then the activation."""
    a, b = signature.tensor(1), signature.tensor(2)
    if a is None or b is None or not _fits(a, b, 2):
        return None
    first = _product("aclnnAddmm", a, b, signature.tensor(0), batched=False)
    out = first.outputs[0]
    gelu = flag(signature, 5)
    second = (
        kernel("aclnnGelu", "Gelu", "Gelu", [out], [out], cost=16)
        if gelu
        else kernel("aclnnRelu", "Relu", "Relu", [out], [out])
    )
    return plan("aclnnAddmm", first, second)


def _matrix_vector(api: str, first: int) -> Rule:
    def rule(signature: Signature) -> KernelPlan | None:
        a, x = signature.tensor(first), signature.tensor(first + 1)
        if a is None or x is None or len(a.shape) != 2 or a.shape[1:] != x.shape:
            return None
        column = tensor((x.shape[0], 1), x.dtype)
        return plan(api, _product(api, a, column, signature.tensor(0) if first else None, batched=False))

    return rule


def _dot(signature: Signature) -> KernelPlan | None:
    a, b = signature.tensor(0), signature.tensor(1)
    if a is None or b is None:
        return None
    return plan("aclnnDot", kernel("aclnnDot", "Dot", "Dot", [a, b], [tensor((), a.dtype)], cost=2))


def _linear(signature: Signature) -> KernelPlan | None:
    """``aten::mkldnn_linear(input, weight, bias)``: leading dimensions are folded into rows."""
    x, weight, bias = signature.tensor(0), signature.tensor(1), signature.tensor(2)
    if x is None or weight is None or len(weight.shape) != 2 or x.shape[-1:] != weight.shape[1:]:
        return None
    rows = tensor((product(x.shape[:-1]), x.shape[-1]), x.dtype)
    api = "aclnnAddmm" if bias is not None else "aclnnMm"
    return plan(api, _product(api, rows, tensor(weight.shape[::-1], weight.dtype), bias, batched=False))


def _bias_rescale_qkv(signature: Signature) -> KernelPlan | None:
    """Inference path of ``nn.TransformerEncoder``: bias, scale of q, heads apart; three kernels on an NPU."""
    qkv, bias = signature.tensor(0), signature.tensor(1)
    heads = signature.attributes[2] if len(signature.attributes) > 2 else None
    if qkv is None or bias is None or len(qkv.shape) != 3 or not isinstance(heads, int) or heads < 1:
        return None
    rows, length, width = qkv.shape
    q = tensor((rows, length, width // 3), qkv.dtype)
    out = tensor((3, rows, heads, length, width // 3 // heads), qkv.dtype)
    return plan(
        "aclnnAdd",
        kernel("aclnnAdd", None, "Add", [qkv, bias], [qkv]),
        kernel("aclnnMuls", "MulAiCore", "Mul", [q, tensor((), q.dtype)], [q]),
        kernel("aclnnInplaceCopy", None, "Transpose", [qkv], [out], cost=0),
    )


def _addbmm(signature: Signature) -> KernelPlan | None:
    a, b, onto = signature.tensor(1), signature.tensor(2), signature.tensor(0)
    if a is None or b is None or onto is None or not _fits(a, b, 3):
        return None
    first = _product("aclnnAddbmm", a, b, None, batched=True)
    out = tensor(broadcast([onto.shape, first.outputs[0].shape[1:]]) or onto.shape, a.dtype)
    second = kernel("aclnnAddbmm", "ReduceSumOpAiCore", "ReduceSum", [first.outputs[0], onto], [out])
    return plan("aclnnAddbmm", first, second)


def matmul_rules() -> dict[str, Rule]:
    """Return the rules of matrix products by operator name."""
    return {
        "aten::mm": _matrix_rule("aclnnMm", 2, 0),
        "aten::addmm": _matrix_rule("aclnnAddmm", 2, 1),
        "aten::addmm_": _matrix_rule("aclnnInplaceAddmm", 2, 1),
        "aten::bmm": _matrix_rule("aclnnBatchMatMul", 3, 0),
        "aten::baddbmm": _matrix_rule("aclnnBaddbmm", 3, 1),
        "aten::baddbmm_": _matrix_rule("aclnnInplaceBaddbmm", 3, 1),
        "aten::addbmm": _addbmm,
        "aten::_addmm_activation": _addmm_activation,
        "aten::mv": _matrix_vector("aclnnMv", 0),
        "aten::addmv": _matrix_vector("aclnnAddmv", 1),
        "aten::dot": _dot,
        "aten::vdot": _dot,
        "aten::mkldnn_linear": _linear,
        "aten::_transform_bias_rescale_qkv": _bias_rescale_qkv,
    }
