"""
Which operators of TensorFlow work on blocked images.

See :class:`drynpu.kernels.ops.ImageFormats`; weights stay blocked from variable to variable.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from drynpu.kernels.ops import GraphOperator, ImageTypes
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


def _channels_first(operator: GraphOperator) -> bool:
    """Return whether an operator says NCHW."""
    return TfCall(operator.signature).channels_first


TF_IMAGES: Final = ImageTypes(
    images=_IMAGES,
    followers=KEEPS_TYPE | {"AddN", "BiasAdd"},
    biases=frozenset({"BiasAdd"}),
    shape_readers=READS_SHAPE,
    channels_first=_channels_first,
)
"""By TensorFlow's types."""
