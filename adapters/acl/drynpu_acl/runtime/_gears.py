"""
Shapes that a program chooses before a run: batch, height and width, or all dims (acl_mdl.h, ge_executor.cc).

A model with gears has an input more, into whose buffer the choice is written. A model without gears that has dims
without a number takes any choice, and needs no such buffer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from drynpu_acl.constants import ReturnCode
from drynpu_acl.runtime._conversion import GEAR_INPUT, Conversion, GearKind
from drynpu_acl.runtime._data import Dataset, DataSets
from drynpu_acl.runtime._execution import Runner
from drynpu_acl.runtime._memory import Memory
from drynpu_acl.runtime._models import Complain, Models
from drynpu_acl.runtime._onnx import ModelFile, Tensor

_ALL_INPUTS = 2**64 - 1
"""The index -1 as the binding's unsigned numbers hold it."""
_MOST_GEARS = 4096
"""The largest number of gears that the binding makes room for."""
_SHORT, _LONG = 4, 8
"""Bytes of one number of a choice: as many as the buffer has room for."""


class ModelShapes:
    """What is chosen for data sets, and what descriptions say about choices."""

    def __init__(self, models: Models, data: DataSets, memory: Memory, complain: Complain) -> None:
        self._models, self._data, self._memory, self._complain = models, data, memory, complain

    # Choosing -----------------------------------------------------------------------------------------------------

    def set_dynamic_batch_size(self, model_id: int, dataset: int, index: int, batch: int) -> int:
        """Choose the first dim of dynamic inputs in runs with a data set."""
        return self._choose(GearKind.BATCH, model_id, dataset, index, (batch,))

    def set_dynamic_hw_size(self, model_id: int, dataset: int, index: int, height: int, width: int) -> int:
        """Choose height and width of dynamic images in runs with a data set."""
        return self._choose(GearKind.IMAGE, model_id, dataset, index, (height, width))

    def set_input_dynamic_dims(self, model_id: int, dataset: int, index: int, dims: object) -> int:
        """Choose the dims of all inputs, which stand behind each other in ``dims["dims"]``."""
        lengths = _read_dims(dims)
        return self._choose(GearKind.DIMS, model_id, dataset, index, lengths)

    def _choose(self, kind: GearKind, model_id: int, dataset: int, index: int, chosen: tuple[int, ...]) -> int:
        inputs = self._data.datasets.get(dataset)
        if inputs is None or not chosen or (kind is not GearKind.DIMS and 0 in chosen):
            return ReturnCode.INVALID_PARAM
        runner = self._models.runner(model_id)
        free = runner is not None and runner.model.conversion.kind is None and bool(_open_dims(runner.model))
        if free and runner is not None:
            return self._bind(runner, inputs, kind, chosen, None)
        buffer = self._data.buffers.get(inputs.buffers[index] if index < len(inputs.buffers) else 0)
        if buffer is None or buffer.pointer == 0:
            return ReturnCode.INVALID_PARAM
        if runner is None:
            return ReturnCode.MODEL_ID_INVALID
        if kind is not GearKind.DIMS and buffer.size < _SHORT * len(chosen):
            return ReturnCode.DYNAMIC_INPUT_LENGTH_INVALID
        return self._bind(runner, inputs, kind, chosen, (buffer.pointer, buffer.size))

    def _bind(
        self, runner: Runner, inputs: Dataset, kind: GearKind, chosen: tuple[int, ...], room: tuple[int, int] | None
    ) -> int:
        model, conversion = runner.model, runner.model.conversion
        places = _places(model, kind, chosen)
        if isinstance(places, int):
            return places
        gear = tuple(length for _, length in places) if kind is GearKind.DIMS else chosen
        if conversion.kind is not None and (conversion.kind is not kind or gear not in conversion.gears):
            known = ";".join(",".join(map(str, each)) for each in conversion.gears)
            self._complain(
                f"{model.name}: {','.join(map(str, gear))} is none of its gears --{conversion.kind.value}={known}"
            )
            return ReturnCode.DYNAMIC_BATCH_SIZE_INVALID
        if not places:
            self._complain(f"{model.name}: has no dims of that kind to choose")
            return ReturnCode.DYNAMIC_BATCH_SIZE_INVALID
        if room is not None and (code := self._write(gear, *room)):
            return code
        inputs.dims, runner.gear = dict(places), gear
        return ReturnCode.SUCCESS

    def _write(self, gear: Sequence[int], pointer: int, size: int) -> int:
        """Write the numbers of a gear into the buffer of the input that is for them."""
        if size < _SHORT * len(gear):
            return ReturnCode.DYNAMIC_INPUT_LENGTH_INVALID
        numbers = np.array(gear, np.uint64 if size >= _LONG * len(gear) else np.uint32)
        return ReturnCode.SUCCESS if self._memory.write(pointer, numbers) else ReturnCode.PARAM_INVALID

    # Reading ------------------------------------------------------------------------------------------------------

    def _conversion(self, handle: int) -> Conversion | None:
        description = self._data.descriptions.get(handle)
        return None if description is None or description.model is None else description.model.conversion

    def _gears(self, handle: int, kind: GearKind) -> tuple[tuple[int, ...], ...] | None:
        conversion = self._conversion(handle)
        if conversion is None:
            return None
        return conversion.gears if conversion.kind is kind else ()

    def get_dynamic_batch(self, handle: int) -> tuple[dict[str, Any], int]:
        """Return ``({"batchCount", "batch"}, code)``."""
        gears = self._gears(handle, GearKind.BATCH)
        if gears is None:
            return {}, ReturnCode.INVALID_PARAM
        return {"batchCount": len(gears), "batch": [gear[0] for gear in gears]}, ReturnCode.SUCCESS

    def get_dynamic_hw(self, handle: int, index: int) -> tuple[dict[str, Any], int]:
        """Return ``({"hwCount", "hw"}, code)`` with heights and widths; the index has no meaning."""
        del index
        gears = self._gears(handle, GearKind.IMAGE)
        if gears is None:
            return {}, ReturnCode.INVALID_PARAM
        return {"hwCount": len(gears), "hw": [list(gear) for gear in gears]}, ReturnCode.SUCCESS

    def get_input_dynamic_gear_count(self, handle: int, index: int) -> tuple[int, int]:
        """Return ``(number, code)`` of gears that give all dims; the index has to be -1."""
        gears = self._gears(handle, GearKind.DIMS)
        if gears is None or index != _ALL_INPUTS:
            return 0, ReturnCode.INVALID_PARAM
        return len(gears), ReturnCode.SUCCESS

    def get_input_dynamic_dims(self, handle: int, index: int, count: int) -> tuple[list[dict[str, Any]] | None, int]:
        """Return ``([{"name", "dimCount", "dims"}], code)``: for each gear the dims of all inputs in a row."""
        if count > _MOST_GEARS:
            return None, ReturnCode.INVALID_PARAM
        gears, conversion = self._gears(handle, GearKind.DIMS), self._conversion(handle)
        if gears is None or conversion is None or index != _ALL_INPUTS or count < len(gears):
            return [], ReturnCode.INVALID_PARAM
        rows = [[dim for dims in conversion.bind(gear).values() for dim in dims] for gear in gears]
        rows += [[]] * (count - len(rows))
        return [{"name": "", "dimCount": len(dims), "dims": list(dims)} for dims in rows], ReturnCode.SUCCESS

    def get_cur_output_dims(self, handle: int, index: int) -> tuple[dict[str, Any], int]:
        """Return ``({"name", "dimCount", "dims"}, code)`` of an output in the gear that was chosen last."""
        description = self._data.descriptions.get(handle)
        runner = None if description is None else self._models.runner(description.model_id)
        tensor = self._data.tensor("outputs", handle, index)
        if tensor is None or runner is None:
            return {}, ReturnCode.INVALID_PARAM
        shape, conversion = tensor.shape, runner.model.conversion
        if runner.gear and conversion.kind is not None:
            shape = runner.model.output_shapes(conversion.bind(runner.gear))[index]
        return {"name": tensor.name, "dimCount": len(shape), "dims": list(shape)}, ReturnCode.SUCCESS

    def get_input_index_by_name(self, handle: int, name: str) -> tuple[int, int]:
        """Return ``(index, code)`` of an input, also of one that the model compiler has added."""
        answer = self._data.index("inputs", handle, name)
        description = self._data.descriptions.get(handle)
        model = None if description is None else description.model
        if answer[1] and name == GEAR_INPUT and model is not None and _open_dims(model):
            self._complain(
                f"{model.name}: has no gears to choose from; name them in {model.name}.atc beside it "
                "(docs/pyacl.md), or choose without the index",
                aloud=True,
            )
        return answer


