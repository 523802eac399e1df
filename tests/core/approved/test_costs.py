"""Kernels cost what was approved."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from subjects import subjects_of


@pytest.mark.parametrize("subject", subjects_of("costs"))
def test_costs(compare: Callable[[str, str], None], subject: str) -> None:
    compare(subject, "costs")
