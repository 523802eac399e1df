"""
``ops.BatchMatMul`` of batches of different sizes, which Ascend computes and MindSpore refuses on a CPU.

Imported where MindSpore is loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from mindspore.ops import functional
from mindspore.ops.auto_generate import BatchMatMul, MatMul
from mindspore.ops.primitive import _primexpr

_MARKS: Final = ("add_prim_attr", "recompute", "set_device", "set_prim_instance_name", "set_stage", "shard")
"""Methods by which scripts mark a primitive and go on with it."""


@_primexpr  # type: ignore[untyped-decorator] # MindSpore has no types
def joined_batch(first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...]:
    """Return the dims that two batches are broadcast to."""
    longest = max(len(first), len(second))
    one = (1,) * (longest - len(first)) + tuple(first)
    other = (1,) * (longest - len(second)) + tuple(second)
    return tuple(b if a == 1 else a for a, b in zip(one, other))  # noqa: B905 - MindSpore reads the source


def _new_product(kind: Any, transpose_a: bool = False, transpose_b: bool = False) -> Any:
    """Return a function that multiplies as the primitive does; batches that differ are broadcast first."""
    primitive = super(BatchMatMul, kind).__new__(kind, transpose_a, transpose_b)
    primitive.__init__(transpose_a, transpose_b)
    matrices = MatMul(False, transpose_b)

    # GRAPH mode reads the source of a function, and what it holds.
    def product(x: Any, y: Any) -> Any:
        left, right = functional.shape(x), functional.shape(y)
        if left[:-2] == right[:-2]:
            return primitive(x, y)
        if len(right) == 2 and not transpose_a:
            rows = functional.reshape(x, (-1, left[-1]))
            return functional.reshape(matrices(rows, y), (*left[:-1], -1))
        batch = joined_batch(left[:-2], right[:-2])
        whole_x = functional.broadcast_to(x, batch + left[-2:])
        whole_y = functional.broadcast_to(y, batch + right[-2:])
        return primitive(whole_x, whole_y)

    for name in _MARKS:
        setattr(product, name, _marking(product, primitive, name))
    return product


def _marking(product: Callable[..., Any], primitive: Any, name: str) -> Callable[..., Any]:
    """Return a method of the primitive that gives the function back, as the primitive gives itself."""

    def mark(*values: Any, **options: Any) -> Any:
        getattr(primitive, name)(*values, **options)
        return product

    return mark


def replace_products() -> None:
    """Have MindSpore's class make these."""
    BatchMatMul.__new__ = _new_product
