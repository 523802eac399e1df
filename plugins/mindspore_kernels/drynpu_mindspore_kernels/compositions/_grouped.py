"""Products of groups of rows, each with a matrix of its own, plain and of quantised numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from drynpu_mindspore_kernels.compositions._quantised import scale_numbers

_NONE, _ROWS, _INNER = -1, 0, 2
"""``group_type``: no groups, groups of rows, groups of what the product sums over."""
_CUMULATIVE = 0
"""``group_list_type``: ends of groups; otherwise their sizes."""
_LAST_OPTIONS = {"GroupedMatmul": 4, "GroupedMatmulV2": 2, "GroupedMatmulV4": 5}
"""How many options, which are no tensors, stand behind the arguments."""


def _ends(groups: Any, kind: Any) -> list[int]:
    numbers = np.ravel(groups).astype(np.int64)
    return [int(end) for end in (numbers if int(kind) == _CUMULATIVE else np.cumsum(numbers))]


def grouped(x: Any, weights: Sequence[Any], ends: Sequence[int], biases: Sequence[Any] = ()) -> Any:
    """Return the product of every group of rows of *x*, up to *ends*, with its weight; rows behind them are 0."""
    result = np.zeros((len(x), weights[0].shape[-1]), np.float32)
    starts = [0, *ends[:-1]]
    for group, (start, end) in enumerate(zip(starts, ends, strict=True)):
        result[start:end] = x[start:end] @ weights[group]
        if len(biases):
            result[start:end] += biases[group]
    return result


def grouped_inner(x: Any, y: Any, ends: Sequence[int]) -> Any:
    """Return, for each group of columns of *x* and rows of *y*, their product."""
    return np.stack([x[:, start:end] @ y[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True)])


def _divided(arguments: Sequence[Any], options: int) -> tuple[list[Any], Any, list[Any]]:
    """Return tensors that are no group list, the group list, and the options; lists that are left out are not there."""
    tensors, last = list(arguments[: len(arguments) - options]), list(arguments[len(arguments) - options :])
    tensors = [each for each in tensors if each is not None and each.size]
    groups = tensors.pop() if tensors and tensors[-1].ndim == 1 and tensors[-1].dtype == np.int64 else None
    return tensors, groups, last


def _parts(tensors: list[Any], groups: Any, kind: int) -> tuple[list[Any], list[Any], list[Any]]:
    """
    Return *tensors* divided into inputs, weights and the rest.

    Raises
    ------
    ValueError
        No division has products.
    """
    if kind == _NONE:
        counts = [(count, count) for count in range(len(tensors) // 2, 0, -1)]
    else:
        counts = [(1, 1), (1, np.size(groups))]
    for count, matrices in counts:
        x, weights, rest = tensors[:count], tensors[count : count + matrices], tensors[count + matrices :]
        deep = weights[0].ndim == (2 if kind in (_INNER, _NONE) or matrices > 1 else 3)
        if deep and all(map(_fit, x, weights[:count])):
            return x, weights, rest
    raise ValueError(f"tensors of shapes {[each.shape for each in tensors]} have no product of groups")


def _fit(x: Any, weight: Any) -> bool:
    return bool(x.ndim >= 2 and weight.ndim >= 2 and x.shape[-1] == weight.shape[-2])


def _scales(x: Any, weight: Any, rest: list[Any], groups: int) -> tuple[list[Any], list[Any], Any, Any]:
    """Return biases, scales, offsets of the weight and the scale of each row, of what stands behind the weights."""
    biases, scales, offsets, rows = [], [], [], None
    whole = x.dtype == np.int8
    rest = list(rest)
    if whole:
        if rest and rest[0].dtype == np.int32:
            biases, rest = rest[:groups], rest[groups:]
        if rest and rest[-1].ndim == 1 and rest[-1].size == len(x):
            rows = rest.pop()
        scales = rest
    elif weight.dtype == np.int8:
        plain = len(rest) % 2 * (len(rest) // 3)
        biases, rest = rest[:plain], rest[plain:]
        scales, offsets = rest[: len(rest) // 2], rest[len(rest) // 2 :]
    else:
        biases = rest
    return _each(biases), _each(scales), _each(offsets), rows


def _each(tensors: list[Any]) -> Any:
    """Return a value for each group: one tensor holds all of them, or each is a tensor."""
    return tensors[0] if len(tensors) == 1 and tensors[0].ndim > 1 else tensors


def _product(x: list[Any], weights: list[Any], rest: list[Any], groups: Any, kind: int, listed: Any) -> Any:
    """Return the results of a call, as a list."""
    matrices = list(weights[0]) if len(weights) == 1 and weights[0].ndim == 3 else weights
    if kind == _INNER:
        return [grouped_inner(x[0], weights[0], _ends(groups, listed))]
    biases, scales, offsets, rows = _scales(x[0], weights[0], rest, len(matrices))
    if x[0].dtype != np.int8 and len(scales):
        shifts = offsets if len(offsets) else [0] * len(matrices)
        matrices = [(m.astype(np.float32) + o) * s for m, s, o in zip(matrices, scales, shifts, strict=True)]
    if kind == _NONE:
        return [
            grouped(each, [matrix], [len(each)], biases[place : place + 1] if len(biases) else ())
            for place, (each, matrix) in enumerate(zip(x, matrices, strict=True))
        ]
    ends = _ends(groups, listed)
    product = grouped(x[0].astype(np.float32), matrices, ends, biases)
    if x[0].dtype == np.int8:
        factors = [scale_numbers(scale) for scale in scales]
        for factor, start, end in zip(factors, [0, *ends[:-1]], ends, strict=True):
            product[start:end] *= factor
        product = product if rows is None else product * rows[:, None]
    return [product]


def _called(primitive: str) -> Any:
    def product(*arguments: Any) -> Any:
        tensors, groups, options = _divided(arguments, _LAST_OPTIONS[primitive])
        kind = int(options[1])
        listed = options[2] if primitive == "GroupedMatmulV4" else _CUMULATIVE
        if primitive == "GroupedMatmulV4" and int(options[3]):
            raise ValueError(f"act_type {int(options[3])} is not supported; use 0")
        x, weights, rest = _parts(tensors, groups, kind)
        return tuple(_product(x, weights, rest, groups, kind, listed))

    return product


def _added(x: Any, weight: Any, groups: Any, out: Any) -> Any:
    return out + grouped_inner(x.T, weight, _ends(groups, _CUMULATIVE)).reshape(out.shape)


GROUPED: Final[Mapping[str, Any]] = MappingProxyType(
    {**{name: _called(name) for name in _LAST_OPTIONS}, "InplaceGroupedMatmulAdd": _added}
)
"""By primitive, as MindSpore's documentation of the primitive or of its function defines it."""
