"""The model says of tables of kernels and of transfers what was approved."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from subjects import subjects_of


@pytest.mark.parametrize("subject", subjects_of("asked"))
def test_asked(compare: Callable[[str, str], None], subject: str) -> None:
    compare(subject, "asked")
