"""
Where blocked formats begin and end in a graph.

See :class:`drynpu.kernels.ops.FormatPass`; weights stay blocked from variable to variable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from attrs import define

from drynpu.kernels import TensorDesc
from drynpu.kernels.ops import FormatPass, GraphOperator, Place, blocked_image, is_image
from drynpu_tf.rules._call import KEEPS_TYPE, TfCall
from drynpu_tf.rules._placement import READS_SHAPE

# Positions of the images among the inputs, and whether the first output is one.
_IMAGES: Final[Mapping[str, tuple[tuple[int, ...], bool]]] = {
    "Conv2D": ((0,), True),
    "_FusedConv2D": ((0,), True),
    "Conv2DBackpropInput": ((2,), True),
    "Conv2DBackpropFilter": ((0, 2), False),
    "DepthwiseConv2dNative": ((0,), True),
    "DepthwiseConv2dNativeBackpropInput": ((2,), True),
    "DepthwiseConv2dNativeBackpropFilter": ((0, 2), False),
    "FusedBatchNorm": ((0,), True),
    "FusedBatchNormV2": ((0,), True),
    "FusedBatchNormV3": ((0,), True),
    "FusedBatchNormGrad": ((0, 1), True),
    "FusedBatchNormGradV2": ((0, 1), True),
    "FusedBatchNormGradV3": ((0, 1), True),
    "MaxPool": ((0,), True),
    "MaxPoolGrad": ((0, 1, 2), True),
    "AvgPool": ((0,), True),
    "AvgPoolGrad": ((1,), True),
    "BiasAddGrad": ((0,), False),
}
# C0 depends on the type, so those that change it stay with plain formats.
_FOLLOWS: Final = KEEPS_TYPE | {"AddN", "BiasAdd"}


@define
class TfFormats(FormatPass):
    """Which operators of TensorFlow work on blocked images; *known* are operators whose results are constants."""

    known: frozenset[str] = frozenset()

    def images(self, operator: GraphOperator) -> tuple[int, ...]:
        """Return the images that an operator of the table takes."""
        if operator.op_type not in _IMAGES or operator.name in self.known:
            return ()
        tensors = ((i, operator.call.tensor(i)) for i in _IMAGES[operator.op_type][0])
        return tuple(i for i, tensor in tensors if tensor is not None and is_image(tensor.shape))

    def makes_image(self, operator: GraphOperator) -> bool:
        """Return whether the first output is an image."""
        return _IMAGES[operator.op_type][1]

    def follows(self, operator: GraphOperator) -> tuple[int, ...]:
        """Return the whole images that an element-wise operator takes, if the rest are numbers and biases."""
        out = operator.call.output()
        if operator.op_type not in _FOLLOWS or out is None or not is_image(out.shape) or operator.name in self.known:
            return ()
        most = 1 if operator.op_type == "BiasAdd" else 0
        if any(t.shape != out.shape and len(t.shape) > most for t in operator.call.tensors()):
            return ()
        tensors = (operator.call.tensor(i) for i in range(len(operator.inputs)))
        return tuple(i for i, tensor in enumerate(tensors) if tensor is not None and tensor.shape == out.shape)

    def is_constant(self, place: Place) -> bool:
        """Return whether an operator with a known result makes the tensor."""
        return place[0] in self.known

    def channels_first(self, operator: GraphOperator) -> bool:
        """Return whether the operator says NCHW."""
        return TfCall(operator.signature).channels_first

    def reads_shape(self, operator: GraphOperator) -> bool:
        """Return whether an operator returns a shape, or what follows of it."""
        return operator.op_type in READS_SHAPE


def lay_out(operators: Sequence[GraphOperator], known: frozenset[str]) -> None:
    """Write formats and TransData kernels into the signatures of *operators*; *known* are constants."""
    layout = TfFormats(known=known).lay_out(operators)
    for op in operators:
        changes = layout.get(id(op))
        if changes is None:
            continue
        notes = {"_graph": True, "_before": changes.before, "_after": changes.after}
        if op.op_type in _IMAGES:  # their rules know which of their tensors are images
            op.signature = op.describe(notes)
            continue
        first = changes.channels_first
        inputs = (
            _as_blocked(t, first) if i in changes.images and isinstance(t, TensorDesc) else t
            for i, t in enumerate(op.signature.inputs)
        )
        outputs = (_as_blocked(t, first) for t in op.call.outputs)
        op.signature = op.describe(notes, inputs=inputs, outputs=outputs)


def _as_blocked(tensor: TensorDesc, channels_first: bool) -> TensorDesc:
    """Return an image in the blocked format, any other tensor as it is."""
    return blocked_image(tensor, channels_first=channels_first) if is_image(tensor.shape) else tensor
