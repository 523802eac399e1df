"""
The fusion passes of the graph engine, for the operators of any framework.

Graph fusion puts a bias into the operator before it, which keeps its name; UB fusion joins kernels, under the names of
all of them one after another (no longer than 512 characters) and the type of the first. The patterns are taken from the
vendor's list of fusion passes that graphs meet:

- bias: AABiasaddConvFusion, MatMulBiasAddFusionPass;
- activation after a convolution: TbeConvFixPipeFusionPass (split chips), TbeConv2DReluv2Pass (unified chips);
- BNTrainingReduce into a 16-bit convolution: TbeConvBnreduceFusionPass;
- unified chips only: BNTrainingUpdate with what follows, activations after products (ATbeMatMulElemwiseFusionPass),
  the gradient of Relu after 16-bit Conv2DBackpropInput (TbeConv2DBackpropElemwiseFusionPass), chains of up to six
  element-wise operators (TbeEltwiseFusionPass). First-generation profiles show them (device_and_cost_model.md 4.2).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Final

from attrs import frozen

from drynpu.kernels.ops.graphs import Fusion, GraphOperator, Place, fuse

_LONGEST_CHAIN: Final = 6
"""Operators that TbeEltwiseFusionPass joins at most."""
_HALF: Final = frozenset({"FLOAT16", "DT_BF16"})
_NONE: Final[frozenset[str]] = frozenset()
_SUMS: Final = "_reduced"
"""Note of a batch norm whose sums the convolution before it makes."""


def _never(operator: GraphOperator) -> bool:
    del operator
    return False


@frozen(kw_only=True)
class FusedTypes:
    """
    What a framework calls the operators that the passes join, and the passes themselves.

    Attributes
    ----------
    convolutions, products:
        Those that take in a bias and an activation.
    summing:
        Convolutions that take in the sums of the batch norm behind them.
    biases, additions:
        An addition of one number per channel, and any addition.
    after_convolution, after_product:
        Activations that go into each.
    input_gradients, relu_gradients:
        Gradients of a convolution's image, and of Relu; the gradient comes first among the latter's inputs.
    elementwise:
        Operators that are joined to chains.
    trains:
        Says of an operator whether it is the batch norm of a training.
    """

    convolutions: frozenset[str]
    products: frozenset[str]
    summing: frozenset[str] = _NONE
    biases: frozenset[str] = _NONE
    additions: frozenset[str] = _NONE
    after_convolution: frozenset[str] = _NONE
    after_product: frozenset[str] = _NONE
    input_gradients: frozenset[str] = _NONE
    relu_gradients: frozenset[str] = _NONE
    elementwise: frozenset[str] = _NONE
    trains: Callable[[GraphOperator], bool] = _never

    def fusions(self, *, split: bool) -> list[Fusion]:
        """Return the passes of training graphs, one after the other; chips whose cores are not *split* have more."""
        fusions = [Fusion(self.takes_bias, renames=False), Fusion(self.activates_convolution)]
        if not split:
            fusions += map(Fusion, (self.activates_product, self.activates_norm, self.passes_relu))
            fusions.append(Fusion(self.continues_chain, times=_LONGEST_CHAIN - 1))
        return fusions

    def takes_bias(self, first: GraphOperator, second: GraphOperator) -> bool:
        """Return whether the second adds a bias to what the first makes."""
        if first.call.texts("_fused"):
            return False
        if first.op_type in self.convolutions:
            return second.op_type in self.biases and second.inputs[0] == first.outputs[0]
        out = first.call.output()
        if first.op_type not in self.products or out is None:
            return False
        if second.op_type in self.biases:
            return second.inputs[0] == first.outputs[0]
        if second.op_type not in self.additions:
            return False
        other = second.call.tensor(1 if second.inputs[0] == first.outputs[0] else 0)
        return other is not None and other.shape == out.shape[-1:]

    def activates_convolution(self, first: GraphOperator, second: GraphOperator) -> bool:
        """Return whether the second is an activation of a convolution."""
        return first.op_type in self.convolutions and second.op_type in self.after_convolution

    def activates_product(self, first: GraphOperator, second: GraphOperator) -> bool:
        """Return whether the second is an activation of a product."""
        return first.op_type in self.products and second.op_type in self.after_product

    def activates_norm(self, first: GraphOperator, second: GraphOperator) -> bool:
        """Return whether the second is an activation of a batch norm that trains."""
        return self.trains(first) and second.op_type in self.after_convolution

    def passes_relu(self, first: GraphOperator, second: GraphOperator) -> bool:
        """Return whether the second is the gradient of Relu of a 16-bit gradient of a convolution's image."""
        out = first.call.output()
        return (
            first.op_type in self.input_gradients
            and second.op_type in self.relu_gradients
            and out is not None
            and out.dtype in _HALF
            and second.inputs[0] == first.outputs[0]
        )

    def continues_chain(self, first: GraphOperator, second: GraphOperator) -> bool:
        """Return whether both are element-wise, of one shape, and not too many together."""
        if not {first.op_type, second.op_type} <= self.elementwise:
            return False
        count = 2 + len(first.call.texts("_fused")) + len(second.call.texts("_fused"))
        one, other = first.call.output(), second.call.output()
        same = one is not None and other is not None and one.shape == other.shape and one.shape != ()
        return same and count <= _LONGEST_CHAIN

    def move_sums(self, operators: Sequence[GraphOperator]) -> list[GraphOperator]:
        """Give the sums of a batch norm to the 16-bit convolution before it; the norm keeps its second half."""
        makers = {op.outputs[0]: op for op in operators if op.outputs}
        for norm in operators:
            first = makers.get(norm.inputs[0]) if norm.inputs and self.trains(norm) else None
            image = first.call.output() if first is not None else None
            if first is None or first.op_type not in self.summing or image is None or image.dtype not in _HALF:
                continue
            if first.call.texts("_fused"):
                continue
            first.signature = first.describe({"_fused": ("BNTrainingReduce",), "_tail": f"{norm.call.node}_Reduce"})
            first.members = (*first.members, norm.members[0])
            norm.signature = norm.describe({_SUMS: True})
        return list(operators)


def fuse_graph(
    operators: Sequence[GraphOperator], types: FusedTypes, *, split: bool, results: Collection[Place] = ()
) -> list[GraphOperator]:
    """
    Return the operators of a graph after fusion, in their order.

    Parameters
    ----------
    split:
        Whether cube and vector cores are apart (A2 and later); unified chips fuse more.
    results:
        Tensors that the graph returns: their makers are not fused away.
    """
    return types.move_sums(fuse(operators, types.fusions(split=split), results))
