"""
What a graph compiler makes of operators: which become one.

An adapter brings the operators of a graph in the order in which they run and says which pairs are joined
(:class:`Fusion`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from attrs import define, frozen

from drynpu.kernels._nodes import NodeCall
from drynpu.kernels._types import Signature, TensorDesc

Place: TypeAlias = "tuple[str, int]"
"""A tensor of a graph: the node that makes it (or its own name), and which of the outputs it is."""


@define(eq=False)
class GraphOperator:
    """
    One operator while its graph is compiled: a node, or several that became one.

    Attributes
    ----------
    inputs, outputs:
        Tensors, in the order of the tensors of *signature*.
    members:
        Numbers of its nodes, in the order in which they were joined.
    """

    inputs: tuple[Place, ...]
    outputs: tuple[Place, ...]
    signature: Signature
    members: tuple[int, ...]

    @property
    def name(self) -> str:
        """The node that makes the first output: the last one, because everything that it needs is there by then."""
        return self.outputs[0][0]

    @property
    def op_type(self) -> str:
        """The framework's type of the first node."""
        return self.signature.name

    @property
    def call(self) -> NodeCall:
        """The operator as a rule reads it."""
        return NodeCall(self.signature)

    def describe(
        self,
        notes: Mapping[str, object],
        *,
        inputs: Iterable[TensorDesc | tuple[TensorDesc, ...] | None] | None = None,
        outputs: Iterable[TensorDesc] | None = None,
    ) -> Signature:
        """Return the signature with *notes* among its attributes, and with other inputs or outputs."""
        values: tuple[Any, ...] = (
            self.call.outputs if outputs is None else tuple(outputs),
            self.call.node,
            tuple(sorted({**self.call.attrs, **notes}.items())),
            *self.signature.attributes[3:],
        )
        tensors = self.signature.inputs if inputs is None else tuple(inputs)
        return Signature(self.op_type, tensors, values, self.signature.placement)


def takers_of(operators: Iterable[GraphOperator]) -> dict[Place, list[GraphOperator]]:
    """Return the operators that take each tensor, one entry per input."""
    takers: dict[Place, list[GraphOperator]] = {}
    for operator in operators:
        for place in operator.inputs:
            takers.setdefault(place, []).append(operator)
    return takers


@frozen
class Fusion:
    """
    A way to grow an operator by the one behind it.

    Attributes
    ----------
    fits:
        Says of a pair whether it becomes one.
    renames:
        Whether the name of the second follows the name of the first.
    folds:
        Whether the second only changes weights when the graph is compiled: of its inputs the third (a shift) becomes
        the bias of the first, unless that has one.
    times:
        How often in a row.
    """

    fits: Callable[[GraphOperator, GraphOperator], bool]
    renames: bool = True
    folds: bool = False
    times: int = 1


_INPUTS_WITH_BIAS = 3


def fuse(
    operators: Sequence[GraphOperator], fusions: Iterable[Fusion], results: Collection[Place] = ()
) -> list[GraphOperator]:
    """
    Return the operators after fusion, in their order: one made of several stands where the last of them stood.

    The first of a pair has no other taker, nor is its output among the *results* of the graph.
    """
    fused = list(operators)
    for fusion in fusions:
        for _ in range(fusion.times):
            joined = _join_pairs(fused, fusion, results)
            if len(joined) == len(fused):
                break
            fused = joined
    return fused


def _join_pairs(operators: Sequence[GraphOperator], fusion: Fusion, results: Collection[Place]) -> list[GraphOperator]:
    """Join the pairs that fit; each operator takes part once."""
    takers, makers = takers_of(operators), {op.outputs[0]: op for op in operators if op.outputs}
    busy: set[int] = set()
    gone: set[int] = set()
    fused: dict[int, GraphOperator] = {}
    for second in operators:
        for position, place in enumerate(second.inputs):
            first = makers.get(place)
            if first is None or place in results or len(takers[place]) != 1 or {id(first), id(second)} & busy:
                continue
            if fusion.fits(first, second):
                fused[id(second)] = _joined(first, second, position, fusion)
                gone.add(id(first))
                busy |= {id(first), id(second)}
                break
    return [fused.get(id(op), op) for op in operators if id(op) not in gone]


def _joined(first: GraphOperator, second: GraphOperator, position: int, fusion: Fusion) -> GraphOperator:
    """Return *second* computed by the kernel of *first*: its other inputs follow the inputs of *first*."""
    call, after = first.call, second.call
    others = [i for i in range(len(second.inputs)) if i != position]
    notes: dict[str, object] = {}
    if fusion.folds:
        others = [2] if len(first.inputs) < _INPUTS_WITH_BIAS <= len(second.inputs) else []
    else:
        notes["_fused"] = (*call.texts("_fused"), second.op_type, *after.texts("_fused"))
        if fusion.renames:
            notes["_tail"] = call.text("_tail") + after.node + after.text("_tail")
    inputs = (*first.signature.inputs, *(_input(second, i) for i in others))
    outputs = (*after.outputs[:1], *call.outputs[1:])
    return GraphOperator(
        (*first.inputs, *(second.inputs[i] for i in others)),
        (*second.outputs[:1], *first.outputs[1:]),
        first.describe(notes, inputs=inputs, outputs=outputs),
        (*first.members, *second.members),
    )


def _input(operator: GraphOperator, position: int) -> TensorDesc | tuple[TensorDesc, ...] | None:
    inputs = operator.signature.inputs
    return inputs[position] if position < len(inputs) else None
