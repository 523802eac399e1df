"""The time of an AI CPU kernel in parts, worked out by hand."""

from __future__ import annotations

import pytest
from attrs import evolve

from drynpu.device.samplers.aicpu import split_aicpu
from drynpu.kernels import KernelSpec, TaskType, Tuning


def test_the_parts_of_a_kernel_follow_from_its_start_its_bytes_and_its_work() -> None:
    """
    1000 ns of start, 400 bytes read and 600 written at 2 a ns, 2000 operations at 4 a ns: 2000 ns.

    Half of the start is dispatch, a quarter scheduling; the kernel that only starts has nothing else.
    """
    tuning = Tuning(aicpu=evolve(Tuning().aicpu, start_ns=1000, bytes_per_ns=2, ops_per_ns=4))
    work = {"bytes_read": 400, "bytes_written": 600, "vector_ops": 1200, "cube_flops": 800}
    kernels = [
        KernelSpec(name="a", op_type="a", task_type=TaskType.AI_CPU, **work),
        KernelSpec(name="b", op_type="b", task_type=TaskType.AI_CPU),
    ]
    split = split_aicpu(kernels, tuning)
    assert split.dispatch.tolist() == pytest.approx([500 / 2000, 0.5])
    assert split.scheduling.tolist() == pytest.approx([250 / 2000, 0.25])
    assert split.compute.tolist() == pytest.approx([700 / 2000, 0])
    assert split.copy.tolist() == pytest.approx([300 / 2000, 0])
