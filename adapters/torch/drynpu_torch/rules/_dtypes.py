"""Data types: C++ names as Kineto prints them, torch's numbers for them, GE names, and promotion between them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

_ROWS: Final = """
BOOL       11   0 bool
UINT8       0 100 unsigned char
INT8        1 101 signed char, char
UINT16     27 102 short unsigned int, unsigned short
INT16       2 103 short int, short
UINT32     28 104 unsigned int
INT32       3 105 int
UINT64     29 106 long unsigned int, unsigned long
INT64       4 107 long int, long, long long
FLOAT16     5 200 c10::Half
DT_BF16    15 201 c10::BFloat16
FLOAT       6 202 float
DOUBLE      7 203 double
COMPLEX64   9 300 c10::complex<float>
COMPLEX128 10 301 c10::complex<double>
"""
"""
One row for each type: GE's name, torch's number, the rank in promotion, C++ names.

The number comes from c10/core/ScalarType.h, by which Kineto shows a dtype argument. The rank has the category of the
type in its hundreds and the width inside the category below them. Compilers spell the names of some types differently.
"""
_DTYPES: Final = tuple(row.split(None, 3) for row in _ROWS.strip().splitlines())
_BY_CPP_NAME: Final = {cpp_name: name for name, _, _, cpp_names in _DTYPES for cpp_name in cpp_names.split(", ")}
_BY_CODE: Final = {int(code): name for name, code, _, _ in _DTYPES}
_RANK: Final = {name: int(rank) for name, _, rank, _ in _DTYPES}

_NOT_TENSORS: Final = frozenset({"", "Scalar", "ScalarList", "TensorList"})


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

    FLOAT16 with DT_BF16 gives FLOAT. A known type wins against an unknown one.
    """
    distinct = set(dtypes)
    if {"FLOAT16", "DT_BF16"} <= distinct:
        distinct.add("FLOAT")
    return max(distinct, key=lambda name: _RANK.get(name, -1), default="UNDEFINED")


def category(dtype: str) -> int:
    """Return the promotion category: 0 bool, 1 integer, 2 floating, 3 complex, -1 unknown."""
    rank = _RANK.get(dtype, -1)
    return rank // 100 if rank >= 0 else -1
