"""Run samples of PyTorch's own operator database on the CPU and on the device; print what is not equal."""

from __future__ import annotations

import json
import sys
import types
import warnings

import torch
import torch_npu  # noqa: F401 - registers the device
from torch.utils import _pytree

warnings.simplefilter("ignore")
torch.set_num_threads(1)
# PyTorch's test utilities import it for snapshots of texts, which no sample uses.
sys.modules.setdefault("expecttest", types.SimpleNamespace(TestCase=object, assert_expected_inline=None))
from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402

UNDEFINED = ("empty", "new_empty", "jiterator")
"""Prefixes of operators whose values are arbitrary, or which compile for another device."""
IN_ORDER = ("argwhere",)
"""Operators whose whole numbers lie in the order of their dims on a device, and in another on the CPU."""
SAMPLES = 2


def moved(values: object, device: str) -> object:
    """Return the values with every tensor, and every device that is named, on *device*."""

    def move(value: object) -> object:
        if isinstance(value, torch.Tensor):
            return value.detach().clone().to(device)
        return torch.device(device) if isinstance(value, torch.device) else device if value == "cpu" else value

    return _pytree.tree_map(move, values)


def result(operator: object, sample: object, device: str) -> list[torch.Tensor]:
    """Return the tensors that an operator gives for a sample on *device*."""
    value, args, kwargs = moved((sample.input, sample.args, sample.kwargs), device)
    torch.manual_seed(0)
    return [t for t in _pytree.tree_leaves(operator.op(value, *args, **kwargs)) if isinstance(t, torch.Tensor)]


def same(here: torch.Tensor, there: torch.Tensor) -> bool:
    """Whether a result of the device equals the CPU's exactly, and says npu."""
    bits = [t.detach().contiguous().reshape(-1).view(torch.uint8) for t in (here, there.cpu())]
    facts = [(t.dtype, t.shape, t.stride()) for t in (here, there)]
    return there.is_npu and facts[0] == facts[1] and torch.equal(*bits)


counts = {"equal": 0, "operators": 0}
unequal: list[str] = []
for operator in op_db:
    if operator.name.startswith(UNDEFINED) or torch.float32 not in operator.dtypes:
        continue
    counts["operators"] += 1
    for sample, _ in zip(operator.sample_inputs("cpu", torch.float32), range(SAMPLES), strict=False):
        try:
            expected = result(operator, sample, "cpu")
        except (RuntimeError, NotImplementedError, ImportError):
            continue  # the CPU has no such operator
        if any(t.layout is not torch.strided or t.is_conj() or t.is_neg() for t in expected):
            continue
        if operator.name in IN_ORDER:
            expected = [t.contiguous() for t in expected]
        try:
            found = result(operator, sample, "npu")
            equal = len(found) == len(expected) and all(map(same, expected, found))
        except (RuntimeError, NotImplementedError):
            equal = False
        counts["equal"] += equal
        if not equal:
            unequal.append(operator.name)
print(json.dumps([counts, sorted(set(unequal))]))
