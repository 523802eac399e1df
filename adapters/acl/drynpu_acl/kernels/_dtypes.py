"""Data types: ONNX numbers for them, the vendor's numbers (aclDataType), GE's names."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from drynpu.kernels import DTYPES, NO_DATA

# onnx.TensorProto.DataType -> GE name.
_BY_ONNX_NUMBER: Final = MappingProxyType(
    {
        1: "FLOAT",
        2: "UINT8",
        3: "INT8",
        4: "UINT16",
        5: "INT16",
        6: "INT32",
        7: "INT64",
        9: "BOOL",
        10: "FLOAT16",
        11: "DOUBLE",
        12: "UINT32",
        13: "UINT64",
        14: "COMPLEX64",
        15: "COMPLEX128",
        16: "DT_BF16",
    }
)
_ONNX_STRING: Final = 8
_ACL_STRING: Final = 13
_ACL_UNDEFINED: Final = -1

# aclDataType numbers the types as GE does, but for what has no numbers (pyacl_prof.md 10).
ACL_SIZES: Final = MappingProxyType({d.ge_id: d.size_bytes for d in DTYPES.values() if d.name != NO_DATA})
"""Size in bytes of one element by aclDataType."""


def acl_dtype(onnx_type: int) -> int:
    """Return the aclDataType of an ONNX type, -1 (ACL_DT_UNDEFINED) for one that the vendor does not have."""
    if onnx_type == _ONNX_STRING:
        return _ACL_STRING
    name = _BY_ONNX_NUMBER.get(onnx_type)
    return _ACL_UNDEFINED if name is None else DTYPES[name].ge_id
