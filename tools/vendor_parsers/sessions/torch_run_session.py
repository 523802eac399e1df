"""
Two profiled steps of a training with every option that leaves records of the host; under torchrun with collectives.

    drynpu run torch_run_session.py FOLDER LEVEL FORMS METRICS
"""

from __future__ import annotations

import os
import sys

import torch
import torch.distributed as dist
from torch_npu import profiler

WARMUP, RECORDED = 1, 2
RANKS = int(os.environ.get("WORLD_SIZE", "1"))


def train(model: torch.nn.Module, optimizer: torch.optim.Optimizer, device: torch.device) -> None:
    """Do one step; of several ranks, the first sends its loss to the last."""
    loss = model(torch.randn(2, 16, 64, device=device)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if RANKS > 1:
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        if dist.get_rank() == 0:
            dist.send(mean, RANKS - 1)
        elif dist.get_rank() == RANKS - 1:
            dist.recv(mean, 0)
    loss.item()


def main() -> None:
    """Record."""
    folder, level, forms, metrics = sys.argv[1:]
    device = torch.device("npu", int(os.environ.get("LOCAL_RANK", "0")))
    torch.npu.set_device(device)
    torch.manual_seed(7)
    model: torch.nn.Module = torch.nn.TransformerEncoderLayer(64, 4, 128, dropout=0.1, batch_first=True).to(device)
    if RANKS > 1:
        dist.init_process_group("hccl")
        model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[device.index])
    optimizer = torch.optim.AdamW(model.parameters())
    config = profiler._ExperimentalConfig(
        profiler_level=getattr(profiler.ProfilerLevel, level),
        aic_metrics=getattr(profiler.AiCMetrics, "AiCoreNone" if level == "Level0" else metrics),
        data_simplification=False,
        export_type=forms.split(","),
    )
    with profiler.profile(
        schedule=profiler.schedule(wait=0, warmup=WARMUP, active=RECORDED, repeat=1),
        on_trace_ready=profiler.tensorboard_trace_handler(folder),
        experimental_config=config,
        profile_memory=True,
        record_shapes=True,
        with_stack=True,
        with_modules=True,
    ) as prof:
        for _ in range(WARMUP + RECORDED):
            train(model, optimizer, device)
            prof.step()
    if RANKS > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
