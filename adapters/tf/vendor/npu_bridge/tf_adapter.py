"""``tf_adapter``: the vendor's compiled module. Its data types are TensorFlow's; the rest needs a device."""

from __future__ import annotations

from drynpu_tf.bridge.adapter_module import (
    DT_BOOL,
    DT_DOUBLE,
    DT_FLOAT,
    DT_HALF,
    DT_INT8,
    DT_INT16,
    DT_INT32,
    DT_INT64,
    DT_UINT8,
    DT_UINT64,
)
from drynpu_tf.bridge.adapter_module import missing_name as __getattr__  # noqa: F401

__all__ = [
    "DT_BOOL",
    "DT_DOUBLE",
    "DT_FLOAT",
    "DT_HALF",
    "DT_INT8",
    "DT_INT16",
    "DT_INT32",
    "DT_INT64",
    "DT_UINT8",
    "DT_UINT64",
]
