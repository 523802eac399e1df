"""Data buffers, data sets and descriptions of models: what goes in and out of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attrs import define, field

from drynpu_acl.constants import ReturnCode
from drynpu_acl.handles import Handles
from drynpu_acl.kernels import acl_dtype
from drynpu_acl.runtime._aipp import AippSettings
from drynpu_acl.runtime._onnx import ModelFile, Tensor

_NCHW, _ND, _UNDEFINED = 0, 2, -1


@define(eq=False)
class DataBuffer:
    """A pointer and a size, as the program says them; they are checked when they are used."""

    pointer: int
    size: int


@define(eq=False)
class TensorDescription:
    """A description that the program makes, or a run of its results; numbers are aclDataType and aclFormat."""

    dtype: int
    dims: tuple[int, ...]
    format: int
    name: str = ""


@define(eq=False)
class Dataset:
    """
    Handles of data buffers in order.

    ``dims`` are lengths by the names of dims that have none in the model, ``aipp`` the settings of its images,
    ``tensors`` descriptions by the number of the buffer, ``results`` descriptions of what the last run left there.
    """

    buffers: list[int] = field(factory=list)
    dims: Mapping[str, int] = field(factory=dict)
    aipp: AippSettings | None = None
    tensors: dict[int, TensorDescription] = field(factory=dict)
    results: dict[int, TensorDescription] = field(factory=dict)


@define(eq=False)
class Description:
    """A description, which ``get_desc`` fills with a model; the id is 0 for one that is not loaded."""

    model: ModelFile | None = None
    model_id: int = 0

    def tensor(self, side: str, index: int) -> Tensor | None:
        """Return an input or output; ``None`` where there is none of that number."""
        tensors: tuple[Tensor, ...] = () if self.model is None else getattr(self.model, side)
        return tensors[index] if index < len(tensors) else None


class DataSets:
    """All buffers, data sets and descriptions of a process."""

    def __init__(self, numbers: Iterator[int]) -> None:
        self.buffers: Handles[DataBuffer] = Handles(numbers)
        self.datasets: Handles[Dataset] = Handles(numbers)
        self.descriptions: Handles[Description] = Handles(numbers)

    # Buffers ----------------------------------------------------------------------------------------------------

    def create_data_buffer(self, pointer: int, size: int) -> int:
        """Return the handle of a buffer."""
        return self.buffers.add(DataBuffer(pointer, size))

    def destroy_data_buffer(self, handle: int) -> int:
        """Give up a buffer; its memory stays."""
        return ReturnCode.SUCCESS if self.buffers.remove(handle) is not None else ReturnCode.INVALID_PARAM

    def get_data_buffer_addr(self, handle: int) -> int:
        """Return a buffer's pointer, 0 for an unknown one."""
        buffer = self.buffers.get(handle)
        return 0 if buffer is None else buffer.pointer

    def get_data_buffer_size(self, handle: int) -> int:
        """Return a buffer's size in bytes, 0 for an unknown one."""
        buffer = self.buffers.get(handle)
        return 0 if buffer is None else buffer.size

    def update_data_buffer(self, handle: int, pointer: int, size: int) -> int:
        """Let a buffer be other memory."""
        buffer = self.buffers.get(handle)
        if buffer is None:
            return ReturnCode.INVALID_PARAM
        buffer.pointer, buffer.size = pointer, size
        return ReturnCode.SUCCESS

    # Data sets --------------------------------------------------------------------------------------------------

    def create_dataset(self) -> int:
        """Return the handle of an empty data set."""
        return self.datasets.add(Dataset())

    def destroy_dataset(self, handle: int) -> int:
        """Give up a data set; its buffers stay."""
        return ReturnCode.SUCCESS if self.datasets.remove(handle) is not None else ReturnCode.INVALID_PARAM

    def add_dataset_buffer(self, handle: int, buffer: int) -> tuple[int, int]:
        """Append a buffer and return ``(data set, code)``."""
        dataset = self.datasets.get(handle)
        if dataset is None or self.buffers.get(buffer) is None:
            return handle, ReturnCode.INVALID_PARAM
        dataset.buffers.append(buffer)
        return handle, ReturnCode.SUCCESS

    def get_dataset_num_buffers(self, handle: int) -> int:
        """Return the number of buffers, 0 for an unknown set."""
        dataset = self.datasets.get(handle)
        return 0 if dataset is None else len(dataset.buffers)

    def get_dataset_buffer(self, handle: int, index: int) -> int:
        """Return the handle of a buffer of the set, 0 where there is none."""
        dataset = self.datasets.get(handle)
        return dataset.buffers[index] if dataset is not None and index < len(dataset.buffers) else 0

    # Descriptions -----------------------------------------------------------------------------------------------

    def create_desc(self) -> int:
        """Return the handle of an empty description."""
        return self.descriptions.add(Description())

    def destroy_desc(self, handle: int) -> int:
        """Give up a description."""
        return ReturnCode.SUCCESS if self.descriptions.remove(handle) is not None else ReturnCode.INVALID_PARAM

    def describe(self, handle: int, model: ModelFile | None, model_id: int = 0) -> int:
        """Fill a description; it stays good when the model goes."""
        description = self.descriptions.get(handle)
        if description is None:
            return ReturnCode.INVALID_PARAM
        if model is None:
            return ReturnCode.MODEL_ID_INVALID
        description.model, description.model_id = model, model_id
        return ReturnCode.SUCCESS

    def count(self, side: str, handle: int) -> int:
        """Return the number of ``inputs`` or ``outputs``, 0 for an unknown description."""
        description = self.descriptions.get(handle)
        return 0 if description is None or description.model is None else len(getattr(description.model, side))

    def tensor(self, side: str, handle: int, index: int) -> Tensor | None:
        """Return one of the ``inputs`` or ``outputs``."""
        description = self.descriptions.get(handle)
        return None if description is None else description.tensor(side, index)

    def size(self, side: str, handle: int, index: int) -> int:
        """Return bytes; 0 for an unknown tensor and for one whose dims are only known in a run."""
        tensor = self.tensor(side, handle, index)
        return 0 if tensor is None else tensor.size_bytes

    def dims(self, side: str, handle: int, index: int) -> tuple[dict[str, Any], int]:
        """Return ``({"name", "dimCount", "dims"}, code)``, -1 for dims that are only known in a run."""
        tensor = self.tensor(side, handle, index)
        if tensor is None:
            return {}, ReturnCode.INVALID_PARAM
        return {"name": tensor.name, "dimCount": len(tensor.shape), "dims": list(tensor.shape)}, ReturnCode.SUCCESS

    def stored_dims(self, side: str, handle: int, index: int) -> tuple[dict[str, Any], int]:
        """Return what `dims` does, but images that a model prepares itself as they lie in memory."""
        dims, code = self.dims(side, handle, index)
        tensor = self.tensor(side, handle, index)
        if tensor is not None and tensor.stored is not None:
            dims["dims"] = list(tensor.stored)
        return dims, code

    def name(self, side: str, handle: int, index: int) -> str:
        """Return a tensor's name, empty for an unknown one."""
        tensor = self.tensor(side, handle, index)
        return "" if tensor is None else tensor.name

    def index(self, side: str, handle: int, name: str) -> tuple[int, int]:
        """Return ``(index, code)`` of the tensor of that name."""
        description = self.descriptions.get(handle)
        tensors = () if description is None or description.model is None else getattr(description.model, side)
        numbers = [number for number, tensor in enumerate(tensors) if tensor.name == name]
        return (numbers[0], ReturnCode.SUCCESS) if numbers else (0, ReturnCode.INVALID_PARAM)

    def dtype(self, side: str, handle: int, index: int) -> int:
        """Return the aclDataType, -1 (undefined) for an unknown tensor."""
        tensor = self.tensor(side, handle, index)
        return _UNDEFINED if tensor is None else acl_dtype(tensor.onnx_type)

    def format(self, side: str, handle: int, index: int) -> int:
        """Return the aclFormat: NCHW for four dims, ND for others, -1 (undefined) for an unknown tensor."""
        tensor = self.tensor(side, handle, index)
        return _UNDEFINED if tensor is None else plain_format(len(tensor.dims))

    def clear(self) -> None:
        """Give up everything."""
        for kept in (self.buffers, self.datasets, self.descriptions):
            kept.clear()


def plain_format(count: int) -> int:
    """Return the aclFormat of a tensor of that many dims: NCHW for four, else ND."""
    return _NCHW if count == len("NCHW") else _ND
