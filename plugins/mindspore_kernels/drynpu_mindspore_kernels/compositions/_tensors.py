"""The inputs and outputs of a launch, as arrays that share MindSpore's memory."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from attrs import frozen

from drynpu_mindspore.inside import WORD_BYTES, function, read_vector, read_word
from drynpu_mindspore_kernels import _binding as binding
from drynpu_mindspore_kernels._binding import TensorPlaces
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
_CPU = 1
"""``DeviceType::kCPU``."""
COPY_TENSOR = "_ZN9mindspore6kernel12KernelTensorC1ERKS1_"
_NEW_ADDRESS = "_ZN9mindspore6device13DeviceAddressC1EPvmNS0_10DeviceTypeEj"
_NEW_TENSOR = (
    "_ZN9mindspore6kernel12KernelTensorC1ERKSt10shared_ptrINS_6device13DeviceAddressEE"
    "RKS2_INS_17TensorStorageInfoEENS_6TypeIdERKSt6vectorIlSaIlEERKS2_INS_8UserDataEE"
)

_Fields: TypeAlias = tuple[Callable[[int], int], Callable[[int, int], None], Callable[[int], int]]
"""What reads the type of a tensor, sets it, and finds its shape."""


@frozen(eq=False)
class TensorLibrary:
    """What reads and changes a ``KernelTensor``, called with its address or, from ``pointer`` on, its data's."""

    device_address: Callable[[int], int]
    """Returns the address of the ``DeviceAddress``; raises LookupError for a tensor that has none."""
    type_id: Callable[[int], int]
    set_type: Callable[[int, int], None]
    shape: Callable[[int], int]
    """Returns the address of a vector."""
    set_shape: Callable[[int, int], None]
    value: Callable[[int], int | None]
    pointer: Callable[[int], int | None]
    set_pointer: Callable[[int, int | None], None]
    size_bytes: Callable[[int], int]
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
        address, kind = self.device_address(tensor), self.type_id(tensor)
        if kind == _NOTHING:
            return None
        pointer = self.pointer(address)
        shape = tuple(np.array(read_vector(self.shape(tensor)), np.uint64).astype(np.int64).tolist())
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
        address = self.device_address(tensor)
        array = np.ascontiguousarray(value, _TYPES[self.type_id(tensor)])
        pointer = self.pointer(address)
        if array.nbytes > self.size_bytes(address) or not pointer:
            raise ValueError(f"{array.nbytes} bytes do not fit into {self.size_bytes(address)}")
        ctypes.memmove(pointer, array.ctypes.data, array.nbytes)
        return tuple(np.shape(value))

    def reshape(self, tensor: int, shape: tuple[int, ...]) -> None:
        """Say what shape an output has."""
        numbers = (ctypes.c_int64 * max(len(shape), 1))(*shape)
        vector = _vector(numbers, len(shape))
        self.set_shape(tensor, ctypes.addressof(vector))
        size_bytes = int(np.prod(shape, dtype=np.int64)) * _TYPES[self.type_id(tensor)].itemsize
        self.set_size(self.device_address(tensor), size_bytes)


# N6, docs/tricks.md
def load_tensors(hardware: ctypes.CDLL, places: TensorPlaces | None) -> TensorLibrary:
    """
    Return the functions of MindSpore's library, and of those that it needs, and what reads a tensor at *places*.

    Raises
    ------
    AttributeError
        A function is not there.
    LookupError
        A tensor keeps its type or its shape in another place.
    """
    constant, changing = (f"_ZN{letter}9mindspore6device13DeviceAddress" for letter in ("K", ""))
    tensor = "9mindspore6kernel12KernelTensor"
    word, size = ctypes.c_void_p, ctypes.c_size_t
    address_of = _device_address(hardware)
    type_id, set_type, shape = _in_address(hardware, address_of) if places is None else _in_tensor(places)
    library = TensorLibrary(
        device_address=address_of,
        type_id=type_id,
        set_type=set_type,
        shape=shape,
        set_shape=function(hardware, f"_ZN{tensor}14SetShapeVectorERKSt6vectorIlSaIlEE", None, word, word),
        value=function(hardware, f"_ZN{tensor}11GetValuePtrEv", word, word),
        pointer=function(hardware, f"{constant}6GetPtrEv", word, word),
        set_pointer=function(hardware, f"{changing}7set_ptrEPv", None, word, word),
        size_bytes=function(hardware, f"{constant}7GetSizeEv", size, word),
        set_size=function(hardware, f"{changing}7SetSizeEm", None, word, size),
    )
    if places is not None:
        _check_places(hardware, library)
    return library


