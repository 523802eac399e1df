"""Normalisations and their gradients. Statistics are computed in float32 at least, as on a device."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from drynpu_mindspore_kernels.compositions._arguments import Numbers


def _layer_norm(x: Any, normalized_shape: Numbers, weight: Any = None, bias: Any = None, eps: Any = 1e-5) -> Any:
    axes = tuple(range(x.ndim - np.size(normalized_shape), x.ndim))
    mean = x.mean(axes, keepdims=True)
    rstd = 1 / np.sqrt(x.var(axes, keepdims=True) + eps)
    return _affine((x - mean) * rstd, weight, bias), mean, rstd


def _affine(x: Any, weight: Any, bias: Any) -> Any:
    scaled = x if weight is None else x * weight
    return scaled if bias is None else scaled + bias


def _layer_norm_gradient(dy: Any, x: Any, *rest: Any) -> Any:
    """Return the gradients; *rest* is the normalised shape, mean, deviation, weight, bias, and which are wanted."""
    count = next(place for place, each in enumerate(rest) if each.dtype.kind == "f")
    mean, rstd, weight = rest[count : count + 3]
    count = sum(np.size(each) for each in rest[:count])
    dx, normal = _norm_gradient(dy, x, tuple(range(x.ndim - count, x.ndim)), mean, rstd, weight)
    rows = tuple(range(x.ndim - count))
    return dx, (dy * normal).sum(rows), dy.sum(rows)


def _norm_gradient(dy: Any, x: Any, axes: tuple[int, ...], mean: Any, rstd: Any, weight: Any) -> tuple[Any, Any]:
    """Return the gradient of the input of a normalisation over *axes*, and the normalised input."""
    normal = (x - mean) * rstd
    scaled = dy if weight is None else dy * weight
    inner = scaled - scaled.mean(axes, keepdims=True) - normal * (scaled * normal).mean(axes, keepdims=True)
    return rstd * inner, normal


def _layer_norm_v3(x: Any, weight: Any, bias: Any, begin: Any = 1, begin_params: Any = 1, eps: Any = 1e-7) -> Any:
    del begin_params
    return _layer_norm(x, x.shape[int(begin) % x.ndim :], weight, bias, eps)


def _layer_norm_v3_gradient(
    dy: Any, x: Any, rstd: Any, mean: Any, weight: Any, begin: Any = 1, begin_params: Any = 1
) -> Any:
    del begin_params
    return _layer_norm_gradient(dy, x, np.array(x.shape[int(begin) % x.ndim :]), mean, rstd, weight, None)


def _add_layer_norm(x1: Any, x2: Any, weight: Any, bias: Any, eps: Any = 1e-5, returns_sum: Any = False) -> Any:
    total = x1 + x2
    return (*_layer_norm(total, weight.shape, weight, bias, eps), total if returns_sum else None)


def _add_layer_norm_gradient(dy: Any, x1: Any, x2: Any, rstd: Any, mean: Any, weight: Any, dsum: Any) -> Any:
    dx, dweight, dbias = _layer_norm_gradient(dy, x1 + x2, np.array(weight.shape), mean, rstd, weight, None)
    return dx if dsum is None else dx + dsum, dweight, dbias


def _rms_norm(x: Any, weight: Any, eps: Any = 1e-6) -> Any:
    axes = tuple(range(x.ndim - weight.ndim, x.ndim))
    rstd = 1 / np.sqrt((x * x).mean(axes, keepdims=True) + eps)
    return x * rstd * weight, rstd


def _rms_norm_gradient(dy: Any, x: Any, rstd: Any, weight: Any) -> Any:
    rows = tuple(range(x.ndim - weight.ndim))
    axes = tuple(range(len(rows), x.ndim))
    normal = x * rstd
    scaled = dy * weight
    return rstd * (scaled - normal * (scaled * normal).mean(axes, keepdims=True)), (dy * normal).sum(rows)


def _add_rms_norm(x1: Any, x2: Any, weight: Any, eps: Any = 1e-6) -> Any:
    total = x1 + x2
    return (*_rms_norm(total, weight, eps), total)


def _per_channel(values: Any, ndim: int) -> Any:
    return None if values is None else values.reshape(1, -1, *[1] * (ndim - 2))


def _rows(x: Any) -> tuple[int, ...]:
    return (0, *range(2, x.ndim))


def _batch_norm(
    x: Any,
    weight: Any = None,
    bias: Any = None,
    running_mean: Any = None,
    running_var: Any = None,
    training: Any = False,
    momentum: Any = 0.1,
    eps: Any = 1e-5,
) -> Any:
    if training or running_mean is None:
        mean, var = x.mean(_rows(x)), x.var(_rows(x))
        _move(running_mean, mean, momentum)
        count = x.size // x.shape[1]
        _move(running_var, var * count / max(count - 1, 1), momentum)
    else:
        mean, var = running_mean, running_var
    rstd = 1 / np.sqrt(var + eps)
    normal = (x - _per_channel(mean, x.ndim)) * _per_channel(rstd, x.ndim)
    return _affine(normal, _per_channel(weight, x.ndim), _per_channel(bias, x.ndim)), mean, rstd


def _move(running: Any, value: Any, momentum: Any) -> None:
    """Move running statistics, which the primitive updates in place, towards the batch's statistics."""
    if running is not None:
        running[...] = running * (1 - momentum) + value * momentum


