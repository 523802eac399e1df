"""Recordings are simulated as was approved."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from subjects import subjects_of


@pytest.mark.parametrize("subject", subjects_of("simulated"))
def test_simulated(compare: Callable[[str, str], None], subject: str) -> None:
    compare(subject, "simulated")
