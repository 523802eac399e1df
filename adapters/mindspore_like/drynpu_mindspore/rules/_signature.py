"""
One launch of a MindSpore primitive as a signature.

A signature carries besides its inputs what the launch returns and the attributes of the primitive by name; values that
MindSpore passes as arguments (``transpose_b`` of a MatMul) are attributes under their position.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from drynpu.kernels import Placement, Signature, TensorDesc


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
