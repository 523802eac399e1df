"""
Gathering, scattering, joining, padding.

Gathers read only the elements that they return (device_and_cost_model.md 3.4); scatters write only those they change.
"""

from __future__ import annotations

from typing import Final

from attrs import evolve

from drynpu.kernels import KernelPlan, Named, TaskType, TensorDesc, broadcast_shape, tensor_like
from drynpu.kernels.ops import cast_kernel, clear_kernel, concatenated, gather_kernel, padded, replaced, stacked, tiled
from drynpu_torch.rules._call import AtenCall, copy_on_device, scalar
from drynpu_torch.rules._dtypes import ge_dtype

_INDEX = "INT64"
_ONE: Final = TensorDesc((1,), _INDEX)
_MASKS: Final = frozenset({"BOOL", "UINT8"})


def embedding(call: AtenCall) -> KernelPlan | None:
    """Return the plan of gathering rows of a table."""
    table, index = call.tensors("x", "index")
    if not table.shape:
        return None
    out = TensorDesc((*index.shape, *table.shape[1:]), table.dtype)
    inputs = [tensor_like(table, layout="ND"), tensor_like(index, layout="ND"), _ONE]
    return call.plan(gather_kernel(call, inputs, index, [out]))


def embedding_gradient(call: AtenCall) -> KernelPlan | None:
    """Return the plan of sorting the index, on FLOAT keys as measured, and adding the gradients of each row."""
    (dy, index), rows = call.tensors("dy", "index"), call.attribute("rows")
    if not isinstance(rows, int) or rows < 0 or not dy.shape:
        return None
    convert = cast_kernel(call, TensorDesc((index.elements,), _INDEX), "FLOAT")
    keys = convert.outputs[0]
    places, cost = tensor_like(keys, dtype="INT32"), max(index.elements, 1).bit_length()
    order = call.kernel("Sort", [keys], [keys, places], task=TaskType.MIX_AIV, cost=cost)
    out = call.tensor_of((rows, dy.shape[-1]), dy.dtype)
    written = min(dy.size_bytes, out.size_bytes)
    inputs, task = [dy, places, places], TaskType.MIX_AIV
    grad = call.main_kernel(inputs, [out], task=task, over=dy.elements, written=written)
    return call.plan(convert, order, clear_kernel(call, [out]), grad)


def select(call: AtenCall) -> KernelPlan | None:
    """Return the plan of gathering slices of one axis."""
    (x, index), axis = call.tensors("x", "index"), call.attribute("axis")
    if not isinstance(axis, int):
        return None
    out = call.tensor_of(replaced(x.shape, axis, index.elements), x.dtype)
    return call.plan(gather_kernel(call, [x, index, _ONE], index, [out]))


def gather(call: AtenCall) -> KernelPlan | None:
    """Return the plan of gathering one element for each of the index."""
    x, index = call.tensors("x", "index")
    return call.plan(gather_kernel(call, [x, index], index, [call.tensor_of(index.shape, x.dtype)]))


def index(call: AtenCall) -> KernelPlan | None:
    """
    Return the plan of indexing by tensors.

    Kineto records nothing of the list of optional indices, and a mask does not say how many elements it selects. Where
    the shape of the result is not known, the plan states no output, and as bytes the upper bound of a selection, all
    of ``x``.
    """
    (x,) = call.tensors("x")
    places = _indices(call)
    out = _indexed(call, x, places)
    inputs = [x, _sizes(x), _ONE, *(place for place in places if place is not None)]
    if out is not None:
        size = out.size_bytes + sum(place.size_bytes for place in places if place is not None)
        return call.plan(call.main_kernel(inputs, [out], cost=0, read=size, written=out.size_bytes))
    plan = call.plan(call.main_kernel(inputs, [], cost=0, read=x.size_bytes, written=x.size_bytes))
    # A mask is turned into positions first, here and on an NPU: PyTorch calls nonzero inside, which has its own rule.
    return evolve(plan, claims=False)


def put(call: AtenCall) -> KernelPlan | None:
    """Return the plan of writing values to indices: as many elements change as there are values."""
    x, values = call.tensors("x", "values")
    places = [place for place in _indices(call) if place is not None]
    inputs, size = [x, values, _sizes(x), _sizes(x), *places], values.size_bytes
    return call.plan(call.main_kernel(inputs, [x], over=values.elements, read=size, written=size))


def _indices(call: AtenCall) -> list[TensorDesc | None]:
    """Return the index of each axis, ``None`` for axes taken whole; an empty list where none is recorded."""
    recorded = call.attribute("indices")
    if not isinstance(recorded, tuple):
        return []
    return [entry and call.tensor_of(entry[1], ge_dtype(entry[0]) or "UNDEFINED") for entry in recorded]


