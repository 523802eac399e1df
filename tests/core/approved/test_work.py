"""Types and tensors of kernels tell the work that was approved."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from subjects import subjects_of


@pytest.mark.parametrize("subject", subjects_of("work"))
def test_work(compare: Callable[[str, str], None], subject: str) -> None:
    compare(subject, "work")
