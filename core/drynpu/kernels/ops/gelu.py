"""
GELUs that scripts write out with tanh, as BERT does: one kernel, whichever framework has the graph.

The pattern is Pow, Mul, Add, Mul, Tanh, Add, Mul and a Mul with x, each with a constant or x; the half may scale x
instead. The engine's pass (GeluFusionPass of its list of fusions) wants each result, the last one as well, to be taken
once, and names the kernel after the Pow. A gradient takes what is in between, so graphs that train keep their
operators. TensorFlow's own optimizer makes ``x * x**2`` of a cube, which is none of the engine's patterns.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from attrs import frozen

from drynpu.kernels._nodes import node_signature
from drynpu.kernels.ops.graphs import GraphOperator, Place, takers_of

ADDITIONS: Final = ("Add", "AddV2")
TANH_CUBE: Final = 0.044715
"""Factor of the cube in the form of GELU that has a hyperbolic tangent."""
FAST_FACTOR: Final = 1.702
"""Factor in the form that has a sigmoid (FastGelu)."""
_KERNEL: Final = "Gelu"


def fuse_gelus(
    operators: Sequence[GraphOperator], known: Collection[str], *, kind: str = _KERNEL
) -> list[GraphOperator]:
    """
    Return the operators with one for each GELU, where the last of its operators stood.

    Parameters
    ----------
    operators:
        With those outside of the engine, since what they take is not fused away.
    known:
        Operators whose results are constants.
    kind:
        The framework's type of an operator that is a whole GELU.
    """
    graph = _Graph({place: op for op in operators for place in op.outputs}, takers_of(operators), known)
    gelus = {id(op): parts for op in operators if (parts := graph.find(op)) is not None}
    gone = {id(part) for parts in gelus.values() for part in parts}
    kept = (op for op in operators if id(op) in gelus or id(op) not in gone)
    return [_joined(gelus[id(op)], kind) if id(op) in gelus else op for op in kept]


def _joined(parts: Sequence[GraphOperator], kind: str) -> GraphOperator:
    """Return one operator that does the work of all *parts*, the Pow first and the last product last."""
    cube, last = parts[0], parts[-1]
    x, result = cube.call.tensor(0), last.call.output()
    return GraphOperator(
        cube.inputs[:1],
        last.outputs,
        node_signature(kind, [x], [result], {}, node=f"{cube.call.node}/{_KERNEL}"),
        tuple(sorted(number for part in parts for number in part.members)),
    )


@frozen
class _Graph:
    """The operators around one another."""

    makers: Mapping[Place, GraphOperator]
    takers: Mapping[Place, Sequence[GraphOperator]]
    known: Collection[str]

    def find(self, last: GraphOperator) -> tuple[GraphOperator, ...] | None:
        """Return the operators of the GELU that ends at *last*, the Pow first."""
        for first, second in _orders(last, "Mul"):
            outer = self._maker(second)
            if outer is None:
                continue
            total = self._beside_constant(outer, "Mul")
            if total is not None:  # x * (0.5 * (1 + tanh))
                parts = self._polynomial(first, self._maker(total), (outer, last))
            else:  # (0.5 * x) * (1 + tanh)
                half = self._maker(first)
                x = self._beside_constant(half, "Mul")
                parts = None if half is None or x is None else self._polynomial(x, outer, (half, last))
            if parts is not None and all(len(self.takers.get(part.outputs[0], ())) == 1 for part in parts):
                return parts
        return None

    def _polynomial(
        self, x: Place, total: GraphOperator | None, behind: tuple[GraphOperator, ...]
    ) -> tuple[GraphOperator, ...] | None:
        """Return all operators if *total* is 1 + tanh(a * (x + b * x**3))."""
        activated = self._beside_constant(total, *ADDITIONS)
        tanh = self._maker(activated) if activated is not None else None
        if total is None or tanh is None or tanh.op_type != "Tanh":
            return None
        scaled = self._maker(tanh.inputs[0])
        summed = self._beside_constant(scaled, "Mul")
        inner = self._maker(summed) if summed is not None else None
        for other, term in _orders(inner, *ADDITIONS):
            product = self._maker(term)
            power = self._beside_constant(product, "Mul")
            cube = self._maker(power) if power is not None else None
            if other != x or cube is None or cube.op_type != "Pow" or cube.inputs[0] != x:
                continue
            if cube.inputs[1][0] in self.known:
                chain = (cube, product, inner, scaled, tanh, total, *behind)
                return tuple(part for part in chain if part is not None)
        return None

    def _beside_constant(self, operator: GraphOperator | None, *kinds: str) -> Place | None:
        """Return what an operator of these types takes beside a constant."""
        return next((place for place, other in _orders(operator, *kinds) if other[0] in self.known), None)

    def _maker(self, place: Place) -> GraphOperator | None:
        return self.makers.get(place)


def _orders(operator: GraphOperator | None, *kinds: str) -> tuple[tuple[Place, Place], ...]:
    """Return both orders of the two inputs of an operator of these types, which may be swapped."""
    if operator is None or operator.op_type not in kinds or len(operator.inputs) < 2:
        return ()
    first, second = operator.inputs[:2]
    return (first, second), (second, first)
