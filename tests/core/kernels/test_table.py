from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter
from typing import Any

import numpy as np
import pytest
from attrs import fields, has

from drynpu.kernels import CostTable, KernelSpec, TaskType, TensorDesc, cost
from drynpu.platforms import Chip, known_chips, load_chip

X = TensorDesc((2048, 2048), "FLOAT16")


def spec(task_type: TaskType, **work: int) -> KernelSpec:
    return KernelSpec(name=task_type.name, op_type="T", task_type=task_type, inputs=(X,), outputs=(X,), **work)


def flat(part: Any, before: str = "") -> Iterator[tuple[str, float]]:
    """Yield the numbers of an account and their names, with dots."""
    for each in fields(type(part)):
        value = getattr(part, each.name)
        yield from flat(value, f"{before}{each.name}.") if has(type(value)) else [(before + each.name, value)]


SPECS = tuple(
    spec(kind, cube_flops=10**10, vector_ops=10**7, bytes_read=2 * 10**7, bytes_written=10**7, cube_tiles=13)
    for kind in TaskType
)


@pytest.mark.parametrize("chip", known_chips(), ids=lambda c: c.name)
def test_rows_are_the_costs(chip: Chip) -> None:
    table = CostTable.build(SPECS, chip)
    assert len(table) == len(SPECS)
    for row, one in enumerate(SPECS):
        for name, value in flat(cost(one, chip)):
            assert attrgetter(name)(table)[row] == value, name


@pytest.mark.parametrize("chip", known_chips(), ids=lambda c: c.name)
def test_cycles_are_time_times_clock_times_blocks(chip: Chip) -> None:
    table = CostTable.build(SPECS, chip)
    assert table.aic_cycles.tolist() == [
        round(t * chip.aic_mhz / 1000 * b) for t, b in zip(table.cube.time_ns, table.block_num, strict=True)
    ]
    vector_blocks = np.where([s.task_type is TaskType.MIX_AIC for s in SPECS], table.mix_block_num, table.block_num)
    cycles = np.rint(table.vector.time_ns * chip.aiv_mhz / 1000 * vector_blocks)
    assert table.aiv_cycles.tolist() == (cycles if chip.split else np.zeros(len(SPECS))).tolist()


def test_mixed_kernels_count_two_vector_blocks_per_cube_block() -> None:
    chip = load_chip("910B4")
    table = CostTable.build([spec(TaskType.MIX_AIC, cube_flops=10**10, cube_tiles=20)], chip)
    assert table.aiv_cycles[0] == round(table.vector.time_ns[0] * 1.650 * 20 * 2)


def test_take_gathers_and_scales_all_times_alike() -> None:
    chip = load_chip("910B2")
    table = CostTable.build(SPECS, chip)
    index = np.array([3, 0, 0, 2], np.int32)
    factor = np.array([1.0, 1.1, 0.9, 1.3])
    taken = table.take(index, factor)
    assert taken.chip is chip
    assert taken.duration_ns.tolist() == (table.duration_ns[index] * factor).tolist()
    assert taken.block_num.tolist() == table.block_num[index].tolist()
    assert taken.cube.icache_miss_rate.tolist() == table.cube.icache_miss_rate[index].tolist()
    with np.errstate(invalid="ignore"):
        before = (table.cube.mac_ns / table.cube.time_ns)[index]
        np.testing.assert_allclose(taken.cube.mac_ns / taken.cube.time_ns, before, rtol=1e-12)
    assert (np.abs(taken.aic_cycles - taken.cube.time_ns * 1.8 * taken.block_num) <= 0.5).all()


def test_take_without_noise() -> None:
    table = CostTable.build(SPECS, load_chip("910B2"))
    assert table.take(np.array([1, 1])).duration_ns.tolist() == [table.duration_ns[1]] * 2


def test_empty_table() -> None:
    table = CostTable.build((), load_chip("910B2"))
    assert len(table) == 0
    assert table.duration_ns.dtype == np.float64
    assert table.block_num.dtype == np.int64
    assert table.aic_cycles.shape == table.take(np.empty(0, np.int64)).aiv_cycles.shape == (0,)


def test_work_is_gathered_without_noise() -> None:
    table = CostTable.build(SPECS, load_chip("910B2"))
    index = np.array([0, 2, 0])
    taken = table.take(index, np.array([0.5, 1.0, 2.0])).take(np.array([2, 1]))
    for name in ("products.float_ops", "cube.gm_to_l1_bytes", "cycles.fp16", "l2_victim_share", "conflicts.bank"):
        column = attrgetter(name)(table.work)
        assert taken.gather(attrgetter(name)(taken.work)).tolist() == column[[0, 2]].tolist(), name
