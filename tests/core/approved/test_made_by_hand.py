"""Operators whose arguments have to fit each other launch the kernels that were approved."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from subjects import subjects_of


@pytest.mark.parametrize("subject", subjects_of("made_by_hand"))
def test_made_by_hand(compare: Callable[[str, str], None], subject: str) -> None:
    compare(subject, "made_by_hand")
