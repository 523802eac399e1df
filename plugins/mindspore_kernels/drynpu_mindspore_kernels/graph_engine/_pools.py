"""
Max pooling whose gradient is taken: the first generation keeps the places of the maxima.

MindSpore's releases for it put MaxPoolWithArgmax and MaxPoolGradWithArgmax in place of the pair (their pass
MaxPool2MaxPoolWithArgmax), and its profiles show both (device_and_cost_model.md 4.2). The later passes, which unify
graphs before the graph engine takes them, have none of that kind.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve

from drynpu.kernels import Signature, TensorDesc
from drynpu.kernels.ops import GraphOperator, is_image, pooling_mask

_KEPT = "WithArgmax"


def keep_places(operators: Sequence[GraphOperator]) -> list[GraphOperator]:
    """Return the operators with the two that keep places in the place of each MaxPool and its MaxPoolGrad."""
    makers = {op.outputs[0]: op for op in operators if op.op_type == "MaxPool" and op.outputs}
    replaced: dict[int, GraphOperator] = {}
    for gradient in operators:
        if gradient.op_type != "MaxPoolGrad" or len(gradient.inputs) < 3:
            continue
        pool = makers.get(gradient.inputs[1])
        mask = _mask(pool) if pool is not None and pool.inputs[0] == gradient.inputs[0] else None
        if pool is None or mask is None:
            continue
        place = (pool.name, 1)
        if id(pool) not in replaced:
            outputs = (*pool.call.outputs[:1], mask)
            kept = _renamed(pool, pool.signature.inputs, outputs)
            replaced[id(pool)] = GraphOperator(pool.inputs, (pool.outputs[0], place), kept, pool.members)
        x, _, dy, *rest = gradient.signature.inputs
        replaced[id(gradient)] = GraphOperator(
            (gradient.inputs[0], gradient.inputs[2], place, *gradient.inputs[3:]),
            gradient.outputs,
            _renamed(gradient, (x, dy, mask, *rest), gradient.call.outputs),
            gradient.members,
        )
    return [replaced.get(id(op), op) for op in operators]


def _mask(pool: GraphOperator) -> TensorDesc | None:
    """Return the places of the maxima of a pooling of images; ``None`` where its window is not known."""
    x, y, window = pool.call.tensor(0), pool.call.output(), pool.call.integers("kernel_size")
    if x is None or y is None or not window or not is_image(x.shape):
        return None
    return pooling_mask(x, y.shape[2:], window)


def _renamed(
    operator: GraphOperator,
    inputs: tuple[TensorDesc | tuple[TensorDesc, ...] | None, ...],
    outputs: Sequence[TensorDesc],
) -> Signature:
    described = operator.describe({}, inputs=inputs, outputs=outputs)
    return evolve(described, name=operator.op_type + _KEPT)
