"""
Tensors of different types that are joined: a device casts them to the type that MindSpore infers, and then joins.

GRAPH mode casts on the CPU as well; in PyNative mode the CPU build ends the script. Imported where MindSpore is loaded.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from mindspore import Tensor, dtype, ops
from mindspore.ops.auto_generate import gen_ops_prim, pyboost_inner_prim

_ORDER = (
    dtype.bool_,
    *(dtype.uint8, dtype.int8, dtype.uint16, dtype.int16, dtype.uint32, dtype.int32, dtype.uint64, dtype.int64),
    *(dtype.float16, dtype.bfloat16, dtype.float32, dtype.float64, dtype.complex64, dtype.complex128),
)
_SIGNED = {dtype.uint8: dtype.int16, dtype.uint16: dtype.int32, dtype.uint32: dtype.int64, dtype.uint64: dtype.int64}
"""The type that holds what an unsigned one and a signed one that is no larger hold."""


def common_type(types: Sequence[Any]) -> Any:
    """Return the type that tensors of some types have in common, as MindSpore promotes them."""

    def joined(first: Any, second: Any) -> Any:
        low, high = sorted((first, second), key=_ORDER.index)
        if low == dtype.float16 and high == dtype.bfloat16:
            return dtype.float32
        if low in _SIGNED and high == _signed_of(low):
            return _SIGNED[low]
        if low == dtype.float64 and high == dtype.complex64:
            return dtype.complex128
        return high

    return functools.reduce(joined, types)


def _signed_of(kind: Any) -> Any:
    """Return the signed type of as many bits as an unsigned one."""
    return _ORDER[_ORDER.index(kind) + 1]


def _alike(genuine: Any) -> Any:
    @functools.wraps(genuine)
    def call(self: Any, tensors: Any, *rest: Any) -> Any:
        if isinstance(tensors, (tuple, list)) and all(isinstance(each, Tensor) for each in tensors):
            types = [each.dtype for each in tensors]
            if any(kind != types[0] for kind in types[1:]):
                common = common_type(types)
                tensors = [each if each.dtype == common else ops.cast(each, common) for each in tensors]
        return genuine(self, tensors, *rest)

    return call


def join_types() -> None:
    """Have what joins tensors in PyNative mode cast them before."""
    for kind in (gen_ops_prim.Concat, pyboost_inner_prim._PyboostConcatPrim):
        kind.__call__ = _alike(kind.__call__)
