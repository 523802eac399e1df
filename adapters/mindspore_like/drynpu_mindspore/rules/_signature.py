"""
One launch of a MindSpore primitive as a signature, and what rules read off it.

A signature carries besides its inputs what the launch returns and the attributes of the primitive by name; values that
MindSpore passes as arguments (``transpose_b`` of a MatMul) are attributes under their position.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import frozen

from drynpu.kernels import NO_DATA, Placement, Signature, TensorDesc

__all__ = ["Call", "signature"]


def signature(
    primitive: str,
    inputs: Sequence[TensorDesc | None],
    outputs: Sequence[TensorDesc] | None = None,
    attrs: Mapping[str, object] | None = None,
    arguments: Sequence[object] = (),
    *,
    placement: Placement = Placement.DEVICE,
) -> Signature:
    """
    Return the signature of one launch.

    Parameters
    ----------
    primitive:
        As MindSpore names it: ``MatMul``, ``Conv2DBackpropFilter``.
    inputs:
        By position; ``None`` for an argument that is no tensor, or of which nothing is known. A tensor of unknown type
        has ``UNDEFINED``.
    outputs:
        In order; ``None`` when they are not known.
    attrs:
        Attributes by name, lists as tuples.
    arguments:
        By position the value of an argument that is no tensor, else ``None``.
    """
    named = tuple(sorted((attrs or {}).items()))
    known = None if outputs is None else tuple(outputs)
    return Signature(primitive, tuple(inputs), (known, named, tuple(arguments)), placement)


@frozen
class Call:
    """What a rule reads off a signature made by :func:`signature`; of others (of tests, of plugins) only inputs."""

    signature: Signature

    @property
    def outputs(self) -> tuple[TensorDesc, ...]:
        """What the launch returns, in order; empty when that is not known."""
        found = self._part(0)
        return found if isinstance(found, tuple) else ()

    @property
    def attrs(self) -> dict[str, object]:
        """Attributes by name."""
        found = self._part(1)
        return dict(found) if isinstance(found, tuple) else {}

    @property
    def arguments(self) -> tuple[object, ...]:
        """Values of the arguments that are no tensors, by position."""
        found = self._part(2)
        return found if isinstance(found, tuple) else ()

    @property
    def known(self) -> bool:
        """Whether every tensor has a type, so that bytes can be counted."""
        return all(t.dtype != NO_DATA for t in (*self.signature.tensors(), *self.outputs))

    def tensor(self, position: int) -> TensorDesc | None:
        """Return the input at *position*."""
        return self.signature.tensor(position)

    def tensors(self) -> list[TensorDesc]:
        """Return all inputs that are tensors."""
        return list(self.signature.tensors())

    def output(self, position: int = 0) -> TensorDesc | None:
        """Return the output at *position*; ``None`` when it is not known."""
        return self.outputs[position] if position < len(self.outputs) else None

    def argument(self, position: int) -> object:
        """Return the value passed at *position*, ``None`` for a tensor and for what is not known."""
        return self.arguments[position] if position < len(self.arguments) else None

    def flag(self, name: str, position: int) -> bool | None:
        """Return a boolean by its name or, where MindSpore passes it as an argument, by its position."""
        for found in (self.attrs.get(name), self.argument(position)):
            if isinstance(found, bool):
                return found
        return None

    def integers(self, name: str, position: int | None = None) -> tuple[int, ...]:
        """Return a list of integers by its name or its position; empty when there is none."""
        for found in (self.attrs.get(name), None if position is None else self.argument(position)):
            if isinstance(found, tuple):
                return tuple(value for value in found if isinstance(value, int))
        return ()

    def text(self, name: str) -> str:
        """Return a text, empty when there is none."""
        found = self.attrs.get(name)
        return found if isinstance(found, str) else ""

    def _part(self, position: int) -> object:
        parts = self.signature.attributes
        return parts[position] if position < len(parts) else None
