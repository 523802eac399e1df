"""Large zeros take no memory until they are written."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

SCRIPT = """
import json
import torch
import torch_npu

def resident():
    with open("/proc/self/statm") as numbers:
        return int(numbers.read().split()[1]) * 4096

MIB = 1 << 20
torch.zeros(1, device="npu")
before = resident()
cache = torch.zeros(4096 * MIB, dtype=torch.int8, device="npu")
growth_bytes = resident() - before
cache[77 * MIB] = 5
dirty = torch.full((128 * MIB,), 3, dtype=torch.int8, device="npu")
dirty[5 : 70 * MIB + 7].zero_()
edges = [dirty[at].item() for at in (4, 5, 6, 4100, 70 * MIB + 6, 70 * MIB + 7)]
shared = torch.full((80 * MIB,), 3, dtype=torch.int8).share_memory_().npu()
shared.zero_()
every_second = torch.full((80 * MIB, 2), 1, dtype=torch.int8, device="npu")
every_second[:, 0].zero_()
print(json.dumps({
    "growth_bytes": growth_bytes, "one": cache[76 * MIB : 78 * MIB].sum().item(), "edges": edges,
    "shared": shared.sum().item(), "every_second": every_second.sum().item(),
    "counted": torch.npu.memory_allocated() // MIB,
}))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not give pages back this way")
def test_zeros_take_no_memory_until_they_are_written(run: Callable[..., Any]) -> None:
    results = run(SCRIPT)
    assert results["growth_bytes"] < 64 << 20
    assert results["one"] == 5
    assert results["edges"] == [3, 0, 0, 0, 0, 3]
    assert results["shared"] == 0
    assert results["every_second"] == 80 << 20
    assert results["counted"] >= 4096  # of the device's memory it takes all
