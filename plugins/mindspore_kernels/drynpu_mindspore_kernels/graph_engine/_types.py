"""What MindSpore calls the operators that the graph engine's passes know."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from drynpu.kernels import ops
from drynpu.kernels.ops import FusedTypes, GraphOperator, ImageTypes
from drynpu.kernels.ops.elementwise import comparison
from drynpu_mindspore.rules import KERNEL_TYPES

_NOT_JOINED: Final = re.compile(
    r"Loss|Entropy|KLDiv|^Inplace|Masked|Clip|Clamp|Select|Lerp|^Addc|^AddN|Accumulate|PReLU|Swiglu|FormatCast|Cast|Nan"
)
"""
Operators of the element-wise table that TbeEltwiseFusionPass does not join: operators of three tensors, and losses.
"""
ELEMENTWISE: Final = frozenset(name for name in KERNEL_TYPES if not _NOT_JOINED.search(name))
_KEEPS_TYPE: Final = ELEMENTWISE - ops.kernel_types_of("mindspore", comparison).keys()
_IS_TRAINING: Final = 5
"""Place of the argument of a BatchNorm that says so."""
_GELUS: Final = frozenset({"GeLU", "GeLUGrad"})
"""The first generation's profiles show them behind products (device_and_cost_model.md 4.2)."""


def _trains(operator: GraphOperator) -> bool:
    """Return whether an operator is the batch norm of a training."""
    if operator.op_type != "BatchNorm":
        return False
    arguments = operator.signature.attributes[3]
    known = operator.call.attrs.get("is_training")
    if known is None and isinstance(arguments, tuple) and len(arguments) > _IS_TRAINING:
        known = arguments[_IS_TRAINING]
    return bool(known)


def _channels_first(operator: GraphOperator) -> bool:
    """Return true: the CPU computes images that are NCHW alone."""
    del operator
    return True


MINDSPORE_TYPES: Final = FusedTypes(
    convolutions=frozenset({"Conv2D"}),
    summing=frozenset({"Conv2D"}),
    products=frozenset({"MatMul", "MatMulExt", "Mm", "BatchMatMul", "BatchMatMulExt"}),
    biases=frozenset({"BiasAdd"}),
    additions=frozenset({"Add", "AddExt"}),
    after_convolution=frozenset({"ReLU", "LeakyReLUExt"}),
    after_product=frozenset(
        {
            "Elu",
            "EluExt",
            "LeakyReLUExt",
            "Softsign",
            "ReLU6",
            "ReLU",
            "Softplus",
            "Sigmoid",
            "Tanh",
            "SeLU",
            "TanhGrad",
        }
    )
    | _GELUS,
    input_gradients=frozenset({"Conv2DBackpropInput"}),
    relu_gradients=frozenset({"ReluGrad"}),
    elementwise=ELEMENTWISE,
    trains=_trains,
)
"""By primitive."""

_IMAGES: Final[Mapping[str, tuple[tuple[int, ...], bool]]] = {
    "Conv2D": ((0,), True),
    "Conv2DBackpropInput": ((0,), True),
    "Conv2DTranspose": ((0,), True),
    "Conv2DBackpropFilter": ((0, 1), False),
    "BatchNorm": ((0,), True),
    "BatchNormGrad": ((0, 1), True),
    "MaxPool": ((0,), True),
    "MaxPoolGrad": ((0, 1, 2), True),
    "MaxPoolWithArgmax": ((0,), True),
    "MaxPoolGradWithArgmax": ((0, 1), True),
    "AvgPool": ((0,), True),
    "AvgPoolGrad": ((2,), True),
    "BiasAddGrad": ((0,), False),
}
MINDSPORE_IMAGES: Final = ImageTypes(
    images=_IMAGES,
    followers=_KEEPS_TYPE | {"AddN", "BiasAdd"},
    biases=frozenset({"BiasAdd"}),
    shape_readers=frozenset({"Shape", "TensorShape", "DynamicShape", "Rank", "Size"}),
    channels_first=_channels_first,
)
"""Where images stand among the inputs of each primitive."""
