"""What follows from the tables of a run is what was approved."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from subjects import subjects_of


@pytest.mark.parametrize("subject", subjects_of("derived"))
def test_derived(compare: Callable[[str, str], None], subject: str) -> None:
    compare(subject, "derived")
