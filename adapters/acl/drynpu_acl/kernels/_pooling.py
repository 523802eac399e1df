"""Pooling and batch normalisation, which work on images, and resizing."""

from __future__ import annotations

import math

from drynpu.kernels import KernelPlan, NodeCall, Rule, TensorDesc, node_kernel, node_rule
from drynpu_acl.kernels._elementwise import image_of
from drynpu_acl.kernels._work import plan

__all__ = ["pooling_rules"]

_INFER_OPS = 3


def _pool(op_type: str, op_type_3d: str) -> Rule:
    def read(call: NodeCall) -> KernelPlan | None:
        x, out = call.tensor(0), call.output()
        if x is None or out is None:
            return None
        window = math.prod(call.integers("kernel_shape")) or 1
        name = op_type_3d if len(x.shape) == 5 else op_type
        made = [image_of(call, out), *call.outputs[1:]]
        return plan(node_kernel(call, name, [image_of(call, x)], made, cost=window, over=out.elements))

    return node_rule(read)


def _global(op_type: str) -> Rule:
    """Pooling over whole images: a reduction over rows and columns (ReduceMeanD) or its maximum."""

    def read(call: NodeCall) -> KernelPlan | None:
        x, out = call.tensor(0), call.output()
        if x is None or out is None:
            return None
        if x.elements == out.elements:
            return plan()
        return plan(node_kernel(call, op_type, [image_of(call, x)], [image_of(call, out)], over=x.elements))

    return node_rule(read)


def _batch_norm(call: NodeCall) -> KernelPlan | None:
    """``BatchNormalization(x, scale, bias, mean, variance)``: one scale and shift in inference (BNInfer)."""
    x, out = call.tensor(0), call.output()
    if x is None or out is None:
        return None
    parameters = [t for t in (call.tensor(i) for i in range(1, 5)) if t is not None]
    made = [image_of(call, out)]
    return plan(node_kernel(call, "BNInfer", [image_of(call, x), *parameters], made, cost=_INFER_OPS, over=x.elements))


def _resize(call: NodeCall) -> KernelPlan | None:
    """``Resize(x, roi, scales, sizes)``: the last ones are known to the compiler."""
    x, out = call.tensor(0), call.output()
    if x is None or out is None:
        return None
    linear = call.text("mode") in {"linear", "cubic"}
    op_type = "ResizeBilinearV2" if linear else "ResizeNearestNeighborV2"
    return plan(node_kernel(call, op_type, [x], [out], cost=8 if linear else 1, over=out.elements))


def _same(op_type: str, cost: float) -> Rule:
    """Normalisations over channels or windows of an image."""

    def read(call: NodeCall) -> KernelPlan | None:
        out = call.output()
        if out is None:
            return None
        inputs: list[TensorDesc] = call.tensors()
        return plan(node_kernel(call, op_type, inputs, [out], cost=cost, over=out.elements))

    return node_rule(read)


def pooling_rules() -> dict[str, Rule]:
    """Return the rules by operator type."""
    return {
        "MaxPool": _pool("MaxPool", "MaxPool3D"),
        "AveragePool": _pool("AvgPoolV2", "AvgPool3D"),
        "LpPool": _pool("LpPool", "LpPool"),
        "GlobalAveragePool": _global("ReduceMeanD"),
        "GlobalMaxPool": _global("ReduceMaxD"),
        "BatchNormalization": node_rule(_batch_norm),
        "InstanceNormalization": _same("INInferV2", 6),
        "GroupNormalization": _same("GroupNorm", 6),
        "LRN": _same("LRN", 8),
        "Resize": node_rule(_resize),
        "Upsample": node_rule(_resize),
    }
