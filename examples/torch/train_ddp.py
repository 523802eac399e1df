"""
Train a small network on several NPUs with DistributedDataParallel, and profile every rank.

Start it with torchrun, one process per device:

    torchrun --nproc_per_node 2 examples/torch/train_ddp.py

Rank r leaves a directory with ``profiler_info_r.json`` below ``--output``. ``--slow-rank`` lets one rank come late to
every step, so that its peers can be seen waiting for it.
"""

from __future__ import annotations

import argparse
import os
import time

import torch
import torch.distributed as dist
import torch_npu
from torch import nn
from torch.nn.parallel import DistributedDataParallel

WIDTH, CLASSES, BATCH = 256, 16, 32
WARMUP, RECORDED = 1, 3


def build_model() -> nn.Module:
    return nn.Sequential(
        nn.Linear(WIDTH, 2 * WIDTH),
        nn.BatchNorm1d(2 * WIDTH),
        nn.ReLU(),
        nn.Linear(2 * WIDTH, 2 * WIDTH),
        nn.ReLU(),
        nn.Linear(2 * WIDTH, CLASSES),
    )


def train(arguments: argparse.Namespace, rank: int, device: torch.device) -> torch.Tensor:
    """Train and return the last loss, averaged over the ranks."""
    torch.manual_seed(0)
    # Small buckets: the gradients of the last layers travel while the first layers' are still computed.
    model = DistributedDataParallel(build_model().to(device), device_ids=[device.index], bucket_cap_mb=1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    criterion = nn.CrossEntropyLoss()
    torch.manual_seed(100 + rank)  # every rank has data of its own

    profiler = torch_npu.profiler
    with profiler.profile(
        activities=[profiler.ProfilerActivity.CPU, profiler.ProfilerActivity.NPU],
        schedule=profiler.schedule(wait=0, warmup=WARMUP, active=RECORDED, repeat=1),
        on_trace_ready=profiler.tensorboard_trace_handler(arguments.output),
        experimental_config=profiler._ExperimentalConfig(profiler_level=profiler.ProfilerLevel.Level1),
    ) as prof:
        for _ in range(WARMUP + RECORDED):
            inputs = torch.randn(BATCH, WIDTH, device=device)
            targets = torch.randint(CLASSES, (BATCH,), device=device)
            if rank == arguments.slow_rank:
                time.sleep(arguments.delay_ms / 1000)
            loss = criterion(model(inputs), targets)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            mean = loss.detach().clone()
            dist.all_reduce(mean)
            mean /= dist.get_world_size()
            prof.step()
    return mean


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", default="./ddp_out")
    parser.add_argument("--slow-rank", type=int, default=-1, help="rank that comes late to every step")
    parser.add_argument("--delay-ms", type=float, default=5.0, help="by how much")
    arguments = parser.parse_args()

    local_rank = int(os.environ["LOCAL_RANK"])
    torch.npu.set_device(local_rank)
    dist.init_process_group("hccl")
    loss = train(arguments, dist.get_rank(), torch.device("npu", local_rank))
    if dist.get_rank() == 0:
        print(f"last loss {loss.item():.6f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
