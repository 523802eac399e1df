"""Operators without a kernel for the NPU run on the host, with one warning each, and launch nothing."""

from __future__ import annotations

from typing import Any

SCRIPT = """
import csv, json, tempfile, warnings
from pathlib import Path

import torch
import torch_npu

matrix = torch.rand(4, 4)
matrix = matrix @ matrix.T + torch.eye(4)
CASES = {
    "_linalg_eigvals": torch.linalg.eigvals, "_linalg_eigh": torch.linalg.eigvalsh,
    "linalg_cholesky_ex": torch.linalg.cholesky, "lgamma": torch.lgamma, "i0": torch.special.i0,
    "mode": lambda x: torch.mode(x).values, "histogram.bin_ct": lambda x: torch.histogram(x.flatten(), 3).hist,
}
there = matrix.npu()
target = tempfile.mkdtemp()
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    with torch_npu.profiler.profile(on_trace_ready=torch_npu.profiler.tensorboard_trace_handler(target)):
        right = [
            result.device.type == "npu" and torch.allclose(result.cpu(), case(matrix))
            for case in CASES.values() for result in (case(there), case(there))
        ]
        written = there.clone()
        written.lgamma_()
        torch.lgamma(there, out=(out := torch.empty(0, device="npu")))
    right += [torch.equal(each.cpu(), matrix.lgamma()) for each in (written, out)]
    leaf = there.clone().requires_grad_()
    torch.lgamma(leaf).sum().backward()
right.append(leaf.grad.device.type == "npu")
(table,) = Path(target).rglob("kernel_details.csv")
with table.open() as file:
    kernels = [row["Name"] for row in csv.DictReader(file)]
texts = [str(each.message) for each in caught if "CAUTION" in str(each.message)]
print(json.dumps([right, texts, kernels, list(CASES)]))
"""


def test_the_host_runs_them_between_copies(run: Any) -> None:
    right, texts, kernels, names = run(SCRIPT)
    assert all(right)
    assert len(right) == 2 * 7 + 3
    warned = [text.split("'")[1].removeprefix("aten::") for text in texts]
    assert len(warned) == len(set(warned)), "each once"
    assert {*names, "lgamma_", "lgamma.out"} <= set(warned)
    end = "is not currently supported on the NPU backend and will fall back to run on the CPU."
    assert all(end in text for text in texts)
    assert not [kernel for kernel in kernels if "Unmapped" in kernel]
