"""
Train two steps of a small network, profiled with every switch on; started by torchrun.

WITH_STACK=1 records calls of Python as well.
"""

from __future__ import annotations

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch_npu import profiler as p

rank = int(os.environ["RANK"])
torch.npu.set_device(rank)
dist.init_process_group("hccl")
device = torch.device("npu", rank)
torch.manual_seed(0)
layers = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 48))
model = DistributedDataParallel(nn.Sequential(layers, nn.LayerNorm(48), nn.Linear(48, 6)).to(device))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()
side = torch.npu.Stream()


def batches():
    random = torch.Generator().manual_seed(rank)
    for _ in range(3):
        yield torch.randn(4, 1, 8, 8, generator=random), torch.randint(6, (4,), generator=random)


def step(inputs, targets):
    inputs, targets = inputs.to(device), targets.to(device)
    with torch.autocast("npu", torch.float16), torch.profiler.record_function("forward"):
        scores = model(inputs)
    loss = criterion(scores.float(), targets)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    with torch.npu.stream(side):
        side.wait_stream(torch.npu.default_stream())
        spread = torch.sort(scores.flatten())[0].double().std()
    mean = loss.detach().clone()
    dist.all_reduce(mean)
    dist.broadcast(spread.float(), 0)
    if dist.get_world_size() == 1:
        return mean.item()
    if rank == 0:
        dist.send(scores.detach().float(), 1)
    else:
        dist.recv(torch.empty(4, 6, device=device), 0)
    return mean.item()


config = p._ExperimentalConfig(
    profiler_level=p.ProfilerLevel.Level2,
    aic_metrics=p.AiCMetrics.PipeUtilization,
    l2_cache=True,
    mstx=True,
    sys_io=True,
    sys_interconnection=True,
    gc_detect_threshold=0.0,
    host_sys=[p.HostSystem.CPU, p.HostSystem.MEM, p.HostSystem.DISK, p.HostSystem.NETWORK],
    export_type=[p.ExportType.Text, p.ExportType.Db],
    data_simplification=False,
)
with p.profile(
    activities=[p.ProfilerActivity.CPU, p.ProfilerActivity.NPU],
    schedule=p.schedule(wait=0, warmup=1, active=2, repeat=1),
    on_trace_ready=p.tensorboard_trace_handler("out", worker_name=f"rank{rank}", analyse_flag=False),
    experimental_config=config,
    record_shapes=True,
    profile_memory=True,
    with_stack=os.environ.get("WITH_STACK") == "1",
    with_modules=True,
    with_flops=True,
) as prof:
    for number, (inputs, targets) in enumerate(batches()):
        span = torch.npu.mstx.range_start(f"step {number}", torch.npu.current_stream())
        step(inputs, targets)
        torch.npu.mstx.mark("trained", domain="extra")
        torch.npu.mstx.range_end(span)
        prof.step()
dist.destroy_process_group()
