"""Operators that are served without boxes, where they differ from what every operator's test shows."""

from __future__ import annotations

from typing import Any

SCRIPT = """
import json
import torch
import torch_npu

def text(call):
    try:
        call()
    except RuntimeError as error:
        return str(error).splitlines()[0]

found = {"unequal": []}
for kind in (torch.float32, torch.bfloat16, torch.float16, torch.int32, torch.int64):
    a, b = torch.arange(1, 13).reshape(3, 4).to(kind), torch.arange(13, 1, -1).reshape(3, 4).to(kind)
    calls = {
        "add": lambda x, y: torch.add(x, y, alpha=3), "sub": torch.sub, "mul": torch.mul, "div": torch.div,
        "number": lambda x, y: x * 2 + torch.tensor(3).to(x.dtype), "where": lambda x, y: torch.where(x > 4, x, y),
        "mm": lambda x, y: x @ y.T, "addmm": lambda x, y: torch.addmm(x[:, :3], x, y.T), "sum": lambda x, y: x.sum(0),
        "relu": lambda x, y: torch.relu(x - y), "cat": lambda x, y: torch.cat([x, y.T[:3, :3]], 1),
        "exp": lambda x, y: (x / 9).exp(),
        "in place": lambda x, y: x.clone().add_(y).mul_(y).sub_(x), "pow": lambda x, y: x.pow(2),
        "norm": lambda x, y: torch.nn.functional.layer_norm(x.float(), (4,), y[0].float(), None),
    }
    for name, call in calls.items():
        expected, given = call(a, b), call(a.npu(), b.npu())
        if not (given.is_npu and given.dtype == expected.dtype and given.stride() == expected.stride()
                and torch.equal(given.cpu(), expected)):
            found["unequal"].append([name, str(kind)])
x = torch.ones(4, device="npu")
found["same"] = x.add_(x) is x and x.tolist() == [2.0] * 4
found["view"] = x[1:3].mul_(5) is not x and x.tolist() == [2.0, 10.0, 10.0, 2.0]
found["gradient"] = torch.autograd.grad((x.requires_grad_() * x).sum(), x)[0].tolist()
found["host"] = text(lambda: torch.add(x, torch.ones(4)))
found["other"] = text(lambda: torch.add(x, torch.ones(4, device="npu:1")))
found["list"] = text(lambda: torch.cat([torch.ones(4, device="npu"), torch.ones(4)]))
found["shape"] = text(lambda: torch.add(x, torch.ones(3, device="npu")))
integers = torch.ones(2, 3, dtype=torch.int32, device="npu")
found["integers"] = text(lambda: torch.mm(integers, integers))
print(json.dumps(found))
"""


def test_direct_operators_do_what_boxed_ones_do(run: Any) -> None:
    devices = "Expected all tensors to be on the same device, but found at least two devices, npu:0 and "
    assert run(SCRIPT) == {
        "unequal": [],
        "same": True,
        "view": True,
        "gradient": [4.0, 20.0, 20.0, 4.0],
        "host": devices + "cpu!",
        "other": devices + "npu:1!",
        "list": devices + "cpu!",
        "shape": "The size of tensor a (4) must match the size of tensor b (3) at non-singleton dimension 0",
        "integers": "mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)",
    }
