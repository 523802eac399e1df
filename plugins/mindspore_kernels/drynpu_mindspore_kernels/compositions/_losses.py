"""Losses and their gradients."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from scipy import special

# ``Reduction`` of MindSpore (mindapi/base/types.h); 2 keeps every element.
_SUM, _MEAN = 0, 1


def reduced(values: Any, reduction: Any) -> Any:
    """Return *values*, their sum or their mean."""
    if int(reduction) == _SUM:
        return np.sum(values)
    return np.mean(values) if int(reduction) == _MEAN else values


def _spread(dy: Any, count: int, reduction: Any) -> Any:
    """Return the gradient of the elements that :func:`reduced` took."""
    return dy / count if int(reduction) == _MEAN else dy


def _squared(x: Any, label: Any, reduction: Any = _MEAN) -> Any:
    return reduced((x - label) ** 2, reduction)


def _squared_gradient(dy: Any, x: Any, label: Any, reduction: Any = _MEAN) -> Any:
    difference = x - label
    return 2 * difference * _spread(dy, difference.size, reduction)


def _absolute(x: Any, label: Any, reduction: Any = _MEAN) -> Any:
    return reduced(np.abs(x - label), reduction)


def _absolute_gradient(dy: Any, x: Any, label: Any, reduction: Any = _MEAN) -> Any:
    difference = x - label
    return np.sign(difference) * _spread(dy, difference.size, reduction)


def _divergence(x: Any, label: Any, reduction: Any = _MEAN, log_label: Any = False) -> Any:
    values = np.exp(label) * (label - x) if log_label else special.xlogy(label, label) - label * x
    return reduced(values, reduction)


def _divergence_gradient(dy: Any, x: Any, label: Any, reduction: Any = _MEAN, log_label: Any = False) -> Any:
    share = np.exp(label) if log_label else label
    return -share * _spread(dy, x.size, reduction)


def _soft_margin(x: Any, label: Any, reduction: Any = _MEAN) -> Any:
    return reduced(np.logaddexp(0, -label * x), reduction)


def _soft_margin_gradient(x: Any, label: Any, dy: Any, reduction: Any = _MEAN) -> Any:
    return -label * special.expit(-label * x) * _spread(dy, x.size, reduction)


def _logits_gradient(
    dy: Any, x: Any, label: Any, weight: Any = None, positive: Any = None, reduction: Any = _MEAN
) -> Any:
    more = label if positive is None else label * positive
    slope = (more + 1 - label) * special.expit(x) - more
    scaled = slope if weight is None else slope * weight
    return scaled * _spread(dy, x.size, reduction)


def _picked(x: Any, label: Any, weight: Any, ignored: Any) -> tuple[Any, Any]:
    """Return what stands in *x*, ``[n, c, ...]``, at the classes *label*, and the weight of each sample."""
    classes = label.astype(np.int64)
    kept = classes != int(ignored)
    safe = np.where(kept, classes, 0)
    values = np.take_along_axis(x, np.expand_dims(safe, 1), 1).squeeze(1)
    scale = np.ones(x.shape[1], np.float32) if weight is None else weight
    return values, np.where(kept, scale[safe], 0)


def likelihood(x: Any, label: Any, weight: Any = None, reduction: Any = _MEAN, ignored: Any = -100, *_: Any) -> Any:
    """Return the negative log likelihood of classes, and the weight of all samples."""
    values, scale = _picked(x, label, weight, ignored)
    total = scale.sum()
    losses = -values * scale
    return (losses.sum() / total if int(reduction) == _MEAN else reduced(losses, reduction)), total


def likelihood_gradient(
    x: Any, dy: Any, label: Any, weight: Any, total: Any, reduction: Any = _MEAN, ignored: Any = -100, *_: Any
) -> Any:
    """Return the gradient of :func:`likelihood`."""
    _, scale = _picked(x, label, weight, ignored)
    share = -scale * (dy / total if int(reduction) == _MEAN else dy)
    hot = np.expand_dims(label, 1) == np.arange(x.shape[1]).reshape(1, -1, *[1] * (x.ndim - 2))
    return hot * np.expand_dims(share, 1)


def _image_likelihood_gradient(
    dy: Any, x: Any, label: Any, weight: Any, reduction: Any, ignored: Any, total: Any
) -> Any:
    return likelihood_gradient(x, dy, label, weight, total, reduction, ignored)


LOSSES: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "MSELossExt": _squared,
        "MSELossGradExt": _squared_gradient,
        "L1LossExt": _absolute,
        "L1LossBackwardExt": _absolute_gradient,
        "KLDiv": _divergence,
        "KLDivGrad": _divergence_gradient,
        "SoftMarginLoss": _soft_margin,
        "SoftMarginLossGrad": _soft_margin_gradient,
        "BinaryCrossEntropyWithLogitsBackward": _logits_gradient,
        "NLLLoss2d": likelihood,
        "NLLLoss2dGrad": _image_likelihood_gradient,
    }
)
"""By primitive, as MindSpore's documentation of the primitive or of its function defines it."""
