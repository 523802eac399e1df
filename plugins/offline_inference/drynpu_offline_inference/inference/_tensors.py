"""Tensors: an array on the host, or its bytes on a device, with a type and a shape."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from drynpu.arrays import U8, Array
from drynpu_offline_inference.inference._console import ERROR
from drynpu_offline_inference.inference._failures import INVALID_ARGUMENT, failure
from drynpu_offline_inference.inference._library import Block
from drynpu_offline_inference.inference.process import LIBRARY


class _Numbered(enum.Enum):
    """An enumeration as the vendor's module has them: members count as numbers, and are equal to themselves alone."""

    def __int__(self) -> int:
        return int(self.value)

    def __index__(self) -> int:
        return int(self.value)


class DataType(_Numbered):
    """Types of elements; the numbers come from aclDataType."""

    int8 = 2
    uint8 = 4
    int16 = 6
    uint16 = 7
    int32 = 3
    uint32 = 8
    int64 = 9
    uint64 = 10
    float16 = 1
    float32 = 0
    double = 11
    bool = 12


class MemoryType(_Numbered):
    """Where a tensor lies."""

    memory_host = 0
    memory_device = 1
    memory_dvpp = 2


DataType.__name__ = DataType.__qualname__ = "dtype"
MemoryType.__name__ = MemoryType.__qualname__ = "type"
_HOST_DEVICE = -1
"""The device of a tensor on the host."""
NUMPY_TYPES: Final[Mapping[DataType, np.dtype[Any]]] = {
    each: np.dtype("float64" if each.name == "double" else each.name) for each in DataType
}
_DATA_TYPES: Final = {dtype: each for each, dtype in NUMPY_TYPES.items()}


class Tensor:
    """
    A tensor of any shape.

    Parameters
    ----------
    array:
        Anything that numpy can read without a copy; its content is copied.

    Raises
    ------
    TypeError
        It is no array, or one of a type that the device does not have.
    """

    def __init__(self, array: Any) -> None:
        if not hasattr(array, "__array_interface__") and not isinstance(array, bytes | bytearray | memoryview):
            raise TypeError(f"aclruntime.Tensor needs an array (numpy.ndarray, bytes), not {type(array).__name__}")
        if isinstance(array, bytes | bytearray):
            array = np.frombuffer(array, np.uint8)
        content = np.array(array, order="C")
        if content.dtype not in _DATA_TYPES:
            known = ", ".join(sorted(dtype.name for dtype in _DATA_TYPES))
            raise TypeError(f"aclruntime.Tensor: {content.dtype} is not allowed; allowed: {known}. Use array.astype")
        self._hold(content, _DATA_TYPES[content.dtype], content.shape)

    def _hold(self, content: Array | Block, dtype: DataType, shape: Sequence[int]) -> None:
        self._content, self._dtype, self._shape = content, dtype, tuple(int(dim) for dim in shape)
        self._type = MemoryType.memory_device if isinstance(content, Block) else MemoryType.memory_host

    @classmethod
    def on_device(cls, block: Block, dtype: DataType, shape: Sequence[int]) -> Tensor:
        """Return a tensor whose bytes, or more than those, lie in a block."""
        tensor = cls.__new__(cls)
        tensor._hold(block, dtype, shape)
        return tensor

    # Where it lies ----------------------------------------------------------------------------------------------

    @property
    def device(self) -> int:
        """Number of the device, -1 on the host."""
        return self._content.device_id if isinstance(self._content, Block) else _HOST_DEVICE

    @property
    def dtype(self) -> DataType:
        """Type of the elements."""
        return self._dtype

    @property
    def shape(self) -> list[int]:
        """Lengths of the dims."""
        return list(self._shape)

    @property
    def type(self) -> MemoryType:
        """Host or device."""
        return self._type

    @property
    def size_bytes(self) -> int:
        """Bytes of the elements."""
        return int(np.prod(self._shape, dtype=np.int64)) * NUMPY_TYPES[self._dtype].itemsize

    @property
    def block(self) -> Block | None:
        """The memory on the device, ``None`` on the host."""
        return self._content if isinstance(self._content, Block) else None

    def to_device(self, device_id: int) -> None:
        """Move the tensor to a device, whose context must be current in this thread."""
        self.move(device_id, MemoryType.memory_device)

    def to_dvpp(self, device_id: int) -> None:
        """Move the tensor to the memory of media processing on a device, which is the same here."""
        self.move(device_id, MemoryType.memory_dvpp)

    def move(self, device_id: int, kind: MemoryType) -> None:
        """Move the tensor to a kind of memory of a device."""
        if self._type is kind and self.device == device_id:
            return
        LIBRARY.check_device(device_id)
        if not (isinstance(self._content, Block) and self.device == device_id):
            self._content = LIBRARY.send(self.content_bytes(), device_id)
        self._type = kind

    def to_host(self) -> None:
        """Move the tensor to the host."""
        if isinstance(self._content, Block):
            content = LIBRARY.fetch(self._content)[: self.size_bytes]
            self._content = content.view(NUMPY_TYPES[self._dtype]).reshape(self._shape)
            self._type = MemoryType.memory_host

    def content_bytes(self) -> U8:
        """Return the bytes of the tensor in order."""
        if isinstance(self._content, Block):
            return LIBRARY.fetch(self._content)[: self.size_bytes]
        return np.frombuffer(self._content.tobytes(), np.uint8)

    # What is in it ----------------------------------------------------------------------------------------------

    def _array(self) -> Array:
        if isinstance(self._content, Block):
            raise RuntimeError("tensor is in npu. can't convert to numpy array; call to_host() before")
        return self._content

    def __array__(self, dtype: npt.DTypeLike = None, copy: bool | None = None) -> Array:
        array = self._array()
        if dtype is not None and array.dtype != np.dtype(dtype):
            if copy is False:
                raise ValueError(f"a copy is needed to make {np.dtype(dtype)} of {array.dtype}")
            return array.astype(dtype)
        return array.copy() if copy else array

    def __buffer__(self, flags: int) -> memoryview:
        del flags
        return self._array().data

    def __str__(self) -> str:
        shape = ", ".join(map(str, self._shape))
        name = "double64" if self._dtype is DataType.double else self._dtype.name
        return f"<Tensor>\nshape:\t({shape})\ndtype:\t{name}\ndevice:\t{self.device}"

    __repr__ = __str__


def batch(inputs: Sequence[Tensor], keep_dims: bool = False) -> Tensor:
    """
    Return tensors as one: stacked along a new first dim, or with *keep_dims* joined along their first.

    Raises
    ------
    RuntimeError
        There are none, or they differ in type, device or shape.
    """
    first = inputs[0] if inputs else None
    alike = first is not None and all(
        (each.dtype, each.device, each.type, each.shape[keep_dims:], len(each.shape))
        == (first.dtype, first.device, first.type, first.shape[keep_dims:], len(first.shape))
        for each in inputs
    )
    if first is None or not alike:
        kinds = ", ".join(f"{each.dtype.name}{each.shape} on {each.device}" for each in inputs) or "none"
        LIBRARY.console.say(ERROR, f"batch: tensors have to be alike: {kinds}")
        raise failure(INVALID_ARGUMENT, f"batch: tensors have to be alike: {kinds}")
    arrays = [each.content_bytes().view(NUMPY_TYPES[each.dtype]).reshape(each.shape) for each in inputs]
    joined = Tensor(np.concatenate(arrays) if keep_dims else np.stack(arrays))
    if first.block is not None:
        joined.move(first.device, first.type)
    return joined
