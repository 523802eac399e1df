"""
What ``communication.comm_func`` calls in PyNative mode: primitives that the CPU build has no operator of.

The primitive of a cell that computes the same is called in their place, one launch for one, with its gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from mindspore import ops
from mindspore.ops._primitive_cache import _get_cache_prim


def _cached(primitive: Any, *arguments: Any) -> Any:
    return _get_cache_prim(primitive)(*arguments)


def _all_reduce(x: Any, op: str, group: str) -> Any:
    return _cached(ops.AllReduce, op, group)(x)


def _all_gather(x: Any, size: int, group: str) -> Any:
    del size
    return _cached(ops.AllGather, group)(x)


def _reduce_scatter(x: Any, size: int, op: str, group: str) -> Any:
    del size
    return _cached(ops.ReduceScatter, op, group)(x)


def _all_to_all(x: Any, group: str, sent: Sequence[int], got: Sequence[int], size: int, even: bool) -> Any:
    if even:
        return _cached(ops.AlltoAll, size, 0, 0, group)(x)
    return _cached(ops.AlltoAllV, group)(x, tuple(sent), tuple(got))


def _send(x: Any, peer: int, group: str, tag: int) -> Any:
    return _cached(ops.Send, tag, peer, group)(x)


def _receive(tag: int, peer: int, shape: Sequence[int], group: str, dtype: Any) -> Any:
    return _cached(ops.Receive, tag, peer, list(shape), dtype, group)()


CALLED: Final[Mapping[str, Callable[..., Any]]] = MappingProxyType(
    {
        "InnerCommAllGather": _all_gather,
        "InnerCommAllReduce": _all_reduce,
        "InnerCommAllToAllV": _all_to_all,
        "InnerCommIrecv": _receive,
        "InnerCommIsend": _send,
        "InnerCommReduceScatter": _reduce_scatter,
    }
)
"""By the class of the primitive what its call does."""


def replace_calls(classes: Any) -> None:
    """Give the classes of the module *classes* other calls; graphs go on to see the primitives."""
    for name, function in CALLED.items():
        kind = getattr(classes, name, None)
        if kind is not None:
            kind.__call__ = _method(function)


def _method(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(primitive: Any, *arguments: Any) -> Any:
        del primitive
        return function(*arguments)

    return call
