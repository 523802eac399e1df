"""Images resampled along their last dims, linearly or cubically, with gradients."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from drynpu_mindspore_kernels.compositions._arguments import Flag, Numbers

_CUBIC = -0.75
"""Steepness of the cubic kernel that images are resampled with (aclnnUpsampleBicubic2d)."""


def _linear_taps(places: Any) -> tuple[Any, Any]:
    """Return the two neighbours of each place, and how much each counts."""
    places = np.maximum(places, 0)
    low = np.floor(places)
    share = places - low
    return low[:, None] + np.arange(2), np.stack([1 - share, share], -1)


def _cubic_taps(places: Any) -> tuple[Any, Any]:
    """Return the four neighbours of each place, and how much each counts."""
    neighbours = np.floor(places)[:, None] + np.arange(-1, 3)
    far = np.abs(places[:, None] - neighbours)
    near = (_CUBIC + 2) * far**3 - (_CUBIC + 3) * far**2 + 1
    return neighbours, np.where(far <= 1, near, _CUBIC * (far**3 - 5 * far**2 + 8 * far - 4))


def _shares(taps: Any, size: int, count: int, scale: float | None, aligned: bool) -> Any:
    """Return ``[count, size]``: how much each element of a dim counts for each of the result."""
    steps = np.arange(count)
    if aligned:
        places = steps * ((size - 1) / (count - 1) if count > 1 else 0)
    else:
        places = (steps + 0.5) * (1 / scale if scale else size / count) - 0.5
    neighbours, weights = taps(places)
    result = np.zeros((count, size))
    np.add.at(result, (steps[:, None], np.clip(neighbours, 0, size - 1).astype(np.int64)), weights)
    return result.astype(np.float32)


def _matrices(taps: Any, sizes: Any, counts: Any, scales: Any, aligned: Any) -> list[Any]:
    factors = [None] * len(sizes) if scales is None else [float(scale) for scale in np.ravel(scales)]
    return [
        _shares(taps, int(size), int(count), factor, bool(aligned))
        for size, count, factor in zip(sizes, counts, factors, strict=True)
    ]


def _applied(x: Any, matrices: list[Any]) -> Any:
    """Return *x* with a matrix applied along each of its last dims."""
    for place, matrix in enumerate(matrices):
        axis = x.ndim - len(matrices) + place
        x = np.moveaxis(np.tensordot(matrix, x, ([1], [axis])), 0, axis)
    return x


def _resampled(taps: Any) -> Callable[..., Any]:
    """Return what resamples to a size, or by factors."""

    def resample(x: Any, output_size: Numbers = None, scales: Numbers = None, align_corners: Flag = False) -> Any:
        sizes = x.shape[2:]
        if output_size is None:
            counts = [int(size * float(scale)) for size, scale in zip(sizes, np.ravel(scales), strict=True)]
        else:
            counts = [int(count) for count in np.ravel(output_size)]
        return _applied(x, _matrices(taps, sizes, counts, scales, align_corners))

    return resample


def _resampled_gradient(taps: Any) -> Callable[..., Any]:
    def gradient(
        dy: Any,
        input_size: Numbers,
        output_size: Numbers = None,
        scales: Numbers = None,
        align_corners: Flag = False,
    ) -> Any:
        del output_size
        matrices = _matrices(taps, np.ravel(input_size)[2:], dy.shape[2:], scales, align_corners)
        return _applied(dy, [matrix.T for matrix in matrices])

    return gradient


INTERPOLATION: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "UpsampleLinear1D": _resampled(_linear_taps),
        "UpsampleLinear1DGrad": _resampled_gradient(_linear_taps),
        "UpsampleBilinear2D": _resampled(_linear_taps),
        "UpsampleBilinear2DGrad": _resampled_gradient(_linear_taps),
        "UpsampleBicubic2D": _resampled(_cubic_taps),
        "UpsampleBicubic2DGrad": _resampled_gradient(_cubic_taps),
    }
)
"""By primitive, as MindSpore's documentation of the primitive or of its function defines it."""
