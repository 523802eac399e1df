"""Data types: ONNX numbers for them, the vendor's numbers (aclDataType), GE's names."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from drynpu.kernels import DTYPES, NO_DATA

_TEXT: Final = """
FLOAT UINT8 INT8 UINT16 INT16 INT32 INT64 STRING BOOL FLOAT16 DOUBLE UINT32 UINT64 COMPLEX64 COMPLEX128 DT_BF16
"""
_ONNX_NAMES: Final = tuple(_TEXT.split())
"""GE's names of the types that onnx.TensorProto.DataType numbers from 1 on."""
_ACL_STRING: Final = 13
_ACL_UNDEFINED: Final = -1

# aclDataType numbers the types as GE does, but for what has no numbers (pyacl_prof.md 10).
ACL_SIZES: Final = MappingProxyType({d.ge_id: d.size_bytes for d in DTYPES.values() if d.name != NO_DATA})
"""Size in bytes of one element by aclDataType."""


def acl_dtype(onnx_type: int) -> int:
    """Return the aclDataType of an ONNX type, -1 (ACL_DT_UNDEFINED) for one that the vendor does not have."""
    if not 0 < onnx_type <= len(_ONNX_NAMES):
        return _ACL_UNDEFINED
    name = _ONNX_NAMES[onnx_type - 1]
    return _ACL_STRING if name == "STRING" else DTYPES[name].ge_id
