"""Train recurrent layers on the CPU and on the native device; print what test_recurrent.py compares."""

from __future__ import annotations

import itertools
import json
import warnings

import torch
import torch_npu  # noqa: F401 - registers the device
from torch import nn
from torch.nn.utils import rnn

warnings.simplefilter("ignore")  # oneDNN has no projections
LENGTHS = torch.tensor([6, 3, 5, 2])
SHAPES: dict[str, dict[str, object]] = {
    "plain": {},
    "both": {"num_layers": 2, "bidirectional": True},
    "bare": {"num_layers": 3, "bias": False},
    "dropout": {"num_layers": 2, "dropout": 0.5},
}


def train(kind: type, device: str, dtype: torch.dtype, *, packed: bool, **options: object) -> list[object]:
    """Return the losses of three steps, and the gradients of the last one as text, which shows every bit."""
    torch.manual_seed(0)
    net = nn.ModuleList([kind(7, 5, **options), nn.LazyLinear(3)]).to(dtype)
    batch_first = bool(options.get("batch_first"))
    shape = (4, 6, 7) if batch_first else (6, 4, 7)
    x, labels = torch.randn(shape, dtype=dtype), torch.randint(3, shape[:2])
    net[1](net[0](x)[0])
    net, x, labels = net.to(device), x.to(device).requires_grad_(), labels.to(device)
    optimizer = torch.optim.SGD(net.parameters(), 0.1, foreach=False)
    (torch.manual_seed if device == "cpu" else torch.npu.manual_seed)(5)
    losses = []
    for _ in range(3):
        given = rnn.pack_padded_sequence(x, LENGTHS, batch_first, enforce_sorted=False) if packed else x
        out, states = net[0](given)
        out = rnn.pad_packed_sequence(out, batch_first)[0] if packed else out
        states = states if isinstance(states, tuple) else (states,)
        loss = nn.functional.cross_entropy(net[1](out).flatten(0, 1), labels.flatten())
        loss = loss + sum(state.square().mean() for state in states)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    gradients = [t.grad.cpu().double().flatten().tolist() for t in (x, *net.parameters())]
    return [losses, gradients, out.stride()]


found = {}
for (name, options), first, packed, dtype, kind in itertools.product(
    SHAPES.items(),
    (False, True),
    (False, True),
    (torch.float32, torch.bfloat16, torch.float64),
    (nn.LSTM, nn.GRU, nn.RNN),
):
    here, there = (train(kind, d, dtype, packed=packed, batch_first=first, **options) for d in ("cpu", "npu"))
    label = " ".join([kind.__name__, name, "first" * first, "packed" * packed, str(dtype)[6:]])
    found[label] = [here == there, max(abs(a - b) / abs(a) for a, b in zip(here[0], there[0], strict=True))]
print(json.dumps(found))
