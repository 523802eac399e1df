"""Losses of classes, with gradients: cross entropy in one kernel, and margins of several labels."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from scipy import special

from drynpu_mindspore_kernels.compositions._losses import reduced

_MEAN = 1
"""``Reduction`` of MindSpore (mindapi/base/types.h) that divides by the weight of all rows."""


def _weights(log_shares: Any, label: Any, weight: Any, ignored: Any) -> tuple[Any, Any, Any]:
    """Return where labels count, safe labels, and the weight of each class."""
    kept = label != int(ignored)
    scale = np.ones(log_shares.shape[1], np.float32) if weight is None else weight
    return kept, np.where(kept, label, 0), scale


def _spreads(log_shares: Any, label: Any, weight: Any, ignored: Any, smoothing: Any) -> tuple[Any, Any]:
    """Return how much each class of each row counts, and the weight of each row."""
    kept, safe, scale = _weights(log_shares, label, weight, ignored)
    hot = np.eye(log_shares.shape[1], dtype=np.float32)[safe]
    smooth = float(smoothing)
    counted = hot * (1 - smooth) * scale[safe][:, None] + smooth / log_shares.shape[1] * scale
    return counted * kept[:, None], scale[safe] * kept


def _cross_entropy(
    x: Any,
    label: Any,
    weight: Any = None,
    reduction: Any = _MEAN,
    ignored: Any = -100,
    smoothing: Any = 0.0,
    lse_scale: Any = 0.0,
    returns_square: Any = False,
) -> Any:
    if float(lse_scale) or returns_square:
        raise ValueError("lse_square_scale_for_zloss and return_zloss are not supported")
    log_shares = special.log_softmax(x, -1)
    counted, rows = _spreads(log_shares, label, weight, ignored, smoothing)
    losses = -(counted * log_shares).sum(1)
    loss = losses.sum() / rows.sum() if int(reduction) == _MEAN else reduced(losses, reduction)
    return np.reshape(loss, -1), log_shares, None, None


def _cross_entropy_gradient(
    dy: Any,
    log_shares: Any,
    label: Any,
    weight: Any = None,
    dsquare: Any = None,
    sums: Any = None,
    reduction: Any = _MEAN,
    ignored: Any = -100,
    smoothing: Any = 0.0,
    lse_scale: Any = 0.0,
) -> Any:
    del dsquare, sums, lse_scale
    counted, rows = _spreads(log_shares, label, weight, ignored, smoothing)
    scale = np.reshape(dy, -1)[:, None] / (rows.sum() if int(reduction) == _MEAN else 1)
    return (np.exp(log_shares) * counted.sum(1, keepdims=True) - counted) * scale


def _labels(labels: Any) -> Any:
    """Return ``[rows, classes]``: which classes a row names, before its first -1."""
    named = np.cumprod(labels >= 0, -1).astype(bool)
    result = np.zeros(labels.shape, bool)
    rows, columns = np.nonzero(named)
    result[rows, labels[rows, columns]] = True
    return result


def _margins(x: Any, labels: Any) -> Any:
    """Return ``[rows, labels, others]``: by how much a class that is named does not lead one that is not by 1."""
    return np.maximum(1 - (x[:, :, None] - x[:, None, :]), 0) * (labels[:, :, None] & ~labels[:, None, :])


def _margin(x: Any, labels: Any) -> Any:
    """Return the loss of each row, and which classes it names; what reduces it is a function of :mod:`_methods`."""
    values, named = np.atleast_2d(x), _labels(np.atleast_2d(labels))
    losses = _margins(values, named).sum((1, 2)) / values.shape[1]
    return losses.reshape(x.shape[:-1]), named.reshape(labels.shape)


def _margin_gradient(dy: Any, x: Any, labels: Any, named: Any) -> Any:
    values, chosen = np.atleast_2d(x), np.atleast_2d(named).astype(bool)
    del labels
    open_ = (_margins(values, chosen) > 0).astype(np.float32)
    scale = np.reshape(dy, (-1, 1)) / values.shape[1]
    return ((open_.sum(1) - open_.sum(2)) * scale).reshape(x.shape)


CLASS_LOSSES: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "CrossEntropyLoss": _cross_entropy,
        "CrossEntropyLossGrad": _cross_entropy_gradient,
        "MultilabelMarginLoss": _margin,
        "MultilabelMarginLossGrad": _margin_gradient,
    }
)
"""By primitive, as MindSpore's documentation of the primitive or of its function defines it."""
