"""Formulas of primitives of docs/lists/mindspore-primitives/a-l.yaml: pooling, sampling, recurrent layers, steps."""

from __future__ import annotations

import colorsys
from typing import Any

import numpy as np
from scipy import special


def adaptive(x: Any, sizes: Any, reduce: Any) -> Any:
    """Return the last dims in so many parts of equal length, each reduced to one number."""
    for axis, count in enumerate(sizes, x.ndim - len(sizes)):
        edges = [(place * x.shape[axis] // count, -(-(place + 1) * x.shape[axis] // count)) for place in range(count)]
        x = np.stack([reduce(np.take(x, range(*edge), axis), axis=axis) for edge in edges], axis)
    return x


def fractions(lengths: Any, sizes: Any, counts: Any, samples: Any) -> list[list[int]]:
    """Return where windows begin that are spread at random over each of the last dims."""
    found = []
    for length, size, count, sample in zip(lengths, sizes, counts, samples, strict=True):
        step = (length - size) / (count - 1)
        first = [int((place + sample) * step) - int(sample * step) for place in range(count - 1)]
        found.append([*first, length - size])
    return found


def at_starts(x: Any, sizes: Any, starts: Any) -> Any:
    """Return the largest number of each window of the last dims."""
    shape = [len(each) for each in starts]
    result = np.zeros((*x.shape[:-3], *shape), x.dtype)
    for place in np.ndindex(*shape):
        begins = [start[index] for start, index in zip(starts, place, strict=True)]
        window = tuple(slice(begin, begin + size) for begin, size in zip(begins, sizes, strict=True))
        result[(..., *place)] = x[(..., *window)].max((-3, -2, -1))
    return result


def out_of_batches(x: Any, block: Any) -> Any:
    """Return images whose pixels stand in as many batches as a block has."""
    count, channels, height, width = x.shape
    result = np.zeros((count // np.prod(block), channels, height * block[0], width * block[1]), x.dtype)
    for number, (row, column) in enumerate(np.ndindex(*block)):
        result[:, :, row :: block[0], column :: block[1]] = x[number * len(result) : (number + 1) * len(result)]
    return result


def unhue(x: Any) -> Any:
    """Return red, green and blue of hue, saturation and value in the last dim."""
    return np.array([colorsys.hsv_to_rgb(*each) for each in x.reshape(-1, 3)]).reshape(x.shape)


def looked_up(x: Any, grid: Any) -> Any:
    """Return what lies at places from -1 to 1 between the elements of the last dims, outside of which is 0."""
    sizes = x.shape[2:]
    result = np.zeros((*x.shape[:2], *grid.shape[1:-1]))
    for n, *place in np.ndindex(len(x), *grid.shape[1:-1]):
        value = x[n]
        for size, where in zip(sizes, grid[(n, *place)][::-1], strict=True):
            share = np.maximum(1 - abs(((where + 1) * size - 1) / 2 - np.arange(size)), 0)
            value = np.tensordot(value, share, (1, 0))
        result[(n, slice(None), *place)] = value
    return result


def cropped(x: Any, boxes: Any, images: Any, sizes: Any) -> Any:
    """Return boxes (y, x, y, x in parts of the whole) of images ``[n, h, w, c]``, outside of which is 0."""
    found = []
    for (top, left, bottom, right), number in zip(boxes, images, strict=True):
        value = x[number]
        for axis, (low, high) in enumerate(((top, bottom), (left, right))):
            places = np.linspace(low, high, sizes[axis]) * (value.shape[axis] - 1)
            shares = np.maximum(1 - abs(places[:, None] - np.arange(value.shape[axis])), 0)
            shares[(places < 0) | (places > value.shape[axis] - 1)] = 0
            value = np.moveaxis(np.tensordot(shares, value, (1, axis)), 0, axis)
        found.append(value)
    return np.stack(found)


def moved(x: Any, offsets: Any, sides: Any) -> Any:
    """Return the moved taps of each window side by side; channels of *offsets* are all x, all y, all factors."""
    moves = offsets.reshape(len(x), 3, *sides, *offsets.shape[2:])
    rows, columns = offsets.shape[2:]
    result = np.zeros((len(x), x.shape[1], rows * sides[0], columns * sides[1]))
    for n, row, column, a, b in np.ndindex(len(x), rows, columns, *sides):
        to_x, to_y, factor = moves[n, :, a, b, row, column]
        down = np.maximum(1 - abs(row + a + to_y - np.arange(x.shape[2])), 0)
        across = np.maximum(1 - abs(column + b + to_x - np.arange(x.shape[3])), 0)
        result[n, :, row * sides[0] + a, column * sides[1] + b] = np.einsum("chw,h,w->c", x[n], down, across) * factor
    return result


def rounded(x: Any) -> Any:
    """Return numbers that float16 has."""
    return x.astype(np.float16).astype(np.float32)


def long_memory(x: Any, weight: Any, bias: Any, hidden: Any, memory: Any, *, remembers: bool = False) -> Any:
    """Return what an LSTM gives at each step, and the last memory if it *remembers*; gates are i, j, f and o."""
    results = []
    for part in x:
        enter, new, forget, out = np.split(np.hstack([part, hidden]) @ weight + bias, 4, 1)
        memory = special.expit(forget) * memory + special.expit(enter) * np.tanh(new)
        hidden = special.expit(out) * np.tanh(memory)
        results.append(hidden)
    return (np.stack(results), memory) if remembers else np.stack(results)


def gated(x: Any, weights: Any, biases: Any, hidden: Any, order: str = "rzh") -> Any:
    """Return what a GRU gives at each step."""
    results = []
    for part in x:
        from_x = dict(zip(order, np.split(part @ weights[0] + biases[0], 3, 1), strict=True))
        from_hidden = dict(zip(order, np.split(hidden @ weights[1] + biases[1], 3, 1), strict=True))
        reset, update = (special.expit(from_x[gate] + from_hidden[gate]) for gate in "rz")
        new = np.tanh(from_x["h"] + reset * from_hidden["h"])
        hidden = (1 - update) * new + update * hidden
        results.append(hidden)
    return np.stack(results)


def sparse_adam(w: Any, mean: Any, square: Any, gradient: Any) -> Any:
    """Return weights after a step of Adam whose powers of beta are 0.9 and 0.99 and whose betas are 0.8 and 0.95."""
    mean, square = 0.8 * mean + 0.2 * gradient, 0.95 * square + 0.05 * gradient**2
    return w - 0.1 * np.sqrt(0.01) / 0.1 * mean / (np.sqrt(square) + 1e-3)


def shrunk(w: Any, gradient: Any, rate: Any, l1: float, l2: float) -> Any:
    """Return weights after a step and what l1 and l2 leave of them, with the rate that each weight has."""
    moved = w - rate * gradient
    return np.sign(moved) * np.maximum(abs(moved) - rate * l1, 0) / (1 + rate * l2)
