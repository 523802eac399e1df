"""
One call of a TensorFlow operator as a signature, and what rules read off it.

A signature carries besides its inputs: what it returns (TensorFlow knows, and rules need not work it out again),
the node that it is in the graph, and the attributes of the node by name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

from drynpu.kernels import Placement, Signature, TensorDesc
from drynpu_tf.rules._dtypes import NO_DATA, dtype_name, ge_dtype

__all__ = ["Call", "attributes_of", "signature", "tensor_desc"]

_SCALARS = (bool, int, float, str)


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


def signature(
    op_type: str,
    inputs: Sequence[TensorDesc | None],
    outputs: Sequence[TensorDesc | None],
    attrs: Mapping[str, Any],
    *,
    node: str = "",
    placement: Placement = Placement.DEVICE,
) -> Signature:
    """
    Return the signature of one call.

    Parameters
    ----------
    op_type:
        TensorFlow's type: ``MatMul``, ``ResourceApplyAdam``.
    inputs, outputs:
        By position, control inputs left out; ``None`` where nothing is known.
    attrs:
        Attributes of the node as plain values (:func:`attributes_of`); types under their Python names.
    node:
        Name in the graph, by which the profile shows its kernels; ``""`` (eager) shows their types.
    placement:
        ``HOST`` where the operator runs on the host beside a device as well (input pipelines).
    """
    named = tuple((key, _frozen_value(value)) for key, value in sorted(attrs.items()))
    returned = tuple(t for t in outputs if t is not None)
    return Signature(op_type, tuple(inputs), (returned, node, named), placement)


@frozen
class Call:
    """What a rule reads off a signature made by :func:`signature`; others (of plugins, of tests) have no outputs."""

    signature: Signature

    @property
    def outputs(self) -> tuple[TensorDesc, ...]:
        """What the call returns, in order; empty when that is not known."""
        found = self._part(0)
        return found if isinstance(found, tuple) else ()

    @property
    def node(self) -> str:
        """Name in the graph, or the empty string."""
        found = self._part(1)
        return found if isinstance(found, str) else ""

    @property
    def attrs(self) -> dict[str, object]:
        """Attributes by name, lists as tuples."""
        found = self._part(2)
        return dict(found) if isinstance(found, tuple) else {}

    def tensor(self, position: int) -> TensorDesc | None:
        """Return the input at *position*; ``None`` for one that holds no numbers."""
        found = self.signature.tensor(position)
        return None if found is None or found.dtype == NO_DATA else found

    def tensors(self) -> list[TensorDesc]:
        """Return all inputs that hold numbers."""
        return [t for t in self.signature.tensors() if t.dtype != NO_DATA]

    def output(self, position: int = 0) -> TensorDesc | None:
        """Return the output at *position*; ``None`` when it is not known or holds no numbers."""
        found = self.outputs[position] if position < len(self.outputs) else None
        return None if found is None or found.dtype == NO_DATA else found

    def flag(self, name: str) -> bool:
        """Return a boolean attribute; absent counts as false."""
        return self.attrs.get(name) is True

    def text(self, name: str, default: str = "") -> str:
        """Return a text attribute."""
        found = self.attrs.get(name)
        return found if isinstance(found, str) and found else default

    def whole(self, name: str, default: int) -> int:
        """Return an integer attribute."""
        found = self.attrs.get(name)
        return found if isinstance(found, int) and not isinstance(found, bool) else default

    def integers(self, name: str) -> tuple[int, ...]:
        """Return a list of integers; empty when there is none."""
        found = self.attrs.get(name)
        return tuple(v for v in found if isinstance(v, int)) if isinstance(found, tuple) else ()

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of texts; empty when there is none."""
        found = self.attrs.get(name)
        return tuple(v for v in found if isinstance(v, str)) if isinstance(found, tuple) else ()

    def _part(self, position: int) -> object:
        parts = self.signature.attributes
        return parts[position] if position < len(parts) else None


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


def _frozen_value(value: object) -> object:
    """Make a value hashable; lists become tuples, whatever is not plain its text."""
    if isinstance(value, (list, tuple)):
        return tuple(_frozen_value(item) for item in value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if value is None or isinstance(value, (*_SCALARS, TensorDesc)) else str(value)
