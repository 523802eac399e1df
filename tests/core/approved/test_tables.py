"""Runs are read into the tables that were approved."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from subjects import subjects_of


@pytest.mark.parametrize("subject", subjects_of("tables"))
def test_tables(compare: Callable[[str, str], None], subject: str) -> None:
    compare(subject, "tables")
