"""Coefficients that are fitted to kernels whose times are known."""

from __future__ import annotations

import pytest

from drynpu.kernels import Factors, KernelSpec, TaskType, TensorDesc, Tuning, cost
from drynpu.platforms import load_chip
from drynpu_calibration import Measured, calibration_of, fit, predicted_us

B3 = load_chip("Ascend910B3")


def kernel(op_type: str, elements: int) -> KernelSpec:
    x = TensorDesc((8, elements // 8), "FLOAT")
    return KernelSpec(
        name="k",
        op_type=op_type,
        task_type=TaskType.AI_VECTOR_CORE,
        inputs=(x,),
        outputs=(x,),
        vector_ops=elements,
        bytes_read=4 * elements,
        bytes_written=4 * elements,
    )


def test_a_fit_finds_what_is_wrong_with_the_work_and_leaves_the_rest() -> None:
    true = Tuning(uniform=Factors(fixed=1.0, work=1.5))
    specs = [kernel("Mul", round(8 * 2 ** (power / 6))) for power in range(48, 144)]
    kernels = [
        Measured(spec=spec, chip=B3, source="s", duration_us=cost(spec, B3, true).duration_ns / 1000) for spec in specs
    ]
    found = calibration_of({"split": fit(kernels)})
    factors = found.factors("Mul", "split", "Ascend910B3")
    assert factors.work == pytest.approx(1.5, rel=0.1)
    assert factors.fixed == pytest.approx(1.0, rel=0.1)
    assert predicted_us(kernels, found)[-1] == pytest.approx(kernels[-1].duration_us, rel=0.05)
    assert fit([]) == {}
