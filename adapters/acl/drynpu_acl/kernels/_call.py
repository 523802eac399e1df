"""
One node of an ONNX graph as a signature, and what rules read off it.

A signature carries besides its inputs: what it returns, the name of the node, and the node's attributes by name.
Attributes that begin with an underscore are notes of the compiler (:mod:`drynpu_acl.kernels._graph`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import frozen

from drynpu.kernels import KernelPlan, Placement, Signature, TensorDesc
from drynpu_acl.kernels._dtypes import NO_DATA

__all__ = ["Call", "Rule", "rule_of", "signature"]

Rule = Callable[[Signature], "KernelPlan | None"]

_PLAIN = (bool, int, float, str)


def signature(
    op_type: str,
    inputs: Sequence[TensorDesc | None],
    outputs: Sequence[TensorDesc | None],
    attrs: Mapping[str, Any],
    *,
    node: str,
    placement: Placement = Placement.DEVICE,
) -> Signature:
    """
    Return the signature of one node.

    Parameters
    ----------
    op_type:
        ONNX's type: ``Gemm``, ``LayerNormalization``.
    inputs, outputs:
        By position; ``None`` where an optional one is left out.
    attrs:
        The node's attributes as plain values; tensors and graphs are left out.
    node:
        Name of the node, by which the profile shows its kernels.
    placement:
        ``HOST`` for what is known when the model is compiled, which launches nothing.
    """
    named = tuple((key, _frozen_value(value)) for key, value in sorted(attrs.items()))
    returned = tuple(t for t in outputs if t is not None)
    return Signature(op_type, tuple(inputs), (returned, node, named), placement)


def _frozen_value(value: object) -> object:
    if isinstance(value, (list, tuple)):
        return tuple(_frozen_value(item) for item in value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if value is None or isinstance(value, (*_PLAIN, TensorDesc)) else str(value)


@frozen
class Call:
    """What a rule reads off a signature made by :func:`signature`; others (of plugins, of tests) have no outputs."""

    signature: Signature

    @property
    def outputs(self) -> tuple[TensorDesc, ...]:
        """What the node returns, in order."""
        found = self._part(0)
        return found if isinstance(found, tuple) else ()

    @property
    def node(self) -> str:
        """Name of the node, or the operator's type for one without a name."""
        found = self._part(1)
        return found if isinstance(found, str) and found else self.signature.name

    @property
    def attrs(self) -> dict[str, object]:
        """Attributes by name, lists as tuples."""
        found = self._part(2)
        return dict(found) if isinstance(found, tuple) else {}

    def tensor(self, position: int) -> TensorDesc | None:
        """Return the input at *position*; ``None`` for one that is left out or holds no numbers."""
        found = self.signature.tensor(position)
        return None if found is None or found.dtype == NO_DATA else found

    def tensors(self) -> list[TensorDesc]:
        """Return all inputs that hold numbers."""
        return [t for t in self.signature.tensors() if t.dtype != NO_DATA]

    def output(self, position: int = 0) -> TensorDesc | None:
        """Return the output at *position*; ``None`` when it holds no numbers."""
        found = self.outputs[position] if position < len(self.outputs) else None
        return None if found is None or found.dtype == NO_DATA else found

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

    def text(self, name: str) -> str:
        """Return a text attribute, empty when there is none."""
        found = self.attrs.get(name)
        return found if isinstance(found, str) else ""

    def _part(self, position: int) -> object:
        parts = self.signature.attributes
        return parts[position] if position < len(parts) else None


def rule_of(read: Callable[[Call], KernelPlan | None]) -> Rule:
    """Return the rule that reads its signature as a :class:`Call`."""

    def rule(signature: Signature) -> KernelPlan | None:
        return read(Call(signature))

    return rule
