"""
Gathering, scattering, joining, cutting, padding.

Gathers and slices read only what they return, scatters write only what they change (device_and_cost_model.md 3.4).
Where TensorFlow did not say what a call returned, no output is listed, and bytes are counted as far as they follow.
"""

from __future__ import annotations

from drynpu.kernels import (
    NO_DATA,
    KernelPlan,
    NodeCall,
    Rule,
    Signature,
    TensorDesc,
    launches_nothing,
    node_kernel,
    node_rule,
    plan_of,
)

__all__ = ["indexing_rules"]


def _moved(op_type: str, positions: tuple[int, ...] = (0,)) -> Rule:
    """Operators that read just what they return; further inputs are sizes and places, known to the compiler."""

    def read(call: NodeCall) -> KernelPlan | None:
        inputs = [t for t in (call.tensor(i) for i in positions) if t is not None]
        made = [t for t in call.outputs if t.elements]
        if not inputs:
            return None
        size = sum(t.size_bytes for t in made)
        return plan_of(node_kernel(call, op_type, inputs, made or list(call.outputs), cost=0, read=size))

    return node_rule(read)


def _transpose(call: NodeCall) -> KernelPlan | None:
    x, out = call.tensor(0), call.output()
    if x is None:
        return None
    return plan_of(node_kernel(call, "TransposeD", [x], [out] if out is not None else [], cost=0, written=x.size_bytes))


def _joined(op_type: str, *, axis: int | None = None) -> Rule:
    """``Pack`` and ``ConcatV2``: all inputs but the axis, which stands at *axis*."""

    def read(call: NodeCall) -> KernelPlan | None:
        given = list(call.signature.inputs)
        if axis is not None and given:
            del given[axis]
        parts = [t for t in given if isinstance(t, TensorDesc) and t.dtype != NO_DATA]
        out = call.output()
        if out is None and given and all(isinstance(t, TensorDesc) and t.dtype == NO_DATA for t in given):
            return plan_of()
        if out is None and (not parts or len(parts) < len(given)):
            return None
        size = out.size_bytes if out is not None else sum(t.size_bytes for t in parts)
        return plan_of(node_kernel(call, op_type, parts, [out] if out is not None else [], cost=0, written=size))

    return node_rule(read)


def _cut(op_type: str, at: int) -> Rule:
    """``Split`` and ``Unpack``: one tensor, at *at*, into all of the results."""

    def read(call: NodeCall) -> KernelPlan | None:
        x = call.tensor(at)
        if x is None:
            return None
        if len(call.outputs) == 1:
            return plan_of()
        return plan_of(node_kernel(call, op_type, [x], list(call.outputs), cost=0, written=x.size_bytes))

    return node_rule(read)


def _grown(op_type: str) -> Rule:
    """Results larger than their source: it is read once, the result written whole."""

    def read(call: NodeCall) -> KernelPlan | None:
        x, out = call.tensor(0), call.output()
        if x is None:
            return None
        if out is None:
            return plan_of(node_kernel(call, op_type, [x], [], cost=0))
        if x.shape == out.shape:
            return plan_of()
        return plan_of(node_kernel(call, op_type, [x], [out], cost=0))

    return node_rule(read)


def _gather(call: NodeCall) -> KernelPlan | None:
    """``GatherV2(table, index, axis)``, ``ResourceGather(handle, index)``: of a variable only the rows are known."""
    table, index, out = call.tensor(0), call.tensor(1), call.output()
    if index is None:
        return None
    inputs = ([table] if table is not None else []) + [index]
    made = [out] if out is not None else []
    size = sum(t.size_bytes for t in made)
    return plan_of(node_kernel(call, "GatherV2D", inputs, made, cost=0, read=size + index.size_bytes))


def _gather_nd(call: NodeCall) -> KernelPlan | None:
    table, index, out = call.tensor(0), call.tensor(1), call.output()
    if table is None or index is None or out is None:
        return None
    return plan_of(node_kernel(call, "GatherNd", [table, index], [out], cost=0, read=out.size_bytes + index.size_bytes))


def _scatter(op_type: str, *, variable: bool) -> Rule:
    """``(target, index, updates)``: places of the target are read, changed and written; *variable* ones in place."""

    def read(call: NodeCall) -> KernelPlan | None:
        target, index, updates = (call.tensor(i) for i in range(3))
        if index is None or updates is None:
            return None
        inputs = [t for t in (target, index, updates) if t is not None]
        made = [target] if target is not None else []
        extra = 0 if variable else sum(t.size_bytes for t in made)
        return plan_of(
            node_kernel(
                call,
                op_type,
                inputs,
                made,
                over=updates.elements,
                read=2 * updates.size_bytes + index.size_bytes + extra,
                written=updates.size_bytes + extra,
            )
        )

    return node_rule(read)


