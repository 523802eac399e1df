"""Numbers of 8 bits: made of others, multiplied, and made into others again."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from scipy import special

_LARGEST = 127
_INT8_TYPE = 32
"""``TypeId`` of MindSpore of int8."""
_STATIC = 0


def saturated(x: Any) -> Any:
    """Return numbers rounded half to even in int8, those out of range at its ends."""
    return np.clip(np.rint(x), -_LARGEST - 1, _LARGEST).astype(np.int8)


def scale_numbers(scale: Any) -> Any:
    """Return scales as numbers: whole numbers of 64 bits hold a float32 in their lower half."""
    if scale.dtype in (np.uint64, np.int64):
        return (scale.astype(np.uint64) & np.uint64(0xFFFFFFFF)).astype(np.uint32).view(np.float32)
    return scale.astype(np.float32)


def quantised_by_row(x: Any) -> tuple[Any, Any]:
    """Return *x* in int8 and the scale of each row; a row of zeros has the scale 0."""
    scale = np.abs(x).max(-1) / np.float32(_LARGEST)
    return saturated(x / np.where(scale == 0, 1, scale)[..., None]), scale


def _quantised(x: Any, scale: Any, offset: Any, squares: Any = False, mode: Any = 0, dtype: Any = _INT8_TYPE) -> Any:
    if int(mode) or int(dtype) != _INT8_TYPE:
        raise ValueError("rounding modes other than ROUND and types other than int8 are not supported")
    return saturated(x * (scale * scale if squares else scale) + offset)


def _dynamic(x: Any, smooth: Any = None) -> Any:
    return quantised_by_row(x if smooth is None else x * smooth)


def _turned(x: Any, turns: Any) -> Any:
    return np.swapaxes(x, -1, -2) if turns else x


def _product(
    x: Any,
    weight: Any,
    scale: Any,
    offset: Any = None,
    bias: Any = None,
    rows: Any = None,
    turns_x: Any = False,
    turns_weight: Any = False,
    dtype: Any = _INT8_TYPE,
) -> Any:
    # Sums of products of int8 are exact in float64, as they are in int32.
    sums = _turned(x, turns_x).astype(np.float64) @ _turned(weight, turns_weight)
    late = bias is not None and bias.dtype != np.int32
    sums = sums if bias is None or late else sums + bias
    product = sums * scale_numbers(scale)
    product = product if rows is None else product * rows[..., None]
    product = product + bias if late else product
    if int(dtype) != _INT8_TYPE:
        return product
    return saturated(product if offset is None else product + offset)


def _weight_product(
    x: Any,
    weight: Any,
    scale: Any,
    offset: Any = None,
    out_scale: Any = None,
    out_offset: Any = None,
    bias: Any = None,
    turns_x: Any = False,
    turns_weight: Any = False,
    group: Any = 0,
) -> Any:
    matrix = _turned(weight, turns_weight).astype(np.float32)
    scale, offset = (_spread(each, matrix, turns_weight, int(group)) for each in (scale, offset))
    matrix = (matrix if offset is None else matrix + offset) * scale
    product = _turned(x, turns_x) @ matrix
    product = product if bias is None else product + bias
    if out_scale is None:
        return product
    scaled = product * scale_numbers(out_scale)
    return saturated(scaled if out_offset is None else scaled + out_offset)


def _spread(numbers: Any, matrix: Any, turns: Any, group: int) -> Any:
    """Return scales or offsets for every element of *matrix* ``[k, n]``, where each is for *group* rows."""
    if numbers is None or not group:
        return numbers if numbers is None or numbers.ndim < 2 or not turns else numbers.reshape(1, -1)
    return np.repeat(_turned(numbers, turns), group, 0)[: len(matrix)]


def _groups_of_rows(counts: Any, rows: int) -> Any:
    """Return the group of each row; those behind the last group belong to it."""
    groups = np.repeat(np.arange(len(counts)), counts)
    return np.concatenate([groups, np.full(rows - len(groups), len(counts) - 1)])


def _dequantised_swiglu(
    x: Any,
    weight_scale: Any,
    row_scale: Any,
    bias: Any = None,
    scale: Any = None,
    offset: Any = None,
    counts: Any = None,
    left: Any = False,
    mode: Any = _STATIC,
) -> Any:
    rows = x.reshape(-1, x.shape[-1])
    groups = None if counts is None else _groups_of_rows(np.ravel(counts), len(rows))
    late = bias is not None and bias.dtype != np.int32
    rows = rows if bias is None or late else rows + _of_groups(bias, groups)
    rows = rows.astype(np.float32)
    rows = rows if weight_scale is None else rows * _of_groups(weight_scale, groups)
    rows = rows if row_scale is None else rows * row_scale.reshape(-1, 1)
    rows = rows + _of_groups(bias, groups) if late else rows
    first, second = np.split(rows, 2, -1)
    gate, linear = (first, second) if left else (second, first)
    y = gate * special.expit(gate) * linear
    y = y if scale is None else y * _of_groups(scale, groups)
    if int(mode) != _STATIC:
        return quantised_by_row(y)
    return saturated(y if offset is None else y + _of_groups(offset, groups)), np.zeros(len(rows), np.float32)


def _of_groups(numbers: Any, groups: Any) -> Any:
    """Return numbers ``[columns]`` or ``[groups, columns]`` for each row of the input."""
    if numbers.ndim < 2:
        return numbers
    return numbers[:1] if groups is None else numbers[groups]


QUANTISED: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "QuantV2": _quantised,
        "DynamicQuantExt": _dynamic,
        "QuantBatchMatmul": _product,
        "WeightQuantBatchMatmul": _weight_product,
        "DequantSwigluQuant": _dequantised_swiglu,
    }
)
"""By primitive, as MindSpore's documentation of the primitive or of its function defines it."""
