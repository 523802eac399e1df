"""
Types of kernels that have axes, sizes or places compiled in.

The operator library of the first generation has two kernels for such an operator: one that takes them as tensors, and
one whose type ends in D, to which the graph engine turns where they are constants (device_and_cost_model.md 4.3). The
later one has kernels for any shape: genuine tables of it show ReduceSum, Transpose, GatherV2, BroadcastTo, TopKV2,
Range and both gradients of convolutions without the D; the others follow their kin. ConcatD has its D there as well,
SplitD and SplitVD as its counterparts, and so have optimizers (ApplyAdamD), whose D stands for what they return.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from attrs import evolve

from drynpu.kernels._types import KernelPlan, KernelSpec, Signature

_TEXT: Final = """
AvgPool3DGradD AvgPoolGradD BatchToSpaceD BatchToSpaceNDD BroadcastToD Conv2DBackpropFilterD Conv2DBackpropInputD
Conv3DBackpropFilterD Conv3DBackpropInputD CumprodD CumsumD DepthwiseConv2DBackpropFilterD
DepthwiseConv2DBackpropInputD DiagD DiagPartD EuclideanNormD GatherV2D InTopKD LinSpaceD OneHotD PadD PadV2D RangeD
ReduceAllD ReduceAnyD ReduceMaxD ReduceMeanD ReduceMinD ReduceProdD ReduceSumD ResizeBilinearV2D
ResizeNearestNeighborV2D ResizeNearestNeighborV2GradD ReverseV2D SliceD SpaceToBatchD SpaceToBatchNDD StridedSliceD
StridedSliceGradD TileD TransposeD UnsortedSegmentMaxD UnsortedSegmentMinD UnsortedSegmentProdD UnsortedSegmentSumD
"""
_RENAMED: Final = {"ArgMaxD": "ArgMaxV2", "ArgMinD": "ArgMinV2", "TopKD": "TopKV2"}
_OPEN: Final = {name: name.removesuffix("D") for name in _TEXT.split()} | _RENAMED
"""Types of the kernels that take them as tensors, by types of the kernels that have them compiled in."""
_COMPILED: Final = {name: compiled for compiled, name in _OPEN.items()}

_UNIFIED: Final = {"MatMulV3": "MatMulV2", "LayerNormV3": "LayerNorm"}
"""What the engine takes on unified cores in place of kernels that came with cores apart (4.1, 4.2)."""

Plans: TypeAlias = "Callable[[Signature], KernelPlan]"


def without_constants(plan: Plans) -> Plans:
    """Return *plan* for an operator library that has no kernels with constants compiled in."""
    return _renamed(plan, _OPEN)


def with_constants(plan: Plans) -> Plans:
    """Return *plan* for an operator library that has such kernels, in a graph whose axes and sizes are constants."""
    return _renamed(plan, _COMPILED)


def for_unified_cores(plan: Plans) -> Plans:
    """Return *plan* for chips whose cube and vector cores are one: their library has the earlier kernels alone."""
    return _renamed(plan, _UNIFIED)


def _renamed(plan: Plans, types: Mapping[str, str]) -> Plans:
    def planned(signature: Signature) -> KernelPlan:
        original = plan(signature)
        if types.keys().isdisjoint(kernel.op_type for kernel in original.kernels):
            return original
        return evolve(original, kernels=tuple(_named(kernel, types) for kernel in original.kernels))

    return planned


def _named(kernel: KernelSpec, types: Mapping[str, str]) -> KernelSpec:
    op_type = types.get(kernel.op_type, kernel.op_type)
    return evolve(kernel, op_type=op_type, name=op_type if kernel.name == kernel.op_type else kernel.name)
