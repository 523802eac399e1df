"""Shares of times in communication.json."""

from __future__ import annotations

import pytest

from drynpu.deliverables.communication.files import _share


@pytest.mark.parametrize(("part", "rest", "share"), [(5, 5, 0.5), (1, 2, 0.3333), (0, 7, 0.0), (7, 0, 1.0), (0, 0, 0)])
def test_a_share_is_of_both_together(part: int, rest: int, share: float) -> None:
    assert _share(part, rest) == share
