"""Element operations of element-wise kernels, and the tables that name them."""

from __future__ import annotations

import pytest

from drynpu.kernels import element_operations, kernel_types
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


def test_a_table_names_ge_s_type_where_it_differs() -> None:
    assert kernel_types("Add AddV2=Add\n  Sub") == {"Add": "Add", "AddV2": "Add", "Sub": "Sub"}
