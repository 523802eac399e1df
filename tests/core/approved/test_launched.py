"""Operators launch the kernels that were approved."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from subjects import subjects_of


@pytest.mark.parametrize("subject", subjects_of("launched"))
def test_launched(compare: Callable[[str, str], None], subject: str) -> None:
    compare(subject, "launched")
