"""What follows from the tables of a recorded run is what was approved."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from subjects import RECORDED_RUNS


@pytest.mark.parametrize("name", RECORDED_RUNS)
def test_derived(compare: Callable[[str, str], None], name: str) -> None:
    compare(name, "derived")
