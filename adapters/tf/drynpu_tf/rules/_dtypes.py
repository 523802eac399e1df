"""Data types: TensorFlow's names and numbers for them, and GE's names."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from drynpu.kernels import ops

# tensorflow/core/framework/types.proto: number -> Python name.
_NAMES: Final = MappingProxyType(
    {
        1: "float32",
        2: "float64",
        3: "int32",
        4: "uint8",
        5: "int16",
        6: "int8",
        7: "string",
        8: "complex64",
        9: "int64",
        10: "bool",
        11: "qint8",
        12: "quint8",
        13: "qint32",
        14: "bfloat16",
        15: "qint16",
        16: "quint16",
        17: "uint16",
        18: "complex128",
        19: "float16",
        20: "resource",
        21: "variant",
        22: "uint32",
        23: "uint64",
    }
)
# TensorFlow's profiler writes the first three; GE has no types of their own for quantised numbers.
_SYNONYMS: Final = MappingProxyType(
    {"float": "float32", "double": "float64", "half": "float16"}
    | {f"q{name}": name for name in ("int8", "uint8", "int16", "uint16", "int32")}
)
_REFERENCES: Final = 100
"""What a reference to a type adds to its number."""


def ge_dtype(name: str) -> str:
    """Return the GE name of a type under its Python name (``float32``, ``float32_ref``), ``UNDEFINED`` for others."""
    plain = name.removesuffix("_ref")
    return ops.ge_dtype(_SYNONYMS.get(plain, plain))


def dtype_name(number: int) -> str:
    """Return the Python name of a number of ``types.proto``; references count as what they refer to."""
    return _NAMES.get(number % _REFERENCES, "")
