"""What ``import torch_npu`` brings along."""

from __future__ import annotations

from typing import Any

import pytest
from tests.scripts import FRESH

pytestmark = pytest.mark.slow

SCRIPT = """
import sys
import torch_npu
print(sorted({"polars", "drynpu.products", "drynpu.simulate._simulate"} & set(sys.modules)))
torch_npu.profiler.profile().start()
print("recording", "polars" in sys.modules)
"""


def test_what_only_recordings_need_is_imported_for_a_recording(scripts: Any) -> None:
    """Half of the time that the import would take."""
    first, *others = scripts(SCRIPT, environment=FRESH).stdout.splitlines()
    assert first == "[]"
    assert "recording True" in others
