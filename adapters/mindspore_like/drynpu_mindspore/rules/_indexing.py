"""
Gathering, scattering, joining, cutting, padding, changes of layout.

Gathers and slices read only what they return, scatters write only what they change (device_and_cost_model.md 3.4).
"""

from __future__ import annotations

from typing import Final

from drynpu.kernels import KernelPlan, Rule, TensorDesc, plan_of
from drynpu_mindspore.rules._signature import Call
from drynpu_mindspore.rules._work import kernel, rule_of

__all__ = ["indexing_rules"]

# Primitive -> (GE type, number of tensors the kernel is given): what is read is what is returned.
_MOVED: Final = {
    "Transpose": ("Transpose", 1),
    "StridedSlice": ("StridedSliceD", 1),
    "Slice": ("Slice", 1),
    "SliceExt": ("Slice", 1),
    "Gather": ("GatherV2", 2),
    "GatherD": ("GatherElements", 2),
    "GatherNd": ("GatherNd", 2),
    "Embedding": ("GatherV2", 2),
    "IndexSelect": ("GatherV2", 2),
    "ReverseV2": ("ReverseV2", 1),
    "Contiguous": ("AsStrided", 1),
    "Copy": ("TensorMove", 1),
    "TensorMove": ("TensorMove", 1),
    "Clone": ("TensorMove", 1),
    "ViewCopy": ("ViewCopy", 1),
    "InplaceCopy": ("TensorMove", 1),
}
# Results larger than their source: it is read once.
_GROWN: Final = {
    "Tile": "Tile",
    "BroadcastTo": "BroadcastTo",
    "Pad": "PadD",
    "PadV3": "PadV3",
    "StridedSliceGrad": "StridedSliceGrad",
    "SliceGrad": "SliceGrad",
    "ResizeNearestNeighbor": "ResizeNearestNeighborV2",
    "ResizeNearestNeighborV2": "ResizeNearestNeighborV2",
    "RepeatInterleave": "Tile",
}
_JOINED: Final = {"Concat": "ConcatD", "Stack": "Pack", "StackExt": "Pack"}
_CUT: Final = {"Split": "SplitD", "SplitTensor": "SplitD", "SplitWithSize": "SplitVD", "Unstack": "Unpack"}


def _moved(op_type: str, tensors: int) -> Rule:
    def read(call: Call) -> KernelPlan | None:
        inputs, out = call.tensors()[:tensors], call.output()
        if len(inputs) < tensors or out is None:
            return None
        size = out.size_bytes + sum(t.size_bytes for t in inputs[1:])
        return plan_of(kernel(op_type, inputs, [out], cost=0, read=size))

    return rule_of(read, op_type)


def _grown(op_type: str) -> Rule:
    def read(call: Call) -> KernelPlan | None:
        x, out = call.tensor(0), call.output()
        return None if x is None or out is None else plan_of(kernel(op_type, [x], [out], cost=0))

    return rule_of(read, op_type)


def _joined(op_type: str) -> Rule:
    def read(call: Call) -> KernelPlan | None:
        parts, out = call.tensors(), call.output()
        return None if not parts or out is None else plan_of(kernel(op_type, parts, [out], cost=0))

    return rule_of(read, op_type)


def _cut(op_type: str) -> Rule:
    def read(call: Call) -> KernelPlan | None:
        x = call.tensor(0)
        return None if x is None or not call.outputs else plan_of(kernel(op_type, [x], call.outputs, cost=0))

    return rule_of(read, op_type)


def _one_hot(call: Call) -> KernelPlan | None:
    """``OneHot(indices, depth, on, off)``."""
    out = call.output()
    return None if out is None else plan_of(kernel("OneHot", call.tensors(), [out], over=out.elements))


def _segment_sum(call: Call) -> KernelPlan | None:
    """``UnsortedSegmentSum(x, segments, number)``: the result is cleared, then added into."""
    x, segments, out = call.tensor(0), call.tensor(1), call.output()
    if x is None or segments is None or out is None:
        return None
    clear = kernel("MemSet", [], [out], cost=0)
    inputs = [x, segments]
    read, written = 2 * x.size_bytes + segments.size_bytes, x.size_bytes
    return plan_of(clear, kernel("UnsortedSegmentSum", inputs, [out], over=x.elements, read=read, written=written))


def _embedding_gradient(call: Call) -> KernelPlan | None:
    """``EmbeddingDenseBackward(dy, indices, ...)``."""
    dy, indices, out = call.tensor(0), call.tensor(1), call.output()
    if dy is None or indices is None or out is None:
        return None
    clear = kernel("MemSet", [], [out], cost=0)
    read = 2 * dy.size_bytes + indices.size_bytes
    spec = kernel("EmbeddingDenseGrad", [dy, indices], [out], over=dy.elements, read=read, written=dy.size_bytes)
    return plan_of(clear, spec)


def _scattered(op_type: str) -> Rule:
    """``(target, indices, updates)``: the places are read, changed and written."""

    def read(call: Call) -> KernelPlan | None:
        target, indices, updates = (call.tensor(i) for i in range(3))
        if target is None or indices is None or updates is None:
            return None
        size = updates.size_bytes
        inputs: list[TensorDesc] = [target, indices, updates]
        spec = kernel(
            op_type, inputs, [target], over=updates.elements, read=2 * size + indices.size_bytes, written=size
        )
        return plan_of(spec)

    return rule_of(read, op_type)


def _gather_gradient(call: Call) -> KernelPlan | None:
    """``GatherDGradV2(x, dim, index, dy)``: the result is cleared, then added into."""
    index, dy, out = call.tensor(2), call.tensor(3), call.output()
    if index is None or dy is None or out is None:
        return None
    clear = kernel("MemSet", [], [out], cost=0)
    read = 2 * dy.size_bytes + index.size_bytes
    return plan_of(
        clear, kernel("ScatterElements", [out, index, dy], [out], over=dy.elements, read=read, written=dy.size_bytes)
    )


def indexing_rules() -> dict[str, Rule]:
    """Return the rules by primitive."""
    rules = {name: _moved(ge, tensors) for name, (ge, tensors) in _MOVED.items()}
    rules |= {name: _grown(ge) for name, ge in _GROWN.items()}
    rules |= {name: _joined(ge) for name, ge in _JOINED.items()}
    rules |= {name: _cut(ge) for name, ge in _CUT.items()}
    return rules | {
        "OneHot": rule_of(_one_hot, "OneHot"),
        "UnsortedSegmentSum": rule_of(_segment_sum, "UnsortedSegmentSum"),
        "EmbeddingDenseBackward": rule_of(_embedding_gradient, "EmbeddingDenseGrad"),
        "GatherDGradV2": rule_of(_gather_gradient, "ScatterElements"),
        "ScatterNdUpdate": _scattered("ScatterNdUpdate"),
        "TensorScatterUpdate": _scattered("TensorScatterUpdate"),
        "ScatterAdd": _scattered("ScatterAdd"),
        "TensorScatterAdd": _scattered("TensorScatterAdd"),
    }
