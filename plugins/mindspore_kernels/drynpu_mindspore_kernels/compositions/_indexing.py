"""Elements chosen by index, moved, joined, repeated and padded."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from drynpu_mindspore_kernels.compositions._arguments import Numbers


def _embedding(
    index: Any, weight: Any, padding: Any = None, max_norm: Any = None, order: Any = 2.0, by_frequency: Any = False
) -> Any:
    del padding, by_frequency
    if max_norm is not None:
        rows = np.unique(index)
        norms = np.linalg.norm(weight[rows], float(order), axis=1)
        weight[rows] *= np.where(norms > max_norm, max_norm / (norms + 1e-7), 1)[:, None]
    return weight[index]


def _embedding_gradient(dy: Any, index: Any, rows: Any, padding: Any = None, by_frequency: Any = False) -> Any:
    places, flat = np.ravel(index), dy.reshape(-1, dy.shape[-1])
    if by_frequency:
        flat = flat / np.bincount(places)[places][:, None]
    if padding is not None:
        flat = np.where((places == int(padding) % int(rows))[:, None], 0, flat)
    result = np.zeros((int(rows), dy.shape[-1]), dy.dtype)
    np.add.at(result, places, flat)
    return result


def _index_select(x: Any, dim: Any, index: Any) -> Any:
    return np.take(x, index, int(dim))


def _take(x: Any, index: Any) -> Any:
    return np.take(x, index)


def _index_add(x: Any, dim: Any, index: Any, source: Any, alpha: Any = 1) -> Any:
    result = np.moveaxis(x.copy(), int(dim), 0)
    np.add.at(result, np.ravel(index), np.moveaxis(alpha * source, int(dim), 0))
    return np.moveaxis(result, 0, int(dim))


def _index_fill(x: Any, dim: Any, index: Any, value: Any) -> Any:
    result = np.moveaxis(x.copy(), int(dim), 0)
    result[np.ravel(index)] = value
    return np.moveaxis(result, 0, int(dim))


def _index_copy(x: Any, dim: Any, index: Any, source: Any) -> Any:
    result = np.moveaxis(x.copy(), int(dim), 0)
    result[np.ravel(index)] = np.moveaxis(source, int(dim), 0)
    return np.moveaxis(result, 0, int(dim))


def _places(index: Any, dim: int) -> tuple[Any, ...]:
    """Return what indexes an array where *index* says the place in *dim*, and stands at the others."""
    places = list(np.indices(index.shape, sparse=True))
    places[dim] = index
    return tuple(places)


def _scatter_add(x: Any, dim: Any, index: Any, source: Any) -> Any:
    result = x.copy()
    np.add.at(result, _places(index, int(dim)), source[tuple(map(slice, index.shape))])
    return result


def _scatter(x: Any, dim: Any, index: Any, source: Any, reduce: Any = 0) -> Any:
    result = x.copy()
    values = source[tuple(map(slice, index.shape))] if source.ndim else source
    # ``Reduce`` of MindSpore: 1 adds, 2 multiplies, others write.
    changes: dict[int, Any] = {1: np.add, 2: np.multiply}
    if int(reduce) in changes:
        changes[int(reduce)].at(result, _places(index, int(dim)), values)
    else:
        result[_places(index, int(dim))] = values
    return result


def _masked_scatter(x: Any, mask: Any, source: Any) -> Any:
    result = x.copy()
    wide = np.broadcast_to(mask, x.shape)
    result[wide] = np.ravel(source)[: int(wide.sum())]
    return result


def _put(x: Any, index: Any, source: Any, accumulate: Any = False) -> Any:
    result = x.copy()
    flat, places = result.reshape(-1), np.ravel(index)
    if accumulate:
        np.add.at(flat, places, np.ravel(source))
    else:
        flat[places] = np.ravel(source)
    return result


def _repeat(x: Any, repeats: Any, dim: Any = None, output_size: Any = None) -> Any:
    del output_size
    return np.repeat(x, np.ravel(repeats) if np.size(repeats) > 1 else int(np.ravel(repeats)[0]), _axis(dim))


def _axis(dim: Any) -> int | None:
    return None if dim is None else int(dim)


def _repeat_gradient(dy: Any, repeats: Any, dim: Any) -> Any:
    axis = int(dim)
    counts = np.ravel(repeats)
    if len(counts) == 1:
        counts = np.repeat(counts, dy.shape[axis] // counts[0])
    result = np.zeros((len(counts), *np.moveaxis(dy, axis, 0).shape[1:]), dy.dtype)
    # An element that was repeated no times gets nothing.
    np.add.at(result, np.repeat(np.arange(len(counts)), counts), np.moveaxis(dy, axis, 0))
    return np.moveaxis(result, 0, axis)


def _tiled(x: Any, repeats: Numbers) -> Any:
    return np.tile(x, tuple(np.ravel(repeats)))


def _stack(*arguments: Any) -> Any:
    *tensors, dim = arguments
    return np.stack(tensors, int(dim))


def _roll(x: Any, shifts: Numbers, dims: Numbers = None) -> Any:
    counts = tuple(int(count) for count in np.ravel(shifts))
    if dims is None or not np.size(dims):
        return np.roll(x, counts[0])
    return np.roll(x, counts, tuple(int(dim) for dim in np.ravel(dims)))


def _one_hot(index: Any, classes: Any, on: Any, off: Any, axis: Any = -1) -> Any:
    depth = int(classes) if int(classes) > 0 else int(index.max()) + 1
    hot = np.expand_dims(index, -1) == np.arange(depth)
    return np.moveaxis(np.where(hot, on, off), -1, int(axis))


def _tril(x: Any, diagonal: Any = 0) -> Any:
    return np.tril(x, int(diagonal))


def _diag(x: Any, diagonal: Any = 0) -> Any:
    return np.diag(x, int(diagonal))


def _pads(x: Any, padding: Any) -> list[tuple[int, int]]:
    """Return pads of each dim of *x* by *padding*, which begins with the last dim."""
    numbers = [int(number) for number in np.ravel(padding)]
    pairs = list(zip(numbers[::2], numbers[1::2], strict=True))[::-1]
    return [(0, 0)] * (x.ndim - len(pairs)) + pairs


def _constant_pad(x: Any, padding: Numbers, value: Any = 0.0) -> Any:
    pads = _pads(x, padding)
    result = np.pad(x, [(max(low, 0), max(high, 0)) for low, high in pads], constant_values=value)
    inner = [slice(max(-low, 0), size - max(-high, 0)) for (low, high), size in zip(pads, result.shape, strict=True)]
    return result[tuple(inner)]


def _reflection_pad(x: Any, padding: Numbers) -> Any:
    return np.pad(x, _pads(x, padding), mode="reflect")


def _replication_pad(x: Any, padding: Numbers) -> Any:
    return np.pad(x, _pads(x, padding), mode="edge")


def _pad_gradient(mode: Any) -> Any:
    """Return the gradient of a pad: every element of the result goes back to the one that it was copied from."""

    def gradient(dy: Any, x: Any, padding: Numbers) -> Any:
        origin = np.pad(np.arange(x.size).reshape(x.shape), _pads(x, padding), mode=mode)
        return np.bincount(origin.ravel(), dy.ravel(), x.size).reshape(x.shape)

    return gradient


def _index_put(x: Any, *arguments: Any) -> Any:
    """Return *x* with values at the places that the arrays between say; the last argument adds them up."""
    *index, source, accumulate = arguments
    result = x.copy()
    places = tuple(each if each.dtype == np.bool_ else each.astype(np.int64) for each in index)
    if accumulate:
        np.add.at(result, places, source)
    else:
        result[places] = source
    return result


def _index(x: Any, *index: Any) -> Any:
    return x[tuple(each if each.dtype == np.bool_ else each.astype(np.int64) for each in index)]


def _fill_diagonal(x: Any, value: Any, wraps: Any = False) -> Any:
    result = x.copy()
    np.fill_diagonal(result, value, bool(wraps))
    return result


_REFLECTED, _REPLICATED = _pad_gradient("reflect"), _pad_gradient("edge")


def _search(rows: Any, values: Any, order: Any = None, dtype: Any = None, right: Any = False) -> Any:
    """Return where values belong in sorted rows, of which there is one for all or one for each row of values."""
    del dtype
    rows = rows if order is None else np.take_along_axis(rows, order, -1)
    side: Any = "right" if right else "left"
    if rows.ndim == 1:
        return np.searchsorted(rows, values, side)
    pairs = zip(rows.reshape(-1, rows.shape[-1]), values.reshape(-1, values.shape[-1]), strict=True)
    return np.array([np.searchsorted(row, each, side) for row, each in pairs]).reshape(values.shape)


INDEXING: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "Embedding": _embedding,
        "EmbeddingDenseBackward": _embedding_gradient,
        "IndexSelect": _index_select,
        "Take": _take,
        "IndexAddExt": _index_add,
        "IndexFillScalar": _index_fill,
        "IndexFillTensor": _index_fill,
        "InplaceIndexAddExt": _index_add,
        "InplaceIndexCopy": _index_copy,
        "InplaceIndexFillScalar": _index_fill,
        "InplaceIndexFillTensor": _index_fill,
        "ScatterAddExt": _scatter_add,
        "InplaceScatterAdd": _scatter_add,
        "InplaceScatterSrc": _scatter,
        "InplaceScatterSrcReduce": _scatter,
        "InplaceScatterValue": _scatter,
        "InplaceScatterValueReduce": _scatter,
        "InplaceMaskedScatter": _masked_scatter,
        "InplacePut": _put,
        "SearchSorted": _search,
        "SparseGatherV2": lambda x, places, dim: np.take(x, places, int(dim)),
        "Index": _index,
        "InnerIndex": _index,
        "InplaceIndexPut": _index_put,
        "InplaceFillDiagonal": _fill_diagonal,
        "RepeatInterleaveInt": _repeat,
        "RepeatInterleaveTensor": _repeat,
        "RepeatInterleaveGrad": _repeat_gradient,
        "Repeat": _tiled,
        "StackExt": _stack,
        "Roll": _roll,
        "OneHotExt": _one_hot,
        "TrilExt": _tril,
        "DiagExt": _diag,
        "ConstantPadND": _constant_pad,
        "ReflectionPad1D": _reflection_pad,
        "ReflectionPad2D": _reflection_pad,
        "ReflectionPad3D": _reflection_pad,
        "ReflectionPad1DGrad": _REFLECTED,
        "ReflectionPad2DGrad": _REFLECTED,
        "ReflectionPad3DGrad": _REFLECTED,
        "ReplicationPad1D": _replication_pad,
        "ReplicationPad2D": _replication_pad,
        "ReplicationPad3D": _replication_pad,
        "ReplicationPad1DGrad": _REPLICATED,
        "ReplicationPad2DGrad": _REPLICATED,
        "ReplicationPad3DGrad": _REPLICATED,
    }
)
"""By primitive, as MindSpore's documentation of the primitive or of its function defines it."""
