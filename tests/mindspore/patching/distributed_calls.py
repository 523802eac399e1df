"""Run by every rank, under ``drynpu run``: collectives of ``mint.distributed``; prints their results as JSON."""

from __future__ import annotations

import json

import mindspore as ms
import numpy as np
from mindspore.communication import comm_func
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
    gathered, part = ms.Tensor(np.zeros((6, 2), np.float32)), ms.Tensor(np.zeros((1,), np.float32))
    own = ms.Tensor(np.arange(6, dtype=np.float32).reshape(3, 2) + 10 * rank)
    dist.all_gather_into_tensor(gathered, own)
    dist.reduce_scatter_tensor(part, ms.Tensor(np.arange(2, dtype=np.float32) + rank))
    exchanged = ms.Tensor(np.zeros((2 + 2 * rank, 2), np.float32))
    dist.all_to_all_single(exchanged, own, [1 + rank, 1 + rank], [1, 2])
    reduced = ms.Tensor(np.full((2,), rank + 1, np.float32))
    dist.reduce(reduced, 1)
    each = [ms.Tensor(np.zeros((3, 2), np.float32)) for _ in range(2)]
    dist.all_gather(each, own)
    listed = [ms.Tensor(np.zeros((1,), np.float32)), ms.Tensor(np.zeros((2,), np.float32))]
    mine = [ms.Tensor(np.full((rank + 1,), 7 + 10 * rank + to, np.float32)) for to in range(2)]
    dist.all_to_all(listed, mine)
values = {"gathered": gathered, "part": part, "exchanged": exchanged, "reduced": reduced, "second": each[1]}
values |= {"from0": listed[0], "from1": listed[1]}
returned = {
    "all_reduce": comm_func.all_reduce(own, "max")[0],
    "all_gather_into_tensor": comm_func.all_gather_into_tensor(own)[0],
    "reduce_scatter_tensor": comm_func.reduce_scatter_tensor(ms.Tensor(np.arange(2, dtype=np.float32) + rank))[0],
    "broadcast": comm_func.broadcast(own, 1),
    "scatter_tensor": comm_func.scatter_tensor(own[:2], 1),
    "all_to_all": comm_func.all_to_all_with_output_shape([(1,), (2,)], mine)[0][1],
    "all_to_all_single": comm_func.all_to_all_single_with_output_shape((2 + 2 * rank, 2), own, None, [1, 2])[0],
}
comm_func.barrier()
values |= {f"comm_func.{name}": value for name, value in returned.items()}
found = {"sum": x.asnumpy().tolist(), "shared": shared.asnumpy().tolist()}
found |= {name: value.asnumpy().tolist() for name, value in values.items()}
print("found=" + json.dumps(found), flush=True)
