"""The hints for a run are those that were approved."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from subjects import subjects_of


@pytest.mark.parametrize("subject", subjects_of("advised"))
def test_advised(compare: Callable[[str, str], None], subject: str) -> None:
    compare(subject, "advised")
