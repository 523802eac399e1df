"""
Products that exchange operands or results with other ranks while they compute: one kernel of a device each.

Functions take the arguments of the primitives behind ``ops.all_gather_matmul`` and ``ops.matmul_reduce_scatter``, and
refuse what the documentation of these refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from drynpu_mindspore_kernels.communication._exchange import RankGroup
from drynpu_mindspore_kernels.compositions import BFLOAT16_BITS, narrow, widen

_LEAST_K, _K_END = 256, 65535
_RANKS: Final = (2, 4, 8)


def _check(call: Any, size: Any, inner: int, turned: Any) -> None:
    """Raise ``RuntimeError`` for what a device refuses and MindSpore has let pass when it inferred the shapes."""
    name, group = call.name, call.group
    if turned:
        raise RuntimeError(f"{name}: trans_input is True; turn input before the call")
    if not _LEAST_K <= inner < _K_END:
        raise RuntimeError(f"{name}: k, the inner side, is {inner}; it has to be in [{_LEAST_K}, {_K_END})")
    if int(size) != group.size or group.size not in _RANKS:
        raise RuntimeError(
            f"{name}: world_size is {int(size)} and group {group.name!r} has {group.size} ranks; "
            f"both have to be one of {', '.join(map(str, _RANKS))}"
        )


def _wide(x: Any) -> Any:
    return widen(x).astype(np.float32)


def _stored(values: Any, like: Any) -> Any:
    """Return FP32 numbers in the 16 bits of *like*."""
    return narrow(values) if like.dtype == BFLOAT16_BITS else values.astype(np.float16)


def _all_gather_matmul(
    call: Any,
    x: Any,
    y: Any,
    group: str,
    size: Any,
    bias: Any,
    gathered: Any,
    gives_gathered: Any,
    turns: Any,
    turned_x: Any,
    turned_y: Any,
) -> tuple[Any, Any]:
    del group, bias, turns  # MindSpore allows one value of each
    if int(gathered):
        raise RuntimeError(f"{call.name}: gather_index is {int(gathered)}; only 0 is allowed, which gathers input")
    right = y.T if turned_y else y
    _check(call, size, right.shape[0], turned_x)
    ranks: RankGroup = call.group
    whole = np.concatenate(ranks.gather(x, call.name)).reshape(-1, x.shape[1])
    product = _stored(_wide(whole) @ _wide(right), x)
    return [product, whole if gives_gathered else whole[:0, 0]], []


def _matmul_reduce_scatter(
    call: Any,
    x: Any,
    y: Any,
    group: str,
    size: Any,
    op: Any,
    bias: Any,
    turns: Any,
    turned_x: Any,
    turned_y: Any,
) -> tuple[Any, Any]:
    del group, op, bias, turns  # MindSpore allows one value of each
    right = y.T if turned_y else y
    _check(call, size, right.shape[0], turned_x)
    ranks: RankGroup = call.group
    total = ranks.reduce(_stored(_wide(x) @ _wide(right), x), "sum", call.name)
    return [total.reshape(ranks.size, -1)[ranks.place]], []


PRODUCTS: Final[Mapping[str, Callable[..., Any]]] = MappingProxyType(
    {"AllGatherMatmul": _all_gather_matmul, "MatmulReduceScatter": _matmul_reduce_scatter}
)
"""By primitive; what they exchange is part of their kernel, so no operator of HCCL is noted."""
