"""Two products with an activation between them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from scipy import special

from drynpu_mindspore_kernels.compositions._arguments import Numbers


def _gated(function: Any, turned: bool) -> Any:
    """Return an activation of two halves: a function of one of them, multiplied with the other."""

    def activate(x: Any) -> Any:
        first, second = np.split(x, 2, -1)
        return function(first) * second if turned else first * function(second)

    return activate


def _silu(x: Any) -> Any:
    return x * special.expit(x)


def _gelu(x: Any) -> Any:
    return x * special.ndtr(x)


def _relu(x: Any) -> Any:
    return np.maximum(x, 0)


_ACTIVATIONS = {
    1: _relu,
    19: _gelu,
    22: lambda x: x * special.expit(1.702 * x),
    23: _silu,
    24: _gated(_gelu, False),
    25: _gated(_silu, True),
    26: _gated(_relu, True),
}
"""By the number in MindSpore: relu, gelu, fastgelu, silu, geglu, swiglu, reglu; halves as in PyTorch's function."""


def _ffn(
    x: Any,
    first: Any,
    second: Any,
    tokens: Numbers = None,
    first_bias: Any = None,
    second_bias: Any = None,
    scale: Any = None,
    offset: Any = None,
    first_factor: Any = None,
    second_factor: Any = None,
    first_scale: Any = None,
    second_scale: Any = None,
    first_shift: Any = None,
    second_shift: Any = None,
    activation: Any = 22,
    precise: Any = 0,
) -> Any:
    """Return two products with an activation between them, of the rows of each expert; *tokens* counts those."""
    del precise
    quantised = (scale, offset, first_factor, second_factor, first_scale, second_scale, first_shift, second_shift)
    biases = (first_bias, second_bias)
    if any(each is not None for each in quantised):
        raise ValueError("scale, offset, deqScale and antiquant arguments are not supported")
    if int(activation) not in _ACTIVATIONS:
        raise ValueError("activations other than fastgelu, gelu, relu, silu, geglu, swiglu, reglu are not supported")
    rows = x.reshape(-1, x.shape[-1])
    weights = [each if each.ndim == 3 else each[None] for each in (first, second)]
    counts = [len(rows)] if tokens is None else [int(count) for count in np.ravel(tokens)]
    result, begin = np.zeros((len(rows), weights[1].shape[-1]), np.float32), 0
    for expert, count in enumerate(counts):
        part = rows[begin : begin + count]
        for place, weight in enumerate(weights):
            part = part @ weight[expert]
            bias = biases[place]
            part = part if bias is None else part + (bias[expert] if bias.ndim > 1 else bias)
            part = part if place else _ACTIVATIONS[int(activation)](part)
        result[begin : begin + count] = part
        begin += count
    return result.reshape(*x.shape[:-1], -1)


FEED_FORWARD: Final[Mapping[str, Any]] = MappingProxyType({"FFNExt": _ffn})
"""By primitive, as MindSpore's documentation of ``FFN`` and PyTorch's of its function define it."""
