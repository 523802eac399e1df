"""A PyNative loop in MindSpore that is profiled by a schedule."""

from __future__ import annotations

import time

import mindspore as ms
import numpy as np
from mindspore import nn
from mindspore.profiler import ExportType, ProfilerActivity, ProfilerLevel, _ExperimentalConfig, profile, schedule
from mindspore.profiler import tensorboard_trace_handler as trace_handler

STEPS = 12
"""They last long enough that steps are saved while others follow."""


def main() -> object:
    """Train, and return the losses."""
    ms.set_context(mode=ms.PYNATIVE_MODE)
    ms.set_device("Ascend")
    net = nn.SequentialCell(nn.Dense(8, 6, weight_init="ones"), nn.ReLU(), nn.Dense(6, 3, weight_init="ones"))
    criterion = nn.MSELoss()
    optimizer = nn.SGD(net.trainable_params(), learning_rate=0.01)
    step = ms.value_and_grad(lambda x, y: criterion(net(x), y), None, optimizer.parameters)
    features = ms.Tensor(np.arange(32, dtype=np.float32).reshape(4, 8) / 32)
    labels = ms.Tensor(np.ones((4, 3), np.float32))
    losses = []
    config = _ExperimentalConfig(profiler_level=ProfilerLevel.Level1, export_type=[ExportType.Text, ExportType.Db])
    with profile(
        activities=[ProfilerActivity.CPU, ProfilerActivity.NPU],
        schedule=schedule(wait=0, warmup=1, active=9, repeat=1, skip_first=0),
        on_trace_ready=trace_handler("out"),
        experimental_config=config,
    ) as profiler:
        for _ in range(STEPS):
            loss, gradients = step(features, labels)
            optimizer(gradients)
            losses.append(round(float(loss.asnumpy()), 6))
            time.sleep(0.1)
            profiler.step()
    return losses
