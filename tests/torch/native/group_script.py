"""Two ranks exchange tensors of the native device; rank 0 prints what it got. Run as ``group_script.py PORT``."""

from __future__ import annotations

import json
import os
import sys
import warnings

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch_npu  # noqa: F401 - registers the device
from torch import nn

warnings.simplefilter("ignore", FutureWarning)


def work(rank: int, port: str) -> None:
    """Run every kind of exchange once."""
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
    torch.npu.set_device(rank)
    dist.init_process_group("hccl", rank=rank, world_size=2)
    place = torch.device("npu", rank)
    mine = torch.full((2,), rank + 1.0, device=place)
    total = mine.clone()
    dist.all_reduce(total)
    gathered = [torch.zeros(2, device=place) for _ in range(2)]
    dist.all_gather(gathered, mine)
    joined = torch.zeros(4, device=place)
    dist.all_gather_into_tensor(joined, mine)
    part = torch.zeros(1, device=place)
    dist.reduce_scatter_tensor(part, mine)
    sent = torch.full((1,), 7.0 + rank, device=place)
    dist.broadcast(sent, 1)
    waited = mine.clone()
    handle = dist.all_reduce(waited, async_op=True)
    handle.wait()
    dist.barrier()
    torch.manual_seed(0)
    model = nn.parallel.DistributedDataParallel(nn.Linear(2, 1).to(place), device_ids=[rank])
    model(mine[None]).sum().backward()
    gradient = model.module.weight.grad
    if rank == 0:
        tensors = [total, *gathered, joined, part, sent, waited, gradient]
        print(json.dumps([[str(t.device) for t in tensors], [t.flatten().tolist() for t in tensors], model.device_ids]))
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(work, (sys.argv[1],), nprocs=2)
