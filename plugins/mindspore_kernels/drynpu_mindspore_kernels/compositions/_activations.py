"""Activations and their gradients."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from scipy import special

from drynpu.kernels.ops.gelu import TANH_CUBE

_DENSITY = 1 / math.sqrt(2 * math.pi)
_SQRT_HALF = math.sqrt(0.5)
# GELU by tanh: Hendrycks and Gimpel, "Gaussian Error Linear Units".
_TANH_SLOPE = math.sqrt(2 / math.pi)
# SELU: Klambauer et al., "Self-Normalizing Neural Networks".
_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772, 1.0507009873554805


def _gelu(x: Any, approximate: Any = 0) -> Any:
    if approximate:
        return 0.5 * x * (1 + np.tanh(_TANH_SLOPE * (x + TANH_CUBE * x**3)))
    return 0.5 * x * (1 + special.erf(x * _SQRT_HALF))


def _gelu_gradient(dy: Any, x: Any, approximate: Any = 0) -> Any:
    if approximate:
        inner = np.tanh(_TANH_SLOPE * (x + TANH_CUBE * x**3))
        slope = _TANH_SLOPE * (1 + 3 * TANH_CUBE * x**2)
        return dy * (0.5 * (1 + inner) + 0.5 * x * (1 - inner**2) * slope)
    return dy * (0.5 * (1 + special.erf(x * _SQRT_HALF)) + x * _DENSITY * np.exp(-0.5 * x**2))


def _silu(x: Any) -> Any:
    return x * special.expit(x)


def _silu_gradient(dy: Any, x: Any) -> Any:
    gate = special.expit(x)
    return dy * gate * (1 + x * (1 - gate))


def _elu(x: Any, alpha: Any = 1.0) -> Any:
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


def _elu_gradient(dy: Any, x: Any, alpha: Any = 1.0, is_result: Any = False) -> Any:
    slope = x + alpha if is_result else alpha * np.exp(np.minimum(x, 0))
    return np.where(x > 0, dy, dy * slope)


def _selu(x: Any) -> Any:
    return _SELU_SCALE * _elu(x, _SELU_ALPHA)


def _selu_gradient(dy: Any, result: Any) -> Any:
    return dy * np.where(result > 0, _SELU_SCALE, result + _SELU_SCALE * _SELU_ALPHA)


def _leaky_relu(x: Any, slope: Any = 0.01) -> Any:
    return np.where(x > 0, x, x * slope)


def _leaky_relu_gradient(dy: Any, x: Any, slope: Any = 0.01, is_result: Any = False) -> Any:
    del is_result  # the result has the sign of the input
    return np.where(x > 0, dy, dy * slope)


def _hardtanh(x: Any, low: Any = -1, high: Any = 1) -> Any:
    return np.clip(x, low, high)


def _hardtanh_gradient(dy: Any, x: Any, low: Any = -1, high: Any = 1) -> Any:
    return np.where((x > low) & (x < high), dy, 0)


def _log_sigmoid(x: Any) -> Any:
    # The second result is scratch memory of the device.
    return -np.logaddexp(0, -x), None


def _log_sigmoid_gradient(dy: Any, x: Any, buffer: Any = None) -> Any:
    del buffer
    return dy * special.expit(-x)


def _softplus(x: Any, beta: Any = 1, threshold: Any = 20) -> Any:
    return np.where(x * beta > threshold, x, np.logaddexp(0, x * beta) / beta)


def _softplus_gradient(dy: Any, x: Any, beta: Any = 1, threshold: Any = 20) -> Any:
    return np.where(x * beta > threshold, dy, dy * special.expit(x * beta))


def _mish(x: Any) -> Any:
    return x * np.tanh(np.logaddexp(0, x))


def _mish_gradient(dy: Any, x: Any) -> Any:
    inner = np.tanh(np.logaddexp(0, x))
    return dy * (inner + x * special.expit(x) * (1 - inner**2))


def _threshold(x: Any, threshold: Any, value: Any) -> Any:
    return np.where(x > threshold, x, value)


def _threshold_gradient(dy: Any, x: Any, threshold: Any) -> Any:
    return np.where(x > threshold, dy, 0)


def _swiglu(x: Any, dim: Any = -1) -> Any:
    left, right = np.split(x, 2, axis=int(dim))
    return _silu(left) * right


def _swiglu_gradient(dy: Any, x: Any, dim: Any = -1) -> Any:
    left, right = np.split(x, 2, axis=int(dim))
    return np.concatenate([_silu_gradient(dy * right, left), dy * _silu(left)], axis=int(dim))


def _softmax_gradient(dy: Any, y: Any, dim: Any = -1) -> Any:
    return y * (dy - (dy * y).sum(int(dim), keepdims=True))


def _log_softmax(x: Any, dim: Any = None, dtype: Any = None) -> Any:
    del dtype
    axis = _implicit_dim(x) if dim is None else int(dim)
    return special.log_softmax(x, axis=axis)


def _implicit_dim(x: Any) -> int:
    """Return the dim of softmax where none is given, which depends on the number of dims as in PyTorch."""
    return 0 if x.ndim in (0, 1, 3) else 1


def _relu(x: Any) -> Any:
    return np.maximum(x, 0)


ACTIVATIONS: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "GeluExt": _gelu,
        "GeluGradExt": _gelu_gradient,
        "EluExt": _elu,
        "EluGradExt": _elu_gradient,
        "SeLUExt": _selu,
        "SeluGrad": _selu_gradient,
        "LeakyReLUExt": _leaky_relu,
        "LeakyReLUGradExt": _leaky_relu_gradient,
        "Hardtanh": _hardtanh,
        "HardtanhGrad": _hardtanh_gradient,
        "LogSigmoid": _log_sigmoid,
        "LogSigmoidGrad": _log_sigmoid_gradient,
        "SoftplusExt": _softplus,
        "SoftplusGradExt": _softplus_gradient,
        "MishExt": _mish,
        "MishGradExt": _mish_gradient,
        "Threshold": _threshold,
        "ThresholdGrad": _threshold_gradient,
        "Swiglu": _swiglu,
        "SwigluGrad": _swiglu_gradient,
        "LogSoftmaxExt": _log_softmax,
        "SoftmaxBackward": _softmax_gradient,
        "InplaceReLU": _relu,
        "InplaceSiLU": _silu,
        "InplaceSigmoid": special.expit,
        "InplaceTanh": np.tanh,
        "InplaceElu": _elu,
        "InplaceHardtanh": _hardtanh,
        "InplaceThreshold": _threshold,
    }
)
"""By primitive, as MindSpore's documentation of the primitive or of its function defines it."""
