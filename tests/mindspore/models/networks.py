"""
Networks: each runs once without gradients, then trains for two steps: a ResNet-50, a BERT, an LSTM, a Llama.

``networks.py graph|pynative Ascend|CPU NETWORK [whole|ranks]`` prints the sum of what the network returned and the
losses. On Ascend there is a profile of it. With ``whole`` the batch is twice as large, with ``ranks`` each rank of two
takes its half, and batch norms share their statistics. Widths are small; depth, kinds of layers and optimizers are
the real ones', but for a ResNet-14, whose stages have one block each.
"""

from __future__ import annotations

import functools
import json
import sys

import mindspore as ms
import numpy as np
from mindspore import nn, ops
from mindspore.common.initializer import initializer
from mindspore.communication import get_rank, init
from mindspore.profiler import ProfilerLevel, _ExperimentalConfig, profile, tensorboard_trace_handler

STEPS = 2
RANDOM = np.random.default_rng(3)
DEPTHS = {"resnet50": (3, 4, 6, 3), "resnet14": (1, 1, 1, 1)}
"""Blocks of each stage."""


class Bottleneck(nn.Cell):
    def __init__(self, inner, outer, stride, norm):
        super().__init__()
        last = 4 * outer
        self.first, self.norm1 = nn.Conv2d(inner, outer, 1), norm(outer)
        self.middle, self.norm2 = nn.Conv2d(outer, outer, 3, stride), norm(outer)
        self.last, self.norm3 = nn.Conv2d(outer, last, 1), norm(last)
        self.relu, self.changes = nn.ReLU(), stride != 1 or inner != last
        if self.changes:
            self.short = nn.SequentialCell(nn.Conv2d(inner, last, 1, stride), norm(last))

    def construct(self, x):
        y = self.relu(self.norm1(self.first(x)))
        y = self.norm3(self.last(self.relu(self.norm2(self.middle(y)))))
        return self.relu(y + (self.short(x) if self.changes else x))


class ResNet(nn.Cell):
    def __init__(self, norm, counts, width=4):
        super().__init__()
        norm = functools.partial(norm, momentum=0.1)
        self.stem, self.norm, self.relu = nn.Conv2d(3, width, 7, 2), norm(width), nn.ReLU()
        self.pool = nn.MaxPool2d(3, 2, "same")
        blocks, inner = [], width
        for stage, count in enumerate(counts):
            outer = width * 2**stage
            for number in range(count):
                blocks.append(Bottleneck(inner, outer, 2 if stage and not number else 1, norm))
                inner = 4 * outer
        self.blocks, self.head = nn.SequentialCell(*blocks), nn.Dense(inner, 10)

    def construct(self, x):
        x = self.blocks(self.pool(self.relu(self.norm(self.stem(x)))))
        return self.head(x.mean((2, 3)))


class Encoder(nn.Cell):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.q, self.k, self.v, self.out = (nn.Dense(width, width) for _ in range(4))
        self.norm1, self.norm2 = nn.LayerNorm((width,)), nn.LayerNorm((width,))
        self.up, self.down, self.gelu = nn.Dense(width, 4 * width), nn.Dense(4 * width, width), nn.GELU()
        self.drop = nn.Dropout(p=0.0)

    def split(self, x):
        return x.reshape(x.shape[0], x.shape[1], self.heads, self.size).transpose(0, 2, 1, 3)

    def construct(self, x, mask):
        q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
        scores = ops.BatchMatMul(transpose_b=True)(q, k) / self.size**0.5 + (1 - mask) * -10000.0
        mixed = ops.BatchMatMul()(self.drop(ops.softmax(scores)), v).transpose(0, 2, 1, 3).reshape(x.shape)
        x = self.norm1(x + self.out(mixed))
        return self.norm2(x + self.down(self.gelu(self.up(x))))


