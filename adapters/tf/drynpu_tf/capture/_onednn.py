"""
What oneDNN's operators stand for.

With oneDNN on, TensorFlow rewrites nodes into its kernels (``_MklNativeConv2DWithBias``) when it runs a graph. On a
device they are the operators that the script wrote.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

_KERNEL = re.compile(r"_Mkl(?:Native)?(?=[A-Z])")
_WITH_BIAS = "WithBias"
_FUSED = re.compile(r"Fused(?=Conv2D|MatMul|BatchMatMul|DepthwiseConv2dNative)")
_NONE: Mapping[str, object] = MappingProxyType({})


def written_operator(op_type: str) -> tuple[str, Mapping[str, object]]:
    """
    Return the operator that *op_type* stands for, and the attributes that tell what it does besides.

    A convolution with its bias is a convolution that the graph engine has put the bias into; the gradient of the
    weights that makes the bias's as well is the gradient of the weights. Others come back as they are.
    """
    found = _KERNEL.match(op_type)
    if found is None:
        return op_type, _NONE
    plain = op_type[found.end() :]
    if not plain.endswith(_WITH_BIAS):
        return _FUSED.sub("_Fused", plain, count=1), _NONE
    plain = plain.removesuffix(_WITH_BIAS)
    return (plain, _NONE) if "Backprop" in plain else (plain, MappingProxyType({"_fused": ("BiasAdd",)}))
