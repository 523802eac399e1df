"""A loaded model: its tensors, and what can be chosen before a run."""

from __future__ import annotations

import math

from attrs import define, field

from drynpu_acl.runtime import AIPP_INPUT, GEAR_INPUT
from drynpu_offline_inference.inference._console import INFO
from drynpu_offline_inference.inference._library import Library
from drynpu_offline_inference.inference._tensors import NUMPY_TYPES, DataType

SIDES = ("inputs", "outputs")


@define(eq=False)
class TensorDescription:
    """
    An input or an output; names of the fields are the vendor's.

    ``format`` is the number of aclFormat, ``shape`` has -1 for dims that are chosen before a run, ``size`` is in bytes
    (of the largest gear, 0 where no run can know it), ``realsize`` the size of the chosen shape.
    """

    name: str = ""
    datatype: DataType = DataType.float32
    format: int = 0
    shape: list[int] = field(factory=list)
    size: int = 0
    realsize: int = 0

    @property
    def item_bytes(self) -> int:
        """Size of an element."""
        return NUMPY_TYPES[self.datatype].itemsize

    @property
    def line(self) -> str:
        """Shape, type and sizes as the vendor's module prints them."""
        name = "double64" if self.datatype is DataType.double else self.datatype.name
        return f"({', '.join(map(str, self.shape))})  {name}  {self.size}  {self.realsize}"


class LoadedModel:
    """
    A model in the context of this thread.

    Attributes
    ----------
    inputs, outputs:
        Tensors that the program brings and gets; without those that the model compiler adds.
    gear_input, aipp_input:
        Numbers of the inputs for the choice of a gear and for the settings of images, ``None`` for a model without.
    added_inputs:
        Bytes of these inputs by their numbers.
    """

    def __init__(self, library: Library, path: str) -> None:
        self._library = library
        self.model_id, code = library.calls.load(path)
        if code:
            raise library.refuse(code, f"load model from file failed, model file is {path}")
        library.console.say(INFO, f"load model {path} success")
        self.description = library.calls.create_description()
        library.calls.describe(self.description, self.model_id)
        library.console.say(INFO, "create model description success")
        names = [self._name("inputs", number) for number in range(self._count("inputs"))]
        self.gear_input = names.index(GEAR_INPUT) if GEAR_INPUT in names else None
        self.aipp_input = names.index(AIPP_INPUT) if AIPP_INPUT in names else None
        added = [number for number in (self.gear_input, self.aipp_input) if number is not None]
        self.added_inputs = {number: library.process.data.size("inputs", self.description, number) for number in added}
        self.input_numbers = [n for n in range(len(names)) if n not in added]
        self.inputs = [self._describe("inputs", number) for number in self.input_numbers]
        self.outputs = [self._describe("outputs", number) for number in range(self._count("outputs"))]
        self.output_numbers = {tensor.name: number for number, tensor in enumerate(self.outputs)}

    def _count(self, side: str) -> int:
        return self._library.process.data.count(side, self.description)

    def _name(self, side: str, number: int) -> str:
        return self._library.process.data.name(side, self.description, number)

    def _describe(self, side: str, number: int) -> TensorDescription:
        data, handle = self._library.process.data, self.description
        dims, _ = data.dims(side, handle, number)
        size = data.size(side, handle, number)
        return TensorDescription(
            self._name(side, number),
            DataType(data.dtype(side, handle, number)),
            data.format(side, handle, number),
            dims["dims"],
            size,
            size,
        )

    # Gears ------------------------------------------------------------------------------------------------------

    @property
    def has_free_dims(self) -> bool:
        """Whether dims without a number are any that the program chooses: the model was not compiled for gears."""
        return self.gear_input is None and any(min(tensor.shape, default=1) < 0 for tensor in self.inputs)

    @property
    def batches(self) -> list[int]:
        """The batches that the model was compiled for."""
        gears, _ = self._library.process.shapes.get_dynamic_batch(self.description)
        return list(gears.get("batch", []))

    @property
    def images(self) -> list[tuple[int, int]]:
        """The heights and widths that the model was compiled for."""
        gears, _ = self._library.process.shapes.get_dynamic_hw(self.description, 0)
        return [(int(height), int(width)) for height, width in gears.get("hw", [])]

    @property
    def dims(self) -> list[list[int]]:
        """The dims of all inputs in a row that the model was compiled for."""
        shapes, every = self._library.process.shapes, 2**64 - 1
        count, code = shapes.get_input_dynamic_gear_count(self.description, every)
        if code or not count:
            return []
        gears, _ = shapes.get_input_dynamic_dims(self.description, every, count)
        return [list(each["dims"]) for each in gears or []]

    def output_sizes(self, shapes: dict[str, tuple[int, ...]]) -> list[int]:
        """Return the bytes of the outputs for shapes of the inputs, 0 where only a run knows."""
        model = self._library.process.models.get(self.model_id)
        output_shapes = [] if model is None else model.output_shapes(shapes)
        return [
            0 if min(shape, default=1) < 0 else math.prod(shape) * tensor.item_bytes
            for shape, tensor in zip(output_shapes, self.outputs, strict=True)
        ]

    def count_aipp_inputs(self) -> int:
        """Return how many images come with settings that the program gives before each run."""
        dynamic = 2
        aipp = self._library.process.aipp
        kinds = [aipp.get_aipp_type(self.model_id, number) for number in self.input_numbers]
        return sum(kind == dynamic and not code for kind, _, code in kinds)

    def unload(self) -> None:
        """Give the model up, unless it is gone with the library."""
        self._library.calls.destroy_description(self.description)
        if not self._library.calls.unload(self.model_id):
            self._library.console.say(INFO, f"unload model success, model Id is {self.model_id}")