def _indexed(call: AtenCall, x: TensorDesc, places: list[TensorDesc | None]) -> TensorDesc | None:
    """
    Return the result of indexing *x*, ``None`` where it is not known.

    Indices are broadcast together. Their dims take the place of the indexed axes where those lie side by side, and
    stand first otherwise, as NumPy's advanced indexing has it.
    """
    axes = [axis for axis, place in enumerate(places) if place is not None]
    if not axes or len(places) > len(x.shape) or any(place and place.dtype in _MASKS for place in places):
        return None
    shape = broadcast_shape(place.shape for place in places if place is not None)
    if shape is None:
        return None
    side_by_side = axes[-1] - axes[0] == len(axes) - 1
    first = axes[0] if side_by_side else 0
    whole = [size for axis, size in enumerate(x.shape) if axis not in axes]
    return call.tensor_of((*whole[:first], *shape, *whole[first:]), x.dtype)


def scatter(call: AtenCall) -> KernelPlan | None:
    """Return the plan of writing a tensor or a number to places; the form that is not in place copies first."""
    x, index = call.tensors("x", "index")
    source = call.tensor("source") or scalar(x.dtype)
    places = max(index.elements, source.elements)
    changed = places * (x.size_bytes // max(x.elements, 1))
    read = changed + index.size_bytes
    spec = call.main_kernel([x, index, source], [x], over=places, read=read, written=changed)
    copy = copy_on_device(call.under("aclnnInplaceCopy"), x)
    return call.plan(spec) if call.in_place else call.plan(copy, spec)


def nonzero(call: AtenCall) -> KernelPlan | None:
    """Return the plan of finding the elements that are not 0; the host waits for their number."""
    clear = clear_kernel(call, [_ONE])
    spec = call.main_kernel(call.tensors("x"), [], task=TaskType.MIX_AIV, cost=2)
    return evolve(call.plan(clear, spec, call.copy_to_host(_ONE)), synchronizes=True)


def masked_select(call: AtenCall) -> KernelPlan | None:
    """Return the plan of a selection by mask, or of one of each run of equals; the host waits for its size."""
    spec = call.main_kernel(call.tensors("x", "mask"), [], task=TaskType.MIX_AIV, cost=2)
    return evolve(call.plan(spec, call.copy_to_host(_ONE)), synchronizes=True)


def masked_scatter(call: AtenCall) -> KernelPlan | None:
    """Return the plan of writing the elements of a tensor to the places of a mask, one after the other."""
    x, mask, source = call.tensors("x", "mask", "source")
    read = x.size_bytes + mask.size_bytes + source.size_bytes
    # Two steps for each place: it is counted before it is written, as where elements are selected.
    return call.plan(call.main_kernel([x, mask, source], [x], over=x.elements, cost=2, read=read))


def one_hot(call: AtenCall) -> KernelPlan | None:
    """Return the plan for a given number of classes; without one PyTorch calls operators that read it from the data."""
    (x,), classes = call.tensors("x"), call.whole("classes", -1)
    if classes <= 0:
        return None
    return call.plan(call.main_kernel([x, *[scalar(_INDEX)] * 3], [call.tensor_of((*x.shape, classes), _INDEX)]))


def join(call: AtenCall) -> KernelPlan | None:
    """Return the plan of a concatenation; torch allows empty vectors of any type among the parts."""
    axis = call.attribute("axis")
    real = [part for part in call.parts if part.elements or len(part.shape) > 1]
    if not real or not isinstance(axis, int):
        return None
    out = call.tensor_of(concatenated([part.shape for part in real], axis), real[0].dtype)
    return call.plan(call.kernel("TensorMove" if len(real) == 1 else "ConcatD", real, [out], cost=0))


def stack(call: AtenCall) -> KernelPlan | None:
    """Return the plan of joining tensors along a new axis."""
    parts, axis = call.parts, call.attribute("axis")
    if not parts or not isinstance(axis, int):
        return None
    out = call.tensor_of(stacked(parts[0].shape, axis, len(parts)), parts[0].dtype)
    return call.plan(call.main_kernel(parts, [out], cost=0))


def rearrange(call: AtenCall) -> KernelPlan | None:
    """Return the plan of rearranging ``x``; the result has its shape."""
    (x,) = call.tensors("x")
    return call.plan(call.main_kernel([x], [x]))


def repeat(call: AtenCall) -> KernelPlan | None:
    """Return the plan of repeating ``x`` along its axes."""
    (x,), times = call.tensors("x"), call.dims("times")
    shape = None if times is None else tiled(x.shape, times)
    if times is None or shape is None:
        return None
    inputs = [x, TensorDesc((len(times),), _INDEX)]
    return call.plan(call.main_kernel(inputs, [call.tensor_of(shape, x.dtype)], cost=0))


def repeat_each(call: AtenCall) -> KernelPlan | None:
    """
    Return the plan of repeating each slice of ``x``.

    Numbers of repetitions in a tensor leave the length of the result unknown, unless the script gives it.
    """
    (x,), times, axis = call.tensors("x"), call.attribute("times"), call.attribute("axis")
    counts = call.tensor("times")
    form = evolve(call, binding=evolve(call.binding, api=_REPEATS[counts is None, isinstance(axis, int)]))
    shape = x.shape if isinstance(axis, int) else (x.elements,)
    axis = axis if isinstance(axis, int) else 0
    length = shape[axis] * times if isinstance(times, int) and shape else call.attribute("length")
    inputs = [x, counts or _ONE]
    if not isinstance(length, int):
        return call.plan(form.main_kernel(inputs, [], cost=0, read=x.size_bytes, written=x.size_bytes))
    out = call.tensor_of(replaced(shape, axis, length), x.dtype)
    return call.plan(form.main_kernel(inputs, [out], cost=0))


_REPEATS: Final = {
    (True, True): "aclnnRepeatInterleaveIntWithDim",
    (True, False): "aclnnRepeatInterleaveInt",
    (False, True): "aclnnRepeatInterleaveWithDim",
    (False, False): "aclnnRepeatInterleave",
}
"""Interfaces by whether one number says how often, and whether an axis is given."""


def pad(call: AtenCall) -> KernelPlan | None:
    """Return the plan of padding by pairs that begin with the last dimension."""
    (x,), pads = call.tensors("x"), call.dims("pads")
    shape = None if pads is None else padded(x.shape, pads)
    if shape is None:
        return None
    inputs = [x, TensorDesc((2 * len(shape),), _INDEX), scalar(x.dtype)]
    return call.plan(call.main_kernel(inputs, [call.tensor_of(shape, x.dtype)], cost=0))


def _sizes(x: TensorDesc) -> TensorDesc:
    return TensorDesc((max(len(x.shape), 1),), _INDEX)


NAMES: Final = (
    Named(embedding, "x! index!", "embedding=Embedding:GatherV2"),
    Named(
        embedding_gradient,
        "dy! index! rows",
        "embedding_dense_backward=EmbeddingDenseBackward:EmbeddingDenseGradV2",
    ),
    Named(select, "x! axis index!", "index_select=IndexSelect:GatherV3"),
    Named(gather, "x! axis index!", "gather=Gather:GatherElementsV2"),
    Named(index, "x! indices", "index=Index"),
    Named(put, "x! indices values!", "_index_put_impl_=IndexPutImpl:IndexPutV2"),
    Named(
        scatter,
        "x! axis index! source",
        "scatter=Scatter:ScatterElements scatter_=InplaceScatter:ScatterElements "
        "scatter_add=ScatterAdd:ScatterElements scatter_add_=InplaceScatterAdd:ScatterElements "
        "index_add=IndexAdd:InplaceIndexAdd index_add_=InplaceIndexAdd index_copy_=InplaceIndexCopy:ScatterUpdate "
        "index_fill_=InplaceIndexFill:IndexFillD",
    ),
    Named(nonzero, "x!", "nonzero=NonzeroV2:NonZero"),
    Named(masked_select, "x! mask", "masked_select=MaskedSelect:MaskedSelectV3 unique_consecutive=UniqueConsecutive"),
    Named(masked_scatter, "x! mask! source!", "masked_scatter_=InplaceMaskedScatter:MaskedScatter"),
    Named(one_hot, "x! classes", "one_hot=OneHot"),
    Named(join, "parts axis", "cat=Cat:ConcatD"),
    Named(stack, "parts axis", "stack=Stack:Pack"),
    Named(
        rearrange,
        "x!",
        "flip=Flip:ReverseV2 roll=Roll tril=Tril tril_=InplaceTril:Tril triu=Triu triu_=InplaceTriu:Triu",
    ),
    Named(repeat, "x! times", "repeat=Repeat:Tile"),
    Named(repeat_each, "x! times axis length", "repeat_interleave=RepeatInterleave"),
    Named(pad, "x! pads", "constant_pad_nd=ConstantPadNd:PadV3"),
)
