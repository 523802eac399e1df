"""Products of operands of different types, which the CPU's kernels refuse and the device's promote."""

from __future__ import annotations

from typing import Any

import pytest

SCRIPT = """
import io
import itertools
import json

import torch
import torch_npu
from torch.nn.functional import linear


def tensor(*shape):
    return torch.arange(1, 1 + torch.Size(shape).numel()).reshape(shape) % 5 / 4


def loaded(a, b):
    traced, file = torch.jit.trace(lambda a, b: torch.relu(a @ b), (a.float(), b.float())), io.BytesIO()
    torch.jit.save(traced, file)
    file.seek(0)
    return torch.jit.load(file)(a, b)


def into(a, b):
    return torch.mm(a, b, out=torch.empty(3, 5, dtype=a.dtype, device=a.device))


def exported(a, b):
    class Product(torch.nn.Module):
        def forward(self, a, b):
            return a @ b

    return torch.export.export(Product(), (a.float(), b.float())).module()(a, b)


one, other, row = tensor(3, 4), tensor(4, 5), tensor(5)
PRODUCTS = {
    "mm": (torch.mm, one, other),
    "out": (into, one, other),
    "matmul": (torch.matmul, tensor(2, 3, 4), other),
    "bmm": (torch.bmm, tensor(2, 3, 4), tensor(2, 4, 5)),
    "addmm": (lambda a, b: torch.addmm(a[:, :1], a, b), one, other),
    "baddbmm": (lambda a, b: torch.baddbmm(a[..., :1], a, b), tensor(2, 3, 4), tensor(2, 4, 5)),
    "addbmm": (lambda a, b: torch.addbmm(a[0, :, :1], a, b), tensor(2, 3, 4), tensor(2, 4, 5)),
    "linear": (lambda a, b: linear(a, b.t(), row.to(a)), one, other),
    "einsum": (lambda a, b: torch.einsum("ij,jk->ik", a, b), one, other),
    "loaded": (loaded, one, other),
    "exported": (exported, one, other),
}
wrong, types = [], (torch.float32, torch.float16, torch.bfloat16)
for name, (product, a, b) in PRODUCTS.items():
    for first, second in itertools.permutations(types, 2):
        a_npu, b_npu = a.to("npu", first).requires_grad_(name != "out"), b.to("npu", second)
        result, expected = product(a_npu, b_npu), product(a, b)
        if name != "out":
            result.float().sum().backward()
            if a_npu.grad.dtype != first:
                wrong.append([name, str(first), "gradient"])
        kept = (result.dtype, result.shape) == (first, expected.shape)
        if not kept or (COMPUTES and not torch.allclose(result.detach().cpu().float(), expected, rtol=1e-2)):
            wrong.append([name, str(first), str(second), str(result.dtype)])
print(json.dumps([len(PRODUCTS), wrong]))
"""


@pytest.mark.parametrize("compute", ["1", "0"])
def test_operands_are_promoted_and_the_result_has_the_type_of_the_first(run: Any, compute: str) -> None:
    script = SCRIPT.replace("COMPUTES", str(compute == "1"))
    assert run(script, DRYNPU_COMPUTE=compute) == [11, []]
