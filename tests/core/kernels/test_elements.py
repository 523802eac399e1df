"""Element operations of element-wise kernels."""

from __future__ import annotations

import pytest

from drynpu.kernels import element_operations
from drynpu.kernels._elements import _BY_OPERATIONS


@pytest.mark.parametrize(
    ("op_type", "operations"),
    [("Add", 1), ("Gelu", 16), ("Tanh", 8), ("ZerosLike", 0), ("Swish", 5), ("unheard of", 1)],
)
def test_a_kernel_has_its_operations(op_type: str, operations: float) -> None:
    assert element_operations(op_type) == operations


def test_no_kernel_is_counted_twice() -> None:
    names = [name for listed in _BY_OPERATIONS.values() for name in listed.split()]
    assert len(names) == len(set(names))
