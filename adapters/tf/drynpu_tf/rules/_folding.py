"""
Values that the graph engine works out when it compiles.

Shapes are known then, so whatever is made of shapes and constants alone is a constant: it is computed once and
launches nothing in any step.
"""

from __future__ import annotations

from collections.abc import Sequence

from drynpu_tf.rules._nodes import Work, consumers_of
from drynpu_tf.rules._placement import AT_COMPILE_TIME, of_shapes, on_ai_cpu, placed

__all__ = ["folded"]

_CHANGES_STATE = ("Assign", "Resource", "Apply", "Sparse", "Scatter")


def _can_be_folded(op_type: str) -> bool:
    if op_type.startswith(_CHANGES_STATE):
        return False
    if on_ai_cpu(op_type):
        return op_type in AT_COMPILE_TIME
    return of_shapes(op_type) or not placed(op_type)


def folded(works: Sequence[Work]) -> frozenset[str]:
    """Return the names of the operators whose results are known when the graph is compiled."""
    known = {work.name for work in works if work.op_type == "Const"}
    takers = consumers_of(works)
    by_name = {work.name: work for work in works}
    todo = [by_name[name] for name in known] + [w for w in works if w.op_type in {"Shape", "ShapeN", "Size", "Rank"}]
    while todo:
        work = todo.pop()
        known.add(work.name)
        for slot in range(max(len(work.call.outputs), 1)):
            for taker in takers.get((work.name, slot), ()):
                if taker.name in known or not _can_be_folded(taker.op_type):
                    continue
                if all(producer in known for producer, _ in taker.inputs):
                    todo.append(taker)
    return frozenset(known)
