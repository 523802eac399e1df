"""
Changes of shape, transposing, joining, cutting, gathering, scattering, padding.

Gathers and slices read only what they return, scatters write only what they change (device_and_cost_model.md 3.4).
Places and sizes that are constants of the graph are known to the compiler and not read by the kernel.
"""

from __future__ import annotations

from drynpu.kernels import KernelPlan, NodeCall, Rule, Signature, TaskType, TensorDesc, node_kernel, node_rule
from drynpu_acl.kernels._work import plan

__all__ = ["FREE", "movement_rules"]

FREE = frozenset(
    {
        "Reshape",
        "Flatten",
        "Squeeze",
        "Unsqueeze",
        "Identity",
        "Dropout",
        "Constant",
        "ConstantOfShape",
        "Shape",
        "Size",
    }
)
"""What launches nothing: changes of shape share memory, dropout does nothing in inference, the rest is compiled in."""


def _free(signature: Signature) -> KernelPlan:
    del signature
    return plan()


def _moved(op_type: str) -> Rule:
    """Operators that read just what they return of their first input."""

    def read(call: NodeCall) -> KernelPlan | None:
        x, out = call.tensor(0), call.output()
        if x is None or out is None:
            return None
        return plan(node_kernel(call, op_type, [x], [out], cost=0, read=out.size_bytes))

    return node_rule(read)


def _grown(op_type: str) -> Rule:
    """Results larger than their source: it is read once, the result written whole."""

    def read(call: NodeCall) -> KernelPlan | None:
        x, out = call.tensor(0), call.output()
        if x is None or out is None:
            return None
        return plan() if x.shape == out.shape else plan(node_kernel(call, op_type, [x], [out], cost=0))

    return node_rule(read)


def _transpose(call: NodeCall) -> KernelPlan | None:
    x, out = call.tensor(0), call.output()
    if x is None or out is None:
        return None
    order = call.integers("perm")
    moving = [axis for axis in order if x.shape[axis] != 1] if len(order) == len(x.shape) else None
    if moving is not None and moving == sorted(moving):
        return plan()  # dims of length 1 move freely
    return plan(node_kernel(call, "TransposeD", [x], [out], cost=0))


def _concat(call: NodeCall) -> KernelPlan | None:
    out = call.output()
    if out is None:
        return None
    return plan(node_kernel(call, "ConcatD", call.tensors(), [out], cost=0))


def _split(call: NodeCall) -> KernelPlan | None:
    x = call.tensor(0)
    if x is None:
        return None
    if len(call.outputs) == 1:
        return plan()
    op_type = "SplitD" if len({t.shape for t in call.outputs}) == 1 else "SplitVD"
    return plan(node_kernel(call, op_type, [x], call.outputs, cost=0))


def _gather(op_type: str) -> Rule:
    def read(call: NodeCall) -> KernelPlan | None:
        table, index, out = call.tensor(0), call.tensor(1), call.output()
        if table is None or index is None or out is None:
            return None
        size = out.size_bytes + index.size_bytes
        return plan(node_kernel(call, op_type, [table, index], [out], cost=0, read=size))

    return node_rule(read)


def _scatter(op_type: str) -> Rule:
    """``(target, index, updates)``: a copy of the target, of which places are changed."""

    def read(call: NodeCall) -> KernelPlan | None:
        target, index, updates = (call.tensor(i) for i in range(3))
        if target is None or index is None or updates is None:
            return None
        inputs = [target, index, updates]
        return plan(node_kernel(call, op_type, inputs, [target], over=updates.elements))

    return node_rule(read)


def _one_hot(call: NodeCall) -> KernelPlan | None:
    index, out = call.tensor(0), call.output()
    if index is None or out is None:
        return None
    one = TensorDesc((), out.dtype)
    return plan(node_kernel(call, "OneHotD", [index, one, one], [out]))


def _made(op_type: str, task: TaskType = TaskType.AI_VECTOR_CORE) -> Rule:
    """Operators that fill what they return."""

    def read(call: NodeCall) -> KernelPlan | None:
        if call.output() is None:
            return None
        return plan(node_kernel(call, op_type, call.tensors(), call.outputs, task=task))

    return node_rule(read)


def movement_rules() -> dict[str, Rule]:
    """Return the rules by operator type."""
    rules: dict[str, Rule] = dict.fromkeys(FREE, _free)
    return rules | {
        "Transpose": node_rule(_transpose),
        "Concat": node_rule(_concat),
        "Split": node_rule(_split),
        "Slice": _moved("StridedSliceD"),
        "Gather": _gather("GatherV2D"),
        "GatherElements": _gather("GatherElements"),
        "GatherND": _gather("GatherNd"),
        "ScatterElements": _scatter("ScatterElements"),
        "ScatterND": _scatter("ScatterNdUpdate"),
        "Pad": _grown("PadD"),
        "Tile": _grown("TileD"),
        "Expand": _grown("ExpandD"),
        "DepthToSpace": _moved("DepthToSpace"),
        "SpaceToDepth": _moved("SpaceToDepth"),
        "Trilu": _moved("Trilu"),
        "ReverseSequence": _moved("ReverseSequence"),
        "OneHot": node_rule(_one_hot),
        "Range": _made("RangeD"),
        "NonZero": _made("NonZero", TaskType.AI_CPU),
        "NonMaxSuppression": _made("NonMaxSuppressionV6", TaskType.AI_CPU),
        "Unique": _made("UniqueWithCountsExt2", TaskType.AI_CPU),
    }
