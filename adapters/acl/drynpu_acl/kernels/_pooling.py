"""Normalisation over channels or windows of an image, and resizing."""

from __future__ import annotations

from drynpu.kernels import KernelPlan, NodeCall, Rule, TensorDesc, node_kernel, node_rule
from drynpu_acl.kernels._work import plan

__all__ = ["pooling_rules"]


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
        "InstanceNormalization": _same("INInferV2", 6),
        "GroupNormalization": _same("GroupNorm", 6),
        "LRN": _same("LRN", 8),
        "Resize": node_rule(_resize),
        "Upsample": node_rule(_resize),
    }
