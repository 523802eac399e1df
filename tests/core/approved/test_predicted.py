"""The cost model says of the kernels of a recorded run what was approved."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from subjects import RECORDED_RUNS


@pytest.mark.parametrize("name", RECORDED_RUNS)
def test_predicted(compare: Callable[[str, str], None], name: str) -> None:
    compare(name, "predicted")
