"""Train two steps with host data, profiled; run as ``python profiled_training.py FOLDER foreach|loop``."""

from __future__ import annotations

import json
import sys

import torch
import torch_npu
from torch import nn

torch.manual_seed(0)
layers = [nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 64, 10)]
model = nn.Sequential(*layers).npu()
optimizer = torch.optim.AdamW(model.parameters(), 1e-3, foreach=sys.argv[2] == "foreach")
losses = []
with torch_npu.profiler.profile(
    record_shapes=True,
    profile_memory=True,
    schedule=torch_npu.profiler.schedule(wait=0, warmup=1, active=2, repeat=1),
    on_trace_ready=torch_npu.profiler.tensorboard_trace_handler(sys.argv[1]),
) as profiler:
    for _ in range(3):
        images, labels = torch.randn(4, 3, 8, 8).npu(), torch.randint(0, 10, (4,)).to("npu")
        queries = torch.randn(4, 2, 16, 8).npu()
        attended = nn.functional.scaled_dot_product_attention(queries, queries, queries)
        loss = nn.functional.cross_entropy(model(images), labels) + attended.sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        loss.cpu()
        profiler.step()
print(json.dumps(losses))
