"""Functions of each element on its own, of one tensor or several."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from scipy import special

from drynpu_mindspore_kernels.compositions._arguments import Numbers


def _constant(value: Any) -> Callable[..., Any]:
    """Return a composition that fills the result, whose shape and type MindSpore infers."""

    def fill(*arguments: Any) -> Any:
        del arguments
        return value

    return fill


def _addcdiv(x: Any, a: Any, b: Any, value: Any = 1) -> Any:
    return x + value * a / b


def _addcmul(x: Any, a: Any, b: Any, value: Any = 1) -> Any:
    return x + value * a * b


def _full_like(x: Any, value: Any, dtype: Any = None) -> Any:
    del dtype
    return np.broadcast_to(value, x.shape)


def _full(shape: Numbers, value: Any, dtype: Any = None) -> Any:
    del dtype
    return np.broadcast_to(value, tuple(shape))


def _new_full(x: Any, shape: Numbers, value: Any, dtype: Any = None) -> Any:
    del x
    return _full(shape, value, dtype)


def _arange(start: Any, end: Any, step: Any, dtype: Any = None) -> Any:
    del dtype
    return np.arange(start, end, step)


def _linspace(start: Any, end: Any, steps: Any, dtype: Any = None) -> Any:
    del dtype
    return np.linspace(start, end, int(steps), dtype=np.float64)


def _clamp(x: Any, low: Any = None, high: Any = None) -> Any:
    above = x if low is None else np.maximum(x, low)
    return above if high is None else np.minimum(above, high)


def _divide(x: Any, y: Any, rounding: Any = None) -> Any:
    quotient = x / y
    if rounding is None:
        return quotient
    return np.floor(quotient) if int(rounding) == _FLOOR else np.trunc(quotient)


_FLOOR = 2
"""``RoundingMode`` of MindSpore: 2 rounds down, 1 towards 0."""


def _add(x: Any, y: Any, alpha: Any = 1) -> Any:
    return x + alpha * y


def _subtract(x: Any, y: Any, alpha: Any = 1) -> Any:
    return x - alpha * y


def _fill(x: Any, value: Any) -> Any:
    return np.broadcast_to(value, x.shape)


def _zero(x: Any) -> Any:
    return np.zeros_like(x)


def _masked_fill(x: Any, mask: Any, value: Any) -> Any:
    return np.where(mask, value, x)


def _xlogy(x: Any, y: Any) -> Any:
    return special.xlogy(x, y)


def _sum(*tensors: Any) -> Any:
    return functools.reduce(np.add, tensors)


def _copy(x: Any, *_: Any) -> Any:
    return x


def _lerp(x: Any, end: Any, weight: Any) -> Any:
    return x + weight * (end - x)


ELEMENTWISE: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "AccumulateNV2": _sum,
        "AddScalar": _add,
        "SubScalar": _subtract,
        "DivMods": _divide,
        "FloorDivScalar": np.floor_divide,
        "RemainderTensorTensor": np.mod,
        "RemainderTensorScalar": np.mod,
        "RemainderScalarTensor": np.mod,
        "GreaterEqualScalar": np.greater_equal,
        "EqualExt": np.array_equal,
        "LerpScalar": _lerp,
        "MaskedFillScalar": _masked_fill,
        "FormatCast": _copy,
        "AShardIdentity": _copy,
        "AcosExt": np.arccos,
        "AcoshExt": np.arccosh,
        "AsinExt": np.arcsin,
        "AsinhExt": np.arcsinh,
        "AtanExt": np.arctan,
        "Atan2Ext": np.arctan2,
        "Exp2": np.exp2,
        "Log2": np.log2,
        "Log10": np.log10,
        "LogAddExp": np.logaddexp,
        "LogAddExp2": np.logaddexp2,
        "Frac": lambda x: x - np.trunc(x),
        "IsNegInf": np.isneginf,
        "BitwiseNot": np.invert,
        "BitwiseAndScalar": np.bitwise_and,
        "BitwiseOrScalar": np.bitwise_or,
        "BitwiseXorScalar": np.bitwise_xor,
        "BitwiseOrTensor": np.bitwise_or,
        "BitwiseXorTensor": np.bitwise_xor,
        "FmodTensor": np.fmod,
        "FmodScalar": np.fmod,
        "XLogYScalarOther": _xlogy,
        "XLogYScalarSelf": _xlogy,
        "AddcdivExt": _addcdiv,
        "AddcmulExt": _addcmul,
        "Clone": _copy,
        "FullLike": _full_like,
        "FillScalar": _full,
        "FillTensor": _full,
        "NewFull": _new_full,
        "NewOnes": _constant(1),
        "NewZeros": _constant(0),
        "OnesLikeExt": _constant(1),
        "ZerosLikeExt": _constant(0),
        "Arange": _arange,
        "LinSpaceExt": _linspace,
        "MoveTo": _copy,
        "Muls": np.multiply,
        "Divs": np.divide,
        "Fmin": np.fmin,
        "Fills": np.full_like,
        "SelectV2": np.where,
        "InplaceAddExt": _add,
        "InplaceAddsExt": _add,
        "InplaceSubExt": _subtract,
        "InplaceSubScalar": _subtract,
        "InplaceMul": np.multiply,
        "InplaceMuls": np.multiply,
        "InplaceDiv": np.divide,
        "InplaceDivs": np.divide,
        "InplaceDivMod": _divide,
        "InplaceDivMods": _divide,
        "InplaceFloorDivide": np.floor_divide,
        "InplaceFloorDivides": np.floor_divide,
        "InplaceRemainderTensorTensor": np.mod,
        "InplaceRemainderTensorScalar": np.mod,
        "InplaceClampScalar": _clamp,
        "InplaceClampTensor": _clamp,
        "InplaceErfinv": special.erfinv,
        "InplaceExp": np.exp,
        "InplaceFloor": np.floor,
        "InplaceLog": np.log,
        "InplaceSign": np.sign,
        "InplaceZero": _zero,
        "InplaceFillScalar": _fill,
        "InplaceFillTensor": _fill,
        "InplaceMaskedFillScalar": _masked_fill,
        "InplaceMaskedFillTensor": _masked_fill,
    }
)
"""By primitive, as MindSpore's documentation of the primitive or of its function defines it."""
