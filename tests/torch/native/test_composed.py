"""Sparse, quantized and nested tensors of the device equal the CPU's exactly, in all their parts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

COMPARED = {
    "products": 6,
    "changed": 6,
    "gathered": 1,
    "embedded": 2,
    "compressed": 6,
    "quantised": 9,
    "nested": 7,
    "moved": 10,
}
BLOCKS = 8192 + 4096
"""Indices of 8 bytes and values of 4 bytes for 1 000 elements, in blocks of 512 with 32 bytes more each."""


def test_tensors_that_consist_of_others(run: Any) -> None:
    found = run(Path(__file__).with_name("composed_script.py"))
    assert found["checks"] == {name: [count, []] for name, count in COMPARED.items()}
    assert found["memory"] == [BLOCKS, 0]
    assert (
        "Expected all tensors to be on the same device, but found at least two devices, npu:0 and cpu!"
        in found["mixed"]
    )
    device, layout, values, shown = found["empty"]
    assert (device, layout, values) == ("npu:1", "torch.sparse_coo", "npu:1")
    assert "device='npu:0', size=(2, 3), nnz=3, layout=torch.sparse_coo" in shown
