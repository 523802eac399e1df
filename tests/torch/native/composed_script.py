"""Tensors that consist of others on the device and on the CPU; print what test_composed.py compares."""

from __future__ import annotations

import json
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import torch
import torch_npu  # noqa: F401 - registers the device

warnings.simplefilter("ignore")
Values = list[torch.Tensor]
DENSE = torch.tensor([[0.0, 1.5, 0.0], [2.0, 0.0, -3.0]])
INDICES = torch.tensor([[0, 0, 1], [1, 1, 0]])
RAGGED = [torch.arange(6.0).reshape(2, 3), torch.arange(3.0).reshape(1, 3) - 1]


def parts(tensor: torch.Tensor) -> Values:
    """Return the plain tensors that a tensor consists of."""
    if tensor.is_nested:
        return list(tensor.unbind())
    if tensor.is_quantized:
        return [tensor.int_repr(), tensor.dequantize()]
    if tensor.layout is torch.sparse_coo:
        return [tensor._indices(), tensor._values()]
    if tensor.layout is torch.sparse_csr:
        return [tensor.crow_indices(), tensor.col_indices(), tensor.values()]
    return [tensor]


def pairs(device: str) -> torch.Tensor:
    return torch.sparse_coo_tensor(INDICES.to(device), torch.tensor([1.0, 2.0, 4.0], device=device), (2, 3))


def products(device: str) -> Values:
    pair, dense = pairs(device), torch.arange(12.0, device=device).reshape(3, 4)
    return [torch.sparse.mm(pair, dense), pair @ dense, torch.sparse.sum(pair, 0), pair * 3, pair + pair, -pair]


def changed(device: str) -> Values:
    pair = pairs(device)
    pair.add_(pairs(device)).mul_(2)
    pair._values()[0] = 7  # a view of the tensor's own values
    dense = DENSE.to(device).clone()
    dense.add_(pair)
    zeroed = pairs(device).zero_()
    return [pair, pair.coalesce(), dense, zeroed, pairs(device).t(), torch.cat([pair, pair])]


def gathered(device: str) -> Values:
    values = DENSE.clone().to(device).requires_grad_()
    torch.gather(values, 1, torch.tensor([[0, 2], [1, 1]], device=device), sparse_grad=True).square().sum().backward()
    assert values.grad is not None
    assert values.grad.is_sparse
    return [values.grad.coalesce()]


def embedded(device: str) -> Values:
    torch.manual_seed(2)
    table = torch.nn.Embedding(6, 3, sparse=True).to(device)
    optimizer = torch.optim.SparseAdam(list(table.parameters()), 0.1)
    for _ in range(3):
        optimizer.zero_grad()
        table(torch.tensor([1, 4, 4], device=device)).square().sum().backward()
        optimizer.step()
    assert table.weight.grad is not None
    return [table.weight.detach(), table.weight.grad.coalesce()]


def compressed(device: str) -> Values:
    made = torch.sparse_csr_tensor(
        *(t.to(device) for t in (torch.tensor([0, 1, 3]), torch.tensor([1, 0, 2]), torch.tensor([1.5, 2.0, -3.0]))),
        size=(2, 3),
    )
    other = DENSE.to(device).to_sparse_csr()
    dense = torch.arange(12.0, device=device).reshape(3, 4)
    return [made, other, made @ dense, other.to_dense(), made.to_sparse(), made * 2]


def quantised(device: str) -> Values:
    x = DENSE.to(device)
    by_tensor = torch.quantize_per_tensor(x, 0.25, 10, torch.quint8)
    scales, zeros = torch.tensor([0.5, 0.125], device=device), torch.tensor([1, -2], device=device)
    by_row = torch.quantize_per_channel(x, scales, zeros, 0, torch.qint8)
    results = [
        by_tensor,
        by_row,
        by_row.q_per_channel_scales(),
        by_row.q_per_channel_zero_points(),
        by_row.dequantize(),
    ]
    changed = by_tensor.clone()
    changed.copy_(x + 0.5)
    return [
        *results,
        changed,
        by_tensor.reshape(3, 2),
        by_tensor[1],
        torch.quantize_per_tensor(x, 0.5, 0, torch.qint32),
    ]


def nested(device: str) -> Values:
    leaves = [part.clone().to(device).requires_grad_() for part in RAGGED]
    joined = torch.nested.as_nested_tensor(leaves)
    weight = torch.arange(12.0, device=device).reshape(4, 3)
    turned = torch.nn.functional.linear(joined, weight).softmax(-1)
    padded = torch.nested.to_padded_tensor(joined * 3, -1.0)
    padded.square().sum().backward()
    assert all(leaf.grad is not None for leaf in leaves)
    made = torch.nested.nested_tensor(RAGGED, device=device)
    made.mul_(2)
    return [
        turned.detach(),
        padded.detach(),
        *(leaf.grad for leaf in leaves),
        made,
        made.clone() + made,
        made.sum(-1, keepdim=True),
    ]


def moved(device: str) -> Values:
    """Copies there and back, of each kind; and through a file."""
    quantized = torch.quantize_per_tensor(DENSE, 0.25, 10, torch.quint8)
    every = [DENSE.to_sparse(), DENSE.to_sparse_csr(), quantized, torch.nested.nested_tensor(RAGGED)]
    there = [t.to(device) for t in every]
    assert all(t.device.type == device for t in there)
    back = [t.cpu() for t in there]
    assert all(t.device.type == "cpu" for t in back)
    loaded = [pickle.loads(pickle.dumps(t)) for t in there[:2]]
    return [*there, *(t.to(device) for t in back), *loaded]


def compare(function: Callable[[str], Values]) -> list[Any]:
    """Return how many tensors were compared, and the numbers of those that differ from the CPU's."""
    here, there = function("cpu"), function("npu")
    wrong = []
    for number, (one, other) in enumerate(zip(here, there, strict=True)):
        facts = [(t.layout, t.dtype, t.is_nested, t.is_quantized) for t in (one, other)]
        mine, others = parts(one), parts(other)
        on_device = all(t.device.type == "npu" for t in (other, *others))
        equal = all(torch.equal(a, b.cpu()) for a, b in zip(mine, others, strict=True))
        if facts[0] != facts[1] or not on_device or not equal:
            wrong.append(number)
    return [len(here), wrong]


CHECKS = (products, changed, gathered, embedded, compressed, quantised, nested, moved)


def memory() -> list[int]:
    """Return what a sparse tensor adds to the memory of the device, and what stays of it."""
    before = torch.npu.memory_allocated()
    sparse = torch.sparse_coo_tensor(
        torch.zeros(1, 1000, dtype=torch.int64, device="npu"), torch.ones(1000, device="npu"), (2000,)
    )
    held = torch.npu.memory_allocated() - before
    del sparse
    return [held, torch.npu.memory_allocated() - before]


try:
    pairs("npu") + pairs("cpu")
    mixed = ""
except RuntimeError as error:
    mixed = str(error)
empty = torch.empty(2, 3, layout=torch.sparse_coo, device="npu:1")
print(
    json.dumps(
        {
            "checks": {check.__name__: compare(check) for check in CHECKS},
            "memory": memory(),
            "mixed": mixed,
            "empty": [str(empty.device), str(empty.layout), str(empty._values().device), repr(pairs("npu"))],
        }
    )
)
