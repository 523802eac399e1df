"""Tensors, data types and attributes of TensorFlow's nodes as rules read them: GE's types, plain values."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any, Final

from drynpu.kernels import TensorDesc, ops
from drynpu_tf.foreign import NodeDef
from drynpu_tf.rules._parts import PART, RESULTS

_TEXT: Final = """
float32 float64 int32 uint8 int16 int8 string complex64 int64 bool qint8 quint8 qint32 bfloat16 qint16 quint16 uint16
complex128 float16 resource variant uint32 uint64
"""
_NAMES: Final = tuple(_TEXT.split())
"""Python names of the types that tensorflow/core/framework/types.proto numbers from 1 on."""
# TensorFlow's profiler writes the first three; GE has no types of its own for quantised numbers.
_SYNONYMS: Final = MappingProxyType(
    {"float": "float32", "double": "float64", "half": "float16"}
    | {f"q{name}": name for name in ("int8", "uint8", "int16", "uint16", "int32")}
)
VENDOR_TYPE: Final = "_drynpu_operator"
"""Attribute of a node that computes one operator of the vendor's: the type that the device's graph has there."""
IN_PLACE: Final = "_drynpu_in_place"
"""Attribute of a node that writes what a device has written already, where it was computed or received."""
_OWN_MARKS: Final = frozenset({VENDOR_TYPE, PART, RESULTS, IN_PLACE})
_REFERENCES: Final = 100
"""What a reference to a type adds to its number."""


def dtype_name(number: int) -> str:
    """
    Return the Python name of a type by its number in ``types.proto``, ``""`` for an unknown number.

    A reference to a type counts as the type.
    """
    place = number % _REFERENCES
    return _NAMES[place - 1] if 0 < place <= len(_NAMES) else ""


def _ge_dtype(name: str) -> str:
    """Return the GE name of a type under its Python name (``float32``, ``float32_ref``), ``UNDEFINED`` for others."""
    plain = name.removesuffix("_ref")
    return ops.ge_dtype(_SYNONYMS.get(plain, plain))


def tensor_desc(shape: Sequence[int], dtype: str, layout: str = "ND") -> TensorDesc:
    """
    Return the description of a tensor as rules read it.

    Parameters
    ----------
    shape:
        Dims, ``()`` for a scalar; an unknown dim (negative) has no place here.
    dtype:
        TensorFlow's Python name: ``float32``, ``int64``, ``bfloat16``, ``bool``; ``resource``, ``variant``,
        ``string`` and unknown ones become ``UNDEFINED`` and count no bytes in kernels.
    layout:
        GE format. Rules give tensors of convolutions and pooling theirs.
    """
    return TensorDesc(tuple(shape), _ge_dtype(dtype), layout)


def attributes_of(node: NodeDef) -> dict[str, object]:
    """
    Return the attributes of a ``NodeDef`` as plain values; types under their Python names, functions by name.

    Shapes and tensors are left out: no rule reads them and they make signatures large. So are attributes whose names
    begin with an underscore, which are notes of TensorFlow's own passes, but for drynpu's own.
    """
    attributes: dict[str, object] = {}
    for name, value in node.attr.items():
        plain = None if name.startswith("_") and name not in _OWN_MARKS else _plain(value)
        if plain is not None:
            attributes[name] = plain
    return attributes


def _plain(value: Any) -> object:
    """Return the value of an attribute; ``None`` for shapes and tensors."""
    kind = value.WhichOneof("value")
    if kind == "list":
        items = value.list
        parts = [*items.i, *items.f, *items.b, *(s.decode("utf-8", "replace") for s in items.s)]
        return tuple(parts or (dtype_name(number) for number in items.type))
    if kind == "s":
        return value.s.decode("utf-8", "replace")
    if kind == "type":
        return dtype_name(value.type)
    if kind == "func":
        return value.func.name
    return getattr(value, kind) if kind in {"i", "f", "b"} else None
