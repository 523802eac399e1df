"""A CUDA script on two ranks: four ways to train the same network on the same data, which have to agree."""

from __future__ import annotations

import json
import os
from pathlib import Path

import torch
import torch.distributed as dist
import torch_npu
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.nn.parallel import DistributedDataParallel
from torch_npu.contrib import transfer_to_npu  # noqa: F401

local = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local)
torch.set_num_threads(1)
dist.init_process_group("nccl", device_id=torch.device("cuda", local))
told = {"backend": dist.get_backend(), "losses": [], "devices": []}
# Divides the default group, which is bound to a device.
mesh = torch.distributed.device_mesh.init_device_mesh("cuda", (1, 2), mesh_dim_names=("data", "tensor"))


def network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4)).cuda()


sharded, on_mesh = network(), network()
fully_shard(sharded)
fully_shard(on_mesh, mesh=mesh["tensor"])
models = [
    network(),
    DistributedDataParallel(network(), device_ids=[local]),
    FullyShardedDataParallel(network(), device_id=torch.cuda.current_device()),
    sharded,
    on_mesh,
]
optimizers = [torch.optim.SGD(model.parameters(), lr=0.1) for model in models]
profiler = torch.profiler
with profiler.profile(
    activities=[profiler.ProfilerActivity.CPU, profiler.ProfilerActivity.CUDA],
    schedule=profiler.schedule(wait=0, warmup=0, active=2, repeat=1),
    on_trace_ready=profiler.tensorboard_trace_handler("out"),
    experimental_config=torch_npu.profiler._ExperimentalConfig(profiler_level=torch_npu.profiler.ProfilerLevel.Level1),
) as prof:
    for _ in range(2):
        inputs = torch.randn(8, 16, device="cuda")  # the same on both ranks: their mean is what one alone computes
        losses = [model(inputs).square().mean() for model in models]
        torch.stack(losses).sum().backward()
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()
        told["losses"].append([loss.item() for loss in losses])
        told["devices"].append(str(losses[0].device))
        prof.step()
Path(f"told_{local}.json").write_text(json.dumps(told), encoding="utf-8")
dist.destroy_process_group()
