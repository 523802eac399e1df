"""oneDNN's names of operators are traced back to what the script wrote."""

from __future__ import annotations

import pytest

from drynpu_tf.capture._nodes import written_operator


@pytest.mark.parametrize(
    ("kernel", "operator", "fused"),
    [
        ("Conv2D", "Conv2D", None),
        ("_MklMatMul", "MatMul", None),
        ("_MklNativeMaxPoolGrad", "MaxPoolGrad", None),
        ("_MklNativeFusedBatchNormV3", "FusedBatchNormV3", None),
        ("_MklNativeDepthwiseConv2dNative", "DepthwiseConv2dNative", None),
        ("_MklNativeFusedMatMul", "_FusedMatMul", None),
        ("_MklNativeConv2DWithBias", "Conv2D", ("BiasAdd",)),
        ("_MklNativeConv2DBackpropFilterWithBias", "Conv2DBackpropFilter", None),
        ("_Mklbogus", "_Mklbogus", None),
    ],
)
def test_written_operator(kernel: str, operator: str, fused: tuple[str, ...] | None) -> None:
    found, attributes = written_operator(kernel)
    assert found == operator
    assert attributes.get("_fused") == fused
