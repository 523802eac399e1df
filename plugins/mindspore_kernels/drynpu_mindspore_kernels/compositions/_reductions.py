"""Reductions, scans, and what orders elements."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from scipy import special

from drynpu_mindspore_kernels.compositions._arguments import Numbers


def read_axes(x: Any, dim: Any) -> tuple[int, ...]:
    """Return the dims that *dim*, a number, several or none, says; none are all dims of *x*."""
    if dim is None or not np.size(dim):
        return tuple(range(x.ndim))
    return tuple(int(d) for d in np.ravel(dim))


def _moments(x: Any, dim: Numbers = None, correction: Any = 1, keepdim: Any = False) -> tuple[Any, Any]:
    axes, keep = read_axes(x, dim), bool(keepdim)
    count = x.size // max(int(np.prod([x.shape[a] for a in range(x.ndim) if not _within(a, axes, x.ndim)])), 1)
    squares = ((x - x.mean(axes, keepdims=True)) ** 2).sum(axes, keepdims=keep)
    return squares / np.float32(count - int(correction)), x.mean(axes, keepdims=keep)


def _within(axis: int, axes: tuple[int, ...], ndim: int) -> bool:
    return axis in {each % ndim for each in axes}


def _var(x: Any, dim: Numbers = None, correction: Any = 1, keepdim: Any = False) -> Any:
    return _moments(x, dim, correction, keepdim)[0]


def _std(x: Any, dim: Numbers = None, correction: Any = 1, keepdim: Any = False) -> Any:
    return np.sqrt(_var(x, dim, correction, keepdim))


def _var_mean(x: Any, dim: Numbers = None, correction: Any = 1, keepdim: Any = False) -> Any:
    return _moments(x, dim, correction, keepdim)


def _std_mean(x: Any, dim: Numbers = None, correction: Any = 1, keepdim: Any = False) -> Any:
    var, mean = _moments(x, dim, correction, keepdim)
    return np.sqrt(var), mean


def _log_sum_exp(x: Any, dim: Numbers, keepdim: Any = False) -> Any:
    return special.logsumexp(x, read_axes(x, dim), keepdims=bool(keepdim))


def _count_nonzero(x: Any, dim: Numbers = None) -> Any:
    return np.count_nonzero(x, read_axes(x, dim))


def _nansum(x: Any, dim: Numbers = None, keepdim: Any = False, dtype: Any = None) -> Any:
    del dtype
    return np.nansum(x, read_axes(x, dim), keepdims=bool(keepdim))


def _arg(find: Callable[..., Any]) -> Callable[..., Any]:
    def search(x: Any, dim: Numbers = None, keepdim: Any = False) -> Any:
        if dim is None:
            return np.reshape(find(x), [1] * x.ndim if keepdim else [])
        return find(x, int(dim), keepdims=bool(keepdim))

    return search


def _order(x: Any, dim: Any, descending: Any) -> Any:
    """Return the places that sort *x*, equal elements in their order."""
    axis = int(dim)
    if not descending:
        return np.argsort(x, axis, kind="stable")
    last = x.shape[axis] - 1
    turned = np.argsort(np.flip(x, axis), axis, kind="stable")
    return last - np.flip(turned, axis)


def _sort(x: Any, dim: Any = -1, descending: Any = False, stable: Any = False) -> Any:
    del stable
    if not x.ndim:
        return x, np.zeros((), np.int64)
    places = _order(x, dim, descending)
    return np.take_along_axis(x, places, int(dim)), places


def _argsort(x: Any, dim: Any = -1, descending: Any = False, stable: Any = False) -> Any:
    return _sort(x, dim, descending, stable)[1]


def _topk(x: Any, k: Any, dim: Any = -1, largest: Any = True, in_order: Any = True) -> Any:
    del in_order
    axis = int(dim)
    places = np.take(_order(x, axis, largest), range(int(k)), axis)
    return np.take_along_axis(x, places, axis), places


def _kth(x: Any, k: Any, dim: Any = -1, keepdim: Any = False) -> Any:
    axis = int(dim)
    places = np.take(_order(x, axis, False), [int(k) - 1], axis)
    values = np.take_along_axis(x, places, axis)
    return (values, places) if keepdim else (values.squeeze(axis), places.squeeze(axis))


def _median_of_dim(x: Any, dim: Any = -1, keepdim: Any = False) -> Any:
    return _kth(x, (x.shape[int(dim)] + 1) // 2, dim, keepdim)


def _median(x: Any) -> Any:
    return np.sort(np.ravel(x))[(x.size - 1) // 2]


def _cumsum(x: Any, dim: Any, dtype: Any = None) -> Any:
    del dtype
    return np.cumsum(x, int(dim))


def _cummin(x: Any, dim: Any) -> Any:
    axis = int(dim)
    values = np.minimum.accumulate(x, axis)
    place = np.expand_dims(np.arange(x.shape[axis]), [a for a in range(x.ndim) if a != axis % x.ndim])
    # Of equal ones the last is named.
    return values, np.maximum.accumulate(np.where(x == values, place, 0), axis)


def _histogram(x: Any, bins: Any = 100, low: Any = 0, high: Any = 0) -> Any:
    limits = (float(low), float(high))
    if limits[0] == limits[1]:
        limits = (float(x.min()), float(x.max()))
    return np.histogram(x, int(bins), limits)[0]


def _bincount(x: Any, weights: Any = None, minlength: Any = 0) -> Any:
    return np.bincount(x, weights, int(minlength))


def _trace(x: Any) -> Any:
    return np.trace(x)


def _any_infinite(*tensors: Any) -> Any:
    return not all(np.isfinite(x).all() for x in tensors)


REDUCTIONS: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "AllFinite": _any_infinite,
        "Var": _var,
        "Std": _std,
        "VarMean": _var_mean,
        "StdMean": _std_mean,
        "LogSumExp": _log_sum_exp,
        "CountNonZero": _count_nonzero,
        "Nansum": _nansum,
        "ArgMaxExt": _arg(np.argmax),
        "ArgMinExt": _arg(np.argmin),
        "SortExt": _sort,
        "ArgSort": _argsort,
        "TopkExt": _topk,
        "Kthvalue": _kth,
        "MedianDim": _median_of_dim,
        "MedianExt": _median,
        "CumsumExt": _cumsum,
        "CumminExt": _cummin,
        "HistcExt": _histogram,
        "BincountExt": _bincount,
        "TraceExt": _trace,
    }
)
"""By primitive, as MindSpore's documentation of the primitive or of its function defines it."""
