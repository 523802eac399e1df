"""What the formulas of the lists of calls in docs may use: NumPy, SciPy and functions."""

from __future__ import annotations

import runpy
from pathlib import Path
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


def overlap(boxes: Any, others: Any, of_others: bool = False) -> Any:
    """
    Return intersection over union, ``[others, boxes]``; boxes are x0, y0, x1, y1, both ends inside.

    With *of_others* it is intersection over the size of the other box.
    """
    low = np.maximum(boxes[None, :, :2], others[:, None, :2])
    high = np.minimum(boxes[None, :, 2:], others[:, None, 2:])
    common = np.maximum(high - low + 1, 0).prod(-1)
    sizes = [(each[:, 2:] - each[:, :2] + 1).prod(-1) for each in (boxes, others)]
    return common / (sizes[1][:, None] if of_others else sizes[0][None] + sizes[1][:, None] - common)


def corners(theta: Any, height: int, width: int) -> Any:
    """Return where an affine map takes the middles of a grid's cells, which span -1 to 1."""
    y, x = ((2 * np.arange(size) + 1) / size - 1 for size in (height, width))
    grid = np.stack([*np.meshgrid(x, y), np.ones((height, width))], -1)
    return np.einsum("hwk,nck->nhwc", grid, theta)


def resampled(x: Any, size: Any, cubic: bool = False, aligned: bool = False, scales: Any = None) -> Any:
    """Return images of another size, one place of the result after the other."""
    for axis, count in enumerate(size, x.ndim - len(size)):
        length, parts = x.shape[axis], []
        for index in range(count):
            step = length / count if scales is None else 1 / scales[axis - x.ndim + len(size)]
            place = index * (length - 1) / (count - 1) if aligned else (index + 0.5) * step - 0.5
            place = place if cubic else max(place, 0)
            near = range(int(np.floor(place)) - 1, int(np.floor(place)) + 3)
            parts.append(
                sum(np.take(x, min(max(other, 0), length - 1), axis) * tap(abs(place - other), cubic) for other in near)
            )
        x = np.stack(parts, axis)
    return x


def tap(distance: float, cubic: bool) -> float:
    """Return how much an element counts at a distance: the cubic kernel of Keys with -0.75, or the linear one."""
    if not cubic:
        return max(1 - distance, 0)
    if distance <= 1:
        return 1.25 * distance**3 - 2.25 * distance**2 + 1
    return -0.75 * (distance**3 - 5 * distance**2 + 8 * distance - 4)


def segmented(x: Any, matrices: Any, ends: Any) -> Any:
    """Return the product of each row with the matrix of the first group that ends behind it."""
    return np.stack([x[row] @ matrices[np.flatnonzero(ends > row)[0]] for row in range(len(x))])


def summed(x: Any, y: Any, ends: Any) -> Any:
    """Return, for each group, the sum of the outer products of columns of *x* and rows of *y*."""
    group = [int(np.flatnonzero(ends > row)[0]) for row in range(len(y))]
    return np.stack([sum(np.outer(x[:, r], y[r]) for r in range(len(y)) if group[r] == g) for g in range(len(ends))])


def by_expert(experts: Any) -> list[tuple[int, int, int]]:
    """Return expert, token and choice of every choice, sorted."""
    return sorted((int(experts[place]), *place) for place in np.ndindex(experts.shape))


def returned(rows: Any, order: Any, shares: Any) -> Any:
    """Return the sum of each token's rows, weighted; *order* says where they stand."""
    count, wide = shares.shape
    return np.stack([sum(rows[order[t * wide + c]] * shares[t, c] for c in range(wide)) for t in range(count)])


def cached(query: Any, keys: Any, values: Any, table: Any, seen: Any, scale: float) -> Any:
    """Return attention of one query of each sequence, ``[b, 1, n * d]``, over as many rows of blocks as it has seen."""
    results = []
    for number, blocks in enumerate(table):
        key, value = (np.concatenate(list(cache[blocks]))[: seen[number]] for cache in (keys, values))
        parts = query[number, 0].reshape(key.shape[1], 1, -1)
        found = weighted(parts, key.transpose(1, 0, 2), value.transpose(1, 0, 2), scale)
        results.append(found.reshape(1, -1))
    return np.stack(results)


def sampled(values: Any, images: Any, starts: Any, points: Any, weighs: Any) -> Any:
    """Return deformable attention, one image after the other; what is outside of an image counts 0."""
    batch, queries, count, _, _ = weighs.shape
    result = np.zeros((batch, queries, count, values.shape[-1]), values.dtype)
    for level, (height, width) in enumerate(images):
        x, y = np.moveaxis(points[:, :, :, level] * (width, height) - 0.5, -1, 0)
        columns = np.maximum(1 - abs(x[..., None] - np.arange(width)), 0)
        rows = np.maximum(1 - abs(y[..., None] - np.arange(height)), 0)
        image = values[:, starts[level] :][:, : height * width].reshape(batch, height, width, count, -1)
        result += np.einsum("bqns,bqnsh,bqnsw,bhwnc->bqnc", weighs[:, :, :, level], rows, columns, image)
    return result.reshape(batch, queries, -1)


