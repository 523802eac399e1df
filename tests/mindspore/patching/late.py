"""Trains in both modes before it makes a profiler, and profiles the memory of a step in each: run by test_late.py."""

from __future__ import annotations

import mindspore as ms
import numpy as np
from mindspore import nn
from mindspore.profiler import ProfilerLevel, _ExperimentalConfig, profile, tensorboard_trace_handler

x, y = ms.Tensor(np.ones((16, 32), np.float32)), ms.Tensor(np.zeros((16, 4), np.float32))


def training():
    network = nn.WithLossCell(nn.SequentialCell(nn.Dense(32, 64), nn.ReLU(), nn.Dense(64, 4)), nn.MSELoss())
    step = nn.TrainOneStepCell(network, nn.Momentum(network.trainable_params(), 0.1, 0.9))
    step.set_train()
    return step


ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend")
for name, mode in (("graph", ms.GRAPH_MODE), ("pynative", ms.PYNATIVE_MODE)):
    ms.set_context(mode=mode)
    step = training()
    step(x, y).asnumpy()
    profiler = profile(
        profile_memory=True,
        on_trace_ready=tensorboard_trace_handler(name),
        experimental_config=_ExperimentalConfig(profiler_level=ProfilerLevel.Level1),
    )
    profiler.start()
    for _ in range(2):
        step(x, y).asnumpy()
    profiler.stop()
