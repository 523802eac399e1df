"""Data types: ONNX numbers for them, the vendor's numbers (aclDataType), GE's names."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

import numpy as np

from drynpu.kernels import NO_DATA

__all__ = ["ACL_SIZES", "acl_dtype", "ge_dtype", "ge_of_array"]

# onnx.TensorProto.DataType -> (aclDataType, GE name); pyacl_prof.md 10.
_TYPES: Final = MappingProxyType(
    {
        1: (0, "FLOAT"),
        2: (4, "UINT8"),
        3: (2, "INT8"),
        4: (7, "UINT16"),
        5: (6, "INT16"),
        6: (3, "INT32"),
        7: (9, "INT64"),
        8: (13, NO_DATA),
        9: (12, "BOOL"),
        10: (1, "FLOAT16"),
        11: (11, "DOUBLE"),
        12: (8, "UINT32"),
        13: (10, "UINT64"),
        14: (16, "COMPLEX64"),
        15: (17, "COMPLEX128"),
        16: (27, "DT_BF16"),
    }
)
_UNDEFINED: Final = (-1, NO_DATA)
_BY_NAME: Final = MappingProxyType(
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

ACL_SIZES: Final = MappingProxyType(
    {0: 4, 1: 2, 2: 1, 3: 4, 4: 1, 6: 2, 7: 2, 8: 4, 9: 8, 10: 8, 11: 8, 12: 1, 16: 8, 17: 16, 27: 2}
)
"""Size in bytes of one element by aclDataType."""


def acl_dtype(onnx_type: int) -> int:
    """Return the aclDataType of an ONNX type, -1 (ACL_DT_UNDEFINED) for one that the vendor does not have."""
    return _TYPES.get(onnx_type, _UNDEFINED)[0]


def ge_dtype(onnx_type: int) -> str:
    """Return GE's name of an ONNX type, ``UNDEFINED`` for one without numbers."""
    return _TYPES.get(onnx_type, _UNDEFINED)[1]


def ge_of_array(dtype: np.dtype[np.generic]) -> str:
    """Return GE's name of a numpy type."""
    return _BY_NAME.get(dtype.name, NO_DATA)
