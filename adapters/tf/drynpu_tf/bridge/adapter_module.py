"""What ``npu_bridge.tf_adapter``, a compiled module of the vendor's, has: numbers of data types."""

from __future__ import annotations

from typing import NoReturn

from tensorflow.core.framework import types_pb2

DT_BOOL: int = types_pb2.DT_BOOL
DT_DOUBLE: int = types_pb2.DT_DOUBLE
DT_FLOAT: int = types_pb2.DT_FLOAT
DT_HALF: int = types_pb2.DT_HALF
DT_INT8: int = types_pb2.DT_INT8
DT_INT16: int = types_pb2.DT_INT16
DT_INT32: int = types_pb2.DT_INT32
DT_INT64: int = types_pb2.DT_INT64
DT_UINT8: int = types_pb2.DT_UINT8
DT_UINT64: int = types_pb2.DT_UINT64


def missing_name(name: str) -> NoReturn:
    """Raise ``AttributeError`` for every other name."""
    raise AttributeError(f"npu_bridge.tf_adapter.{name}: this function of the vendor's needs a device; drynpu has none")
