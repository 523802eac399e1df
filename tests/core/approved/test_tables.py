"""A recorded run is read into the tables that were approved."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from subjects import RECORDED_RUNS


@pytest.mark.parametrize("name", RECORDED_RUNS)
def test_tables(compare: Callable[[str, str], None], name: str) -> None:
    compare(name, "tables")
