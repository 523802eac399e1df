"""Data types under the names that numpy and the frameworks' Python interfaces share."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from drynpu.kernels._call import NO_DATA

FLOATING: Final = frozenset({"FLOAT16", "DT_BF16", "FLOAT", "DOUBLE"})
"""GE's floating types."""

_BY_PYTHON_NAME: Final = MappingProxyType(
    {
        "float32": "FLOAT",
        "float64": "DOUBLE",
        "float16": "FLOAT16",
        "bfloat16": "DT_BF16",
        "int8": "INT8",
        "int16": "INT16",
        "int32": "INT32",
        "int64": "INT64",
        "uint8": "UINT8",
        "uint16": "UINT16",
        "uint32": "UINT32",
        "uint64": "UINT64",
        "bool": "BOOL",
        "complex64": "COMPLEX64",
        "complex128": "COMPLEX128",
    }
)


def ge_dtype(name: str) -> str:
    """
    Return GE's name of the type that numpy calls *name*, ``UNDEFINED`` for a type without numbers.

    Capitals do not matter: MindSpore's graphs have ``Float32`` and ``BFloat16``.
    """
    return _BY_PYTHON_NAME.get(name.lower(), NO_DATA)