def patches(x: Any, sizes: Any, steps: Any, rates: Any) -> Any:
    """Return windows of images, one place after the other; all channels of each place."""
    spans = [(size - 1) * rate for size, rate in zip(sizes, rates, strict=True)]
    counts = [(length - 1 - span) // step + 1 for length, span, step in zip(x.shape[2:], spans, steps, strict=True)]
    result = np.zeros((len(x), sizes[0] * sizes[1] * x.shape[1], *counts), x.dtype)
    for row, column in np.ndindex(*counts):
        window = [
            x[:, :, row * steps[0] + a * rates[0], column * steps[1] + b * rates[1]] for a, b in np.ndindex(*sizes)
        ]
        result[:, :, row, column] = np.concatenate(window, 1)
    return result


def latent(queries: Any, keys: Any, places: Any, scale: float) -> Any:
    """Return attention of heads whose 512 numbers are the first of *queries*, a tenth, and 64 more the second."""
    scores = (np.outer(queries[0] / 10, keys) * 512 + np.outer(queries[1], places) * 64) * scale
    return (np.exp(scores) / np.exp(scores).sum(1, keepdims=True)) @ keys


def routed(experts: Any, shares: Any, room: int, threshold: float) -> Any:
    """Return the place of each choice with its expert, from 1 on; 0 where there is no room or the token has enough."""
    used, result = dict.fromkeys(np.ravel(experts), 0), np.zeros(experts.shape, int)
    for token, choice in np.ndindex(experts.shape):
        expert = experts[token, choice]
        if used[expert] < room and shares[token, : choice + 1].sum() < threshold:
            used[expert] += 1
            result[token, choice] = used[expert]
    return result


def windowed_by(x: Any, sizes: Any, steps: Any, reduce: Any) -> Any:
    """Return windows over the last dims, of which only some are taken, each reduced to one number."""
    axes = tuple(range(-len(sizes), 0))
    seen = np.lib.stride_tricks.sliding_window_view(x, sizes, axes)
    taken = seen[(..., *(slice(None, None, step) for step in steps), *(slice(None) for _ in sizes))]
    return reduce(taken, axis=axes)


def gated_cell(x: Any, hidden: Any, parameters: Any) -> Any:
    """Return one step of a GRU."""
    from_x, from_hidden = (
        np.split(each @ parameters[place].T + parameters[place + 2], 3, -1) for place, each in enumerate((x, hidden))
    )
    reset, update = (special.expit(from_x[place] + from_hidden[place]) for place in (0, 1))
    new = np.tanh(from_x[2] + reset * from_hidden[2])
    return new + update * (hidden - new)


def remembering_cell(x: Any, hidden: Any, memory: Any, parameters: Any) -> Any:
    """Return what one step of an LSTM gives."""
    gates = x @ parameters[0].T + parameters[2] + hidden @ parameters[1].T + parameters[3]
    enter, forget, cell, out = np.split(gates, 4, -1)
    memory = special.expit(forget) * memory + special.expit(enter) * np.tanh(cell)
    return special.expit(out) * np.tanh(memory)


def adapted(w: Any, gradients: Any, rate: float) -> Any:
    """Return weights after steps of Adam."""
    mean, square = 0, 0
    for step, gradient in enumerate(gradients, 1):
        mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2
        w = w - rate * mean / (1 - 0.9**step) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
    return w


def margins(x: Any, labels: Any) -> Any:
    """Return the margin loss of several labels of each row, which end at the first -1."""
    losses = []
    for row, named in zip(x, labels, strict=True):
        right = [label for place, label in enumerate(named) if (named[: place + 1] >= 0).all()]
        wrong = [label for label in range(len(row)) if label not in right]
        losses.append(sum(max(0, 1 - (row[a] - row[b])) for a in right for b in wrong) / len(row))
    return np.array(losses)


def entropy(x: Any, classes: Any, smoothing: float) -> Any:
    """Return cross entropy with smoothed labels, of each row."""
    logs = x - np.log(np.exp(x).sum(1, keepdims=True))
    hot = np.eye(x.shape[1])[classes] * (1 - smoothing) + smoothing / x.shape[1]
    return -(hot * logs).sum(1)


def stepped(w: Any, gradient: Any, rate: float, decay: float, eps: float = 1e-8) -> Any:
    """Return weights after the first step of AdamW: moments that are corrected are the gradient and its square."""
    return w * (1 - rate * decay) - rate * gradient / (np.abs(gradient) + eps)


_HERE = Path(__file__).parent
_INPUTS = runpy.run_path(str(_HERE / "inputs.py"))
_FILES = (
    "cell_formulas.py",
    "image_formulas.py",
    "optimizer_formulas.py",
    "primitive_formulas.py",
    "sequence_formulas.py",
)
_MORE = [runpy.run_path(str(_HERE / name)) for name in _FILES]

NAMES: dict[str, Any] = {
    **{name: getattr(np, name) for name in np.__all__},
    "erfc": special.erfc,
    "erfinv": special.erfinv,
    "expm": matrices.expm,
    "expit": special.expit,
    "ndtr": special.ndtr,
    **{each.__name__: each for each in (attended, convolved, deconvolved, normalised, placed, scattered, weighted)},
    **{each.__name__: each for each in (at, corners, overlap, put_along, windows)},
    **{each.__name__: each for each in (by_expert, cached, entropy, margins, resampled, returned, sampled)},
    **{each.__name__: each for each in (adapted, gated_cell, latent, patches, remembering_cell, windowed_by)},
    **{each.__name__: each for each in (routed, segmented, stepped, summed)},
    **{name: value for more in _MORE for name, value in more.items() if callable(value) and name[0] not in "_A"},
    "numbers": _INPUTS["numbers"],
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

    The step of 1e-4 leaves an error of about 1e-8, far below float32's.
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
