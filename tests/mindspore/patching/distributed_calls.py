"""Run by every rank, under ``drynpu run``: collectives of ``mint.distributed``; prints their results as JSON."""

from __future__ import annotations

import json

import mindspore as ms
import numpy as np
from mindspore.mint import distributed as dist
from mindspore.profiler import ProfilerLevel, _ExperimentalConfig, profile, tensorboard_trace_handler

ms.set_context(mode=ms.PYNATIVE_MODE, device_target="Ascend")
dist.init_process_group()
rank = dist.get_rank()
config = _ExperimentalConfig(profiler_level=ProfilerLevel.Level1)
with profile(on_trace_ready=tensorboard_trace_handler("profiled"), experimental_config=config):
    x = ms.Tensor(np.full((3, 2), rank + 1, np.float32))
    dist.all_reduce(x)
    shared = ms.Tensor(np.full((4,), rank + 5, np.float32))
    dist.broadcast(shared, src=1)
    dist.barrier()
found = {"sum": x.asnumpy().tolist(), "shared": shared.asnumpy().tolist()}
print("found=" + json.dumps(found), flush=True)
