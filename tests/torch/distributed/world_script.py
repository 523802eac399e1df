"""DistributedDataParallel, FSDP2 and every call of torch.distributed, each in a recording of its own."""

from __future__ import annotations

import os
import sys

import torch
import torch.distributed as dist
import torch_npu
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel


def profile(name):
    profiler = torch_npu.profiler
    return profiler.profile(
        on_trace_ready=profiler.tensorboard_trace_handler(f"{sys.argv[1]}/{name}"),
        experimental_config=profiler._ExperimentalConfig(profiler_level=profiler.ProfilerLevel.Level1),
    )


def net():
    return nn.Sequential(*(nn.Linear(64, 64) for _ in range(3))).npu()


def step(model, optimizer):
    loss = model(torch.randn(8, 64, device="npu")).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    mean = loss.detach().clone()
    dist.all_reduce(mean)


def train(name, model):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    step(model, optimizer)
    with profile(name):
        step(model, optimizer)


def values(rank, size):
    x = torch.arange(1.0, 5.0, device="npu")
    for operation in ("SUM", "AVG", "PRODUCT", "MAX"):
        reduced = x.clone()
        if operation != "AVG" or "DRYNPU_WORLD" in os.environ:  # gloo has no average
            dist.all_reduce(reduced, getattr(dist.ReduceOp, operation))
            yield operation, reduced.tolist()
    gathered = [torch.empty_like(x) for _ in range(size)]
    dist.all_gather(gathered, x)
    yield "all_gather", [part.tolist() for part in gathered]
    part = torch.empty(4 // size, device="npu")
    dist.reduce_scatter_tensor(part, x.clone())
    yield "reduce_scatter", part.tolist()
    objects = [None] * size
    dist.all_gather_object(objects, {"same": 1})
    yield "objects", objects
    dist.broadcast(x, 0)
    yield "broadcast", x.tolist()
    dist.barrier()
    pair = dist.new_group([0, 1])
    if rank < 2:
        dist.all_reduce(x, group=pair)
        yield "new_group", x.tolist()


def main():
    dist.init_process_group("hccl")
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.npu.set_device(int(os.environ["LOCAL_RANK"]))
    torch.manual_seed(0)
    train("ddp", DistributedDataParallel(net(), device_ids=[torch.npu.current_device()], bucket_cap_mb=0.02))
    sharded = net()
    for layer in sharded:
        fully_shard(layer)
    train("fsdp2", fully_shard(sharded))
    with profile("calls"):
        found = dict(values(rank, size))
    print(f"{rank}: {found}", flush=True)
    dist.destroy_process_group()


main()
