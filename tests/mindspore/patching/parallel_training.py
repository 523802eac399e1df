"""
Run by every rank, under ``drynpu run``: four steps of a layer, data parallel, each rank with its rows of the batch.

``parallel_training.py MODE``; prints rank, size, the device's number and losses as JSON, and leaves a profile.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import mindspore as ms
import numpy as np
from mindspore import nn, ops
from mindspore.communication import create_group, get_group_size, get_rank, init
from mindspore.profiler import ProfilerLevel, _ExperimentalConfig, profile, tensorboard_trace_handler

ms.set_context(mode=getattr(ms, f"{sys.argv[1]}_MODE"), device_target="Ascend")
init()
rank, size = get_rank(), get_group_size()
create_group("pair", list(range(size)))
ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True, device_num=size)


class Loss(nn.Cell):
    def __init__(self, net: Any) -> None:
        super().__init__()
        self.net, self.loss = net, nn.MSELoss()

    def construct(self, x: Any, y: Any) -> Any:
        return self.loss(self.net(x), y)


rng = np.random.default_rng(3)
x, y, weight = (rng.normal(size=shape).astype(np.float32) for shape in ((4, 8, 5), (4, 8, 2), (2, 5)))
net = nn.Dense(5, 2, ms.Tensor(weight), has_bias=False)
step = nn.TrainOneStepCell(Loss(net), nn.Momentum(net.trainable_params(), 0.1, 0.9)).set_train()
rows = slice(rank * 8 // size, (rank + 1) * 8 // size)
config = _ExperimentalConfig(profiler_level=ProfilerLevel.Level1)
with profile(on_trace_ready=tensorboard_trace_handler("profiled"), experimental_config=config):
    losses = [
        float(step(ms.Tensor(part[rows]), ms.Tensor(wanted[rows])).asnumpy()) for part, wanted in zip(x, y, strict=True)
    ]
    pair = ops.AllReduce(group="pair")(ms.Tensor(np.full((3, 2), rank + 1, np.float32))).asnumpy().tolist()
device = ms.get_context("device_id")
print("found=" + json.dumps({"rank": rank, "size": size, "device": device, "losses": losses, "pair": pair}), flush=True)
