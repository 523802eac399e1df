"""Tensors of MindSpore as arrays, read and written without a launch."""

from __future__ import annotations

import ctypes
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from drynpu_mindspore.inside import wait_for_pynative
from drynpu_mindspore_kernels.compositions import BFLOAT16_BITS

_TYPES: Final = MappingProxyType(
    {
        str(dtype).capitalize().replace("Uint", "UInt"): dtype
        for dtype in map(np.dtype, ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"))
    }
    | {str(dtype).capitalize(): dtype for dtype in map(np.dtype, ("float16", "float32", "float64"))}
    | {str(dtype).capitalize(): dtype for dtype in map(np.dtype, ("complex64", "complex128"))}
    | {"BFloat16": BFLOAT16_BITS}
)
"""Type of an array by MindSpore's name of the type of a tensor."""


def settle() -> None:
    """Wait until what the script has called in PyNative mode is computed."""
    wait_for_pynative()


def array_type(tensor: Any) -> np.dtype[Any]:
    """
    Return the type of the array of a tensor.

    Raises
    ------
    TypeError
        No array has it.
    """
    name = str(tensor.dtype)
    if name not in _TYPES:
        raise TypeError(f"a tensor of type {name} is not communicated; {', '.join(_TYPES)} are")
    return _TYPES[name]


def read(tensor: Any) -> Any:
    """Return a copy of a tensor that is computed; see :func:`settle`. Raises as :func:`array_type`."""
    return np.array(_shared(tensor))


def write(tensor: Any, array: Any) -> None:
    """
    Write an array of as many elements into a tensor, also into one that shows a part of another.

    Raises
    ------
    ValueError
        There are more or fewer.
    """
    if np.size(array) != tensor.size:
        raise ValueError(f"{np.size(array)} elements do not fit into a tensor of shape {tuple(tensor.shape)}")
    _shared(tensor)[...] = np.reshape(array, tensor.shape)


def _shared(tensor: Any) -> Any:
    """Return an array that shares the memory of a tensor."""
    dtype, shape = array_type(tensor), tuple(tensor.shape)
    if not tensor.size:
        return np.empty(shape, dtype)
    strides = [step * dtype.itemsize for step in tensor.stride()]
    span = dtype.itemsize + sum((size - 1) * step for size, step in zip(shape, strides, strict=True))
    memory: Any = (ctypes.c_char * span).from_address(tensor.data_ptr())
    return np.ndarray(shape, dtype, memory, 0, strides)
