"""How tests of torch_npu compare: by a share of numbers that may differ, or by the largest difference."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from numbers import Number
from typing import Any, NoReturn

import numpy as np
import torch
from attrs import frozen
from torch import Tensor

from drynpu_torch_operators.testing.tensors import is_iterable

_SMALLEST = {"float16": 6e-8}
_SMALLEST_OTHERWISE = 1e-9
"""Added to the larger number where a difference is divided by it (torch_npu/testing/testcase.py)."""
_KINDS = "bool uint16 int16 int32 float16 float32 int8 uint8 int64 float64"
_NUMPY_TYPES = frozenset(np.dtype(name) for name in _KINDS.split())

Fail = Callable[[str], NoReturn]


@frozen
class RelativeLimits:
    """The share of a difference that is allowed, and of numbers that may exceed it, in FP16 and otherwise."""

    prec: float
    prec16: float
    auto_trans_dtype: bool


def compare_relative(x: Any, y: Any, limits: RelativeLimits, message: str | None, fail: Fail) -> None:
    """
    Fail unless two tensors, arrays, numbers or sequences of them are about equal.

    A number is, where its difference or the quotient of it and the larger number is within the limit. As many numbers
    may be unequal as the limit is a share of.
    """
    if isinstance(x, Sequence) and isinstance(y, Sequence):
        for one, two in zip(x, y, strict=False):
            compare_relative(one, two, limits, message, fail)
        return
    if isinstance(x, Tensor) and isinstance(y, Sequence):
        y = torch.as_tensor(y, dtype=x.dtype, device=x.device)
    elif isinstance(x, Sequence) and isinstance(y, Tensor):
        x = torch.as_tensor(x, dtype=y.dtype, device=y.device)
    if isinstance(x, Tensor) and isinstance(y, Tensor):
        x = x.to(y.dtype) if limits.auto_trans_dtype else x
        if x.dtype == y.dtype == torch.bfloat16:
            _compare_bfloat16(x, y, limits, fail)
            return
        x, y = x.detach().cpu().numpy(), y.detach().cpu().numpy()
    elif isinstance(x, Number) and isinstance(y, Number):
        x, y = np.array(x), np.array(y)
    _compare_arrays(x, y, limits, message, fail)


def _compare_bfloat16(x: Tensor, y: Tensor, limits: RelativeLimits, fail: Fail) -> None:
    if x.shape != y.shape:
        fail("shape error!")
    if not torch.allclose(x.cpu(), y.cpu(), rtol=limits.prec16, atol=limits.prec16):
        fail("result error!")


def _compare_arrays(x: Any, y: Any, limits: RelativeLimits, message: str | None, fail: Fail) -> None:
    if x.shape != y.shape:
        fail("shape error")
    if x.dtype != y.dtype:
        fail("dtype error")
    if x.dtype not in _NUMPY_TYPES:
        fail(f"required dtype in {sorted(map(str, _NUMPY_TYPES))}")
    if x.dtype == np.bool_:
        if not np.equal(x, y).all():
            fail("result error")
        return
    limit = limits.prec16 if x.dtype == np.float16 else limits.prec
    difference = y - x
    unknown = np.isnan(x)
    if not np.array_equal(unknown, np.isnan(y)):
        fail(message or "numbers that are not numbers stand in other places")
    if unknown.any():
        difference[unknown] = 0
    absolute = np.abs(difference)
    larger = np.maximum(np.abs(x), np.abs(y)) + _SMALLEST.get(str(x.dtype), _SMALLEST_OTHERWISE)
    unequal = [np.sum(~(distance <= limit)) for distance in (absolute / larger, absolute)]
    if all(unequal) and min(unequal) > x.size * limit:
        fail("result error")


@frozen
class AbsoluteLimits:
    """The largest difference, what a failure says, and whether infinities and types have to be the same."""

    prec: float
    message: str
    allow_inf: bool
    exact_dtype: bool


def compare_absolute(case: Any, x: Any, y: Any, limits: AbsoluteLimits) -> None:
    """Fail *case*, a ``unittest.TestCase``, unless two values or containers of them differ by the limit at most."""
    equal = case.assert_plainly_equal
    if isinstance(x, Number) or isinstance(y, Number):
        _compare_numbers(case, _item(x), _item(y), limits)
    elif isinstance(x, np.bool_) or isinstance(y, np.bool_):
        equal(_item(x), _item(y), limits.message)
    elif isinstance(x, Tensor) and isinstance(y, Tensor):
        _compare_tensors(case, x, y, limits)
    elif isinstance(x, Mapping) and isinstance(y, Mapping):
        equal(set(x), set(y), limits.message)
        for key in x:
            compare_absolute(case, x[key], y[key], limits)
    elif isinstance(x, (str, bytes, set)) or not (is_iterable(x) and is_iterable(y)):
        equal(x, y, limits.message)
    else:
        equal(len(x), len(y), limits.message)
        for one, two in zip(x, y, strict=True):
            compare_absolute(case, one, two, limits)


def _item(value: Any) -> Any:
    return value.item() if isinstance(value, Tensor) else value


def _compare_numbers(case: Any, x: Any, y: Any, limits: AbsoluteLimits) -> None:
    if math.inf not in (abs(x), abs(y)):
        case.assertLessEqual(abs(x - y), limits.prec, limits.message)
    elif limits.allow_inf:
        case.assert_plainly_equal(x, y, limits.message)
    else:
        case.fail(f"Expected finite numeric values - x={x}, y={y}")


def _compare_tensors(case: Any, x: Tensor, y: Tensor, limits: AbsoluteLimits) -> None:
    equal = case.assert_plainly_equal
    equal((x.is_sparse, x.is_quantized), (y.is_sparse, y.is_quantized), limits.message)
    if x.is_sparse:
        x, y = x.coalesce(), y.coalesce()
        _compare_dense(case, x.indices(), y.indices(), limits)
        _compare_dense(case, x.values(), y.values(), limits)
    elif x.is_quantized:
        equal((x.qscheme(), x.dtype), (y.qscheme(), y.dtype), limits.message)
        _compare_dense(case, x.dequantize(), y.dequantize(), limits)
        _compare_dense(case, x.int_repr().int(), y.int_repr().int(), limits)
    else:
        _compare_dense(case, x, y, limits)


def _compare_dense(case: Any, x: Tensor, y: Tensor, limits: AbsoluteLimits) -> None:
    case.assert_plainly_equal(x.size(), y.size(), limits.message)
    if limits.exact_dtype:
        case.assert_plainly_equal(x.dtype, y.dtype)
    if not x.numel():
        return
    if (x.dtype == torch.bool) != (y.dtype == torch.bool):
        raise TypeError("Was expecting both tensors to be bool type.")
    wide = {torch.float16: torch.float32, torch.bfloat16: torch.float32, torch.bool: torch.int32}
    one = x.detach().cpu()
    one = one.to(wide.get(one.dtype, one.dtype))
    two = y.detach().to("cpu", one.dtype)
    difference = one - two
    if one.is_floating_point() or one.is_complex():
        case.assertTrue(torch.equal(one.isnan(), two.isnan()), limits.message)
        difference[one.isnan()] = 0
        if limits.allow_inf:
            case.assertTrue(torch.equal(one.isinf().sign(), two.isinf().sign()), limits.message)
            difference[one.isinf()] = 0
    largest = difference.abs().max() if difference.is_signed() or one.is_complex() else difference.max()
    case.assertLessEqual(largest, limits.prec, limits.message)
