"""Pointers to Python's own objects, and objects at pointers."""

from __future__ import annotations

import math
import warnings
from types import MappingProxyType
from typing import Final

import numpy as np
import numpy.typing as npt

from drynpu.arrays import Array
from drynpu_acl.runtime._memory import Memory

_NUMPY_TYPES: Final = MappingProxyType({np.dtype(code).num: np.dtype(code) for code in "?bBhHiIlLqQefdgFDG"})
"""By numpy's own type number (NPY_FLOAT is 11)."""
_CALLER = 4
"""Frames from a warning to the program: the warning, the function here, the binding's, the program's."""


class Utilities:
    """The conversions of ``acl.util`` on *memory*; messages are the vendor's."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def bytes_to_ptr(self, value: bytes) -> int:
        """
        Return the address inside a bytes object.

        Raises
        ------
        ValueError
            It is something else.
        """
        if not isinstance(value, bytes):
            raise ValueError("needs an byte as argument")
        return self._memory.lend(value)

    def ptr_to_bytes(self, pointer: int, size: int) -> bytes:
        """
        Return a copy of *size* bytes.

        Raises
        ------
        ValueError
            They do not all lie in memory that the program has allocated or lent.
        """
        data = self._memory.read(pointer, size)
        if data is None:
            raise ValueError(f"no {size} bytes at {pointer:#x}: not allocated, freed, or too few")
        return data

    def numpy_to_ptr(self, array: npt.NDArray[np.generic]) -> int:
        """
        Return the address of an array's elements.

        Raises
        ------
        ValueError
            It is something else.
        """
        _warn("acl.util.numpy_to_ptr will be deprecated. Please use acl.util.bytes_to_ptr instead.")
        if not isinstance(array, np.ndarray):
            raise ValueError("needs an ndarray as argument")
        if not array.flags.contiguous:
            _warn("The input ndarray is discontiguous. Please use acl.util.bytes_to_ptr instead.")
        return self._memory.lend(array)

    def numpy_contiguous_to_ptr(self, array: npt.NDArray[np.generic]) -> tuple[int, npt.NDArray[np.generic]]:
        """
        Return the address of an array whose elements lie in a row, and that array.

        Raises
        ------
        ValueError
            It is something else.
        """
        _warn("acl.util.numpy_contiguous_to_ptr will be deprecated. Please use acl.util.bytes_to_ptr instead.")
        if not isinstance(array, np.ndarray):
            raise ValueError("needs an ndarray as argument")
        contiguous = np.ascontiguousarray(array)
        return self._memory.lend(contiguous), contiguous

    def ptr_to_numpy(self, pointer: int, shape: tuple[int, ...], npy_type: int) -> Array:
        """
        Return an array on the memory itself.

        Raises
        ------
        TypeError
            A dim is no ``int``.
        ValueError
            The shape is no tuple, the memory is not there, or there is no such type.
        """
        _warn("acl.util.ptr_to_numpy will be deprecated. Please use acl.util.ptr_to_bytes instead.")
        if not isinstance(shape, tuple):
            raise ValueError("shape is empty")
        if not all(isinstance(dim, int) for dim in shape):
            raise TypeError("the second argument is not list of int")
        dtype = _NUMPY_TYPES.get(npy_type)
        if dtype is None or any(dim < 0 for dim in shape):
            raise ValueError(f"shape {shape!r} or numpy type {npy_type} cannot be")
        size = math.prod(shape) * dtype.itemsize
        memory = self._memory.view(pointer, size)
        if memory is None:
            raise ValueError(f"no {size} bytes at {pointer:#x}: not allocated, freed, or too few")
        return memory.view(dtype).reshape(shape)


def _warn(text: str) -> None:
    warnings.warn(text, Warning, stacklevel=_CALLER)
