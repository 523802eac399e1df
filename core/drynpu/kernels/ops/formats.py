"""
Where blocked formats begin and end in a graph.

An adapter says which operators work on blocked images: :class:`ImageFormats` reads tables of types, another subclass of
:class:`FormatPass` may decide by itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeAlias

from attrs import define, field, frozen

from drynpu.kernels._types import TensorDesc
from drynpu.kernels.ops.graphs import GraphOperator, Place, takers_of
from drynpu.kernels.ops.layouts import blocked_image, is_image, plain_image

Change: TypeAlias = "tuple[int, TensorDesc, TensorDesc]"
"""Number of a kernel that changes the format, and what it makes of what."""


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


@frozen(kw_only=True)
class ImageTypes:
    """
    Which operators of a framework work on blocked images.

    Attributes
    ----------
    images:
        By type the places of the images among the inputs, and whether the first output is one.
    followers:
        Element-wise types that return what they are given; C0 depends on the data type, so none that changes it.
    biases:
        The ones among them that add one number per channel.
    shape_readers:
        Types that only read the shape of what they take.
    channels_first:
        Says of an operator whether its images are NCHW where they are plain.
    """

    images: Mapping[str, tuple[tuple[int, ...], bool]]
    followers: frozenset[str]
    biases: frozenset[str]
    shape_readers: frozenset[str]
    channels_first: Callable[[GraphOperator], bool]


@define
class ImageFormats(FormatPass):
    """The formats of a graph whose operators *types* knows; *known* are the makers of constants."""

    types: ImageTypes = field(kw_only=True)
    known: Collection[str] = frozenset()

    def images(self, operator: GraphOperator) -> tuple[int, ...]:
        """Return the images that an operator of the table takes."""
        if operator.op_type not in self.types.images or operator.name in self.known:
            return ()
        tensors = ((i, operator.call.tensor(i)) for i in self.types.images[operator.op_type][0])
        return tuple(i for i, tensor in tensors if tensor is not None and is_image(tensor.shape))

    def makes_image(self, operator: GraphOperator) -> bool:
        """Return whether the first output is an image."""
        return self.types.images[operator.op_type][1]

    def follows(self, operator: GraphOperator) -> tuple[int, ...]:
        """Return the whole images that an element-wise operator takes, if the rest are numbers and biases."""
        types, out = self.types, operator.call.output()
        if operator.op_type not in types.followers or out is None or not is_image(out.shape):
            return ()
        if operator.name in self.known:
            return ()
        most = 1 if operator.op_type in types.biases else 0
        if any(t.shape != out.shape and len(t.shape) > most for t in operator.call.tensors()):
            return ()
        tensors = (operator.call.tensor(i) for i in range(len(operator.inputs)))
        return tuple(i for i, tensor in enumerate(tensors) if tensor is not None and tensor.shape == out.shape)

    def is_constant(self, place: Place) -> bool:
        """Return whether a tensor is known when the graph is compiled."""
        return place[0] in self.known

    def channels_first(self, operator: GraphOperator) -> bool:
        """Return whether the images of an operator are NCHW where they are plain."""
        return self.types.channels_first(operator)

    def reads_shape(self, operator: GraphOperator) -> bool:
        """Return whether an operator only reads the shape of what it takes."""
        return operator.op_type in self.types.shape_readers

    def write(self, operators: Sequence[GraphOperator]) -> None:
        """Write formats and TransData kernels into the signatures of *operators*."""
        layout = self.lay_out(operators)
        for op in operators:
            changes = layout.get(id(op))
            if changes is None:
                continue
            notes = {"_graph": True, "_before": changes.before, "_after": changes.after}
            if op.op_type in self.types.images:  # their rules know which of their tensors are images
                op.signature = op.describe(notes)
                continue
            first = changes.channels_first
            inputs = (
                _as_blocked(t, first) if i in changes.images and isinstance(t, TensorDesc) else t
                for i, t in enumerate(op.signature.inputs)
            )
            outputs = (_as_blocked(t, first) for t in op.call.outputs)
            op.signature = op.describe(notes, inputs=inputs, outputs=outputs)


def _as_blocked(tensor: TensorDesc, channels_first: bool) -> TensorDesc:
    """Return an image in the blocked format, any other tensor as it is."""
    return blocked_image(tensor, channels_first=channels_first) if is_image(tensor.shape) else tensor
