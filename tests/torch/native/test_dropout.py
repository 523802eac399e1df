"""Dropout of the native device keeps the values that the CPU keeps, and scales them alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def test_values_and_gradients_equal_the_cpus_bit_for_bit(run: Any) -> None:
    found = run(Path(__file__).with_name("dropout.py"))
    assert len(found) == 4 * 9 * 3 * 2 + 4
    assert [case for case, is_equal in found.items() if not is_equal] == []
