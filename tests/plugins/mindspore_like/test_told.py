"""``Model`` calls callbacks as MindSpore's does: the same calls, numbers and keys."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).with_name("told.py")


def test_callbacks_are_told_what_mindspore_tells(scripts: Any, without_mindspore: Any) -> None:
    genuine = scripts(SCRIPT).stdout.splitlines()
    ours = without_mindspore(SCRIPT, under=("-m", "drynpu", "run")).stdout.splitlines()
    assert len(ours) == 7
    assert ours == [line for line in genuine if "=[[" in line]
