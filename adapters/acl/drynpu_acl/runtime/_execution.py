"""Runs of models: from data sets to arrays, and from what was measured to the table of operators."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence

import numpy as np
from attrs import define, evolve, field, frozen

from drynpu.arrays import I32, U8, Array
from drynpu.kernels import Operators
from drynpu_acl.constants import ReturnCode
from drynpu_acl.kernels import Compiled, acl_dtype
from drynpu_acl.runtime._aipp import AippSettings
from drynpu_acl.runtime._data import DataBuffer, Dataset, DataSets, TensorDescription, plain_format
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
    gear: tuple[int, ...] = ()
    """The gear that was chosen last, empty for none."""

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
        images = self._images(inputs, data, memory)
        into = self._room(outputs, data, memory)
        try:
            # A device computes infinities without a warning, too.
            with np.errstate(all="ignore"):
                run = self.model.run(feeds, images)
        except Exception as error:
            raise Refused(ReturnCode.MODEL_EXECUTE, f"{self.model.name}: {type(error).__name__}: {error}") from error
        for number, (tensor, buffer) in enumerate(into):
            value = run.outputs[tensor.name]
            _put(memory, buffer, tensor, value)
            outputs.results[number] = TensorDescription(
                acl_dtype(tensor.onnx_type), value.shape, plain_format(value.ndim), tensor.name
            )
        operators = self._operators(run, self._gear_number(feeds))
        last_ns = int(operators.end_ns[-1]) if len(operators) else start_ns + 1
        return Executed(operators, start_ns, max(time.time_ns(), last_ns))

    def _feeds(self, dataset: Dataset, data: DataSets, memory: Memory) -> dict[str, Array]:
        tensors = self.model.inputs
        buffers = _buffers(dataset, data, len(tensors), ReturnCode.MODEL_INPUT_NOT_MATCH)
        if self.model.conversion.kind is not None and not dataset.dims:
            raise Refused(
                ReturnCode.DYNAMIC_BATCH_SIZE_INVALID, f"{self.model.name}: no gear was chosen for the data set"
            )
        image = None if self.model.aipp is None else self.model.aipp.tensor.name
        read = [(t, buffer) for t, buffer in zip(tensors, buffers, strict=True) if t.is_data and t.name != image]
        lengths = {**dataset.dims, **self._described(dataset)}
        shapes = _bind([tensor for tensor, _ in read], [buffer.size for _, buffer in read], lengths)
        feeds = {}
        for (tensor, buffer), shape in zip(read, shapes, strict=True):
            size = int(np.prod(shape, dtype=np.int64)) * tensor.item_bytes
            content = memory.view(buffer.pointer, size)
            if content is None:
                raise Refused(ReturnCode.PARAM_INVALID, f"input {tensor.name}: no {size} bytes at {buffer.pointer:#x}")
            feeds[tensor.name] = content.copy().view(tensor.numpy_type).reshape(shape)
        return feeds

    def _described(self, dataset: Dataset) -> dict[str, int]:
        """Return the lengths of open dims that descriptions of the data set give; others have to be the model's."""
        lengths: dict[str, int] = {}
        for number, description in dataset.tensors.items():
            tensor = self.model.inputs[number]
            if len(description.dims) != len(tensor.dims) or any(
                known not in (-1, length) for known, length in zip(tensor.shape, description.dims, strict=True)
            ):
                raise Refused(
                    ReturnCode.MODEL_INPUT_NOT_MATCH,
                    f"input {tensor.name}: {description.dims} do not fit {tensor.dims}",
                )
            lengths.update(
                (tensor.dim_name(axis), length)
                for axis, length in enumerate(description.dims)
                if tensor.shape[axis] < 0
            )
        return lengths

    def _images(self, dataset: Dataset, data: DataSets, memory: Memory) -> tuple[AippSettings, U8] | None:
        """Return settings and bytes of the images that the model prepares by itself, ``None`` for a model without."""
        aipp = self.model.aipp
        if aipp is None:
            return None
        settings = aipp.settings or dataset.aipp
        if settings is None:
            raise Refused(ReturnCode.AIPP_BATCH_EMPTY, f"{self.model.name}: acl.mdl.set_input_aipp was not called")
        number = [tensor.name for tensor in self.model.inputs].index(aipp.tensor.name)
        buffer = _buffers(dataset, data, len(self.model.inputs), ReturnCode.MODEL_INPUT_NOT_MATCH)[number]
        size = settings.source_bytes
        if buffer.size < size:
            raise Refused(ReturnCode.MODEL_INPUT_NOT_MATCH, f"input {aipp.tensor.name}: {size} bytes are needed")
        content = memory.view(buffer.pointer, size)
        if content is None:
            raise Refused(ReturnCode.PARAM_INVALID, f"input {aipp.tensor.name}: no {size} bytes at {buffer.pointer:#x}")
        return settings, content.copy()

    def _room(self, dataset: Dataset, data: DataSets, memory: Memory) -> list[tuple[Tensor, DataBuffer]]:
        """Return where outputs go; sizes that are known before the run are checked before it."""
        tensors = self.model.outputs
        buffers = _buffers(dataset, data, len(tensors), ReturnCode.MODEL_OUTPUT_NOT_MATCH)
        for tensor, buffer in zip(tensors, buffers, strict=True):
            # What a gear needs is known after the run: a buffer may be for the gear that is chosen.
            if tensor.largest is None and buffer.size < tensor.size_bytes:
                raise Refused(
                    ReturnCode.MODEL_OUTPUT_NOT_MATCH, f"output {tensor.name}: {tensor.size_bytes} bytes are needed"
                )
            if memory.find(buffer.pointer, buffer.size) is None:
                raise Refused(
                    ReturnCode.PARAM_INVALID, f"output {tensor.name}: no {buffer.size} bytes at {buffer.pointer:#x}"
                )
        return list(zip(tensors, buffers, strict=True))

    def _gear_number(self, feeds: Mapping[str, Array]) -> int | None:
        """Return the number of the gear whose shapes the inputs have, ``None`` for a model without gears."""
        conversion = self.model.conversion
        if conversion.kind is None:
            return None
        fitting = [
            all(feeds[name].shape == dims for name, dims in conversion.bind(gear).items()) for gear in conversion.gears
        ]
        return fitting.index(True)

    def _operators(self, run: NodeTimes, gear: int | None) -> Operators:
        key = run.key
        table = self.compiled.get(key)
        if table is None:
            if len(self.compiled) >= _MOST_COMPILED:  # shapes that follow from values may differ in every run
                self.compiled.clear()
            table = self.compiled[key] = _table(self.model.compile(run, split=self.split, gear=gear))
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
    buffers = [data.buffers.get(handle) for handle in dataset.buffers]
    known = [buffer for buffer in buffers if buffer is not None]
    if len(known) < count:
        raise Refused(ReturnCode.INVALID_PARAM, "a buffer of the data set was destroyed")
    return known


def _bind(tensors: Sequence[Tensor], sizes: Sequence[int], lengths: Mapping[str, int]) -> list[tuple[int, ...]]:
    """
    Return the shapes that buffers of *sizes* bytes are for.

    A dim without a number is what the size leaves for it; one of a name has the same length everywhere. *lengths* are
    known ones by name.
    """
    dims = [[_named(tensor, axis) for axis in range(len(tensor.dims))] for tensor in tensors]
    known = dict(lengths)
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
    return dim if isinstance(dim, int) and dim >= 0 else tensor.dim_name(axis)


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
