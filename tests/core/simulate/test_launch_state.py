"""The second of two equal kernels finds its code in the instruction caches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from drynpu.kernels import Call, KernelPlan, KernelSpec, Operators, Signature, TaskType, TensorDesc, cost
from drynpu.options import Clock
from drynpu.platforms import load_chip
from drynpu.simulate import Recording
from drynpu.simulate._simulate import simulate

BEGIN_NS = 1_700_000_000_000_000_000
SMALL, SCALAR = TensorDesc((6, 4096), "FLOAT"), TensorDesc((1,), "FLOAT")


def kernel(op_type: str, shape: TensorDesc = SMALL) -> KernelSpec:
    size = shape.size_bytes
    tensors: dict[str, Any] = {"inputs": (shape,), "outputs": (shape,), "bytes_read": size, "bytes_written": size}
    return KernelSpec(
        name="k", op_type=op_type, task_type=TaskType.AI_VECTOR_CORE, vector_ops=shape.elements, **tensors
    )


def shares(*kernels: KernelSpec, chip: str = "910B2") -> list[float]:
    """Return how long kernels that are launched one after the other last, by how long they last alone."""
    calls = [Call(Signature("op", (SMALL,)), BEGIN_NS, BEGIN_NS + 1000, 1)]
    loaded = load_chip(chip)
    result = simulate(
        Recording(operators=Operators.from_calls(calls), begin_ns=BEGIN_NS, end_ns=BEGIN_NS + 1_000_000),
        plan=lambda _: KernelPlan(kernels=kernels),
        chip=loaded,
        clock=Clock.PROJECTED,
        seed=0,
        base_ns=BEGIN_NS,
        l2_counters=False,
    )
    alone = np.array([cost(each, loaded).duration_ns for each in kernels])
    return (result.kernel_ticks * loaded.tick_ns / alone).tolist()


def test_the_second_of_two_equal_kernels_takes_less_time() -> None:
    first, second, other, third, single = shares(
        kernel("Mul"), kernel("Mul"), kernel("Add"), kernel("Mul"), kernel("Mul", SCALAR)
    )
    assert [first, other, third, single] == pytest.approx([1.0] * 4, abs=0.3)
    assert second < 0.8
    assert second == pytest.approx(1 - 24 * 60 / cost(kernel("Mul"), load_chip("910B2")).duration_ns, abs=0.15)


def test_only_split_chips_have_measurements_of_it() -> None:
    assert min(shares(kernel("Mul"), kernel("Mul"), chip="910A")) > 0.8
