"""Trains a small net in both modes on the device that it is told, and prints the losses: run by test_scripts.py."""

from __future__ import annotations

import json
import sys

import mindspore as ms
import numpy as np
from mindspore import nn


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3, weight_init="ones")
        self.norm = nn.BatchNorm2d(4)
        self.relu = nn.ReLU()
        self.flatten = nn.Flatten()
        self.fc = nn.Dense(4 * 6 * 6, 3, weight_init="normal", bias_init="zeros")

    def construct(self, x):
        return self.fc(self.flatten(self.relu(self.norm(self.conv(x)))))


def train(mode):
    ms.set_context(mode=mode)
    ms.set_seed(1)
    random = np.random.default_rng(1)
    net = Net()
    optimizer = nn.Momentum(net.trainable_params(), 0.05, 0.9)
    cell = nn.TrainOneStepCell(nn.WithLossCell(net, nn.SoftmaxCrossEntropyWithLogits(True, "mean")), optimizer)
    cell.set_train()
    losses = []
    for _ in range(4):
        x = ms.Tensor(random.random((4, 1, 6, 6), np.float32))
        y = ms.Tensor(random.integers(0, 3, 4, np.int32))
        losses.append(float(cell(x, y).asnumpy()))
        if profiler is not None:
            profiler.step()
    return losses


device, profiler = sys.argv[1], None
if device == "Ascend":
    from mindspore.profiler import profile, schedule, tensorboard_trace_handler

    ms.set_context(device_target="Ascend", device_id=0, max_device_memory="20GB", jit_config={"jit_level": "O2"})
    profiler = profile(
        schedule=schedule(wait=1, warmup=1, active=2, repeat=1), on_trace_ready=tensorboard_trace_handler("data")
    )
else:
    ms.set_device(device)
graph = train(ms.GRAPH_MODE)
if profiler is not None:
    profiler.stop()
    profiler = profile(
        schedule=schedule(wait=0, warmup=1, active=1, repeat=1), on_trace_ready=tensorboard_trace_handler("pynative")
    )
pynative = train(ms.PYNATIVE_MODE)
if profiler is not None:
    profiler.stop()
print("losses=" + json.dumps([graph, pynative]))
print("told=" + json.dumps([ms.get_context("device_target"), ms.get_context("device_id")]))