def _segment(op_type: str) -> Rule:
    """``UnsortedSegmentSum(data, ids, number)``: the result is cleared, then added to."""

    def read(call: NodeCall) -> KernelPlan | None:
        data, ids, out = call.tensor(0), call.tensor(1), call.output()
        if data is None or ids is None or out is None:
            return None
        return plan_of(node_kernel(call, op_type, [data, ids], [out], over=data.elements))

    return node_rule(read)


def _one_hot(call: NodeCall) -> KernelPlan | None:
    index, out = call.tensor(0), call.output()
    if index is None or out is None:
        return None
    one = TensorDesc((), out.dtype)
    return plan_of(node_kernel(call, "OneHotD", [index, one, one], [out]))


def _scatter_new(call: NodeCall) -> KernelPlan | None:
    """``ScatterNd(index, updates, shape)``."""
    index, updates, out = call.tensor(0), call.tensor(1), call.output()
    if index is None or updates is None or out is None:
        return None
    return plan_of(node_kernel(call, "ScatterNd", [index, updates], [out], over=updates.elements))


def indexing_rules() -> dict[str, Rule]:
    """Return the rules by operator type."""
    rules: dict[str, Rule] = {
        "Transpose": node_rule(_transpose),
        "Slice": _moved("SliceD"),
        "StridedSlice": _moved("StridedSliceD"),
        "StridedSliceGrad": _grad_of_slice(),
        "Reverse": _moved("ReverseV2D"),
        "ReverseV2": _moved("ReverseV2D"),
        "ReverseSequence": _moved("ReverseSequence", (0, 1)),
        "MatrixDiagV3": _grown("MatrixDiag"),
        "Diag": _grown("DiagD"),
        "DiagPart": _moved("DiagPartD"),
        "Concat": _joined("ConcatD", axis=0),
        "ConcatV2": _joined("ConcatD", axis=-1),
        "Pack": _joined("Pack"),
        "ParallelConcat": _joined("ParallelConcat"),
        "Split": _cut("SplitD", 1),
        "SplitV": _cut("SplitVD", 0),
        "Unpack": _cut("Unpack", 0),
        "Tile": _grown("TileD"),
        "BroadcastTo": _grown("BroadcastToD"),
        "Pad": _grown("PadD"),
        "PadV2": _grown("PadV2D"),
        "MirrorPad": _grown("MirrorPad"),
        "Gather": node_rule(_gather),
        "GatherV2": node_rule(_gather),
        "ResourceGather": node_rule(_gather),
        "GatherNd": node_rule(_gather_nd),
        "OneHot": node_rule(_one_hot),
        "ScatterNd": node_rule(_scatter_new),
        "UnsortedSegmentSum": _segment("UnsortedSegmentSumD"),
        "UnsortedSegmentMax": _segment("UnsortedSegmentMaxD"),
        "UnsortedSegmentMin": _segment("UnsortedSegmentMinD"),
        "UnsortedSegmentProd": _segment("UnsortedSegmentProdD"),
        "SegmentSum": _segment("SegmentSum"),
        "TensorScatterUpdate": _scatter("TensorScatterUpdate", variable=False),
        "TensorScatterAdd": _scatter("TensorScatterAdd", variable=False),
    }
    for verb in ("Add", "Sub", "Mul", "Div", "Max", "Min", "Update"):
        rules[f"Scatter{verb}"] = rules[f"ResourceScatter{verb}"] = _scatter(f"Scatter{verb}", variable=True)
    for verb in ("Add", "Sub", "Update"):
        rules[f"ScatterNd{verb}"] = rules[f"ResourceScatterNd{verb}"] = _scatter(f"ScatterNd{verb}", variable=True)
    return {name: _unless_texts(rule) for name, rule in rules.items()}


def _unless_texts(rule: Rule) -> Rule:
    """Texts (names in a checkpoint, keys of a vocabulary) are moved by the host: nothing is launched for them."""

    def read(signature: Signature) -> KernelPlan | None:
        outputs = NodeCall(signature).outputs
        return launches_nothing(signature) if outputs and all(t.dtype == NO_DATA for t in outputs) else rule(signature)

    return read


def _grad_of_slice() -> Rule:
    """``StridedSliceGrad(shape, begin, end, strides, dy)``: zeros with the gradient at its place."""

    def read(call: NodeCall) -> KernelPlan | None:
        dy, out = call.tensor(4), call.output()
        if dy is None:
            return None
        return plan_of(node_kernel(call, "StridedSliceGradD", [dy], [out] if out is not None else [], cost=0))

    return node_rule(read)
