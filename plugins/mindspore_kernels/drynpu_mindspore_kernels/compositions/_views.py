"""Parts and other views of a tensor, which a graph computes as copies."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from drynpu_mindspore_kernels.compositions._arguments import Numbers, at


def _transpose_pair(x: Any, dim0: Any, dim1: Any) -> Any:
    return np.swapaxes(x, int(dim0), int(dim1))


def _transpose(x: Any, order: Numbers) -> Any:
    return np.transpose(x, [int(axis) for axis in np.ravel(order)])


def _split(x: Any, size: Any, dim: Any = 0) -> Any:
    return tuple(np.split(x, range(int(size), x.shape[int(dim)], int(size)), int(dim)))


def _split_with_sizes(x: Any, sizes: Numbers, dim: Any = 0) -> Any:
    return tuple(np.split(x, np.cumsum(np.ravel(sizes))[:-1], int(dim)))


def _chunk(x: Any, chunks: Any, dim: Any = 0) -> Any:
    return _split(x, -(-x.shape[int(dim)] // int(chunks)), dim)


def _narrow(x: Any, dim: Any, start: Any, length: Any) -> Any:
    return _slice(x, dim, start, int(start) % x.shape[int(dim)] + int(length))


def _slice(x: Any, dim: Any, start: Any, end: Any, step: Any = 1) -> Any:
    axis = int(dim) % x.ndim
    return x[at(*[slice(None)] * axis, slice(int(start), int(end), int(step)))]


def _select(x: Any, dim: Any, index: Any) -> Any:
    return np.take(x, int(index), int(dim))


def _unstack(x: Any, dim: Any = 0) -> Any:
    return tuple(np.moveaxis(x, int(dim), 0))


def _diagonal(x: Any, offset: Any = 0, dim1: Any = 0, dim2: Any = 1) -> Any:
    return np.diagonal(x, int(offset), int(dim1), int(dim2))


def _broadcast(x: Any, shape: Numbers) -> Any:
    sizes = [int(size) for size in np.ravel(shape)]
    known = [1] * (len(sizes) - x.ndim) + list(x.shape)
    return np.broadcast_to(x, [each if size == -1 else size for size, each in zip(sizes, known, strict=True)])


def _same(x: Any, *rest: Any) -> Any:
    """Return the elements, in whose shape MindSpore writes them."""
    del rest
    return x


def _split_at(x: Any, *, size_splits: Any = (), split_dim: int = 0) -> tuple[Any, ...]:
    """Return parts of given sizes, of which -1 stands for what the others leave."""
    sizes = [int(size) for size in np.ravel(size_splits)]
    if -1 in sizes:
        sizes[sizes.index(-1)] = x.shape[split_dim] - sum(size for size in sizes if size != -1)
    return tuple(np.split(x, np.cumsum(sizes)[:-1], split_dim))


VIEWS: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "TransposeExtView": _transpose_pair,
        "TransposeView": _transpose,
        "TExt": lambda x: x.T,
        "SplitTensor": _split,
        "SplitV": _split_at,
        "SplitTensorView": _split,
        "SplitWithSize": _split_with_sizes,
        "SplitWithSizeView": _split_with_sizes,
        "Chunk": _chunk,
        "ChunkView": _chunk,
        "Narrow": _narrow,
        "NarrowView": _narrow,
        "SelectExtView": _select,
        "UnstackExtView": _unstack,
        "DiagonalView": _diagonal,
        "BroadcastToView": _broadcast,
        "ExpandAs": lambda x, like: np.broadcast_to(x, like.shape),
        "ExpandDimsView": lambda x, dim: np.expand_dims(x, int(dim)),
        "FlattenExt": _same,
        "ViewAs": _same,
        "Contiguous": _same,
        "Copy": _same,
    }
)
"""By primitive, as MindSpore's documentation of the primitive or of its function defines it."""
