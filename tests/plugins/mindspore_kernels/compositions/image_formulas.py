"""What formulas of primitives on images use: pooling, other sizes, regions and boxes. NumPy alone computes them."""

from __future__ import annotations

import colorsys
from typing import Any

import numpy as np


def highest(x: Any, sizes: Any, steps: Any) -> Any:
    """Return where the largest number of every window of the last dims lies, counted over these dims."""
    axes, edges = tuple(range(-len(sizes), 0)), x.shape[-len(sizes) :]
    flat = np.broadcast_to(np.arange(np.prod(edges)).reshape(edges), x.shape)
    taken = (..., *(slice(None, None, step) for step in steps), *(slice(None) for _ in sizes))
    values, places = (np.lib.stride_tricks.sliding_window_view(each, sizes, axes)[taken] for each in (x, flat))
    shape = values.shape[: x.ndim]
    best = values.reshape(*shape, -1).argmax(-1)[..., None]
    return np.take_along_axis(places.reshape(*shape, -1), best, -1)[..., 0]


def pulled(x: Any, sizes: Any, steps: Any) -> Any:
    """Return the gradient of the sum of the squares of the largest numbers of windows of the last dims."""
    places = highest(x, sizes, steps)
    flat = np.zeros((int(np.prod(x.shape[: x.ndim - len(sizes)])), int(np.prod(x.shape[-len(sizes) :]))))
    for row, found in enumerate(places.reshape(len(flat), -1)):
        np.add.at(flat[row], found, 2 * x.reshape(len(flat), -1)[row, found])
    return flat.reshape(x.shape)


