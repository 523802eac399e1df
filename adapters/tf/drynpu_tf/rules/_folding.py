"""
Values that the graph engine works out when it compiles.

Shapes are known then, so whatever is made of shapes and constants alone is a constant: it is computed once and
launches nothing in any step.
"""

from __future__ import annotations

from collections.abc import Sequence

from drynpu.kernels.ops import GraphOperator, takers_of
from drynpu_tf.rules._placement import AT_COMPILE_TIME, of_shapes, on_ai_cpu, placed

_CHANGES_STATE = ("Assign", "Resource", "Apply", "Sparse", "Scatter")


def _can_be_folded(op_type: str) -> bool:
    if op_type.startswith(_CHANGES_STATE):
        return False
    if on_ai_cpu(op_type):
        return op_type in AT_COMPILE_TIME
    return of_shapes(op_type) or not placed(op_type)


def folded(operators: Sequence[GraphOperator]) -> frozenset[str]:
    """Return the names of the operators whose results are known when the graph is compiled."""
    takers = takers_of(operators)
    known = {op.name for op in operators if op.op_type == "Const"}
    todo = [op for op in operators if op.op_type in {"Const", "Shape", "ShapeN", "Size", "Rank"}]
    while todo:
        op = todo.pop()
        known.add(op.name)
        for taker in (taker for place in op.outputs for taker in takers.get(place, ())):
            if taker.name in known or not _can_be_folded(taker.op_type):
                continue
            if all(maker in known for maker, _ in taker.inputs):
                todo.append(taker)
    return frozenset(known)