def _batch_norm_gradient(
    dy: Any,
    x: Any,
    weight: Any = None,
    running_mean: Any = None,
    running_var: Any = None,
    mean: Any = None,
    rstd: Any = None,
    training: Any = False,
    eps: Any = 1e-5,
    *output_mask: Any,
) -> Any:
    del output_mask
    if not training:
        mean, rstd = running_mean, 1 / np.sqrt(running_var + eps)
    mean, rstd, scale = (_per_channel(values, x.ndim) for values in (mean, rstd, weight))
    dx, normal = _norm_gradient(dy, x, _rows(x), mean, rstd, scale)
    if not training:
        dx = dy * rstd * (1 if scale is None else scale)
    return dx, (dy * normal).sum(_rows(x)), dy.sum(_rows(x))


def _batch_norm_stats(x: Any, eps: Any) -> Any:
    return x.mean(_rows(x)), 1 / np.sqrt(x.var(_rows(x)) + eps)


def _batch_norm_apply(
    x: Any, weight: Any = None, bias: Any = None, mean: Any = None, rstd: Any = None, eps: Any = 1e-5
) -> Any:
    del eps
    mean, rstd, weight, bias = (_per_channel(values, x.ndim) for values in (mean, rstd, weight, bias))
    return _affine((x - mean) * rstd, weight, bias)


def _vector_norm(x: Any, order: Any = 2, dim: Numbers = None, keepdim: Any = False, dtype: Any = None) -> Any:
    del dtype
    axes = tuple(range(x.ndim)) if dim is None or not np.size(dim) else tuple(int(d) for d in np.ravel(dim))
    order, size = float(order), np.abs(x)
    if math.isinf(order):
        return (size.max if order > 0 else size.min)(axes, keepdims=bool(keepdim))
    if not order:
        return (size != 0).sum(axes, keepdims=bool(keepdim))
    return (size**order).sum(axes, keepdims=bool(keepdim)) ** (1 / order)


def _lp_norm(x: Any, order: Any = 2, dim: Numbers = None, keepdim: Any = False, epsilon: Any = 1e-12) -> Any:
    return np.maximum(_vector_norm(x, order, dim, keepdim), epsilon)


NORMS: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "LayerNormExt": _layer_norm,
        "LayerNormGradExt": _layer_norm_gradient,
        "LayerNormV3": _layer_norm_v3,
        "LayerNormGradV3": _layer_norm_v3_gradient,
        "AddLayerNormV2": _add_layer_norm,
        "AddLayerNormGrad": _add_layer_norm_gradient,
        "RmsNorm": _rms_norm,
        "RmsNormGrad": _rms_norm_gradient,
        "AddRmsNorm": _add_rms_norm,
        "BatchNormExt": _batch_norm,
        "BatchNormGradExt": _batch_norm_gradient,
        "BatchNormStats": _batch_norm_stats,
        "BatchNormElemt": _batch_norm_apply,
        "LinalgVectorNorm": _vector_norm,
        "Norm": _vector_norm,
        "LpNormV2": _lp_norm,
    }
)
"""By primitive, as MindSpore's documentation of the primitive or of its function defines it."""
