"""Tables of operators and allocations made by hand."""

from __future__ import annotations

from drynpu.kernels import Allocations, Call, Operators, Signature, TensorDesc

TENSOR = TensorDesc((2, 3), "FLOAT16")
ADD, CAT = Signature("Add", (TENSOR, None, TENSOR)), Signature("Cat", ((TENSOR, TENSOR),))


def test_calls_become_columns_in_time_order() -> None:
    calls = [Call(ADD, 50, 60, 7), Call("ProfilerStep#0", 10, 100, 7), Call(CAT, 10, 20, 8), Call(ADD, 70, 80, 7, 1)]
    table = Operators.from_calls(calls)
    assert [table.names[index] for index in table.name] == ["ProfilerStep#0", "Cat", "Add", "Add"]
    assert table.start_ns.tolist() == [10, 10, 50, 70]
    assert table.end_ns.tolist() == [100, 20, 60, 80]
    assert table.thread.tolist() == [7, 8, 7, 7]
    assert table.scope.tolist() == [7, 0, 0, 1]
    assert [None if row < 0 else table.signatures[row] for row in table.signature] == [None, CAT, ADD, ADD]
    assert table.texts == (("", ""), ("FLOAT16;;FLOAT16", "2,3;;2,3"))


def test_no_calls() -> None:
    assert len(Operators.from_calls([])) == 0
    assert len(Allocations.from_rows([])) == 0


def test_allocations_keep_addresses_and_the_order_of_one_time() -> None:
    table = Allocations.from_rows([(20, 1, 2**63, -8), (10, 1, 2**63, 8), (20, 1, 4096, 16)])
    assert table.time_ns.tolist() == [10, 20, 20]
    assert table.address.tolist() == [2**63, 2**63, 4096]
    assert table.size_bytes.tolist() == [8, -8, 16]
