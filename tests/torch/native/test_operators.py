"""Operators on samples that PyTorch's own tests use: the device gives what the CPU gives, bit for bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

KNOWN = {
    "linalg.lstsq",  # the CPU itself differs from call to call in the last bits
    "tensor_split",  # refuses sections on a device, as on any device
}


def test_operators_equal_those_of_the_cpu(run: Any) -> None:
    counts, unequal = run(Path(__file__).with_name("operators.py"))
    assert set(unequal) <= KNOWN
    assert counts["operators"] > 500
    assert counts["equal"] > 1000
