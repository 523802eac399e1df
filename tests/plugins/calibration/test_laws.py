"""Laws for every kernel type with a measured time: formats change no work, and bytes are moved at the memory's rate."""

from __future__ import annotations

import pytest

from drynpu.kernels import KernelSpec, TensorDesc, cost, family_of, usual_calibration
from drynpu.platforms import load_chip
from drynpu_calibration._described import described_kernel

CHIP = load_chip("Ascend910B2")
MEASURED = sorted(
    name.partition("/")[2] for name in usual_calibration().generations["split"].levels if not name.startswith("chip/")
)
FOREACH = ("ForeachNorm", "ForeachAddList", "ForeachMulScalar", "ForeachAddcdivList", "ForeachSqrt", "ForeachCopy")
TYPES = [*filter(None, MEASURED), *FOREACH]
OF_LAYOUTS = frozenset({"layout", "conv", "pool", "batch_norm"})
"""Families whose work is in the format: images are read by their positions and channels."""
WITH_REASON = {
    "gather": "rows that an index names are waited for",
    "scatter": "rows that an index names are waited for",
    "layout": "short runs are copied one by one",
    "sort": "elements are compared many times",
    "pool": "windows overlap",
    "random": "numbers are made",
    "batch_norm": "images are summed up by channels",
    "softmax_grad": "a row stays on one core",
    "softmax": "a row stays on one core",
    "norm": "a row is read several times",
    "norm_grad": "a row is read several times",
    "matmul": "products",
    "conv": "products",
    "attention": "products",
}


def described(op_type: str, layout: str) -> KernelSpec:
    x = TensorDesc((8, 16, 512, 128), "FLOAT16", layout)
    return described_kernel(op_type, None, [x, x, x], [x])


@pytest.mark.parametrize("op_type", TYPES)
def test_a_format_that_moves_nothing_changes_no_work(op_type: str) -> None:
    if family_of(op_type).name in OF_LAYOUTS:
        return
    assert cost(described(op_type, "NCHW"), CHIP) == cost(described(op_type, "ND"), CHIP)


@pytest.mark.parametrize("op_type", [name for name in TYPES if family_of(name).name not in WITH_REASON])
@pytest.mark.parametrize("shape", [(1_000_000_000,), (8192, 65536)])
def test_no_kernel_takes_three_times_as_long_as_its_bytes(op_type: str, shape: tuple[int, ...]) -> None:
    x = TensorDesc(shape, "FLOAT")
    out = TensorDesc((1,), "FLOAT") if family_of(op_type).name == "reduce" else x
    spec = described_kernel(op_type, None, [x], [out])
    bytes_ns = (spec.bytes_read + spec.bytes_written) / (0.8 * CHIP.memory_gbs)
    assert cost(spec, CHIP).duration_ns < 3 * bytes_ns