class Bert(nn.Cell):
    def __init__(self, words=50, width=16, heads=2, layers=2, length=8):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.kinds, self.norm = nn.Embedding(2, width), nn.LayerNorm((width,))
        self.layers = nn.CellList([Encoder(width, heads) for _ in range(layers)])
        self.head, self.size = nn.Dense(width, words), words
        self.order = ms.Tensor(np.arange(length, dtype=np.int32))

    def construct(self, tokens):
        mask = (tokens > 0).astype(ms.float32).reshape(tokens.shape[0], 1, 1, tokens.shape[1])
        x = self.norm(self.words(tokens) + self.places(self.order) + self.kinds(ops.zeros_like(tokens)))
        for layer in self.layers:
            x = layer(x, mask)
        return self.head(x).reshape(-1, self.size)


class Unrolled(nn.Cell):
    """Two layers of LSTM cells, step by step."""

    def __init__(self):
        super().__init__()
        self.layers = nn.CellList([nn.LSTMCell(8, 24), nn.LSTMCell(24, 24)])

    def construct(self, x):
        zeros = ops.zeros((x.shape[0], 24), x.dtype)
        states = [(zeros, zeros) for _ in self.layers]
        for step in range(x.shape[1]):
            y = x[:, step]
            for at, cell in enumerate(self.layers):
                states[at] = cell(y, states[at])
                y = states[at][0]
        return y