def _open_dims(model: ModelFile) -> list[tuple[Tensor, int]]:
    """Return the dims without a number: inputs with their axes, in the order of the conversion."""
    order = [*model.conversion.shapes, *(t.name for t in model.inputs)]
    tensors = sorted((t for t in model.inputs if t.is_data), key=lambda t: order.index(t.name))
    return [(tensor, axis) for tensor in tensors for axis, dim in enumerate(tensor.shape) if dim < 0]


def _places(model: ModelFile, kind: GearKind, chosen: Sequence[int]) -> list[tuple[str, int]] | int:
    """Return the names of the dims that a choice gives with their lengths, or the code of what is wrong."""
    open_dims = _open_dims(model)
    if kind is GearKind.BATCH:
        return [(tensor.dim_name(axis), chosen[0]) for tensor, axis in open_dims if axis == 0]
    if kind is GearKind.IMAGE:
        axes = model.conversion.image_axes
        return [
            (tensor.dim_name(axis), chosen[axes.index(axis)])
            for tensor, axis in open_dims
            if axis in axes and len(tensor.dims) == len("NCHW")
        ]
    named = model.conversion.shapes or [t.name for t in model.inputs if t.is_data]
    tensors = {tensor.name: tensor for tensor in model.inputs}
    every = [(tensors[name], axis) for name in named for axis in range(len(tensors[name].dims))]
    fits = len(every) == len(chosen) and all(
        tensor.shape[axis] in (-1, length) for (tensor, axis), length in zip(every, chosen, strict=True)
    )
    if not fits:
        return ReturnCode.DYNAMIC_INPUT_LENGTH_INVALID
    return [
        (tensor.dim_name(axis), length)
        for (tensor, axis), length in zip(every, chosen, strict=True)
        if tensor.shape[axis] < 0
    ]


def _read_dims(dims: object) -> tuple[int, ...]:
    """
    Return the lengths in a dict with ``dimCount`` and ``dims``.

    Raises
    ------
    TypeError
        It is no such dict, with the binding's text.
    """
    if not isinstance(dims, dict):
        raise TypeError("argument 4 is not dict")
    count, lengths = dims.get("dimCount"), dims.get("dims")
    if not isinstance(lengths, list):
        raise TypeError("The dims of parameter 4 is not a list.")
    if not isinstance(count, int) or count < 0 or len(lengths) < count:
        raise TypeError("the dims of fourth parameter is not list of int")
    return tuple(_length(each) for each in lengths[:count])


def _length(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError("the dims of fourth parameter is not list of int")
    return int(value)
