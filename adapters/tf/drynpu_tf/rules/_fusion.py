"""What TensorFlow calls the operators that the graph engine's fusion passes join."""

from __future__ import annotations

from typing import Final

from drynpu.kernels.ops import FusedTypes, GraphOperator
from drynpu_tf.rules._call import ELEMENTWISE

_NORMS: Final = frozenset({"FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"})


def _trains(op: GraphOperator) -> bool:
    """Return whether an operator is the batch norm of a training."""
    return op.op_type in _NORMS and op.call.attrs.get("is_training") is not False


TF_TYPES: Final = FusedTypes(
    convolutions=frozenset({"Conv2D", "DepthwiseConv2dNative"}),
    summing=frozenset({"Conv2D"}),
    products=frozenset({"MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"}),
    biases=frozenset({"BiasAdd"}),
    additions=frozenset({"Add", "AddV2"}),
    after_convolution=frozenset({"Relu", "LeakyRelu"}),
    after_product=frozenset(
        {"Elu", "LeakyRelu", "Softsign", "Relu6", "Relu", "Softplus", "Sigmoid", "Tanh", "Selu", "TanhGrad"}
    ),
    input_gradients=frozenset({"Conv2DBackpropInput"}),
    relu_gradients=frozenset({"ReluGrad"}),
    elementwise=ELEMENTWISE,
    trains=_trains,
)
"""By TensorFlow's types."""
