"""Data types: MindSpore's names in its graphs, and GE's names."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from drynpu.kernels import NO_DATA

__all__ = ["ge_dtype"]

_GE_NAMES: Final = MappingProxyType(
    {
        "Float32": "FLOAT",
        "Float16": "FLOAT16",
        "BFloat16": "DT_BF16",
        "Float64": "DOUBLE",
        "Int8": "INT8",
        "Int16": "INT16",
        "Int32": "INT32",
        "Int64": "INT64",
        "UInt8": "UINT8",
        "UInt16": "UINT16",
        "UInt32": "UINT32",
        "UInt64": "UINT64",
        "Bool": "BOOL",
        "Complex64": "COMPLEX64",
        "Complex128": "COMPLEX128",
    }
)


def ge_dtype(name: str) -> str:
    """Return the GE name of a type as a graph spells it (``Float32``), ``UNDEFINED`` for others."""
    return _GE_NAMES.get(name, NO_DATA)
