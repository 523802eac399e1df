"""
Fusion: the nodes of a graph that the graph engine turns into one operator.

Graph fusion puts a bias into the operator before it, which keeps its name; UB fusion joins kernels, under the names of
all of them one after another (no longer than 512 characters) and the type of the first. The patterns are those of the
vendor's list of fusion passes that training graphs meet:

- bias: AABiasaddConvFusion, MatMulBiasAddFusionPass;
- activation after a convolution: TbeConvFixPipeFusionPass (split chips), TbeConv2DReluv2Pass (unified chips);
- BNTrainingReduce into a 16-bit convolution: TbeConvBnreduceFusionPass;
- unified chips only: BNTrainingUpdate with what follows, activations after products (ATbeMatMulElemwiseFusionPass),
  the gradient of Relu after 16-bit Conv2DBackpropInput (TbeConv2DBackpropElemwiseFusionPass), chains of up to six
  element-wise operators (TbeEltwiseFusionPass). First-generation profiles show them (device_and_cost_model.md 4.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from drynpu.kernels.ops import Fusion, GraphOperator, fuse
from drynpu_tf.rules._call import ELEMENTWISE

_CONVOLUTIONS: Final = frozenset({"Conv2D", "DepthwiseConv2dNative"})
_PRODUCTS: Final = frozenset({"MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"})
_NORMS: Final = frozenset({"FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"})
_ADDITIONS: Final = frozenset({"Add", "AddV2"})
_AFTER_CONVOLUTION: Final = frozenset({"Relu", "LeakyRelu"})
_AFTER_PRODUCT: Final = frozenset(
    {"Elu", "LeakyRelu", "Softsign", "Relu6", "Relu", "Softplus", "Sigmoid", "Tanh", "Selu", "TanhGrad"}
)
_LONGEST_CHAIN: Final = 6
"""Operators that TbeEltwiseFusionPass joins at most."""
_HALF: Final = frozenset({"FLOAT16", "DT_BF16"})


def fuse_graph(operators: Sequence[GraphOperator], *, split: bool) -> list[GraphOperator]:
    """
    Return the operators after fusion, in their order.

    Parameters
    ----------
    split:
        Whether cube and vector cores are apart (A2 and later); unified chips fuse more.
    """
    fusions = [Fusion(_takes_bias, renames=False), Fusion(_activated_convolution)]
    if not split:
        more = (_activated_product, _activated_norm, _gradient_of_relu)
        fusions += [*map(Fusion, more), Fusion(_chain, times=_LONGEST_CHAIN - 1)]
    return _move_sums(fuse(operators, fusions))


def _move_sums(operators: list[GraphOperator]) -> list[GraphOperator]:
    """Give the sums of a batch norm to the 16-bit convolution before it; the norm keeps its second half."""
    by_name = {op.name: op for op in operators}
    for norm in operators:
        first = by_name.get(norm.inputs[0][0]) if norm.inputs and _is_training_norm(norm) else None
        image = first.call.output() if first is not None else None
        if first is None or first.op_type != "Conv2D" or image is None or image.dtype not in _HALF:
            continue
        if first.call.texts("_fused"):
            continue
        first.signature = first.describe({"_fused": ("BNTrainingReduce",), "_tail": f"{norm.call.node}_Reduce"})
        first.members = (*first.members, norm.members[0])
        norm.signature = norm.describe({"_reduced": True})
    return operators


def _takes_bias(first: GraphOperator, second: GraphOperator) -> bool:
    if first.call.texts("_fused"):
        return False
    if first.op_type in _CONVOLUTIONS:
        return second.op_type == "BiasAdd" and second.inputs[0] == first.outputs[0]
    out = first.call.output()
    if first.op_type not in _PRODUCTS or out is None or (first.op_type == "MatMul" and len(out.shape) != 2):
        return False
    if second.op_type == "BiasAdd":
        return second.inputs[0] == first.outputs[0]
    if second.op_type not in _ADDITIONS:
        return False
    other = second.call.tensor(1 if second.inputs[0] == first.outputs[0] else 0)
    return other is not None and other.shape == out.shape[-1:]


def _activated_convolution(first: GraphOperator, second: GraphOperator) -> bool:
    return first.op_type in _CONVOLUTIONS and second.op_type in _AFTER_CONVOLUTION


def _activated_product(first: GraphOperator, second: GraphOperator) -> bool:
    return first.op_type in _PRODUCTS and second.op_type in _AFTER_PRODUCT


def _is_training_norm(op: GraphOperator) -> bool:
    return op.op_type in _NORMS and op.call.attrs.get("is_training") is not False


def _activated_norm(first: GraphOperator, second: GraphOperator) -> bool:
    return _is_training_norm(first) and second.op_type in _AFTER_CONVOLUTION


def _gradient_of_relu(first: GraphOperator, second: GraphOperator) -> bool:
    out = first.call.output()
    return (
        first.op_type == "Conv2DBackpropInput"
        and second.op_type == "ReluGrad"
        and out is not None
        and out.dtype in _HALF
        and second.inputs[0] == first.outputs[0]
    )


def _chain(first: GraphOperator, second: GraphOperator) -> bool:
    if not {first.op_type, second.op_type} <= ELEMENTWISE:
        return False
    count = 2 + len(first.call.texts("_fused")) + len(second.call.texts("_fused"))
    one, other = first.call.output(), second.call.output()
    same = one is not None and other is not None and one.shape == other.shape and one.shape != ()
    return same and count <= _LONGEST_CHAIN
