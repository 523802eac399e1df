"""Statistics of batches that several devices share, and the gradients that follow from them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np


def _channels(values: Any, x: Any) -> Any:
    """Return numbers of channels as an array that applies to *x*, ``[n, c, ...]``."""
    return np.reshape(values, (1, -1, *[1] * (x.ndim - 2)))


def _gathered(
    x: Any,
    means: Any,
    deviations: Any,
    running_mean: Any = None,
    running_variance: Any = None,
    momentum: Any = 0.1,
    eps: Any = 1e-5,
    counts: Any = None,
) -> Any:
    """Return mean and inverse deviation of all devices, and the running statistics that change."""
    del x
    rows = np.ones(len(means), np.float32) if counts is None else np.ravel(counts).astype(np.float32)
    rows = rows[:, None]
    total = rows.sum()
    mean = (means * rows).sum(0) / total
    squares = ((1 / deviations**2 - eps + (means - mean) ** 2) * rows).sum(0)
    statistics = mean, 1 / np.sqrt(squares / total + eps)
    if running_mean is None or running_variance is None:
        return (*statistics, None, None)
    moved = running_mean * (1 - momentum) + mean * momentum
    varied = running_variance * (1 - momentum) + squares / max(total - 1, 1) * momentum
    return (*statistics, moved, varied)


def _reduced(dy: Any, x: Any, mean: Any, deviation: Any, weight: Any, *wanted: Any) -> Any:
    del weight, wanted
    axes = (0, *range(2, x.ndim))
    total = dy.sum(axes)
    moved = (dy * (x - _channels(mean, x))).sum(axes)
    return total, moved, moved * deviation, total


def _elements(dy: Any, x: Any, mean: Any, deviation: Any, weight: Any, total: Any, moved: Any, counts: Any) -> Any:
    rows = float(np.sum(counts))
    scale = deviation if weight is None else deviation * weight
    centred = (x - _channels(mean, x)) * _channels(moved * deviation**2 / rows, x)
    return (dy - _channels(total / rows, x) - centred) * _channels(scale, x)


def _sums(x: Any, *unused: Any) -> Any:
    """Return sums and sums of squares by channel (BNTrainingReduce of CANN)."""
    del unused
    axes = (0, *range(2, x.ndim))
    return x.sum(axes, dtype=np.float32), np.square(x, dtype=np.float32).sum(axes)


def _normalised(
    x: Any,
    total: Any,
    squares: Any,
    scale: Any,
    offset: Any,
    mean: Any,
    variance: Any,
    unused: Any = None,
    *,
    epsilon: float = 1e-5,
    factor: float = 0.1,
) -> Any:
    """Return result, moving statistics and the batch's statistics, from sums by channel (BNTrainingUpdate of CANN)."""
    del unused
    rows = x.size // x.shape[1]
    batch_mean = total / rows
    batch_variance = squares / rows - np.square(batch_mean)
    scaled = (x - _channels(batch_mean, x)) * _channels(scale / np.sqrt(batch_variance + epsilon), x)
    unbiased = batch_variance * (rows / max(rows - 1, 1))
    moved = mean * (1 - factor) + batch_mean * factor, variance * (1 - factor) + unbiased * factor
    return (scaled + _channels(offset, x), *moved, batch_mean, batch_variance, *moved)


def _gradient_sums(dy: Any, x: Any, mean: Any, variance: Any, *, epsilon: float = 1e-4) -> Any:
    """Return the gradients of scale and offset (BNTrainingUpdateGrad of CANN)."""
    axes = (0, *range(2, x.ndim))
    normal = (x - _channels(mean, x)) * _channels(1 / np.sqrt(variance + epsilon), x)
    return (dy * normal).sum(axes), dy.sum(axes)


def _input_gradient(
    dy: Any, x: Any, dscale: Any, doffset: Any, scale: Any, mean: Any, variance: Any, *, epsilon: float = 1e-4
) -> Any:
    """Return the gradient of the input from the gradients of scale and offset (BNTrainingReduceGrad of CANN)."""
    rows = x.size // x.shape[1]
    deviation = 1 / np.sqrt(variance + epsilon)
    normal = (x - _channels(mean, x)) * _channels(deviation, x)
    centred = dy - _channels(doffset / rows, x) - normal * _channels(dscale / rows, x)
    return centred * _channels(scale * deviation, x)


BATCH_STATISTICS: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "BatchNormGatherStatsWithCounts": _gathered,
        "BatchNormReduceGrad": _reduced,
        "BatchNormElemtGrad": _elements,
        "BNTrainingReduce": _sums,
        "BNTrainingUpdate": _normalised,
        "BNTrainingUpdateGrad": _gradient_sums,
        "BNTrainingReduceGrad": _input_gradient,
    }
)
"""By primitive, as MindSpore's documentation of the primitive or of its function defines it."""
