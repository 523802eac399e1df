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


def test_the_module_the_metadata_and_profiles_state_the_release_of_the_setting(scripts: Any) -> None:
    script = """
import importlib.metadata, torch_npu
print(torch_npu.__version__, importlib.metadata.version("torch-npu"))
with torch_npu.profiler.profile(on_trace_ready=torch_npu.profiler.tensorboard_trace_handler("out")):
    pass
"""
    run = scripts(script, environment={"DRYNPU_TORCH_NPU_VERSION": "2.7.1.post2"})
    assert run.stdout.splitlines()[0] == "2.7.1.post2 2.7.1.post2"
    info = run.output("out").document("profiler_info*.json")
    assert info["torch_npu_version"].startswith("2.7.1.post2+drynpu")
