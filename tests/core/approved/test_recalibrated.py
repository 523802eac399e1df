"""A calibration of measurements is what was approved."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from subjects import subjects_of


@pytest.mark.parametrize("subject", subjects_of("recalibrated"))
def test_recalibrated(compare: Callable[[str, str], None], subject: str) -> None:
    compare(subject, "recalibrated")