def alone(x: Any, sizes: Any) -> Any:
    """Return *x* with 0 in place of what is not the largest number of its tile of the last dims."""
    result = np.zeros_like(x)
    edges = x.shape[-len(sizes) :]
    for place in np.ndindex(*(edge // size for edge, size in zip(edges, sizes, strict=True))):
        tile = (..., *(slice(p * size, (p + 1) * size) for p, size in zip(place, sizes, strict=True)))
        top = x[tile].max(tuple(range(-len(sizes), 0)), keepdims=True)
        result[tile] = np.where(x[tile] == top, x[tile], 0)
    return result


def put_back(x: Any, places: Any, length: int) -> Any:
    """Return 0 but for the numbers of *x* at *places* of the last dim."""
    result = np.zeros((*x.shape[:-1], length), x.dtype)
    np.put_along_axis(result, places, x, -1)
    return result


def in_batches(x: Any, block: Any) -> Any:
    """Return every pixel of a block of the last two dims as an image of its own, the first pixel first."""
    return np.concatenate([x[:, :, a :: block[0], b :: block[1]] for a, b in np.ndindex(*block)])


def in_channels(x: Any, size: int) -> Any:
    """Return every pixel of a square block as channels of its own."""
    return np.concatenate([x[:, :, a::size, b::size] for a, b in np.ndindex(size, size)], 1)


def hue(x: Any) -> Any:
    """Return hue, saturation and value of red, green and blue in the last dim."""
    return np.array([colorsys.rgb_to_hsv(*pixel) for pixel in x.reshape(-1, 3)]).reshape(x.shape)


def pixel(image: Any, y: float, x: float) -> Any:
    """Return all channels of ``[c, h, w]`` at a place between pixels; what is outside counts 0."""
    height, width = image.shape[1:]
    rows = np.maximum(1 - abs(y - np.arange(height)), 0)
    columns = np.maximum(1 - abs(x - np.arange(width)), 0)
    return np.einsum("chw,h,w->c", image, rows, columns)


def regions(images: Any, boxes: Any, sizes: Any, scale: float, count: int, more: int) -> Any:
    """
    Return the mean over *count* by *count* points of each cell of regions; a row is image, x, y, x, y.

    The last pixel of a box is *more* further. Beyond the middles of the outer pixels images go on for another pixel.
    """
    result = np.zeros((len(boxes), images.shape[1], *sizes))
    height, width = images.shape[2:]
    for number, (image, x0, y0, x1, y1) in enumerate(boxes):
        edges = [(a * scale, max((b + more) * scale - a * scale, 1)) for a, b in ((y0, y1), (x0, x1))]
        for row, column in np.ndindex(*sizes):
            points = []
            for a, b in np.ndindex(count, count):
                y, x = (
                    start + (place + (part + 0.5) / count) * span / size
                    for (start, span), place, part, size in zip(edges, (row, column), (a, b), sizes, strict=True)
                )
                inside = -1 <= y <= height and -1 <= x <= width
                found = pixel(images[int(image)], np.clip(y, 0, height - 1), np.clip(x, 0, width - 1))
                points.append(found if inside else 0 * found)
            result[number, :, row, column] = np.mean(points, 0)
    return result


def spread(length: int, count: int) -> Any:
    """Return ``[count, length]``: the share of each number in the means over *count* equal stretches."""
    starts = np.arange(count)[:, None] * length / count
    ends = starts + length / count
    places = np.arange(length)
    return np.maximum(np.minimum(ends, places + 1) - np.maximum(starts, places), 0) * count / length


def triangles(length: int, count: int, scale: float, shift: float) -> Any:
    """Return ``[count, length]``: the share of each number after scaling and shifting, by triangles."""
    middles = (np.arange(count)[:, None] + 0.5 - shift) / scale
    shares = np.maximum(1 - abs(middles - np.arange(length) - 0.5) / max(1 / scale, 1), 0)
    shares = shares / np.maximum(shares.sum(1, keepdims=True), 1e-9)
    return np.where((middles < 0) | (middles > length), 0, shares)


def keys(length: int, count: int) -> Any:
    """Return ``[count, length]``: the share of each number in another length, by the cubic of Keys with -0.5."""
    places = (np.arange(count)[:, None] + 0.5) * length / count - 0.5
    far = abs(places - np.arange(length))
    inner, outer = 1.5 * far**3 - 2.5 * far**2 + 1, -0.5 * (far**3 - 5 * far**2 + 8 * far - 4)
    shares = np.where(far <= 1, inner, np.where(far < 2, outer, 0))
    return shares / shares.sum(1, keepdims=True)


def weighed(x: Any, rows: Any, columns: Any, first: int = 2) -> Any:
    """Return images of another size; two dims from *first* on are rows and columns."""
    turned = np.moveaxis(x, (first, first + 1), (-2, -1))
    return np.moveaxis(rows @ turned @ columns.T, (-2, -1), (first, first + 1))


def shares(first: Any, second: Any) -> float:
    """Return intersection over union of two boxes x, y, x, y."""
    sides = np.minimum(first[2:], second[2:]) - np.maximum(first[:2], second[:2])
    common = np.maximum(sides, 0).prod()
    return common / ((first[2:] - first[:2]).prod() + (second[2:] - second[:2]).prod() - common)


def kept(boxes: Any, order: Any, threshold: float) -> Any:
    """Return the boxes, in their order, that share no more than a threshold with one that is kept before."""
    result: list[int] = []
    for place in order:
        if all(shares(boxes[place], boxes[other]) <= threshold for other in result):
            result.append(int(place))
    return np.array(result)


def apart(overlaps: Any, order: Any, threshold: float) -> Any:
    """Return the places, in their order, that overlap no more than a threshold with one that is kept before."""
    result: list[int] = []
    for place in order:
        if all(overlaps[place, other] <= threshold for other in result):
            result.append(int(place))
    return np.array(result)


def box_offsets(boxes: Any, others: Any) -> Any:
    """Return how far boxes x, y, x, y are moved, in sizes of theirs, and the logarithm of how they grow."""
    sizes = [each[:, 2:] - each[:, :2] + 1 for each in (boxes, others)]
    middles = [(each[:, 2:] + each[:, :2]) / 2 for each in (boxes, others)]
    return np.concatenate([(middles[1] - middles[0]) / sizes[0], np.log(sizes[1] / sizes[0])], 1)


def deformed(x: Any, weight: Any, offsets: Any) -> Any:
    """Return a convolution whose taps are moved; channels of *offsets* are all x, all y, all factors."""
    sides = weight.shape[2:]
    moves = offsets.reshape(len(x), 3, *sides, *offsets.shape[2:])
    result = np.zeros((len(x), len(weight), *offsets.shape[2:]))
    for n, row, column in np.ndindex(len(x), *offsets.shape[2:]):
        for a, b in np.ndindex(*sides):
            to_x, to_y, factor = moves[n, :, a, b, row, column]
            result[n, :, row, column] += weight[:, :, a, b] @ pixel(x[n], row + a + to_y, column + b + to_x) * factor
    return result
