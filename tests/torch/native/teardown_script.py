"""Two ranks drop a parallel model after its group was destroyed, again and again. Run: ``teardown_script.py TIMES``."""

from __future__ import annotations

import faulthandler
import sys
import warnings

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch_npu  # noqa: F401 - registers the device
from torch import nn

warnings.simplefilter("ignore", FutureWarning)


def train(rank: int, place: torch.device, store: dist.Store) -> None:
    """Train a parallel model for one step and destroy its group before the model is dropped."""
    dist.init_process_group("hccl", store=store, rank=rank, world_size=2)
    model = nn.parallel.DistributedDataParallel(nn.Linear(2, 1).to(place), device_ids=[rank])
    model(torch.ones(1, 2, device=place)).sum().backward()
    dist.destroy_process_group()


def work(rank: int, port: int, times: int) -> None:
    """Train models one after the other; end the process where that takes longer than a minute."""
    faulthandler.dump_traceback_later(60, exit=True)
    torch.npu.set_device(rank)
    store = dist.TCPStore("127.0.0.1", port, 2, is_master=False)
    for time in range(times):
        train(rank, torch.device("npu", rank), dist.PrefixStore(str(time), store))


if __name__ == "__main__":
    server = dist.TCPStore("127.0.0.1", 0, None, is_master=True, wait_for_workers=False)
    mp.spawn(work, (server.port, int(sys.argv[1])), nprocs=2)
    print(sys.argv[1])
