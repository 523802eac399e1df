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


def padded(values):
    rows = torch.nested.nested_tensor_from_jagged(values, torch.tensor([0, 1, 3, 6], device=values.device))
    return rows.to_padded_tensor(7.0)


rows = [torch.arange(6.0, device=device).requires_grad_() for device in ("npu", "cpu")]
with warnings.catch_warnings(record=True) as also_caught:
    warnings.simplefilter("always")
    both = [padded(each) for each in rows]
    for each in both:
        each.cos().sum().backward()
right += [torch.equal(*(each.cpu() for each in both)), torch.equal(rows[0].grad.cpu(), rows[1].grad)]
caught += also_caught
(table,) = Path(target).rglob("kernel_details.csv")
with table.open() as file:
    kernels = [row["Name"] for row in csv.DictReader(file)]
texts = [str(each.message) for each in caught if "CAUTION" in str(each.message)]
print(json.dumps([right, texts, kernels, list(CASES)]))
"""


def test_the_host_runs_them_between_copies(run: Any) -> None:
    right, texts, kernels, names = run(SCRIPT)
    assert all(right)
    assert len(right) == 2 * 7 + 3 + 2
    warned = [text.split("'")[1].removeprefix("aten::") for text in texts]
    assert len(warned) == len(set(warned)), "each once"
    jagged = {"_jagged_to_padded_dense_forward", "_padded_dense_to_jagged_forward"}
    assert {*names, *jagged, "lgamma_", "lgamma.out"} <= set(warned)
    end = "is not currently supported on the NPU backend and will fall back to run on the CPU."
    assert all(end in text for text in texts)
    assert not [kernel for kernel in kernels if "Unmapped" in kernel]
