"""Operations of kernels that sort, against the two that were measured and against a count of merges."""

from __future__ import annotations

import pytest

from drynpu.kernels import KernelSpec, TaskType, TensorDesc, cost
from drynpu.kernels._sorting import operations_per_element
from drynpu.platforms import load_chip
from drynpu_calibration import described_kernel


def sorting(op_type: str, *shape: int) -> KernelSpec:
    x = TensorDesc(shape, "FLOAT")
    return described_kernel(op_type, TaskType.MIX_AIV, [x], [x, TensorDesc(shape, "INT32")])


@pytest.mark.parametrize(("length", "passes"), [(8, 1), (32, 1), (33, 2), (128, 2), (129, 3), (4096, 5), (150_000, 8)])
def test_a_sort_merges_four_lists_at_a_time(length: int, passes: int) -> None:
    lists, merges = -(-length // 32), 0
    while lists > 1:
        lists, merges = -(-lists // 4), merges + 1
    assert merges + 1 == passes
    assert operations_per_element(sorting("Sort", 7, length)) == passes * operations_per_element(sorting("Sort", 7, 2))


def test_the_largest_of_a_long_row_are_found_in_chunks() -> None:
    long, chunk = sorting("TopKV2", 7, 150_000), sorting("TopKV2", 7, 4096)
    assert operations_per_element(long) == operations_per_element(chunk)
    assert operations_per_element(sorting("TopKV2", 7, 1000)) < operations_per_element(chunk)


def test_the_largest_alone_takes_one_pass() -> None:
    assert operations_per_element(sorting("ArgMaxWithValue", 7, 150_000)) == 1


@pytest.mark.parametrize(("op_type", "shape", "chip", "measured_us"), [
    ("Sort", (4096,), "Ascend910B4", 9.78),
    ("TopKV2", (32, 1000), "Ascend910B2", 11.39),
])  # fmt: skip
def test_measured_kernels(op_type: str, shape: tuple[int, ...], chip: str, measured_us: float) -> None:
    """Medians of the genuine profiles that the calibration is fitted to."""
    assert cost(sorting(op_type, *shape), load_chip(chip)).duration_ns / 1000 == pytest.approx(measured_us, rel=0.35)
