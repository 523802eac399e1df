"""Data types: C++ names as Kineto prints them, torch's numbers for them, GE names, and promotion between them."""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType
from typing import Final

_BY_CPP_NAME: Final = MappingProxyType(
    {
        "float": "FLOAT",
        "double": "DOUBLE",
        "c10::Half": "FLOAT16",
        "c10::BFloat16": "DT_BF16",
        "long int": "INT64",
        "long": "INT64",
        "long long": "INT64",
        "int": "INT32",
        "short int": "INT16",
        "short": "INT16",
        "signed char": "INT8",
        "char": "INT8",
        "unsigned char": "UINT8",
        "short unsigned int": "UINT16",
        "unsigned short": "UINT16",
        "unsigned int": "UINT32",
        "long unsigned int": "UINT64",
        "unsigned long": "UINT64",
        "bool": "BOOL",
        "c10::complex<float>": "COMPLEX64",
        "c10::complex<double>": "COMPLEX128",
    }
)

# c10/core/ScalarType.h: the number that a dtype argument has among Kineto's concrete inputs.
_BY_CODE: Final = MappingProxyType(
    {
        0: "UINT8",
        1: "INT8",
        2: "INT16",
        3: "INT32",
        4: "INT64",
        5: "FLOAT16",
        6: "FLOAT",
        7: "DOUBLE",
        9: "COMPLEX64",
        10: "COMPLEX128",
        11: "BOOL",
        15: "DT_BF16",
        27: "UINT16",
        28: "UINT32",
        29: "UINT64",
    }
)

_NOT_TENSORS: Final = frozenset({"", "Scalar", "ScalarList", "TensorList"})

# Rank of a dtype in promotion: category in the hundreds, width inside it.
_RANK: Final = MappingProxyType(
    {
        "BOOL": 0,
        "UINT8": 100,
        "INT8": 101,
        "UINT16": 102,
        "INT16": 103,
        "UINT32": 104,
        "INT32": 105,
        "UINT64": 106,
        "INT64": 107,
        "FLOAT16": 200,
        "DT_BF16": 201,
        "FLOAT": 202,
        "DOUBLE": 203,
        "COMPLEX64": 300,
        "COMPLEX128": 301,
    }
)


def ge_dtype(cpp_name: str) -> str | None:
    """Return the GE name (``FLOAT``, ``DT_BF16``, ...) of a C++ type name, ``None`` when GE has no such type."""
    return _BY_CPP_NAME.get(cpp_name)


def ge_dtype_of_code(code: object) -> str | None:
    """Return the GE name of a dtype argument given by torch's number, ``None`` for anything else."""
    return _BY_CODE.get(code) if isinstance(code, int) and not isinstance(code, bool) else None


def is_tensor_dtype(cpp_name: str) -> bool:
    """Tell whether Kineto's dtype of an argument says that the argument is one tensor."""
    return cpp_name not in _NOT_TENSORS


def promote(dtypes: Iterable[str]) -> str:
    """
    Return the dtype that an element-wise operator computes in.

    Two 16-bit floats of different kind meet in FLOAT; unknown types lose against known ones.
    """
    distinct = set(dtypes)
    if {"FLOAT16", "DT_BF16"} <= distinct:
        distinct.add("FLOAT")
    return max(distinct, key=lambda name: _RANK.get(name, -1), default="UNDEFINED")


def category(dtype: str) -> int:
    """Return the promotion category: 0 bool, 1 integer, 2 floating, 3 complex, -1 unknown."""
    rank = _RANK.get(dtype, -1)
    return rank // 100 if rank >= 0 else -1
