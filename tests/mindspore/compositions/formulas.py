"""What the formulas of docs/mindspore-calls.yaml and mindspore-ops-calls.yaml may use: NumPy, SciPy and functions."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg as matrices
from scipy import special


def normalised(x: Any, axes: Any, eps: float = 1e-5) -> Any:
    """Return *x* with mean 0 and variance 1 over *axes*."""
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


def convolved(x: Any, weight: Any, bias: Any, stride: Any, pads: Any) -> Any:
    """Return a convolution, one element of the result after the other."""
    x = np.pad(x, [(0, 0), (0, 0), *[(pad, pad) for pad in pads]])
    edges = weight.shape[2:]
    sizes = [(size - edge) // step + 1 for size, edge, step in zip(x.shape[2:], edges, stride, strict=True)]
    result = np.zeros((x.shape[0], weight.shape[0], *sizes), np.result_type(x, weight))
    for place in np.ndindex(*sizes):
        starts = [index * step for index, step in zip(place, stride, strict=True)]
        window = tuple(slice(start, start + edge) for start, edge in zip(starts, edges, strict=True))
        seen = x[(slice(None), slice(None), *window)]
        result[(slice(None), slice(None), *place)] = np.tensordot(seen, weight, (range(1, x.ndim), range(1, x.ndim)))
    return result + np.reshape(bias, (1, -1, *[1] * len(sizes)))


def deconvolved(x: Any, weight: Any, stride: Any, pads: Any) -> Any:
    """Return a transposed convolution: every element of the input adds a window to the result."""
    edges = weight.shape[2:]
    sizes = [(size - 1) * step + edge for size, edge, step in zip(x.shape[2:], edges, stride, strict=True)]
    result = np.zeros((x.shape[0], weight.shape[1], *sizes), np.result_type(x, weight))
    for place in np.ndindex(*x.shape[2:]):
        starts = [index * step for index, step in zip(place, stride, strict=True)]
        window = tuple(slice(start, start + edge) for start, edge in zip(starts, edges, strict=True))
        part = np.einsum("nk,kc...->nc...", x[(slice(None), slice(None), *place)], weight)
        result[(slice(None), slice(None), *window)] += part
    inner = tuple(slice(pad, size - pad) for pad, size in zip(pads, sizes, strict=True))
    return result[(slice(None), slice(None), *inner)]


def weighted(query: Any, key: Any, value: Any, scale: float, hidden: Any = False) -> Any:
    """Return attention over ``[..., s, d]``."""
    scores = np.where(hidden, -np.inf, np.einsum("...sd,...td->...st", query, key) * scale)
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("...st,...td->...sd", powers / powers.sum(-1, keepdims=True), value)


def attended(query: Any, key: Any, value: Any, heads: int, scale: float) -> Any:
    """Return attention over ``[b, s, h]``, each head with its part of the last dim."""
    parts = [np.split(each, heads, -1) for each in (query, key, value)]
    return np.concatenate([weighted(*part, scale) for part in zip(*parts, strict=True)], -1)


def scattered(x: Any, index: Any, source: Any) -> Any:
    """Return *x* with every element of *source* added in its row at the column that *index* says."""
    result = x.copy()
    for place in np.ndindex(index.shape):
        result[place[0], index[place]] += source[place]
    return result


def placed(x: Any, mask: Any, source: Any) -> Any:
    """Return *x* with the first elements of *source*, one after the other, where *mask* is true."""
    result = x.copy()
    result[mask] = source.ravel()[: mask.sum()]
    return result


def put_along(x: Any, index: Any, source: Any) -> Any:
    """Return *x* with the elements of *source* in their rows at the columns that *index* says."""
    result = x.copy()
    np.put_along_axis(result, index, source[:, : index.shape[1]], 1)
    return result


def at(operation: Any, x: Any, places: Any, source: Any) -> Any:
    """Return *x* after an operation with the elements of *source*, one after the other, at *places*."""
    result = x.copy()
    operation.at(result, places, source)
    return result


def windows(x: Any, height: int, width: int) -> Any:
    """Return the windows of images ``[n, c, h, w]`` as columns ``[n, c * height * width, windows]``."""
    seen = np.lib.stride_tricks.sliding_window_view(x, (height, width), (2, 3))
    return seen.transpose(0, 1, 4, 5, 2, 3).reshape(len(x), x.shape[1] * height * width, -1)


def overlap(boxes: Any, others: Any) -> Any:
    """Return intersection over union, ``[others, boxes]``; boxes are x0, y0, x1, y1, both ends inside."""
    low = np.maximum(boxes[None, :, :2], others[:, None, :2])
    high = np.minimum(boxes[None, :, 2:], others[:, None, 2:])
    common = np.maximum(high - low + 1, 0).prod(-1)
    sizes = [(each[:, 2:] - each[:, :2] + 1).prod(-1) for each in (boxes, others)]
    return common / (sizes[0][None] + sizes[1][:, None] - common)


def corners(theta: Any, height: int, width: int) -> Any:
    """Return where an affine map takes the middles of a grid's cells, which span -1 to 1."""
    y, x = ((2 * np.arange(size) + 1) / size - 1 for size in (height, width))
    grid = np.stack([*np.meshgrid(x, y), np.ones((height, width))], -1)
    return np.einsum("hwk,nck->nhwc", grid, theta)


NAMES: dict[str, Any] = {
    **{name: getattr(np, name) for name in np.__all__},
    "erfc": special.erfc,
    "erfinv": special.erfinv,
    "expm": matrices.expm,
    "expit": special.expit,
    "ndtr": special.ndtr,
    **{each.__name__: each for each in (attended, convolved, deconvolved, normalised, placed, scattered, weighted)},
    **{each.__name__: each for each in (at, corners, overlap, put_along, windows)},
    "matrices": matrices,
    "special": special,
    "np": np,
}


def value_of(formula: str, arrays: dict[str, Any]) -> Any:
    """Return what a formula says of *arrays*."""
    return eval(formula, {**NAMES, **arrays})


def gradient_of(formula: str, arrays: dict[str, Any], name: str) -> Any:
    """
    Return the gradient of the formula's result, weighted as in run_calls.py, by central differences in float64.

    The step of 1e-4 leaves an error of about 1e-8, far below that of float32.
    """
    wide = {key: value.astype(np.float64) if value.dtype.kind == "f" else value for key, value in arrays.items()}
    weights = np.cos(np.arange(np.size(value_of(formula, wide))))
    gradient = np.zeros(wide[name].shape)
    for place in np.ndindex(gradient.shape):
        sums = []
        for step in (1e-4, -1e-4):
            moved = wide[name].copy()
            moved[place] += step
            sums.append((np.ravel(value_of(formula, {**wide, name: moved})) * weights).sum())
        gradient[place] = (sums[0] - sums[1]) / 2e-4
    return gradient
