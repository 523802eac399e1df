"""Runs of models: from data sets to arrays, and from what was measured to the table of operators."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence

import numpy as np
from attrs import define, evolve, field, frozen

from drynpu.arrays import I32, Array
from drynpu.kernels import Operators
from drynpu_acl.constants import ReturnCode
from drynpu_acl.kernels import Compiled
from drynpu_acl.runtime._data import DataBuffer, Dataset, DataSets
from drynpu_acl.runtime._memory import Memory
from drynpu_acl.runtime._onnx import ModelFile, NodeTimes, Tensor

_FUNCTION_SCOPE = 0
_MOST_COMPILED = 128
"""Shapes of one model whose tables are kept."""


class Refused(Exception):
    """Ends a run with a code; the text says why."""

    def __init__(self, code: int, reason: str) -> None:
        self.code = code
        super().__init__(reason)


@frozen(eq=False)
class Executed:
    """One finished run (Unix ns)."""

    operators: Operators
    start_ns: int
    end_ns: int


@frozen(eq=False)
class _Table:
    """The operators of a compiled graph as columns that all runs of equal shapes share."""

    compiled: Compiled
    operators: Operators
    last: I32
    """Number of the last node of each operator."""


@define(eq=False)
class Runner:
    """Runs one model; safe under threads, because runs share nothing but the tables."""

    model: ModelFile
    split: bool
    compiled: dict[object, _Table] = field(factory=dict, init=False)

    def execute(self, inputs: Dataset, outputs: Dataset, data: DataSets, memory: Memory) -> Executed:
        """
        Read the inputs, run, fill the outputs.

        Raises
        ------
        Refused
            Data sets do not fit the model, point nowhere, or a node failed.
        """
        # Reading and writing the buffers is the CPU's work, too: a device has them.
        start_ns = time.time_ns()
        feeds = self._feeds(inputs, data, memory)
        into = self._room(outputs, data, memory)
        try:
            # A device computes infinities without a warning, too.
            with np.errstate(all="ignore"):
                run = self.model.run(feeds)
        except Exception as error:
            raise Refused(ReturnCode.MODEL_EXECUTE, f"{self.model.name}: {type(error).__name__}: {error}") from error
        for tensor, buffer in into:
            _put(memory, buffer, tensor, run.outputs[tensor.name])
        operators = self._operators(run)
        last_ns = int(operators.end_ns[-1]) if len(operators) else start_ns + 1
        return Executed(operators, start_ns, max(time.time_ns(), last_ns))

    def _feeds(self, dataset: Dataset, data: DataSets, memory: Memory) -> dict[str, Array]:
        tensors = self.model.inputs
        buffers = _buffers(dataset, data, len(tensors), ReturnCode.MODEL_INPUT_NOT_MATCH)
        shapes = _bind(tensors, [buffer.size for buffer in buffers], dataset.batch)
        feeds = {}
        for tensor, buffer, shape in zip(tensors, buffers, shapes, strict=True):
            size = int(np.prod(shape, dtype=np.int64)) * tensor.item_bytes
            content = memory.view(buffer.pointer, size)
            if content is None:
                raise Refused(ReturnCode.PARAM_INVALID, f"input {tensor.name}: no {size} bytes at {buffer.pointer:#x}")
            feeds[tensor.name] = content.copy().view(tensor.numpy_type).reshape(shape)
        return feeds

    def _room(self, dataset: Dataset, data: DataSets, memory: Memory) -> list[tuple[Tensor, DataBuffer]]:
        """Return where outputs go; sizes that are known before the run are checked before it."""
        tensors = self.model.outputs
        buffers = _buffers(dataset, data, len(tensors), ReturnCode.MODEL_OUTPUT_NOT_MATCH)
        for tensor, buffer in zip(tensors, buffers, strict=True):
            if buffer.size < tensor.size_bytes:
                raise Refused(
                    ReturnCode.MODEL_OUTPUT_NOT_MATCH, f"output {tensor.name}: {tensor.size_bytes} bytes are needed"
                )
            if memory.find(buffer.pointer, buffer.size) is None:
                raise Refused(
                    ReturnCode.PARAM_INVALID, f"output {tensor.name}: no {buffer.size} bytes at {buffer.pointer:#x}"
                )
        return list(zip(tensors, buffers, strict=True))

    def _operators(self, run: NodeTimes) -> Operators:
        table = self.compiled.get(run.tensor_types)
        if table is None:
            if len(self.compiled) >= _MOST_COMPILED:  # shapes that follow from values may differ in every run
                self.compiled.clear()
            table = self.compiled[run.tensor_types] = _table(self.model.compile(run.tensors, split=self.split))
        turn = np.arange(len(table.last))
        # Strictly ascending, because short nodes may share a reading of the clock.
        start_ns = np.maximum.accumulate(run.start_ns[table.last] - turn) + turn
        end_ns = np.maximum(run.end_ns[table.last], start_ns + 1)
        end_ns[:-1] = np.minimum(end_ns[:-1], start_ns[1:])
        thread = np.full(len(turn), threading.get_native_id(), np.int64)
        return evolve(table.operators, start_ns=start_ns, end_ns=end_ns, thread=thread)


def _buffers(dataset: Dataset, data: DataSets, count: int, code: int) -> list[DataBuffer]:
    if len(dataset.buffers) != count:
        raise Refused(code, f"the data set has {len(dataset.buffers)} buffers, the model {count}")
    found = [data.buffers.get(handle) for handle in dataset.buffers]
    known = [buffer for buffer in found if buffer is not None]
    if len(known) < count:
        raise Refused(ReturnCode.INVALID_PARAM, "a buffer of the data set was destroyed")
    return known


def _bind(tensors: Sequence[Tensor], sizes: Sequence[int], batch: int | None) -> list[tuple[int, ...]]:
    """
    Return the shapes that buffers of *sizes* bytes are for.

    A dim without a number is what the size leaves for it; one of a name has the same length everywhere. With *batch*
    the first dim is known.
    """
    dims = [[_named(tensor, axis) for axis in range(len(tensor.dims))] for tensor in tensors]
    known: dict[str, int] = {}
    if batch is not None:
        known = {each[0]: batch for each in dims if each and isinstance(each[0], str)}
    open_before = -1
    while True:
        left = sum(len(_unknown(each, known)) for each in dims)
        if left in (0, open_before):
            break
        open_before = left
        for tensor, size, shape_dims in zip(tensors, sizes, dims, strict=True):
            names = _unknown(shape_dims, known)
            fixed = int(np.prod([_length(dim, known) for dim in shape_dims if dim not in names], dtype=np.int64))
            if len(names) == 1 and fixed > 0 and size % (fixed * tensor.item_bytes) == 0:
                known[names[0]] = size // (fixed * tensor.item_bytes)
    shapes = []
    for tensor, size, shape_dims in zip(tensors, sizes, dims, strict=True):
        if _unknown(shape_dims, known):
            raise Refused(
                ReturnCode.MODEL_INPUT_NOT_MATCH,
                f"input {tensor.name}: {size} bytes do not tell the dims {tensor.dims}",
            )
        shape = tuple(_length(dim, known) for dim in shape_dims)
        if size < int(np.prod(shape, dtype=np.int64)) * tensor.item_bytes:
            raise Refused(
                ReturnCode.MODEL_INPUT_NOT_MATCH, f"input {tensor.name}: {size} bytes are too few for {shape}"
            )
        shapes.append(shape)
    return shapes


def _named(tensor: Tensor, axis: int) -> int | str:
    dim = tensor.dims[axis]
    return f"{tensor.name}:{axis}" if dim == -1 else dim


def _unknown(dims: Sequence[int | str], known: Mapping[str, int]) -> list[str]:
    return [dim for dim in dims if isinstance(dim, str) and dim not in known]


def _length(dim: int | str, known: Mapping[str, int]) -> int:
    return known[dim] if isinstance(dim, str) else dim


def _put(memory: Memory, buffer: DataBuffer, tensor: Tensor, value: Array) -> None:
    array = np.ascontiguousarray(value, tensor.numpy_type)
    if array.nbytes > buffer.size:
        raise Refused(ReturnCode.MODEL_OUTPUT_NOT_MATCH, f"output {tensor.name}: {array.nbytes} bytes are needed")
    if array.nbytes and not memory.write(buffer.pointer, array):
        raise Refused(ReturnCode.PARAM_INVALID, f"output {tensor.name}: its memory was freed")


def _table(compiled: Compiled) -> _Table:
    operations = compiled.operations
    kinds = [operation.signature.name for operation in operations]
    names = {name: number for number, name in enumerate(dict.fromkeys(kinds))}
    count = len(operations)
    nothing = np.zeros(count, np.int64)
    operators = Operators(
        names=tuple(names),
        name=np.array([names[kind] for kind in kinds], np.int32),
        start_ns=nothing,
        end_ns=nothing,
        thread=nothing,
        fwd_thread=nothing,
        sequence=np.full(count, -1, np.int64),
        scope=np.full(count, _FUNCTION_SCOPE, np.uint8),
        signature=np.arange(count, dtype=np.int32),
        signatures=tuple(operation.signature for operation in operations),
        texts=(("", ""),) * count,
    )
    return _Table(compiled, operators, np.array([max(o.members) for o in operations], np.int32))
