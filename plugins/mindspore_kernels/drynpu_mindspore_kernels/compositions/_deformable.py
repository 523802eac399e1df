"""Attention over places of images of several sizes, between which values are interpolated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np


def _corners(location: Any, height: int, width: int) -> Iterator[tuple[Any, Any, Any, Any, Any]]:
    """
    Yield the four neighbours of places ``[..., 2]`` (x, y from 0 to 1) in an image.

    Of each: its row in the image, its share, the slopes of the share along x and y, and whether it is inside.
    """
    x, y = location[..., 0] * width - 0.5, location[..., 1] * height - 0.5
    left, top = np.floor(x), np.floor(y)
    for right in (0, 1):
        for low in (0, 1):
            column, row = left + right, top + low
            across, down = 1 - np.abs(x - column), 1 - np.abs(y - row)
            inside = (column >= 0) & (column < width) & (row >= 0) & (row < height)
            place = np.where(inside, row * width + column, 0).astype(np.int64)
            slopes = (2 * right - 1) * down * width, (2 * low - 1) * across * height
            yield place, across * down, *slopes, inside


def _levels(value: Any, sizes: Any, starts: Any) -> Iterator[tuple[int, Any, int, int, int]]:
    """Yield the number of each image, its values ``[b, places, n, d]``, its start, height and width."""
    for level, ((height, width), start) in enumerate(zip(sizes.tolist(), np.ravel(starts).tolist(), strict=True)):
        yield level, value[:, start : start + height * width], start, height, width


def _picked(image: Any, place: Any) -> Any:
    """Return what stands in *image* at places ``[b, q, n, p]``, as ``[b, q, n, p, d]``."""
    batch, heads = np.ogrid[: place.shape[0], : place.shape[2]]
    return image[batch[:, None, :, None], place, heads[:, None, :, None]]


def _attention(value: Any, sizes: Any, starts: Any, locations: Any, weights: Any) -> Any:
    result = np.zeros((*weights.shape[:3], value.shape[-1]), np.float32)
    for level, image, _, height, width in _levels(value, sizes, starts):
        for place, share, _, _, inside in _corners(locations[:, :, :, level], height, width):
            counted = np.where(inside, share * weights[:, :, :, level], 0)
            result += (_picked(image, place) * counted[..., None]).sum(3)
    return result.reshape(*result.shape[:2], -1)


def _gradient(value: Any, sizes: Any, starts: Any, locations: Any, weights: Any, dy: Any) -> Any:
    dvalue, dlocations, dweights = (np.zeros(each.shape, np.float32) for each in (value, locations, weights))
    dy = dy.reshape(*weights.shape[:3], 1, -1)
    batch, heads = np.ogrid[: weights.shape[0], : weights.shape[2]]
    for level, image, start, height, width in _levels(value, sizes, starts):
        counts = weights[:, :, :, level]
        for place, share, across, down, inside in _corners(locations[:, :, :, level], height, width):
            met = np.where(inside, (_picked(image, place) * dy).sum(-1), 0)
            dweights[:, :, :, level] += met * share
            dlocations[:, :, :, level] += np.stack([met * across, met * down], -1) * counts[..., None]
            counted = np.where(inside, share * counts, 0)[..., None] * dy
            np.add.at(dvalue, (batch[:, None, :, None], place + start, heads[:, None, :, None]), counted)
    return dvalue, dlocations, dweights


DEFORMABLE: Final[Mapping[str, Any]] = MappingProxyType(
    {"MultiScaleDeformableAttn": _attention, "MultiScaleDeformableAttnGrad": _gradient}
)
"""By primitive, as MindSpore's documentation of the primitive or of its function defines it."""
