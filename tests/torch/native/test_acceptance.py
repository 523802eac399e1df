"""The native device does what a device does: values, not that nothing raises."""

from __future__ import annotations

from pathlib import Path

import pytest

LEAST = 150


def test_every_value_is_that_of_a_device(run: object) -> None:
    found = run(Path(__file__).with_name("acceptance.py"), XDG_CACHE_HOME=_cache())
    wrong = {name: pair for name, pair in found.items() if pair[0] != pair[1]}
    assert not wrong
    assert len(found) > LEAST


def _cache() -> str:
    from drynpu_torch.extension import find_build

    return str(find_build().path.parents[3])


@pytest.mark.parametrize("value", ["nativ", "cuda"])
def test_other_devices_are_refused_and_the_default_serves(run: object, value: str) -> None:
    script = "import torch, torch_npu, json; print(json.dumps(str(torch.zeros(1, device='npu').device)))"
    assert run(script, device=value) == "npu:0", "the default, where it is built"


def test_without_a_build_the_script_is_told_what_to_do(tmp_path: Path) -> None:
    import os
    import subprocess
    import sys

    environ = {**os.environ, "DRYNPU_DEVICE": "native", "XDG_CACHE_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", "import torch_npu"], env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "run: drynpu native build" in done.stderr


def test_a_full_memory_goes_on_where_that_is_wanted(run: object) -> None:
    script = """
import json, torch, torch_npu, warnings
warnings.simplefilter("ignore")
torch.npu.set_per_process_memory_fraction(0.0001)
kept = [torch.ones(4 << 20, device="npu") for _ in range(3)]
print(json.dumps([sum(t.sum().item() for t in kept), torch.npu.memory_allocated() > 48 << 20]))
"""
    assert run(script, DRYNPU_OOM="warn") == [float(3 * (4 << 20)), True]
