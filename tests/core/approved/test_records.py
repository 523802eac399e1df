"""Recordings are written as the raw records that were approved."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from subjects import subjects_of


@pytest.mark.parametrize("subject", subjects_of("records"))
def test_records(compare: Callable[[str, str], None], subject: str) -> None:
    compare(subject, "records")
