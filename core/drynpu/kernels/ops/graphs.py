"""
What a graph compiler makes of operators: which become one, and where formats change.

An adapter brings the operators of a graph in the order in which they run and says which pairs are joined
(:class:`Fusion`) and which operators work on blocked images (:class:`FormatPass`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from attrs import define, field, frozen

from drynpu.kernels._nodes import NodeCall
from drynpu.kernels._types import Signature, TensorDesc
from drynpu.kernels.ops.layouts import blocked_image, is_image, plain_image

Place: TypeAlias = "tuple[str, int]"
"""A tensor of a graph: the node that makes it (or its own name), and which of the outputs it is."""
Change: TypeAlias = "tuple[int, TensorDesc, TensorDesc]"
"""Number of a kernel that changes the format, and what it makes of what."""


@define(eq=False)
class GraphOperator:
    """
    One operator while its graph is compiled: a node, or several that became one.

    Attributes
    ----------
    inputs, outputs:
        Tensors, in the order of those of *signature*.
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
        given = self.signature.inputs if inputs is None else tuple(inputs)
        return Signature(self.op_type, given, values, self.signature.placement)


def takers_of(operators: Iterable[GraphOperator]) -> dict[Place, list[GraphOperator]]:
    """Return the operators that take each tensor, one entry per input."""
    found: dict[Place, list[GraphOperator]] = {}
    for operator in operators:
        for place in operator.inputs:
            found.setdefault(place, []).append(operator)
    return found


@frozen
class Fusion:
    """
    A way to grow an operator by the one behind it.

    Attributes
    ----------
    fits:
        Says of a pair whether it becomes one.
    renames:
        Whether the name of the second follows that of the first.
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
    found = list(operators)
    for fusion in fusions:
        for _ in range(fusion.times):
            joined = _join_pairs(found, fusion, results)
            if len(joined) == len(found):
                break
            found = joined
    return found


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
    """Return *second* computed by the kernel of *first*: its other inputs follow those of *first*."""
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


@frozen
class FormatChanges:
    """An operator that works on blocked images: which inputs these are, and the kernels before and behind it."""

    images: tuple[int, ...]
    channels_first: bool
    before: tuple[Change, ...] = ()
    after: tuple[Change, ...] = ()


@define
class FormatPass(ABC):
    """
    Where blocked formats begin and end in a graph.

    Convolutions, pooling and batch norms work on NC1HWC0; element-wise operators return what they are given. A
    TransData kernel stands before the first operator that needs a plain image blocked, and behind one whose blocked
    result somebody takes who cannot read it. Weights stay blocked (``variable_format_optimize``). An adapter's
    subclass says which operators are which.
    """

    results: Collection[Place] = ()
    """Tensors that the graph returns."""
    _blocked: dict[Place, bool] = field(factory=dict, init=False)
    """Tensors that are made in the blocked format, and whether they are NCHW otherwise."""
    _converted: set[Place] = field(factory=set, init=False)
    _count: int = field(default=0, init=False)

    @abstractmethod
    def images(self, operator: GraphOperator) -> tuple[int, ...]:
        """Return the inputs that are images to an operator that works on blocked ones; none for all others."""

    @abstractmethod
    def makes_image(self, operator: GraphOperator) -> bool:
        """Return whether such an operator also returns a blocked image."""

    @abstractmethod
    def follows(self, operator: GraphOperator) -> tuple[int, ...]:
        """Return the inputs that are images to an operator that returns what it is given; none for all others."""

    @abstractmethod
    def is_constant(self, place: Place) -> bool:
        """Return whether a tensor is known when the graph is compiled: it is stored as it is wanted."""

    @abstractmethod
    def channels_first(self, operator: GraphOperator) -> bool:
        """Return whether the images of an operator are NCHW where they are plain."""

    @abstractmethod
    def reads_shape(self, operator: GraphOperator) -> bool:
        """Return whether an operator only reads the shape of what it takes."""

    def lay_out(self, operators: Sequence[GraphOperator]) -> dict[int, FormatChanges]:
        """Return the format changes of the operators that work on blocked images, by ``id`` of the operator."""
        takers = takers_of(operators)
        workers = {id(op): images for op in operators if (images := self.images(op))}
        for op in operators:
            if id(op) in workers and self.makes_image(op):
                self._blocked[op.outputs[0]] = self.channels_first(op)
        self._spread(takers, workers)
        return {id(op): self._changes(op, workers, takers) for op in operators if id(op) in workers}

    def _spread(self, takers: dict[Place, list[GraphOperator]], workers: dict[int, tuple[int, ...]]) -> None:
        """Mark operators as blocked that return a blocked input."""
        todo = list(self._blocked)
        while todo:
            place = todo.pop()
            for taker in takers.get(place, ()):
                if id(taker) in workers or not taker.outputs or taker.outputs[0] in self._blocked:
                    continue
                images = self.follows(taker)
                if images:
                    workers[id(taker)] = images
                    self._blocked[taker.outputs[0]] = self._blocked[place]
                    todo.append(taker.outputs[0])

    def _changes(
        self, op: GraphOperator, workers: dict[int, tuple[int, ...]], takers: dict[Place, list[GraphOperator]]
    ) -> FormatChanges:
        output_place, out = op.outputs[0], op.call.output()
        first = self._blocked.get(output_place, self.channels_first(op))
        images = workers[id(op)]
        before = []
        for i in images:
            tensor, place = op.call.tensor(i), op.inputs[i]
            if tensor is None or place in self._blocked or place in self._converted or self.is_constant(place):
                continue
            self._converted.add(place)
            plain = plain_image(tensor, channels_first=first)
            before.append((self._number(), plain, blocked_image(tensor, channels_first=first)))
        after = []
        is_blocked = output_place in self._blocked and out is not None and is_image(out.shape)
        if out is not None and is_blocked and self._is_read_plain(output_place, workers, takers):
            blocked = blocked_image(out, channels_first=first)
            after.append((self._number(), blocked, plain_image(out, channels_first=first)))
        return FormatChanges(images, first, tuple(before), tuple(after))

    def _is_read_plain(
        self, place: Place, workers: dict[int, tuple[int, ...]], takers: dict[Place, list[GraphOperator]]
    ) -> bool:
        readers = [taker for taker in takers.get(place, ()) if not self.reads_shape(taker)]
        return place in self.results or any(id(taker) not in workers for taker in readers)

    def _number(self) -> int:
        """Return the next number of a TransData kernel."""
        self._count += 1
        return self._count - 1