def _device_address(hardware: ctypes.CDLL) -> Callable[[int], int]:
    word = ctypes.c_void_p
    place = function(hardware, "_ZNK9mindspore6kernel12KernelTensor14device_addressEv", word, word)

    def find(tensor: int) -> int:
        if address := read_word(place(tensor)):
            return address
        raise LookupError("a tensor of MindSpore has no data")

    return find


def _in_address(hardware: ctypes.CDLL, address_of: Callable[[int], int]) -> _Fields:
    """Return what reads and sets the type of a tensor, and finds its shape, where its ``DeviceAddress`` has them."""
    word, number, address = ctypes.c_void_p, ctypes.c_int, "9mindspore6device13DeviceAddress"
    type_id = function(hardware, f"_ZNK{address}7type_idEv", number, word)
    set_type = function(hardware, f"_ZN{address}11set_type_idENS_6TypeIdE", None, word, number)
    shape = function(hardware, f"_ZNK{address}14GetShapeVectorEv", word, word)
    return (
        lambda tensor: type_id(address_of(tensor)),
        lambda tensor, kind: set_type(address_of(tensor), kind),
        lambda tensor: shape(address_of(tensor)),
    )


def _in_tensor(places: TensorPlaces) -> _Fields:
    """Return the same for a tensor that keeps them itself."""

    def set_type(tensor: int, kind: int) -> None:
        ctypes.c_int32.from_address(tensor + places.type_at).value = kind

    return (
        lambda tensor: ctypes.c_int32.from_address(tensor + places.type_at).value,
        set_type,
        lambda tensor: tensor + places.shape_at,
    )


# N12, docs/tricks.md
def _check_places(hardware: ctypes.CDLL, library: TensorLibrary) -> None:
    """
    Make tensors in memory of our own, and a copy of each, and read them.

    Raises
    ------
    AttributeError
        A function is not there.
    LookupError
        They do not have the type and the shape that they were made of, or a copy shares its data with the tensor.
    """
    word, number = ctypes.c_void_p, ctypes.c_int
    new_address = function(hardware, _NEW_ADDRESS, None, word, word, ctypes.c_size_t, number, ctypes.c_uint32)
    new_tensor = function(hardware, _NEW_TENSOR, None, word, word, word, number, word, word)
    copy_tensor = function(hardware, COPY_TENSOR, None, word, word)
    numbers, dims = (ctypes.c_char * 64)(), (ctypes.c_int64 * 2)(3, 5)
    shape, nothing = _vector(dims, len(dims)), (ctypes.c_void_p * 2)()
    for kind in (43, 45):
        # What they hold is left to the process: an address that nobody counts must not end what it points to.
        address, tensor, copy = (ctypes.create_string_buffer(binding.TENSOR_BYTES) for _ in range(3))
        start, first, second = map(ctypes.addressof, (address, tensor, copy))
        new_address(start, ctypes.addressof(numbers), len(numbers), _CPU, 0)
        shared = (ctypes.c_void_p * 2)(start, 0)
        more = (ctypes.addressof(each) for each in (shared, nothing, shape, nothing))
        new_tensor(first, next(more), next(more), kind, next(more), next(more))
        copy_tensor(second, first)
        read = [(library.type_id(each), read_vector(library.shape(each))) for each in (first, second)]
        its_own = library.device_address(second)
        if read != [(kind, list(dims))] * 2 or library.device_address(first) != start or its_own == start:
            raise LookupError("a tensor of MindSpore keeps its type and its shape elsewhere")
        library.set_pointer(its_own, None)
        if library.pointer(start) != ctypes.addressof(numbers):
            raise LookupError("a copy of a tensor of MindSpore shares its data")
        library.set_pointer(start, None)


def _vector(numbers: Any, count: int) -> Any:
    """Return a ``std::vector`` of the first *count* words of *numbers*, which has to live as long as it."""
    start = ctypes.addressof(numbers)
    end = start + count * WORD_BYTES
    return (ctypes.c_void_p * 3)(start, end, end)
