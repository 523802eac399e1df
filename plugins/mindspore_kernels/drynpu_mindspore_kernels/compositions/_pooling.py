"""Pooling over windows and over as many windows as are wanted, with gradients; windows as columns (unfold)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import numpy as np

from drynpu_mindspore_kernels.compositions._arguments import Flag, Numbers, at, several

_Placed: TypeAlias = Iterator[tuple[tuple[int, ...], list[slice]]]
"""Places, and what is seen from each."""


def _result_sizes(x: Any, edges: Any, stride: Any, pads: Any, ceil: bool) -> list[int]:
    """Return how often a window stands in each of the last dims; none begins behind the input and its low pad."""
    sizes = []
    for size, edge, step, pad in zip(x.shape[-len(edges) :], edges, stride, pads, strict=True):
        room = size + 2 * pad - edge
        count = (-(-room // step) if ceil else room // step) + 1
        sizes.append(count - (ceil and (count - 1) * step >= size + pad))
    return sizes


def _pieces(x: Any, edges: Any, stride: Any, pads: Any, ceil: Any) -> _Placed:
    """Yield the place of each window in the result, and what it covers of the input and its pads, from 0 on."""
    dims = len(edges)
    sizes = _result_sizes(x, edges, stride, pads, bool(ceil))
    ends = [size + 2 * pad for size, pad in zip(x.shape[-dims:], pads, strict=True)]
    for place in itertools.product(*map(range, sizes)):
        starts = [index * step for index, step in zip(place, stride, strict=True)]
        yield place, [slice(s, min(s + edge, end)) for s, edge, end in zip(starts, edges, ends, strict=True)]


def _inside(window: list[slice], pads: Any, sizes: Any) -> list[slice]:
    """Return the part of a window that is input and not pad."""
    return [
        slice(max(part.start - pad, 0), min(part.stop - pad, size))
        for part, pad, size in zip(window, pads, sizes, strict=True)
    ]


def _settings(edges: Any, stride: Any, padding: Any, dims: int) -> tuple[list[int], list[int], list[int]]:
    edges = several(edges, dims)
    step = edges if stride is None or not np.size(stride) else several(stride, dims)
    return edges, step, several(padding, dims)


def _divisor(window: list[slice], inside: list[slice], counts_pads: Any, divisor: Any) -> int:
    if divisor is not None:
        return int(divisor)
    return int(np.prod([part.stop - part.start for part in (window if counts_pads else inside)]))


def _average_pool(dims: int) -> Callable[..., Any]:
    def pool(
        x: Any,
        edges: Numbers,
        stride: Numbers = None,
        padding: Numbers = 0,
        ceil: Flag = False,
        counts_pads: Any = True,
        divisor: Any = None,
    ) -> Any:
        sides, step, pads = _settings(edges, stride, padding, dims)
        result = np.zeros((*x.shape[:-dims], *_result_sizes(x, sides, step, pads, bool(ceil))), x.dtype)
        for place, window in _pieces(x, sides, step, pads, ceil):
            inside = _inside(window, pads, x.shape[-dims:])
            total = x[at(..., *inside)].sum(tuple(range(-dims, 0)))
            result[at(..., *place)] = total / _divisor(window, inside, counts_pads, divisor)
        return result

    return pool


def _average_gradient(dims: int) -> Callable[..., Any]:
    def gradient(
        dy: Any,
        x: Any,
        edges: Numbers,
        stride: Numbers = None,
        padding: Numbers = 0,
        ceil: Flag = False,
        counts_pads: Any = True,
        divisor: Any = None,
    ) -> Any:
        sides, step, pads = _settings(edges, stride, padding, dims)
        if _result_sizes(x, sides, step, pads, bool(ceil)) != list(dy.shape[-dims:]):
            raise ValueError("windows do not lead to the result")
        dx = np.zeros_like(x)
        for place, window in _pieces(x, sides, step, pads, ceil):
            inside = _inside(window, pads, x.shape[-dims:])
            share = dy[at(..., *place)] / _divisor(window, inside, counts_pads, divisor)
            dx[at(..., *inside)] += share[at(..., *[None] * dims)]
        return dx

    return gradient


def _shares(x: Any, sizes: Any) -> _Placed:
    """Yield each place of a result of *sizes*, and the part of *x* that is pooled for it."""
    dims = len(sizes)
    whole = [x.shape[axis - dims] if size < 0 else size for axis, size in enumerate(sizes)]
    for place in itertools.product(*map(range, whole)):
        yield (
            place,
            [
                slice(index * size // count, -(-(index + 1) * size // count))
                for index, size, count in zip(place, x.shape[-dims:], whole, strict=True)
            ],
        )


def _adaptive_average(dims: int) -> Callable[..., Any]:
    def pool(x: Any, sizes: Numbers) -> Any:
        parts = dict(_shares(x, several(sizes, dims)))
        shape = [1 + last for last in max(parts)]
        result = np.zeros((*x.shape[:-dims], *shape), x.dtype)
        for place, part in parts.items():
            result[at(..., *place)] = x[at(..., *part)].mean(tuple(range(-dims, 0)))
        return result

    return pool


def _adaptive_gradient(dims: int) -> Callable[..., Any]:
    def gradient(dy: Any, x: Any) -> Any:
        dx = np.zeros_like(x)
        for place, part in _shares(x, dy.shape[-dims:]):
            count = np.prod([side.stop - side.start for side in part])
            dx[at(..., *part)] += (dy[at(..., *place)] / count)[at(..., *[None] * dims)]
        return dx

    return gradient


def _adaptive_maximum(x: Any, sizes: Numbers) -> Any:
    parts = list(_shares(x, several(sizes, 1)))
    values = [x[..., part].max(-1) for _, (part,) in parts]
    places = [x[..., part].argmax(-1) + part.start for _, (part,) in parts]
    return np.stack(values, -1), np.stack(places, -1)


def _spread_windows(edges: Any, sizes: Any, stride: Any, dilation: Any) -> _Placed:
    """Yield each place of a window, and what it sees of the padded input wherever the window stands."""
    for place in itertools.product(*map(range, edges)):
        yield (
            place,
            [
                slice(index * wide, index * wide + step * (count - 1) + 1, step)
                for index, wide, step, count in zip(place, dilation, stride, sizes, strict=True)
            ],
        )


def _maxima(x: Any, edges: Any, stride: Any, padding: Any, dilation: Any, ceil: Any) -> tuple[Any, Any]:
    """Return the largest of each window of an image, and its place in the image as one number."""
    sides, step, pads = _settings(edges, stride, padding, 2)
    wide = several(dilation, 2)
    reach = [spread * (side - 1) + 1 for spread, side in zip(wide, sides, strict=True)]
    sizes = _result_sizes(x, reach, step, pads, bool(ceil))
    more = [
        max((count - 1) * each + side - size - pad, pad)
        for count, each, side, size, pad in zip(sizes, step, reach, x.shape[-2:], pads, strict=True)
    ]
    around = [(0, 0)] * (x.ndim - 2) + list(zip(pads, more, strict=True))
    padded = np.pad(x, around, constant_values=-np.inf)
    numbers = np.pad(np.arange(np.prod(x.shape[-2:])).reshape(x.shape[-2:]), around[-2:], constant_values=-1)
    best, place = np.full((*x.shape[:-2], *sizes), -np.inf, x.dtype), np.zeros((*x.shape[:-2], *sizes), np.int64)
    for _, window in _spread_windows(sides, sizes, step, wide):
        seen = padded[at(..., *window)]
        larger = (seen > best) | np.isnan(seen)
        best, place = np.where(larger, seen, best), np.where(larger, numbers[tuple(window)], place)
    return best, place


def _max_pool(
    x: Any,
    edges: Numbers,
    stride: Numbers = None,
    padding: Numbers = 0,
    dilation: Numbers = 1,
    ceil: Flag = False,
    kind: Any = None,
) -> Any:
    del kind
    return _maxima(x, edges, stride, padding, dilation, ceil)


def _masked_max_pool(
    x: Any,
    edges: Numbers,
    stride: Numbers = None,
    padding: Numbers = 0,
    dilation: Numbers = 1,
    ceil: Flag = False,
    kind: Any = None,
) -> Any:
    del kind
    # The mask of a device has a form of its own; the gradient looks for the places again.
    return _maxima(x, edges, stride, padding, dilation, ceil)[0], np.int8(0)


def _max_gradient(
    x: Any,
    dy: Any,
    argmax: Any,
    edges: Numbers,
    stride: Numbers = None,
    padding: Numbers = 0,
    dilation: Numbers = 1,
    ceil: Flag = False,
    kind: Any = None,
) -> Any:
    del argmax, kind
    place = _maxima(x, edges, stride, padding, dilation, ceil)[1]
    planes = int(np.prod(x.shape[:-2]))
    size = int(np.prod(x.shape[-2:]))
    where = (place.reshape(planes, -1) + size * np.arange(planes)[:, None]).ravel()
    return np.bincount(where, dy.ravel(), planes * size).reshape(x.shape)


def _columns(x: Any, edges: Numbers, dilation: Numbers = 1, padding: Numbers = 0, stride: Numbers = 1) -> Any:
    sides, wide, pads, step = (several(each, 2) for each in (edges, dilation, padding, stride))
    image = x[None] if x.ndim < 4 else x
    sizes = _result_sizes(image, [w * (s - 1) + 1 for w, s in zip(wide, sides, strict=True)], step, pads, False)
    padded = np.pad(image, [(0, 0), (0, 0), *[(pad, pad) for pad in pads]])
    parts = [padded[at(..., *window)] for _, window in _spread_windows(sides, sizes, step, wide)]
    result = np.stack(parts, 2).reshape(image.shape[0], -1, int(np.prod(sizes)))
    return result[0] if x.ndim < 4 else result


def _from_columns(
    x: Any, size: Numbers, edges: Numbers, dilation: Numbers = 1, padding: Numbers = 0, stride: Numbers = 1
) -> Any:
    size, sides, wide, pads, step = (several(each, 2) for each in (size, edges, dilation, padding, stride))
    columns = x[None] if x.ndim < 3 else x
    image = np.zeros((columns.shape[0], columns.shape[1] // int(np.prod(sides)), *size), x.dtype)
    sizes = _result_sizes(image, [w * (s - 1) + 1 for w, s in zip(wide, sides, strict=True)], step, pads, False)
    padded = np.pad(image, [(0, 0), (0, 0), *[(pad, pad) for pad in pads]])
    parts = columns.reshape(*image.shape[:2], int(np.prod(sides)), *sizes)
    for number, (_, window) in enumerate(_spread_windows(sides, sizes, step, wide)):
        padded[at(..., *window)] += parts[:, :, number]
    result = padded[:, :, pads[0] : pads[0] + size[0], pads[1] : pads[1] + size[1]]
    return result[0] if x.ndim < 3 else result


def _patches(x: Any, sizes: Numbers, strides: Numbers, rates: Numbers, padding: Any = 2) -> Any:
    """Return windows side by side, channels innermost; sizes, strides and rates end with rows and columns."""
    sides, step, wide = (several(np.ravel(each)[-2:], 2) for each in (sizes, strides, rates))
    pads = [(0, 0), (0, 0)]
    if int(padding) != _VALID:
        spans = [w * (s - 1) + 1 for w, s in zip(wide, sides, strict=True)]
        more = [
            max((-(-size // by) - 1) * by + span - size, 0)
            for size, by, span in zip(x.shape[2:], step, spans, strict=True)
        ]
        pads = [(each // 2, each - each // 2) for each in more]
    padded = np.pad(x, [(0, 0), (0, 0), *pads])
    columns = _columns(padded, sides, wide, 0, step)
    spans = [w * (s - 1) + 1 for w, s in zip(wide, sides, strict=True)]
    shape = [(size - span) // by + 1 for size, span, by in zip(padded.shape[2:], spans, step, strict=True)]
    parts = columns.reshape(x.shape[0], x.shape[1], sides[0] * sides[1], *shape)
    return np.swapaxes(parts, 1, 2).reshape(x.shape[0], -1, *shape)


_VALID = 2
"""``PadMode`` of MindSpore; 1 is same."""


def _max_unpool(
    x: Any, places: Any, edges: Numbers, stride: Numbers = None, padding: Numbers = 0, size: Numbers = None
) -> Any:
    sides, step, pads = _settings(edges, stride, padding, 2)
    if size is None or not np.size(size):
        rows = zip(x.shape[-2:], sides, step, pads, strict=True)
        sizes = [(count - 1) * jump - 2 * pad + side for count, side, jump, pad in rows]
    else:
        sizes = [int(number) for number in np.ravel(size)[-2:]]
    result = np.zeros((int(np.prod(x.shape[:-2])), int(np.prod(sizes))), x.dtype)
    np.put_along_axis(result, places.reshape(len(result), -1), x.reshape(len(result), -1), 1)
    return result.reshape(*x.shape[:-2], *sizes)


POOLING: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "AvgPool1D": _average_pool(1),
        "AvgPool2D": _average_pool(2),
        "AvgPool3DExt": _average_pool(3),
        "AvgPool2DGrad": _average_gradient(2),
        "AvgPool3DGradExt": _average_gradient(3),
        "AdaptiveAvgPool1D": _adaptive_average(1),
        "AdaptiveAvgPool2DExt": _adaptive_average(2),
        "AdaptiveAvgPool3DExt": _adaptive_average(3),
        "AdaptiveAvgPool2DGradExt": _adaptive_gradient(2),
        "AdaptiveAvgPool3DGradExt": _adaptive_gradient(3),
        "AdaptiveMaxPool1D": _adaptive_maximum,
        "MaxPoolWithIndices": _max_pool,
        "MaxPoolWithMask": _masked_max_pool,
        "MaxPoolGradWithIndices": _max_gradient,
        "MaxPoolGradWithMask": _max_gradient,
        "MaxUnpool2DExt": _max_unpool,
        "Im2ColExt": _columns,
        "ExtractImagePatches": _patches,
        "Col2ImGrad": _columns,
        "Col2ImExt": _from_columns,
    }
)
"""By primitive, as MindSpore's documentation of the primitive or of its function defines it."""
