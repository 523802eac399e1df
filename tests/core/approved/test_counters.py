"""Kernels count what was approved."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from subjects import subjects_of


@pytest.mark.parametrize("subject", subjects_of("counters"))
def test_counters(compare: Callable[[str, str], None], subject: str) -> None:
    compare(subject, "counters")
