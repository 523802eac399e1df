"""Bytes of kernels that move a part of their tensors, counted by hand from what the operators read and write."""

from __future__ import annotations

import pytest

from drynpu.kernels import TensorDesc, family_of
from drynpu_calibration._moved_bytes import changed_in_place, moved_bytes


def tensor(*shape: int, dtype: str = "FLOAT16", layout: str = "ND") -> TensorDesc:
    return TensorDesc(shape, dtype, layout)


def moved(op_type: str, inputs: list[TensorDesc], outputs: list[TensorDesc]) -> tuple[int, int]:
    return moved_bytes(op_type, family_of(op_type).name, inputs, outputs)


TABLE, INDEX, ROWS = tensor(1000, 8), tensor(6, dtype="INT64"), tensor(6, 8)
TABLE_BYTES, INDEX_BYTES, ROWS_BYTES = 16_000, 48, 96


@pytest.mark.parametrize(("op_type", "inputs", "outputs", "expected"), [
    # What a gather returns of its table, and the index.
    ("GatherV2", [TABLE, INDEX], [ROWS], (ROWS_BYTES + INDEX_BYTES, ROWS_BYTES)),
    ("GatherV2", [TABLE, INDEX], [], (TABLE_BYTES + INDEX_BYTES, 0)),
    ("GatherV2", [tensor(2, 8), INDEX], [tensor(60, 8)], (32 + 48, 960)),  # more than there is given: all is read
    ("SliceD", [TABLE], [ROWS], (ROWS_BYTES, ROWS_BYTES)),
    ("StridedSlice", [TABLE, INDEX], [ROWS], (ROWS_BYTES + INDEX_BYTES, ROWS_BYTES)),
    ("ConcatD", [ROWS, ROWS], [tensor(12, 8)], (192, 192)),
    ("ConcatD", [ROWS, ROWS], [], (192, 192)),
    ("ViewCopy", [TABLE, INDEX, ROWS], [TABLE], (144, 144)),  # the index and the source
    ("ViewCopy", [ROWS], [ROWS], (96, 96)),
    ("Assign", [TABLE, TABLE], [], (TABLE_BYTES, TABLE_BYTES)),
    ("Assign", [TABLE, TABLE], [TABLE], (TABLE_BYTES, TABLE_BYTES)),
    # What is scattered into changes in as many rows as come in.
    ("ScatterNdUpdate", [TABLE, INDEX, ROWS], [TABLE], (144, 144)),
    ("ScatterNd", [INDEX, ROWS], [tensor(50, 8)], (144, 144)),  # clearing the rest is a kernel of its own
    ("ScatterNd", [INDEX, ROWS], [], (144, 144)),
    # Of what stands for sums, only these are cleared: of an image its channels, of matrices their columns.
    ("ZerosLike", [TABLE], [TABLE], (0, TABLE_BYTES)),
    ("AtomicAddrClean", [TABLE], [], (0, TABLE_BYTES)),
    ("ApplyAdamW", [TABLE, TABLE, TABLE, TABLE, INDEX], [], (4 * TABLE_BYTES + 48, 3 * TABLE_BYTES)),
    ("ApplyMomentum", [TABLE, TABLE, INDEX], [TABLE], (2 * TABLE_BYTES + 48, TABLE_BYTES)),
    ("ApplyMomentum", [TABLE, TABLE, INDEX], [ROWS], (2 * TABLE_BYTES + 48, 2 * TABLE_BYTES + 48)),
    # In place: what is read is written.
    ("Add", [TABLE, ROWS], [], (TABLE_BYTES + ROWS_BYTES, TABLE_BYTES)),
    ("Add", [tensor(1), tensor(1)], [], (4, 0)),
    ("Add", [], [TABLE], (0, TABLE_BYTES)),
    ("Add", [TABLE, ROWS], [TABLE], (TABLE_BYTES + ROWS_BYTES, TABLE_BYTES)),
    ("ReduceSum", [TABLE], [], (TABLE_BYTES, 0)),
])  # fmt: skip
def test_what_moves(
    op_type: str, inputs: list[TensorDesc], outputs: list[TensorDesc], expected: tuple[int, int]
) -> None:
    assert moved(op_type, inputs, outputs) == expected


def test_experts_without_rows_are_not_read() -> None:
    weights = tensor(10, 32, 64)
    assert moved("GroupedMatmul", [tensor(7, 32), weights], [tensor(7, 64)]) == (7 * 64 + 7 * 32 * 64 * 2, 7 * 128)
    assert moved("GroupedMatmul", [tensor(70, 32), weights], [tensor(70, 64)])[0] == 70 * 64 + weights.size_bytes
    stacks = [tensor(10, 5, 32), weights]
    assert moved("BatchMatMulV2", stacks, [tensor(10, 5, 64)])[0] == sum(t.size_bytes for t in stacks)


def test_a_cache_is_larger_than_what_comes_into_it_and_named_twice() -> None:
    key, cache, slots = tensor(6, 2, 8), tensor(50, 4, 2, 8), tensor(6, dtype="INT32")
    family = family_of("ReshapeAndCache").name

    def caches(inputs: list[TensorDesc], outputs: list[TensorDesc]) -> tuple[TensorDesc, ...]:
        return changed_in_place("ReshapeAndCache", family, inputs, outputs)

    assert caches([key, key, cache, cache, slots], [cache, cache]) == (cache, cache)
    assert caches([key, key, cache, cache, slots], []) == (cache, cache)  # the largest
    assert caches([key, cache, slots], [key, cache]) == (cache,)  # a result may look like an input
    assert caches([cache], [cache]) == (), "nothing comes into it"
    flat = tensor(9999, 9)
    assert caches([key, cache, flat], []) == (cache,), "a matrix is no cache"
    assert changed_in_place("Add", "elementwise", [cache, cache], [cache]) == ()


@pytest.mark.parametrize(("shape", "layout", "numbers"), [
    ((2, 3, 5, 7, 16), "NC1HWC0", 2 * 3 * 16), ((4, 6, 9), "ND", 2 * 9), ((40, 9), "ND", 40 * 9),
    ((4, 6, 9, 16), "FRACTAL_Z", 4 * 6 * 9 * 16), ((1, 1, 9), "ND", 9),
])  # fmt: skip
def test_two_sums_for_each_channel_or_column_are_cleared(shape: tuple[int, ...], layout: str, numbers: int) -> None:
    """Of FLOAT, and never more than there is; matrices are gradients and cleared whole."""
    assert moved("AtomicAddrClean", [tensor(*shape, dtype="FLOAT", layout=layout)], []) == (0, 4 * numbers)
