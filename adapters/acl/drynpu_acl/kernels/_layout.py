"""Formats: which tensors of a graph are blocked, and where kernels change that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from attrs import define, field

from drynpu.kernels import TensorDesc
from drynpu_acl.kernels._elementwise import KERNEL_TYPES
from drynpu_acl.kernels._nodes import CONVOLUTIONS, SHAPE_READERS, Work, takers_of
from drynpu_acl.kernels._work import blocked, is_image

__all__ = ["Layout", "lay_out"]

_IMAGE_WORKERS: Final = frozenset(
    {*CONVOLUTIONS, "MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool", "BatchNormalization"}
)
# They make values of the shape of their input or of constants; C0 depends on the type, so comparisons stay plain.
_FOLLOWERS: Final = frozenset(KERNEL_TYPES) - {
    *("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Not", "And", "Or", "Xor", "IsNaN", "IsInf", "Where")
}


@define(eq=False)
class Layout:
    """Which tensors are blocked, and the kernels that change formats before and behind each operator."""

    blocked: set[str] = field(factory=set)
    before: dict[int, list[tuple[int, TensorDesc, TensorDesc]]] = field(factory=dict)
    after: dict[int, list[tuple[int, TensorDesc, TensorDesc]]] = field(factory=dict)
    workers: set[int] = field(factory=set)


def lay_out(
    works: Sequence[Work], tensors: Mapping[str, TensorDesc], known: frozenset[str], results: frozenset[str]
) -> Layout:
    """Return the formats of *works*, which run in this order; *known* are constants, *results* those of the graph."""
    layout, converted, count = Layout(), set[str](), 0
    for work in works:
        if _works_blocked(work, tensors, known, layout.blocked):
            layout.workers.add(id(work))
            layout.blocked.add(work.output)
    takers = takers_of(works)
    for work in works:
        if id(work) not in layout.workers:
            continue
        for name in _images(work, tensors, known):
            if name not in layout.blocked and name not in converted:
                converted.add(name)
                image = _plain(tensors[name])
                layout.before.setdefault(id(work), []).append((count, image, blocked(image)))
                count += 1
        behind = [t for t in takers.get(work.output, ()) if t.node.op_type not in SHAPE_READERS]
        if work.output in results or any(id(taker) not in layout.workers for taker in behind):
            image = _plain(tensors[work.output])
            layout.after.setdefault(id(work), []).append((count, blocked(image), image))
            count += 1
    return layout


def _plain(tensor: TensorDesc) -> TensorDesc:
    return TensorDesc(tensor.shape, tensor.dtype, "NCHW")


def _works_blocked(work: Work, tensors: Mapping[str, TensorDesc], known: frozenset[str], already: set[str]) -> bool:
    out = tensors.get(work.output)
    if out is None or not is_image(out):
        return False
    images = _images(work, tensors, known)
    if work.node.op_type in _IMAGE_WORKERS:
        return bool(images)
    if work.node.op_type not in _FOLLOWERS or not already.intersection(images):
        return False
    # Whole images and single numbers go in; anything that has to be stretched is read plain.
    found = [tensors.get(name) for name in work.inputs if name]
    return all(t is not None and (t.shape == out.shape or t.elements == 1) and t.dtype == out.dtype for t in found)


def _images(work: Work, tensors: Mapping[str, TensorDesc], known: frozenset[str]) -> list[str]:
    """Return the inputs that are images; weights are not."""
    names = work.inputs[:1] if work.node.op_type in _IMAGE_WORKERS else work.inputs
    return [n for n in dict.fromkeys(names) if n not in known and n in tensors and is_image(tensors[n])]
