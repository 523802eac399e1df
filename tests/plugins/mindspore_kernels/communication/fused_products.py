"""
Run by each of two ranks, under ``drynpu run``: products fused with collectives, in both modes, and what is refused.

``fused_products.py FOLDER``; writes what each rank gets into a file, and prints the refusals.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import mindspore as ms
import numpy as np
from mindspore import nn, ops
from mindspore.communication import GlobalComm, get_rank, init
from mindspore.profiler import ProfilerLevel, _ExperimentalConfig, profile, tensorboard_trace_handler

ms.set_context(mode=ms.PYNATIVE_MODE, device_target="Ascend")
init()
rank, world = get_rank(), GlobalComm.WORLD_COMM_GROUP
results: dict[str, Any] = {}


class Gather(nn.Cell):
    def construct(self, x: Any, y: Any) -> Any:
        return ops.all_gather_matmul(x, y, world, 2)


class Turned(nn.Cell):
    def construct(self, x: Any, y: Any) -> Any:
        return ops.all_gather_matmul(x, y, world, 2, gather_output=False, trans_x2=True)


class Scatter(nn.Cell):
    def construct(self, x: Any, y: Any) -> Any:
        return ops.matmul_reduce_scatter(x, y, world, 2)


def drawn(seed: int, *shape: int, dtype: Any = ms.float16) -> Any:
    return ms.Tensor(np.random.default_rng(seed).normal(size=shape).astype(np.float32)).astype(dtype)


def keep(name: str, *found: Any) -> None:
    results.update({f"{name} {place}": each.astype(ms.float32).asnumpy() for place, each in enumerate(found)})


for mode, number in (("pynative", ms.PYNATIVE_MODE), ("graph", ms.GRAPH_MODE)):
    ms.set_context(mode=number)
    x, y, wide = drawn(rank, 6, 256), drawn(7, 256, 10), drawn(8, 10, 256)
    config = _ExperimentalConfig(profiler_level=ProfilerLevel.Level1)
    with profile(on_trace_ready=tensorboard_trace_handler(f"{sys.argv[1]}/{mode}"), experimental_config=config):
        found = {"gather": Gather()(x, y), "turned": Turned()(x, wide), "scatter": [Scatter()(x, y)]}
    for name, tensors in found.items():
        keep(f"{mode} {name}", *tensors)
    halves = (drawn(each, *shape, dtype=ms.bfloat16) for each, shape in ((rank, (6, 256)), (7, (256, 10))))
    keep(f"{mode} bfloat16", Scatter()(*halves))
np.savez(f"{sys.argv[1]}/rank{rank}.npz", **results)

ms.set_context(mode=ms.PYNATIVE_MODE)
REFUSED: dict[str, Callable[[], Any]] = {
    "inner": lambda: ops.all_gather_matmul(drawn(1, 6, 255), drawn(2, 255, 4), world, 2),
    "turned": lambda: ops.matmul_reduce_scatter(drawn(1, 256, 6), drawn(2, 256, 4), world, 2, trans_input=True),
    "ranks": lambda: ops.all_gather_matmul(drawn(1, 6, 256), drawn(2, 256, 4), world, 4),
    "gather_index": lambda: ops.all_gather_matmul(drawn(1, 6, 256), drawn(2, 256, 4), world, 2, gather_index=1),
    "reduce_op": lambda: ops.matmul_reduce_scatter(drawn(1, 6, 256), drawn(2, 256, 4), world, 2, reduce_op="max"),
    "bias": lambda: ops.all_gather_matmul(drawn(1, 6, 256), drawn(2, 256, 4), world, 2, bias=drawn(1, 4)),
}
for name, call in REFUSED.items():
    try:
        call()[0].asnumpy()
    except Exception as error:  # noqa: BLE001 - what is raised is looked at
        print(f"refused {name}: {type(error).__name__} {error}", flush=True)
