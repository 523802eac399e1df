"""
Where blocked formats begin and end in a graph.

Convolutions, pooling and batch norms work on NC1HWC0; element-wise operators take what they are given. A TransData
kernel stands before the first operator that needs a plain image blocked, and behind one whose blocked result somebody
takes who cannot read it. Weights stay blocked from variable to variable (``variable_format_optimize``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from attrs import define, field

from drynpu.kernels import Signature, TensorDesc
from drynpu_tf.rules._elementwise import KEEPS_TYPE
from drynpu_tf.rules._layout import blocked, channels_first, is_image, plain
from drynpu_tf.rules._nodes import Place, Work, consumers_of

__all__ = ["lay_out"]

# Positions of the images among inputs and outputs.
_IMAGES: Final[Mapping[str, tuple[tuple[int, ...], tuple[int, ...]]]] = {
    "Conv2D": ((0,), (0,)),
    "_FusedConv2D": ((0,), (0,)),
    "Conv2DBackpropInput": ((2,), (0,)),
    "Conv2DBackpropFilter": ((0, 2), ()),
    "DepthwiseConv2dNative": ((0,), (0,)),
    "DepthwiseConv2dNativeBackpropInput": ((2,), (0,)),
    "DepthwiseConv2dNativeBackpropFilter": ((0, 2), ()),
    "FusedBatchNorm": ((0,), (0,)),
    "FusedBatchNormV2": ((0,), (0,)),
    "FusedBatchNormV3": ((0,), (0,)),
    "FusedBatchNormGrad": ((0, 1), (0,)),
    "FusedBatchNormGradV2": ((0, 1), (0,)),
    "FusedBatchNormGradV3": ((0, 1), (0,)),
    "MaxPool": ((0,), (0,)),
    "MaxPoolGrad": ((0, 1, 2), (0,)),
    "AvgPool": ((0,), (0,)),
    "AvgPoolGrad": ((1,), (0,)),
    "BiasAddGrad": ((0,), ()),
}
# C0 depends on the type, so those that change it stay with plain formats.
_FOLLOWS: Final = KEEPS_TYPE | {"AddN", "BiasAdd"}
_READS_SHAPE: Final = frozenset({"Shape", "ShapeN", "Size", "Rank"})


@define(eq=False)
class _Layout:
    """What is known of the images of a graph while it is gone through."""

    known: frozenset[str]
    """Operators whose results are constants."""
    blocked: dict[Place, bool] = field(factory=dict)
    """Tensors that are made in the blocked format, and whether they are NCHW otherwise."""
    converted: set[Place] = field(factory=set)
    count: int = 0

    def number(self) -> int:
        """Return the next number of a TransData kernel."""
        self.count += 1
        return self.count - 1


def lay_out(works: Sequence[Work], known: frozenset[str]) -> list[Work]:
    """Return the operators with formats and TransData kernels in their signatures; *known* are constants."""
    layout = _Layout(known)
    for work in works:
        if work.op_type in _IMAGES and work.name not in known and _image_inputs(work, layout):
            for slot in _IMAGES[work.op_type][1]:
                layout.blocked[work.name, slot] = channels_first(work.call)
    _spread(works, layout)
    takers = consumers_of(works)
    return [_placed(work, layout, takers) for work in works]


def _spread(works: Sequence[Work], layout: _Layout) -> None:
    """Let element-wise operators return what they are given."""
    takers = consumers_of(works)
    todo = list(layout.blocked)
    while todo:
        place = todo.pop()
        for taker in takers.get(place, ()):
            if (taker.name, 0) not in layout.blocked and _follows(taker):
                layout.blocked[taker.name, 0] = layout.blocked[place]
                todo.append((taker.name, 0))


def _follows(work: Work) -> bool:
    """Whether an operator can return what it is given: whole images, numbers and biases go in."""
    out = work.call.output()
    if work.op_type not in _FOLLOWS or out is None or not is_image(out.shape):
        return False
    least = 1 if work.op_type == "BiasAdd" else 0
    return all(t.shape == out.shape or len(t.shape) <= least for t in work.call.tensors())


def _image_inputs(work: Work, layout: _Layout) -> tuple[int, ...]:
    if work.op_type in _IMAGES:
        tensors = ((i, work.call.tensor(i)) for i in _IMAGES[work.op_type][0])
        return tuple(i for i, tensor in tensors if tensor is not None and is_image(tensor.shape))
    if (work.name, 0) not in layout.blocked:
        return ()
    out = work.call.output()
    shape = out.shape if out is not None else ()
    return tuple(i for i in range(len(work.inputs)) if (t := work.call.tensor(i)) is not None and t.shape == shape)


def _placed(work: Work, layout: _Layout, takers: Mapping[Place, list[Work]]) -> Work:
    images = _image_inputs(work, layout)
    if work.name in layout.known or (not images and (work.name, 0) not in layout.blocked):
        return work
    nchw = layout.blocked.get((work.name, 0), channels_first(work.call))
    before = [
        (layout.number(), plain(tensor, nchw=nchw), blocked(tensor, nchw=nchw))
        for i in images
        if (tensor := work.call.tensor(i)) is not None and _must_be_blocked(work.inputs[i], tensor, layout)
    ]
    after = [
        (layout.number(), blocked(out, nchw=nchw), plain(out, nchw=nchw))
        for slot, out in enumerate(work.call.outputs)
        if (work.name, slot) in layout.blocked
        and is_image(out.shape)
        and _is_read_plain((work.name, slot), layout, takers)
    ]
    attrs = work.call.attrs | {"_graph": True, "_before": tuple(before), "_after": tuple(after)}
    inputs, outputs = work.signature.inputs, work.call.outputs
    if work.op_type not in _IMAGES:
        inputs = tuple(
            _as_blocked(t, nchw=nchw) if i in images and isinstance(t, TensorDesc) else t for i, t in enumerate(inputs)
        )
        outputs = tuple(_as_blocked(t, nchw=nchw) for t in outputs)
    values = (outputs, work.call.node, tuple(sorted(attrs.items())))
    signature = Signature(work.op_type, inputs, values, work.signature.placement)
    return Work(work.name, work.inputs, signature, work.members)


def _as_blocked(tensor: TensorDesc, *, nchw: bool) -> TensorDesc:
    return blocked(tensor, nchw=nchw) if is_image(tensor.shape) else tensor


def _must_be_blocked(place: Place, tensor: TensorDesc, layout: _Layout) -> bool:
    """Whether this is the first operator that needs a plain image blocked; constants are stored blocked."""
    if place in layout.blocked or place in layout.converted or place[0] in layout.known or not is_image(tensor.shape):
        return False
    layout.converted.add(place)
    return True


def _is_read_plain(place: Place, layout: _Layout, takers: Mapping[Place, list[Work]]) -> bool:
    return any(
        taker.op_type not in _IMAGES and taker.op_type not in _READS_SHAPE and (taker.name, 0) not in layout.blocked
        for taker in takers.get(place, ())
    )
