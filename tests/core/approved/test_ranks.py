"""What is derived of two recorded ranks together is what was approved."""

from __future__ import annotations

from collections.abc import Callable


def test_ranks(compare: Callable[[str, str], None]) -> None:
    compare("torch_ranks", "joined")
