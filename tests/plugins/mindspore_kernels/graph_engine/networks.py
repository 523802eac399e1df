"""
A residual block, a transformer block with GELU and a perceptron, each of which trains for two steps and then runs once.

``networks.py O2`` sets that jit level on Ascend and leaves a profile of each in a folder of its name; ``networks.py
CPU`` profiles nothing. Both print the losses and the sum of what the network returned, by network.
"""

from __future__ import annotations

import json
import sys

import mindspore as ms
import numpy as np
from mindspore import nn, ops
from mindspore.profiler import ProfilerLevel, _ExperimentalConfig, profile, tensorboard_trace_handler

STEPS = 2
RANDOM = np.random.default_rng(5)


class Residual(nn.Cell):
    """Convolution, norm and Relu twice, around them a shortcut; pooling, a convolution with bias, a head."""

    def __init__(self):
        super().__init__()
        self.first, self.norm1 = nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16)
        self.second, self.norm2 = nn.Conv2d(16, 16, 3), nn.BatchNorm2d(16)
        self.last, self.relu, self.pool = nn.Conv2d(16, 8, 3, has_bias=True), nn.ReLU(), nn.MaxPool2d(2, 2)
        self.head = nn.Dense(8 * 4 * 4, 10)

    def construct(self, x):
        x = self.relu(self.norm1(self.first(x)))
        x = self.relu(self.norm2(self.second(x)) + x)
        x = self.relu(self.last(self.pool(x)))
        return self.head(x.reshape(4, -1))


class Transformer(nn.Cell):
    def __init__(self, width=32, heads=2):
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.q, self.k, self.v, self.out = (nn.Dense(width, width) for _ in range(4))
        self.norm1, self.norm2 = nn.LayerNorm((width,)), nn.LayerNorm((width,))
        self.up, self.down, self.gelu = nn.Dense(width, 4 * width), nn.Dense(4 * width, width), nn.GELU()
        self.scores, self.mix = ops.BatchMatMul(transpose_b=True), ops.BatchMatMul()
        self.head = nn.Dense(width, 10)

    def split(self, x):
        return x.reshape(4, 8, self.heads, self.size).transpose(0, 2, 1, 3)

    def construct(self, x):
        q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
        mixed = self.mix(ops.softmax(self.scores(q, k) / self.size**0.5), v).transpose(0, 2, 1, 3).reshape(4, 8, -1)
        x = self.norm1(x + self.out(mixed))
        x = self.norm2(x + self.down(self.gelu(self.up(x))))
        return self.head(x.mean(1))


class Perceptron(nn.Cell):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Dense(24, 48, activation="relu"), nn.Dense(48, 48, activation="tanh")
        self.head = nn.Dense(48, 10)

    def construct(self, x):
        return self.head(self.second(self.first(x)))


NETWORKS = {
    "residual": (Residual, (4, 3, 8, 8)),
    "transformer": (Transformer, (4, 8, 32)),
    "perceptron": (Perceptron, (4, 24)),
}


def training(name):
    """Return a function that trains and runs a network and returns what it found."""
    make, shape = NETWORKS[name]
    network = make()
    loss = nn.WithLossCell(network, nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"))
    step = nn.TrainOneStepCell(loss, nn.Momentum(network.trainable_params(), 0.05, 0.9))
    x, y = ms.Tensor(RANDOM.standard_normal(shape).astype(np.float32)), ms.Tensor(np.arange(4, dtype=np.int32))

    def work():
        step.set_train()
        losses = [float(step(x, y).asnumpy()) for _ in range(STEPS)]
        network.set_train(False)
        return [*losses, float(network(x).asnumpy().sum())]

    return work


def profiled(name, work):
    config = _ExperimentalConfig(profiler_level=ProfilerLevel.Level1)
    with profile(on_trace_ready=tensorboard_trace_handler(name), experimental_config=config):
        return work()


def main(level):
    ms.set_seed(1)
    ms.set_context(mode=ms.GRAPH_MODE)
    if level != "CPU":
        ms.set_device("Ascend")
        ms.set_context(jit_config={"jit_level": level})
    works = {name: training(name) for name in NETWORKS}
    return {name: work() if level == "CPU" else profiled(name, work) for name, work in works.items()}


if __name__ == "__main__":
    print(f"found={json.dumps(main(*sys.argv[1:]))}")
