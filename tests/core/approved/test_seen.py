"""The timeline of a run shows what was approved."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from subjects import subjects_of


@pytest.mark.parametrize("subject", subjects_of("seen"))
def test_seen(compare: Callable[[str, str], None], subject: str) -> None:
    compare(subject, "seen")
