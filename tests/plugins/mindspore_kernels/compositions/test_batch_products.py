"""Batches of different sizes are multiplied as on Ascend, with gradients; MindSpore refuses them on a CPU."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

_SCRIPT = Path(__file__).with_name("batch_products.py")


@pytest.mark.parametrize("mode", ["GRAPH", "PYNATIVE"])
def test_batches_are_broadcast(scripts: Any, mode: str) -> None:
    run = scripts.simulated(_SCRIPT, mode)
    found = run.printed("found")
    assert len(found) == 6
    assert max(max(differences) for differences in found) < 2e-5
    (folder,) = run.runs("profiled")
    (about,) = folder.rglob("profiler_metadata.json")
    assert json.loads(about.read_text())["drynpu"]["unmapped_operators"] == {}
