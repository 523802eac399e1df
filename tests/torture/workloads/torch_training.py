"""A small training that profiles two windows of two steps each, with marks, memory and both kinds of deliverables."""

from __future__ import annotations

import torch
import torch_npu
from torch import nn
from torch_npu.profiler import ExportType, ProfilerActivity, ProfilerLevel, _ExperimentalConfig

STEPS = 7


def main() -> object:
    """Train, and return the losses."""
    torch.manual_seed(3)
    net = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 5)).npu()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    features, labels = torch.randn(12, 16).npu(), (torch.arange(12) % 5).npu()
    losses = []
    profiler = torch_npu.profiler.profile(
        activities=[ProfilerActivity.CPU, ProfilerActivity.NPU],
        schedule=torch_npu.profiler.schedule(wait=0, warmup=1, active=2, repeat=2),
        on_trace_ready=torch_npu.profiler.tensorboard_trace_handler("out"),
        profile_memory=True,
        experimental_config=_ExperimentalConfig(
            profiler_level=ProfilerLevel.Level1, export_type=[ExportType.Text, ExportType.Db], mstx=True
        ),
    )
    with profiler:
        for _ in range(STEPS):
            loss = nn.functional.cross_entropy(net(features), labels)
            torch_npu.npu.mstx.mark("forward done")
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(round(loss.item(), 6))
            profiler.step()
    return losses
