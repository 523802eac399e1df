"""The kernels of AlexNet, in order, against a genuine recording."""

from __future__ import annotations

import csv
import difflib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from drynpu_torch.install import install

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).with_name("alexnet_script.py")
DATA = Path(os.environ.get("GENUINE_PROFILES", Path(__file__).parents[4] / "shared" / "data"))
GENUINE = "genuine/torch_text_level1/*_3096504_*_ascend_pt/ASCEND_PROFILER_OUTPUT/kernel_details.csv"
UNKNOWN_STRIDES = ["- Transpose", "- BroadcastTo"]
"""
Kernels that differ, because Kineto records no strides.

The device makes the operands of ``eq`` contiguous, a transposed and an expanded one.
"""


def _kernels(path: Path) -> list[str]:
    with path.open(newline="") as file:
        rows = sorted(csv.DictReader(file), key=lambda row: float(row["Start Time(us)"]))
    kept = [row for row in rows if not row["Name"].startswith("hcom_")]
    return [f"{row['Type']} {row['Accelerator Core']}" for row in kept]


def test_types_cores_and_order(run_ranks: Callable[..., Any], by_rank: Callable[..., Any]) -> None:
    found = sorted(DATA.glob(GENUINE))
    if not found:
        pytest.skip(f"NO GENUINE PROFILE: {DATA / GENUINE} is not there; set GENUINE_PROFILES to its data folder")
    if install().library is None:
        pytest.skip("the sink updates parameters one by one, as PyTorch does on the CPU")
    output = by_rank(run_ranks(SCRIPT, ranks=2), ".")[0]
    genuine, ours = _kernels(found[0]), _kernels(output.folder / "kernel_details.csv")
    changed = [line.rpartition(" ")[0] for line in difflib.ndiff(genuine, ours) if line.startswith(("-", "+"))]
    assert len(genuine) == 187
    assert changed == UNKNOWN_STRIDES
    copies = [event for event in output.layer("Ascend Hardware") if event["name"] == "MEMCPY_ASYNC"]
    inside = [event for event in copies if event["args"].get("operation") == "device to device"]
    assert len(inside) == 10  # gradients of up to 92 928 bytes: one for autograd, nine out of the buckets
