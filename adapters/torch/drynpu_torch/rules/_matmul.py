"""Matrix products that only torch has: fused by its CPU kernels, or of vectors."""

from __future__ import annotations

import math
from typing import Final

from drynpu.kernels import KernelPlan, Named, OperatorCall, TensorDesc, broadcast_shape
from drynpu.kernels.ops import Sides, clear_kernel, matrix_sides, product_kernel


def matrix_product(call: OperatorCall) -> KernelPlan | None:
    """Return the plan of a product without a bias; for FP32 the kernel MatMulV2 finds its result cleared (measured)."""
    sides = matrix_sides(call)
    if sides is None:
        return None
    main = product_kernel(call, sides, call.tensors("a", "b"), call.output())
    if main.op_type != "MatMulV2" or main.outputs[0].dtype != "FLOAT":
        return call.plan(main)
    clear = clear_kernel(call.under(call.binding.api, "MatMulCommon"), main.outputs)
    return call.plan(clear, main)


def linear(call: OperatorCall) -> KernelPlan | None:
    """Return the plan of a linear layer; leading dimensions are folded into rows."""
    x, weight, bias = call.tensor("x"), call.tensor("weight"), call.tensor("bias")
    if x is None or weight is None or len(weight.shape) != 2 or x.shape[-1:] != weight.shape[1:]:
        return None
    sides = Sides(math.prod(x.shape[:-1]), x.shape[-1], weight.shape[0])
    rows = TensorDesc((sides.rows, sides.inner), x.dtype)
    turned = TensorDesc((sides.inner, sides.columns), weight.dtype)
    call = call if bias is not None else call.under("aclnnMm")
    return call.plan(product_kernel(call, sides, [rows, turned, *call.tensors("bias")]))


def addmm_activation(call: OperatorCall) -> KernelPlan | None:
    """Return the plan of a layer with activation: an NPU runs the product, then the activation."""
    sides = matrix_sides(call)
    if sides is None:
        return None
    first = product_kernel(call, sides, call.tensors("a", "b", "bias"))
    out = first.outputs[0]
    kind, cost = ("Gelu", 16) if call.flag("gelu") else ("Relu", 1)
    return call.plan(first, call.under(f"aclnn{kind}").kernel(kind, [out], [out], cost=cost))


def matrix_vector(call: OperatorCall) -> KernelPlan | None:
    """Return the plan of a product with a vector, which is a matrix of one column."""
    a, x = call.tensor("a"), call.tensor("x")
    if a is None or x is None or len(a.shape) != 2 or a.shape[1:] != x.shape:
        return None
    column = TensorDesc((x.shape[0], 1), x.dtype)
    return call.plan(product_kernel(call, Sides(*a.shape, 1), [a, column, *call.tensors("onto")]))


def dot(call: OperatorCall) -> KernelPlan | None:
    """Return the plan of the product of two vectors."""
    inputs = call.tensors("a", "b")
    if len(inputs) < 2:
        return None
    return call.plan(call.kernel("Dot", inputs, [TensorDesc((), inputs[0].dtype)], cost=2))


def addbmm(call: OperatorCall) -> KernelPlan | None:
    """Return the plan of the products of a stack of matrices and their sum."""
    sides, onto = matrix_sides(call), call.tensor("onto")
    if sides is None or onto is None:
        return None
    first = product_kernel(call, sides, call.tensors("a", "b"))
    (stack,) = first.outputs
    out = call.tensor_of(broadcast_shape([onto.shape, stack.shape[1:]]) or onto.shape, stack.dtype)
    return call.plan(first, call.kernel("ReduceSum", [stack, onto], [out]))


def bias_rescale_qkv(call: OperatorCall) -> KernelPlan | None:
    """Return the plan of splitting into heads in ``nn.TransformerEncoder``: bias, scaling of q, transposition."""
    qkv, bias, heads = call.tensor("qkv"), call.tensor("bias"), call.whole("heads", 0)
    if qkv is None or bias is None or len(qkv.shape) != 3 or heads < 1:
        return None
    rows, length, width = qkv.shape
    q = call.tensor_of((rows, length, width // 3), qkv.dtype)
    out = call.tensor_of((3, rows, heads, length, width // 3 // heads), qkv.dtype)
    return call.plan(
        call.kernel("Add", [qkv, bias], [qkv]),
        call.under("aclnnMuls", "MulAiCore").kernel("Mul", [q, TensorDesc((), q.dtype)], [q]),
        call.under("aclnnInplaceCopy").kernel("Transpose", [qkv], [out], cost=0),
    )


NAMES: Final = (
    Named(matrix_product, "a b", "mm=Mm:"),
    Named(addbmm, "onto a b", "addbmm=Addbmm:"),
    Named(addmm_activation, "bias a b beta alpha gelu", "_addmm_activation=Addmm:"),
    Named(matrix_vector, "a x", "mv=Mv:"),
    Named(matrix_vector, "onto a x", "addmv=Addmv:"),
    Named(dot, "a b", "dot=Dot: vdot=Dot:"),
    Named(linear, "x weight bias", "mkldnn_linear=Addmm:"),
    Named(bias_rescale_qkv, "qkv bias heads", "_transform_bias_rescale_qkv=Add:"),
)
