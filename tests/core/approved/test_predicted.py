"""The cost model says of the kernels of a run what was approved."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from subjects import subjects_of


@pytest.mark.parametrize("subject", subjects_of("predicted"))
def test_predicted(compare: Callable[[str, str], None], subject: str) -> None:
    compare(subject, "predicted")
