"""Tensors and attributes of TensorFlow's nodes as rules have them: GE's types, plain values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from drynpu.kernels import TensorDesc
from drynpu_tf.rules._dtypes import dtype_name, ge_dtype


def tensor_desc(shape: Sequence[int], dtype: str, layout: str = "ND") -> TensorDesc:
    """
    Return a tensor.

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
    return TensorDesc(tuple(shape), ge_dtype(dtype), layout)


def attributes_of(node: Any) -> dict[str, object]:
    """
    Return the attributes of a ``NodeDef`` as plain values; types under their Python names, functions by name.

    Shapes and tensors are left out: no rule reads them and they make signatures large. So are attributes whose names
    begin with an underscore, which are notes of TensorFlow's own passes.
    """
    found: dict[str, object] = {}
    for name, value in node.attr.items():
        plain = None if name.startswith("_") else _plain(value)
        if plain is not None:
            found[name] = plain
    return found


def _plain(value: Any) -> object:
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
