"""The databases of a run are those that were approved."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from subjects import subjects_of


@pytest.mark.parametrize("subject", subjects_of("databases"))
def test_databases(compare: Callable[[str, str], None], subject: str) -> None:
    compare(subject, "databases")
