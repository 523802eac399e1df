"""What is derived of ranks together is what was approved."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from subjects import subjects_of


@pytest.mark.parametrize("subject", subjects_of("joined"))
def test_joined(compare: Callable[[str, str], None], subject: str) -> None:
    compare(subject, "joined")
