"""Two-dimensional convolution with NumPy: windows of the image, then one product."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from drynpu.arrays import Array

_Pair = tuple[int, int]
# NumPy's annotation of it knows one axis only.
_windows: Any = np.lib.stride_tricks.sliding_window_view
_MODES = ("valid", "same", "pad")


def convolve(
    weight: tuple[int, ...],
    stride: int | _Pair,
    pad_mode: str,
    padding: int | _Pair,
    dilation: int | _Pair,
    groups: int,
) -> tuple[Callable[[Array, Array], Array], tuple[tuple[str, object], ...]]:
    """
    Return the function of image [N, C, H, W] and weights, and the attributes of the primitive.

    Raises
    ------
    ValueError
        *pad_mode* is none of ``valid``, ``same``, ``pad``.
    """
    if pad_mode not in _MODES:
        raise ValueError(f"For 'conv2d', the 'pad_mode' must be one of {list(_MODES)}, but got {pad_mode!r}.")
    steps, holes, pads = _pair(stride), _pair(dilation), _pair(padding)
    reach = tuple((size - 1) * hole + 1 for size, hole in zip(weight[2:], holes, strict=True))

    def compute(image: Array, kernel: Array) -> Array:
        borders = [_border(pad_mode, image.shape[2 + i], reach[i], steps[i], pads[i]) for i in range(2)]
        padded = np.pad(image, [(0, 0), (0, 0), *borders])
        windows = _windows(padded, reach, (2, 3))
        windows = windows[:, :, :: steps[0], :: steps[1], :: holes[0], :: holes[1]]
        parts = zip(np.split(windows, groups, 1), np.split(kernel, groups, 0), strict=True)
        products = [np.tensordot(view, each, ([1, 4, 5], [1, 2, 3])).transpose(0, 3, 1, 2) for view, each in parts]
        return np.ascontiguousarray(np.concatenate(products, 1))

    attrs: dict[str, Any] = {
        "dilation": (1, 1, *holes),
        "group": groups,
        "kernel_size": weight[2:],
        "out_channel": weight[0],
        "pad_mode": pad_mode,
        "stride": (1, 1, *steps),
    }
    return compute, tuple(sorted(attrs.items()))


def _pair(value: int | _Pair) -> _Pair:
    return (value, value) if isinstance(value, int) else value


def _border(mode: str, size: int, reach: int, step: int, padding: int) -> _Pair:
    """Return how many zeros stand before and after a dim."""
    if mode == "valid":
        return 0, 0
    if mode == "pad":
        return padding, padding
    missing = max((-(-size // step) - 1) * step + reach - size, 0)
    return missing // 2, missing - missing // 2
