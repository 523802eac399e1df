"""Data types: TensorFlow's names and numbers for them, and GE's names."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from drynpu.kernels import NO_DATA

__all__ = ["dtype_name", "ge_dtype"]

# tensorflow/core/framework/types.proto: number -> (Python name, GE name).
_TYPES: Final = MappingProxyType(
    {
        1: ("float32", "FLOAT"),
        2: ("float64", "DOUBLE"),
        3: ("int32", "INT32"),
        4: ("uint8", "UINT8"),
        5: ("int16", "INT16"),
        6: ("int8", "INT8"),
        7: ("string", NO_DATA),
        8: ("complex64", "COMPLEX64"),
        9: ("int64", "INT64"),
        10: ("bool", "BOOL"),
        11: ("qint8", "INT8"),
        12: ("quint8", "UINT8"),
        13: ("qint32", "INT32"),
        14: ("bfloat16", "DT_BF16"),
        15: ("qint16", "INT16"),
        16: ("quint16", "UINT16"),
        17: ("uint16", "UINT16"),
        18: ("complex128", "COMPLEX128"),
        19: ("float16", "FLOAT16"),
        20: ("resource", NO_DATA),
        21: ("variant", NO_DATA),
        22: ("uint32", "UINT32"),
        23: ("uint64", "UINT64"),
    }
)
_GE_NAMES: Final = MappingProxyType(dict(_TYPES.values()) | {"float": "FLOAT", "double": "DOUBLE", "half": "FLOAT16"})
_REFERENCES: Final = 100
"""What a reference to a type adds to its number."""


def ge_dtype(name: str) -> str:
    """
    Return the GE name of a type under its Python name (``float32``, ``float32_ref``), ``UNDEFINED`` for others.

    TensorFlow's profiler writes ``float``, ``double`` and ``half``, which Python calls ``float32`` and so on.
    """
    return _GE_NAMES.get(name.removesuffix("_ref"), NO_DATA)


def dtype_name(number: int) -> str:
    """Return the Python name of a number of ``types.proto``; references count as what they refer to."""
    name, _ = _TYPES.get(number % _REFERENCES, ("", NO_DATA))
    return name