class Whole(nn.Cell):
    """Two layers in two directions, in one operator each."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(8, 12, num_layers=2, batch_first=True, bidirectional=True)

    def construct(self, x):
        out, _ = self.lstm(x)
        return out[:, -1]


class Recurrent(nn.Cell):
    """MindSpore 2.7.2 itself writes beyond a result of ``nn.LSTM`` in PyNative mode with gradients, and crashes."""

    def __init__(self):
        super().__init__()
        self.words, self.head = nn.Embedding(30, 8), nn.Dense(24, 5)
        self.layers = Whole() if ms.get_context("mode") == ms.GRAPH_MODE else Unrolled()

    def construct(self, tokens):
        return self.head(self.layers(self.words(tokens)))


class Decoder(nn.Cell):
    def __init__(self, width, heads, groups):
        super().__init__()
        self.heads, self.groups, self.size = heads, groups, width // heads
        self.q, self.out = (nn.Dense(width, width, has_bias=False) for _ in range(2))
        self.k, self.v = (nn.Dense(width, groups * self.size, has_bias=False) for _ in range(2))
        self.gate, self.up = (nn.Dense(width, 3 * width, has_bias=False) for _ in range(2))
        self.down = nn.Dense(3 * width, width, has_bias=False)
        self.scale1, self.scale2 = (ms.Parameter(initializer("ones", (width,))) for _ in range(2))

    def norm(self, x, scale):
        return x * ops.rsqrt(ops.square(x).mean(-1, keep_dims=True) + 1e-6) * scale

    def turn(self, x, cos, sin):
        half = self.size // 2
        return x * cos + ops.cat([-x[..., half:], x[..., :half]], axis=-1) * sin

    def split(self, x, heads):
        return x.reshape(x.shape[0], x.shape[1], heads, self.size).transpose(0, 2, 1, 3)

    def construct(self, x, cos, sin, mask):
        y = self.norm(x, self.scale1)
        q = self.turn(self.split(self.q(y), self.heads), cos, sin)
        k = self.turn(self.split(self.k(y), self.groups), cos, sin)
        v, times = self.split(self.v(y), self.groups), self.heads // self.groups
        k, v = ops.repeat_interleave(k, times, 1), ops.repeat_interleave(v, times, 1)
        weights = ops.softmax(ops.matmul(q, k.swapaxes(-1, -2)) / self.size**0.5 + mask)
        x = x + self.out(ops.matmul(weights, v).transpose(0, 2, 1, 3).reshape(x.shape))
        y = self.norm(x, self.scale2)
        return x + self.down(ops.silu(self.gate(y)) * self.up(y))


class Llama(nn.Cell):
    def __init__(self, words=40, width=16, heads=4, groups=2, layers=2, length=6):
        super().__init__()
        size = width // heads
        turns = np.outer(np.arange(length), 1 / 10000 ** (np.arange(0, size, 2) / size))
        turns = np.concatenate([turns, turns], axis=-1).astype(np.float32)
        self.cos, self.sin = ms.Tensor(np.cos(turns)), ms.Tensor(np.sin(turns))
        self.mask = ms.Tensor(np.triu(np.full((length, length), -1e4, np.float32), 1))
        self.words, self.head = nn.Embedding(words, width), nn.Dense(width, words, has_bias=False)
        self.layers = nn.CellList([Decoder(width, heads, groups) for _ in range(layers)])
        self.size = words

    def construct(self, tokens):
        x = self.words(tokens)
        for layer in self.layers:
            x = layer(x, self.cos, self.sin, self.mask)
        return self.head(x).reshape(-1, self.size)


def tokens(*shape, high):
    return ms.Tensor(RANDOM.integers(1, high, shape).astype(np.int32))


def network(name, times=1, norm=nn.BatchNorm2d):
    """Return a network, its optimizer, an input and labels of *times* batches; the same numbers in every process."""
    if name in DEPTHS:
        image = ms.Tensor(RANDOM.normal(size=(2 * times, 3, 32, 32)).astype(np.float32))
        return ResNet(norm, DEPTHS[name]), nn.Momentum, image, tokens(2 * times, high=10)
    if name == "bert":
        return Bert(), nn.AdamWeightDecay, tokens(3 * times, 8, high=50), tokens(24 * times, high=50)
    if name == "lstm":
        return Recurrent(), nn.Adam, tokens(3 * times, 7, high=30), tokens(3 * times, high=5)
    return Llama(), nn.AdamWeightDecay, tokens(2 * times, 6, high=40), tokens(12 * times, high=40)


def reset(network):
    """Give weights and biases numbers that are the same in every process; norms keep theirs."""
    for parameter in network.get_parameters():
        if parameter.ndim > 1 or "bias" in parameter.name:
            scale = np.prod(parameter.shape[1:], dtype=int) ** -0.5
            parameter.set_data(ms.Tensor((RANDOM.normal(size=parameter.shape) * scale).astype(np.float32)))


def run(network, optimizer, x, labels):
    """Return the sum of what the network returns before training, and the losses of the steps."""
    reset(network)
    network.set_train(False)
    total = float(np.abs(network(x).asnumpy()).sum())
    arguments = {"learning_rate": 0.01, **({"momentum": 0.9} if optimizer is nn.Momentum else {})}
    loss = nn.WithLossCell(network, nn.CrossEntropyLoss())
    train = nn.TrainOneStepCell(loss, optimizer(network.trainable_params(), **arguments))
    train.set_train()
    return total, [float(train(x, labels).asnumpy()) for _ in range(STEPS)]


def mine(tensor):
    """Return the half of a batch that this rank trains with."""
    half = len(tensor) // 2
    return ms.Tensor(tensor.asnumpy()[get_rank() * half : (get_rank() + 1) * half])


def main(mode, device, name, batch=""):
    ms.set_context(mode=ms.GRAPH_MODE if mode == "graph" else ms.PYNATIVE_MODE, device_target=device)
    if batch == "ranks":
        init()
    norm = nn.SyncBatchNorm if batch == "ranks" else nn.BatchNorm2d
    net, optimizer, x, labels = network(name, 2 if batch else 1, norm)
    if batch == "ranks":
        ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True, device_num=2)
        x, labels = mine(x), mine(labels)
    work = functools.partial(run, net, optimizer, x, labels)
    if device == "Ascend":
        config = _ExperimentalConfig(profiler_level=ProfilerLevel.Level1)
        with profile(experimental_config=config, on_trace_ready=tensorboard_trace_handler("profiled")):
            found = work()
    else:
        found = work()
    print("found=" + json.dumps(found), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
