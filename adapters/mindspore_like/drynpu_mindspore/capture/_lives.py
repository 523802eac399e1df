"""
The memory that a graph of kernels needs: the buffers allocated for each node, and the nodes that read them.

This is a model of MindSpore's runtime as it launches kernel by kernel (jit level O0): the results of a node are
allocated for its launch and freed after the launch of the last node that reads them; parameters stay. The model leaves
out what the saved graph does not show: workspace of kernels, copies between formats, and nodes that a device would
split or fuse.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import define, field, frozen

from drynpu.kernels import DTYPES, NO_DATA, TensorDesc
from drynpu_mindspore.capture._ir import GraphNode, constant_tensor
from drynpu_mindspore.capture._wiring import KernelGraph
from drynpu_mindspore.rules import NOTHING

_WRITES = "side_effect_mem"
JOIN, PICK = frozenset({"MakeTuple", "RealMakeTuple"}), frozenset({"TupleGetItem", "RealTupleGetItem"})
"""Primitives that make a tuple of values, and take one out."""


@frozen
class Buffer:
    """
    Memory of one tensor of a graph.

    Attributes
    ----------
    producer:
        Index of the node for whose launch it is allocated; -1 for an input, which is there before the first launch.
    readers:
        Indices of the nodes that are launched and read it, also by way of views.
    kept:
        Whether the graph gives it back, so that it outlives the run.
    """

    size_bytes: int
    producer: int
    readers: tuple[int, ...]
    kept: bool


@frozen
class Lives:
    """
    The memory of one graph.

    Attributes
    ----------
    lasting:
        Bytes of parameters and constants, which stay from run to run, by an identity: graphs share the parameters of
        equal key, shape and type.
    unknown:
        Primitives of the nodes that have a result of unknown size.
    """

    buffers: tuple[Buffer, ...]
    lasting: tuple[tuple[tuple[object, ...], int], ...]
    unknown: frozenset[str]


@define
class _Open:
    """A buffer while its readers are gathered; *lasting* ones are no part of a run."""

    tensor: TensorDesc
    producer: int = -1
    lasting: bool = False
    readers: list[int] = field(factory=list)
    kept: bool = False


Value = tuple[_Open, ...]


def size_of(tensor: TensorDesc) -> int | None:
    """Return the bytes of a tensor, ``None`` for one of unknown type."""
    return None if tensor.dtype == NO_DATA or tensor.dtype not in DTYPES else tensor.size_bytes


def lives_of(graph: KernelGraph) -> Lives:
    """Return the memory of a graph."""
    return _Reader(graph).read()


@define
class _Reader:
    graph: KernelGraph
    values: dict[str, Value] = field(factory=dict)
    lasting: dict[tuple[object, ...], int] = field(factory=dict)
    buffers: list[_Open] = field(factory=list)
    unknown: set[str] = field(factory=set)

    def read(self) -> Lives:
        for parameter in self.graph.parameters:
            if parameter.tensor is not None:
                self._add_parameter(parameter.label, parameter.tensor, parameter.key)
        for index, node in enumerate(self.graph.nodes):
            self.values[node.label] = self._result(index, node, [self._value(text) for text in node.operands])
        for text in self.graph.results:
            for buffer in self._value(text):
                buffer.kept = True
        # An input that is handed back belongs to the caller.
        closed = (
            Buffer(size, buffer.producer, tuple(dict.fromkeys(buffer.readers)), buffer.kept and buffer.producer >= 0)
            for buffer in self.buffers
            if (size := size_of(buffer.tensor))
        )
        return Lives(
            buffers=tuple(buffer for buffer in closed if buffer.producer >= 0 or buffer.readers),
            lasting=tuple(self.lasting.items()),
            unknown=frozenset(self.unknown),
        )

    def _add_parameter(self, label: str, tensor: TensorDesc, key: str) -> None:
        buffer = _Open(tensor, lasting=bool(key))
        self.values[label] = (buffer,)
        if not key:
            self.buffers.append(buffer)
        elif size := size_of(tensor):
            self.lasting[key, tensor.shape, tensor.dtype] = size

    def _value(self, text: str) -> Value:
        """Return the tensors that an operand stands for; a constant is taken to be in memory once in a graph."""
        constant = constant_tensor(text) if text.startswith("Tensor(") and text not in self.values else None
        if constant is not None:
            self.values[text] = (_Open(constant, lasting=True),)
            if size := size_of(constant):
                self.lasting[id(self.graph), text] = size
        return self.values.get(text, ())

    def _result(self, index: int, node: GraphNode, sources: Sequence[Value]) -> Value:
        everything = tuple(buffer for value in sources for buffer in value)
        first = sources[0] if sources else ()
        if node.primitive in JOIN:
            return everything
        if node.primitive in PICK:
            return _picked(first, node)
        if node.primitive in NOTHING:
            return first
        for buffer in everything:
            buffer.readers.append(index)
        if node.outputs is None:
            self.unknown.add(node.primitive)
            return ()
        written = first if node.in_place and len(first) == len(node.outputs) else _written(node, everything)
        if written:
            return written
        if any(size_of(tensor) is None for tensor in node.outputs):
            self.unknown.add(node.primitive)
        allocated = tuple(_Open(tensor, index) for tensor in node.outputs)
        self.buffers.extend(allocated)
        return allocated


def _picked(value: Value, node: GraphNode) -> Value:
    """Return one element of a tuple, or all where the graph does not show which: so nothing is freed too early."""
    position = node.arguments[1] if len(node.arguments) > 1 else None
    if isinstance(position, int) and 0 <= position < len(value):
        return (value[position],)
    return value


def _written(node: GraphNode, sources: Value) -> Value:
    """
    Return the parameters that a node writes, if these are all of its results: an optimizer's step allocates nothing.

    A node that writes parameters and has results besides (the batch norm of a training) allocates its results.
    """
    if not dict(node.attrs).get(_WRITES) or not node.outputs:
        return ()
    parameters = [buffer for buffer in sources if buffer.lasting]
    written = []
    for tensor in node.outputs:
        same = next((buffer for buffer in parameters if buffer.tensor == tensor), None)
        if same is None:
            return ()
        written.append(same)
    return tuple(written)
