"""Names for the numpy arrays that functions take and return, by the type of their elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Bools = npt.NDArray[np.bool_]
U8 = npt.NDArray[np.uint8]
U16 = npt.NDArray[np.uint16]
I32 = npt.NDArray[np.int32]
U64 = npt.NDArray[np.uint64]
I64 = npt.NDArray[np.int64]
F64 = npt.NDArray[np.float64]
Integers = npt.NDArray[np.integer[Any]]
"""Integers of any width."""
Records = npt.NDArray[Any]
"""Records of one kind: an array of structures. Fields of any type can be read from it, hence no type of elements."""
Array = npt.NDArray[Any]
"""Elements of any type."""
