"""Primitives that are no vector or cube kernels: nothing at all, and work of the AI CPU."""

from __future__ import annotations

from typing import Final

from drynpu.kernels import Rule, bind, launches_nothing, ops
from drynpu_mindspore.rules._call import LaunchCall

# Changes of shape are views on a device, though the CPU copies for some of them.
_SHAPES: Final = (
    "Reshape ReshapeView Flatten FlattenExt ExpandDims Squeeze View Shape TensorShape DynamicShape Rank Size"
)
_VIEWS: Final = """
TransposeView TransposeExtView SelectExtView SplitTensorView ExpandDimsView NarrowView BroadcastToView SliceExtView
"""
_GRAPH: Final = """
Load UpdateState Depend MakeTuple TupleGetItem Return Identity StopGradient Partial Switch SwitchLayer Call
TupleToTensor ScalarToTensor TensorToTuple TensorToScalar RealMakeTuple RealTupleGetItem InitDataSetQueue GetNext
"""
NOTHING: Final = frozenset((_SHAPES + _VIEWS + _GRAPH).split())
_AI_CPU: Final = """
UniformReal UniformInt StandardNormal StandardLaplace Gamma Poisson Multinomial RandomChoiceWithMask RandpermV2
RandomShuffle TruncatedNormal Unique UniqueWithPad Where NonZero Bincount MatrixDiagV3 MatrixDiagPartV3 MatrixInverse
Cholesky Qr Svd FFT IFFT SearchSorted Histogram NonMaxSuppressionV3 CropAndResize CTCLoss CTCGreedyDecoder Range
"""


def placement_rules() -> dict[str, Rule]:
    """Return the rules by primitive."""
    rules: dict[str, Rule] = dict.fromkeys(sorted(NOTHING), launches_nothing)
    return rules | {name: bind(ops.make_on_cpu, f"{name}()", LaunchCall) for name in _AI_CPU.split()}
