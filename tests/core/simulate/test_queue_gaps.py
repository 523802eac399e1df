"""What lies between kernels that wait on a stream: the scheduler's gap, and the time until L2 counters are read."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from drynpu.kernels import Call, Copy, KernelPlan, KernelSpec, Operators, Signature, TaskType, TensorDesc
from drynpu.options import Clock
from drynpu.platforms import load_chip
from drynpu.simulate import Recording
from drynpu.simulate._simulate import simulate

BEGIN_NS = 1_700_000_000_000_000_000
LARGE = TensorDesc((1 << 28,), "FLOAT")
"""A gigabyte: its kernel takes longer than the launch of the next one."""
GAP_US = 0.02
MIXED_GAP_US = 1.1


def kernel(task: TaskType, copy: Copy | None = None) -> KernelSpec:
    size = LARGE.size_bytes
    tensors: dict[str, Any] = {"inputs": (LARGE,), "outputs": (LARGE,), "bytes_read": size, "bytes_written": size}
    return KernelSpec(name="Add", op_type="Add", task_type=task, copy=copy, vector_ops=LARGE.elements, **tensors)


def gaps_us(chip: str, *tasks: TaskType, l2_counters: bool, copy: Copy | None = None) -> np.ndarray:
    """Return the gaps between 200 kernels of *tasks* in turn that the host launches far ahead."""
    calls = [
        Call(Signature("op", (LARGE,)), BEGIN_NS + 2000 * n, BEGIN_NS + 2000 * n + 1000, 1)
        for n in range(200 // len(tasks))
    ]
    loaded, places = load_chip(chip), itertools.cycle(tasks)
    result = simulate(
        Recording(operators=Operators.from_calls(calls), begin_ns=BEGIN_NS, end_ns=BEGIN_NS + 1_000_000),
        plan=lambda _: KernelPlan(kernels=tuple(kernel(next(places), copy) for _ in tasks)),
        chip=loaded,
        clock=Clock.PROJECTED,
        seed=0,
        base_ns=BEGIN_NS,
        l2_counters=l2_counters,
    )
    start = result.schedule.kernel_start_ticks
    return np.asarray((start[1:] - start[:-1] - result.kernel_ticks[:-1]) * loaded.tick_ns / 1000)


def test_kernels_that_wait_start_shortly_after_each_other() -> None:
    assert gaps_us("910B2", TaskType.AI_VECTOR_CORE, l2_counters=False) == pytest.approx(np.full(199, GAP_US))


def test_a_kernel_of_both_kinds_of_cores_starts_later_and_so_does_the_next_one() -> None:
    tasks = (TaskType.AI_VECTOR_CORE, TaskType.AI_CORE, TaskType.MIX_AIC, TaskType.AI_VECTOR_CORE)
    gaps = gaps_us("910B2", *tasks, l2_counters=False)
    assert gaps == pytest.approx(np.resize([GAP_US, MIXED_GAP_US, MIXED_GAP_US, GAP_US], 199))


def test_a_stream_rests_until_l2_counters_are_read() -> None:
    """As behind kernels of genuine runs: 88 us at least, half of the time up to 92 us."""
    gaps = gaps_us("910B2", TaskType.AI_VECTOR_CORE, l2_counters=True) - GAP_US
    assert 87.4 < gaps.min() < 88.5
    assert np.median(gaps) == pytest.approx(92, abs=2)
    assert 105 < gaps.max() <= 113.3
    assert gaps.tolist() == (gaps_us("910B2", TaskType.AI_VECTOR_CORE, l2_counters=True) - GAP_US).tolist()


@pytest.mark.parametrize(
    ("chip", "task", "copy"),
    [
        ("910B2", TaskType.MEMCPY, Copy.DEVICE_TO_DEVICE),  # L2 counts of no copy
        ("910A", TaskType.AI_VECTOR_CORE, None),  # where nothing was measured nothing is invented
    ],
)
def test_nothing_rests_elsewhere(chip: str, task: TaskType, copy: Copy | None) -> None:
    usual, counted = (gaps_us(chip, task, copy=copy, l2_counters=each) for each in (False, True))
    assert counted.tolist() == usual.tolist()
    assert counted.max() < 1
