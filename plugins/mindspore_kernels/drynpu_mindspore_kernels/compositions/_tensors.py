"""The inputs and outputs of a launch, as arrays that share MindSpore's memory."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from attrs import frozen

from drynpu_mindspore.inside import WORD_BYTES, function, read_vector, read_word
from drynpu_mindspore_kernels.compositions._bfloat import BFLOAT16_BITS

_TYPES = {
    30: np.dtype(np.bool_),
    32: np.dtype(np.int8),
    33: np.dtype(np.int16),
    34: np.dtype(np.int32),
    35: np.dtype(np.int64),
    37: np.dtype(np.uint8),
    38: np.dtype(np.uint16),
    39: np.dtype(np.uint32),
    40: np.dtype(np.uint64),
    42: np.dtype(np.float16),
    43: np.dtype(np.float32),
    44: np.dtype(np.float64),
    45: BFLOAT16_BITS,
    51: np.dtype(np.complex64),
    52: np.dtype(np.complex128),
}
"""``TypeId`` of MindSpore (mindapi/base/type_id.h) -> type of an array."""
_TEXT, _NOTHING = 12, 7
"""``kObjectTypeString`` and ``kMetaTypeNone``."""


@frozen(eq=False)
class TensorLibrary:
    """The functions of MindSpore that read a ``KernelTensor``, each called with its address."""

    device_address: Callable[[int], int]
    type_id: Callable[[int], int]
    shape: Callable[[int], int]
    pointer: Callable[[int], int | None]
    size_bytes: Callable[[int], int]
    value: Callable[[int], int | None]
    set_shape: Callable[[int, int], None]
    set_size: Callable[[int, int], None]

    def read(self, tensor: int) -> Any:
        """
        Return one argument of a launch.

        Returns
        -------
        argument
            An array of the tensor's shape that shares its memory; numbers, truth values and tuples of them are arrays
            of 0 or 1 dims, a text is a string, nothing is ``None``.

        Raises
        ------
        TypeError
            The argument has a type that no array has.
        """
        address = read_word(self.device_address(tensor))
        kind = self.type_id(address)
        if kind == _NOTHING:
            return None
        pointer = self.pointer(address)
        shape = tuple(np.array(read_vector(self.shape(address)), np.uint64).astype(np.int64).tolist())
        if kind == _TEXT:
            # A graph copies the characters without the 0 behind them, for which there is room.
            text = ctypes.string_at(self.value(tensor) or pointer or 0, self.size_bytes(address))
            return text.partition(b"\0")[0].decode(errors="replace")
        if kind not in _TYPES:
            raise TypeError(f"type {kind} of MindSpore has no array")
        dtype = _TYPES[kind]
        count = int(np.prod(shape, dtype=np.int64))
        if not count:
            return np.zeros(shape, dtype)
        data = pointer or self.value(tensor)
        if not data:
            return None
        memory: Any = (ctypes.c_char * (count * dtype.itemsize)).from_address(data)
        return np.frombuffer(memory, dtype).reshape(shape)

    def write(self, tensor: int, value: Any) -> tuple[int, ...]:
        """
        Write a result into the memory of an output, whose shape is not known yet; return the shape.

        Raises
        ------
        ValueError
            The memory is too small.
        """
        address = read_word(self.device_address(tensor))
        array = np.ascontiguousarray(value, _TYPES[self.type_id(address)])
        pointer = self.pointer(address)
        if array.nbytes > self.size_bytes(address) or not pointer:
            raise ValueError(f"{array.nbytes} bytes do not fit into {self.size_bytes(address)}")
        ctypes.memmove(pointer, array.ctypes.data, array.nbytes)
        return tuple(np.shape(value))

    def reshape(self, tensor: int, shape: tuple[int, ...]) -> None:
        """Say what shape an output has."""
        address = read_word(self.device_address(tensor))
        numbers = (ctypes.c_int64 * max(len(shape), 1))(*shape)
        start = ctypes.addressof(numbers)
        end = start + len(shape) * WORD_BYTES
        vector = (ctypes.c_void_p * 3)(start, end, end)
        self.set_shape(tensor, ctypes.addressof(vector))
        self.set_size(address, int(np.prod(shape, dtype=np.int64)) * _TYPES[self.type_id(address)].itemsize)


# N6, docs/tricks.md
def load_tensors(core: ctypes.CDLL, hardware: ctypes.CDLL) -> TensorLibrary:
    """
    Return the functions of the two libraries of MindSpore.

    Raises
    ------
    AttributeError
        A function is not there.
    """
    address = "_ZNK9mindspore6device13DeviceAddress"
    tensor = "9mindspore6kernel12KernelTensor"
    word, number, size = ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t
    return TensorLibrary(
        device_address=function(hardware, f"_ZNK{tensor}14device_addressEv", word, word),
        type_id=function(core, f"{address}7type_idEv", number, word),
        shape=function(core, f"{address}14GetShapeVectorEv", word, word),
        pointer=function(core, f"{address}6GetPtrEv", word, word),
        size_bytes=function(core, f"{address}7GetSizeEv", size, word),
        value=function(hardware, f"_ZN{tensor}11GetValuePtrEv", word, word),
        set_shape=function(hardware, f"_ZN{tensor}14SetShapeVectorERKSt6vectorIlSaIlEE", None, word, word),
        set_size=function(hardware, "_ZN9mindspore6device13DeviceAddress7SetSizeEm", None, word, size),
    )
